/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of wire.h. A datagram of any other size than its kind and counts imply,
 * or with an id out of range, is no message. */
#include <string.h>

#include "assert.h"
#include "record.h"

static size_t heartbeat_bytes(uint32_t entries)
{
	return sizeof(struct rf_wire_heartbeat) + entries * sizeof(struct rf_wire_entry);
}

static size_t encode_heartbeat(struct rf_wire_heartbeat *w, const struct rf_msg *in)
{
	rf_assert(in->heartbeat.count <= RF_HEARTBEAT_ENTRIES);
	w->m.count = in->heartbeat.count;
	w->slot_seq = rf_put64(in->heartbeat.slot_seq);
	w->clock_ns = rf_put64(in->heartbeat.clock_ns);
	w->echo_ns = rf_put64(in->heartbeat.echo_ns);
	w->echo_held_us = rf_put32(in->heartbeat.echo_held_us);
	w->echo = rf_put16(in->heartbeat.echo);
	w->part = in->heartbeat.part;
	w->parts = in->heartbeat.parts;
	w->health = rf_put32(in->heartbeat.health);
	w->priority = rf_put32(in->heartbeat.priority);
	memcpy(w->hears, in->heartbeat.hears, sizeof(w->hears));
	for (uint32_t i = 0; i < in->heartbeat.count; i++) {
		memset(&w->entries[i], 0, sizeof(w->entries[i]));
		w->entries[i].epoch = rf_put64(in->heartbeat.entries[i].epoch);
		w->entries[i].volume = rf_put16(in->heartbeat.entries[i].volume);
		w->entries[i].role = in->heartbeat.entries[i].role;
	}
	return heartbeat_bytes(in->heartbeat.count);
}

static size_t encode_prevote(struct rf_wire_prevote *w, const struct rf_msg *in)
{
	w->epoch = rf_put64(in->prevote.epoch);
	w->round = rf_put32(in->prevote.round);
	w->volume = rf_put16(in->prevote.volume);
	w->hears = rf_put16(in->prevote.hears);
	w->priority = rf_put32(in->prevote.priority);
	return sizeof(*w);
}

static size_t encode_vote(struct rf_wire_vote *w, const struct rf_msg *in)
{
	w->epoch = rf_put64(in->vote.epoch);
	w->known = rf_put64(in->vote.known);
	w->round = rf_put32(in->vote.round);
	w->volume = rf_put16(in->vote.volume);
	w->candidate = rf_put16(in->vote.candidate);
	w->granted = in->vote.granted;
	return sizeof(*w);
}

static size_t encode_closed(struct rf_wire_closed *w, const struct rf_msg *in)
{
	w->epoch = rf_put64(in->closed.epoch);
	w->volume = rf_put16(in->closed.volume);
	return sizeof(*w);
}

static size_t encode_released(struct rf_wire_released *w, const struct rf_msg *in)
{
	w->epoch = rf_put64(in->released.epoch);
	w->volume = rf_put16(in->released.volume);
	w->to = rf_put16(in->released.to);
	return sizeof(*w);
}

size_t rf_msg_encode(void *out, const struct rf_msg *in)
{
	struct rf_wire_message *m = out;

	memset(out, 0, sizeof(struct rf_wire_heartbeat));
	m->kind = in->kind;
	switch ((enum rf_wire_kind)in->kind) {
	case RF_WIRE_HEARTBEAT:
		return encode_heartbeat(out, in);
	case RF_WIRE_PREVOTE:
		return encode_prevote(out, in);
	case RF_WIRE_VOTE:
		return encode_vote(out, in);
	case RF_WIRE_CLOSED:
		return encode_closed(out, in);
	case RF_WIRE_RELEASED:
		return encode_released(out, in);
	}
	rf_assert(!"a message of a known kind");
	return 0;
}

/* ---- decoding ---- */

static bool decode_heartbeat(const struct rf_wire_heartbeat *w, size_t len, uint32_t nodes,
			     uint32_t volumes, struct rf_msg *out)
{
	if (len < sizeof(*w) || w->m.count > RF_HEARTBEAT_ENTRIES ||
	    len != heartbeat_bytes(w->m.count) || rf_get16(w->echo) > nodes ||
	    w->part >= w->parts)
		return false;
	for (uint32_t i = nodes; i < RF_NODES_MAX; i++)
		if (rf_bit_get(w->hears, i))
			return false;
	out->heartbeat.slot_seq = rf_get64(w->slot_seq);
	out->heartbeat.clock_ns = rf_get64(w->clock_ns);
	out->heartbeat.echo_ns = rf_get64(w->echo_ns);
	out->heartbeat.echo_held_us = rf_get32(w->echo_held_us);
	out->heartbeat.echo = rf_get16(w->echo);
	out->heartbeat.part = w->part;
	out->heartbeat.parts = w->parts;
	out->heartbeat.count = w->m.count;
	out->heartbeat.health = rf_get32(w->health);
	out->heartbeat.priority = rf_get32(w->priority);
	memcpy(out->heartbeat.hears, w->hears, sizeof(w->hears));
	for (uint32_t i = 0; i < w->m.count; i++) {
		struct rf_msg_entry *e = &out->heartbeat.entries[i];

		e->epoch = rf_get64(w->entries[i].epoch);
		e->volume = rf_get16(w->entries[i].volume);
		e->role = w->entries[i].role;
		if (e->volume >= volumes || w->entries[i].zero ||
		    (e->role != RF_WIRE_ROLE_CLAIMED && e->role != RF_WIRE_ROLE_LEADER))
			return false;
	}
	return true;
}

static bool decode_prevote(const struct rf_wire_prevote *w, size_t len, uint32_t nodes,
			   uint32_t volumes, struct rf_msg *out)
{
	if (len != sizeof(*w))
		return false;
	out->prevote.epoch = rf_get64(w->epoch);
	out->prevote.round = rf_get32(w->round);
	out->prevote.volume = rf_get16(w->volume);
	out->prevote.hears = rf_get16(w->hears);
	out->prevote.priority = rf_get32(w->priority);
	return out->prevote.volume < volumes && out->prevote.hears <= nodes &&
	       out->prevote.round != 0;
}

static bool decode_vote(const struct rf_wire_vote *w, size_t len, uint32_t nodes,
			uint32_t volumes, struct rf_msg *out)
{
	if (len != sizeof(*w))
		return false;
	out->vote.epoch = rf_get64(w->epoch);
	out->vote.known = rf_get64(w->known);
	out->vote.round = rf_get32(w->round);
	out->vote.volume = rf_get16(w->volume);
	out->vote.candidate = rf_get16(w->candidate);
	out->vote.granted = w->granted == 1;
	return out->vote.volume < volumes && out->vote.candidate >= 1 &&
	       out->vote.candidate <= nodes && w->granted <= 1 &&
	       rf_zero(w->zero, sizeof(w->zero));
}

static bool decode_closed(const struct rf_wire_closed *w, size_t len, uint32_t volumes,
			  struct rf_msg *out)
{
	if (len != sizeof(*w))
		return false;
	out->closed.epoch = rf_get64(w->epoch);
	out->closed.volume = rf_get16(w->volume);
	return out->closed.volume < volumes && rf_get16(w->zero) == 0;
}

static bool decode_released(const struct rf_wire_released *w, size_t len, uint32_t nodes,
			    uint32_t volumes, struct rf_msg *out)
{
	if (len != sizeof(*w))
		return false;
	out->released.epoch = rf_get64(w->epoch);
	out->released.volume = rf_get16(w->volume);
	out->released.to = rf_get16(w->to);
	return out->released.volume < volumes && out->released.to <= nodes;
}

int rf_msg_decode(const void *data, size_t len, uint32_t nodes, uint32_t volumes,
		  struct rf_msg *out)
{
	const struct rf_wire_message *w = data;
	struct rf_msg m = {0};
	bool good;

	if (len < sizeof(*w) || len > RF_MESSAGE_BYTES || rf_get16(w->zero))
		return -1;
	if (w->kind != RF_WIRE_HEARTBEAT && w->count)
		return -1;
	m.kind = w->kind;
	switch (w->kind) {
	case RF_WIRE_HEARTBEAT:
		good = decode_heartbeat(data, len, nodes, volumes, &m);
		break;
	case RF_WIRE_PREVOTE:
		good = decode_prevote(data, len, nodes, volumes, &m);
		break;
	case RF_WIRE_VOTE:
		good = decode_vote(data, len, nodes, volumes, &m);
		break;
	case RF_WIRE_CLOSED:
		good = decode_closed(data, len, volumes, &m);
		break;
	case RF_WIRE_RELEASED:
		good = decode_released(data, len, nodes, volumes, &m);
		break;
	default:
		good = false;
	}
	if (!good)
		return -1;
	*out = m;
	return 0;
}
