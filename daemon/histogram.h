/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram of times, with the bounds that all of them share. */
#ifndef RF_HISTOGRAM_H
#define RF_HISTOGRAM_H

#include <stdint.h>

#include "ringfence/metrics.h"

struct rf_histogram {
	uint64_t bucket[RF_METRIC_BOUNDS + 1]; /* not summed up; the last is above all bounds */
	uint64_t sum_ns;
};

static inline void rf_histogram_add(struct rf_histogram *h, uint64_t ns)
{
	static const uint64_t bounds_us[] = {RF_METRIC_BOUNDS_US};
	unsigned i = 0;

	_Static_assert(sizeof(bounds_us) / sizeof(*bounds_us) == RF_METRIC_BOUNDS, "bounds");
	while (i < RF_METRIC_BOUNDS && ns > bounds_us[i] * 1000)
		i++;
	h->bucket[i]++;
	h->sum_ns += ns;
}

#endif
