/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What records and the control protocol say in numbers, in words for people. */
#ifndef RF_FORMAT_NAMES_H
#define RF_FORMAT_NAMES_H

#include <stdint.h>

/* Constants; "unknown" for a value that does not exist. */
const char *rf_cause_word(uint32_t cause); /* RF_CAUSE_* */
const char *rf_role_word(uint32_t role);   /* enum rf_role */

/* By bit of RF_WAY_*: how a node was excluded. */
#define RF_WAYS 4u
extern const char *const rf_way_words[RF_WAYS];

#endif
