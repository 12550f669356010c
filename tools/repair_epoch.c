/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the ballots prove of the epoch sector, when nobody writes.
 *
 * Let x be the largest instance in any ballot, all ballots readable. The sector never names
 * an epoch above x: who writes it has a ballot of that epoch, or of a later one.
 *
 *  - x = 0: nobody ever voted, so nobody ever owned: NONE.
 *  - The largest bal > 0 in x, no mbal in x above it, and the block on a majority of the
 *    disks: whoever enters x with a higher ballot reads this block and must take its value;
 *    whoever entered with a lower one reads this mbal and stops. The value is chosen.
 *  - Only attempts in x (all bal = 0): x-1 was decided before (PROTOCOL 6). The blocks of x-1
 * may be overwritten, but the history entry of x-1 is written by its owner alone.
 *  - Anything else (a higher mbal beside a vote) may still go either way: not proven.
 *
 * It is written as CLAIMED: the next leader then waits for that owner as for a dead one,
 * which is always safe.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "repair.h"

struct votes {
	bool all_good;
	uint32_t bad_node;
	uint64_t highest, mbal; /* largest instance, and largest mbal in it */
	struct rf_ballot top;   /* largest bal > 0 in it */
	uint32_t top_node;
	unsigned top_disks; /* that have the very same block */
	bool differ;
};

static void count_vote(struct votes *v, uint32_t node, const struct rf_ballot *b,
		       unsigned disks)
{
	if (b->instance > v->highest) {
		v->highest = b->instance;
		v->mbal = 0;
		v->top_node = 0;
		v->top.bal = 0;
	}
	if (b->instance != v->highest || !b->instance)
		return;
	if (b->mbal > v->mbal)
		v->mbal = b->mbal;
	if (b->bal > v->top.bal) {
		v->top = *b;
		v->top_node = node;
		v->top_disks = disks;
	}
}

static unsigned same_seq(const struct disk_set *set, const struct merged *m)
{
	unsigned i, n = 0;

	for (i = 0; i < set->count; i++)
		n += !m->verdict[i] && m->seq[i] == m->seq[m->newest];
	return n;
}

static void read_votes(struct votes *v, const struct disk_set *set, struct merge *g,
		       uint32_t volume)
{
	struct rf_ballot b;
	struct merged m;
	uint32_t i;

	memset(v, 0, sizeof(*v));
	v->all_good = true;
	for (i = 1; i <= set->super.id.nodes; i++) {
		struct record r = {.kind = RF_KIND_BALLOT,
				   .volume = volume,
				   .index = i,
				   .offset_bytes = rf_geo_ballot(&set->super, volume, i)};
		unsigned d;

		merge_read(g, set, &r, &m);
		for (d = 0; d < set->count; d++)
			if (m.verdict[d] != RF_RECORD_OK) {
				v->all_good = false;
				v->bad_node = i;
			}
		if (m.newest < 0 ||
		    rf_ballot_decode(m.raw, &set->super.id, volume, i, &b) != RF_RECORD_OK)
			continue;
		count_vote(v, i, &b, same_seq(set, &m));
	}
}

/* The owner of epoch e wrote there that it led in it. */
static bool from_history(const struct disk_set *set, struct merge *g, uint32_t volume,
			 uint64_t e, struct rf_epoch *out)
{
	uint32_t index = (uint32_t)(e % set->super.history);
	struct record r = {.kind = RF_KIND_HISTORY,
			   .volume = volume,
			   .index = index,
			   .offset_bytes = rf_geo_history(&set->super, volume, index)};
	struct rf_history h;
	struct merged m;

	merge_read(g, set, &r, &m);
	if (m.newest < 0 || rf_history_decode(m.raw, &set->super.id, volume, index, &h) ||
	    h.epoch != e)
		return false;
	out->epoch = e;
	out->owner = h.owner;
	out->incarnation = h.incarnation;
	return true;
}

static bool judge(const struct disk_set *set, struct merge *g, uint32_t volume,
		  const struct votes *v, struct rf_epoch *e, char why[280])
{
	unsigned majority = set->super.disk_count / 2 + 1;

	if (!v->highest) {
		e->state = RF_EPOCH_NONE;
		snprintf(why, 280, "no node ever voted: no epoch was ever owned");
		return true;
	}
	e->state = RF_EPOCH_CLAIMED;
	if (v->top.bal && v->mbal <= v->top.bal && v->top_disks >= majority) {
		e->epoch = v->highest;
		e->owner = v->top.value_node;
		e->incarnation = v->top.value_incarnation;
		snprintf(why, 280,
			 "the ballot of node %u decides epoch %" PRIu64
			 " for node %u, and no ballot is above it",
			 v->top_node, e->epoch, e->owner);
		return true;
	}
	if (!v->top.bal && v->highest > 1 && from_history(set, g, volume, v->highest - 1, e)) {
		snprintf(why, 280,
			 "the attempts at epoch %" PRIu64 " prove that %" PRIu64
			 " was decided, its history entry is of node %u",
			 v->highest, e->epoch, e->owner);
		return true;
	}
	snprintf(why, 280,
		 "the votes for epoch %" PRIu64 " are not all in one ballot on most disks: it "
		 "may still be decided either way",
		 v->highest);
	return false;
}

bool repair_epoch(const struct disk_set *set, struct merge *g, uint32_t volume,
		  const struct rf_epoch *sector, struct rf_epoch *e, char why[280])
{
	struct votes v;

	memset(e, 0, sizeof(*e));
	if (set->count < set->super.disk_count) {
		snprintf(why, 280, "the area has %u disks, %u were given: name all of them",
			 set->super.disk_count, set->count);
		return false;
	}
	read_votes(&v, set, g, volume);
	if (!v.all_good) {
		snprintf(why, 280,
			 "the ballot of node %u is unreadable: what it promised is "
			 "unknown",
			 v.bad_node);
		return false;
	}
	if (!judge(set, g, volume, &v, e, why))
		return false;
	if (sector && sector->epoch == e->epoch && sector->owner == e->owner &&
	    sector->incarnation == e->incarnation) {
		*e = *sector; /* a copy that is left says the same, and perhaps RELEASED */
		return true;
	}
	if (sector && sector->epoch >= e->epoch) {
		snprintf(why, 280,
			 "the copy that is left names epoch %" PRIu64
			 ", the ballots decide %" PRIu64 " for node %u: that cannot be",
			 sector->epoch, e->epoch, e->owner);
		return false;
	}
	e->unix_ns = e->epoch ? rf_unix_ns() : 0;
	e->seq = sector ? sector->seq + 1 : 1;
	return true;
}
