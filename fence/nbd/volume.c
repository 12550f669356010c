/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A volume's device, and what is known of it when the plugin starts. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

__attribute__((format(printf, 5, 6))) static int refuse(const struct rf_volume *v, char *err,
							size_t err_bytes, int error,
							const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(err, err_bytes, "volume %s (%s): ", v->name, v->path);

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < err_bytes)
		vsnprintf(err + n, err_bytes - (size_t)n, fmt, ap);
	va_end(ap);
	return error;
}

/* ---- the descriptor in the area ---- */

static bool descriptor_read(struct rf_target *t, uint32_t number, struct rf_disk_volume *out)
{
	struct rf_area *a = &t->area;
	struct rf_disk_volume *buf = rf_area_buffer(a->id.stride_bytes);
	bool found = false;
	unsigned i;

	for (i = 0; buf && i < a->disks && !found; i++) {
		const struct rf_area_disk *d = &a->disk[i];

		if (d->fd < 0 ||
		    rf_area_read(d, buf, a->id.stride_bytes, rf_area_volume(a, number)))
			continue;
		found = rf_record_check(buf, &a->id, RF_KIND_VOLUME, number, 0) ==
				RF_RECORD_OK &&
			memchr(buf->name, 0, sizeof(buf->name));
		if (found)
			*out = *buf;
	}
	free(buf);
	return found;
}

static int descriptor_find(struct rf_target *t, struct rf_volume *v, struct rf_disk_volume *out,
			   char *err, size_t err_bytes)
{
	uint32_t n, unreadable = 0;

	for (n = 0; n < t->area.volumes; n++) {
		if (!descriptor_read(t, n, out)) {
			unreadable++;
			continue;
		}
		if (strcmp(out->name, v->name))
			continue;
		v->number = n;
		return 0;
	}
	return refuse(v, err, err_bytes, -ENOENT,
		      "the area has no volume of that name (%u descriptors, %u unreadable)",
		      t->area.volumes, unreadable);
}

/* ---- the device ---- */

static int device_size(int fd, uint64_t *bytes)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*bytes = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	return ioctl(fd, BLKGETSIZE64, bytes) ? -errno : 0;
}

static bool same_device(int a, int b)
{
	struct stat x, y;

	if (fstat(a, &x) || fstat(b, &y))
		return true; /* in doubt, assume the worst */
	if (S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode))
		return x.st_rdev == y.st_rdev;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Data that reached into the area would let any writer rewrite the rules. */
static bool overlaps_area(const struct rf_target *t, const struct rf_volume *v)
{
	uint64_t area_bytes = rf_area_bytes(&t->area);
	unsigned i;

	for (i = 0; i < t->area.disks; i++) {
		const struct rf_area_disk *d = &t->area.disk[i];

		if (d->fd >= 0 && same_device(d->fd, v->fd) &&
		    v->offset_bytes < d->offset_bytes + area_bytes &&
		    d->offset_bytes < v->offset_bytes + v->bytes)
			return true;
	}
	return false;
}

static int place_data(struct rf_target *t, struct rf_volume *v,
		      const struct rf_disk_volume *desc, char *err, size_t err_bytes)
{
	uint64_t size = 0, offset = rf_get64(desc->data_offset_bytes);
	uint64_t bytes = rf_get64(desc->data_bytes);
	int rc = device_size(v->fd, &size);

	if (rc)
		return refuse(v, err, err_bytes, rc, "neither a block device nor a file");
	if (offset > size || bytes > size - offset)
		return refuse(v, err, err_bytes, -EINVAL,
			      "its data lies at %" PRIu64 "+%" PRIu64
			      ", the device has only %" PRIu64 " bytes",
			      offset, bytes, size);
	v->offset_bytes = offset;
	v->bytes = bytes ? bytes : size - offset;
	if (v->bytes > INT64_MAX - offset)
		return refuse(v, err, err_bytes, -EFBIG, "too large");
	if (overlaps_area(t, v))
		return refuse(v, err, err_bytes, -EINVAL,
			      "its data would overlap the quorum area on the same device");
	return 0;
}

static int open_device(struct rf_volume *v, char *err, size_t err_bytes)
{
	/* Held until the last system call of this process has ended, a killed
	 * one's stuck writes included: no second server can serve beside them. */
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	v->fd = open(v->path, O_RDWR | O_CLOEXEC);
	if (v->fd < 0)
		return refuse(v, err, err_bytes, -errno, "cannot open: %s", strerror(errno));
	if (fcntl(v->fd, F_OFD_SETLK, &lock))
		return refuse(v, err, err_bytes, -errno,
			      "locked: another server has it, or a write of a killed one has "
			      "not ended; wait for it");
	return 0;
}

/* ---- what ended before ---- */

static bool memory_path(const struct rf_target *t, const struct rf_volume *v,
			const char *suffix, char *path, size_t bytes)
{
	char area[2 * RF_UUID_BYTES + 1];
	unsigned i;

	for (i = 0; i < RF_UUID_BYTES; i++)
		snprintf(area + 2 * i, 3, "%02x", t->area.id.area[i]);
	return (size_t)snprintf(path, bytes, "%s/%s-%u.shut%s", t->state_dir, area, v->number,
				suffix) < bytes;
}

static int sync_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}

static int write_memory(const char *path, const struct rf_owner *o)
{
	FILE *f = fopen(path, "we");
	int rc = 0;

	if (!f)
		return -errno;
	if (fprintf(f, "rf-shut-1 %" PRIu64 " %u %016" PRIx64 "\n", o->epoch, o->node,
		    o->incarnation) < 0 ||
	    fflush(f) || fsync(fileno(f)))
		rc = -errno;
	if (fclose(f) && !rc)
		rc = -errno;
	return rc;
}

int rf_volume_remember(const struct rf_target *t, const struct rf_volume *v,
		       const struct rf_owner *o)
{
	char path[4096], temp[4096];
	int rc;

	if (!t->state_dir)
		return 0;
	if (!memory_path(t, v, "", path, sizeof(path)) ||
	    !memory_path(t, v, ".new", temp, sizeof(temp)))
		return -ENAMETOOLONG;
	rc = write_memory(temp, o);
	if (!rc && rename(temp, path))
		rc = -errno;
	return rc ? rc : sync_path(t->state_dir, O_RDONLY | O_DIRECTORY);
}

static int recall(const struct rf_target *t, const struct rf_volume *v, struct rf_owner *o,
		  char *err, size_t err_bytes)
{
	char path[4096];
	FILE *f;
	int n;

	if (!t->state_dir)
		return 0;
	if (!memory_path(t, v, "", path, sizeof(path)))
		return refuse(v, err, err_bytes, -ENAMETOOLONG, "state-dir is too long a path");
	f = fopen(path, "re");
	if (!f && errno == ENOENT)
		return 0;
	if (!f)
		return refuse(v, err, err_bytes, -errno, "cannot read %s: %s", path,
			      strerror(errno));
	n = fscanf(f, "rf-shut-1 %" SCNu64 " %u %" SCNx64, &o->epoch, &o->node,
		   &o->incarnation);
	fclose(f);
	if (n != 3)
		return refuse(
			v, err, err_bytes, -EINVAL,
			"%s is damaged; remove it once no client of an older epoch is left",
			path);
	return 0;
}

/*
 * The floor comes from the disk, never from a client. What this target served
 * before is not known: every epoch that anybody may have owned by now could
 * have been served and shut here, so such an epoch is taken up again only
 * while its owner's slot shows the gate open (claimread.h), and not at all if
 * the state-dir remembers that it ended.
 */
static void set_floor(struct rf_target *t, struct rf_volume *v, const struct rf_owner *ended)
{
	struct rf_latch_view view = {.state = RF_LATCH_IDLE};
	struct rf_claim_read r;

	rf_claim_look(&t->area, v->number, &r);
	v->before_start = UINT64_MAX;
	if (r.disks_read >= rf_area_majority(&t->area))
		v->before_start = r.highest_instance > r.highest_decided ? r.highest_instance
									 : r.highest_decided;
	view.owner.epoch = r.highest_decided;
	if (ended->epoch && ended->epoch >= r.highest_decided) {
		view.state = RF_LATCH_ENDED;
		view.owner = *ended;
	}
	rf_latch_set(&v->latch, &view);
}

int rf_volume_start(struct rf_target *t, struct rf_volume *v, char *err, size_t err_bytes)
{
	struct rf_disk_volume desc;
	struct rf_owner ended = {0};
	int rc = descriptor_find(t, v, &desc, err, err_bytes);

	if (!rc)
		rc = open_device(v, err, err_bytes);
	if (!rc)
		rc = place_data(t, v, &desc, err, err_bytes);
	if (!rc)
		rc = recall(t, v, &ended, err, err_bytes);
	if (rc)
		return rc;
	rc = rf_latch_init(&v->latch);
	if (rc)
		return refuse(v, err, err_bytes, rc, "cannot make its lock: %s", strerror(-rc));
	set_floor(t, v, &ended);
	return 0;
}

void rf_volume_stop(struct rf_volume *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}
