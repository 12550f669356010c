/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the quorum disks of an area, see area.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "area.h"
#include "format/timing.h"
#include "identity.h"
#include "log.h"

struct message {
	char *text;
	size_t bytes;
};

__attribute__((format(printf, 3, 4))) static int refuse(struct message *m, int rc,
							const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(m->text, m->bytes, format, ap);
	va_end(ap);
	return rc;
}

/* ---- one disk ---- */

static uint64_t device_bytes(int fd)
{
	uint64_t bytes = 0;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		return ioctl(fd, BLKGETSIZE64, &bytes) == 0 ? bytes : 0;
	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static uint32_t sector_bytes(int fd)
{
	int bytes = 0;

	return ioctl(fd, BLKSSZGET, &bytes) == 0 && bytes >= 512 ? (uint32_t)bytes : 512;
}

/* Reads one stride at `at`; the superblock in it, if it is one. */
static enum rf_record_verdict try_at(int fd, uint8_t *buffer, uint64_t at, struct rf_super *s,
				     int *error)
{
	ssize_t n = pread(fd, buffer, RF_STRIDE_MIN, (off_t)at);

	if (n < 0)
		*error = errno;
	return n < (ssize_t)RF_RECORD_BYTES ? RF_RECORD_BAD_MAGIC : rf_super_decode(buffer, s);
}

/* At the start of the device, else its copy in the last stride. */
static int find_super(int fd, const char *path, struct rf_super *s, uint64_t *base,
		      struct message *m)
{
	uint8_t *buffer = aligned_alloc(RF_STRIDE_MIN, RF_STRIDE_MIN);
	uint64_t size = device_bytes(fd);
	enum rf_record_verdict first, v;
	int error = 0;

	if (!buffer)
		return refuse(m, -ENOMEM, "%s: out of memory", path);
	v = first = try_at(fd, buffer, 0, s, &error);
	*base = 0;
	for (uint32_t stride = RF_STRIDE_MIN; v && stride <= RF_STRIDE_MAX; stride *= 2) {
		uint64_t at = size / stride * stride - stride;

		if (size < 2 * stride)
			break;
		v = try_at(fd, buffer, at, s, &error);
		if (v == RF_RECORD_OK && (s->id.stride_bytes != stride || rf_geo_copy(s) > at))
			v = RF_RECORD_MISPLACED;
		if (v == RF_RECORD_OK)
			*base = at - rf_geo_copy(s);
	}
	free(buffer);
	if (v == RF_RECORD_OK)
		return 0;
	if (error) /* unreadable is not empty */
		return refuse(m, -error, "%s: cannot be read: %s", path, strerror(error));
	return refuse(m, -EBADMSG, "%s: %s; see `ringfence verify %s`", path,
		      first == RF_RECORD_BAD_MAGIC ? "no ringfence area here (wrong device, or "
						     "not formatted)"
						   : "the superblock is damaged",
		      path);
}

static int check_disk(const struct rf_config *c, const char *path, int fd,
		      const struct rf_super *s, uint64_t base, struct message *m)
{
	char id[RF_DEVICE_ID_BYTES];

	if (strcmp(s->cluster_name, c->cluster) != 0)
		return refuse(m, -EMEDIUMTYPE,
			      "%s: belongs to cluster '%s', the configuration says '%s': wrong "
			      "device, or a LUN of another cluster",
			      path, s->cluster_name, c->cluster);
	if (base != s->area_offset_bytes)
		return refuse(m, -EMEDIUMTYPE,
			      "%s: the area was made for offset %llu of its device and lies at "
			      "%llu: a copy, or the device was resized",
			      path, (unsigned long long)s->area_offset_bytes,
			      (unsigned long long)base);
	if (sector_bytes(fd) > s->sector_bytes)
		return refuse(
			m, -EINVAL,
			"%s: sectors of %u bytes, the area was made for %u: format it anew",
			path, sector_bytes(fd), s->sector_bytes);
	rf_identity(id, fd);
	if (id[0] && s->device_id[0] && strcmp(id, s->device_id) != 0)
		return refuse(
			m, -EMEDIUMTYPE,
			"%s: is device '%s', the area was made on '%s': a snapshot, a clone "
			"or a wrong LUN",
			path, id, s->device_id);
	return 0;
}

/* Disks of one area agree on everything but their index. */
static int same_area(const char *path, const struct rf_super *a, const struct rf_super *b,
		     struct message *m)
{
	struct rf_super x = *a, y = *b;

	x.disk_index = y.disk_index = 0;
	x.area_offset_bytes = y.area_offset_bytes = 0;
	x.place = y.place = 0;
	x.seq = y.seq = 0;
	memset(x.device_id, 0, sizeof(x.device_id));
	memset(y.device_id, 0, sizeof(y.device_id));
	if (memcmp(x.id.area, y.id.area, RF_UUID_BYTES) != 0)
		return refuse(m, -EMEDIUMTYPE, "%s: a quorum disk of another area", path);
	if (memcmp(&x, &y, sizeof(x)) != 0)
		return refuse(m, -EMEDIUMTYPE,
			      "%s: its superblock differs from that of the other quorum disks: "
			      "compare with `ringfence dump --record superblock`",
			      path);
	return 0;
}

/* known: the superblock of a disk of the same area, or NULL. */
static int find_disk(const struct rf_config *c, const char *path, const struct rf_super *known,
		     int *disk_fd, struct rf_super *s, uint64_t *base, struct message *m)
{
	int fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC), rc;

	if (fd < 0)
		return refuse(m, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	rc = find_super(fd, path, s, base, m);
	if (!rc)
		rc = check_disk(c, path, fd, s, *base, m);
	if (!rc && known)
		rc = same_area(path, known, s, m);
	if (rc)
		close(fd);
	else
		*disk_fd = fd;
	return rc;
}

static int take_disk(struct rf_area *a, const struct rf_config *c, uint32_t index,
		     uint32_t path, uint32_t *good, struct message *m)
{
	const char *name = c->area[index].disk[path];
	struct rf_super s = {0};
	uint64_t base;
	int fd, rc;

	rc = find_disk(c, name, *good ? &a->super : NULL, &fd, &s, &base, m);
	if (rc)
		return rc;
	if (a->fd[s.disk_index] >= 0) {
		close(fd);
		return refuse(m, -EMEDIUMTYPE, "%s: quorum disk %u is given twice", name,
			      s.disk_index);
	}
	if (!*good)
		a->super = s;
	a->fd[s.disk_index] = fd;
	a->offset[s.disk_index] = base;
	a->path[s.disk_index] = path;
	(*good)++;
	return 0;
}

int rf_area_find(const struct rf_area *a, const struct rf_config *c, uint32_t index,
		 uint32_t path, int *fd, uint32_t *disk, uint64_t *offset, char *err,
		 size_t err_bytes)
{
	struct message m = {err, err_bytes};
	struct rf_super s = {0};
	int rc;

	rc = find_disk(c, c->area[index].disk[path], &a->super, fd, &s, offset, &m);
	*disk = s.disk_index;
	return rc;
}

/* ---- volumes ---- */

static bool read_volume(const struct rf_area *a, uint32_t d, uint32_t v, uint8_t *buffer,
			struct rf_volume_desc *desc)
{
	off_t at = (off_t)(a->offset[d] + rf_geo_volume(&a->super, v));

	return a->fd[d] >= 0 &&
	       pread(a->fd[d], buffer, RF_STRIDE_MIN, at) == (ssize_t)RF_STRIDE_MIN &&
	       rf_volume_decode(buffer, &a->super.id, v, desc) == RF_RECORD_OK;
}

/* On any disk: descriptors are written by `format` only, so copies are equal. */
static bool find_volume(const struct rf_area *a, const char *name, uint8_t *buffer,
			uint32_t *number, struct rf_volume_desc *desc)
{
	for (uint32_t v = 0; v < a->super.volumes; v++)
		for (uint32_t d = 0; d < a->super.disk_count; d++)
			if (read_volume(a, d, v, buffer, desc) &&
			    strcmp(desc->name, name) == 0) {
				*number = v;
				return true;
			}
	return false;
}

/* The data must be the device that the volume was made on. One that cannot be opened
 * is not judged: with a fence at the target this host may not have it at all. */
static int check_device(const struct rf_config_volume *v, const struct rf_volume_desc *desc,
			struct message *m)
{
	char id[RF_DEVICE_ID_BYTES] = "";
	int fd;

	if (!v->device[0] || !desc->device_id[0])
		return 0;
	fd = open(v->device, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	rf_identity(id, fd);
	close(fd);
	if (!id[0] || !strcmp(id, desc->device_id))
		return 0;
	return refuse(m, -EMEDIUMTYPE,
		      "volume %s: %s is device '%s', the volume was made on '%s': a snapshot, "
		      "a clone or a wrong LUN",
		      v->name, v->device, id, desc->device_id);
}

static int find_volumes(struct rf_area *a, const struct rf_config *c, uint32_t index,
			struct message *m)
{
	uint8_t *buffer = aligned_alloc(RF_STRIDE_MIN, RF_STRIDE_MIN);
	int rc = buffer ? 0 : refuse(m, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < c->volumes && !rc; i++) {
		a->number[i] = UINT32_MAX;
		if (c->volume[i].area == index &&
		    !find_volume(a, c->volume[i].name, buffer, &a->number[i], &a->desc[i]))
			rc = refuse(
				m, -ENOENT,
				"%s: no readable volume '%s' in this area; `ringfence dump` "
				"lists what is there",
				c->area[index].disk[0], c->volume[i].name);
		else if (c->volume[i].area == index)
			rc = check_device(&c->volume[i], &a->desc[i], m);
	}
	free(buffer);
	return rc;
}

/* ---- the area ---- */

static int check_area(const struct rf_config *c, uint32_t index, const struct rf_super *s,
		      struct message *m)
{
	enum rf_timing_rule rule = rf_timing_check(&s->timing, 0);

	if (c->area[index].disks != s->disk_count)
		return refuse(m, -EINVAL,
			      "%s: the area has %u quorum disks, the configuration names %u",
			      c->area[index].disk[0], s->disk_count, c->area[index].disks);
	if (c->node > s->id.nodes)
		return refuse(m, -EINVAL,
			      "node-id %u: the area on %s was made for nodes 1 to %u", c->node,
			      c->area[index].disk[0], s->id.nodes);
	if (rule != RF_TIMING_OK)
		return refuse(m, -EINVAL, "%s: its timings break %s", c->area[index].disk[0],
			      rf_timing_words(rule));
	return rf_config_compare(c, index, s, m->text, m->bytes);
}

int rf_area_open(struct rf_area *a, const struct rf_config *c, uint32_t index, char *err,
		 size_t err_bytes)
{
	struct message m = {err, err_bytes};
	uint32_t good = 0;
	int rc = 0, last = 0;

	memset(a, 0, sizeof(*a));
	for (uint32_t d = 0; d < RF_DISKS_MAX; d++) {
		a->fd[d] = -1;
		a->path[d] = UINT32_MAX;
	}
	for (uint32_t d = 0; d < c->area[index].disks && !rc; d++) {
		rc = take_disk(a, c, index, d, &good, &m);
		/* a disk that is missing is tolerated in a set, a wrong one is not */
		if (rc && rc != -EMEDIUMTYPE && c->area[index].disks > 1) {
			rf_log(RF_LOG_WARNING, "disk-missing: %s", err);
			last = rc;
			rc = 0;
		}
	}
	if (!rc && good < c->area[index].disks / 2 + 1)
		rc = last ? last : -ENODEV;
	if (!rc)
		rc = check_area(c, index, &a->super, &m);
	if (!rc)
		rc = find_volumes(a, c, index, &m);
	if (rc)
		rf_area_close(a);
	return rc;
}

void rf_area_close(struct rf_area *a)
{
	for (uint32_t d = 0; d < RF_DISKS_MAX; d++) {
		if (a->fd[d] >= 0)
			close(a->fd[d]);
		a->fd[d] = -1;
	}
}
