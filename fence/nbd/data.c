/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a volume. Everything that can change what a later reader sees,
 * or that vouches for it (flush), runs under the reader side of the latch from
 * the look at the epoch to the end of the system call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plugin.h"

static int fenced(struct rf_export *e, enum rf_refusal why)
{
	struct rf_volume *v = e->volume;

	rf_refuse(&v->refused, why, v->name, &e->conn, rf_latch_look(&v->latch).owner.epoch);
	return -ESHUTDOWN;
}

static bool enter(struct rf_export *e)
{
	struct rf_volume *v = e->volume;

	if (!rf_latch_enter(&v->latch, &e->owner))
		return false;
	atomic_fetch_add_explicit(&v->admitted, 1, memory_order_relaxed);
	return true;
}

int rf_data_read(struct rf_export *e, void *buf, uint32_t count, uint64_t offset)
{
	struct rf_volume *v = e->volume;
	uint32_t done = 0;

	if (rf_target.reads_refused) {
		struct rf_latch_view view = rf_latch_look(&v->latch);

		if (rf_latch_judge(&view, &e->owner) != RF_LATCH_SAME)
			return fenced(e, RF_REFUSE_READ);
	}
	while (done < count) {
		ssize_t n = pread(v->fd, (char *)buf + done, count - done,
				  (off_t)(v->offset_bytes + offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (uint32_t)n;
	}
	return 0;
}

static int write_all(const struct rf_volume *v, const void *buf, uint32_t count,
		     uint64_t offset, bool fua)
{
	uint32_t done = 0;

	while (done < count) {
		struct iovec iov = {(char *)buf + done, count - done};
		ssize_t n = pwritev2(v->fd, &iov, 1, (off_t)(v->offset_bytes + offset + done),
				     fua ? RWF_DSYNC : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		done += (uint32_t)n;
	}
	return 0;
}

int rf_data_write(struct rf_export *e, const void *buf, uint32_t count, uint64_t offset,
		  bool fua)
{
	int rc;

	if (!enter(e))
		return fenced(e, RF_REFUSE_WRITE);
	rc = write_all(e->volume, buf, count, offset, fua);
	rf_latch_leave(&e->volume->latch);
	return rc;
}

/* Alignment and file system decide whether the kernel can; the caller falls
 * back on plain writes (zero) or on doing nothing (trim). */
static int allocate(const struct rf_volume *v, int mode, uint32_t count, uint64_t offset,
		    bool fua)
{
	if (fallocate(v->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)(v->offset_bytes + offset),
		      count))
		return errno == EINVAL || errno == ENOTTY ? -EOPNOTSUPP : -errno;
	return fua && fdatasync(v->fd) ? -errno : 0;
}

int rf_data_zero(struct rf_export *e, uint32_t count, uint64_t offset, bool may_trim, bool fua)
{
	int mode = may_trim ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
	int rc;

	if (!enter(e))
		return fenced(e, RF_REFUSE_ZERO);
	rc = allocate(e->volume, mode, count, offset, fua);
	rf_latch_leave(&e->volume->latch);
	return rc;
}

int rf_data_trim(struct rf_export *e, uint32_t count, uint64_t offset, bool fua)
{
	int rc;

	if (!enter(e))
		return fenced(e, RF_REFUSE_TRIM);
	rc = allocate(e->volume, FALLOC_FL_PUNCH_HOLE, count, offset, fua);
	rf_latch_leave(&e->volume->latch);
	return rc == -EOPNOTSUPP ? 0 : rc; /* a trim is only advice */
}

int rf_data_flush(struct rf_export *e)
{
	int rc;

	/* A flush that succeeded would vouch for writes that were refused. */
	if (!enter(e))
		return fenced(e, RF_REFUSE_FLUSH);
	rc = fdatasync(e->volume->fd) ? -errno : 0;
	rf_latch_leave(&e->volume->latch);
	return rc;
}
