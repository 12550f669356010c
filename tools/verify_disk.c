/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of single disks and single records, and of the copies of one record. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

/* ---- disks ---- */

/* A snapshot, or another LUN under the expected path, is a good area on the
 * wrong device: only the identity tells (CASES 11). */
static void check_identity(const struct disk_set *set, struct findings *out, int i)
{
	const struct disk *d = &set->disk[i];
	const char *made = d->super.device_id;

	if (made[0] && d->device_id[0] && strcmp(made, d->device_id)) {
		finding_add(out, set, SEV_ALIEN, i, NULL,
			    "made for device '%s', found on device '%s'", made, d->device_id);
		finding_todo(out, "a snapshot, a copy, or a wrong LUN under this path: nodes "
				  "must not use it; look for the device it was made for");
	} else if (made[0] && !d->device_id[0]) {
		finding_add(out, set, d->block ? SEV_ALIEN : SEV_NOTE, i, NULL,
			    "made for device '%s', found on %s without an identity", made,
			    d->block ? "a device" : "an image");
		finding_todo(out,
			     "fine for an image; a device that nodes use should be the one "
			     "it was made for");
	}
}

static void check_fit(const struct disk_set *set, struct findings *out, int i)
{
	const struct disk *d = &set->disk[i];
	uint64_t end = d->base_bytes + d->super.area_strides * d->super.id.stride_bytes;

	if (end > d->size_bytes) {
		finding_add(out, set, SEV_DAMAGE, i, NULL,
			    "truncated: the area ends at byte %" PRIu64
			    ", the device at %" PRIu64,
			    end, d->size_bytes);
		finding_todo(out,
			     "the device shrank or the image is incomplete: give it its size "
			     "back, nothing was overwritten");
	}
	if (d->base_bytes != d->super.area_offset_bytes) {
		finding_add(out, set, SEV_ALIEN, i, NULL,
			    "made at byte %" PRIu64 " of its device, found at byte %" PRIu64,
			    d->super.area_offset_bytes, d->base_bytes);
		finding_todo(out,
			     "the area was copied, or the device is another one (a partition "
			     "for a disk, say): use the device it was made on");
	}
}

static void check_sectors(const struct disk_set *set, struct findings *out, int i)
{
	const struct disk *d = &set->disk[i];
	uint32_t unit =
		d->physical_bytes > d->logical_bytes ? d->physical_bytes : d->logical_bytes;

	if (!d->block)
		return;
	if (d->logical_bytes > d->super.sector_bytes || unit > d->super.id.stride_bytes) {
		finding_add(out, set, SEV_ALIEN, i, NULL,
			    "made for sectors of %u bytes and strides of %u, this device has "
			    "sectors of %u (physical %u)",
			    d->super.sector_bytes, d->super.id.stride_bytes, d->logical_bytes,
			    d->physical_bytes);
		finding_todo(out, "two writers could share a sector here: move the area to a "
				  "device with smaller sectors or format it anew");
	}
}

static void check_twins(const struct disk_set *set, struct findings *out, int i)
{
	const struct rf_super *a = &set->disk[i].super, *b;
	int j;

	for (j = 0; j < i; j++) {
		b = &set->disk[j].super;
		if (a->disk_index == b->disk_index) {
			finding_add(out, set, SEV_ALIEN, i, NULL,
				    "is disk %u of the area, and so is %s", a->disk_index + 1,
				    set->disk[j].path);
			finding_todo(out, "one of them is a snapshot or a copy: nodes must use "
					  "only one; compare the sequences that `dump` shows");
		} else if (a->disk_count != b->disk_count || a->quorum != b->quorum ||
			   memcmp(&a->timing, &b->timing, sizeof(a->timing)) ||
			   memcmp(a->voters, b->voters, sizeof(a->voters))) {
			finding_add(
				out, set, SEV_DAMAGE, i, NULL,
				"its superblock disagrees with that of %s on timings, quorum "
				"rule, voters or number of disks",
				set->disk[j].path);
			finding_todo(out,
				     "one of them is from another time: format the area anew "
				     "when no node runs");
		}
	}
}

/* Only format writes them, both at once: they differ in nothing but their part. */
static void check_both_supers(const struct disk_set *set, struct findings *out, int i)
{
	const struct disk *d = &set->disk[i];
	struct record first = {.kind = RF_KIND_SUPERBLOCK};
	struct record copy = {
		.kind = RF_KIND_SUPERBLOCK, .part = 1, .offset_bytes = rf_geo_copy(&d->super)};
	uint8_t again[RF_RECORD_BYTES];
	void *a = disk_buffer(RF_STRIDE_MIN), *b = disk_buffer(RF_STRIDE_MIN);
	struct rf_super s;

	if (!disk_record(d, &first, a) && !disk_record(d, &copy, b) &&
	    record_verdict(a, &d->super, &first) == RF_RECORD_OK &&
	    record_verdict(b, &d->super, &copy) == RF_RECORD_OK &&
	    rf_super_decode(b, &s) == RF_RECORD_OK) {
		rf_super_encode(again, &s, 0);
		if (memcmp(a, again, RF_RECORD_BYTES)) {
			finding_add(out, set, SEV_DAMAGE, i, &copy,
				    "says something else than the superblock");
			finding_todo(out, "one of them is from another time: nodes obey the "
					  "superblock; when no node runs, format anew");
		}
	}
	free(a);
	free(b);
}

void verify_disks(const struct disk_set *set, struct findings *out)
{
	unsigned i;

	for (i = 0; i < set->count; i++) {
		check_identity(set, out, (int)i);
		check_fit(set, out, (int)i);
		check_sectors(set, out, (int)i);
		check_twins(set, out, (int)i);
		check_both_supers(set, out, (int)i);
	}
	if (set->count < set->super.disk_count) {
		finding_add(out, set, SEV_NOTE, -1, NULL,
			    "the area has %u disks, %u were given", set->super.disk_count,
			    set->count);
		finding_todo(out, "give all of them to have them compared");
	}
}

/* ---- one record on one disk ---- */

static const char *todo_of(const struct record *r)
{
	switch (r->kind) {
	case RF_KIND_SUPERBLOCK:
		return "the other superblock still counts; when no node runs, save the area "
		       "and "
		       "format it anew";
	case RF_KIND_SLOT:
		return "others treat this node as alive with open gates; it writes its slot "
		       "anew "
		       "when ringfenced starts there";
	case RF_KIND_MAILBOX:
		return "orders to this node do not arrive this way; the next order writes it "
		       "anew";
	case RF_KIND_VOLUME:
		return "only format writes it; nodes that do not know the volume yet cannot "
		       "find "
		       "it: when no node runs, format anew";
	case RF_KIND_EPOCH:
		return "nobody can claim this volume, and its leader cannot renew, unless most "
		       "of "
		       "the area's disks are good; if they are not: stop all nodes, keep an "
		       "image, "
		       "format anew";
	case RF_KIND_BALLOT:
		return "its node does not vote (its promises are lost) and nobody can claim "
		       "this "
		       "volume, unless most of the area's disks are good; if they are not: "
		       "stop all "
		       "nodes, keep an image, format anew";
	case RF_KIND_STATE:
		return "the other half and those of other nodes still count; the next commit "
		       "of "
		       "this node writes it anew";
	case RF_KIND_HISTORY:
		return "only an entry of the past is lost; a later leader writes it anew";
	}
	return "";
}

static const char *todo_for(const struct record *r, unsigned verdict)
{
	if (verdict == RF_RECORD_FOREIGN)
		return "find the host that uses this device for another cluster, and stop it";
	if (verdict == RF_RECORD_MISPLACED)
		return "something copied records within or between areas: find out what writes "
		       "here besides ringfenced";
	if (verdict == RECORD_IO_ERROR)
		return "replace the device or restore its path; the record counts as "
		       "unreadable";
	return todo_of(r);
}

static void foreign_words(char text[80], const void *raw)
{
	const struct rf_disk_header *h = raw;
	int i, n = 0;

	for (i = 0; i < (int)RF_UUID_BYTES; i++)
		n += snprintf(text + n, 80 - (size_t)n, "%02x", h->cluster[i]);
}

static void bad_record(const struct disk_set *set, struct findings *out, int disk,
		       const struct record *r, const struct merged *m, const void *raw)
{
	unsigned v = m->verdict[disk];
	bool io = v == RECORD_IO_ERROR && m->error[disk] != -ENODATA;
	char uuid[80];

	if (v == RF_RECORD_FOREIGN) {
		foreign_words(uuid, raw);
		finding_add(out, set, SEV_DAMAGE, disk, r, "%s: cluster %s", merge_words(v, 0),
			    uuid);
	} else {
		finding_add(out, set, io ? SEV_IO : SEV_DAMAGE, disk, r, "%s",
			    merge_words(v, m->error[disk]));
	}
	finding_todo(out, todo_for(r, v));
}

/* One writer, one sequence, one content. */
static void check_copies(const struct disk_set *set, struct findings *out,
			 const struct record *r, const struct merged *m, const struct merge *g)
{
	unsigned i, j;

	if (r->kind == RF_KIND_SUPERBLOCK)
		return;
	for (i = 0; i < set->count; i++)
		for (j = 0; j < i; j++) {
			if (m->verdict[i] || m->verdict[j] || m->seq[i] != m->seq[j] ||
			    record_epoch(r, g->buf[i]) != record_epoch(r, g->buf[j]) ||
			    !memcmp(g->buf[i], g->buf[j], RF_RECORD_BYTES))
				continue;
			finding_add(out, set, SEV_DAMAGE, (int)i, r,
				    "has the same sequence %" PRIu64 " as on %s, but another "
				    "content",
				    m->seq[i], set->disk[j].path);
			finding_todo(out,
				     "two writers used one record, or one disk is an older "
				     "copy: do not start more nodes before you know which");
		}
}

static void check_payload(const struct disk_set *set, struct findings *out, int disk,
			  const struct record *r, const void *raw)
{
	size_t bytes = (size_t)r->room_bytes;
	struct rf_state s;
	void *half;

	if (rf_state_decode(raw, &set->super.id, r->volume, r->index, r->part, &s) || !s.epoch)
		return;
	half = disk_buffer(bytes);
	if (!disk_read(&set->disk[disk], half, bytes,
		       set->disk[disk].base_bytes + r->offset_bytes) &&
	    !rf_state_payload_ok(half, bytes, &s)) {
		finding_add(out, set, SEV_DAMAGE, disk, r,
			    "payload of %u bytes is torn (version %" PRIu64 " of epoch %" PRIu64
			    ")",
			    s.length_bytes, s.version, s.epoch);
		finding_todo(out, todo_of(r));
	}
	free(half);
}

static void check_record(const struct disk_set *set, struct findings *out, struct merge *g,
			 const struct record *r)
{
	struct merged m;
	unsigned i;

	merge_read(g, set, r, &m);
	for (i = 0; i < set->count; i++) {
		if (m.verdict[i] != RF_RECORD_OK)
			bad_record(set, out, (int)i, r, &m, g->buf[i]);
		else if (r->kind == RF_KIND_STATE)
			check_payload(set, out, (int)i, r, g->buf[i]);
	}
	check_copies(set, out, r, &m, g);
}

void verify_records(const struct disk_set *set, struct findings *out)
{
	struct merge g;
	uint64_t n;

	merge_init(&g, set);
	merge_ahead(&g, 0, rf_geo_state(&set->super, 0, 1, 0));
	for (n = 0; n < record_count(&set->super); n++) {
		struct record r = record_at(&set->super, n);

		check_record(set, out, &g, &r);
	}
	merge_free(&g);
}
