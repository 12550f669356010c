/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is certain of a history entry that is lost on every disk, when nobody writes.
 *
 * An entry is written by whoever led, when it became active. So
 *
 *  - one whose epoch nobody can have reached (no ballot is of it or of a later one) was
 *    never used: it is as format made it;
 *  - the one of the epoch that the sector names as claimed can be said again as far as the
 *    sector goes, if its owner committed a state in it: then it led. Causes and durations
 *    stay unknown, host and times are those of slot and sector.
 *
 * Of all others nobody knows who led, or whether anybody did.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "repair.h"

struct source {
	const struct disk_set *set;
	struct merge *g;
	uint32_t volume;
};

static struct merged read_one(const struct source *s, enum rf_kind kind, uint32_t index,
			      uint32_t part, uint64_t at)
{
	struct record r = {.kind = kind,
			   .volume = s->volume,
			   .index = index,
			   .part = part,
			   .offset_bytes = at};
	struct merged m;

	merge_read(s->g, s->set, &r, &m);
	return m;
}

/* The latest epoch that anybody tried. False: a ballot is unreadable, it may be any. */
static bool latest(const struct source *s, uint64_t *epoch)
{
	const struct rf_super *super = &s->set->super;
	bool good = true;

	*epoch = 0;
	for (uint32_t i = 1; i <= super->id.nodes; i++) {
		struct merged m =
			read_one(s, RF_KIND_BALLOT, i, 0, rf_geo_ballot(super, s->volume, i));
		struct rf_ballot b;

		for (unsigned d = 0; d < s->set->count; d++)
			good &= m.verdict[d] == RF_RECORD_OK;
		if (m.newest >= 0 && !rf_ballot_decode(m.raw, &super->id, s->volume, i, &b) &&
		    b.instance > *epoch)
			*epoch = b.instance;
	}
	return good;
}

static bool never_reached(const struct source *s, uint32_t index)
{
	uint64_t epoch, first = index ? index : s->set->super.history;

	return latest(s, &epoch) && epoch < first;
}

/* A leader commits what it loaded before it is active (PROTOCOL 8). */
static bool led(const struct source *s, const struct rf_epoch *e)
{
	const struct rf_super *super = &s->set->super;

	for (uint32_t half = 0; half < 2; half++) {
		struct merged m = read_one(s, RF_KIND_STATE, e->owner, half,
					   rf_geo_state(super, s->volume, e->owner, half));
		struct rf_state state;

		if (m.newest >= 0 &&
		    !rf_state_decode(m.raw, &super->id, s->volume, e->owner, half, &state) &&
		    state.epoch == e->epoch)
			return true;
	}
	return false;
}

static void take_host(const struct source *s, const struct rf_epoch *e, struct rf_history *h)
{
	const struct rf_super *super = &s->set->super;
	struct merged m = read_one(s, RF_KIND_SLOT, e->owner, 0, rf_geo_slot(super, e->owner));
	struct rf_slot slot;

	if (m.newest >= 0 && !rf_slot_decode(m.raw, &super->id, e->owner, &slot) &&
	    slot.incarnation == e->incarnation)
		memcpy(h->host, slot.host, sizeof(h->host));
}

static bool claimed_last(const struct source *s, uint32_t index, struct rf_epoch *e)
{
	const struct rf_super *super = &s->set->super;
	struct merged m = read_one(s, RF_KIND_EPOCH, 0, 0, rf_geo_region(super, s->volume));

	return m.newest >= 0 && !rf_epoch_decode(m.raw, &super->id, s->volume, e) &&
	       e->state == RF_EPOCH_CLAIMED && e->epoch % super->history == index;
}

bool repair_history(const struct disk_set *set, struct merge *g, const struct record *r,
		    struct repair *p)
{
	struct source s = {set, g, r->volume};
	struct rf_history h = {.seq = 1};
	struct rf_epoch e;

	if (set->count < set->super.disk_count)
		return false;
	if (never_reached(&s, r->index)) {
		snprintf(p->why, sizeof(p->why),
			 "no ballot is of its epoch or of a later one: it was never used");
	} else if (claimed_last(&s, r->index, &e) && led(&s, &e)) {
		h.epoch = e.epoch;
		h.owner = e.owner;
		h.incarnation = e.incarnation;
		h.start_unix_ns = e.unix_ns;
		take_host(&s, &e, &h);
		snprintf(p->why, sizeof(p->why),
			 "the sector names node %u for epoch %" PRIu64
			 " and its state was committed in it; cause and durations are lost",
			 h.owner, h.epoch);
	} else {
		return false;
	}
	rf_history_encode(p->raw, &set->super.id, r->volume, r->index, &h);
	p->verdict = REPAIR_WRITE;
	return true;
}
