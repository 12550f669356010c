/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules that can be removed (rule.h), numbered. One build carries them all:
 * it is compiled with -DRF_MUTANT=rf_mutant, and rf-sim --mutant NAME chooses.
 */
#ifndef RF_SIM_MUTANTS_H
#define RF_SIM_MUTANTS_H

#include <linux/types.h>

/* clang-format off */
#define RF_MUTANTS(x) \
	x(ABSTAINS) \
	x(ADOPT) \
	x(BALLOT_BEYOND) \
	x(BALLOT_NEXT) \
	x(BALLOT_REREAD) \
	x(BALLOT_UNIQUE) \
	x(BEATS_LOOK) \
	x(BUSY) \
	x(COMMIT_CHECK) \
	x(CRASHED) \
	x(DOUBT) \
	x(DRAIN) \
	x(EPSILON) \
	x(ERROR_GHOST) \
	x(EXCLUSION) \
	x(EXPIRE) \
	x(FENCE_EXPIRY) \
	x(FIRST_OPEN) \
	x(FIRST_SUBMIT) \
	x(FORMATTED) \
	x(FREE_EVERYWHERE) \
	x(FREE_IDLE) \
	x(FRESH_READ) \
	x(FRESH_REGION) \
	x(GAP) \
	x(GRACE) \
	x(JOIN_CHECK) \
	x(JOIN_WAIT) \
	x(JOIN_WATCH) \
	x(KEEP_VALUE) \
	x(LATER_STOP) \
	x(LIFE) \
	x(MAJORITY) \
	x(ONE_VOTE) \
	x(OPEN_BEFORE) \
	x(PHASE1_CHECK) \
	x(PHASE2_CHECK) \
	x(PHASE2_DISKS) \
	x(RECOMMIT) \
	x(RENEW_CHECK) \
	x(REWRITE) \
	x(SEQUENCE_RESTART) \
	x(STATES_DISKS) \
	x(STATES_EPOCH) \
	x(STEADY) \
	x(STOLEN) \
	x(TIME_BEFORE) \
	x(UNREADABLE_OPEN) \
	x(UNREADABLE_STOP)
/* clang-format on */

enum rf_mutants {
	RF_MUTANT_NONE = 0,
#define RF_MUTANT_NUMBER(name) RF_MUTANT_##name,
	RF_MUTANTS(RF_MUTANT_NUMBER)
#undef RF_MUTANT_NUMBER
};

extern __u32 rf_mutant;

#endif
