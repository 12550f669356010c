/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes wrong, drawn by the weights of the atlas; and how it all ends. */
#include <string.h>

#include "oracle.h"
#include "sim.h"

void fault_next(struct world *w)
{
	const struct atlas *a = &w->atlas;

	if (a->scripted || !a->fault_every_ns)
		return;
	after(w, w->now + rng_range(&w->rng, 1, 2 * a->fault_every_ns), EV_FAULT, 0, 0, 0, 0);
}

static enum fault draw(struct world *w)
{
	uint64_t sum = 0, at;

	for (uint32_t f = 0; f < F_COUNT; f++)
		sum += w->atlas.weight[f];
	at = rng_below(&w->rng, sum);
	for (uint32_t f = 0; f < F_COUNT && sum; f++) {
		if (at < w->atlas.weight[f])
			return (enum fault)f;
		at -= w->atlas.weight[f];
	}
	return F_COUNT;
}

/* Whom it strikes: often somebody who leads, for there it hurts. */
static struct host *victim(struct world *w, uint32_t volume)
{
	struct host *h = host_leader(w, volume);

	if (h && rng_ppm(&w->rng, w->atlas.leader_ppm))
		return h;
	return &w->host[rng_below(&w->rng, w->hosts)];
}

static uint64_t lasting(struct world *w)
{
	uint64_t lease = w->super.timing.lease_ms * RF_MS_NS;

	return rng_scale(&w->rng, lease / 16, 4 * lease);
}

static void path_fault(struct world *w, struct path *p, enum fault f)
{
	uint64_t until = w->now + lasting(w);

	if (f == F_PATH_SLOW || f == F_DISK_SLOW) {
		p->slow_until = until;
		p->slow_ns = rng_scale(&w->rng, RF_MS_NS, w->atlas.io_slow_ns);
	} else if (f == F_PATH_STUCK || f == F_DISK_STUCK) {
		p->stuck_until = until;
	} else {
		p->lost_until = until;
	}
}

static void rot(struct world *w)
{
	uint32_t d = (uint32_t)rng_below(&w->rng, w->super.disk_count), volume, node, half;
	uint32_t first = 1,
		 last = (uint32_t)(rf_geo_history(&w->super, 0, 0) / w->super.id.stride_bytes);
	uint32_t stride = (uint32_t)rng_range(&w->rng, first, last - 1);

	/* slots and claim regions are few and matter most */
	if (rng_below(&w->rng, 2))
		stride = (uint32_t)rng_range(&w->rng, 0, w->super.id.nodes - 1) * 2 + 1;
	else if (rng_below(&w->rng, 4))
		stride = (uint32_t)rng_range(
			&w->rng, rf_geo_region(&w->super, 0) / w->super.id.stride_bytes,
			last - 1);
	oracle_stride(w, stride, &volume, &node, &half);
	/* 0 heals: many of these come and go */
	w->disk[d].bad[stride] = (uint8_t)rng_below(&w->rng, 3);
	trace(w, "disk %u stride %u %s", d, stride,
	      w->disk[d].bad[stride] ? "cannot be read" : "can be read again");
}

static void cut(struct world *w)
{
	uint32_t a = (uint32_t)rng_below(&w->rng, w->hosts);
	uint32_t b = (uint32_t)rng_below(&w->rng, w->hosts);

	if (a != b)
		net_cut(w, a, b, true);
}

static void partition(struct world *w)
{
	uint64_t side = rng_next(&w->rng);

	for (uint32_t a = 0; a < w->hosts; a++)
		for (uint32_t b = 0; b < w->hosts; b++)
			w->cut[a * w->hosts + b] = (side >> a % 64 & 1) != (side >> b % 64 & 1);
	trace(w, "net: two sides %llx", (unsigned long long)(side & ((1ull << w->hosts) - 1)));
}

/* A second host with somebody's id: the last of the hosts, kept for this. */
static void impostor(struct world *w)
{
	struct host *h = &w->host[w->hosts - 1];

	if (!h->impostor)
		return;
	if (h->alive) {
		host_kill(w, h);
		return;
	}
	h->absent = false;
	host_start(w, h);
}

static void gate_shut(struct world *w, struct host *h, uint32_t volume)
{
	struct gate *g = &h->gate[volume];

	if (!g->epoch || g->shut)
		return;
	trace(w, "gate of n%u on vol=%u shuts by itself", h->id, volume);
	g->shut = true;
	g->latched = g->epoch;
	fence_answer(w, h, h->life, volume, 0, g->epoch, RF_FENCE_FAILED);
}

static void operate(struct world *w, struct host *h, uint32_t volume, enum fault f)
{
	uint32_t node = 1 + (uint32_t)rng_below(&w->rng, w->super.id.nodes);

	switch (f) {
	case F_RESIGN:
		operator_admin(w, h, RF_ADMIN_RESIGN, volume, 0);
		break;
	case F_HANDOVER:
		operator_admin(w, h, RF_ADMIN_HANDOVER, volume, node);
		break;
	case F_OP_PAUSE:
		operator_admin(w, h, rng_below(&w->rng, 2) ? RF_ADMIN_PAUSE : RF_ADMIN_RESUME,
			       volume, 0);
		break;
	case F_SHUTDOWN:
		operator_admin(w, h, RF_ADMIN_SHUTDOWN, volume, 0);
		break;
	case F_STOP_ORDER:
		operator_stop(w, node);
		break;
	default:
		operator_put(w, h, volume);
	}
}

static void strike(struct world *w, struct host *h, uint32_t volume, enum fault f)
{
	uint32_t disk = (uint32_t)rng_below(&w->rng, w->super.disk_count);

	switch (f) {
	case F_KILL:
		host_kill(w, h);
		break;
	case F_KILL_STEP:
		if (h->alive)
			h->kill_at = 1 + (uint32_t)rng_below(&w->rng, 6);
		break;
	case F_REBOOT:
		host_reboot(w, h);
		break;
	case F_PAUSE:
	case F_VM_PAUSE:
		host_pause(w, h, rng_scale(&w->rng, RF_MS_NS, w->atlas.pause_max_ns),
			   f == F_VM_PAUSE);
		break;
	case F_PATH_SLOW:
	case F_PATH_STUCK:
	case F_PATH_LOST:
		path_fault(w, &h->path[disk], f);
		break;
	case F_DISK_SLOW:
	case F_DISK_STUCK:
	case F_DISK_LOST:
		path_fault(w, &w->disk[disk].path, f);
		break;
	case F_ROT:
		rot(w);
		break;
	case F_CUT:
		cut(w);
		break;
	case F_PARTITION:
		partition(w);
		break;
	case F_NET_HEAL:
		net_heal(w);
		break;
	case F_IMPOSTOR:
		impostor(w);
		break;
	case F_GATE_SHUT:
		gate_shut(w, h, volume);
		break;
	case F_REPLAY:
		net_replay(w);
		break;
	case F_FORGE:
		net_forge(w);
		break;
	case F_FORMAT:
		operator_format(w);
		break;
	default:
		operate(w, h, volume, f);
	}
}

void fault_event(struct world *w)
{
	uint32_t volume = (uint32_t)rng_below(&w->rng, w->super.volumes);
	struct host *h = victim(w, volume);
	enum fault f = draw(w);

	if (w->phase != PHASE_FAULTS) { /* a hostile network does not stop */
		if (w->atlas.replay_quiet) {
			if (f == F_FORGE)
				net_forge(w);
			else
				net_replay(w);
			fault_next(w);
		}
		return;
	}
	if (f != F_COUNT) {
		trace(w, "fault: %s n%u vol=%u", fault_name(f), h->id, volume);
		strike(w, h, volume, f);
	}
	fault_next(w);
}

/* An order to this life that it has not read yet. */
static bool ordered(struct world *w, const struct host *h)
{
	const uint8_t *cell = disk_cell(w, 0, rf_geo_mailbox(&w->super, h->id));
	struct rf_mailbox m;

	return rf_mailbox_decode(cell, &w->super.id, h->id, &m) == RF_RECORD_OK &&
	       m.order == RF_ORDER_STOP && m.incarnation == h->incarnation;
}

/* What only a restart mends: a stop order that was obeyed, and own promises that
 * could not be read when this life began. */
static bool needs_restart(struct world *w, struct host *h)
{
	struct rf_core_self self;
	struct rf_core_volume v;

	rf_core_self(rf_node_core(h->node), &self);
	if (self.health & RF_HEALTH_STOPPED || ordered(w, h))
		return true;
	for (uint32_t i = 0; i < w->super.volumes; i++) {
		rf_core_volume(rf_node_core(h->node), i, &v);
		if (v.unreadable)
			return true;
	}
	return false;
}

static void stop_host(struct world *w, struct host *h)
{
	h->absent = true;
	if (h->paused_until)
		host_resume(w, h);
	host_reboot(w, h);
}

static void heal_host(struct world *w, struct host *h)
{
	h->absent = false;
	memset(h->path, 0, sizeof(h->path));
	h->kill_at = 0;
	if (h->impostor) {
		h->absent = true;
		host_kill(w, h);
		return;
	}
	if (h->index >= w->atlas.nodes - w->atlas.absent) {
		h->absent = true; /* dead for good */
		host_reboot(w, h);
		return;
	}
	if (h->paused_until)
		host_resume(w, h);
	if (h->alive) {
		if (needs_restart(w, h))
			host_kill(w, h);
		operator_admin(w, h, RF_ADMIN_RESUME, 0, 0);
	}
	for (uint32_t v = 0; v < w->super.volumes; v++)
		h->gate[v].opener &= host_leads(w, h, v);
	if (!h->alive)
		host_start(w, h);
}

/* All faults stop. What they did to the records stays; unless lives of a formatted
 * area may have spoilt those of the next: then everybody is stopped, what is in
 * flight lands, and it is formatted properly. */
void faults_over(struct world *w)
{
	uint64_t bound = w->super.timing.inflight_ms * RF_MS_NS;
	bool again = w->phase == PHASE_FAULTS && w->area;

	if (w->phase != PHASE_FAULTS) {
		operator_format(w);
	} else {
		trace(w, "faults are over");
		net_heal(w);
		disk_hurry(w);
	}
	w->phase = PHASE_FIND;
	w->fault_end = w->now;
	w->find_by = w->now + oracle_live_bound(w) + (again ? bound : 0);
	for (uint32_t i = 0; i < w->hosts && !again; i++)
		heal_host(w, &w->host[i]);
	for (uint32_t i = 0; i < w->hosts && again; i++)
		stop_host(w, &w->host[i]);
	if (again)
		after(w, w->now + bound, EV_PHASE, 0, 0, 0, 0);
}
