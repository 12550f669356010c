/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons not to format a device: anything that looks like somebody's data, or
 * like somebody using it. Each one is said; --force overrides all but one: an
 * area on which a node is alive is never overwritten.
 */
#include <blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "tool.h"

static void reason(const struct disk *d, unsigned *count, bool force, const char *what,
		   const char *detail)
{
	++*count;
	if (force)
		note("%s: --force: ignoring: %s%s", d->path, what, detail);
	else
		fail(0, "%s: refused: %s%s", d->path, what, detail);
}

/* ---- signatures (libblkid) ---- */

static void signature(const struct disk *d, blkid_probe pr, unsigned *count, bool force)
{
	const char *type = NULL, *offset = "?", *usage = NULL;
	char text[160];

	if (!blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL)) {
		blkid_probe_lookup_value(pr, "PTMAGIC_OFFSET", &offset, NULL);
		snprintf(text, sizeof(text), "%s, magic at byte %s", type, offset);
		reason(d, count, force, "holds a partition table: ", text);
		return;
	}
	if (blkid_probe_lookup_value(pr, "TYPE", &type, NULL))
		return;
	blkid_probe_lookup_value(pr, "SBMAGIC_OFFSET", &offset, NULL);
	blkid_probe_lookup_value(pr, "USAGE", &usage, NULL);
	snprintf(text, sizeof(text), "%s (%s), magic at byte %s", type,
		 usage ? usage : "unknown use", offset);
	reason(d, count, force, "holds data: ", text);
}

static blkid_probe probe_new(const char *path)
{
	blkid_probe pr = blkid_new_probe_from_filename(path);

	if (!pr)
		return NULL;
	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_TYPE |
						      BLKID_SUBLKS_USAGE |
						      BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	return pr;
}

static int signatures(const struct disk *d, unsigned *count, bool force)
{
	blkid_probe pr = probe_new(d->path);
	int rc;

	if (!pr)
		return fail(RF_EXIT_IO, "%s: signatures cannot be probed: %m", d->path);
	while (!(rc = blkid_do_probe(pr)))
		signature(d, pr, count, force);
	if (rc > 0) {
		blkid_reset_probe(pr);
		rc = blkid_do_safeprobe(pr);
		if (rc == -2)
			reason(d, count, force,
			       "ambivalent: ", "signatures of more than one kind (see wipefs)");
		rc = rc == -1 ? -1 : 0;
	}
	blkid_free_probe(pr);
	return rc ? fail(RF_EXIT_IO, "%s: read error while probing signatures", d->path) : 0;
}

/* ---- an area of ours ---- */

static void own_area(const struct disk *d, unsigned *count, bool force)
{
	char text[160], when[32] = "?";
	time_t t = (time_t)d->super.created_unix_s;
	struct tm tm;

	if (d->found == FOUND_NOTHING)
		return;
	if (d->found == FOUND_DAMAGED) {
		reason(d, count, force, "holds a damaged ringfence superblock", "");
		return;
	}
	if (gmtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%SZ", &tm);
	snprintf(text, sizeof(text), "cluster '%s', %u nodes, %u volumes, made %s",
		 d->super.cluster_name, d->super.id.nodes, d->super.volumes, when);
	reason(d, count, force, "is a ringfence area already: ", text);
}

static uint64_t slots_sum(const struct disk *d, void *buf)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 1; i <= d->super.id.nodes; i++) {
		struct record r = {.kind = RF_KIND_SLOT,
				   .index = i,
				   .offset_bytes = rf_geo_slot(&d->super, i)};

		if (!disk_record(d, &r, buf) &&
		    record_verdict(buf, &d->super, &r) == RF_RECORD_OK)
			sum += record_seq(buf);
	}
	return sum;
}

int format_alive(const struct disk *d)
{
	struct timespec pause = {.tv_nsec = 50000000};
	uint32_t left_ms = 4 * d->super.timing.heartbeat_ms;
	uint64_t first;
	void *buf;
	int rc = 0;

	if (d->found != FOUND_GOOD && d->found != FOUND_COPY)
		return 0;
	note("%s: watching the slots of the old area for %u ms", d->path, left_ms);
	buf = disk_buffer(RF_STRIDE_MIN);
	first = slots_sum(d, buf);
	for (; left_ms && !rc; left_ms -= left_ms < 50 ? left_ms : 50) {
		nanosleep(&pause, NULL);
		if (slots_sum(d, buf) != first)
			rc = fail(RF_EXIT_UNSAFE,
				  "%s: refused, also with --force: a node of cluster '%s' is "
				  "alive and writes its slot; stop ringfenced everywhere first "
				  "(`ringfence slots %s` shows who)",
				  d->path, d->super.cluster_name, d->path);
	}
	free(buf);
	return rc;
}

/* ---- use ---- */

static bool mounted_at(const struct stat *dev, char *where, size_t bytes)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	struct stat st;
	bool found = false;

	while (f && !found && (m = getmntent(f)))
		if (m->mnt_fsname[0] == '/' && !stat(m->mnt_fsname, &st) &&
		    S_ISBLK(st.st_mode) && st.st_rdev == dev->st_rdev) {
			snprintf(where, bytes, "%s", m->mnt_dir);
			found = true;
		}
	if (f)
		endmntent(f);
	return found;
}

static bool swapped(const struct stat *dev)
{
	FILE *f = fopen("/proc/swaps", "re");
	char line[512], path[256];
	struct stat st;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%255s", path) == 1 && *path == '/' && !stat(path, &st) &&
			S_ISBLK(st.st_mode) && st.st_rdev == dev->st_rdev;
	if (f)
		fclose(f);
	return found;
}

static bool held_by(const struct stat *dev, char *who, size_t bytes)
{
	char path[96];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(dev->st_rdev),
		 minor(dev->st_rdev));
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)))
		if (e->d_name[0] != '.') {
			snprintf(who, bytes, "%s", e->d_name);
			found = true;
		}
	if (dir)
		closedir(dir);
	return found;
}

/* The kernel knows best: mounts, swap, dm, md and partitions claim exclusively. */
static bool claimed(const char *path)
{
	int fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

static void block_use(const struct disk *d, unsigned *count, bool force, bool *in_use)
{
	unsigned before = *count;
	char who[256];
	struct stat st;

	if (fstat(d->fd, &st))
		return;
	if (mounted_at(&st, who, sizeof(who)))
		reason(d, count, force, "in use: mounted on ", who);
	if (swapped(&st))
		reason(d, count, force, "in use: as swap", "");
	if (held_by(&st, who, sizeof(who)))
		reason(d, count, force, "in use: held by ", who);
	*in_use = claimed(d->path);
	if (*in_use && *count == before)
		reason(d, count, force,
		       "in use: ", "another program or a partition of it holds it exclusively");
}

static bool is_backing_file(const char *loop, const char *real)
{
	char path[320], text[4096];
	FILE *f;
	bool same;

	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", loop);
	f = fopen(path, "re");
	if (!f)
		return false;
	same = fgets(text, sizeof(text), f) != NULL;
	fclose(f);
	text[same ? strcspn(text, "\n") : 0] = 0;
	return same && !strcmp(text, real);
}

static void file_use(const struct disk *d, unsigned *count, bool force)
{
	char *real = realpath(d->path, NULL);
	DIR *dir = opendir("/sys/block");
	struct dirent *e;

	while (real && dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "loop", 4) && is_backing_file(e->d_name, real))
			reason(d, count, force, "in use: backing file of /dev/", e->d_name);
	if (dir)
		closedir(dir);
	free(real);
}

int format_refuse(const struct disk *d, bool force, bool *in_use)
{
	unsigned count = 0;
	int rc;

	*in_use = false;
	if (d->block)
		block_use(d, &count, force, in_use);
	else
		file_use(d, &count, force);
	own_area(d, &count, force);
	rc = signatures(d, &count, force);
	if (rc)
		return rc;
	if (count && !force)
		return fail(RF_EXIT_UNSAFE,
			    "%s: nothing was written. If this device may be overwritten, say "
			    "--force",
			    d->path);
	return 0;
}
