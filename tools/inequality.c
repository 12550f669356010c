/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inequalities of PROTOCOL §9 with numbers. */
#include <stdio.h>

#include "inequality.h"

static double r_ms(uint32_t r_us)
{
	return (double)r_us / 1000;
}

static double lease_floor_ms(const struct rf_timing *t, uint32_t r_us)
{
	return 3.0 * t->heartbeat_ms + 2 * r_ms(r_us);
}

static void values(char text[INEQUALITY_BYTES], const struct rf_timing *t)
{
	snprintf(text, INEQUALITY_BYTES,
		 "heartbeat %u, suspect %u, lease %u, grace %u, hold %u, isolation %u, slot "
		 "timeout %u, in-flight %u ms: each above 0, at most 1 h",
		 t->heartbeat_ms, t->suspect_ms, t->lease_ms, t->grace_ms, t->hold_ms,
		 t->isolation_ms, t->slot_timeout_ms, t->inflight_ms);
}

static void two(char text[INEQUALITY_BYTES], const char *left, uint32_t a, const char *op,
		const char *right, uint32_t b)
{
	snprintf(text, INEQUALITY_BYTES, "%s %u ms %s %s %u ms", left, a, op, right, b);
}

void inequality_text(char text[INEQUALITY_BYTES], enum rf_timing_rule rule,
		     const struct rf_timing *t, uint32_t r_us)
{
	switch (rule) {
	case RF_TIMING_OK:
	case RF_TIMING_ZERO:
		values(text, t);
		break;
	case RF_TIMING_LEASE:
		snprintf(text, INEQUALITY_BYTES,
			 "lease %u ms >= 3 * heartbeat %u ms + 2 * R %.3f ms = %.3f ms",
			 t->lease_ms, t->heartbeat_ms, r_ms(r_us), lease_floor_ms(t, r_us));
		break;
	case RF_TIMING_SUSPECT:
		two(text, "suspect", t->suspect_ms, ">= 2 *", "heartbeat", t->heartbeat_ms);
		break;
	case RF_TIMING_PATIENCE:
		two(text, "suspect", t->suspect_ms, "<=", "lease", t->lease_ms);
		break;
	case RF_TIMING_ISOLATION:
		two(text, "isolation", t->isolation_ms, ">=", "suspect", t->suspect_ms);
		break;
	case RF_TIMING_HOLD:
		two(text, "hold", t->hold_ms, "<=", "lease", t->lease_ms);
		break;
	case RF_TIMING_SLOT:
		two(text, "slot timeout", t->slot_timeout_ms, ">= 2 *", "heartbeat",
		    t->heartbeat_ms);
		break;
	case RF_TIMING_INFLIGHT:
		two(text, "in-flight", t->inflight_ms, ">=", "lease", t->lease_ms);
		break;
	case RF_TIMING_EPSILON:
		snprintf(text, INEQUALITY_BYTES, "drift %.4g %% <= 10 %%",
			 (double)t->epsilon_ppm / 10000);
		break;
	}
}

bool inequality_holds(enum rf_timing_rule rule, const struct rf_timing *t, uint32_t r_us)
{
	switch (rule) {
	case RF_TIMING_OK:
		return true;
	case RF_TIMING_ZERO:
		return rf_timing_check(t, r_us) != RF_TIMING_ZERO;
	case RF_TIMING_LEASE:
		return (double)t->lease_ms >= lease_floor_ms(t, r_us);
	case RF_TIMING_SUSPECT:
		return t->suspect_ms >= 2ull * t->heartbeat_ms;
	case RF_TIMING_PATIENCE:
		return t->suspect_ms <= t->lease_ms;
	case RF_TIMING_ISOLATION:
		return t->isolation_ms >= t->suspect_ms;
	case RF_TIMING_HOLD:
		return t->hold_ms <= t->lease_ms;
	case RF_TIMING_SLOT:
		return t->slot_timeout_ms >= 2ull * t->heartbeat_ms;
	case RF_TIMING_INFLIGHT:
		return t->inflight_ms >= t->lease_ms;
	case RF_TIMING_EPSILON:
		return t->epsilon_ppm <= 100000;
	}
	return false;
}
