/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quorum arithmetic: pure, three-valued, defined for empty sets. */
#include "state.h"

uint32_t rf_count(uint8_t disks)
{
	uint32_t n = 0;

	for (; disks; disks &= (uint8_t)(disks - 1))
		n++;
	return n;
}

uint32_t rf_map_count(const uint8_t *map, uint32_t bits)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bits; i++)
		n += rf_bit_get(map, i);
	return n;
}

/* An empty set has no majority: it is lost, never won by default. */
enum rf_verdict rf_quorum(uint32_t n, uint32_t yes, uint32_t no)
{
	rf_assert(yes + no <= n);
	if (n && yes >= rf_majority(n))
		return RF_WON;
	return no > n - rf_majority(n) || !n ? RF_LOST : RF_PENDING;
}

/* Zero when no majority has anything. */
uint64_t rf_majority_reaches(const uint64_t *of, uint32_t n)
{
	uint64_t best = 0;

	for (uint32_t d = 0; d < n; d++) {
		uint32_t reached = 0;

		for (uint32_t k = 0; k < n; k++)
			reached += of[k] >= of[d];
		if (of[d] > best && reached >= rf_majority(n))
			best = of[d];
	}
	return best;
}

bool rf_most(const struct rf_core *c, uint8_t disks)
{
	rf_assert(disks >> c->disks == 0);
	return rf_count(disks) >= rf_majority(c->disks);
}

enum rf_verdict rf_disks_verdict(const struct rf_core *c, uint8_t done, uint8_t failed)
{
	rf_assert((done | failed) >> c->disks == 0);
	return rf_quorum(c->disks, rf_count(done), rf_count(failed & (uint8_t)~done));
}
