/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timings: which must be how long, and why (PROTOCOL §9).
 *
 * The story, with the fast profile (HB 100, S 350, L 1000, G 200, drift 1 %),
 * leader A, candidate B, host-side gates only, all in milliseconds:
 *
 *      0  A submits its slot write: "gate open, sequence s". Time is taken now.
 *      2  the write is durable; A reads the claim region; nobody newer.
 *      3  A's gate may stay open until 0 + L = 1000. A dies.
 *    100  (no heartbeat) B has read sequence s at some time t_r in 0..100.
 *    350  S has passed since A was last heard or seen: B suspects A.
 *    352  prevotes; 354 phase 1; 356 phase 2: B owns e+1. From here on a
 *         renewal of A, if A lived, would read B's ballot and end A.
 *    358  B's fresh read still shows s. A's gate is shut at t_r + L(1+eps), its
 *         last write is on the medium or dead G later: 100 + 1010 + 200 = 1310.
 *   1310  B opens. With a target-side fence B would have opened at about 360.
 *
 * So each inequality below keeps one sentence of that story true:
 *
 *   L >= 3*HB + 2*R   two heartbeats may be lost, a slow disk still renews
 *   S >= 2*HB         one lost heartbeat is not a death
 *   S <= L            nobody needs to wait for a lease before suspecting
 *   isolation >= S    a leader does not give up before it could be suspected
 *   hold <= L         held writes do not outlive the peers' patience
 *   slot timeout >= 2*HB, in-flight >= L, drift <= 10 %, all positive
 */
#ifndef RF_FORMAT_TIMING_H
#define RF_FORMAT_TIMING_H

#include "codec.h"

#define RF_MS_NS 1000000ull

enum rf_profile { RF_PROFILE_FAST, RF_PROFILE_SAN, RF_PROFILE_MULTIPATH };

/* The values of a profile; false if there is no such name. */
bool rf_timing_profile(const char *name, struct rf_timing *out);

/* The first inequality that does not hold, as text with its numbers filled in
 * by rf_timing_explain(); 0 = all hold. worst_r_us: worst measured R, 0 = unknown. */
enum rf_timing_rule {
	RF_TIMING_OK = 0,
	RF_TIMING_ZERO,      /* a value is zero or absurdly large (> 1 hour) */
	RF_TIMING_LEASE,     /* L < 3*HB + 2*R */
	RF_TIMING_SUSPECT,   /* S < 2*HB */
	RF_TIMING_PATIENCE,  /* S > L */
	RF_TIMING_ISOLATION, /* isolation < S */
	RF_TIMING_HOLD,      /* hold > L */
	RF_TIMING_SLOT,      /* slot timeout < 2*HB */
	RF_TIMING_INFLIGHT,  /* in-flight < L */
	RF_TIMING_EPSILON,   /* drift > 10 % */
};
enum rf_timing_rule rf_timing_check(const struct rf_timing *t, uint32_t worst_r_us);
/* The inequality of a rule in words and symbols, a constant. */
const char *rf_timing_words(enum rf_timing_rule rule);

/* §7: how long after first reading a sequence number its lease and grace have
 * passed on any clock that drifts by less than epsilon. Rounded up. */
uint64_t rf_timing_expiry_ns(const struct rf_timing *t);

/* §9: worst failover after a crash, by expiry and with a target-side fence.
 * r_us: one disk round trip, rtt_us: one network round trip. */
uint64_t rf_timing_failover_expiry_ns(const struct rf_timing *t, uint32_t r_us,
				      uint32_t rtt_us);
uint64_t rf_timing_failover_target_ns(const struct rf_timing *t, uint32_t r_us,
				      uint32_t rtt_us);

#endif
