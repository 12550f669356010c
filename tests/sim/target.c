/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enforcement at the storage (§8b): an epoch is admitted after the target itself
 * has found it decided in the claim region; the switch waits for the writes that
 * it has let in. Writes of older epochs are refused, however late they come.
 */
#include "oracle.h"
#include "sim.h"

bool volume_at_target(const struct world *w, uint32_t volume)
{
	return w->atlas.fence[volume] == FENCE_TARGET;
}

/* ---- judging ---- */

static enum rf_claim_verdict judge_disk(struct world *w, uint32_t disk, uint32_t volume,
					uint32_t node, const struct target_wait *t)
{
	uint64_t first = rf_geo_region(&w->super, volume) / w->super.id.stride_bytes;

	for (uint32_t i = 0; i <= w->super.id.nodes; i++)
		if (w->disk[disk].bad[first + i])
			return RF_CLAIM_UNREADABLE;
	disk_copy_region(w, disk, volume);
	return rf_claim_check(w->scratch, &w->super.id, volume, t->epoch, node, t->incarnation,
			      NULL);
}

/* claim.h: superseded on any disk shuts; opening needs owned on one, and owned or
 * other on a majority. */
static uint32_t judge(struct world *w, uint32_t volume, uint32_t node,
		      const struct target_wait *t)
{
	uint32_t owned = 0, other = 0;

	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		if (w->disk[d].path.lost_until > w->now)
			continue;
		switch (judge_disk(w, d, volume, node, t)) {
		case RF_CLAIM_SUPERSEDED:
		case RF_CLAIM_RELEASED:
			return RF_FENCE_STALE;
		case RF_CLAIM_OWNED:
			owned++;
			break;
		case RF_CLAIM_OTHER:
			other++;
			break;
		case RF_CLAIM_UNREADABLE:
			break;
		}
	}
	return owned && 2 * (owned + other) > w->super.disk_count ? RF_FENCE_OK
								  : RF_FENCE_FAILED;
}

/* ---- switching ---- */

static void complete(struct world *w, uint32_t volume, const struct target_wait *t)
{
	struct target *target = &w->target[volume];
	struct host *h = &w->host[t->host];
	struct fence_request r = {.verb = t->verb,
				  .life = t->life,
				  .area = w->area,
				  .epoch = t->epoch,
				  .incarnation = t->incarnation};
	uint32_t result = RF_FENCE_OK;

	if (t->epoch < target->epoch)
		result = RF_FENCE_STALE;
	if (t->epoch > target->epoch) {
		target->epoch = t->epoch;
		target->incarnation = t->incarnation;
		target->node = h->id;
	}
	if (result == RF_FENCE_OK && t->verb == RF_FENCE_GRANT)
		result = gate_adopt(w, h, volume, &r);
	if (result == RF_FENCE_OK && t->verb == RF_FENCE_GRANT)
		oracle_granted(w, h, volume, t->epoch, t->incarnation);
	fence_answer(w, h, t->life, volume, t->verb, t->epoch, result);
}

static void settle(struct world *w, uint32_t volume)
{
	struct target *t = &w->target[volume];
	uint32_t n = t->waits;

	if (t->in_flight)
		return;
	t->waits = 0;
	for (uint32_t i = 0; i < n; i++)
		complete(w, volume, &t->wait[i]);
}

void target_serve(struct world *w, struct host *h, uint32_t volume,
		  const struct fence_request *r)
{
	struct target *t = &w->target[volume];
	const struct target_wait wait = {.host = h->index,
					 .life = r->life,
					 .verb = r->verb,
					 .epoch = r->epoch,
					 .incarnation = r->incarnation};
	uint32_t result;

	if (r->area != w->area || r->epoch < t->epoch) {
		fence_answer(w, h, r->life, volume, r->verb, r->epoch, RF_FENCE_STALE);
		return;
	}
	if (r->epoch == t->epoch) {
		complete(w, volume, &wait);
		return;
	}
	result = judge(w, volume, h->id, &wait);
	if (result != RF_FENCE_OK || t->waits == 16) {
		fence_answer(w, h, r->life, volume, r->verb, r->epoch,
			     result ? result : RF_FENCE_FAILED);
		return;
	}
	t->wait[t->waits++] = wait;
	settle(w, volume);
}

/* ---- writes ---- */

void target_arrive(struct world *w, const struct happening *e)
{
	uint32_t volume = e->a & 0xffff;
	struct target *t = &w->target[volume];
	struct host *h = &w->host[e->host];

	if ((e->a >> 17 & 7) != (w->area & 7) || t->epoch != e->b || t->waits ||
	    h->gate[volume].connection != e->c) {
		w->tally.refused++;
		return;
	}
	t->in_flight++;
	after(w, w->now + rng_scale(&w->rng, 1000, 20 * RF_MS_NS), EV_LAND, h->index, e->a,
	      t->epoch, t->incarnation);
}

/* It is started anew, for the new area. What it had let in lands. */
void target_formatted(struct world *w)
{
	for (uint32_t v = 0; v < w->super.volumes; v++) {
		struct target *t = &w->target[v];

		*t = (struct target){.in_flight = t->in_flight};
	}
}

/* Whatever waits for an empty target. */
void target_idle(struct world *w, uint32_t volume)
{
	if (w->target[volume].in_flight)
		return;
	settle(w, volume);
	for (uint32_t i = 0; i < w->hosts; i++)
		gate_drained(w, &w->host[i], volume);
}

void target_landed(struct world *w, uint32_t volume)
{
	w->target[volume].in_flight--;
	target_idle(w, volume);
}
