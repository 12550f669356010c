/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is that life of that node certainly over? See victim.h. */
#include "victim.h"

#include <stddef.h>

#include "ringfence/rule.h"

#define MS_NS 1000000ull
#define PPM 1000000ull

uint64_t victim_expiry_ns(const struct rf_timing *t)
{
	uint64_t hold_ms = RF_RULE(FENCE_EXPIRY, true) ? t->hold_ms : 0;
	uint64_t us = (t->lease_ms + hold_ms) * 1000;

	us += (us * t->epsilon_ppm + PPM - 1) / PPM;
	return us * 1000 + t->grace_ms * MS_NS;
}

void victim_begin(struct victim *v, const struct rf_timing *t, const struct rf_slot *slot,
		  uint64_t order_seq, uint64_t read_ns)
{
	*v = (struct victim){.incarnation = slot->incarnation,
			     .order_seq = order_seq,
			     .expiry_ns = victim_expiry_ns(t),
			     .seq = slot->seq,
			     .since_ns = read_ns};
}

static bool gates_shut(const struct rf_slot *slot)
{
	for (size_t i = 0; i < sizeof(slot->gate_open); i++)
		if (slot->gate_open[i])
			return false;
	return true;
}

enum victim_way victim_says(const struct rf_slot *slot, uint64_t incarnation,
			    uint64_t order_seq)
{
	if (slot->incarnation != incarnation || !gates_shut(slot))
		return VICTIM_WAITING;
	if (slot->state == RF_SLOT_FREE)
		return VICTIM_LEFT;
	if ((slot->health & RF_HEALTH_STOPPED) && order_seq && slot->order_seq >= order_seq)
		return VICTIM_ANSWERED;
	return VICTIM_WAITING;
}

/*
 * A later life in the slot neither shortens nor cancels the wait (CASES 18): the old
 * one may have renewed until just before the new one wrote. How the new one goes on
 * says nothing of the old one.
 */
static bool moved(struct victim *v, const struct rf_slot *slot)
{
	if (slot->incarnation == v->incarnation)
		return v->later || slot->seq != v->seq;
	if (v->later)
		return false;
	v->later = true;
	return true;
}

enum victim_way victim_look(struct victim *v, const struct rf_slot *slot, uint64_t begun_ns,
			    uint64_t read_ns)
{
	enum victim_way way = victim_says(slot, v->incarnation, v->order_seq);

	if (way != VICTIM_WAITING)
		return way;
	v->drains_not =
		slot->incarnation == v->incarnation && (slot->health & RF_HEALTH_UNDRAINED);
	if (moved(v, slot)) {
		v->later = slot->incarnation != v->incarnation;
		v->seq = slot->seq;
		v->since_ns = read_ns;
		return VICTIM_WAITING;
	}
	/* a reading that was under way when the time was up may show an earlier state */
	return begun_ns >= v->since_ns + v->expiry_ns ? VICTIM_EXPIRED : VICTIM_WAITING;
}
