/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world: what is in it, and how time passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/assert.h"
#include "oracle.h"
#include "sim.h"

static struct world *running; /* for failed assertions of the core */
static jmp_buf broken;
enum { BROKEN = 1, DIED };

void trace(struct world *w, const char *format, ...)
{
	va_list ap;

	if (!w->trace)
		return;
	fprintf(w->trace, "%12.6f ", (double)w->now / 1e9);
	va_start(ap, format);
	vfprintf(w->trace, format, ap);
	va_end(ap);
	fputc('\n', w->trace);
}

void violate(struct world *w, const char *oracle, const char *format, ...)
{
	size_t n;
	va_list ap;

	if (w->violated)
		return;
	w->violated = true;
	n = (size_t)snprintf(w->violation, sizeof(w->violation), "%s: t=%.6f ", oracle,
			     (double)w->now / 1e9);
	va_start(ap, format);
	vsnprintf(w->violation + n, sizeof(w->violation) - n, format, ap);
	va_end(ap);
	trace(w, "VIOLATION %s", w->violation);
}

void rf_assert_failed(const char *what, const char *file, int line)
{
	if (!running) {
		fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
		abort();
	}
	/* Outside, it is the end of that daemon and no more: renewals stop, its gate shuts
	 * by itself. Whether that saves the day is for the oracles of outcomes to say. */
	if (running->outcomes && running->stepping)
		longjmp(broken, DIED);
	violate(running, "assertion", "%s (%s:%d)", what, file, line);
	longjmp(broken, BROKEN);
}

void after(struct world *w, uint64_t at, enum event_kind kind, uint32_t host, uint32_t a,
	   uint64_t b, uint64_t c)
{
	const struct happening e = {.at = at,
				    .kind = (uint8_t)kind,
				    .host = (uint16_t)host,
				    .life = w->hosts ? w->host[host].life : 0,
				    .a = a,
				    .b = b,
				    .c = c};

	heap_push(&w->heap, &e);
}

/* ---- making ---- */

struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	return w;
}

static void free_hosts(struct world *w)
{
	for (uint32_t i = 0; i < w->hosts; i++) {
		if (w->host[i].seal)
			rf_seal_free(w->host[i].seal);
		free(w->host[i].gate);
		free(w->host[i].memory);
	}
	free(w->host);
	free(w->target);
	free(w->scratch);
	w->host = NULL;
	w->target = NULL;
	w->scratch = NULL;
	w->hosts = 0;
}

void world_free(struct world *w)
{
	oracle_free(w);
	free_hosts(w);
	for (uint32_t i = 0; i < w->ops; i++) {
		free(w->op[i]->cells);
		free(w->op[i]);
	}
	for (uint32_t i = 0; i < w->packets; i++)
		free(w->packet[i]);
	for (uint32_t d = 0; d < RF_DISKS_MAX; d++) {
		free(w->disk[d].cells);
		free(w->disk[d].bad);
	}
	free(w->op);
	free(w->packet);
	free(w->heap.item);
	free(w->cut);
	free(w);
}

static void super(struct world *w)
{
	struct rf_super *s = &w->super;
	const struct atlas *a = &w->atlas;

	memset(s, 0, sizeof(*s));
	memset(s->id.cluster, 0xc1, RF_UUID_BYTES);
	memset(s->id.area, 0xa1, RF_UUID_BYTES);
	s->id.nodes = a->nodes;
	s->id.stride_bytes = 4096;
	s->sector_bytes = 512;
	s->volumes = a->volumes;
	s->history = RF_HISTORY_MIN;
	s->state_strides = 2;
	s->disk_count = (uint8_t)a->disks;
	s->place = RF_PLACE_WHOLE;
	s->quorum = (uint8_t)a->quorum;
	s->timing = a->timing;
	for (uint32_t n = 0; n < a->nodes; n++)
		rf_bit_set(s->voters, n, true);
	s->area_strides = rf_geo_strides(s);
}

static void make_host(struct world *w, uint32_t i)
{
	struct host *h = &w->host[i];
	uint32_t drift = w->atlas.drift_ppm;

	h->world = w;
	h->index = i;
	h->id = i + 1;
	h->boot = 1;
	h->shown = 1000000000ull * (1 + rng_below(&w->rng, 1000));
	/* each clock stays as it is: the extremes are the interesting ones */
	h->drift_ppm = -(int64_t)rng_edge(&w->rng, 0, drift);
	h->gate = calloc(w->super.volumes, sizeof(*h->gate));
	if (!h->gate)
		abort();
	if (i >= w->atlas.nodes) { /* kept for F_IMPOSTOR */
		h->id = 1 + (uint32_t)rng_below(&w->rng, w->atlas.nodes);
		h->impostor = h->absent = true;
	}
}

static void make_hosts(struct world *w)
{
	struct rf_core_config cfg = {.super = w->super};
	uint32_t hosts = w->atlas.nodes + (w->atlas.weight[F_IMPOSTOR] ? 1 : 0);

	free_hosts(w);
	w->host = calloc(hosts, sizeof(*w->host));
	w->target = calloc(w->super.volumes, sizeof(*w->target));
	w->scratch = calloc(1, rf_core_io_max(&cfg));
	if (!w->host || !w->target || !w->scratch)
		abort();
	w->hosts = hosts;
	for (uint32_t i = 0; i < hosts; i++)
		make_host(w, i);
}

/* Two hosts with one id find a free slot at about the same time. */
static void twin_start(struct world *w)
{
	struct host *h = &w->host[w->hosts - 1];
	uint64_t at = w->now + rng_below(&w->rng, 500 * RF_MS_NS);

	h->absent = false;
	for (uint32_t i = 0; i < w->hosts; i++)
		if (w->host[i].id == h->id)
			after(w, at + rng_below(&w->rng, 4 * w->atlas.io_ns), EV_START, i, 0, 0,
			      0);
}

void world_reset(struct world *w, uint64_t seed, const struct atlas *atlas)
{
	w->seed = seed;
	w->now = 1000000;
	w->atlas = *atlas;
	w->phase = PHASE_FAULTS;
	w->violated = false;
	w->stepping = NULL;
	w->value = 0;
	w->area = 0;
	w->heap.count = 0;
	w->heap.order = 0;
	memset(&w->tally, 0, sizeof(w->tally));
	rng_seed(&w->rng, seed);
	super(w);
	make_hosts(w);
	disks_reset(w);
	net_reset(w);
	oracle_reset(w);
	w->steady_end = 60000000000ull;
	for (uint32_t i = 0; i < w->hosts && !atlas->scripted; i++)
		after(w, w->now + rng_below(&w->rng, 500 * RF_MS_NS), EV_START, i, 0, 0, 0);
	if (!atlas->scripted && w->host[w->hosts - 1].impostor)
		twin_start(w);
	if (!atlas->scripted) {
		after(w, atlas->faults_ns, EV_PHASE, 0, 0, 0, 0);
		after(w, w->now, EV_AUDIT, 0, 0, 0, 0);
		fault_next(w);
	}
}

/* ---- time passes ---- */

static void audit(struct world *w)
{
	oracle_live_audit(w);
	after(w, w->now + w->super.timing.heartbeat_ms * RF_MS_NS / 2, EV_AUDIT, 0, 0, 0, 0);
}

static void dispatch(struct world *w, const struct happening *e)
{
	switch ((enum event_kind)e->kind) {
	case EV_OP:
		disk_event(w, e);
		break;
	case EV_PACKET:
		net_event(w, e);
		break;
	case EV_FENCE:
		fence_event(w, e);
		break;
	case EV_WRITER:
	case EV_LAST:
		gate_writer(w, e, e->kind == EV_LAST);
		break;
	case EV_ARRIVE:
		target_arrive(w, e);
		break;
	case EV_LAND:
		gate_land(w, e);
		break;
	case EV_FAULT:
		fault_event(w);
		break;
	case EV_AUDIT:
		audit(w);
		break;
	case EV_PHASE:
		faults_over(w);
		break;
	case EV_SCRIPT:
		w->script(w->listener, e->b);
		break;
	case EV_WAKE:
	case EV_ANSWER:
	case EV_HOOK:
	case EV_QUIET:
	case EV_RESUME:
	case EV_START:
	case EV_KILL:
		host_happening(w, e);
		break;
	}
}

bool world_step(struct world *w)
{
	struct happening e;

	if (w->violated || w->phase == PHASE_OVER || !heap_pop(&w->heap, &e))
		return false;
	if (e.at > w->now)
		w->now = e.at;
	w->tally.events++;
	dispatch(w, &e);
	return true;
}

static void assertion_died(struct world *w)
{
	trace(w, "an assertion of n%u fails", w->stepping->id);
	host_kill(w, w->stepping);
	w->stepping = NULL;
}

void world_run(struct world *w)
{
	running = w;
	if (setjmp(broken) == DIED)
		assertion_died(w);
	while (world_step(w))
		;
	running = NULL;
}

void world_until(struct world *w, uint64_t at)
{
	running = w;
	if (setjmp(broken) == DIED)
		assertion_died(w);
	while (!w->violated && w->heap.count && w->heap.item[0].at <= at)
		world_step(w);
	if (!w->violated && w->now < at)
		w->now = at;
	running = NULL;
}
