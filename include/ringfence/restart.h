/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How soon a fencer that died is started again: the daemon's by the daemon, those of a
 * chain by the chain.
 */
#ifndef RINGFENCE_RESTART_H
#define RINGFENCE_RESTART_H

#include <stdint.h>

#define RF_RESTART_MS 500u
#define RF_RESTART_MAX_MS 64000u
#define RF_RESTART_CALM_MS 120000u /* who lived that long begins anew */

/* last_ms: what was waited the last time, 0 = it never died. Doubled each time. */
static inline uint32_t rf_restart_wait_ms(uint32_t last_ms, uint64_t lived_ms)
{
	if (!last_ms || lived_ms > RF_RESTART_CALM_MS)
		return RF_RESTART_MS;
	return last_ms < RF_RESTART_MAX_MS ? 2 * last_ms : RF_RESTART_MAX_MS;
}

#endif
