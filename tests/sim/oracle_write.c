/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Oracle 1: writes that reach the medium carry epochs that never go back, and no
 * epoch is ever used by two lives. */
#include "oracle.h"

void oracle_write_landed(struct world *w, uint32_t volume, uint32_t node, uint64_t incarnation,
			 uint64_t epoch)
{
	uint64_t *highest = &w->oracles->landed[volume];

	if (!oracle_judges(w, volume))
		return;
	if (epoch < *highest)
		violate(w, "write",
			"a write of n%u under epoch %llu landed on vol=%u after one of %llu",
			node, (unsigned long long)epoch, volume, (unsigned long long)*highest);
	else
		*highest = epoch;
	oracle_epoch_owned(w, volume, epoch, node, incarnation, "written by");
}

/* A gate whose area was formatted under it: no renewal since, so it ends with its
 * lease, on the slowest clock. */
void oracle_admitted(struct world *w, struct host *h, uint32_t volume)
{
	uint64_t lease = rf_timing_expiry_ns(&w->super.timing);

	if (h->gate[volume].area != w->area && oracle_judges(w, volume) &&
	    !volume_at_target(w, volume) && w->now > w->formatted + lease)
		violate(w, "write", "n%u writes vol=%u for an area that is no more", h->id,
			volume);
}

/* A gate that passes writes of an epoch when a later one is on the medium already. */
void oracle_write_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch)
{
	if (epoch < w->oracles->landed[volume] && oracle_judges(w, volume) &&
	    !volume_at_target(w, volume) && gate_admits(w, h, volume))
		violate(w, "write", "vol=%u: gate of n%u opens for epoch %llu after %llu",
			volume, h->id, (unsigned long long)epoch,
			(unsigned long long)w->oracles->landed[volume]);
}
