/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is that life of that node certainly over? Judged from readings of its slot alone;
 * no I/O in here.
 *
 * Expired takes longer than what a claimant waits (PROTOCOL §7): a claimant's ballot
 * ends the old leader at its next renewal, but this tool claims nothing, and a leader
 * that wakes up within the hold time may renew late (§8). So the slot must not have
 * moved for (L + hold)(1 + epsilon) + G.
 */
#ifndef RF_TOOLS_VICTIM_H
#define RF_TOOLS_VICTIM_H

#include "format/codec.h"

enum victim_way {
	VICTIM_WAITING = 0,
	VICTIM_LEFT,     /* its slot says FREE: it left cleanly */
	VICTIM_ANSWERED, /* it obeyed this order: all its gates are shut and drained */
	VICTIM_EXPIRED,  /* its slot has not moved for so long that its leases are over */
};

struct victim {
	uint64_t incarnation; /* the life that is ordered */
	uint64_t order_seq;
	uint64_t expiry_ns;
	uint64_t seq, since_ns; /* what was read, and when first */
	bool later;             /* another life has taken the slot since */
	bool drains_not;        /* obeyed, but a gate does not drain */
};

uint64_t victim_expiry_ns(const struct rf_timing *t);
void victim_begin(struct victim *v, const struct rf_timing *t, const struct rf_slot *slot,
		  uint64_t order_seq, uint64_t read_ns);
/* One reading, from before it was submitted to after it was complete (§2.4). */
enum victim_way victim_look(struct victim *v, const struct rf_slot *slot, uint64_t begun_ns,
			    uint64_t read_ns);
/* FREE, answered: what one reading alone can show. */
enum victim_way victim_says(const struct rf_slot *slot, uint64_t incarnation,
			    uint64_t order_seq);

#endif
