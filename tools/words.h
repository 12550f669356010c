/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the format and of the control socket as words. */
#ifndef RF_TOOLS_WORDS_H
#define RF_TOOLS_WORDS_H

#include <stdint.h>

#include "format/codec.h"

struct json_object;

#define WORDS_BYTES 160
#define RTT_ASSUMED_US 1000u /* where the network was not measured */

/* "unknown" for a value without a word; never NULL. */
const char *words_place(unsigned place);
const char *words_quorum(unsigned rule);
/* of roles and causes: decision.h */
const char *words_slot_state(uint32_t state);
const char *words_epoch_state(uint32_t state);
const char *words_order(uint32_t order);
const char *words_event(unsigned event);
const char *words_watchdog(unsigned state);
/* Bits as words, joined by commas; "none" or "good" without bits. */
const char *words_ways(char buf[WORDS_BYTES], uint32_t ways);
const char *words_health(char buf[WORDS_BYTES], uint32_t health);

/* heartbeat_ms ... epsilon_ppm */
void words_add_timing(struct json_object *o, const struct rf_timing *t);
/* failover_expiry_ms, failover_target_ms with these round trips of disk and network */
void words_add_failover(struct json_object *o, const struct rf_timing *t, uint32_t r_us,
			uint32_t rtt_us);
/* inequalities: each with its values, and whether it holds with a round trip of r_us */
void words_add_inequalities(struct json_object *o, const struct rf_timing *t, uint32_t r_us);
/* key: array of the bits that are set, counted from `first` */
void words_add_bits(struct json_object *o, const char *key, const uint8_t *map, uint32_t bits,
		    uint32_t first);

#endif
