/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the core wants to be woken: the soonest of all times that lie ahead. One that
 * concerns a role no longer held does no harm: a tick too many changes nothing.
 */
#include "state.h"

static void sooner(const struct rf_core *c, uint64_t *at, uint64_t when)
{
	if (when > c->now && when < *at)
		*at = when;
}

static void wake_volume(const struct rf_core *c, const struct volume *v, uint64_t *at)
{
	const struct campaign *a = &v->campaign;
	const uint64_t times[] = {/* a follower, a candidate */
				  v->seen_ns + c->suspect_ns, v->holdoff_ns, a->at_ns,
				  a->until_ns, a->until_ns + c->suspect_ns,
				  /* excluding, loading, opening */
				  v->read_retry_ns, v->exclude.poll_ns,
				  v->exclude.evict_retry_ns, v->mark_ns + 2 * c->lease_ns,
				  /* leading, closing */
				  v->lease.deadline_ns, v->lease.deadline_ns + c->hold_ns,
				  v->closing.retry_ns, v->closing.since_ns + c->grace_ns};

	for (uint32_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		sooner(c, at, times[i]);
	if (v->role == RF_ROLE_EXCLUDING)
		rf_each_other (c, j)
			sooner(c, at, v->exclusion[j].until_ns);
}

static uint64_t wake_joining(const struct rf_core *c)
{
	const struct join *j = &c->join;
	uint64_t at = UINT64_MAX;

	sooner(c, &at, j->retry_ns);
	sooner(c, &at, j->look_ns);
	sooner(c, &at, j->until_ns);
	return at == UINT64_MAX ? c->now + RF_MS_NS : at;
}

uint64_t rf_core_wake_ns(const struct rf_core *c)
{
	uint64_t at = c->beat_ns;

	if (c->halted)
		return UINT64_MAX;
	if (c->join.stage != JOIN_DONE)
		return wake_joining(c);
	rf_each_volume (c, v)
		wake_volume(c, v, &at);
	return at;
}
