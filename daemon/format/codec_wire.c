/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams, once their seal is open.
 *
 * A message has exactly one encoding: what decodes, encodes to the same bytes.
 * So sizes, padding and every enum are checked, and ids are bounded by the area.
 */
#include "codec_bytes.h"

/* What bounds the ids in a message. */
struct bounds {
	uint32_t nodes, volumes;
};

static struct rf_wire_message header(const struct rf_msg *in, uint8_t count)
{
	return (struct rf_wire_message){.kind = in->kind, .count = count};
}

/* ---- heartbeat ---- */

static size_t heartbeat_bytes(uint32_t count)
{
	return sizeof(struct rf_wire_heartbeat) + count * sizeof(struct rf_wire_entry);
}

static void entries_encode(struct rf_wire_heartbeat *w, const struct rf_msg *in)
{
	for (uint32_t i = 0; i < in->heartbeat.count; i++) {
		const struct rf_msg_entry *e = &in->heartbeat.entries[i];

		rf_assert(e->volume < RF_VOLUMES_MAX);
		rf_assert(e->role == RF_WIRE_ROLE_CLAIMED || e->role == RF_WIRE_ROLE_LEADER);
		w->entries[i] = (struct rf_wire_entry){
			.epoch = put64(e->epoch),
			.volume = put16(e->volume),
			.role = e->role,
		};
	}
}

static size_t heartbeat_encode(void *out, const struct rf_msg *in)
{
	struct rf_wire_heartbeat *w = out;

	rf_assert(in->heartbeat.count <= RF_HEARTBEAT_ENTRIES);
	rf_assert(in->heartbeat.part < in->heartbeat.parts);
	w->m = header(in, in->heartbeat.count);
	w->slot_seq = put64(in->heartbeat.slot_seq);
	w->clock_ns = put64(in->heartbeat.clock_ns);
	w->echo_ns = put64(in->heartbeat.echo_ns);
	w->echo_held_us = put32(in->heartbeat.echo_held_us);
	w->echo = put16(in->heartbeat.echo);
	w->part = in->heartbeat.part;
	w->parts = in->heartbeat.parts;
	w->health = put32(in->heartbeat.health);
	w->priority = put32(in->heartbeat.priority);
	memcpy(w->hears, in->heartbeat.hears, sizeof(w->hears));
	entries_encode(w, in);
	return heartbeat_bytes(in->heartbeat.count);
}

static bool entries_decode(struct rf_msg *m, const struct rf_wire_heartbeat *w,
			   uint32_t volumes)
{
	for (uint32_t i = 0; i < m->heartbeat.count; i++) {
		const struct rf_wire_entry *e = &w->entries[i];

		m->heartbeat.entries[i] = (struct rf_msg_entry){
			.epoch = rf_get64(e->epoch),
			.volume = rf_get16(e->volume),
			.role = e->role,
		};
		if (e->zero || m->heartbeat.entries[i].volume >= volumes ||
		    (e->role != RF_WIRE_ROLE_CLAIMED && e->role != RF_WIRE_ROLE_LEADER))
			return false;
	}
	return true;
}

static void heartbeat_fields(struct rf_msg *m, const struct rf_wire_heartbeat *w)
{
	m->heartbeat.slot_seq = rf_get64(w->slot_seq);
	m->heartbeat.clock_ns = rf_get64(w->clock_ns);
	m->heartbeat.echo_ns = rf_get64(w->echo_ns);
	m->heartbeat.echo_held_us = rf_get32(w->echo_held_us);
	m->heartbeat.echo = rf_get16(w->echo);
	m->heartbeat.part = w->part;
	m->heartbeat.parts = w->parts;
	m->heartbeat.count = w->m.count;
	m->heartbeat.health = rf_get32(w->health);
	m->heartbeat.priority = rf_get32(w->priority);
	memcpy(m->heartbeat.hears, w->hears, sizeof(m->heartbeat.hears));
}

static bool heartbeat_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	const struct rf_wire_heartbeat *w = data;

	if (len < sizeof(*w) || w->m.count > RF_HEARTBEAT_ENTRIES ||
	    len != heartbeat_bytes(w->m.count))
		return false;
	heartbeat_fields(m, w);
	return m->heartbeat.part < m->heartbeat.parts && m->heartbeat.echo <= b.nodes &&
	       map_ok(m->heartbeat.hears, b.nodes, RF_NODES_MAX) &&
	       entries_decode(m, w, b.volumes);
}

/* ---- the small ones ---- */

static size_t prevote_encode(void *out, const struct rf_msg *in)
{
	rf_assert(in->prevote.volume < RF_VOLUMES_MAX && in->prevote.hears <= RF_NODES_MAX);
	*(struct rf_wire_prevote *)out = (struct rf_wire_prevote){
		.m = header(in, 0),
		.epoch = put64(in->prevote.epoch),
		.round = put32(in->prevote.round),
		.volume = put16(in->prevote.volume),
		.hears = put16(in->prevote.hears),
		.priority = put32(in->prevote.priority),
	};
	return sizeof(struct rf_wire_prevote);
}

static bool prevote_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	const struct rf_wire_prevote *w = data;

	if (len != sizeof(*w))
		return false;
	m->prevote.epoch = rf_get64(w->epoch);
	m->prevote.round = rf_get32(w->round);
	m->prevote.volume = rf_get16(w->volume);
	m->prevote.hears = rf_get16(w->hears);
	m->prevote.priority = rf_get32(w->priority);
	return !w->m.count && m->prevote.volume < b.volumes && m->prevote.hears <= b.nodes;
}

static size_t vote_encode(void *out, const struct rf_msg *in)
{
	rf_assert(in->vote.volume < RF_VOLUMES_MAX);
	rf_assert(in->vote.candidate >= 1 && in->vote.candidate <= RF_NODES_MAX);
	*(struct rf_wire_vote *)out = (struct rf_wire_vote){
		.m = header(in, 0),
		.epoch = put64(in->vote.epoch),
		.known = put64(in->vote.known),
		.round = put32(in->vote.round),
		.volume = put16(in->vote.volume),
		.candidate = put16(in->vote.candidate),
		.granted = in->vote.granted,
	};
	return sizeof(struct rf_wire_vote);
}

static bool vote_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	const struct rf_wire_vote *w = data;

	if (len != sizeof(*w))
		return false;
	m->vote.epoch = rf_get64(w->epoch);
	m->vote.known = rf_get64(w->known);
	m->vote.round = rf_get32(w->round);
	m->vote.volume = rf_get16(w->volume);
	m->vote.candidate = rf_get16(w->candidate);
	m->vote.granted = w->granted;
	return !w->m.count && w->granted <= 1 && all_zero(w->zero, sizeof(w->zero)) &&
	       m->vote.volume < b.volumes && m->vote.candidate >= 1 &&
	       m->vote.candidate <= b.nodes;
}

static size_t closed_encode(void *out, const struct rf_msg *in)
{
	rf_assert(in->closed.volume < RF_VOLUMES_MAX);
	*(struct rf_wire_closed *)out = (struct rf_wire_closed){
		.m = header(in, 0),
		.epoch = put64(in->closed.epoch),
		.volume = put16(in->closed.volume),
	};
	return sizeof(struct rf_wire_closed);
}

static bool closed_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	const struct rf_wire_closed *w = data;

	if (len != sizeof(*w))
		return false;
	m->closed.epoch = rf_get64(w->epoch);
	m->closed.volume = rf_get16(w->volume);
	return !w->m.count && !rf_get16(w->zero) && m->closed.volume < b.volumes;
}

static size_t released_encode(void *out, const struct rf_msg *in)
{
	rf_assert(in->released.volume < RF_VOLUMES_MAX && in->released.to <= RF_NODES_MAX);
	*(struct rf_wire_released *)out = (struct rf_wire_released){
		.m = header(in, 0),
		.epoch = put64(in->released.epoch),
		.volume = put16(in->released.volume),
		.to = put16(in->released.to),
	};
	return sizeof(struct rf_wire_released);
}

static bool released_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	const struct rf_wire_released *w = data;

	if (len != sizeof(*w))
		return false;
	m->released.epoch = rf_get64(w->epoch);
	m->released.volume = rf_get16(w->volume);
	m->released.to = rf_get16(w->to);
	return !w->m.count && m->released.volume < b.volumes && m->released.to <= b.nodes;
}

/* ---- all ---- */

size_t rf_msg_encode(void *out, const struct rf_msg *in)
{
	rf_assert(in->kind >= 1 && in->kind <= RF_WIRE_KIND_LAST);
	switch ((enum rf_wire_kind)in->kind) {
	case RF_WIRE_HEARTBEAT:
		return heartbeat_encode(out, in);
	case RF_WIRE_PREVOTE:
		return prevote_encode(out, in);
	case RF_WIRE_VOTE:
		return vote_encode(out, in);
	case RF_WIRE_CLOSED:
		return closed_encode(out, in);
	default: /* RF_WIRE_RELEASED */
		return released_encode(out, in);
	}
}

static bool body_decode(struct rf_msg *m, const void *data, size_t len, struct bounds b)
{
	switch ((enum rf_wire_kind)m->kind) {
	case RF_WIRE_HEARTBEAT:
		return heartbeat_decode(m, data, len, b);
	case RF_WIRE_PREVOTE:
		return prevote_decode(m, data, len, b);
	case RF_WIRE_VOTE:
		return vote_decode(m, data, len, b);
	case RF_WIRE_CLOSED:
		return closed_decode(m, data, len, b);
	case RF_WIRE_RELEASED:
		return released_decode(m, data, len, b);
	}
	return false;
}

int rf_msg_decode(const void *data, size_t len, uint32_t nodes, uint32_t volumes,
		  struct rf_msg *out)
{
	const struct rf_wire_message *w = data;
	struct bounds b = {.nodes = nodes, .volumes = volumes};
	struct rf_msg m;

	rf_assert(nodes <= RF_NODES_MAX && volumes <= RF_VOLUMES_MAX);
	if (len < sizeof(*w) || rf_get16(w->zero))
		return -1;
	memset(&m, 0, sizeof(m));
	m.kind = w->kind;
	if (!body_decode(&m, data, len, b))
		return -1;
	*out = m;
	return 0;
}
