/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate at the host, its fencer, and the application that writes through it.
 *
 * One instance, one epoch: an instance that was shut never opens again, and a
 * new one needs that nobody has the old one open and nothing of it is in flight.
 * A write that was admitted lands within G, often at the very end of it; and the
 * application always tries one more write just before the deadline.
 */
#include <errno.h>
#include <string.h>

#include "oracle.h"
#include "sim.h"

#define DIES 0x10000u /* of a landing: it dies instead */
#define NOBODY 0u     /* no life that waits for an answer: they begin at 1 */

/* Which area's epochs a write belongs to, and which boot let it out. */
static uint32_t write_tag(const struct host *h, uint32_t volume)
{
	return volume | (h->gate[volume].area & 7) << 17 | (uint32_t)(h->boot & 0xff) << 20;
}

bool gate_admits(struct world *w, const struct host *h, uint32_t volume)
{
	const struct gate *g = &h->gate[volume];

	if (!g->epoch || g->shut || h->vm_paused)
		return false;
	return volume_at_target(w, volume) || host_clock(w, h) < g->deadline_ns;
}

/* ---- the application ---- */

void gate_write(struct world *w, struct host *h, uint32_t volume, uint64_t delay)
{
	struct gate *g = &h->gate[volume];
	uint32_t a = write_tag(h, volume);

	if (volume_at_target(w, volume)) {
		after(w, w->now + delay, EV_ARRIVE, h->index, a, g->epoch, g->connection);
		return;
	}
	g->in_flight++;
	g->seq++;
	if (rng_below(&w->rng, 10) == 0)
		a |= DIES;
	after(w, w->now + delay, EV_LAND, h->index, a, g->epoch, g->incarnation);
}

static uint64_t write_delay(struct world *w, uint32_t volume)
{
	uint64_t grace = w->super.timing.grace_ms * RF_MS_NS;

	if (volume_at_target(w, volume))
		return w->phase == PHASE_FAULTS
			       ? rng_scale(&w->rng, 10000, w->atlas.target_delay_ns)
			       : rng_below(&w->rng, RF_MS_NS);
	if (rng_below(&w->rng, 4))
		return rng_scale(&w->rng, 10000, grace / 4);
	return grace - 1 - rng_below(&w->rng, grace / 100);
}

static void arm_last(struct world *w, struct host *h, uint32_t volume)
{
	struct gate *g = &h->gate[volume];
	uint64_t at = host_when(w, h, g->deadline_ns);

	g->last_armed = true;
	at = at > w->now + 2000 ? at - 1 - rng_below(&w->rng, 1000) : w->now + 1;
	after(w, at, EV_LAST, h->index, volume, g->epoch, 0);
}

static void last_write(struct world *w, struct host *h, uint32_t volume)
{
	struct gate *g = &h->gate[volume];
	uint64_t grace = w->super.timing.grace_ms * RF_MS_NS;

	g->last_armed = false;
	if (g->shut)
		return;
	if (host_clock(w, h) + 2000 < g->deadline_ns) {
		arm_last(w, h, volume);
		return;
	}
	if (gate_admits(w, h, volume))
		gate_write(w, h, volume, grace - 1);
}

void gate_writer(struct world *w, const struct happening *e, bool last)
{
	struct host *h = &w->host[e->host];
	struct gate *g = &h->gate[e->a];

	if (g->epoch != e->b || g->shut) {
		if (!last)
			g->ticking = false;
		return;
	}
	if (last) {
		last_write(w, h, e->a);
		return;
	}
	if (gate_admits(w, h, e->a)) {
		oracle_admitted(w, h, e->a);
		gate_write(w, h, e->a, write_delay(w, e->a));
	} else {
		g->held = true;
	}
	after(w, w->now + rng_range(&w->rng, 1, 2 * w->atlas.write_every_ns), EV_WRITER,
	      h->index, e->a, g->epoch, 0);
}

void gate_land(struct world *w, const struct happening *e)
{
	struct host *h = &w->host[e->host];
	uint32_t volume = e->a & 0xffff;
	struct gate *g = &h->gate[volume];

	if (!(e->a & DIES) && (e->a >> 17 & 7) == (w->area & 7))
		oracle_landed(w, volume, h->id, e->c, e->b);
	if (volume_at_target(w, volume)) {
		target_landed(w, volume);
		return;
	}
	if ((e->a >> 20 & 0xff) != (h->boot & 0xff) || !g->in_flight)
		return;
	g->in_flight--;
	gate_drained(w, h, volume);
}

/* ---- what a fencer does ---- */

/* Anything that was admitted under the present instance is over. */
void gate_drained(struct world *w, struct host *h, uint32_t volume)
{
	struct gate *g = &h->gate[volume];

	if (!g->draining || g->in_flight)
		return;
	g->draining = false;
	fence_answer(w, h, g->drain_life, volume, RF_FENCE_REVOKE, g->drain_epoch, RF_FENCE_OK);
}

/* A new instance for this epoch, or the present one. */
uint32_t gate_adopt(struct world *w, struct host *h, uint32_t volume,
		    const struct fence_request *r)
{
	struct gate *g = &h->gate[volume];

	if (g->area == r->area) { /* else: a gate for another area is another gate */
		if (r->epoch <= g->latched)
			return RF_FENCE_FAILED;
		if (r->epoch < g->epoch)
			return RF_FENCE_STALE;
		if (g->epoch == r->epoch)
			return g->shut ? RF_FENCE_FAILED : RF_FENCE_OK;
	}
	if (g->in_flight || g->opener)
		return RF_FENCE_BUSY;
	if (g->area != r->area)
		g->latched = 0;
	g->area = r->area;
	g->epoch = r->epoch;
	g->incarnation = r->incarnation;
	g->deadline_ns = 0;
	g->shut = g->held = false;
	g->connection++;
	g->ticking = true;
	after(w, w->now + rng_below(&w->rng, w->atlas.write_every_ns), EV_WRITER, h->index,
	      volume, g->epoch, 0);
	return RF_FENCE_OK;
}

static uint32_t grant(struct world *w, struct host *h, uint32_t volume,
		      const struct fence_request *r)
{
	struct gate *g = &h->gate[volume];
	uint32_t result = gate_adopt(w, h, volume, r);

	if (result != RF_FENCE_OK)
		return result;
	if (r->deadline_ns > g->deadline_ns)
		g->deadline_ns = r->deadline_ns;
	oracle_granted(w, h, volume, r->epoch, r->incarnation);
	if (!gate_admits(w, h, volume))
		return RF_FENCE_OK;
	if (g->held)
		gate_write(w, h, volume, write_delay(w, volume));
	g->held = false;
	if (!g->last_armed)
		arm_last(w, h, volume);
	return RF_FENCE_OK;
}

static void revoke(struct world *w, struct host *h, uint32_t volume,
		   const struct fence_request *r)
{
	struct gate *g = &h->gate[volume];

	if (r->epoch && g->epoch > r->epoch && g->area == r->area) {
		fence_answer(w, h, r->life, volume, r->verb, r->epoch, RF_FENCE_STALE);
		return;
	}
	g->shut = true;
	if (g->epoch > g->latched)
		g->latched = g->epoch;
	if (r->epoch > g->latched && g->area == r->area)
		g->latched = r->epoch;
	if (volume_at_target(w, volume))
		g->connection++;
	g->draining = true;
	g->drain_life = r->life;
	g->drain_epoch = r->epoch;
	if (volume_at_target(w, volume))
		target_idle(w, volume);
	else
		gate_drained(w, h, volume);
}

static void carry_out(struct world *w, struct host *h, uint32_t volume,
		      const struct fence_request *r)
{
	if (w->atlas.fence[volume] == FENCE_NONE)
		fence_answer(w, h, r->life, volume, r->verb, r->epoch,
			     r->verb == RF_FENCE_EVICT ? RF_FENCE_UNSUPPORTED : RF_FENCE_OK);
	else if (r->verb == RF_FENCE_REVOKE)
		revoke(w, h, volume, r);
	else if (volume_at_target(w, volume))
		target_serve(w, h, volume, r);
	else if (r->verb == RF_FENCE_GRANT)
		fence_answer(w, h, r->life, volume, r->verb, r->epoch, grant(w, h, volume, r));
	else
		fence_answer(w, h, r->life, volume, r->verb, r->epoch, RF_FENCE_UNSUPPORTED);
}

/* It did not answer in time, or says that it failed: it may be carried out all the
 * same. What it answers then is late: the daemon's end (io/fencer.c) hands on only
 * that a revoke is drained. */
static void serve(struct world *w, struct host *h, uint32_t volume,
		  const struct fence_request *r)
{
	struct fence_request late = *r;

	if (w->phase != PHASE_FAULTS || !rng_ppm(&w->rng, w->atlas.fence_fail_ppm)) {
		carry_out(w, h, volume, r);
		return;
	}
	fence_answer(w, h, r->life, volume, r->verb, r->epoch,
		     rng_below(&w->rng, 2) ? RF_FENCE_FAILED : RF_FENCE_UNCERTAIN);
	if (r->verb == RF_FENCE_REVOKE && w->atlas.mute_fences)
		return;
	if (r->verb != RF_FENCE_REVOKE || !rng_below(&w->rng, 2))
		late.life = NOBODY;
	if (rng_below(&w->rng, 2))
		carry_out(w, h, volume, &late);
}

/* ---- the fencer's queue ---- */

void fence_answer(struct world *w, struct host *h, uint32_t life, uint32_t volume,
		  uint32_t verb, uint64_t epoch, uint32_t result)
{
	uint64_t delay = w->atlas.scripted ? 1000 : rng_range(&w->rng, 1000, 300000);

	if (h->life == life && h->alive)
		after(w, w->now + delay, EV_ANSWER, h->index,
		      volume | verb << 16 | result << 24, epoch, 0);
}

static uint64_t service_time(struct world *w)
{
	const struct atlas *a = &w->atlas;

	if (a->scripted)
		return 100000;
	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, a->fence_slow_ppm))
		return rng_scale(&w->rng, RF_MS_NS, 2ull * w->super.timing.lease_ms * RF_MS_NS);
	return rng_range(&w->rng, 20000, 1000000);
}

static int enqueue(struct world *w, struct host *h, uint32_t volume,
		   const struct fence_request *r)
{
	struct gate *g = &h->gate[volume];
	uint64_t at = g->free_at > w->now ? g->free_at : w->now;

	if (g->count == FENCE_QUEUE)
		return -EAGAIN;
	g->queue[(g->head + g->count++) % FENCE_QUEUE] = *r;
	g->free_at = at + service_time(w);
	after(w, g->free_at, EV_FENCE, h->index, volume, 0, 0);
	return 0;
}

int fence_submit(struct world *w, struct host *h, uint32_t verb, const struct rf_effect *e)
{
	const struct fence_request r = {
		.verb = verb,
		.life = h->life,
		.area = h->area,
		.epoch = e->fence.epoch,
		.incarnation = e->fence.incarnation,
		.deadline_ns = e->fence.deadline_ns,
	};

	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, w->atlas.port_error_ppm))
		return -EPIPE;
	trace(w, "  ask fence n%u vol=%u verb %u epoch %llu", h->id, e->fence.volume, verb,
	      (unsigned long long)r.epoch);
	return enqueue(w, h, e->fence.volume, &r);
}

void fence_event(struct world *w, const struct happening *e)
{
	struct host *h = &w->host[e->host];
	struct gate *g = &h->gate[e->a];
	struct fence_request r;

	if (e->b) { /* a grant that was stuck in a fencer, after its daemon's death */
		r = g->stuck;
		if (r.verb && r.life == e->b)
			serve(w, h, e->a, &r);
		return;
	}
	if (!g->count)
		return;
	r = g->queue[g->head];
	g->head = (g->head + 1) % FENCE_QUEUE;
	g->count--;
	serve(w, h, e->a, &r);
}

/* The daemon is dead. Its fencer revokes and goes; or dies with it; or is stuck in
 * its last request, which it carries out much later. */
void gate_orphan(struct world *w, struct host *h, uint32_t volume)
{
	struct gate *g = &h->gate[volume];
	const struct fence_request r = {
		.verb = RF_FENCE_REVOKE, .life = h->life, .area = h->area};
	uint64_t lease = w->super.timing.lease_ms * RF_MS_NS;

	if (w->atlas.scripted)
		return;
	switch (rng_below(&w->rng, 3)) {
	case 0:
		enqueue(w, h, volume, &r);
		break;
	case 1:
		for (uint32_t i = 0; i < g->count; i++)
			if (g->queue[(g->head + i) % FENCE_QUEUE].verb == RF_FENCE_GRANT)
				g->stuck = g->queue[(g->head + i) % FENCE_QUEUE];
		if (g->count && g->stuck.life == h->life)
			after(w, w->now + rng_scale(&w->rng, 1000, 2 * lease), EV_FENCE,
			      h->index, volume, h->life, 0);
		g->count = 0;
		break;
	default:
		g->count = 0;
	}
}

/* The host's kernel is gone: so is the gate, but not what had left it. */
void gate_reboot(struct world *w, struct host *h)
{
	for (uint32_t v = 0; v < w->super.volumes; v++) {
		struct gate *g = &h->gate[v];
		uint64_t connection = g->connection;

		memset(g, 0, sizeof(*g));
		g->connection = connection;
	}
}
