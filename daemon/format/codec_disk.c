/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that change while nodes run: slot, mailbox, epoch sector, ballot.
 *
 * A record whose checksum is good but whose content breaks a rule is answered
 * with RF_RECORD_BAD_VERSION: it was not written by this format. Bytes named
 * `zero` are checked; `reserved` ones are left to later compat features.
 */
#include "codec_bytes.h"

/* Code words: no single misread, stuck line or all-zero sector turns one into
 * another (format.h). */
#define WORD_DISTANCE 14
#define FAR(a, b) _Static_assert(__builtin_popcount((a) ^ (b)) >= WORD_DISTANCE, #a " " #b)
#define FAR_FROM_BLANK(a) \
	FAR(a, 0u);       \
	FAR(a, 0xffffffffu)

FAR_FROM_BLANK(RF_SLOT_FREE);
FAR_FROM_BLANK(RF_SLOT_JOINED);
FAR_FROM_BLANK(RF_EPOCH_NONE);
FAR_FROM_BLANK(RF_EPOCH_CLAIMED);
FAR_FROM_BLANK(RF_EPOCH_RELEASED);
FAR_FROM_BLANK(RF_ORDER_NONE);
FAR_FROM_BLANK(RF_ORDER_STOP);
FAR(RF_SLOT_FREE, RF_SLOT_JOINED);
FAR(RF_SLOT_FREE, RF_EPOCH_NONE);
FAR(RF_SLOT_FREE, RF_EPOCH_CLAIMED);
FAR(RF_SLOT_FREE, RF_EPOCH_RELEASED);
FAR(RF_SLOT_FREE, RF_ORDER_NONE);
FAR(RF_SLOT_FREE, RF_ORDER_STOP);
FAR(RF_SLOT_JOINED, RF_EPOCH_NONE);
FAR(RF_SLOT_JOINED, RF_EPOCH_CLAIMED);
FAR(RF_SLOT_JOINED, RF_EPOCH_RELEASED);
FAR(RF_SLOT_JOINED, RF_ORDER_NONE);
FAR(RF_SLOT_JOINED, RF_ORDER_STOP);
FAR(RF_EPOCH_NONE, RF_EPOCH_CLAIMED);
FAR(RF_EPOCH_NONE, RF_EPOCH_RELEASED);
FAR(RF_EPOCH_NONE, RF_ORDER_NONE);
FAR(RF_EPOCH_NONE, RF_ORDER_STOP);
FAR(RF_EPOCH_CLAIMED, RF_EPOCH_RELEASED);
FAR(RF_EPOCH_CLAIMED, RF_ORDER_NONE);
FAR(RF_EPOCH_CLAIMED, RF_ORDER_STOP);
FAR(RF_EPOCH_RELEASED, RF_ORDER_NONE);
FAR(RF_EPOCH_RELEASED, RF_ORDER_STOP);
FAR(RF_ORDER_NONE, RF_ORDER_STOP);

/* ---- what all records share ---- */

static void place_assert(const struct rf_area_id *id, struct place at)
{
	rf_assert(id->nodes >= 1 && id->nodes <= RF_NODES_MAX);
	rf_assert(id->stride_bytes >= RF_STRIDE_MIN && id->stride_bytes <= RF_STRIDE_MAX);
	rf_assert(at.kind >= 1 && at.kind <= RF_KIND_LAST);
	rf_assert(at.volume < RF_VOLUMES_MAX);
	rf_assert(at.index <= (at.kind == RF_KIND_HISTORY ? RF_HISTORY_MAX - 1 : id->nodes));
	rf_assert(at.part <= 1);
}

void rf_record_begin(void *record, const struct rf_area_id *id, struct place at, uint64_t seq)
{
	struct rf_disk_header *h = record;

	place_assert(id, at);
	memset(record, 0, RF_RECORD_BYTES);
	h->magic = put32(RF_DISK_MAGIC);
	h->version = put16(RF_FORMAT_VERSION);
	h->kind = put16(at.kind);
	memcpy(h->cluster, id->cluster, RF_UUID_BYTES);
	memcpy(h->area, id->area, RF_UUID_BYTES);
	h->index = put32(at.index);
	h->volume = put32(at.volume);
	h->seq = put64(seq);
	h->part = put32(at.part);
}

void rf_record_seal(void *record)
{
	__le32 crc = put32(rf_crc32c(record, RF_CRC_OFFSET));

	memcpy((char *)record + RF_CRC_OFFSET, &crc, sizeof(crc));
}

enum rf_record_verdict rf_record_open(const void *record, const struct rf_area_id *id,
				      struct place at)
{
	const struct rf_disk_header *h = record;
	enum rf_record_verdict verdict =
		rf_record_check(record, id, at.kind, at.volume, at.index);

	place_assert(id, at);
	if (verdict != RF_RECORD_OK)
		return verdict;
	if (rf_get32(h->part) != at.part)
		return RF_RECORD_MISPLACED;
	return rf_get32(h->zero) ? RF_RECORD_BAD_VERSION : RF_RECORD_OK;
}

static bool node_exists(const struct rf_area_id *id, uint32_t node)
{
	return node >= 1 && node <= id->nodes;
}

/* ---- slot ---- */

static struct place slot_place(uint32_t node)
{
	return (struct place){.kind = RF_KIND_SLOT, .index = node};
}

static void grants_encode(struct rf_disk_slot *d, const struct rf_slot *in)
{
	for (uint32_t i = 0; i < RF_SLOT_GRANTS; i++) {
		const struct rf_grant *g = &in->grants[i];

		rf_assert(g->candidate <= RF_NODES_MAX);
		rf_assert(g->volume < RF_VOLUMES_MAX);
		d->grants[i].epoch = put64(g->epoch);
		d->grants[i].round = put32(g->round);
		d->grants[i].volume = put16(g->volume);
		d->grants[i].candidate = g->candidate;
	}
}

/* §3: a slot that is free says that no gate of this node is open. */
static bool slot_state_ok(uint32_t state, uint64_t incarnation, const uint8_t *gate_open)
{
	if (state == RF_SLOT_FREE)
		return all_zero(gate_open, RF_VOLUMES_MAX / 8);
	return state == RF_SLOT_JOINED && incarnation;
}

void rf_slot_encode(void *record, const struct rf_area_id *id, uint32_t node,
		    const struct rf_slot *in)
{
	struct rf_disk_slot *d = record;

	rf_assert(node_exists(id, node));
	rf_assert(slot_state_ok(in->state, in->incarnation, in->gate_open));
	rf_assert(map_ok(in->hears, id->nodes, RF_NODES_MAX));
	rf_assert(in->want_volume < RF_VOLUMES_MAX);
	rf_record_begin(record, id, slot_place(node), in->seq);
	d->incarnation = put64(in->incarnation);
	d->generation = put64(in->generation);
	memcpy(d->boot_id, in->boot_id, sizeof(d->boot_id));
	put_text(d->host, in->host, sizeof(d->host));
	d->state = put32(in->state);
	d->health = put32(in->health);
	d->unix_ns = put64(in->unix_ns);
	memcpy(d->gate_open, in->gate_open, sizeof(d->gate_open));
	memcpy(d->leads, in->leads, sizeof(d->leads));
	memcpy(d->hears, in->hears, sizeof(d->hears));
	d->write_us = put32(in->write_us);
	d->read_us = put32(in->read_us);
	d->worst_us = put32(in->worst_us);
	d->priority = put32(in->priority);
	d->order_seq = put64(in->order_seq);
	d->want_epoch = put64(in->want_epoch);
	d->want_round = put32(in->want_round);
	d->want_volume = put16(in->want_volume);
	grants_encode(d, in);
	rf_record_seal(record);
}

static bool grants_decode(struct rf_grant *out, const struct rf_disk_slot *d, uint32_t nodes)
{
	for (uint32_t i = 0; i < RF_SLOT_GRANTS; i++) {
		const struct rf_disk_grant *g = &d->grants[i];

		out[i] = (struct rf_grant){
			.epoch = rf_get64(g->epoch),
			.round = rf_get32(g->round),
			.volume = rf_get16(g->volume),
			.candidate = g->candidate,
		};
		if (g->zero || out[i].candidate > nodes || out[i].volume >= RF_VOLUMES_MAX)
			return false;
	}
	return true;
}

static void slot_fields(struct rf_slot *s, const struct rf_disk_slot *d)
{
	*s = (struct rf_slot){
		.seq = rf_get64(d->h.seq),
		.incarnation = rf_get64(d->incarnation),
		.generation = rf_get64(d->generation),
		.unix_ns = rf_get64(d->unix_ns),
		.order_seq = rf_get64(d->order_seq),
		.state = rf_get32(d->state),
		.health = rf_get32(d->health),
		.priority = rf_get32(d->priority),
		.write_us = rf_get32(d->write_us),
		.read_us = rf_get32(d->read_us),
		.worst_us = rf_get32(d->worst_us),
		.want_epoch = rf_get64(d->want_epoch),
		.want_round = rf_get32(d->want_round),
		.want_volume = rf_get16(d->want_volume),
	};
	memcpy(s->boot_id, d->boot_id, sizeof(s->boot_id));
	memcpy(s->host, d->host, sizeof(s->host));
	memcpy(s->gate_open, d->gate_open, sizeof(s->gate_open));
	memcpy(s->leads, d->leads, sizeof(s->leads));
	memcpy(s->hears, d->hears, sizeof(s->hears));
}

enum rf_record_verdict rf_slot_decode(const void *record, const struct rf_area_id *id,
				      uint32_t node, struct rf_slot *out)
{
	const struct rf_disk_slot *d = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, slot_place(node));
	struct rf_slot s;

	rf_assert(node_exists(id, node));
	if (verdict != RF_RECORD_OK)
		return verdict;
	slot_fields(&s, d);
	if (!slot_state_ok(s.state, s.incarnation, s.gate_open) ||
	    !text_ok(s.host, sizeof(s.host)) || !map_ok(s.hears, id->nodes, RF_NODES_MAX) ||
	    s.want_volume >= RF_VOLUMES_MAX || rf_get16(d->zero) ||
	    !grants_decode(s.grants, d, id->nodes))
		return RF_RECORD_BAD_VERSION;
	*out = s;
	return RF_RECORD_OK;
}

/* ---- mailbox ---- */

static struct place mailbox_place(uint32_t node)
{
	return (struct place){.kind = RF_KIND_MAILBOX, .index = node};
}

static bool mailbox_ok(const struct rf_mailbox *m, const struct rf_area_id *id)
{
	if (m->from > id->nodes)
		return false;
	return m->order == RF_ORDER_NONE || m->order == RF_ORDER_STOP;
}

void rf_mailbox_encode(void *record, const struct rf_area_id *id, uint32_t node,
		       const struct rf_mailbox *in)
{
	struct rf_disk_mailbox *d = record;

	rf_assert(node_exists(id, node));
	rf_assert(mailbox_ok(in, id));
	rf_record_begin(record, id, mailbox_place(node), in->seq);
	d->order = put32(in->order);
	d->from = put32(in->from);
	d->incarnation = put64(in->incarnation);
	d->unix_ns = put64(in->unix_ns);
	rf_record_seal(record);
}

enum rf_record_verdict rf_mailbox_decode(const void *record, const struct rf_area_id *id,
					 uint32_t node, struct rf_mailbox *out)
{
	const struct rf_disk_mailbox *d = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, mailbox_place(node));
	struct rf_mailbox m;

	rf_assert(node_exists(id, node));
	if (verdict != RF_RECORD_OK)
		return verdict;
	m = (struct rf_mailbox){
		.seq = rf_get64(d->h.seq),
		.incarnation = rf_get64(d->incarnation),
		.unix_ns = rf_get64(d->unix_ns),
		.order = rf_get32(d->order),
		.from = rf_get32(d->from),
	};
	if (!mailbox_ok(&m, id))
		return RF_RECORD_BAD_VERSION;
	*out = m;
	return RF_RECORD_OK;
}

/* ---- epoch sector ---- */

static struct place epoch_place(uint32_t volume)
{
	return (struct place){.kind = RF_KIND_EPOCH, .volume = volume};
}

void rf_epoch_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		     const struct rf_epoch *in)
{
	struct rf_disk_epoch *d = record;

	rf_record_begin(record, id, epoch_place(volume), in->seq);
	d->epoch = put64(in->epoch);
	d->incarnation = put64(in->incarnation);
	d->owner = put32(in->owner);
	d->state = put32(in->state);
	d->unix_ns = put64(in->unix_ns);
	rf_assert(rf_epoch_sane(d, id->nodes));
	rf_record_seal(record);
}

enum rf_record_verdict rf_epoch_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, struct rf_epoch *out)
{
	const struct rf_disk_epoch *d = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, epoch_place(volume));

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (!rf_epoch_sane(d, id->nodes))
		return RF_RECORD_BAD_VERSION;
	*out = (struct rf_epoch){
		.seq = rf_get64(d->h.seq),
		.epoch = rf_get64(d->epoch),
		.incarnation = rf_get64(d->incarnation),
		.unix_ns = rf_get64(d->unix_ns),
		.owner = rf_get32(d->owner),
		.state = rf_get32(d->state),
	};
	return RF_RECORD_OK;
}

/* ---- ballot ---- */

static struct place ballot_place(uint32_t volume, uint32_t node)
{
	return (struct place){.kind = RF_KIND_BALLOT, .volume = volume, .index = node};
}

/* §5: a ballot never stands above the highest one entered, and has a value. */
static bool ballot_ok(const struct rf_ballot *b, const struct rf_area_id *id)
{
	if (!b->instance || !b->mbal)
		return !b->instance && !b->mbal && !b->bal && !b->value_node;
	if (!b->bal)
		return b->value_node <= id->nodes;
	return b->bal <= b->mbal && node_exists(id, b->value_node) && b->value_incarnation;
}

void rf_ballot_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		      const struct rf_ballot *in)
{
	struct rf_disk_ballot *d = record;

	rf_assert(node_exists(id, node));
	rf_assert(ballot_ok(in, id));
	rf_record_begin(record, id, ballot_place(volume, node), in->seq);
	d->instance = put64(in->instance);
	d->mbal = put64(in->mbal);
	d->bal = put64(in->bal);
	d->value_incarnation = put64(in->value_incarnation);
	d->value_node = put32(in->value_node);
	rf_record_seal(record);
}

enum rf_record_verdict rf_ballot_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, uint32_t node, struct rf_ballot *out)
{
	const struct rf_disk_ballot *d = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, ballot_place(volume, node));
	struct rf_ballot b;

	rf_assert(node_exists(id, node));
	if (verdict != RF_RECORD_OK)
		return verdict;
	b = (struct rf_ballot){
		.seq = rf_get64(d->h.seq),
		.instance = rf_get64(d->instance),
		.mbal = rf_get64(d->mbal),
		.bal = rf_get64(d->bal),
		.value_incarnation = rf_get64(d->value_incarnation),
		.value_node = rf_get32(d->value_node),
	};
	if (rf_get32(d->zero) || !ballot_ok(&b, id) || b.instance > RF_COUNT_MAX ||
	    b.mbal > RF_COUNT_MAX)
		return RF_RECORD_BAD_VERSION;
	*out = b;
	return RF_RECORD_OK;
}
