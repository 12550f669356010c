/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timings: profiles, inequalities and bounds (the story is in timing.h). */
#include "timing.h"

#include "assert.h"

#define VALUE_MS_MAX 3600000u   /* an hour: larger is a mistake, not a wish */
#define EPSILON_PPM_MAX 100000u /* 10 % */
#define PPM 1000000u
#define US_NS 1000u

/* In the order of struct rf_timing: heartbeat, suspect, lease, grace, hold, isolation,
 * slot timeout, in-flight (ms), drift (ppm). */
static const struct {
	const char *name;
	struct rf_timing timing;
} profiles[] = {
	[RF_PROFILE_FAST] = {"fast", {100, 350, 1000, 200, 500, 700, 1000, 2000, 10000}},
	[RF_PROFILE_SAN] = {"san", {1000, 3500, 10000, 2000, 5000, 7000, 8000, 30000, 10000}},
	[RF_PROFILE_MULTIPATH] = {"multipath",
				  {2000, 20000, 60000, 10000, 30000, 40000, 16000, 120000,
				   10000}},
};

static const char *const words[] = {
	[RF_TIMING_OK] = "all hold",
	[RF_TIMING_ZERO] = "every value is above zero and at most one hour",
	[RF_TIMING_LEASE] = "lease >= 3 * heartbeat + 2 * worst measured disk round trip",
	[RF_TIMING_SUSPECT] = "suspect >= 2 * heartbeat",
	[RF_TIMING_PATIENCE] = "suspect <= lease",
	[RF_TIMING_ISOLATION] = "isolation >= suspect",
	[RF_TIMING_HOLD] = "hold <= lease",
	[RF_TIMING_SLOT] = "slot timeout >= 2 * heartbeat",
	[RF_TIMING_INFLIGHT] = "in-flight >= lease",
	[RF_TIMING_EPSILON] = "drift <= 10 %",
};

/* strcmp() would be the core's first need of a C library beyond mem*(). */
static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool rf_timing_profile(const char *name, struct rf_timing *out)
{
	for (uint32_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (!same_text(name, profiles[i].name))
			continue;
		*out = profiles[i].timing;
		rf_assert(rf_timing_check(out, 0) == RF_TIMING_OK);
		return true;
	}
	return false;
}

static bool sane(uint32_t ms)
{
	return ms > 0 && ms <= VALUE_MS_MAX;
}

static bool all_sane(const struct rf_timing *t)
{
	return sane(t->heartbeat_ms) && sane(t->suspect_ms) && sane(t->lease_ms) &&
	       sane(t->grace_ms) && sane(t->hold_ms) && sane(t->isolation_ms) &&
	       sane(t->slot_timeout_ms) && sane(t->inflight_ms) && t->epsilon_ppm > 0;
}

static uint64_t lease_min_us(const struct rf_timing *t, uint32_t worst_r_us)
{
	return 3000ull * t->heartbeat_ms + 2ull * worst_r_us;
}

enum rf_timing_rule rf_timing_check(const struct rf_timing *t, uint32_t worst_r_us)
{
	const bool broken[] = {
		[RF_TIMING_ZERO] = !all_sane(t),
		[RF_TIMING_LEASE] =
			1000ull *
			t->lease_ms<lease_min_us(t, worst_r_us),
				    [RF_TIMING_SUSPECT] = t->suspect_ms / 2 < t->heartbeat_ms,
				    [RF_TIMING_PATIENCE] = t->suspect_ms>
				t->lease_ms,
		[RF_TIMING_ISOLATION] =
			t->isolation_ms<t->suspect_ms, [RF_TIMING_HOLD] = t->hold_ms> t
				->lease_ms,
		[RF_TIMING_SLOT] = t->slot_timeout_ms / 2 < t->heartbeat_ms,
		[RF_TIMING_INFLIGHT] =
			t->inflight_ms<t->lease_ms, [RF_TIMING_EPSILON] = t->epsilon_ppm>
				EPSILON_PPM_MAX,
	};

	for (uint32_t r = RF_TIMING_ZERO; r <= RF_TIMING_EPSILON; r++)
		if (broken[r])
			return (enum rf_timing_rule)r;
	return RF_TIMING_OK;
}

const char *rf_timing_words(enum rf_timing_rule rule)
{
	rf_assert((uint32_t)rule < sizeof(words) / sizeof(words[0]));
	return words[rule];
}

/* §7.3: L·(1+epsilon) + G. A lease in ms times ppm, rounded up to a nanosecond:
 * 1 ms is PPM ns, so the drift of one millisecond is epsilon_ppm nanoseconds. */
uint64_t rf_timing_expiry_ns(const struct rf_timing *t)
{
	_Static_assert(RF_MS_NS == PPM, "a ppm of a millisecond is a nanosecond");
	rf_assert(t->lease_ms <= VALUE_MS_MAX && t->grace_ms <= VALUE_MS_MAX);
	rf_assert(t->epsilon_ppm <= EPSILON_PPM_MAX);
	return RF_MS_NS * ((uint64_t)t->lease_ms + t->grace_ms) +
	       (uint64_t)t->lease_ms * t->epsilon_ppm;
}

/* §9: C = 2 network round trips, 4 of the disk, and one back-off: at most a
 * heartbeat when nobody else campaigns. */
static uint64_t campaign_ns(const struct rf_timing *t, uint32_t r_us, uint32_t rtt_us)
{
	return US_NS * (2ull * rtt_us + 4ull * r_us) + RF_MS_NS * t->heartbeat_ms;
}

uint64_t rf_timing_failover_expiry_ns(const struct rf_timing *t, uint32_t r_us, uint32_t rtt_us)
{
	uint64_t elected = RF_MS_NS * t->suspect_ms + campaign_ns(t, r_us, rtt_us);
	uint64_t expired = rf_timing_expiry_ns(t) + RF_MS_NS * t->heartbeat_ms;

	return (elected > expired ? elected : expired) + US_NS * (uint64_t)r_us;
}

/* One preempt is counted as one round trip of the disk. */
uint64_t rf_timing_failover_target_ns(const struct rf_timing *t, uint32_t r_us, uint32_t rtt_us)
{
	return RF_MS_NS * ((uint64_t)t->suspect_ms + t->heartbeat_ms) +
	       campaign_ns(t, r_us, rtt_us) + US_NS * (uint64_t)r_us;
}
