/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records on the disks: what they say, and special starting points. */
#include <string.h>

#include "decision.h"
#include "format/names.h"
#include "scenario.h"

struct place {
	uint32_t volume, node, disk;
	bool every; /* disk */
};

static struct place place_of(struct script *s)
{
	const char *disk = option(s, "disk");
	struct place p = {.volume = volume_of(s),
			  .node = (uint32_t)option_number(s, "node", 1),
			  .every = !disk};

	p.disk = disk ? (uint32_t)number_of(s, disk) : 0;
	if (p.disk >= s->w->super.disk_count || p.node < 1 || p.node > s->w->super.id.nodes) {
		fail(s, "no such disk or node");
		p.disk = 0;
		p.node = 1;
	}
	return p;
}

/* life=now (of a node), old (its last dead one), other (nobody's) */
static uint64_t life_of(struct script *s, uint32_t node, uint64_t otherwise)
{
	const char *life = option(s, "life");

	if (!life)
		return otherwise;
	if (!strcmp(life, "now") && node)
		return s->w->host[node - 1].incarnation;
	if (!strcmp(life, "old"))
		return s->past[node];
	if (strcmp(life, "other"))
		fail(s, "life is now, old or other");
	return 0x0badcafe0badcafeull;
}

static uint64_t offset_of(struct script *s, const char *kind, const struct place *p)
{
	const struct rf_super *super = &s->w->super;

	if (!strcmp(kind, "slot"))
		return rf_geo_slot(super, p->node);
	if (!strcmp(kind, "mailbox"))
		return rf_geo_mailbox(super, p->node);
	if (!strcmp(kind, "epoch"))
		return rf_geo_region(super, p->volume);
	if (!strcmp(kind, "ballot"))
		return rf_geo_ballot(super, p->volume, p->node);
	fail(s, "no such record: %s", kind);
	return rf_geo_slot(super, p->node);
}

/* ---- what they say ---- */

static const char *slot_state(uint32_t state)
{
	return state == RF_SLOT_FREE ? "free" : "joined";
}

static const char *epoch_state(uint32_t state)
{
	return state == RF_EPOCH_NONE      ? "none"
	       : state == RF_EPOCH_CLAIMED ? "claimed"
					   : "released";
}

static const char *life_word(const struct script *s, uint32_t node, uint64_t incarnation)
{
	if (node && node <= s->w->atlas.nodes &&
	    incarnation == s->w->host[node - 1].incarnation)
		return "now";
	return node && incarnation == s->past[node] ? "old" : "other";
}

static bool slot_text(struct script *s, const uint8_t *r, const struct place *p, char *out,
		      size_t n)
{
	struct rf_slot x;

	if (rf_slot_decode(r, &s->w->super.id, p->node, &x) != RF_RECORD_OK)
		return false;
	snprintf(out, n,
		 " state=%s life=%s generation=%llu open=%u leads=%u health=%u order=%llu",
		 slot_state(x.state), life_word(s, p->node, x.incarnation),
		 (unsigned long long)x.generation, rf_bit_get(x.gate_open, p->volume),
		 rf_bit_get(x.leads, p->volume), x.health, (unsigned long long)x.order_seq);
	return true;
}

static bool epoch_text(struct script *s, const uint8_t *r, const struct place *p, char *out,
		       size_t n)
{
	struct rf_epoch x;

	if (rf_epoch_decode(r, &s->w->super.id, p->volume, &x) != RF_RECORD_OK)
		return false;
	snprintf(out, n, " epoch=%llu owner=%u life=%s state=%s", (unsigned long long)x.epoch,
		 x.owner, life_word(s, x.owner, x.incarnation), epoch_state(x.state));
	return true;
}

static bool ballot_text(struct script *s, const uint8_t *r, const struct place *p, char *out,
			size_t n)
{
	struct rf_ballot x;

	if (rf_ballot_decode(r, &s->w->super.id, p->volume, p->node, &x) != RF_RECORD_OK)
		return false;
	snprintf(out, n, " instance=%llu mbal=%llu bal=%llu by=%u value=%u life=%s",
		 (unsigned long long)x.instance, (unsigned long long)x.mbal,
		 (unsigned long long)x.bal, (unsigned)(x.mbal & 0xff), x.value_node,
		 life_word(s, x.value_node, x.value_incarnation));
	return true;
}

static bool history_text(struct script *s, const struct place *p, uint64_t epoch, char *out,
			 size_t n)
{
	uint32_t index = (uint32_t)(epoch % s->w->super.history);
	const uint8_t *r =
		disk_cell(s->w, p->disk, rf_geo_history(&s->w->super, p->volume, index));
	struct rf_history x;

	if (rf_history_decode(r, &s->w->super.id, p->volume, index, &x) != RF_RECORD_OK)
		return false;
	snprintf(out, n, " epoch=%llu owner=%u prev_owner=%u cause=%s end_cause=%s",
		 (unsigned long long)x.epoch, x.owner, x.prev_owner, rf_cause_word(x.cause),
		 rf_cause_word(x.end_cause));
	return true;
}

static void expect_record(struct script *s)
{
	const char *kind = next_word(s, "a record");
	struct place p = place_of(s);
	const uint8_t *cell;
	char text[300] = "";
	bool good;

	if (!strcmp(kind, "history")) {
		good = history_text(s, &p, option_number(s, "of", 1), text, sizeof(text));
	} else {
		cell = disk_cell(s->w, p.disk, offset_of(s, kind, &p));
		good = !strcmp(kind, "slot")    ? slot_text(s, cell, &p, text, sizeof(text))
		       : !strcmp(kind, "epoch") ? epoch_text(s, cell, &p, text, sizeof(text))
						: ballot_text(s, cell, &p, text, sizeof(text));
	}
	if (s->transcript)
		fprintf(s->transcript, "              %s:%s\n", kind, text);
	if (!good)
		fail(s, "that %s cannot be read", kind);
	else
		pattern_fields(s, kind, text);
}

/* ---- special starting points ---- */

static uint32_t state_option(struct script *s, uint32_t otherwise)
{
	const char *state = option(s, "state");

	if (!state)
		return otherwise;
	if (!strcmp(state, "free"))
		return RF_SLOT_FREE;
	if (!strcmp(state, "joined"))
		return RF_SLOT_JOINED;
	if (!strcmp(state, "claimed"))
		return RF_EPOCH_CLAIMED;
	if (!strcmp(state, "released"))
		return RF_EPOCH_RELEASED;
	if (strcmp(state, "none"))
		fail(s, "no such state: %s", state);
	return RF_EPOCH_NONE;
}

static void write_slot(struct script *s, const struct place *p, uint8_t *r)
{
	struct rf_slot x = {.state = RF_SLOT_JOINED};

	rf_slot_decode(r, &s->w->super.id, p->node, &x);
	x.seq = option_number(s, "seq", x.seq + option_number(s, "beats", 1));
	x.generation = option_number(s, "generation", x.generation);
	x.incarnation = life_of(s, p->node, x.incarnation);
	x.state = state_option(s, x.state);
	rf_bit_set(x.gate_open, p->volume,
		   option_number(s, "open", rf_bit_get(x.gate_open, p->volume)) != 0);
	x.want_volume = (uint16_t)option_number(s, "want", x.want_volume);
	x.want_round = (uint32_t)option_number(s, "want-round", x.want_round);
	x.grants[0].candidate = (uint8_t)option_number(s, "vote", x.grants[0].candidate);
	x.grants[0].volume = (uint16_t)option_number(s, "vote-volume", x.grants[0].volume);
	snprintf(x.host, sizeof(x.host), "written");
	rf_slot_encode(r, &s->w->super.id, p->node, &x);
}

static void write_epoch(struct script *s, const struct place *p, uint8_t *r)
{
	struct rf_epoch x = {.state = RF_EPOCH_CLAIMED};

	rf_epoch_decode(r, &s->w->super.id, p->volume, &x);
	x.seq = option_number(s, "seq", x.seq + 1);
	x.epoch = option_number(s, "epoch", x.epoch);
	x.owner = (uint32_t)option_number(s, "owner", x.owner);
	x.incarnation = life_of(s, x.owner, x.incarnation);
	x.state = state_option(s, x.state);
	rf_epoch_encode(r, &s->w->super.id, p->volume, &x);
}

static void write_ballot(struct script *s, const struct place *p, uint8_t *r)
{
	struct rf_ballot x = {0};

	rf_ballot_decode(r, &s->w->super.id, p->volume, p->node, &x);
	x.seq = option_number(s, "seq", x.seq + 1);
	x.instance = option_number(s, "instance", x.instance);
	x.mbal = option_number(s, "mbal", x.mbal);
	x.bal = option_number(s, "bal", x.bal);
	x.value_node = (uint32_t)option_number(s, "value", x.value_node);
	x.value_incarnation = life_of(s, x.value_node, x.value_incarnation);
	rf_ballot_encode(r, &s->w->super.id, p->volume, p->node, &x);
}

static void write_mailbox(struct script *s, const struct place *p, uint8_t *r)
{
	struct rf_mailbox x = {0};

	rf_mailbox_decode(r, &s->w->super.id, p->node, &x);
	x.seq = option_number(s, "seq", x.seq + 1);
	x.incarnation = life_of(s, p->node, x.incarnation);
	x.order = RF_ORDER_STOP;
	x.unix_ns = UNIX_START_NS;
	rf_mailbox_encode(r, &s->w->super.id, p->node, &x);
}

/* write KIND field=…: as if its writer had; on one disk, or on all */
static void write_record(struct script *s)
{
	const char *kind = next_word(s, "a record");
	struct place p = place_of(s);
	uint64_t at = offset_of(s, kind, &p);
	uint8_t *cell = disk_cell(s->w, p.disk, at);

	if (!strcmp(kind, "slot"))
		write_slot(s, &p, cell);
	else if (!strcmp(kind, "epoch"))
		write_epoch(s, &p, cell);
	else if (!strcmp(kind, "ballot"))
		write_ballot(s, &p, cell);
	else
		write_mailbox(s, &p, cell);
	for (uint32_t d = 0; d < s->w->super.disk_count && p.every; d++)
		if (d != p.disk)
			memcpy(disk_cell(s->w, d, at), cell, RF_RECORD_BYTES);
}

/* rot KIND …: it cannot be read; mend KIND …: it can again */
static void rot(struct script *s, uint8_t how)
{
	const char *kind = next_word(s, "a record");
	struct place p = place_of(s);
	uint64_t stride = offset_of(s, kind, &p) / s->w->super.id.stride_bytes;

	for (uint32_t d = 0; d < s->w->super.disk_count; d++)
		if (p.every || d == p.disk)
			s->w->disk[d].bad[stride] = how;
}

/* ---- messages ---- */

static bool forge(struct script *s, const char *kind, uint32_t from, struct rf_msg *m)
{
	uint16_t volume = (uint16_t)volume_of(s);
	uint64_t epoch = option_number(s, "epoch", 1);
	uint32_t round = (uint32_t)option_number(s, "round", 1);

	memset(m, 0, sizeof(*m));
	if (!strcmp(kind, "heartbeat")) {
		m->kind = RF_WIRE_HEARTBEAT;
		m->heartbeat.parts = 1;
		m->heartbeat.slot_seq = option_number(s, "seq", 0);
		m->heartbeat.count = 1;
		m->heartbeat.entries[0] =
			(struct rf_msg_entry){epoch, volume, RF_WIRE_ROLE_LEADER};
	} else if (!strcmp(kind, "prevote")) {
		m->kind = RF_WIRE_PREVOTE;
		m->prevote.epoch = epoch;
		m->prevote.round = round;
		m->prevote.volume = volume;
		m->prevote.hears = (uint16_t)option_number(s, "hears", s->w->atlas.nodes);
	} else if (!strcmp(kind, "closed")) {
		m->kind = RF_WIRE_CLOSED;
		m->closed.epoch = epoch;
		m->closed.volume = volume;
	} else if (!strcmp(kind, "released")) {
		m->kind = RF_WIRE_RELEASED;
		m->released.epoch = epoch;
		m->released.volume = volume;
		m->released.to = (uint16_t)option_number(s, "to", 0);
	} else if (strcmp(kind, "junk")) {
		fail(s, "no such message: %s", kind);
	}
	return m->kind != 0 && from;
}

/* send FROM TO KIND …: as if FROM had sent it, in this life or another */
static void send(struct script *s)
{
	uint32_t from = host_of(s, next_word(s, "a node"))->id;
	struct host *to = host_of(s, next_word(s, "a node"));
	const char *kind = next_word(s, "a message");
	static uint8_t data[RF_MESSAGE_BYTES];
	struct rf_event e = {.kind = RF_EV_MESSAGE};
	static struct rf_msg m;

	e.message.from = from;
	e.message.incarnation = life_of(s, from, s->w->host[from - 1].incarnation);
	e.message.data = data;
	e.message.len = option_number(s, "len", 7);
	memset(data, 0xff, sizeof(data));
	if (forge(s, kind, from, &m))
		e.message.len = rf_msg_encode(data, &m);
	if (e.message.len <= sizeof(data))
		host_event(s->w, to, &e);
}

bool record(struct script *s, const char *verb)
{
	if (!strcmp(verb, "write"))
		write_record(s);
	else if (!strcmp(verb, "rot"))
		rot(s, !option(s, "garbage") ? 3 : 2);
	else if (!strcmp(verb, "mend"))
		rot(s, 0);
	else if (!strcmp(verb, "send"))
		send(s);
	else if (!strcmp(verb, "expect-record"))
		expect_record(s);
	else
		return false;
	return true;
}
