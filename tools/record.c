/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of an area in the order of the disk. */
#include <stdio.h>

#include "record.h"

static const char *const kind_names[] = {
	[RF_KIND_SUPERBLOCK] = "superblock", [RF_KIND_SLOT] = "slot",
	[RF_KIND_MAILBOX] = "mailbox",       [RF_KIND_VOLUME] = "volume",
	[RF_KIND_EPOCH] = "epoch",           [RF_KIND_BALLOT] = "ballot",
	[RF_KIND_STATE] = "state",           [RF_KIND_HISTORY] = "history",
};

const char *record_kind_name(unsigned kind)
{
	return kind && kind <= RF_KIND_LAST ? kind_names[kind] : NULL;
}

static uint64_t claims(const struct rf_super *s)
{
	return (uint64_t)s->volumes * (s->id.nodes + 1);
}

static uint64_t rings(const struct rf_super *s)
{
	return (uint64_t)s->volumes * s->history;
}

static uint64_t halves(const struct rf_super *s)
{
	return 2ull * s->volumes * s->id.nodes;
}

uint64_t record_count(const struct rf_super *s)
{
	return 2 + 2ull * s->id.nodes + s->volumes + claims(s) + rings(s) + halves(s);
}

static struct record node_record(const struct rf_super *s, uint64_t n)
{
	struct record r = {.kind = n % 2 ? RF_KIND_MAILBOX : RF_KIND_SLOT,
			   .index = (uint32_t)(n / 2) + 1};

	r.offset_bytes = n % 2 ? rf_geo_mailbox(s, r.index) : rf_geo_slot(s, r.index);
	return r;
}

static struct record claim_record(const struct rf_super *s, uint64_t n)
{
	uint32_t step = s->id.nodes + 1;
	struct record r = {.volume = (uint32_t)(n / step), .index = (uint32_t)(n % step)};

	r.kind = r.index ? RF_KIND_BALLOT : RF_KIND_EPOCH;
	r.offset_bytes =
		r.index ? rf_geo_ballot(s, r.volume, r.index) : rf_geo_region(s, r.volume);
	return r;
}

static struct record history_record(const struct rf_super *s, uint64_t n)
{
	struct record r = {.kind = RF_KIND_HISTORY,
			   .volume = (uint32_t)(n / s->history),
			   .index = (uint32_t)(n % s->history)};

	r.offset_bytes = rf_geo_history(s, r.volume, r.index);
	return r;
}

static struct record state_record(const struct rf_super *s, uint64_t n)
{
	struct record r = {.kind = RF_KIND_STATE,
			   .volume = (uint32_t)(n / 2 / s->id.nodes),
			   .index = (uint32_t)(n / 2 % s->id.nodes) + 1,
			   .part = n % 2};

	r.offset_bytes = rf_geo_state(s, r.volume, r.index, r.part);
	r.room_bytes = rf_geo_half_bytes(s);
	return r;
}

static struct record nth(const struct rf_super *s, uint64_t n)
{
	if (!n)
		return (struct record){.kind = RF_KIND_SUPERBLOCK};
	n--;
	if (n < 2ull * s->id.nodes)
		return node_record(s, n);
	n -= 2ull * s->id.nodes;
	if (n < s->volumes)
		return (struct record){.kind = RF_KIND_VOLUME,
				       .volume = (uint32_t)n,
				       .offset_bytes = rf_geo_volume(s, (uint32_t)n)};
	n -= s->volumes;
	if (n < claims(s))
		return claim_record(s, n);
	n -= claims(s);
	if (n < rings(s))
		return history_record(s, n);
	n -= rings(s);
	if (n < halves(s))
		return state_record(s, n);
	return (struct record){
		.kind = RF_KIND_SUPERBLOCK, .part = 1, .offset_bytes = rf_geo_copy(s)};
}

struct record record_at(const struct rf_super *s, uint64_t n)
{
	struct record r = nth(s, n);

	if (!r.room_bytes)
		r.room_bytes = s->id.stride_bytes;
	return r;
}

void record_name(char name[RECORD_NAME_BYTES], const struct record *r)
{
	switch (r->kind) {
	case RF_KIND_SUPERBLOCK:
		snprintf(name, RECORD_NAME_BYTES, "superblock%s", r->part ? " copy" : "");
		break;
	case RF_KIND_SLOT:
	case RF_KIND_MAILBOX:
		snprintf(name, RECORD_NAME_BYTES, "%s of node %u", kind_names[r->kind],
			 r->index);
		break;
	case RF_KIND_VOLUME:
	case RF_KIND_EPOCH:
		snprintf(name, RECORD_NAME_BYTES, "%s of volume %u", kind_names[r->kind],
			 r->volume);
		break;
	case RF_KIND_BALLOT:
		snprintf(name, RECORD_NAME_BYTES, "ballot of node %u on volume %u", r->index,
			 r->volume);
		break;
	case RF_KIND_STATE:
		snprintf(name, RECORD_NAME_BYTES, "state half %u of node %u on volume %u",
			 r->part, r->index, r->volume);
		break;
	case RF_KIND_HISTORY:
		snprintf(name, RECORD_NAME_BYTES, "history %u of volume %u", r->index,
			 r->volume);
		break;
	}
}

static enum rf_record_verdict super_verdict(const void *raw, const struct rf_super *s,
					    const struct record *r)
{
	const struct rf_disk_header *h = raw;
	struct rf_super other;
	enum rf_record_verdict v = rf_record_check(raw, &s->id, RF_KIND_SUPERBLOCK, 0, 0);

	if (v != RF_RECORD_OK)
		return v;
	if (rf_get32(h->part) != r->part)
		return RF_RECORD_MISPLACED;
	return rf_super_decode(raw, &other);
}

enum rf_record_verdict record_verdict(const void *raw, const struct rf_super *s,
				      const struct record *r)
{
	union {
		struct rf_slot slot;
		struct rf_mailbox mailbox;
		struct rf_volume_desc volume;
		struct rf_epoch epoch;
		struct rf_ballot ballot;
		struct rf_state state;
		struct rf_history history;
	} u;

	switch (r->kind) {
	case RF_KIND_SUPERBLOCK:
		return super_verdict(raw, s, r);
	case RF_KIND_SLOT:
		return rf_slot_decode(raw, &s->id, r->index, &u.slot);
	case RF_KIND_MAILBOX:
		return rf_mailbox_decode(raw, &s->id, r->index, &u.mailbox);
	case RF_KIND_VOLUME:
		return rf_volume_decode(raw, &s->id, r->volume, &u.volume);
	case RF_KIND_EPOCH:
		return rf_epoch_decode(raw, &s->id, r->volume, &u.epoch);
	case RF_KIND_BALLOT:
		return rf_ballot_decode(raw, &s->id, r->volume, r->index, &u.ballot);
	case RF_KIND_STATE:
		return rf_state_decode(raw, &s->id, r->volume, r->index, r->part, &u.state);
	case RF_KIND_HISTORY:
		return rf_history_decode(raw, &s->id, r->volume, r->index, &u.history);
	}
	return RF_RECORD_BAD_MAGIC;
}

uint64_t record_seq(const void *raw)
{
	return rf_get64(((const struct rf_disk_header *)raw)->seq);
}

const char *record_verdict_words(enum rf_record_verdict v)
{
	switch (v) {
	case RF_RECORD_OK:
		return "good";
	case RF_RECORD_BAD_MAGIC:
		return "not a ringfence record";
	case RF_RECORD_BAD_VERSION:
		return "of an unknown format, or a field breaks a rule of the format";
	case RF_RECORD_BAD_CRC:
		return "torn or damaged (bad CRC32C)";
	case RF_RECORD_FOREIGN:
		return "of another cluster or area";
	case RF_RECORD_MISPLACED:
		return "a good record that belongs elsewhere";
	}
	return "unknown";
}
