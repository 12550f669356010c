/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what was measured to timings that fit. */
#ifndef RF_TOOLS_PROPOSAL_H
#define RF_TOOLS_PROPOSAL_H

#include <stdint.h>

#include "format/timing.h"

#define PROPOSAL_HEADROOM 2u /* a bad day is that much slower than what was measured */

/* The disk round trip to count with. */
uint32_t proposal_r_us(uint32_t worst_us);
/*
 * now: the timings in force; grace and drift cannot be measured and stay. r_us: from
 * proposal_r_us(). false: no timings fit so slow a disk; *to is as close as it gets.
 */
bool proposal_make(struct rf_timing *to, const struct rf_timing *now, uint32_t r_us,
		   uint32_t rtt_us);

#endif
