/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks, geometry and bytes of the quorum area (area.h). */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "area.h"

#define DIRECT_ALIGN 4096u

__attribute__((format(printf, 4, 5))) static int refuse(char *err, size_t err_bytes, int error,
							const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, err_bytes, fmt, ap);
	va_end(ap);
	return error;
}

/* ---- bytes ---- */

void *rf_area_buffer(size_t bytes)
{
	size_t whole = (bytes + DIRECT_ALIGN - 1) / DIRECT_ALIGN * DIRECT_ALIGN;
	void *p = aligned_alloc(DIRECT_ALIGN, whole ? whole : DIRECT_ALIGN);

	if (p)
		memset(p, 0, whole);
	return p;
}

static int read_all(int fd, void *buf, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)buf + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += (size_t)n;
	}
	return 0;
}

int rf_area_read(const struct rf_area_disk *d, void *buf, size_t bytes, uint64_t offset_bytes)
{
	return read_all(d->fd, buf, bytes, d->offset_bytes + offset_bytes);
}

int rf_area_write(const struct rf_area_disk *d, const void *buf, size_t bytes,
		  uint64_t offset_bytes)
{
	size_t done = 0;

	while (done < bytes) {
		struct iovec v = {(char *)buf + done, bytes - done};
		ssize_t n = pwritev2(d->fd, &v, 1,
				     (off_t)(d->offset_bytes + offset_bytes + done), RWF_DSYNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* ---- geometry ---- */

uint64_t rf_area_bytes(const struct rf_area *a)
{
	return a->strides * a->id.stride_bytes;
}

uint64_t rf_area_slot(const struct rf_area *a, uint32_t node)
{
	return (1 + 2 * (uint64_t)(node - 1)) * a->id.stride_bytes;
}

uint64_t rf_area_volume(const struct rf_area *a, uint32_t volume)
{
	return (1 + 2 * (uint64_t)a->id.nodes + volume) * a->id.stride_bytes;
}

uint64_t rf_area_region(const struct rf_area *a, uint32_t volume)
{
	return rf_area_volume(a, a->volumes) + volume * rf_claim_region_bytes(&a->id);
}

static struct rf_place locate_state(const struct rf_area *a, struct rf_place p, uint64_t s,
				    uint64_t first)
{
	uint64_t half = s / a->state_strides;

	p.kind = RF_KIND_STATE;
	p.volume = (uint32_t)(half / 2 / a->id.nodes);
	p.index = (uint32_t)(half / 2 % a->id.nodes) + 1;
	p.part = (uint32_t)(half % 2);
	p.base_bytes = (first + half * a->state_strides) * a->id.stride_bytes;
	p.room_bytes = (uint64_t)a->state_strides * a->id.stride_bytes;
	return p;
}

/* The map at the head of format.h, read backwards. */
struct rf_place rf_area_locate(const struct rf_area *a, uint64_t offset_bytes)
{
	uint64_t s = offset_bytes / a->id.stride_bytes, first = s, n = a->id.nodes;
	struct rf_place p = {.base_bytes = s * a->id.stride_bytes,
			     .room_bytes = a->id.stride_bytes};

	if (s >= a->strides)
		return p;
	p.kind = RF_KIND_SUPERBLOCK;
	if (s == 0 || s == a->strides - 1)
		return p;
	s -= 1;
	if (s < 2 * n) {
		p.kind = s % 2 ? RF_KIND_MAILBOX : RF_KIND_SLOT;
		p.index = (uint32_t)(s / 2) + 1;
		return p;
	}
	s -= 2 * n;
	if (s < a->volumes) {
		p.kind = RF_KIND_VOLUME;
		p.volume = (uint32_t)s;
		return p;
	}
	s -= a->volumes;
	if (s < a->volumes * (n + 1)) {
		p.volume = (uint32_t)(s / (n + 1));
		p.index = (uint32_t)(s % (n + 1));
		p.kind = p.index ? RF_KIND_BALLOT : RF_KIND_EPOCH;
		return p;
	}
	s -= a->volumes * (n + 1);
	if (s < (uint64_t)a->volumes * a->history) {
		p.kind = RF_KIND_HISTORY;
		p.volume = (uint32_t)(s / a->history);
		p.index = (uint32_t)(s % a->history);
		return p;
	}
	s -= (uint64_t)a->volumes * a->history;
	return locate_state(a, p, s, first - s);
}

/* ---- superblock ---- */

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max && !(v & (v - 1));
}

static bool superblock_good(const struct rf_disk_superblock *sb, uint32_t part)
{
	struct rf_area_id id;

	memcpy(id.cluster, sb->h.cluster, RF_UUID_BYTES);
	memcpy(id.area, sb->h.area, RF_UUID_BYTES);
	return rf_record_check(sb, &id, RF_KIND_SUPERBLOCK, 0, 0) == RF_RECORD_OK &&
	       rf_get32(sb->h.part) == part;
}

/* Strides of the whole area by the map of format.h. */
static uint64_t expected_strides(const struct rf_area *a)
{
	uint64_t n = a->id.nodes, v = a->volumes;

	return 1 + 2 * n + v + v * (n + 1) + v * a->history + 2 * v * n * a->state_strides + 1;
}

static bool geometry_good(const struct rf_area *a)
{
	return a->id.nodes >= 1 && a->id.nodes <= RF_NODES_MAX && a->volumes >= 1 &&
	       a->volumes <= RF_VOLUMES_MAX &&
	       power_of_two(a->id.stride_bytes, RF_STRIDE_MIN, RF_STRIDE_MAX) &&
	       power_of_two(a->sector_bytes, RF_RECORD_BYTES, a->id.stride_bytes) &&
	       a->history >= RF_HISTORY_MIN && a->history <= RF_HISTORY_MAX &&
	       a->state_strides >= 1 && a->state_strides <= RF_STATE_STRIDES_MAX &&
	       (a->disk_count == 1 || a->disk_count == 3 || a->disk_count == 5) &&
	       a->strides == expected_strides(a);
}

static void geometry_decode(const struct rf_disk_superblock *sb, struct rf_area *a)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->id.cluster, sb->h.cluster, RF_UUID_BYTES);
	memcpy(a->id.area, sb->h.area, RF_UUID_BYTES);
	a->id.nodes = rf_get16(sb->nodes);
	a->id.stride_bytes = rf_get32(sb->stride_bytes);
	a->sector_bytes = rf_get32(sb->sector_bytes);
	a->volumes = rf_get16(sb->volumes);
	a->history = rf_get16(sb->history);
	a->state_strides = rf_get16(sb->state_strides);
	a->disk_count = sb->disk_count;
	a->strides = rf_get64(sb->area_strides);
}

static bool geometry_same(const struct rf_area *a, const struct rf_area *b)
{
	return !memcmp(a->id.cluster, b->id.cluster, RF_UUID_BYTES) &&
	       !memcmp(a->id.area, b->id.area, RF_UUID_BYTES) && a->id.nodes == b->id.nodes &&
	       a->id.stride_bytes == b->id.stride_bytes && a->sector_bytes == b->sector_bytes &&
	       a->volumes == b->volumes && a->history == b->history &&
	       a->state_strides == b->state_strides && a->disk_count == b->disk_count &&
	       a->strides == b->strides;
}

static uint64_t device_bytes(int fd)
{
	struct stat st;
	uint64_t bytes = 0;

	if (fstat(fd, &st))
		return 0;
	if (S_ISREG(st.st_mode))
		return (uint64_t)st.st_size;
	if (!S_ISBLK(st.st_mode) || ioctl(fd, BLKGETSIZE64, &bytes))
		return 0;
	return bytes;
}

/* Is the superblock in buf, found at `at`, the one of an area that lies there? */
static bool superblock_fits(const struct rf_disk_superblock *sb, uint32_t part, uint64_t at,
			    uint64_t bytes)
{
	uint64_t offset = rf_get64(sb->area_offset_bytes);
	struct rf_area a;

	if (!superblock_good(sb, part))
		return false;
	geometry_decode(sb, &a);
	if (!geometry_good(&a) || offset > bytes || rf_area_bytes(&a) > bytes - offset)
		return false;
	return at == offset + (part ? rf_area_bytes(&a) - a.id.stride_bytes : 0);
}

/* The area starts at byte 0, or ends with the device; then its copy is found. */
static int superblock_find(int fd, struct rf_disk_superblock *buf)
{
	uint64_t bytes = device_bytes(fd);
	uint32_t stride;

	if (bytes < DIRECT_ALIGN)
		return -ENODATA;
	if (!read_all(fd, buf, DIRECT_ALIGN, 0) && superblock_fits(buf, 0, 0, bytes))
		return 0;
	for (stride = RF_STRIDE_MIN; stride <= RF_STRIDE_MAX && stride <= bytes; stride *= 2) {
		uint64_t at = bytes / stride * stride - stride;

		if (!read_all(fd, buf, DIRECT_ALIGN, at) && superblock_fits(buf, 1, at, bytes))
			return 0;
	}
	return -ENODATA;
}

/* ---- disks ---- */

static int open_direct(struct rf_area_disk *d)
{
	int fd = open(d->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	struct stat st;

	d->read_only = false;
	if (fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM)) {
		d->read_only = true;
		fd = open(d->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	}
	/* A file system without direct I/O: its page cache is the one truth of
	 * this host, and writes are O_DSYNC. Never so for a device. */
	if (fd < 0 && errno == EINVAL && !stat(d->path, &st) && S_ISREG(st.st_mode))
		fd = open(d->path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int adopt(struct rf_area *a, struct rf_area_disk *d, int fd,
		 const struct rf_disk_superblock *sb, char *err, size_t err_bytes)
{
	struct rf_area g;

	if (rf_get64(sb->incompat))
		return refuse(
			err, err_bytes, -EOPNOTSUPP,
			"area %s: features 0x%llx are unknown here; use a newer ringfence",
			d->path, (unsigned long long)rf_get64(sb->incompat));
	geometry_decode(sb, &g);
	if (a->known && !geometry_same(a, &g))
		return refuse(err, err_bytes, -EINVAL,
			      "area %s: not a disk of the same area as the first one", d->path);
	if (sb->disk_index >= g.disk_count)
		return refuse(err, err_bytes, -EINVAL, "area %s: says disk %u of %u", d->path,
			      sb->disk_index, g.disk_count);
	if (!a->known) {
		g.disks = a->disks;
		memcpy(g.disk, a->disk, sizeof(g.disk));
		*a = g;
		a->known = true;
	}
	d->offset_bytes = rf_get64(sb->area_offset_bytes);
	d->index = sb->disk_index;
	if (rf_get64(sb->ro_compat))
		d->read_only = true;
	d->fd = fd;
	return 0;
}

static int open_disk(struct rf_area *a, struct rf_area_disk *d, char *err, size_t err_bytes)
{
	struct rf_disk_superblock *sb;
	int fd = open_direct(d), rc;

	if (fd < 0)
		return refuse(err, err_bytes, fd, "area %s: cannot open: %s", d->path,
			      strerror(-fd));
	sb = rf_area_buffer(DIRECT_ALIGN);
	rc = sb ? superblock_find(fd, sb) : -ENOMEM;
	if (rc)
		refuse(err, err_bytes, rc,
		       "area %s: no readable superblock at its head or tail; see `ringfence "
		       "verify`",
		       d->path);
	else
		rc = adopt(a, d, fd, sb, err, err_bytes);
	free(sb);
	if (rc)
		close(fd);
	return rc;
}

int rf_area_add(struct rf_area *a, const char *path, char *err, size_t err_bytes)
{
	struct rf_area_disk *d = &a->disk[a->disks];

	if (a->disks == RF_DISKS_MAX)
		return refuse(err, err_bytes, -EINVAL, "area: more than %u disks",
			      RF_DISKS_MAX);
	memset(d, 0, sizeof(*d));
	d->path = path;
	d->fd = -1;
	pthread_mutex_init(&d->open_lock, NULL);
	a->disks++;
	return 0;
}

unsigned rf_area_majority(const struct rf_area *a)
{
	return a->disk_count / 2 + 1;
}

static bool duplicate_disk(const struct rf_area *a, unsigned i)
{
	unsigned k;

	for (k = 0; k < i; k++)
		if (a->disk[k].fd >= 0 && a->disk[k].index == a->disk[i].index)
			return true;
	return false;
}

int rf_area_open(struct rf_area *a, char *err, size_t err_bytes)
{
	unsigned i, have = 0;

	err[0] = 0;
	for (i = 0; i < a->disks; i++) {
		if (open_disk(a, &a->disk[i], err, err_bytes))
			continue;
		if (duplicate_disk(a, i))
			return refuse(err, err_bytes, -EINVAL,
				      "area %s: disk %u of the area is listed twice",
				      a->disk[i].path, a->disk[i].index);
		have++;
	}
	if (!a->known)
		return err[0] ? -ENODATA : refuse(err, err_bytes, -EINVAL, "no area= given");
	if (a->disks > a->disk_count)
		return refuse(err, err_bytes, -EINVAL, "area: %u disks listed, it has %u",
			      a->disks, a->disk_count);
	if (have < rf_area_majority(a) && !err[0])
		return refuse(err, err_bytes, -ENODATA,
			      "area: %u of its %u disks listed, a majority (%u) is needed",
			      have, a->disk_count, rf_area_majority(a));
	return have < rf_area_majority(a) ? -ENODATA : 0;
}

void rf_area_close(struct rf_area *a)
{
	unsigned i;

	for (i = 0; i < a->disks; i++)
		if (a->disk[i].fd >= 0)
			close(a->disk[i].fd);
	a->disks = 0;
}

bool rf_area_disk_ready(struct rf_area *a, struct rf_area_disk *d)
{
	char err[256];
	bool ready;

	pthread_mutex_lock(&d->open_lock);
	ready = d->fd >= 0 || !open_disk(a, d, err, sizeof(err));
	if (ready && duplicate_disk(a, (unsigned)(d - a->disk))) {
		close(d->fd);
		d->fd = -1;
		ready = false;
	}
	pthread_mutex_unlock(&d->open_lock);
	return ready;
}

struct rf_area_disk *rf_area_disk_by_index(struct rf_area *a, uint32_t index)
{
	unsigned i;

	for (i = 0; i < a->disks; i++)
		if (rf_area_disk_ready(a, &a->disk[i]) && a->disk[i].index == index)
			return &a->disk[i];
	return NULL;
}
