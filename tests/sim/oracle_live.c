/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Oracle 5: with disks, network and a majority healthy there is a leader of every
 * volume within the bound of §9, and it stays. Also the manners of §3, §4 and §8
 * that have no other witness: one vote a round, one life a node id, a leader
 * whose lease and hold time are over does not linger.
 */
#include "oracle.h"

/* How long the host waits after it lost a leadership, in suspect times, before any
 * growth: what a gate refuses is tried half as often each time, 2^3 at the most. */
static void count_fruitless(struct world *w, const struct host *h, const struct rf_decision *d)
{
	struct waits *x = &w->oracles->waits[h->index * w->super.volumes + d->volume];
	uint64_t suspect = w->super.timing.suspect_ms * RF_MS_NS;
	uint32_t base = d->a == RF_CAUSE_RECONCILE ? 10 : d->a == RF_CAUSE_GATE ? 2 : 4;

	if (d->code == RF_SAY_ACTIVE) {
		x->fruitless = 0;
		return;
	}
	x->extra_until = x->fruitless ? w->now + (base * suspect << x->fruitless) : 0;
	x->fruitless += d->a == RF_CAUSE_GATE && x->fruitless < 3;
}

static uint64_t held_off(const struct world *w)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < w->hosts * w->super.volumes; i++) {
		const struct waits *x = &w->oracles->waits[i];

		if (x->extra_until > w->now && x->extra_until - w->now > longest)
			longest = x->extra_until - w->now;
	}
	return longest;
}

/* What faults left behind delays the first campaign: a join that watches its slot
 * and drains old gates, a vote round, the hold-off of one that left by itself. */
uint64_t oracle_live_bound(const struct world *w)
{
	const struct rf_timing *t = &w->super.timing;
	uint32_t r_us = (uint32_t)(w->atlas.io_ns / 1000) + 1000;
	uint32_t rtt_us = (uint32_t)(w->atlas.net_ns / 500) + 1;
	uint64_t wait = rf_timing_expiry_ns(t), ms = RF_MS_NS;

	if (t->inflight_ms * ms > wait)
		wait = t->inflight_ms * ms;
	if (t->slot_timeout_ms * ms > wait)
		wait = t->slot_timeout_ms * ms;
	return held_off(w) + wait +
	       (t->lease_ms + t->grace_ms) * ms + /* §3: watch, then drain */
	       t->slot_timeout_ms * ms +          /* §4: silent slots stop counting */
	       (10ull * t->suspect_ms + 6ull * t->heartbeat_ms) * ms + /* hold-off, settling */
	       3 * rf_timing_failover_expiry_ns(t, r_us, rtt_us);
}

/* ---- manners ---- */

static uint64_t beats(const struct world *w, uint32_t n)
{
	return (uint64_t)n * w->super.timing.heartbeat_ms * RF_MS_NS;
}

void oracle_live_sent(struct world *w, struct host *h, const struct rf_effect *e)
{
	struct vote_seen *v;
	struct rf_msg m;

	if (e->send.len == 0 || e->send.data[0] != RF_WIRE_VOTE ||
	    rf_msg_decode(e->send.data, e->send.len, w->super.id.nodes, w->super.volumes, &m) ||
	    !m.vote.granted)
		return;
	v = &w->oracles->vote[h->index * w->oracles->volumes + m.vote.volume];
	if (v->candidate && v->life == h->life && v->candidate != m.vote.candidate &&
	    m.vote.epoch <= v->epoch && w->now - v->at < beats(w, 1))
		violate_rule(w, "live", "n%u votes for n%u and n%u in one round, epoch %llu",
			     h->id, v->candidate, m.vote.candidate,
			     (unsigned long long)m.vote.epoch);
	*v = (struct vote_seen){.epoch = m.vote.epoch,
				.at = w->now,
				.candidate = m.vote.candidate,
				.life = h->life};
}

static const struct host *twin(const struct world *w, const struct host *h)
{
	for (uint32_t i = 0; i < w->hosts; i++) {
		const struct host *other = &w->host[i];

		if (other != h && other->id == h->id && other->alive && other->joined)
			return other;
	}
	return NULL;
}

void oracle_live_said(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct host *other;

	if (d->code == RF_SAY_JOINED) {
		other = twin(w, h);
		/* one that stood still meanwhile may be taken for dead */
		if (other && w->oracles->paused[other->index] < h->born)
			violate(w, "live", "n%u joins on host %u while it lives on host %u",
				h->id, h->index, other->index);
	}
	if (d->code == RF_SAY_LOSING || d->code == RF_SAY_ACTIVE)
		count_fruitless(w, h, d);
	if (d->code == RF_SAY_LOSING && w->phase == PHASE_STEADY)
		violate(w, "live", "n%u loses epoch %llu of vol=%u in peace", h->id,
			(unsigned long long)d->epoch, d->volume);
}

/* ---- looking around ---- */

static void audit_twins(struct world *w, struct host *h)
{
	uint64_t *since = &w->oracles->twice_since[h->index];

	const struct host *other = twin(w, h);

	if (!h->alive || !h->joined || !other || h->paused_until || other->paused_until) {
		*since = 0;
		return;
	}
	if (!*since)
		*since = w->now;
	if (w->now - *since > beats(w, 6))
		violate(w, "live", "two lives of n%u go on", h->id);
}

static void audit_lease(struct world *w, struct host *h)
{
	uint64_t hold = w->super.timing.hold_ms * RF_MS_NS + beats(w, 2);
	struct rf_core_volume v;

	if (h->paused_until)
		w->oracles->resumed[h->index] = w->now;
	if (!h->alive || w->now - w->oracles->resumed[h->index] < beats(w, 2))
		return;
	for (uint32_t i = 0; i < w->super.volumes; i++) {
		rf_core_volume(rf_node_core(h->node), i, &v);
		if (v.role == RF_ROLE_ACTIVE && v.lease_ns + hold < host_clock(w, h))
			violate(w, "live", "n%u still leads vol=%u, its lease ended long ago",
				h->id, i);
	}
}

/* It leads; is it the last? Then 0. */
static uint64_t outlived_by(struct world *w, const struct host *h, uint32_t volume)
{
	const struct host *last = host_leader(w, volume);
	struct rf_core_volume mine, its;

	if (!last || last == h || h->paused_until || !host_leads(w, h, volume))
		return 0;
	rf_core_volume(rf_node_core(h->node), volume, &mine);
	rf_core_volume(rf_node_core(last->node), volume, &its);
	return its.epoch > mine.epoch ? its.epoch : 0;
}

/* Two leaders: the older one learns of it, or its lease and the hold end (§8). */
static void audit_outlived(struct world *w, struct host *h)
{
	const struct rf_timing *t = &w->super.timing;
	uint64_t limit = (t->lease_ms + t->hold_ms) * RF_MS_NS + beats(w, 4);

	for (uint32_t v = 0; v < w->super.volumes; v++) {
		uint64_t *since = &w->oracles->outlived[h->index * w->super.volumes + v];
		uint64_t by = outlived_by(w, h, v);

		if (!by)
			*since = 0;
		else if (!*since)
			*since = w->now;
		else if (w->now - *since > limit)
			violate(w, "live",
				"n%u still leads vol=%u, epoch %llu is led elsewhere", h->id, v,
				(unsigned long long)by);
	}
}

/* ---- the quiet phase ---- */

/* What faults began may still end a leadership that they found: a lease that ran
 * out, an isolation that was noticed, an order in the mailbox. */
static uint64_t aftermath(const struct world *w)
{
	const struct rf_timing *t = &w->super.timing;

	return (t->lease_ms + t->hold_ms + t->isolation_ms) * RF_MS_NS + beats(w, 4);
}

/* Every volume has a leader; since when has it been the same one? */
static bool all_lead(struct world *w)
{
	struct oracles *o = w->oracles;
	bool all = true;

	for (uint32_t v = 0; v < w->super.volumes; v++) {
		const struct host *h = host_leader(w, v);
		struct rf_core_volume view = {0};

		if (h)
			rf_core_volume(rf_node_core(h->node), v, &view);
		else
			all = false;
		if (o->leader[v] != (h ? h->index + 1 : 0) || o->leader_epoch[v] != view.epoch)
			o->stable_since = w->now;
		o->leader[v] = h ? h->index + 1 : 0;
		o->leader_epoch[v] = view.epoch;
	}
	return all;
}

static struct host *idle_host(struct world *w)
{
	for (uint32_t n = 0; n < w->hosts; n++) {
		struct host *h = &w->host[(n + w->seed) % w->hosts];
		bool leads = false;

		for (uint32_t v = 0; v < w->super.volumes; v++)
			leads |= host_leader(w, v) == h;
		if (h->alive && h->joined && !leads)
			return h;
	}
	return NULL;
}

/* Nobody can read what the leaders' slots say; the others still hear them. */
static void hide_leaders(struct world *w)
{
	for (uint32_t v = 0; v < w->super.volumes; v++) {
		const struct host *h = host_leader(w, v);
		uint64_t stride = rf_geo_slot(&w->super, h->id) / w->super.id.stride_bytes;

		for (uint32_t d = 0; d < w->super.disk_count; d++)
			w->disk[d].bad[stride] = 3;
	}
}

/* §4: a steady leader is never displaced by a node that merely fails to hear it. */
static void disturb(struct world *w)
{
	struct host *h = w->atlas.follower_cut ? idle_host(w) : NULL;
	uint32_t how = (uint32_t)(w->seed % 4);

	if (!h)
		return;
	if (how == 0) {
		host_pause(w, h, 3ull * w->super.timing.suspect_ms * RF_MS_NS, false);
		return;
	}
	for (uint32_t i = 0; i < w->hosts; i++) {
		if (i == h->index)
			continue;
		net_cut(w, i, h->index, true);
		if (how == 1)
			net_cut(w, h->index, i, true);
	}
	if (how == 3 && w->super.volumes == 1 && w->atlas.nodes - w->atlas.absent > 2)
		hide_leaders(w);
}

static void steady_begin(struct world *w)
{
	uint64_t least = 12ull * w->super.timing.suspect_ms * RF_MS_NS;

	w->phase = PHASE_STEADY;
	trace(w, "every volume has a leader");
	if (w->steady_end < w->now + least)
		w->steady_end = w->now + least;
	disturb(w);
}

/* §6: whoever owns the highest decided epoch has announced it where all can read. */
static void check_sector(struct world *w, uint32_t volume)
{
	uint32_t named = 0;
	struct rf_epoch e;

	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		const uint8_t *cell = disk_cell(w, d, rf_geo_region(&w->super, volume));

		named += rf_epoch_decode(cell, &w->super.id, volume, &e) == RF_RECORD_OK &&
			 e.epoch == w->oracles->leader_epoch[volume];
	}
	if (2 * named <= w->super.disk_count)
		violate(w, "live",
			"epoch sector of vol=%u names the leader's epoch %llu on %u of %u "
			"disks",
			volume, (unsigned long long)w->oracles->leader_epoch[volume], named,
			w->super.disk_count);
}

/* Nobody has claimed an epoch and cannot use it. */
static void check_claims(struct world *w, uint32_t volume)
{
	struct rf_core_volume v;

	for (uint32_t i = 0; i < w->hosts; i++) {
		const struct host *h = &w->host[i];

		if (!h->alive || h == host_leader(w, volume))
			continue;
		rf_core_volume(rf_node_core(h->node), volume, &v);
		if (v.role >= RF_ROLE_CLAIMING && v.role <= RF_ROLE_CLOSING)
			violate(w, "live", "n%u claims epoch %llu of vol=%u, in peace", h->id,
				(unsigned long long)v.epoch, volume);
	}
}

static void audit_steady(struct world *w)
{
	for (uint32_t v = 0; v < w->super.volumes; v++) {
		const struct host *h = host_leader(w, v);
		struct rf_core_volume view;

		if (!h || h->index + 1 != w->oracles->leader[v]) {
			violate(w, "live", "vol=%u changed its leader in peace", v);
			return;
		}
		rf_core_volume(rf_node_core(h->node), v, &view);
		if (view.epoch != w->oracles->leader_epoch[v])
			violate(w, "live", "vol=%u changed its epoch in peace", v);
		if (w->now >= w->steady_end) {
			check_sector(w, v);
			check_claims(w, v);
		}
	}
	if (w->now >= w->steady_end)
		w->phase = PHASE_OVER;
}

/* Nobody is still on its way in: it would not know the leaders' lives yet. */
static bool all_settled(const struct world *w)
{
	for (uint32_t i = 0; i < w->hosts; i++) {
		const struct host *h = &w->host[i];

		if (h->alive && (!h->joined || w->now - h->joined_at < beats(w, 3)))
			return false;
	}
	return true;
}

static void audit_find(struct world *w)
{
	bool all = all_lead(w) && all_settled(w);
	uint64_t since = w->oracles->stable_since;

	if (since < w->fault_end)
		since = w->fault_end;
	if (all && w->now - since >= aftermath(w))
		steady_begin(w);
	else if (since > w->find_by || (!all && w->now > w->find_by))
		violate(w, "live", "no leader of every volume within %llu ms of the last fault",
			(unsigned long long)((w->find_by - w->fault_end) / RF_MS_NS));
}

void oracle_live_audit(struct world *w)
{
	for (uint32_t i = 0; i < w->hosts; i++) {
		audit_twins(w, &w->host[i]);
		audit_lease(w, &w->host[i]);
		audit_outlived(w, &w->host[i]);
	}
	if (w->phase == PHASE_FIND)
		audit_find(w);
	else if (w->phase == PHASE_STEADY)
		audit_steady(w);
}
