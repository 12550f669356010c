/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The claim (§5): Disk Paxos, one instance per epoch, single-writer ballots.
 *
 * On each disk by itself a phase is one chain: write own ballot, then read the
 * claim region. A disk counts for a phase only when its whole chain completed
 * and every record in the region was readable; a phase needs a majority.
 */
#include <string.h>

#include "state.h"

static void enter(struct rf_core *c, struct volume *v, enum phase phase)
{
	struct ballot_step *s = &v->step;

	rf_assert(v->role == RF_ROLE_CLAIMING && !v->own_unreadable);
	rf_assert(v->mine.mbal == s->number && v->mine.bal <= v->mine.mbal);
	v->mine.seq++;
	v->ballot.version++;
	s->phase = phase;
	s->id = v->ballot.version;
	s->done = s->failed = 0;
	rf_ballot_encode(v->ballot.bytes, &c->super.id, v->number, c->me, &v->mine);
	rf_emit_say(c, v, RF_SAY_BALLOT, c->me, v->mine.instance, s->number, phase);
}

/* ---- phases ---- */

/* §5: unique to this node, and larger than every mbal seen in the instance. */
static uint64_t ballot_above(const struct rf_core *c, uint64_t seen)
{
	uint64_t round = (seen >> RF_BALLOT_NODE_BITS) + 1;

	return round << RF_BALLOT_NODE_BITS | (RF_RULE(BALLOT_UNIQUE, true) ? c->me : 0);
}

static void phase_one(struct rf_core *c, struct volume *v, uint64_t seen)
{
	uint64_t epoch = v->campaign.epoch;
	struct ballot_step *s = &v->step;

	rf_assert(epoch > v->epoch);
	if (v->mine.instance == epoch && v->mine.mbal > seen)
		seen = v->mine.mbal;
	if (v->mine.instance != epoch || !RF_RULE(KEEP_VALUE, true)) {
		/* §5: bal and value are kept only within one instance */
		rf_assert(v->mine.instance <= epoch);
		v->mine = (struct rf_ballot){.seq = v->mine.seq, .instance = epoch};
	}
	s->number = ballot_above(c, seen);
	rf_assert(s->number > v->mine.mbal || !RF_RULE(BALLOT_UNIQUE, true));
	v->mine.mbal = s->number;
	s->best = v->mine;
	s->highest_mbal = 0;
	enter(c, v, PHASE_ONE);
}

static void phase_two(struct rf_core *c, struct volume *v)
{
	struct ballot_step *s = &v->step;

	rf_assert(s->phase == PHASE_ONE && rf_most(c, s->done));
	/* §5: the value of the largest ballot; mine only if there is none */
	if (RF_RULE(ADOPT, s->best.bal > 0)) {
		v->mine.value_node = s->best.value_node;
		v->mine.value_incarnation = s->best.value_incarnation;
	} else {
		v->mine.value_node = c->me;
		v->mine.value_incarnation = c->incarnation;
	}
	v->mine.bal = s->number;
	v->phase2 = 0;
	enter(c, v, PHASE_TWO);
}

static void decided(struct rf_core *c, struct volume *v)
{
	uint32_t node = v->mine.value_node;
	uint64_t life = v->mine.value_incarnation;

	rf_assert(v->step.phase == PHASE_TWO && v->mine.bal == v->step.number);
	rf_assert(node >= 1 && node <= c->nodes && life); /* the codec saw to it */
	v->step.phase = PHASE_NONE;
	rf_emit_say(c, v, RF_SAY_DECIDED, node, v->mine.instance, life, v->step.number);
	rf_decided_learn(c, v, v->mine.instance, node, life);
	if (node == c->me && life == c->incarnation) {
		rf_exclusion_begin(c, v);
		return;
	}
	/* It owns e whether it lives or not. If it gives no sign, campaign for e+1. */
	v->seen_ns = c->peer[node].incarnation == life ? c->peer[node].moved_ns : 0;
	rf_campaign_abandon(c, v, 0);
}

/* ---- reading what the region says of this instance ---- */

enum finding { FIND_GOOD, FIND_HIGHER, FIND_UNREADABLE };

/* §5 "after each read": an unreadable block -> stop; a higher mbal -> back off. (A later
 * instance -> learn and stop: overtaken().) */
static enum finding examine(struct rf_core *c, struct volume *v, const uint8_t *region)
{
	struct ballot_step *s = &v->step;
	enum finding found = FIND_GOOD;
	struct rf_epoch sector;
	struct rf_ballot b;

	if (rf_epoch_decode(region, &c->super.id, v->number, &sector) != RF_RECORD_OK)
		return FIND_UNREADABLE;
	for (uint32_t j = 1; j <= c->nodes; j++) {
		const uint8_t *at = region + (uint64_t)j * c->super.id.stride_bytes;

		if (rf_ballot_decode(at, &c->super.id, v->number, j, &b) != RF_RECORD_OK) {
			if (RF_RULE(UNREADABLE_STOP, true))
				return FIND_UNREADABLE;
			continue;
		}
		if (j == c->me || b.instance != v->mine.instance)
			continue;
		s->highest_mbal = rf_later(s->highest_mbal, b.mbal);
		if (b.bal > s->best.bal)
			s->best = b;
		if (b.mbal > s->number)
			found = FIND_HIGHER;
	}
	return found;
}

static void phase_done(struct rf_core *c, struct volume *v)
{
	if (v->step.phase == PHASE_TWO) {
		decided(c, v);
	} else if (!rf_leaderless(c, v) || c->paused) { /* no longer warranted */
		rf_emit_say(c, v, RF_SAY_CAMPAIGN_OVER, c->me, v->mine.instance, 0, 0);
		rf_campaign_abandon(c, v, c->hb_ns);
	} else {
		phase_two(c, v);
	}
}

static void lose_ballot(struct rf_core *c, struct volume *v)
{
	rf_campaign_abandon(c, v, c->hb_ns / 8 + c->hb_ns / 64 * rf_random(c, 64));
}

static bool checked(const struct ballot_step *s, enum finding found)
{
#ifdef RF_MUTANT
	if (found == FIND_HIGHER && !(s->phase == PHASE_TWO ? RF_RULE(PHASE2_CHECK, true)
							    : RF_RULE(PHASE1_CHECK, true)))
		return true;
#endif
	rf_assert(s->phase != PHASE_NONE);
	return found == FIND_GOOD;
}

void rf_ballot_done(struct rf_core *c, struct volume *v, const struct op *op,
		    const uint8_t *region)
{
	struct ballot_step *s = &v->step;
	bool second =
		v->mine.bal && v->mine.bal == v->mine.mbal && op->tag == v->ballot.version;
	enum finding found;

	if (op->wrote && second) /* §5: the fresh read counts only such disks */
		v->phase2 |= DISK_BIT(op->disk);
	if (region)
		rf_region_judge(c, v, op->disk, region, v->my_epoch);
	if (v->role != RF_ROLE_CLAIMING || op->tag != s->id)
		return;
	found = region ? examine(c, v, region) : FIND_UNREADABLE;
	if (found == FIND_UNREADABLE) {
		s->failed |= DISK_BIT(op->disk);
	} else if (checked(s, found)) {
		s->done |= DISK_BIT(op->disk);
	} else {
		rf_emit_say(c, v, RF_SAY_BALLOT_LOST, c->me, v->mine.instance, s->number,
			    s->highest_mbal);
		lose_ballot(c, v);
	}
}

void rf_ballot_begin(struct rf_core *c, struct volume *v)
{
	rf_assert(v->role == RF_ROLE_CANDIDATE);
	rf_assert(!v->own_unreadable);
	rf_role_set(v, RF_ROLE_CLAIMING);
	v->step.began_ns = c->now;
	phase_one(c, v, v->step.highest_mbal);
}

/* §5 "learn and stop", by whatever read it was learnt. */
static bool overtaken(const struct volume *v)
{
	return v->epoch >= v->mine.instance && v->my_epoch != v->mine.instance;
}

static void run_ballot(struct rf_core *c, struct volume *v)
{
	struct ballot_step *s = &v->step;
	enum rf_verdict verdict = rf_disks_verdict(c, s->done, s->failed);

	if (v->role != RF_ROLE_CLAIMING)
		return;
	if (RF_RULE(LATER_STOP, overtaken(v))) {
		rf_emit_say(c, v, RF_SAY_LEARNED, v->owner, v->epoch, v->owner,
			    v->owner_incarnation);
		lose_ballot(c, v);
	} else if (verdict == RF_WON)
		phase_done(c, v);
	else if (verdict == RF_LOST || c->now - s->began_ns > 2 * c->lease_ns)
		rf_campaign_abandon(c, v, c->hb_ns);
}

void rf_ballot_advance(struct rf_core *c, struct volume *v)
{
	run_ballot(c, v);
	/* after the run: disks that were busy get the newest, too */
	if (!RF_RULE(LATER_STOP, overtaken(v)))
		rf_push(c, &v->ballot);
}
