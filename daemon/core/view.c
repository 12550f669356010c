/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking inside: for status, metrics and tests. Changes nothing. */
#include "state.h"

void rf_core_self(const struct rf_core *c, struct rf_core_self *out)
{
	uint32_t good = 0;

	for (uint32_t d = 0; d < c->disks; d++)
		good += !c->disk[d].failing;
	*out = (struct rf_core_self){
		.joined = c->join.stage == JOIN_DONE,
		.halted = c->halted,
		.paused = c->paused,
		.incarnation = c->incarnation,
		.generation = c->generation,
		.seq = c->seq,
		.health = c->health,
		.disks = c->disks,
		.disks_good = good,
		.write_us = c->write_us,
		.read_us = c->read_us,
		.worst_us = c->worst_us,
		.join_until_ns = c->join.stage == JOIN_DONE ? 0 : c->join.until_ns,
		.join_stage = c->join.stage,
	};
}

void rf_core_volume(const struct rf_core *c, uint32_t volume, struct rf_core_volume *out)
{
	const struct volume *v;
	bool mine;

	rf_assert(volume < c->volumes);
	v = &c->volume[volume];
	mine = rf_renewing(v);
	*out = (struct rf_core_volume){
		.role = v->role,
		.epoch = v->my_epoch > v->epoch ? v->my_epoch : v->epoch,
		.owner = v->my_epoch > v->epoch ? c->me : v->owner,
		.owner_incarnation =
			v->my_epoch > v->epoch ? c->incarnation : v->owner_incarnation,
		.has_leader = mine || !rf_leaderless(c, v),
		.suspected = v->suspected,
		.unreadable = v->unreadable || v->own_unreadable,
		.lease_ns = mine ? v->lease.deadline_ns : 0,
		.margin_min_ns = v->lease.margin_min_ns,
		.silent_since_ns = v->seen_ns,
		.since_unix_ns = mine ? v->since_unix_ns : 0,
		.cause = mine ? v->history.cause : v->last_cause,
		.excluded_by = mine ? v->exclude.excluded_by : 0,
		.can = v->can,
	};
}

void rf_core_peer(const struct rf_core *c, uint32_t node, struct rf_core_peer *out)
{
	const struct rf_slot *s = &c->slot_record;
	const struct peer *p;
	bool me;

	rf_assert(node >= 1 && node <= c->nodes);
	p = &c->peer[node];
	me = node == c->me; /* as it says of itself */
	*out = (struct rf_core_peer){
		.state = !me        ? p->state
			 : s->state ? s->state
				    : RF_SLOT_FREE,
		.health = me ? c->health : p->health,
		.priority = me ? c->cfg.priority : p->priority,
		.rtt_us = p->rtt_us,
		.incarnation = me ? c->incarnation : p->incarnation,
		.seq = me ? c->seq : p->seq,
		.net_ns = me ? c->now : p->net_ns,
		.disk_ns = me ? c->now : p->moved_ns,
		.gate_open = me ? s->gate_open : p->gate_open,
		.hears = me ? s->hears : p->hears,
		.host = me ? c->cfg.host : p->host,
	};
}

const char *rf_core_holder(const struct rf_core *c)
{
	return c->peer[c->me].host;
}

/* ---- when to wake: the soonest of all times that lie ahead ---- */

static void sooner(const struct rf_core *c, uint64_t *at, uint64_t when)
{
	if (when > c->now && when < *at)
		*at = when;
}

static void wake_excluding(const struct rf_core *c, const struct volume *v, uint64_t *at)
{
	for (uint32_t j = 1; j <= c->nodes; j++)
		if (j != c->me && !v->exclusion[j].way)
			sooner(c, at, v->exclusion[j].until_ns);
	sooner(c, at, v->read_retry_ns);
	sooner(c, at, v->exclude.poll_ns);
	sooner(c, at, v->exclude.evict_retry_ns);
}

static void wake_volume(const struct rf_core *c, const struct volume *v, uint64_t *at)
{
	const struct closing *k = &v->closing;
	uint64_t suspect = v->seen_ns + c->suspect_ns;

	if (v->role == RF_ROLE_FOLLOWER && v->campaign.at_ns) {
		sooner(c, at, v->campaign.at_ns);
	} else if (v->role == RF_ROLE_FOLLOWER) {
		sooner(c, at, suspect);
		sooner(c, at, v->holdoff_ns < suspect ? v->holdoff_ns : 0);
	} else if (v->role == RF_ROLE_CANDIDATE) {
		sooner(c, at, v->campaign.until_ns);
		sooner(c, at, v->campaign.until_ns + c->suspect_ns);
	} else if (v->role == RF_ROLE_EXCLUDING) {
		wake_excluding(c, v, at);
	} else if (rf_renewing(v) && !v->lease.opened) {
		sooner(c, at, v->mark_ns + 2 * c->lease_ns);
	} else if (rf_renewing(v)) {
		sooner(c, at, v->lease.deadline_ns);
		sooner(c, at, v->lease.deadline_ns + c->hold_ns);
	} else if (v->role == RF_ROLE_CLOSING) {
		sooner(c, at, k->drained || k->revoking ? 0 : k->retry_ns);
		sooner(c, at, k->cancelled || !k->worked ? 0 : k->since_ns + c->grace_ns);
	}
}

static uint64_t wake_joining(const struct rf_core *c)
{
	const struct join *j = &c->join;
	uint64_t at = UINT64_MAX;

	sooner(c, &at, j->stage == JOIN_REVOKE ? j->retry_ns : j->look_ns);
	if (j->stage == JOIN_WATCH || j->stage == JOIN_REVOKE || j->stage == JOIN_SETTLE)
		sooner(c, &at, j->until_ns);
	return at == UINT64_MAX ? c->now + RF_MS_NS : at;
}

uint64_t rf_core_wake_ns(const struct rf_core *c)
{
	uint64_t at = c->beat_ns ? c->beat_ns : 1;

	if (c->halted)
		return UINT64_MAX;
	if (c->join.stage != JOIN_DONE)
		return wake_joining(c);
	for (uint32_t i = 0; i < c->volumes; i++)
		wake_volume(c, &c->volume[i], &at);
	return at;
}
