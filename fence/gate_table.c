/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table line of a gate, from what the quorum area says. */
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
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gate_table.h"

#define SECTOR 512u

__attribute__((format(printf, 4, 5))) static int refuse(char *err, size_t err_bytes, int error,
							const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, err_bytes, fmt, ap);
	va_end(ap);
	return error;
}

static int device_bytes(const char *path, uint64_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, bytes))
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

/* A record from the first disk that has a good one. */
static int read_record(struct rf_area *a, void *record, uint64_t at, uint16_t kind,
		       uint32_t volume)
{
	unsigned i;

	for (i = 0; i < a->disks; i++)
		if (a->disk[i].fd >= 0 && !rf_area_read(&a->disk[i], record, 4096, at) &&
		    rf_record_check(record, &a->id, kind, volume, 0) == RF_RECORD_OK)
			return 0;
	return -ENODATA;
}

static int take_super(struct rf_gate_table *t, struct rf_area *a, void *record, char *err,
		      size_t err_bytes)
{
	const struct rf_disk_superblock *sb = record;

	if (read_record(a, record, 0, RF_KIND_SUPERBLOCK, 0))
		return refuse(err, err_bytes, -ENODATA,
			      "gate: the area's superblock is unreadable: see `ringfence "
			      "verify`");
	t->lease_ms = rf_get32(sb->lease_ms);
	t->hold_ms = rf_get32(sb->hold_ms);
	if (!t->check_ms)
		t->check_ms = t->lease_ms / 4;
	if (t->check_ms < RF_GATE_CHECK_MS_MIN || t->check_ms > t->lease_ms)
		return refuse(err, err_bytes, -EINVAL,
			      "gate: check-ms=%u is not between %u and the lease, %u ms",
			      t->check_ms, RF_GATE_CHECK_MS_MIN, t->lease_ms);
	return 0;
}

static int take_volume(struct rf_gate_table *t, struct rf_area *a, void *record,
		       uint64_t *offset, char *err, size_t err_bytes)
{
	const struct rf_disk_volume *v = record;
	uint64_t size, bytes;
	int r;

	if (t->volume >= a->volumes || t->node > a->id.nodes)
		return refuse(err, err_bytes, -EINVAL,
			      "gate: the area has %u volumes and %u nodes; this is volume %u, "
			      "node %u",
			      a->volumes, a->id.nodes, t->volume, t->node);
	if (read_record(a, record, rf_area_volume(a, t->volume), RF_KIND_VOLUME, t->volume))
		return refuse(err, err_bytes, -ENODATA,
			      "gate: the record of volume %u is unreadable: see `ringfence "
			      "verify`",
			      t->volume);
	r = device_bytes(t->device, &size);
	if (r)
		return refuse(err, err_bytes, r, "gate: %.80s: %s", t->device, strerror(-r));
	*offset = rf_get64(v->data_offset_bytes);
	bytes = rf_get64(v->data_bytes);
	if (*offset > size || bytes > size - *offset)
		return refuse(err, err_bytes, -ENOSPC,
			      "gate: %.80s has %" PRIu64 " bytes; the volume's data would end "
			      "behind it: is it the right device?",
			      t->device, size);
	t->sectors = (bytes ? bytes : size - *offset) / SECTOR;
	return 0;
}

__attribute__((format(printf, 2, 3))) static void add(struct rf_gate_table *t, const char *fmt,
						      ...)
{
	size_t at = strlen(t->params);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->params + at, sizeof(t->params) - at, fmt, ap);
	va_end(ap);
}

/* A device as the kernel prints it in a table, so that tables can be compared. */
static void add_device(struct rf_gate_table *t, const char *path, uint64_t offset)
{
	struct stat st = {0};

	stat(path, &st); /* it was opened a moment ago; 0:0 is refused */
	add(t, "%u:%u %" PRIu64 " ", major(st.st_rdev), minor(st.st_rdev), offset / SECTOR);
}

static void add_uuid(struct rf_gate_table *t, const __u8 *u)
{
	add(t, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x ", u[0],
	    u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
	    u[14], u[15]);
}

static void write_line(struct rf_gate_table *t, const struct rf_area *a, uint64_t offset)
{
	unsigned i, features = t->gate_reads + t->conflict;

	t->params[0] = 0;
	add_device(t, t->device, offset);
	add(t, "%u %u %u %u ", t->node, t->volume, a->id.nodes, a->id.stride_bytes);
	add_uuid(t, a->id.cluster);
	add_uuid(t, a->id.area);
	add(t, "%u %u %u %u ", t->lease_ms, t->check_ms, t->hold_ms, a->disk_count);
	for (i = 0; i < a->disks; i++)
		add_device(t, a->disk[i].path,
			   a->disk[i].offset_bytes + rf_area_region(a, t->volume));
	t->params[strlen(t->params) - 1] = 0;
	if (features)
		add(t, " %u%s%s", features, t->gate_reads ? " " RF_GATE_FEATURE_READS : "",
		    t->conflict ? " " RF_GATE_FEATURE_CONFLICT : "");
	snprintf(t->uuid, sizeof(t->uuid), "RINGFENCE-");
	for (i = 0; i < RF_UUID_BYTES; i++)
		snprintf(t->uuid + strlen(t->uuid), 3, "%02x", a->id.area[i]);
	snprintf(t->uuid + strlen(t->uuid), 12, "-%u-%u", t->volume, t->node);
}

int rf_gate_table_make(struct rf_gate_table *t, struct rf_area *a, char *err, size_t err_bytes)
{
	void *record = rf_area_buffer(4096);
	uint64_t offset = 0;
	unsigned i;
	int r = record ? rf_area_open(a, err, err_bytes) : -ENOMEM;

	/* the kernel's majority is counted over all disks: each must be named */
	for (i = 0; !r && i < a->disk_count; i++)
		if (i >= a->disks || a->disk[i].fd < 0)
			r = refuse(err, err_bytes, -ENODEV,
				   "gate: the area has %u disks; all must be there to load a "
				   "gate",
				   a->disk_count);
	r = r ? r : take_super(t, a, record, err, err_bytes);
	r = r ? r : take_volume(t, a, record, &offset, err, err_bytes);
	if (!r)
		write_line(t, a, offset);
	free(record);
	return r;
}
