/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A decision of the core as one line of text, the same in the log, in events
 * and in the scenario tests:
 *
 *   excluded volume=vol0 node=2 epoch=7 ways=closed+expired took_ms=12
 *
 * Fields: volume (name, or its number when no name is given; absent when the
 * decision is about the node), node and epoch (absent when 0), then the two of
 * decision.def. Milliseconds have three decimals only when they are not whole.
 * Incarnations are 16 hex digits. Depends on core headers only.
 */
#ifndef RF_DECISION_H
#define RF_DECISION_H

#include "core/core.h"

#define RF_DECISION_BYTES 320u /* enough for any decision with its name */

/* Writes at most bytes (NUL included); returns the length without the NUL. */
size_t rf_decision_format(char *out, size_t bytes, const struct rf_decision *d,
			  const char *volume);
const char *rf_decision_name(uint32_t code); /* a constant */
/* 'd', 'i', 'w' or 'e'. */
char rf_decision_level(uint32_t code);
/* What it means and, for w and e, what to do. A constant. */
const char *rf_decision_words(uint32_t code);
/* Ways as words joined by '+', "none" for 0. */
void rf_ways_words(char *out, size_t bytes, uint32_t ways);

#endif
