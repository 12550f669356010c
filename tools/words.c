/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the format and of the control socket as words. */
#include <stdio.h>
#include <string.h>

#include "format/names.h"
#include "format/timing.h"
#include "inequality.h"
#include "out.h"
#include "ringfence/control.h"
#include "words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *pick(const char *const *table, size_t count, unsigned value)
{
	return value < count && table[value] ? table[value] : "unknown";
}

const char *words_place(unsigned place)
{
	static const char *const t[] = {
		[RF_PLACE_START] = "start", [RF_PLACE_END] = "end", [RF_PLACE_WHOLE] = "whole"};

	return pick(t, COUNT(t), place);
}

const char *words_quorum(unsigned rule)
{
	static const char *const t[] = {
		[RF_QUORUM_MAJORITY] = "majority", [RF_QUORUM_SURVIVORS] = "survivors"};

	return pick(t, COUNT(t), rule);
}

const char *words_event(unsigned event)
{
	static const char *const t[] = {[RF_CTL_EV_DECISION] = "decision",
					[RF_CTL_EV_ROLE] = "role",
					[RF_CTL_EV_LEADER] = "leader",
					[RF_CTL_EV_BEGIN] = "begin",
					[RF_CTL_EV_END] = "end"};

	return pick(t, COUNT(t), event);
}

const char *words_watchdog(unsigned state)
{
	static const char *const t[] = {[RF_CTL_WATCHDOG_OFF] = "off",
					[RF_CTL_WATCHDOG_ARMED] = "armed",
					[RF_CTL_WATCHDOG_SOFT] = "soft",
					[RF_CTL_WATCHDOG_NONE] = "none",
					[RF_CTL_WATCHDOG_FIRING] = "firing"};

	return pick(t, COUNT(t), state);
}

const char *words_slot_state(uint32_t state)
{
	switch (state) {
	case RF_SLOT_FREE:
		return "free";
	case RF_SLOT_JOINED:
		return "joined";
	case 0:
		return "never-read";
	case 1:
		return "unreadable";
	default:
		return "unknown";
	}
}

const char *words_epoch_state(uint32_t state)
{
	switch (state) {
	case RF_EPOCH_NONE:
		return "none";
	case RF_EPOCH_CLAIMED:
		return "claimed";
	case RF_EPOCH_RELEASED:
		return "released";
	default:
		return "unknown";
	}
}

const char *words_order(uint32_t order)
{
	switch (order) {
	case RF_ORDER_NONE:
		return "none";
	case RF_ORDER_STOP:
		return "stop";
	default:
		return "unknown";
	}
}

static const char *bits(char buf[WORDS_BYTES], const char *const *names, size_t count,
			uint32_t value, const char *none)
{
	size_t i, used = 0;

	if (!value)
		return none;
	buf[0] = 0;
	for (i = 0; i < 32 && used < WORDS_BYTES; i++)
		if (value >> i & 1)
			used += (size_t)snprintf(buf + used, WORDS_BYTES - used, "%s%s",
						 used ? "," : "",
						 i < count && names[i] ? names[i] : "unknown");
	return buf;
}

const char *words_ways(char buf[WORDS_BYTES], uint32_t ways)
{
	return bits(buf, rf_way_words, RF_WAYS, ways, "none");
}

const char *words_health(char buf[WORDS_BYTES], uint32_t health)
{
	static const char *const t[] = {
		"paused",    "barred",  "write-failing", "read-failing",
		"slow-disk", "stopped", "undrained",     [31] = "timing-misfit"};

	_Static_assert(RF_CTL_HEALTH_MISFIT == 1u << 31, "its word");

	return bits(buf, t, COUNT(t), health, "good");
}

void words_add_timing(struct json_object *o, const struct rf_timing *t)
{
	out_int(o, "heartbeat_ms", t->heartbeat_ms);
	out_int(o, "suspect_ms", t->suspect_ms);
	out_int(o, "lease_ms", t->lease_ms);
	out_int(o, "grace_ms", t->grace_ms);
	out_int(o, "hold_ms", t->hold_ms);
	out_int(o, "isolation_ms", t->isolation_ms);
	out_int(o, "slot_timeout_ms", t->slot_timeout_ms);
	out_int(o, "inflight_ms", t->inflight_ms);
	out_int(o, "epsilon_ppm", t->epsilon_ppm);
}

static int64_t up_to_ms(uint64_t ns)
{
	return (int64_t)((ns + RF_MS_NS - 1) / RF_MS_NS);
}

void words_add_failover(struct json_object *o, const struct rf_timing *t, uint32_t r_us,
			uint32_t rtt_us)
{
	out_int(o, "failover_expiry_ms",
		up_to_ms(rf_timing_failover_expiry_ns(t, r_us, rtt_us)));
	out_int(o, "failover_target_ms",
		up_to_ms(rf_timing_failover_target_ns(t, r_us, rtt_us)));
}

void words_add_inequalities(struct json_object *o, const struct rf_timing *t, uint32_t r_us)
{
	struct json_object *a = out_array(o, "inequalities");
	char text[INEQUALITY_BYTES];

	for (int rule = RF_TIMING_ZERO; rule <= RF_TIMING_EPSILON; rule++) {
		struct json_object *row = out_row(a);

		inequality_text(text, rule, t, r_us);
		out_text(row, "rule", rf_timing_words(rule));
		out_text(row, "values", text);
		out_bool(row, "holds", inequality_holds(rule, t, r_us));
	}
}

void words_add_bits(struct json_object *o, const char *key, const uint8_t *map, uint32_t count,
		    uint32_t first)
{
	struct json_object *a = out_array(o, key);
	uint32_t i;

	for (i = 0; i < count; i++)
		if (rf_bit_get(map, i))
			json_object_array_add(a, json_object_new_int64(i + first));
}
