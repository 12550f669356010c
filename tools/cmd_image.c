/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence image: a copy of the area for a bug report, and beside it a report of what is
 * in it. Bytes lie where they lay, what is not the area is a hole: data of a volume never
 * gets into it. Sectors that cannot be read are holes, too, and are named.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "disk.h"
#include "out.h"
#include "tool.h"

#define HOLE_BYTES 4096u
#define PATH_BYTES 4096
#define FAILED_KEPT 16

static const char *to;
static bool force;

static const struct opt opts[] = {
	{"to", "FILE",
	 "the image (required); of several disks FILE.1, FILE.2 ...; report in FILE.txt",
	 OPT_TEXT, &to, NULL},
	{"force", NULL, "replace files that are there", OPT_FLAG, &force, NULL},
	{0},
};

struct copy {
	const struct disk *d;
	char path[PATH_BYTES];
	int fd;
	uint64_t copied_bytes, failed_bytes;
	uint64_t failed_at[FAILED_KEPT];
	unsigned failed;
	int error;
};

/* ---- copying ---- */

static int create(const char *path)
{
	int fd = open(path,
		      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (force ? O_TRUNC : O_EXCL),
		      0600);

	if (fd < 0 && errno == EEXIST)
		fail(0, "%s: is there already: --force replaces it", path);
	else if (fd < 0)
		fail(0, "%s: %s", path, strerror(errno));
	return fd;
}

static bool all_zero(const char *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

static int put(struct copy *c, const char *buf, size_t bytes, uint64_t at)
{
	size_t i, n;

	for (i = 0; i < bytes; i += n) {
		n = bytes - i < HOLE_BYTES ? bytes - i : HOLE_BYTES;
		if (all_zero(buf + i, n))
			continue;
		if (pwrite(c->fd, buf + i, n, (off_t)(at + i)) != (ssize_t)n)
			return fail(RF_EXIT_IO, "%s: cannot be written: %s", c->path,
				    errno ? strerror(errno) : "full");
		c->copied_bytes += n;
	}
	return 0;
}

static void lost(struct copy *c, uint64_t at, size_t bytes, int error)
{
	c->failed_bytes += bytes;
	c->error = error;
	if (c->failed < FAILED_KEPT)
		c->failed_at[c->failed] = at;
	c->failed++;
}

/* A chunk with bad sectors is read stride by stride. */
static int copy_chunk(struct copy *c, char *buf, size_t bytes, uint64_t at)
{
	uint32_t stride = c->d->super.id.stride_bytes;
	int rc = disk_read(c->d, buf, bytes, at);
	size_t i;

	if (!rc)
		return put(c, buf, bytes, at);
	for (i = 0, rc = 0; i < bytes && !rc; i += stride) {
		int error = disk_read(c->d, buf, stride, at + i);

		if (error)
			lost(c, at + i, stride, error);
		else
			rc = put(c, buf, stride, at + i);
	}
	return rc;
}

static int copy_area(struct copy *c)
{
	const struct disk *d = c->d;
	uint64_t at = d->base_bytes;
	uint64_t end = at + d->super.area_strides * d->super.id.stride_bytes;
	char *buf = disk_buffer(DISK_READ_MAX);
	int rc = 0;

	/* as far as the device goes: a truncated one gives a truncated image */
	if (end > d->size_bytes)
		end = d->size_bytes / RF_RECORD_BYTES * RF_RECORD_BYTES;
	if (ftruncate(c->fd, (off_t)end))
		rc = fail(RF_EXIT_IO,
			  "%s: no file of %" PRIu64 " bytes is possible there (%s): choose "
			  "another filesystem",
			  c->path, end, strerror(errno));
	while (at < end && !rc) {
		size_t n = end - at < DISK_READ_MAX ? (size_t)(end - at) : DISK_READ_MAX;

		rc = copy_chunk(c, buf, n, at);
		at += n;
	}
	free(buf);
	if (!rc && fsync(c->fd))
		rc = fail(RF_EXIT_IO, "%s: %s", c->path, strerror(errno));
	return rc;
}

static int copy_one(struct copy *c, const struct disk_set *set, unsigned i)
{
	int rc;

	c->d = &set->disk[i];
	snprintf(c->path, sizeof(c->path), set->count > 1 ? "%s.%u" : "%s", to, i + 1);
	c->fd = create(c->path);
	if (c->fd < 0)
		return errno == EEXIST ? RF_EXIT_UNSAFE : RF_EXIT_IO;
	rc = copy_area(c);
	close(c->fd);
	return rc;
}

/* ---- the report ---- */

static void report_head(const struct disk_set *set)
{
	char when[32] = "?";
	time_t now = time(NULL);
	struct utsname u;
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%SZ", &tm);
	printf("ringfence " RF_VERSION
	       ", format %u: image of the quorum area of cluster '%s'\n",
	       RF_FORMAT_VERSION, set->super.cluster_name);
	printf("made %s", when);
	if (!uname(&u))
		printf(" on %s, %s %s %s", u.nodename, u.sysname, u.release, u.machine);
	putchar('\n');
}

static void report_copy(const struct copy *c)
{
	const struct disk *d = c->d;
	unsigned i;

	printf("\n%s: copy of %s (%s, %" PRIu64 " bytes, sectors %u/%u, identity %s)\n",
	       c->path, d->path, d->block ? "device" : "file", d->size_bytes, d->logical_bytes,
	       d->physical_bytes, d->device_id[0] ? d->device_id : "none");
	printf("  area at byte %" PRIu64 ", %" PRIu64 " bytes not zero copied\n", d->base_bytes,
	       c->copied_bytes);
	if (!c->failed_bytes)
		return;
	printf("  %" PRIu64 " bytes could not be read (%s) and are holes, at byte",
	       c->failed_bytes, strerror(-c->error));
	for (i = 0; i < c->failed && i < FAILED_KEPT; i++)
		printf(" %" PRIu64, c->failed_at[i]);
	puts(c->failed > FAILED_KEPT ? " ..." : "");
}

static void section(const struct command *c, int argc, char **argv)
{
	const char *before = tool.command;

	printf("\n==== ringfence %s ====\n\n", c->name);
	tool.command = c->name;
	c->run(argc, argv);
	tool.command = before;
	fflush(stdout);
}

/* verify looks at the devices, twice, so that writes that go on are no findings; the
 * rest looks at the image, which is what the reader of the report has. */
static void sections(const struct disk_set *set, struct copy *copies, char **devices)
{
	char *images[RF_DISKS_MAX];
	unsigned i;

	report_head(set);
	for (i = 0; i < set->count; i++) {
		report_copy(&copies[i]);
		images[i] = copies[i].path;
	}
	section(&cmd_verify, (int)set->count, devices);
	section(&cmd_slots, (int)set->count, images);
	section(&cmd_history, (int)set->count, images);
	section(&cmd_dump, (int)set->count, images);
}

static int report(const struct disk_set *set, struct copy *copies, char **devices)
{
	int fd, out, err, rc = 0;
	bool json = tool.json;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s.txt", to);
	fd = create(path);
	if (fd < 0)
		return errno == EEXIST ? RF_EXIT_UNSAFE : RF_EXIT_IO;
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	err = dup(STDERR_FILENO);
	if (out < 0 || err < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		rc = fail(RF_EXIT_AGAIN, "%s: %s", path, strerror(errno));
	tool.json = false;
	if (!rc)
		sections(set, copies, devices);
	if (fflush(stdout) || fsync(fd))
		rc = RF_EXIT_IO;
	tool.json = json;
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(fd);
	return rc == RF_EXIT_IO ? fail(rc, "%s: cannot be written", path) : rc;
}

/* ---- all ---- */

static int tell(const struct disk_set *set, const struct copy *copies)
{
	struct json_object *doc = out_doc(), *a = out_array(doc, "images");
	uint64_t failed = 0;
	unsigned i;

	for (i = 0; i < set->count; i++) {
		struct json_object *o = out_row(a);

		out_text(o, "device", copies[i].d->path);
		out_text(o, "image", copies[i].path);
		out_u64(o, "copied_bytes", copies[i].copied_bytes);
		out_u64(o, "unreadable_bytes", copies[i].failed_bytes);
		failed += copies[i].failed_bytes;
		if (!tool.json)
			printf("%s: copied to %s, %" PRIu64 " bytes not zero\n",
			       copies[i].d->path, copies[i].path, copies[i].copied_bytes);
	}
	out_format(doc, "report", "%s.txt", to);
	if (tool.json)
		out_print(doc);
	else
		json_object_put(doc);
	return failed ? fail(RF_EXIT_IO,
			     "%" PRIu64 " bytes could not be read; the image is of use all the "
			     "same, %s.txt names them",
			     failed, to)
		      : 0;
}

static int run(int argc, char **argv)
{
	struct copy *copies = calloc(RF_DISKS_MAX, sizeof(*copies));
	struct disk_set set;
	unsigned i;
	int rc;

	if (!copies)
		return fail(RF_EXIT_AGAIN, "out of memory");
	if (!to || !*to || strlen(to) > PATH_BYTES - 16) {
		free(copies);
		return fail(RF_EXIT_USAGE, "--to FILE is required");
	}
	rc = disk_set_open_some(&set, argc, argv);
	for (i = 0; i < set.count && !rc; i++)
		rc = copy_one(&copies[i], &set, i);
	if (!rc)
		rc = report(&set, copies, argv);
	if (!rc)
		rc = tell(&set, copies);
	disk_set_close(&set);
	free(copies);
	return rc;
}

const struct command cmd_image = {
	.name = "image",
	.args = "DEVICE...",
	.brief = "copy the area and a report of it into files, for a bug report",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
