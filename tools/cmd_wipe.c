/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence wipe: the area is gone afterwards, and nothing else. Superblocks first, so
 * that cut off anywhere there is no area rather than half of one. Data of a volume beside
 * the area is not touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alive.h"
#include "out.h"
#include "tool.h"

static const char *cluster;
static bool force, dry_run, yes;

static const struct opt opts[] = {
	{"cluster", "NAME", "the cluster it must belong to", OPT_TEXT, &cluster, NULL},
	{"force", NULL, "also while nodes are, or may be, alive, or the device is in use",
	 OPT_FLAG, &force, NULL},
	{"dry-run", NULL, "show what would be erased, write nothing", OPT_FLAG, &dry_run, NULL},
	{"yes", NULL, "do not ask on a terminal", OPT_FLAG, &yes, NULL},
	{0},
};

static uint64_t area_bytes(const struct disk *d)
{
	uint64_t bytes = d->super.area_strides * d->super.id.stride_bytes;

	/* of a truncated image what is there */
	return bytes < d->size_bytes - d->base_bytes ? bytes : d->size_bytes - d->base_bytes;
}

/* ---- refusing ---- */

static int judge_life(const struct alive *a)
{
	char who[512];
	enum life worst = a->count[LIFE_ALIVE]    ? LIFE_ALIVE
			  : a->count[LIFE_SILENT] ? LIFE_SILENT
						  : LIFE_UNREADABLE;

	if (!a->count[worst])
		return 0;
	alive_words(a, worst, who, sizeof(who));
	if (force) {
		note("%s: %s, and --force was given", who,
		     worst == LIFE_ALIVE ? "alive" : "perhaps alive");
		return 0;
	}
	if (worst == LIFE_ALIVE)
		return fail(RF_EXIT_UNSAFE,
			    "refused: alive, and writing to this area: %s. Stop ringfenced "
			    "there first; --force takes the area away under it",
			    who);
	return fail(RF_EXIT_UNSAFE,
		    "refused: %s: %s, and silent for %u ms: crashed, frozen, or cut off. If "
		    "ringfenced does not run there say --force",
		    who,
		    worst == LIFE_SILENT ? "its slot was not left cleanly"
					 : "its slot is unreadable",
		    a->watched_ms);
}

static int judge_use(const struct disk *d)
{
	int fd;

	if (!d->block || force)
		return 0;
	fd = open(d->path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return fail(RF_EXIT_UNSAFE,
			    "%s: refused: in use: mounted, or held by a device above it "
			    "(a gate: `ringfence detach`); --force wipes the area all the same",
			    d->path);
	if (fd >= 0)
		close(fd);
	return 0;
}

static int judge(const struct disk_set *set)
{
	struct alive *a = malloc(sizeof(*a));
	unsigned i;
	int rc = 0;

	if (!a)
		return fail(RF_EXIT_AGAIN, "out of memory");
	if (cluster && strcmp(cluster, set->super.cluster_name))
		rc = fail(RF_EXIT_BAD_VALUE, "%s: cluster '%s', not '%s': nothing was written",
			  set->disk[0].path, set->super.cluster_name, cluster);
	for (i = 0; i < set->count && !rc; i++)
		rc = judge_use(&set->disk[i]);
	if (!rc) {
		alive_watch(set, a);
		rc = judge_life(a);
	}
	free(a);
	return rc;
}

/* ---- erasing ---- */

static int erase_failed(const struct disk *d, uint64_t at, int rc)
{
	return fail(rc == -EPERM || rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_IO,
		    "%s: writing failed at byte %" PRIu64 ": %s. The area is damaged now; "
		    "repeat it when the device takes writes",
		    d->path, at, strerror(-rc));
}

static int erase(const struct disk *d, uint64_t from, uint64_t bytes)
{
	void *zeros = disk_buffer(DISK_READ_MAX);
	uint64_t at = d->base_bytes + from, end = at + bytes;
	int rc = 0;

	while (at < end && !rc) {
		size_t n = end - at < DISK_READ_MAX ? (size_t)(end - at) : DISK_READ_MAX;

		rc = disk_write(d, zeros, n, at);
		if (rc)
			rc = erase_failed(d, at, rc);
		at += n;
	}
	free(zeros);
	return rc;
}

/* A truncated image may end within a sector: what is no whole one stays. */
static uint64_t whole(const struct disk *d, uint64_t bytes)
{
	return bytes / d->super.sector_bytes * d->super.sector_bytes;
}

static int gone(const struct disk *d)
{
	struct disk again;
	int rc = disk_open(&again, d->path, O_RDONLY);

	if (rc)
		return rc;
	rc = disk_locate(&again, false);
	if (!rc && again.found != FOUND_NOTHING)
		rc = fail(RF_EXIT_IO,
			  "%s: there is still a superblock: is another host writing, or is "
			  "there an older area?",
			  d->path);
	disk_close(&again);
	return rc;
}

static int wipe_one(struct disk *d)
{
	uint32_t stride = d->super.id.stride_bytes;
	uint64_t bytes = area_bytes(d), copy = rf_geo_copy(&d->super);
	int rc = disk_writable(d, !force);

	if (!rc)
		rc = erase(d, 0, stride);
	if (!rc && copy + stride <= bytes)
		rc = erase(d, copy, stride);
	if (!rc)
		rc = erase(d, 0, whole(d, bytes));
	if (!rc && fsync(d->fd))
		rc = erase_failed(d, d->base_bytes, -errno);
	return rc ? rc : gone(d);
}

/* ---- all ---- */

static void show(const struct disk_set *set)
{
	struct json_object *doc = out_doc(), *a;
	unsigned i;

	out_text(doc, "cluster", set->super.cluster_name);
	out_uuid(doc, "area_uuid", set->super.id.area);
	out_bool(doc, "dry_run", dry_run);
	a = out_array(doc, "disks");
	for (i = 0; i < set->count; i++) {
		struct json_object *o = out_row(a);

		out_text(o, "device", set->disk[i].path);
		out_u64(o, "from_bytes", set->disk[i].base_bytes);
		out_u64(o, "bytes", area_bytes(&set->disk[i]));
		if (!tool.json)
			printf("%s: the area of cluster '%s', bytes %" PRIu64 " to %" PRIu64
			       "%s\n",
			       set->disk[i].path, set->super.cluster_name,
			       set->disk[i].base_bytes,
			       set->disk[i].base_bytes + area_bytes(&set->disk[i]) - 1,
			       dry_run ? " would be erased" : " erased");
	}
	if (tool.json)
		out_print(doc);
	else
		json_object_put(doc);
}

static int may_go_on(const struct disk_set *set)
{
	char answer[8] = "";

	if (yes || tool.json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return 0;
	fprintf(stderr,
		"The quorum area of cluster '%s' on %u disk%s will be gone: epochs, history, "
		"committed state. Type yes: ",
		set->super.cluster_name, set->count, set->count == 1 ? "" : "s");
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return 0;
	return fail(RF_EXIT_NO, "nothing was written");
}

static int run(int argc, char **argv)
{
	struct disk_set set;
	unsigned i;
	int rc = disk_set_open(&set, argc, argv);

	if (rc)
		return rc;
	rc = judge(&set);
	if (!rc && !dry_run)
		rc = may_go_on(&set);
	for (i = 0; i < set.count && !rc && !dry_run; i++)
		rc = wipe_one(&set.disk[i]);
	if (!rc)
		show(&set);
	disk_set_close(&set);
	return rc;
}

const struct command cmd_wipe = {
	.name = "wipe",
	.args = "DEVICE...",
	.brief = "erase an area that nobody uses any more",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
