/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inequalities of PROTOCOL §9 with numbers, for format and timing. */
#ifndef RF_TOOLS_INEQUALITY_H
#define RF_TOOLS_INEQUALITY_H

#include "format/timing.h"

#define INEQUALITY_BYTES 160

/* `rule` with the values filled in. r_us: worst measured round trip, 0 = unknown. */
void inequality_text(char text[INEQUALITY_BYTES], enum rf_timing_rule rule,
		     const struct rf_timing *t, uint32_t r_us);
bool inequality_holds(enum rf_timing_rule rule, const struct rf_timing *t, uint32_t r_us);

#endif
