/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts: a clock, a boot, and one daemon process after another.
 *
 * A process is an rf_node on fresh memory with a fresh incarnation. It may die
 * between two events or at any port call of a step: what it had started by then
 * goes on without it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "sim.h"

/* ---- clocks ---- */

static uint64_t scale(uint64_t ns, int64_t ppm)
{
	return ns - (uint64_t)((__uint128_t)ns * (uint64_t)-ppm / 1000000);
}

uint64_t host_clock(const struct world *w, const struct host *h)
{
	if (h->vm_paused)
		return h->shown;
	return h->shown + scale(w->now - h->base, h->drift_ppm);
}

/* World time at which this host's clock will show clock_ns; never the past. */
uint64_t host_when(const struct world *w, const struct host *h, uint64_t clock_ns)
{
	uint64_t left, now = host_clock(w, h);

	if (clock_ns == NEVER)
		return NEVER;
	if (clock_ns <= now)
		return w->now;
	left = clock_ns - now;
	return w->now +
	       (uint64_t)((__uint128_t)left * 1000000 / (uint64_t)(1000000 + h->drift_ppm)) + 1;
}

/* ---- ports ---- */

/* Each port call is a place to die at. True: this process is no more. */
static bool dead(struct host *h)
{
	h->calls++;
	return h->kill_at && h->calls >= h->kill_at;
}

static int port_io(void *world, const struct rf_effect *e)
{
	struct host *h = world;

	return dead(h) ? -ECANCELED : disk_submit(h->world, h, e);
}

static int port_fence(void *world, uint32_t verb, const struct rf_effect *e)
{
	struct host *h = world;

	return dead(h) ? -ECANCELED : fence_submit(h->world, h, verb, e);
}

static int port_cancel(void *world, const struct rf_effect *e)
{
	struct host *h = world;

	return dead(h) ? -ECANCELED : cancel_start(h->world, h, e);
}

static int port_hook(void *world, const struct rf_effect *e)
{
	struct host *h = world;

	return dead(h) ? -ECANCELED : hook_start(h->world, h, e);
}

static int port_send(void *world, const struct rf_effect *e)
{
	struct host *h = world;

	if (!dead(h))
		net_send(h->world, h, e);
	return 0;
}

static void port_say(void *world, const struct rf_decision *d)
{
	struct host *h = world;
	struct world *w = h->world;
	char line[RF_DECISION_BYTES];

	if (dead(h))
		return;
	if (w->trace) {
		rf_decision_format(line, sizeof(line), d, NULL);
		trace(w, "n%u %s", h->id, line);
	}
	if (d->code == RF_SAY_JOINED) {
		h->joined = true;
		h->joined_at = w->now;
	}
	if (d->code == RF_SAY_LEFT)
		h->crashed = false;
	oracle_said(w, h, d);
	if (w->listen)
		w->listen(w->listener, h, d);
}

static void port_halt(void *world, uint32_t reason)
{
	struct host *h = world;

	(void)reason;
	if (!dead(h))
		h->halted = true;
}

static void port_wake(void *world, uint64_t at_ns)
{
	struct host *h = world;

	h->wake_ns = at_ns;
	h->wake_serial++;
	if (at_ns != NEVER)
		after(h->world, host_when(h->world, h, at_ns), EV_WAKE, h->index, 0,
		      h->wake_serial, 0);
}

/* ---- lives ---- */

static void configure(struct world *w, struct host *h, struct rf_core_config *cfg)
{
	static const uint32_t can[] = {
		[FENCE_GATE] = RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN,
		[FENCE_TARGET] = RF_FENCE_CAN_EVICT | RF_FENCE_CAN_DRAIN,
		[FENCE_NONE] = 0,
	};

	memset(cfg, 0, sizeof(*cfg));
	cfg->super = w->super;
	cfg->node = h->id;
	cfg->incarnation = h->incarnation = rng_next(&w->rng) | 1;
	cfg->seed = rng_next(&w->rng);
	cfg->unix_ns = UNIX_START_NS + w->now;
	cfg->now_ns = h->last_ns = host_clock(w, h);
	cfg->crashed = h->crashed && h->crashed_area == w->area && !w->atlas.forgetful;
	cfg->priority = h->priority;
	h->crashed = true; /* until it says that it left */
	h->area = h->crashed_area = w->area;
	memcpy(cfg->boot_id, &h->boot, sizeof(h->boot));
	cfg->boot_id[8] = (uint8_t)h->index;
	snprintf(cfg->host, sizeof(cfg->host), "host%u", h->index);
	for (uint32_t v = 0; v < w->super.volumes && !h->bystander; v++) {
		rf_bit_set(cfg->candidate, v, true);
		cfg->can[v] = can[w->atlas.fence[v]];
	}
}

void host_start(struct world *w, struct host *h)
{
	const struct rf_ports ports = {
		.world = h,
		.io = port_io,
		.fence = port_fence,
		.cancel = port_cancel,
		.hook = port_hook,
		.send = port_send,
		.say = port_say,
		.halt = port_halt,
		.wake = port_wake,
	};
	static struct rf_core_config cfg;
	struct rf_event e = {.kind = RF_EV_TICK};

	if (h->alive || h->absent)
		return;
	h->life++;
	h->born = w->now;
	h->alive = true;
	h->halted = h->joined = h->stopped = false;
	h->kill_at = 0;
	memset(h->put_pending, 0, sizeof(h->put_pending));
	configure(w, h, &cfg);
	net_born(w, h);
	trace(w, "host %u (n%u) starts life %u, incarnation %llx", h->index, h->id, h->life,
	      (unsigned long long)h->incarnation);
	if (!h->memory)
		h->memory = aligned_alloc(64, (rf_node_bytes(&cfg) + 63) & ~63ull);
	if (!h->memory)
		abort();
	h->node = rf_node_init(h->memory, &cfg, &ports);
	oracle_born(w, h);
	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, w->atlas.kill_join_ppm))
		after(w, w->now + rng_below(&w->rng, 6 * w->atlas.io_ns), EV_KILL, h->index, 0,
		      h->life, 0);
	host_event(w, h, &e);
}

static void restart_later(struct world *w, struct host *h)
{
	const struct atlas *a = &w->atlas;
	uint64_t wait = rng_scale(&w->rng, a->restart_min_ns, a->restart_max_ns);

	if (a->scripted || h->impostor || h->absent)
		return;
	if (w->phase != PHASE_FAULTS)
		wait = 100 * RF_MS_NS;
	after(w, w->now + wait, EV_START, h->index, 0, h->life, 0);
}

static void end(struct world *w, struct host *h)
{
	disk_orphan(w, h);
	h->alive = h->joined = false;
	h->paused_until = 0;
	for (uint32_t v = 0; v < w->super.volumes; v++)
		gate_orphan(w, h, v);
	w->tally.kills++;
	oracle_died(w, h);
	restart_later(w, h);
}

void host_kill(struct world *w, struct host *h)
{
	if (!h->alive)
		return;
	trace(w, "host %u (n%u) dies", h->index, h->id);
	if (h->vm_paused)
		host_resume(w, h);
	end(w, h);
}

/* New kernel: gate and boot clock begin anew. */
void host_reboot(struct world *w, struct host *h)
{
	trace(w, "host %u (n%u) reboots", h->index, h->id);
	if (h->vm_paused)
		host_resume(w, h);
	if (h->alive)
		end(w, h);
	gate_reboot(w, h);
	h->boot++;
	h->crashed = false;
	h->base = w->now;
	h->shown = 1; /* no boot clock is ahead of the death of the boot before */
	h->last_ns = 0;
}

void host_pause(struct world *w, struct host *h, uint64_t ns, bool vm)
{
	if (!h->alive || h->paused_until > w->now)
		return;
	trace(w, "host %u (n%u) %s paused for %llu ms", h->index, h->id, vm ? "vm" : "daemon",
	      (unsigned long long)(ns / RF_MS_NS));
	w->tally.pauses++;
	if (vm) {
		h->shown = host_clock(w, h);
		h->base = w->now;
		h->vm_paused = true;
	}
	h->paused_until = w->now + ns;
	w->oracles->paused[h->index] = h->paused_until;
	after(w, h->paused_until, EV_RESUME, h->index, 0, h->life, 0);
}

void host_resume(struct world *w, struct host *h)
{
	w->oracles->paused[h->index] = w->now;
	if (h->paused_until > w->now) /* sooner than planned: so is what waits for it */
		heap_sooner(&w->heap, h->index, h->paused_until, w->now);
	h->paused_until = 0;
	if (h->vm_paused) {
		h->vm_paused = false;
		h->base = w->now;
	}
	trace(w, "host %u (n%u) resumes", h->index, h->id);
}

/* ---- events ---- */

void host_event(struct world *w, struct host *h, struct rf_event *e)
{
	uint64_t now = host_clock(w, h);

	if (!h->alive)
		return;
	if (now < h->last_ns)
		now = h->last_ns;
	h->last_ns = now;
	e->now_ns = now;
	e->unix_ns = UNIX_START_NS + w->now;
	h->calls = 0;
	w->tally.steps++;
	w->stepping = h;
	rf_node_event(h->node, e);
	w->stepping = NULL;
	if (h->kill_at && h->calls >= h->kill_at) {
		trace(w, "host %u (n%u) dies in the middle of a step", h->index, h->id);
		h->kill_at = 0;
		end(w, h);
		return;
	}
	oracle_stepped(w, h);
	if (h->halted) {
		trace(w, "host %u (n%u) halts", h->index, h->id);
		end(w, h);
	}
}

static void wake(struct world *w, struct host *h, const struct happening *e)
{
	struct rf_event tick = {.kind = RF_EV_TICK};

	if (!h->alive || e->b != h->wake_serial)
		return;
	if (h->paused_until > w->now) {
		after(w, h->paused_until, EV_WAKE, h->index, 0, e->b, 0);
		return;
	}
	if (host_clock(w, h) < h->wake_ns) { /* its clock stood still meanwhile */
		after(w, host_when(w, h, h->wake_ns), EV_WAKE, h->index, 0, e->b, 0);
		return;
	}
	host_event(w, h, &tick);
}

static void answer(struct world *w, struct host *h, const struct happening *e)
{
	struct rf_event ev = {.kind = RF_EV_FENCE};

	ev.fence.volume = e->a & 0xffff;
	ev.fence.verb = e->a >> 16 & 0xff;
	ev.fence.result = e->a >> 24;
	ev.fence.epoch = e->b;
	trace(w, "  fence n%u vol=%u verb %u epoch %llu result %u", h->id, ev.fence.volume,
	      ev.fence.verb, (unsigned long long)e->b, ev.fence.result);
	host_event(w, h, &ev);
}

static void ended(struct world *w, struct host *h, const struct happening *e)
{
	struct rf_event ev = {.kind = RF_EV_HOOK};

	if (e->kind == EV_QUIET) {
		ev.kind = RF_EV_QUIET;
		ev.quiet.volume = e->a;
		ev.quiet.epoch = e->b;
		h->gate[e->a].opener = false;
	} else {
		ev.hook.volume = e->a & 0xffff;
		ev.hook.hook = e->a >> 16;
		ev.hook.epoch = e->b;
		ev.hook.status = (int32_t)e->c;
	}
	host_event(w, h, &ev);
}

void host_happening(struct world *w, const struct happening *e)
{
	struct host *h = &w->host[e->host];

	if (e->kind == EV_WAKE) {
		wake(w, h, e);
	} else if (e->kind == EV_RESUME) {
		if (h->paused_until && h->paused_until <= w->now)
			host_resume(w, h);
	} else if (e->kind == EV_KILL) {
		if (h->alive && h->life == e->b)
			host_kill(w, h);
	} else if (e->kind == EV_START) {
		if (!h->alive && e->b == h->life)
			host_start(w, h);
	} else if (h->alive && h->life == e->life) {
		if (h->paused_until > w->now) {
			struct happening later = *e;

			later.at = h->paused_until;
			heap_push(&w->heap, &later);
		} else if (e->kind == EV_ANSWER) {
			answer(w, h, e);
		} else {
			ended(w, h, e);
		}
	}
}

bool host_current(const struct world *w, const struct host *h)
{
	return h->area == w->area;
}

bool host_leads(const struct world *w, const struct host *h, uint32_t volume)
{
	struct rf_core_volume v;

	if (!h->alive || !host_current(w, h))
		return false;
	rf_core_volume(rf_node_core(h->node), volume, &v);
	return v.role == RF_ROLE_ACTIVE;
}

struct host *host_leader(struct world *w, uint32_t volume)
{
	struct host *found = NULL;
	uint64_t best = 0;

	for (uint32_t i = 0; i < w->hosts; i++) {
		struct rf_core_volume v;

		if (!host_leads(w, &w->host[i], volume))
			continue;
		rf_core_volume(rf_node_core(w->host[i].node), volume, &v);
		if (v.epoch >= best) {
			best = v.epoch;
			found = &w->host[i];
		}
	}
	return found;
}
