/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what was measured to timings that fit. The heartbeat follows from the disk: four
 * round trips and two of the network pass in one; everything else is a multiple of the
 * heartbeat, in the proportions of the profiles.
 */
#include "proposal.h"

#define LEAST_MS 100u
#define STEP_MS 50u
#define MOST_MS 360000u /* a lease of ten heartbeats is an hour at most */

uint32_t proposal_r_us(uint32_t worst_us)
{
	return worst_us > UINT32_MAX / PROPOSAL_HEADROOM ? UINT32_MAX
							 : worst_us * PROPOSAL_HEADROOM;
}

static uint32_t heartbeat_ms(uint32_t r_us, uint32_t rtt_us)
{
	uint64_t us = 4ull * r_us + 2ull * rtt_us;
	uint64_t steps = (us + STEP_MS * 1000 - 1) / (STEP_MS * 1000);
	uint64_t ms = steps * STEP_MS;

	return ms < LEAST_MS ? LEAST_MS : ms > MOST_MS ? MOST_MS : (uint32_t)ms;
}

bool proposal_make(struct rf_timing *to, const struct rf_timing *now, uint32_t r_us,
		   uint32_t rtt_us)
{
	uint32_t hb = heartbeat_ms(r_us, rtt_us), lease = 10 * hb;

	*to = (struct rf_timing){.heartbeat_ms = hb,
				 .suspect_ms = hb * 7 / 2,
				 .lease_ms = lease,
				 .grace_ms = now->grace_ms,
				 .hold_ms = 5 * hb,
				 .isolation_ms = 7 * hb,
				 .slot_timeout_ms = 10 * hb,
				 .inflight_ms =
					 now->inflight_ms > lease ? now->inflight_ms : lease,
				 .epsilon_ppm = now->epsilon_ppm};
	return rf_timing_check(to, r_us) == RF_TIMING_OK;
}
