/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heartbeat (§4): write the own slot, look into the own slot and mailbox,
 * read the slots of leaders, tell everybody. Everything a follower does when
 * nothing happens is in this file: three disk operations a beat.
 */
#include <string.h>

#include "state.h"

#define STOLEN_BEATS 8u

/* ---- own slot: content ---- */

static void fill_grants(const struct rf_core *c, struct rf_slot *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->volumes && n < RF_SLOT_GRANTS; i++) {
		const struct vote *w = &c->volume[i].vote;

		if (!w->candidate || w->candidate == c->me || w->until_ns <= c->now)
			continue;
		s->grants[n++] = (struct rf_grant){.epoch = w->epoch,
						   .round = w->round,
						   .volume = (uint16_t)i,
						   .candidate = (uint8_t)w->candidate};
	}
}

/* A prevote asked through the disk, for one volume at a time. */
static void fill_want(const struct rf_core *c, struct rf_slot *s)
{
	for (uint32_t n = 0; n < c->volumes; n++) {
		const struct volume *v = &c->volume[(n + c->scan) % c->volumes];

		if (v->role != RF_ROLE_CANDIDATE)
			continue;
		s->want_epoch = v->campaign.epoch;
		s->want_round = v->campaign.round;
		s->want_volume = (uint16_t)v->number;
		return;
	}
}

/*
 * A leadership that was lost is no life sign: who cannot write CLOSED any more must
 * not keep the others waiting by talking on (§4). One that is left in peace is, for
 * as long as a lease: if its gate does not drain then, the others must not wait.
 */
static bool announced(const struct rf_core *c, const struct volume *v)
{
	if (v->role == RF_ROLE_CLOSING)
		return rf_lead_voluntary(v->closing.cause) &&
		       c->now - v->closing.since_ns < c->lease_ns;
	return rf_owning(v);
}

/*
 * The first write of a life says that every gate may be open. Until it is durable
 * the slot on disk may still say FREE, and a life after this one would not wait for
 * it (§2.5): should it then land late, as a ghost over a newer slot, it makes
 * others wait. If it said "closed" it would make them hurry.
 */
static void fill_gates(struct rf_core *c, struct rf_slot *s)
{
	bool first = RF_RULE(FIRST_OPEN, c->join.stage == JOIN_WRITE);

	rf_each_volume (c, v) {
		bool open = v->slot_open;

		rf_assert(!open || (v->my_epoch && v->role >= RF_ROLE_OPENING));
		if (open && !v->lease.open_seq)
			v->lease.open_seq = c->seq;
		if (!open && v->role == RF_ROLE_CLOSING && !v->closing.close_seq)
			v->closing.close_seq = c->seq;
		/* §8: the slot says OPEN before the gate opens */
		rf_bit_set(s->gate_open, v->number,
			   first || (open && (RF_RULE(OPEN_BEFORE, true) || v->lease.opened)));
		rf_bit_set(s->leads, v->number,
			   announced(c, v) && (open || v->role != RF_ROLE_CLOSING));
	}
}

/* FREE promises the next life that nothing of this one will land any more (§2.5). */
static bool may_free(const struct rf_core *c)
{
	rf_each_volume (c, v) {
		if (v->slot_open || v->role == RF_ROLE_CLOSING ||
		    RF_RULE(FREE_IDLE, v->busy[OP_BALLOT] | v->busy[OP_EPOCH] |
					       v->busy[OP_HISTORY] | v->busy[OP_COMMIT]))
			return false;
	}
	return c->leaving;
}

static void encode_slot(struct rf_core *c)
{
	struct rf_slot *s = &c->slot_record;

	rf_assert(c->slot.version == c->seq + 1);
	memset(s, 0, sizeof(*s));
	s->seq = c->seq = c->slot.version;
	c->slot.since_ns = c->now;
	s->incarnation = c->incarnation;
	s->generation = c->generation;
	s->unix_ns = c->unix_ns;
	s->order_seq = c->order_seq;
	memcpy(s->boot_id, c->cfg.boot_id, sizeof(s->boot_id));
	memcpy(s->host, c->cfg.host, sizeof(s->host));
	s->state = may_free(c) ? RF_SLOT_FREE : RF_SLOT_JOINED;
	s->health = c->health;
	s->priority = c->cfg.priority;
	s->write_us = c->write_us;
	s->read_us = c->read_us;
	s->worst_us = c->worst_us;
	rf_peers_fill(c, s->hears);
	fill_gates(c, s);
	fill_grants(c, s);
	fill_want(c, s);
	rf_assert(s->state == RF_SLOT_JOINED || !rf_map_count(s->gate_open, c->volumes));
	rf_slot_encode(c->slot.bytes, &c->super.id, c->me, s);
}

void rf_slot_change(struct rf_core *c)
{
	c->slot.version = c->seq + 1;
}

/* ---- own slot: writing ---- */

/* The volume whose region is read behind the slot write: one that opens comes
 * first, for it waits. The others are read when the write is done. */
static uint32_t chained_volume(const struct rf_core *c)
{
	uint32_t found = RF_NO_VOLUME;

	rf_each_volume (c, v) {
		if (v->role == RF_ROLE_OPENING)
			return v->number;
		if (rf_renewing(v) && found == RF_NO_VOLUME)
			found = v->number;
	}
	return found;
}

void rf_slot_push(struct rf_core *c)
{
	if (!rf_push_wanted(c, &c->slot))
		return;
	c->slot.volume = chained_volume(c);
	if (c->seq != c->slot.version)
		encode_slot(c);
	rf_push(c, &c->slot); /* §8: [write own slot -> read claim region] */
}

uint64_t rf_slot_majority(const struct rf_core *c)
{
	return rf_majority_reaches(c->slot.done, c->disks);
}

static void renew_others(struct rf_core *c, const struct op *op)
{
	struct io io = {.purpose = OP_RENEW, .tag = op->tag, .begun_ns = op->counts_ns};

	for (io.volume = 0; io.volume < c->volumes; io.volume++)
		if (io.volume != op->volume && rf_renewing(&c->volume[io.volume]))
			rf_op_start(c, op->disk, &io);
}

void rf_slot_wrote(struct rf_core *c, struct volume *v, const struct op *op,
		   const uint8_t *region)
{
	rf_assert(op->tag <= c->seq);
	if (!op->wrote || c->join.stage != JOIN_DONE)
		return;
	if (region)
		rf_lease_observe(c, v, op, region);
	renew_others(c, op);
	if (c->beat_unsent && rf_slot_majority(c) >= op->tag)
		rf_beat_send(c);
}

/* ---- own slot and mailbox: reading ---- */

static void obey_mailbox(struct rf_core *c, const struct rf_mailbox *m)
{
	if (m->order != RF_ORDER_STOP || m->incarnation != c->incarnation ||
	    m->seq <= c->order_seq || c->order_pending)
		return;
	c->order_pending = m->seq;
	c->stopped = true;
	c->health |= RF_HEALTH_STOPPED;
	rf_say_own(c, NULL, RF_SAY_ORDERED, m->from, m->seq);
}

/* §3: another life in my slot. A disk that missed my join still shows an older
 * generation, and a ghost of a life that died while it joined an older sequence:
 * neither is theft. One who lives keeps up with my sequence, beat for beat. */
static bool stolen(const struct rf_core *c, const struct rf_slot *s)
{
	return s->incarnation != c->incarnation && s->generation >= c->generation &&
	       s->seq + STOLEN_BEATS > c->seq;
}

/* The mailbox is never this node's to write. When it is a good one of another area,
 * somebody formatted this one under its daemons: their records must not come back. */
static bool formatted(struct rf_core *c, uint32_t disk, enum rf_record_verdict mailbox)
{
	c->foreign &= (uint8_t)~DISK_BIT(disk);
	c->foreign |= mailbox == RF_RECORD_FOREIGN ? DISK_BIT(disk) : 0;
	return RF_RULE(FORMATTED, rf_most(c, c->foreign));
}

void rf_own_read(struct rf_core *c, struct volume *v, const struct op *op, const uint8_t *read)
{
	const uint8_t *box = read + c->super.id.stride_bytes;
	struct rf_mailbox m;
	struct rf_slot s;
	enum rf_record_verdict mailbox = rf_mailbox_decode(box, &c->super.id, c->me, &m);

	(void)v;
	if (formatted(c, op->disk, mailbox)) {
		rf_over(c, RF_SAY_FORMATTED, 0, 0);
		return;
	}
	if (c->join.stage != JOIN_DONE) {
		rf_join_own(c, op, read);
		return;
	}
	if (rf_slot_decode(read, &c->super.id, c->me, &s) == RF_RECORD_OK &&
	    RF_RULE(STOLEN, stolen(c, &s))) {
		rf_over(c, RF_SAY_STOLEN, s.incarnation, s.generation);
		return;
	}
	if (op->begun_ns >= c->doubt_ns)
		c->doubt_seen |= DISK_BIT(op->disk);
	if (c->doubt_ns && rf_most(c, c->doubt_seen))
		c->doubt_ns = 0;
	if (mailbox == RF_RECORD_OK)
		obey_mailbox(c, &m);
}

static void read_leaders(struct rf_core *c)
{
	rf_each_volume (c, v)
		if (v->owner && v->owner != c->me && v->epoch_state == RF_EPOCH_CLAIMED &&
		    c->peer[v->owner].asked_ns != c->now)
			rf_peer_read(c, v->owner);
}

/* ---- telling everybody ---- */

static void choose_echo(struct rf_core *c, struct rf_msg *m)
{
	for (uint32_t n = 1; n <= c->nodes; n++) {
		uint32_t j = 1 + (c->scan + n) % c->nodes;
		const struct peer *p = &c->peer[j];

		if (!rf_peer_hears(c, j) || !p->clock_at_ns)
			continue;
		m->heartbeat.echo = (uint16_t)j;
		m->heartbeat.echo_ns = p->clock_ns;
		m->heartbeat.echo_held_us = rf_us(c->now - p->clock_at_ns);
		return;
	}
}

static uint32_t led_count(const struct rf_core *c)
{
	uint32_t n = 0;

	rf_each_volume (c, v)
		n += announced(c, v);
	return n;
}

void rf_beat_send(struct rf_core *c)
{
	struct rf_msg m = {.kind = RF_WIRE_HEARTBEAT};
	uint32_t parts = (led_count(c) + RF_HEARTBEAT_ENTRIES - 1) / RF_HEARTBEAT_ENTRIES;

	c->beat_unsent = false;
	m.heartbeat.slot_seq = rf_slot_majority(c);
	m.heartbeat.clock_ns = c->now;
	m.heartbeat.health = c->health;
	m.heartbeat.priority = c->cfg.priority;
	m.heartbeat.parts = (uint8_t)(parts ? parts : 1);
	rf_peers_fill(c, m.heartbeat.hears);
	choose_echo(c, &m);
	rf_each_volume (c, v) {
		if (!announced(c, v))
			continue;
		if (m.heartbeat.count == RF_HEARTBEAT_ENTRIES) {
			rf_emit_send(c, 0, &m);
			m.heartbeat.part++;
			m.heartbeat.count = 0;
		}
		m.heartbeat.entries[m.heartbeat.count++] = (struct rf_msg_entry){
			.epoch = v->my_epoch,
			.volume = (uint16_t)v->number,
			.role = v->slot_open ? RF_WIRE_ROLE_LEADER : RF_WIRE_ROLE_CLAIMED};
	}
	rf_emit_send(c, 0, &m);
}

/* ---- the beat ---- */

static void leave(struct rf_core *c)
{
	bool freed = c->slot_record.state == RF_SLOT_FREE;

	if (!c->leaving)
		return;
	/* as soon as it may be said, and once: a write that hangs must not make this
	 * node write its slot as fast as the disk can */
	if (!freed && may_free(c))
		rf_slot_change(c);
	if (!freed || rf_slot_majority(c) < c->slot_record.seq)
		return;
	rf_say_own(c, NULL, RF_SAY_LEFT, c->generation, 0);
	rf_halt(c, RF_CAUSE_SHUTDOWN);
}

static void beat(struct rf_core *c)
{
	if (c->beat_unsent) /* the disk was slower than a beat: say so, with the old sequence */
		rf_beat_send(c);
	c->beat_unsent = true;
	c->beat_ns += c->hb_ns;
	if (c->beat_ns <= c->now)
		c->beat_ns = c->now + c->hb_ns;
	rf_assert(c->join.stage == JOIN_DONE && c->beat_ns > c->now);
	c->health &= ~(RF_HEALTH_PAUSED | RF_HEALTH_BARRED);
	c->health |= (c->paused ? RF_HEALTH_PAUSED : 0) | (c->barred ? RF_HEALTH_BARRED : 0);
	rf_push_retry(c);
	rf_slot_change(c);
	rf_read(c, OP_OWN, RF_NO_VOLUME, 0, 0);
	read_leaders(c);
	rf_peers_scan(c);
	rf_peers_isolation(c);
	c->scan++;
}

void rf_beat_advance(struct rf_core *c)
{
	rf_assert(!c->halted && c->join.stage == JOIN_DONE);
	leave(c);
	if (c->halted)
		return;
	if (c->now >= c->beat_ns)
		beat(c);
	rf_slot_push(c);
}
