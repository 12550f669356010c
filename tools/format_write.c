/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing an area. Order: both superblocks are made unreadable, then every
 * other record, then how long a durable write takes is measured, then the copy,
 * and the superblock last. Cut off anywhere there is no area, never half of one.
 * Then all of it is read back and compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "format.h"
#include "format/timing.h"
#include "tool.h"

#define MEASURE_WRITES 16u

/* ---- records as they are at the beginning ---- */

static struct rf_super super_of(const struct plan *p, unsigned disk)
{
	struct rf_super s = p->super;

	s.disk_index = (uint8_t)disk;
	s.area_offset_bytes = p->offset_bytes[disk];
	memcpy(s.device_id, p->disk[disk].device_id, sizeof(s.device_id));
	return s;
}

static void encode_volume(void *raw, const struct plan *p, uint32_t v)
{
	struct rf_volume_desc d = {.seq = 1};

	memcpy(d.name, p->names[v], sizeof(d.name));
	memcpy(d.uuid, p->uuids[v], sizeof(d.uuid));
	if (!v && p->super.place != RF_PLACE_WHOLE) {
		memcpy(d.device_id, p->disk[0].device_id, sizeof(d.device_id));
		d.data_offset_bytes = p->data_offset_bytes;
		d.data_bytes = p->data_bytes;
	}
	rf_volume_encode(raw, &p->super.id, v, &d);
}

static void encode(void *raw, const struct plan *p, unsigned disk, const struct record *r)
{
	const struct rf_area_id *id = &p->super.id;
	struct rf_super super;

	switch (r->kind) {
	case RF_KIND_SUPERBLOCK:
		super = super_of(p, disk);
		rf_super_encode(raw, &super, r->part);
		break;
	case RF_KIND_SLOT:
		rf_slot_encode(raw, id, r->index,
			       &(struct rf_slot){.seq = 1, .state = RF_SLOT_FREE});
		break;
	case RF_KIND_MAILBOX:
		rf_mailbox_encode(raw, id, r->index,
				  &(struct rf_mailbox){.seq = 1, .order = RF_ORDER_NONE});
		break;
	case RF_KIND_VOLUME:
		encode_volume(raw, p, r->volume);
		break;
	case RF_KIND_EPOCH:
		rf_epoch_encode(raw, id, r->volume,
				&(struct rf_epoch){.seq = 1, .state = RF_EPOCH_NONE});
		break;
	case RF_KIND_BALLOT:
		rf_ballot_encode(raw, id, r->volume, r->index, &(struct rf_ballot){.seq = 1});
		break;
	case RF_KIND_STATE:
		rf_state_encode(raw, id, r->volume, r->index, r->part,
				&(struct rf_state){.seq = 1});
		break;
	case RF_KIND_HISTORY:
		rf_history_encode(raw, id, r->volume, r->index, &(struct rf_history){.seq = 1});
		break;
	}
}

/* ---- chunk by chunk ---- */

struct walk {
	const struct plan *p;
	unsigned disk;
	bool supers;       /* encode them, or leave zeros in their place */
	uint64_t next;     /* record */
	uint64_t at_bytes; /* of the next chunk, from stride 0 */
	size_t bytes;      /* of the present chunk */
	char *chunk;
};

static void walk_begin(struct walk *w, const struct plan *p, unsigned disk, bool supers)
{
	*w = (struct walk){.p = p, .disk = disk, .supers = supers};
	w->chunk = disk_buffer(DISK_READ_MAX);
}

/* The next chunk of the area, as it has to be on the disk. */
static bool walk_next(struct walk *w)
{
	const struct rf_super *s = &w->p->super;
	uint64_t from = w->at_bytes, end = s->area_strides * s->id.stride_bytes;

	if (from == end)
		return false;
	w->bytes = end - from < DISK_READ_MAX ? end - from : DISK_READ_MAX;
	w->at_bytes += w->bytes;
	memset(w->chunk, 0, w->bytes);
	for (; w->next < record_count(s); w->next++) {
		struct record r = record_at(s, w->next);

		if (r.offset_bytes >= w->at_bytes)
			break;
		if (w->supers || r.kind != RF_KIND_SUPERBLOCK)
			encode(w->chunk + (r.offset_bytes - from), w->p, w->disk, &r);
	}
	return true;
}

static uint64_t walk_disk_offset(const struct walk *w)
{
	return w->p->offset_bytes[w->disk] + w->at_bytes - w->bytes;
}

static int io_failed(const struct plan *p, unsigned disk, const char *what, uint64_t at, int rc)
{
	return fail(rc == -EPERM || rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_IO,
		    "%s: %s failed at byte %" PRIu64
		    ": %s. There is no area on this device now",
		    p->disk[disk].path, what, at, strerror(-rc));
}

/* ---- steps ---- */

/* At its place in the new area, in zeros or as it has to be. */
static int put_super(const struct plan *p, unsigned disk, uint32_t part, bool blank)
{
	struct record r = {.kind = RF_KIND_SUPERBLOCK, .part = part};
	void *buf = disk_buffer(p->super.id.stride_bytes);
	uint64_t at = p->offset_bytes[disk];
	int rc;

	r.offset_bytes = part ? rf_geo_copy(&p->super) : 0;
	if (!blank)
		encode(buf, p, disk, &r);
	at += r.offset_bytes;
	rc = disk_write(&p->disk[disk], buf, p->super.id.stride_bytes, at);
	free(buf);
	return rc ? io_failed(p, disk, "writing a superblock", at, rc) : 0;
}

/* An area that was here before may have its superblocks elsewhere: a reader
 * must not find them. They lie within that old area (--force was given). */
static int forget_old(const struct plan *p, unsigned disk)
{
	const struct disk *d = &p->disk[disk];
	uint32_t stride = d->super.id.stride_bytes;
	void *buf;
	int rc;

	if (d->found != FOUND_GOOD && d->found != FOUND_COPY)
		return 0;
	buf = disk_buffer(stride);
	rc = disk_write(d, buf, stride, d->base_bytes);
	if (!rc && d->base_bytes + rf_geo_copy(&d->super) + stride <= d->size_bytes)
		rc = disk_write(d, buf, stride, d->base_bytes + rf_geo_copy(&d->super));
	free(buf);
	return rc ? io_failed(p, disk, "erasing the old superblock", d->base_bytes, rc) : 0;
}

static int write_records(const struct plan *p, unsigned disk)
{
	struct walk w;
	int rc = 0;

	walk_begin(&w, p, disk, false);
	while (!rc && walk_next(&w)) {
		rc = disk_write(&p->disk[disk], w.chunk, w.bytes, walk_disk_offset(&w));
		if (rc)
			rc = io_failed(p, disk, "writing", walk_disk_offset(&w), rc);
	}
	free(w.chunk);
	return rc;
}

/* Writes the slot of node 1 again and again, as a node would. */
static int measure_writes(const struct plan *p, unsigned disk, uint32_t *worst_us)
{
	struct record r = {.kind = RF_KIND_SLOT, .index = 1};
	void *buf = disk_buffer(p->super.id.stride_bytes);
	uint64_t at = p->offset_bytes[disk] + rf_geo_slot(&p->super, 1);
	unsigned i;
	int rc = 0;

	*worst_us = 0;
	encode(buf, p, disk, &r);
	for (i = 0; i < MEASURE_WRITES && !rc; i++) {
		uint64_t begin = rf_boot_ns() / 1000, took;

		rc = disk_write(&p->disk[disk], buf, p->super.sector_bytes, at);
		took = rf_boot_ns() / 1000 - begin;
		if (took > *worst_us)
			*worst_us = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
	}
	free(buf);
	return rc ? io_failed(p, disk, "writing", at, rc) : 0;
}

/* One hiccup of a busy machine is not the disk: the best of three counts. */
static int judge_writes(struct plan *p, unsigned disk)
{
	uint32_t best = UINT32_MAX, us;
	unsigned i;
	int rc;

	for (i = 0; i < 3; i++) {
		rc = measure_writes(p, disk, &us);
		if (rc)
			return rc;
		if (us < best)
			best = us;
		if (rf_timing_check(&p->super.timing, best) == RF_TIMING_OK)
			break;
	}
	if (best > p->write_us)
		p->write_us = best;
	rc = format_timing_judge(&p->super.timing, best);
	if (rc)
		note("%s: durable writes are too slow for these timings; there is no area on "
		     "this "
		     "device now",
		     p->disk[disk].path);
	return rc;
}

static int read_back(const struct plan *p, unsigned disk)
{
	char *buf = disk_buffer(DISK_READ_MAX);
	struct walk w;
	int rc = 0;

	if (p->disk[disk].block)
		ioctl(p->disk[disk].fd, BLKFLSBUF, 0);
	walk_begin(&w, p, disk, true);
	while (!rc && walk_next(&w)) {
		rc = disk_read(&p->disk[disk], buf, w.bytes, walk_disk_offset(&w));
		if (rc)
			rc = io_failed(p, disk, "reading back", walk_disk_offset(&w), rc);
		else if (memcmp(buf, w.chunk, w.bytes))
			rc = fail(RF_EXIT_IO,
				  "%s: what was read back from byte %" PRIu64
				  " differs from what was written: is another host writing, or "
				  "is "
				  "this device not what it seems?",
				  p->disk[disk].path, walk_disk_offset(&w));
	}
	free(w.chunk);
	free(buf);
	return rc;
}

static int write_one(struct plan *p, unsigned disk)
{
	int rc = forget_old(p, disk);

	if (!rc)
		rc = put_super(p, disk, 0, true);
	if (!rc)
		rc = put_super(p, disk, 1, true);
	if (!rc)
		rc = write_records(p, disk);
	if (!rc)
		rc = judge_writes(p, disk);
	return rc;
}

static int sync_disk(const struct plan *p, unsigned disk)
{
	if (fsync(p->disk[disk].fd))
		return io_failed(p, disk, "flushing", p->offset_bytes[disk], -errno);
	return 0;
}

int format_write(struct plan *p)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < p->disks && !rc; i++)
		rc = write_one(p, i);
	for (i = 0; i < p->disks && !rc; i++)
		rc = sync_disk(p, i);
	for (i = 0; i < p->disks && !rc; i++) {
		rc = put_super(p, i, 1, false);
		if (!rc)
			rc = put_super(p, i, 0, false);
		if (!rc)
			rc = sync_disk(p, i);
	}
	for (i = 0; i < p->disks && !rc; i++)
		rc = read_back(p, i);
	return rc;
}
