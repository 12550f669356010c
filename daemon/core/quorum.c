/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quorum arithmetic: pure and three-valued. */
#include "state.h"

uint32_t rf_count(uint8_t disks)
{
	return rf_map_count(&disks, 8);
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
	uint32_t lost = rf_count(failed & (uint8_t)~done);

	rf_assert((done | failed) >> c->disks == 0);
	if (rf_most(c, done))
		return RF_WON;
	return lost + rf_majority(c->disks) > c->disks ? RF_LOST : RF_PENDING;
}
