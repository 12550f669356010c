/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joining (§3, §2.5): is my slot free, what did I promise in an earlier life,
 * and is nothing of that life still under way?
 */
#include <string.h>

#include "state.h"

/* Sequences of a new life start far above what was seen: a last write of the old
 * one that reached only a minority of disks must never look newer, or the same. */
#define SEQUENCE_JUMP (1ull << 20)

static void enter(struct rf_core *c, enum join_stage stage)
{
	struct join *j = &c->join;

	rf_assert(stage > j->stage);
	j->stage = stage;
	j->done = j->failed = 0;
	j->look_ns = c->now;
}

/* Once a beat. */
static bool again(struct rf_core *c, uint64_t *at_ns)
{
	if (c->now < *at_ns)
		return false;
	*at_ns = c->now + c->hb_ns;
	return true;
}

/* ---- reading the slots ---- */

static void own_slot(struct rf_core *c, uint32_t disk, const uint8_t *record)
{
	struct join *j = &c->join;
	struct rf_slot s;

	if (rf_slot_decode(record, &c->super.id, c->me, &s) != RF_RECORD_OK) {
		j->unreadable = true;
		return;
	}
	j->own_found |= DISK_BIT(disk);
	j->watched[disk] = (struct watched){.seq = s.seq, .incarnation = s.incarnation};
	if (s.seq < j->old_seq)
		return;
	if (s.seq > j->old_seq)
		j->agree = 0;
	j->agree |= DISK_BIT(disk);
	j->old_seq = s.seq;
	j->old_incarnation = s.incarnation;
	j->old_generation = s.generation;
	j->unclean = s.state != RF_SLOT_FREE;
	c->order_seq = s.order_seq;
}

void rf_join_slots(struct rf_core *c, uint32_t disk, const uint8_t *slots)
{
	if (c->join.stage != JOIN_READ)
		return;
	for (uint32_t n = 1; n <= c->nodes; n++) {
		const uint8_t *record = slots + 2ull * (n - 1) * c->super.id.stride_bytes;

		if (n == c->me)
			own_slot(c, disk, record);
		else
			rf_peer_slot(c, n, disk, record);
	}
	c->join.done |= DISK_BIT(disk);
}

/*
 * Not cleanly closed: watch whether somebody else uses it, for the slot timeout;
 * wait until no write of the earlier life can land any more (§2.5); and until its
 * gates are shut and drained by themselves, should they not answer (§3).
 */
static uint64_t watch_ns(const struct rf_core *c)
{
	const struct rf_timing *t = &c->super.timing;
	uint64_t ms = rf_later(t->slot_timeout_ms, t->inflight_ms);

	return RF_RULE(JOIN_WAIT, true) ? rf_later(c->expiry_ns, ms * RF_MS_NS) : 0;
}

static void begin_watch(struct rf_core *c)
{
	uint64_t wait = watch_ns(c);

	c->join.until_ns = c->now + wait;
	enter(c, JOIN_WATCH);
	rf_say_own(c, NULL, RF_SAY_JOIN_WAIT, wait, c->join.old_generation);
}

static void begin_ballots(struct rf_core *c)
{
	enter(c, JOIN_BALLOTS);
	c->join.until_ns = c->now + c->hb_ns;
}

static void slots_read(struct rf_core *c)
{
	struct join *j = &c->join;
	bool known = rf_most(c, j->own_found);

	if (!known) { /* unreadable is not free; and its sequence is lost */
		j->unclean = true;
		rf_say_own(c, NULL, RF_SAY_UNREADABLE, 0, RF_KIND_SLOT);
		j->old_seq = rf_later(j->old_seq, c->cfg.unix_ns / 1000);
		j->old_generation = rf_later(j->old_generation, c->cfg.unix_ns / 1000000000);
	}
	/* §2.5: of an earlier life that died while it joined a free slot shows nothing.
	 * Of this boot the daemon knows; those of earlier boots are over by and by. */
	if (RF_RULE(CRASHED,
		    c->cfg.crashed || c->cfg.now_ns < c->super.timing.inflight_ms * RF_MS_NS))
		j->unclean = true;
	/* A disk that does not show the last record may have it, or an older one,
	 * still to come: the earlier life left when a majority had it. */
	if (RF_RULE(FREE_EVERYWHERE, rf_count(j->agree) < c->disks))
		j->unclean = true;
	if (j->unclean)
		begin_watch(c);
	else
		begin_ballots(c);
}

/* ---- watching, and the last look ---- */

static void read_own(struct rf_core *c)
{
	if (again(c, &c->join.look_ns))
		rf_read(c, OP_OWN, RF_NO_VOLUME, 0, 0);
}

/*
 * It moved on this disk. Once may be the ghost of an earlier life's last write (one
 * write per record and disk is in flight at most); twice is somebody who lives. Copies
 * on different disks are never compared: what a dead life left on some of them only is
 * no movement.
 */
static void look_watching(struct rf_core *c, uint32_t disk, const struct rf_slot *s)
{
	struct join *j = &c->join;
	struct watched *w = &j->watched[disk];
	bool first = w->seq == 0; /* format writes sequence 1 */

	if (w->seq == s->seq && w->incarnation == s->incarnation)
		return;
	*w = (struct watched){.seq = s->seq, .incarnation = s->incarnation};
	j->old_seq = rf_later(j->old_seq, s->seq);
	j->old_generation = rf_later(j->old_generation, s->generation); /* §3: only up */
	if (first)
		return;
	if (j->moved & DISK_BIT(disk)) {
		rf_over(c, RF_SAY_JOIN_REFUSED, s->incarnation, s->generation);
		return;
	}
	/* it may have been a renewal of somebody who died since: all waits begin anew */
	j->moved |= DISK_BIT(disk);
	j->until_ns = c->now + watch_ns(c);
	j->done = 0;
}

void rf_join_own(struct rf_core *c, const struct op *op, const uint8_t *record)
{
	struct join *j = &c->join;
	bool readable;
	struct rf_slot s;

	readable = rf_slot_decode(record, &c->super.id, c->me, &s) == RF_RECORD_OK;
	if (readable) /* who holds it, if not I */
		memcpy(c->peer[c->me].host, s.host, sizeof(s.host));
	if (readable && j->stage == JOIN_WATCH && RF_RULE(JOIN_WATCH, j->own_found))
		look_watching(c, op->disk, &s);
	/* a watch that slept through its time has seen nothing: it ends with a look */
	if (j->stage == JOIN_WATCH && op->begun_ns >= j->until_ns)
		j->done |= DISK_BIT(op->disk);
	if (!readable)
		return;
	if (j->stage == JOIN_CHECK) {
		if (s.incarnation == c->incarnation)
			j->done |= DISK_BIT(op->disk);
		else if (RF_RULE(JOIN_CHECK, s.generation >= c->generation))
			rf_over(c, RF_SAY_JOIN_REFUSED, s.incarnation, s.generation);
	}
}

/* ---- gates of an earlier life ---- */

static void begin_revoke(struct rf_core *c)
{
	enter(c, JOIN_REVOKE);
	c->join.until_ns = c->now + c->lease_ns + c->grace_ns;
	c->join.retry_ns = c->now;
	rf_each_volume (c, v)
		v->closing.drained = !v->candidate;
}

void rf_join_revoked(struct rf_core *c, uint32_t volume, uint32_t result)
{
	struct closing *k = &c->volume[volume].closing;

	k->revoking = false;
	if (result == RF_FENCE_OK || result == RF_FENCE_STALE)
		k->drained = true;
}

static void revoke_old(struct rf_core *c)
{
	struct join *j = &c->join;
	bool due = again(c, &j->retry_ns), all = true;

	rf_each_volume (c, v) {
		struct closing *k = &v->closing;

		if (k->drained)
			continue;
		all = false;
		if (due && !k->revoking) {
			k->revoking = true;
			rf_emit_fence(c, RF_DO_REVOKE, v, 0);
		}
	}
	/* An enforcement point that does not answer: its gates ran out by themselves
	 * while this node watched (begin_watch). */
	if (!all && c->now < j->until_ns)
		return;
	if (!all)
		rf_say_own(c, NULL, RF_SAY_UNDRAINED, c->now - j->began_ns, 0);
	begin_ballots(c);
}

/* ---- own promises ---- */

void rf_join_region(struct rf_core *c, struct volume *v, uint32_t disk, const uint8_t *region)
{
	const uint8_t *at = region + (uint64_t)c->me * c->super.id.stride_bytes;
	struct rf_ballot b;

	v->join_done |= DISK_BIT(disk);
	if (rf_ballot_decode(at, &c->super.id, v->number, c->me, &b) != RF_RECORD_OK)
		return;
	v->own_readable |= DISK_BIT(disk);
	/* §2.5: promises survive restarts */
	if (RF_RULE(BALLOT_REREAD, b.seq >= v->mine.seq))
		v->mine = b;
#ifdef RF_MUTANT
	if (!RF_RULE(BALLOT_REREAD, true))
		v->mine.seq = b.seq;
#endif
}

/*
 * Read on a majority. Where one copy is torn (A1) that is not enough at once: a disk
 * that answers a little later may have the promise that makes the majority.
 */
static bool promises_known(const struct rf_core *c, const struct volume *v)
{
	return rf_most(c, v->own_readable) || rf_count(v->join_done) == c->disks ||
	       (rf_most(c, v->join_done) && c->now >= c->join.until_ns);
}

static void read_ballots(struct rf_core *c)
{
	bool due = again(c, &c->join.look_ns), all = true;

	rf_each_volume (c, v) {
		if (promises_known(c, v))
			continue;
		all = false;
		if (due)
			rf_read(c, OP_REGION, v->number, 0, v->join_done);
	}
	if (all)
		enter(c, JOIN_WRITE);
}

static void adopt_promises(struct rf_core *c)
{
	rf_each_volume (c, v) {
		v->own_unreadable = !rf_most(c, v->own_readable);
		if (v->own_unreadable)
			rf_emit_say(c, v, RF_SAY_UNREADABLE, c->me, v->epoch, 0,
				    RF_KIND_BALLOT);
		v->mine.seq += SEQUENCE_JUMP;
		v->closing = (struct closing){0};
	}
}

/* ---- the new life ---- */

static void push_life(struct rf_core *c)
{
	if (again(c, &c->join.look_ns))
		rf_push_retry(c);
	rf_slot_push(c);
}

static void write_life(struct rf_core *c)
{
	struct join *j = &c->join;

	rf_assert(c->slot.version || c->seq == 0);
	if (c->slot.version == 0) {
		adopt_promises(c);
		c->generation = j->old_generation + 1;
		c->seq = j->old_seq + SEQUENCE_JUMP;
		rf_slot_change(c);
	}
	push_life(c);
	if (!rf_push_settled(c, &c->slot))
		return;
	j->until_ns = c->now + 2 * c->hb_ns;
	enter(c, JOIN_SETTLE);
	rf_slot_change(c); /* now that it is known to be taken: gates closed */
	rf_slot_push(c);
}

/* Two I/O times, and the slot says "closed" on a majority of disks. */
static void settle(struct rf_core *c)
{
	struct join *j = &c->join;

	push_life(c);
	if (c->now >= j->until_ns && rf_push_settled(c, &c->slot))
		enter(c, JOIN_CHECK);
}

static void joined(struct rf_core *c)
{
	rf_assert(rf_most(c, c->join.done) && rf_push_settled(c, &c->slot));
	enter(c, JOIN_DONE);
	c->joined_ns = c->now;
	c->beat_ns = c->now;
	rf_each_volume (c, v) {
		rf_role_set(v, RF_ROLE_FOLLOWER);
		v->seen_ns = c->now; /* whoever leads is owed the suspect time */
		v->look_ns = 0;
		rf_region_look(c, v);
	}
	rf_say_own(c, NULL, RF_SAY_JOINED, c->generation, c->incarnation);
}

/* ---- the stages ---- */

static void read_slots(struct rf_core *c)
{
	struct join *j = &c->join;

	if (rf_count(j->done) == c->disks ||
	    (rf_most(c, j->done) && c->now - j->began_ns >= c->hb_ns))
		slots_read(c);
	else if (again(c, &j->look_ns))
		rf_read(c, OP_SLOTS, RF_NO_VOLUME, 0, j->done);
}

static void watch(struct rf_core *c)
{
	read_own(c);
	if (c->now >= c->join.until_ns && rf_most(c, c->join.done))
		begin_revoke(c);
}

static void check(struct rf_core *c)
{
	if (rf_most(c, c->join.done))
		joined(c);
	else
		read_own(c);
}

/* A stage that begins does its first work at once: nothing else may wake it. */
void rf_join_advance(struct rf_core *c)
{
	static void (*const stage[JOIN_DONE])(struct rf_core *) = {
		[JOIN_READ] = read_slots,   [JOIN_WATCH] = watch,
		[JOIN_REVOKE] = revoke_old, [JOIN_BALLOTS] = read_ballots,
		[JOIN_WRITE] = write_life,  [JOIN_SETTLE] = settle,
		[JOIN_CHECK] = check};
	enum join_stage before = JOIN_DONE;

	while (c->join.stage != before && c->join.stage != JOIN_DONE) {
		before = c->join.stage;
		stage[before](c);
	}
}
