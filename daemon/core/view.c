/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking inside: for status, metrics and tests. Changes nothing. */
#include "state.h"

void rf_core_self(const struct rf_core *c, struct rf_core_self *out)
{
	*out = (struct rf_core_self){
		.joined = c->join.stage == JOIN_DONE,
		.halted = c->halted,
		.paused = c->paused,
		.incarnation = c->incarnation,
		.generation = c->generation,
		.seq = c->seq,
		.health = c->health,
		.disks = c->disks,
		.disks_good = c->disks - rf_count(c->failing),
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
		.epoch = v->epoch,
		.owner = v->owner,
		.owner_incarnation = v->owner_incarnation,
		.has_leader = mine || !rf_leaderless(c, v),
		.suspected = v->suspected,
		.unreadable = v->unreadable || v->own_unreadable,
		.lease_ns = mine ? v->lease.deadline_ns : 0,
		.margin_min_ns = v->lease.margin_min_ns,
		.silent_since_ns = v->seen_ns,
		.since_unix_ns = mine ? v->history.start_unix_ns : 0,
		.cause = mine ? v->history.cause : v->last_cause,
		.excluded_by = mine ? v->exclude.excluded_by : 0,
		.can = v->can,
		.state = v->payload,
		.state_bytes = v->commit.length,
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
