/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the disks say about an epoch: read afresh, judged by claim.h, counted
 * by majority. The target trusts no daemon and no client in this.
 */
#ifndef RF_NBD_CLAIMREAD_H
#define RF_NBD_CLAIMREAD_H

#include "area.h"
#include "latch.h"

enum rf_claim_answer {
	RF_ANSWER_OWNED = 0,
	RF_ANSWER_SUPERSEDED,
	RF_ANSWER_RELEASED,
	RF_ANSWER_OTHER,      /* decided for another, or not (yet) published */
	RF_ANSWER_UNREADABLE, /* no majority could be read */
	RF_ANSWER_CLOSED,     /* owned, but its slot does not say that its gate is open */
};

struct rf_claim_read {
	enum rf_claim_answer answer;
	uint64_t highest_decided;  /* over all disks that could be read */
	uint64_t highest_instance; /* of any ballot, decided or not */
	struct rf_owner sector;    /* the highest epoch sector */
	uint32_t sector_state;     /* RF_EPOCH_* of it */
	unsigned disks_read;
};

/*
 * Does o own its epoch of this volume, on disk, now?
 * One disk: OWNED there. Several: OWNED on one, and OWNED or OTHER on a
 * majority, SUPERSEDED and RELEASED on none. With need_open the owner's slot
 * (newest by sequence among a majority) must also show this incarnation, with
 * the gate of this volume open.
 * A disk that hangs is waited for only as long as the others cannot decide.
 */
void rf_claim_read(struct rf_area *a, uint32_t volume, const struct rf_owner *o, bool need_open,
		   struct rf_claim_read *out);
/* The facts alone, for nobody's epoch; from all disks that answer in time. */
void rf_claim_look(struct rf_area *a, uint32_t volume, struct rf_claim_read *out);

#endif
