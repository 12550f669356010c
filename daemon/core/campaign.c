/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Campaigns (§4): who asks, who grants, who may go on to the disk.
 *
 * All of it is politeness: it keeps a steady leader in its place and candidates
 * out of each other's way. Safety needs none of it.
 */
#include <string.h>

#include "state.h"

/* §5 "which e". An instance above m+1 proves m+1 decided (claim.h). */
static uint64_t next_epoch(const struct volume *v)
{
	rf_assert(v->instance <= v->epoch + 1 || !RF_RULE(BALLOT_BEYOND, true));
	return rf_later(v->instance, v->epoch + 1);
}

/* §5 "e = m+1": after the last epoch that a record can name there is none. */
static bool able(const struct rf_core *c, const struct volume *v)
{
	return v->candidate && !RF_RULE(ABSTAINS, v->abstains) && !v->own_unreadable &&
	       !c->paused && !c->barred && !c->stopped && !c->leaving &&
	       v->epoch < RF_COUNT_MAX && c->now >= v->holdoff_ns;
}

static uint32_t hears_count(const struct rf_core *c)
{
	uint32_t n = 1;

	rf_each_other (c, j)
		n += rf_peer_hears(c, j);
	return n;
}

/* ---- the voter ---- */

static void answer(struct rf_core *c, struct volume *v, const struct request *r, bool granted)
{
	struct rf_msg m = {.kind = RF_WIRE_VOTE,
			   .vote = {r->epoch, v->epoch, r->round, (uint16_t)v->number,
				    (uint16_t)r->candidate, granted}};

	rf_emit_send(c, r->candidate, &m);
}

/* Is my vote for this epoch, or for a later one, with another than this node? */
static bool voted(const struct rf_core *c, const struct volume *v, uint32_t node,
		  uint64_t epoch)
{
	const struct vote *w = &v->vote;

	return w->candidate && w->candidate != node && w->until_ns > c->now &&
	       w->epoch >= epoch;
}

static bool refused(const struct rf_core *c, const struct volume *v, const struct request *r)
{
	if (r->epoch <= v->epoch) /* it is older in what it has seen */
		return true;
	if (v->role >= RF_ROLE_CLAIMING && v->role <= RF_ROLE_ACTIVE)
		return true;
	if (RF_RULE(ONE_VOTE, voted(c, v, r->candidate, r->epoch)))
		return true;
	/* somebody who hears more should lead; but only if I could */
	return r->hears < hears_count(c) && able(c, v);
}

static void consider(struct rf_core *c, struct volume *v)
{
	struct request *r = &v->request;

	if (!r->candidate)
		return;
	if (refused(c, v, r)) {
		answer(c, v, r, false);
		r->candidate = 0;
		return;
	}
	/* §4: a steady leader is never displaced. Not suspected yet: the request
	 * waits for my own suspicion, which is due any moment if it is right. */
	if (RF_RULE(STEADY, !rf_leaderless(c, v))) {
		if (c->now >= r->until_ns)
			r->candidate = 0;
		return;
	}
	v->vote = (struct vote){.candidate = r->candidate,
				.epoch = r->epoch,
				.round = r->round,
				.until_ns = c->now + rf_later(c->suspect_ns / 2, 2 * c->hb_ns)};
	rf_emit_say(c, v, RF_SAY_GRANT_VOTE, r->candidate, r->epoch, r->round, 0);
	answer(c, v, r, true);
	if (r->by_slot)
		rf_slot_change(c);
	r->candidate = 0;
}

void rf_campaign_prevote(struct rf_core *c, struct volume *v, uint32_t from, uint64_t epoch,
			 uint32_t round, uint32_t hears, bool by_slot)
{
	struct request *r = &v->request;

	if (r->candidate && r->candidate != from && r->hears >= hears)
		return; /* a better one waits already */
	*r = (struct request){.candidate = from,
			      .epoch = epoch,
			      .round = round,
			      .hears = hears,
			      .by_slot = by_slot,
			      .until_ns = c->now + c->hb_ns};
	consider(c, v);
}

/* ---- the candidate ---- */

void rf_campaign_vote(struct rf_core *c, struct volume *v, uint32_t from, bool granted,
		      uint64_t epoch, uint32_t round, uint64_t known)
{
	if (known > v->epoch)
		rf_region_look(c, v);
	if (!granted || v->role != RF_ROLE_CANDIDATE || epoch != v->campaign.epoch ||
	    round != v->campaign.round)
		return;
	rf_assert(from >= 1 && from <= c->nodes);
	rf_bit_set(v->campaign.votes, from - 1, true);
}

void rf_campaign_mandate(struct rf_core *c, struct volume *v)
{
	if (v->role != RF_ROLE_FOLLOWER)
		return;
	v->holdoff_ns = 0; /* asked by name: nobody is to go first */
	if (!able(c, v))
		return;
	v->campaign.mandate = true;
	v->campaign.at_ns = c->now;
}

void rf_campaign_abandon(struct rf_core *c, struct volume *v, uint64_t wait_ns)
{
	rf_assert(v->role == RF_ROLE_CANDIDATE || v->role == RF_ROLE_CLAIMING);
	rf_role_set(v, RF_ROLE_FOLLOWER);
	v->step.phase = PHASE_NONE;
	v->campaign.mandate = false;
	v->campaign.at_ns = c->now + wait_ns + 1;
	if (v->vote.candidate == c->me)
		v->vote.candidate = 0;
}

/* Votes of nodes that the network does not reach come through the slots. */
static bool needs_slots(const struct rf_core *c)
{
	rf_each_other (c, j)
		if (rf_peer_moves(c, j) && !rf_peer_hears(c, j))
			return true;
	return false;
}

/* How long a better candidate needs to be heard of, for each step in rank: a
 * datagram's time on the network, some beats through the slots. */
static uint64_t rank_delay(struct rf_core *c)
{
	uint64_t step = needs_slots(c) ? 3 * c->hb_ns : c->hb_ns / 4;

	return rf_peers_rank(c) * step + c->hb_ns / 512 * rf_random(c, 64);
}

static uint64_t back_off(struct rf_core *c)
{
	return c->hb_ns / 4 + c->hb_ns / 64 * rf_random(c, 64) + rank_delay(c);
}

static void ask(struct rf_core *c, struct volume *v)
{
	struct rf_msg m = {.kind = RF_WIRE_PREVOTE,
			   .prevote = {v->campaign.epoch, v->campaign.round, c->cfg.priority,
				       (uint16_t)v->number, (uint16_t)hears_count(c)}};

	if (!v->campaign.mandate)
		rf_emit_send(c, 0, &m);
	rf_read(c, OP_REGION, v->number, 0, 0);
}

/* For the history: why this leadership, if it becomes one, began. */
static void note_cause(struct rf_core *c, struct volume *v)
{
	bool released = v->epoch == 0 || v->epoch_state == RF_EPOCH_RELEASED;

	v->history = (struct rf_history){
		.prev_epoch = v->epoch,
		.prev_owner = v->owner,
		.cause = v->epoch == 0         ? RF_CAUSE_FIRST
			 : v->campaign.mandate ? RF_CAUSE_HANDOVER
			 : released            ? RF_CAUSE_RELEASED
					       : RF_CAUSE_SILENCE,
		.suspect_us = released || !v->seen_ns ? 0 : rf_us(c->now - v->seen_ns)};
}

static void begin(struct rf_core *c, struct volume *v)
{
	struct campaign *a = &v->campaign;
	bool slots = needs_slots(c);

	if (voted(c, v, c->me, next_epoch(v))) {
		/* promised to somebody; then in order of rank, or all begin at once for ever */
		a->at_ns = v->vote.until_ns + rank_delay(c);
		return;
	}
	rf_role_set(v, RF_ROLE_CANDIDATE);
	v->campaign_ns = c->now;
	note_cause(c, v);
	a->epoch = next_epoch(v);
	a->round++;
	a->read_done = 0;
	a->until_ns = c->now + (slots ? 6 : 2) * c->hb_ns;
	memset(a->votes, 0, sizeof(a->votes));
	rf_bit_set(a->votes, c->me - 1, true);
	v->vote = (struct vote){.candidate = c->me,
				.epoch = a->epoch,
				.round = a->round,
				.until_ns = a->until_ns};
	rf_emit_say(c, v, RF_SAY_CAMPAIGN, c->me, a->epoch, a->round, 0);
	ask(c, v);
	if (slots)
		rf_slot_change(c);
	/* §4 "whose slots still beat": one that has just left in order is not waited for */
	if (c->super.quorum == RF_QUORUM_SURVIVORS)
		rf_each_other (c, j)
			rf_peer_read(c, j);
}

static void voters_count(const struct rf_core *c, const struct volume *v, uint32_t *n,
			 uint32_t *yes)
{
	bool survivors = c->super.quorum == RF_QUORUM_SURVIVORS;

	*n = *yes = 0;
	for (uint32_t j = 1; j <= c->nodes; j++) {
		if (!rf_bit_get(c->super.voters, j - 1))
			continue;
		if (survivors && j != c->me && !rf_peer_beats(c, j))
			continue; /* §4: only those whose slots still beat */
		(*n)++;
		*yes += rf_bit_get(v->campaign.votes, j - 1);
	}
}

static void run(struct rf_core *c, struct volume *v)
{
	struct campaign *a = &v->campaign;
	uint64_t limit;
	uint32_t n, yes;
	bool won;

	voters_count(c, v, &n, &yes);
	won = a->mandate || yes >= rf_majority(n);
	/* votes in time, but the disk is slow: asking again would not make it faster */
	limit = a->until_ns + (won ? c->suspect_ns : 0);
	if (!rf_leaderless(c, v) || !able(c, v) || c->now >= limit) {
		rf_emit_say(c, v, RF_SAY_CAMPAIGN_OVER, c->me, a->epoch, yes, rf_majority(n));
		rf_campaign_abandon(c, v, back_off(c));
		return;
	}
	if (!rf_most(c, a->read_done) || !won)
		return;
	if (a->epoch != next_epoch(v)) { /* the read taught a later epoch: ask anew */
		rf_campaign_abandon(c, v, c->hb_ns / 8);
		return;
	}
	rf_emit_say(c, v, RF_SAY_QUORUM, c->me, a->epoch, yes, rf_majority(n));
	rf_ballot_begin(c, v);
}

static void wait_turn(struct rf_core *c, struct volume *v)
{
	struct campaign *a = &v->campaign;

	if (!able(c, v) || !rf_leaderless(c, v)) {
		a->at_ns = 0;
		a->mandate = false;
		return;
	}
	if (!a->at_ns && c->now < c->joined_ns + 2 * c->hb_ns)
		return; /* hear the others first: whose turn it is, is not known yet */
	if (!a->at_ns)
		a->at_ns = c->now + rank_delay(c);
	if (c->now >= a->at_ns)
		begin(c, v);
}

void rf_campaign_advance(struct rf_core *c, struct volume *v)
{
	consider(c, v);
	if (v->role == RF_ROLE_FOLLOWER)
		wait_turn(c, v);
	if (v->role == RF_ROLE_CANDIDATE)
		run(c, v);
}
