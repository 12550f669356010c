/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clocks. Leases and limits count on the boot clock, which runs on while the host
 * sleeps and is never set; the wall clock is for people only. Nanoseconds.
 */
#ifndef RF_CLOCK_H
#define RF_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t rf_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t rf_boot_ns(void)
{
	return rf_clock_ns(CLOCK_BOOTTIME);
}

static inline long long rf_boot_ms(void)
{
	return (long long)(rf_boot_ns() / 1000000u);
}

static inline uint64_t rf_unix_ns(void)
{
	return rf_clock_ns(CLOCK_REALTIME);
}

#endif
