/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices and images: opening, reading, measuring. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "disk.h"
#include "identity.h"
#include "tool.h"

#define FILE_SECTOR 4096u /* an image may end up on any device: assume the largest */

static size_t round_up(size_t bytes, uint32_t to)
{
	return (bytes + to - 1) / to * to;
}

void *disk_buffer(size_t bytes)
{
	void *p;

	/* A record is read and written in whole sectors, which may be of any size
	 * up to a stride's largest: there is always room for one. */
	bytes = round_up(bytes, RF_STRIDE_MAX);
	if (posix_memalign(&p, RF_STRIDE_MAX, bytes))
		exit(fail(RF_EXIT_AGAIN, "out of memory (%zu bytes)", bytes));
	return memset(p, 0, bytes);
}

/* ---- opening ---- */

static int open_failed(const char *path, int error)
{
	if (error == EACCES || error == EPERM)
		return fail(RF_EXIT_PERMISSION,
			    "%s: may not be opened (%s): run as root or a member of the disk's "
			    "group",
			    path, strerror(error));
	return fail(RF_EXIT_IO, "%s: cannot be opened: %s", path, strerror(error));
}

static int block_shape(struct disk *d)
{
	int logical = 0;
	unsigned physical = 0;

	if (ioctl(d->fd, BLKGETSIZE64, &d->size_bytes) || ioctl(d->fd, BLKSSZGET, &logical) ||
	    ioctl(d->fd, BLKPBSZGET, &physical))
		return fail(RF_EXIT_IO, "%s: size cannot be read: %m", d->path);
	d->block = true;
	d->logical_bytes = (uint32_t)logical;
	d->physical_bytes = physical;
	if (d->logical_bytes < RF_RECORD_BYTES || d->logical_bytes > RF_STRIDE_MAX)
		return fail(RF_EXIT_IO, "%s: sectors of %u bytes are not supported (%u to %u)",
			    d->path, d->logical_bytes, RF_RECORD_BYTES, RF_STRIDE_MAX);
	rf_identity(d->device_id, d->fd);
	return 0;
}

static int file_shape(struct disk *d, const struct stat *st)
{
	d->size_bytes = (uint64_t)st->st_size;
	d->logical_bytes = FILE_SECTOR;
	d->physical_bytes = FILE_SECTOR;
	return 0;
}

static int not_a_disk(const char *path)
{
	return fail(RF_EXIT_IO, "%s: neither a block device nor an image file", path);
}

static int shape(struct disk *d)
{
	struct stat st;

	if (fstat(d->fd, &st))
		return fail(RF_EXIT_IO, "%s: %m", d->path);
	if (S_ISBLK(st.st_mode))
		return block_shape(d);
	if (S_ISREG(st.st_mode))
		return file_shape(d, &st);
	return not_a_disk(d->path);
}

/* A pipe would have to be opened from its other end first, and a device of another kind
 * may do something when it is opened. */
static bool may_be_disk(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISBLK(st.st_mode) || S_ISREG(st.st_mode) ||
	       S_ISDIR(st.st_mode);
}

int disk_open(struct disk *d, const char *path, int flags)
{
	int rc;

	*d = (struct disk){.path = path, .direct = true, .fd = -1};
	if (!may_be_disk(path))
		return not_a_disk(path);
	d->fd = open(path, flags | O_DIRECT | O_CLOEXEC);
	if (d->fd < 0 && errno == EINVAL) {
		d->direct = false;
		d->fd = open(path, flags | O_CLOEXEC);
	}
	if (d->fd < 0)
		return open_failed(path, errno);
	rc = shape(d);
	if (rc)
		disk_close(d);
	return rc;
}

int disk_writable(struct disk *d, bool exclusive)
{
	struct disk w;
	int rc = disk_open(&w, d->path, O_RDWR | (d->block && exclusive ? O_EXCL : 0));

	if (rc)
		return rc;
	disk_close(d);
	d->fd = w.fd;
	d->direct = w.direct;
	return 0;
}

void disk_close(struct disk *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* ---- bytes ---- */

static uint32_t unit(const struct disk *d)
{
	return d->direct ? d->logical_bytes : RF_RECORD_BYTES;
}

/* The last sectors of an odd-sized image cannot be read in whole units. */
int disk_read(const struct disk *d, void *buf, size_t bytes, uint64_t offset_bytes)
{
	size_t want = round_up(bytes, unit(d)), got = 0;
	ssize_t n;

	if (offset_bytes > d->size_bytes || bytes > d->size_bytes - offset_bytes)
		return -ENODATA;
	while (got < bytes) {
		n = pread(d->fd, (char *)buf + got, want - got, (off_t)(offset_bytes + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENODATA;
		got += (size_t)n;
	}
	return 0;
}

int disk_write(const struct disk *d, const void *buf, size_t bytes, uint64_t offset_bytes)
{
	size_t done = 0;

	/* Rounding here would write over what stands behind. */
	if (offset_bytes % unit(d) || bytes % unit(d))
		return -EINVAL;
	if (offset_bytes > d->size_bytes || bytes > d->size_bytes - offset_bytes)
		return -ENOSPC;
	while (done < bytes) {
		struct iovec v = {(char *)buf + done, bytes - done};
		ssize_t n = pwritev2(d->fd, &v, 1, (off_t)(offset_bytes + done), RWF_DSYNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int disk_record(const struct disk *d, const struct record *r, void *buf)
{
	return disk_read(d, buf, RF_RECORD_BYTES, d->base_bytes + r->offset_bytes);
}

int disk_put(const struct disk *d, const struct record *r, const void *buf)
{
	size_t bytes = d->super.sector_bytes;

	if (bytes < unit(d))
		bytes = unit(d);
	/* The rest of the sector is the record's own: a stride is never smaller. */
	if (bytes > d->super.id.stride_bytes)
		return -EINVAL;
	return disk_write(d, buf, bytes, d->base_bytes + r->offset_bytes);
}

/* ---- how long one round trip takes ---- */

int disk_measure(const struct disk *d, uint64_t offset_bytes, unsigned count,
		 uint32_t *worst_us)
{
	void *buf = disk_buffer(RF_STRIDE_MIN);
	int rc = 0;

	*worst_us = 0;
	while (count-- && !rc) {
		uint64_t begin = rf_boot_ns() / 1000, took;

		rc = disk_read(d, buf, RF_RECORD_BYTES, offset_bytes);
		took = rf_boot_ns() / 1000 - begin;
		if (took > *worst_us)
			*worst_us = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
	}
	free(buf);
	return rc;
}
