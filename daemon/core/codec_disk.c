/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the protocol: slot, mailbox, epoch sector, ballot. */
#include <string.h>

#include "assert.h"
#include "record.h"

/* Code words stay 14 bits apart from each other, from all zeros, from all ones. */
#define DISTANCE(a, b) (__builtin_popcount((a) ^ (b)) >= 14)
#define APART(w) RF_STATIC_ASSERT(DISTANCE(w, 0u) && DISTANCE(w, 0xffffffffu))
#define PAIR(a, b) RF_STATIC_ASSERT(DISTANCE(a, b))
APART(RF_SLOT_FREE);
APART(RF_SLOT_JOINED);
APART(RF_EPOCH_NONE);
APART(RF_EPOCH_CLAIMED);
APART(RF_EPOCH_RELEASED);
APART(RF_ORDER_NONE);
APART(RF_ORDER_STOP);
PAIR(RF_SLOT_FREE, RF_SLOT_JOINED);
PAIR(RF_EPOCH_NONE, RF_EPOCH_CLAIMED);
PAIR(RF_EPOCH_NONE, RF_EPOCH_RELEASED);
PAIR(RF_EPOCH_CLAIMED, RF_EPOCH_RELEASED);
PAIR(RF_ORDER_NONE, RF_ORDER_STOP);

/* ---- what all records share ---- */

void rf_record_begin(void *record, const struct rf_area_id *id, uint16_t kind, uint32_t volume,
		     uint32_t index, uint32_t part, uint64_t seq)
{
	struct rf_disk_header *h = record;

	memset(record, 0, RF_RECORD_BYTES);
	h->magic = rf_put32(RF_DISK_MAGIC);
	h->version = rf_put16(RF_FORMAT_VERSION);
	h->kind = rf_put16(kind);
	memcpy(h->cluster, id->cluster, RF_UUID_BYTES);
	memcpy(h->area, id->area, RF_UUID_BYTES);
	h->index = rf_put32(index);
	h->volume = rf_put32(volume);
	h->seq = rf_put64(seq);
	h->part = rf_put32(part);
}

void rf_record_end(void *record)
{
	__le32 *crc = (__le32 *)(void *)((uint8_t *)record + RF_CRC_OFFSET);

	*crc = rf_put32(rf_crc32c(record, RF_CRC_OFFSET));
}

bool rf_text_ok(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == 0)
			return true;
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false; /* no control characters reach a terminal */
	}
	return false;
}

bool rf_zero(const void *p, size_t bytes)
{
	const uint8_t *b = p;

	while (bytes--)
		if (*b++)
			return false;
	return true;
}

/* ---- slot ---- */

static void encode_grants(struct rf_disk_slot *r, const struct rf_slot *in)
{
	for (uint32_t i = 0; i < RF_SLOT_GRANTS; i++) {
		r->grants[i].epoch = rf_put64(in->grants[i].epoch);
		r->grants[i].round = rf_put32(in->grants[i].round);
		r->grants[i].volume = rf_put16(in->grants[i].volume);
		r->grants[i].candidate = in->grants[i].candidate;
	}
}

void rf_slot_encode(void *record, const struct rf_area_id *id, uint32_t node,
		    const struct rf_slot *in)
{
	struct rf_disk_slot *r = record;

	rf_assert(node >= 1 && node <= id->nodes);
	rf_assert(in->state == RF_SLOT_FREE || in->state == RF_SLOT_JOINED);
	rf_record_begin(record, id, RF_KIND_SLOT, 0, node, 0, in->seq);
	r->incarnation = rf_put64(in->incarnation);
	r->generation = rf_put64(in->generation);
	memcpy(r->boot_id, in->boot_id, sizeof(r->boot_id));
	memcpy(r->host, in->host, sizeof(r->host));
	r->host[sizeof(r->host) - 1] = 0;
	r->state = rf_put32(in->state);
	r->health = rf_put32(in->health);
	r->unix_ns = rf_put64(in->unix_ns);
	memcpy(r->gate_open, in->gate_open, sizeof(r->gate_open));
	memcpy(r->leads, in->leads, sizeof(r->leads));
	memcpy(r->hears, in->hears, sizeof(r->hears));
	r->write_us = rf_put32(in->write_us);
	r->read_us = rf_put32(in->read_us);
	r->worst_us = rf_put32(in->worst_us);
	r->priority = rf_put32(in->priority);
	r->order_seq = rf_put64(in->order_seq);
	r->want_epoch = rf_put64(in->want_epoch);
	r->want_round = rf_put32(in->want_round);
	r->want_volume = rf_put16(in->want_volume);
	encode_grants(r, in);
	rf_record_end(record);
}

static bool slot_sound(const struct rf_disk_slot *r)
{
	uint32_t state = rf_get32(r->state);

	if (state != RF_SLOT_FREE && state != RF_SLOT_JOINED)
		return false;
	for (uint32_t i = 0; i < RF_SLOT_GRANTS; i++)
		if (r->grants[i].zero || r->grants[i].candidate > RF_NODES_MAX ||
		    rf_get16(r->grants[i].volume) >= RF_VOLUMES_MAX)
			return false;
	return rf_text_ok(r->host, sizeof(r->host)) && rf_get16(r->zero) == 0 &&
	       rf_get16(r->want_volume) < RF_VOLUMES_MAX &&
	       rf_zero(r->reserved, sizeof(r->reserved));
}

enum rf_record_verdict rf_slot_decode(const void *record, const struct rf_area_id *id,
				      uint32_t node, struct rf_slot *out)
{
	const struct rf_disk_slot *r = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, RF_KIND_SLOT, 0, node, 0);

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (!slot_sound(r))
		return RF_RECORD_BAD_VERSION;
	memset(out, 0, sizeof(*out));
	out->seq = rf_get64(r->h.seq);
	out->incarnation = rf_get64(r->incarnation);
	out->generation = rf_get64(r->generation);
	memcpy(out->boot_id, r->boot_id, sizeof(out->boot_id));
	memcpy(out->host, r->host, sizeof(out->host));
	out->state = rf_get32(r->state);
	out->health = rf_get32(r->health);
	out->unix_ns = rf_get64(r->unix_ns);
	memcpy(out->gate_open, r->gate_open, sizeof(out->gate_open));
	memcpy(out->leads, r->leads, sizeof(out->leads));
	memcpy(out->hears, r->hears, sizeof(out->hears));
	out->write_us = rf_get32(r->write_us);
	out->read_us = rf_get32(r->read_us);
	out->worst_us = rf_get32(r->worst_us);
	out->priority = rf_get32(r->priority);
	out->order_seq = rf_get64(r->order_seq);
	out->want_epoch = rf_get64(r->want_epoch);
	out->want_round = rf_get32(r->want_round);
	out->want_volume = rf_get16(r->want_volume);
	for (uint32_t i = 0; i < RF_SLOT_GRANTS; i++) {
		out->grants[i].epoch = rf_get64(r->grants[i].epoch);
		out->grants[i].round = rf_get32(r->grants[i].round);
		out->grants[i].volume = rf_get16(r->grants[i].volume);
		out->grants[i].candidate = r->grants[i].candidate;
	}
	return RF_RECORD_OK;
}

/* ---- mailbox ---- */

void rf_mailbox_encode(void *record, const struct rf_area_id *id, uint32_t node,
		       const struct rf_mailbox *in)
{
	struct rf_disk_mailbox *r = record;

	rf_assert(in->order == RF_ORDER_NONE || in->order == RF_ORDER_STOP);
	rf_record_begin(record, id, RF_KIND_MAILBOX, 0, node, 0, in->seq);
	r->order = rf_put32(in->order);
	r->from = rf_put32(in->from);
	r->incarnation = rf_put64(in->incarnation);
	r->unix_ns = rf_put64(in->unix_ns);
	rf_record_end(record);
}

enum rf_record_verdict rf_mailbox_decode(const void *record, const struct rf_area_id *id,
					 uint32_t node, struct rf_mailbox *out)
{
	const struct rf_disk_mailbox *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_MAILBOX, 0, node, 0);
	uint32_t order;

	if (verdict != RF_RECORD_OK)
		return verdict;
	order = rf_get32(r->order);
	if ((order != RF_ORDER_NONE && order != RF_ORDER_STOP) ||
	    rf_get32(r->from) > id->nodes || !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	*out = (struct rf_mailbox){
		.seq = rf_get64(r->h.seq),
		.incarnation = rf_get64(r->incarnation),
		.unix_ns = rf_get64(r->unix_ns),
		.order = order,
		.from = rf_get32(r->from),
	};
	return RF_RECORD_OK;
}

/* ---- epoch sector ---- */

static bool epoch_sound(uint32_t state, uint64_t epoch, uint32_t owner, uint32_t nodes)
{
	if (state == RF_EPOCH_NONE)
		return epoch == 0 && owner == 0;
	return (state == RF_EPOCH_CLAIMED || state == RF_EPOCH_RELEASED) && epoch != 0 &&
	       owner >= 1 && owner <= nodes;
}

void rf_epoch_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		     const struct rf_epoch *in)
{
	struct rf_disk_epoch *r = record;

	rf_assert(epoch_sound(in->state, in->epoch, in->owner, id->nodes));
	rf_record_begin(record, id, RF_KIND_EPOCH, volume, 0, 0, in->seq);
	r->epoch = rf_put64(in->epoch);
	r->incarnation = rf_put64(in->incarnation);
	r->owner = rf_put32(in->owner);
	r->state = rf_put32(in->state);
	r->unix_ns = rf_put64(in->unix_ns);
	rf_record_end(record);
}

enum rf_record_verdict rf_epoch_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, struct rf_epoch *out)
{
	const struct rf_disk_epoch *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_EPOCH, volume, 0, 0);

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (!epoch_sound(rf_get32(r->state), rf_get64(r->epoch), rf_get32(r->owner),
			 id->nodes) ||
	    !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	*out = (struct rf_epoch){
		.seq = rf_get64(r->h.seq),
		.epoch = rf_get64(r->epoch),
		.incarnation = rf_get64(r->incarnation),
		.unix_ns = rf_get64(r->unix_ns),
		.owner = rf_get32(r->owner),
		.state = rf_get32(r->state),
	};
	return RF_RECORD_OK;
}

/* ---- ballot ---- */

static bool ballot_sound(const struct rf_ballot *b, uint32_t nodes)
{
	if (b->instance == 0)
		return !b->mbal && !b->bal && !b->value_node && !b->value_incarnation;
	if (b->bal > b->mbal || b->value_node > nodes)
		return false;
	return b->bal ? b->value_node >= 1 : b->value_node == 0;
}

void rf_ballot_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		      const struct rf_ballot *in)
{
	struct rf_disk_ballot *r = record;

	rf_assert(ballot_sound(in, id->nodes));
	rf_record_begin(record, id, RF_KIND_BALLOT, volume, node, 0, in->seq);
	r->instance = rf_put64(in->instance);
	r->mbal = rf_put64(in->mbal);
	r->bal = rf_put64(in->bal);
	r->value_incarnation = rf_put64(in->value_incarnation);
	r->value_node = rf_put32(in->value_node);
	rf_record_end(record);
}

enum rf_record_verdict rf_ballot_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, uint32_t node, struct rf_ballot *out)
{
	const struct rf_disk_ballot *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_BALLOT, volume, node, 0);
	struct rf_ballot b;

	if (verdict != RF_RECORD_OK)
		return verdict;
	b = (struct rf_ballot){
		.seq = rf_get64(r->h.seq),
		.instance = rf_get64(r->instance),
		.mbal = rf_get64(r->mbal),
		.bal = rf_get64(r->bal),
		.value_incarnation = rf_get64(r->value_incarnation),
		.value_node = rf_get32(r->value_node),
	};
	if (!ballot_sound(&b, id->nodes) || rf_get32(r->zero) ||
	    !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	*out = b;
	return RF_RECORD_OK;
}
