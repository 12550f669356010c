/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between kernel versions, and nothing else. Names of our own,
 * so that a stable tree that back-ports an API does not clash with it.
 */
#ifndef RF_COMPAT_H
#define RF_COMPAT_H

#include <linux/blk_types.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>

/* hrtimer_init() became hrtimer_setup() in 6.13; the old name went in 6.15. Kbuild looks
 * which of them the headers have: stable trees port such things back.
 */
static inline void rf_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*fn)(struct hrtimer *),
				    clockid_t clock)
{
#ifdef RF_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fn, clock, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, clock, HRTIMER_MODE_ABS);
	timer->function = fn;
#endif
}

/* BLK_STS_NEXUS was renamed in 6.4. */
#ifdef BLK_STS_RESV_CONFLICT
#define RF_STS_CONFLICT BLK_STS_RESV_CONFLICT
#else
#define RF_STS_CONFLICT BLK_STS_NEXUS
#endif

/* Atomic writes pass through dm since 6.15. */
#ifdef DM_TARGET_ATOMIC_WRITES
#define RF_TARGET_ATOMIC_WRITES DM_TARGET_ATOMIC_WRITES
#else
#define RF_TARGET_ATOMIC_WRITES 0
#endif

#endif
