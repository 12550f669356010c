/* SPDX-License-Identifier: GPL-2.0-or-later */
/* People, their hooks, and what runs under a leadership. */
#include <errno.h>
#include <string.h>

#include "oracle.h"
#include "sim.h"

static uint64_t hook_time(struct world *w)
{
	const struct atlas *a = &w->atlas;

	if (a->scripted)
		return 5 * RF_MS_NS;
	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, a->hook_slow_ppm))
		return rng_scale(&w->rng, 100 * RF_MS_NS, 5000 * RF_MS_NS);
	return rng_range(&w->rng, 100000, 20 * RF_MS_NS);
}

int hook_start(struct world *w, struct host *h, const struct rf_effect *e)
{
	bool fails = w->phase == PHASE_FAULTS && rng_ppm(&w->rng, w->atlas.hook_fail_ppm);

	if (e->hook.hook == RF_HOOK_PROMOTE)
		h->gate[e->hook.volume].opener = true;
	oracle_hook(w, h, e);
	after(w, w->now + hook_time(w), EV_HOOK, h->index, e->hook.volume | e->hook.hook << 16,
	      e->hook.epoch, fails);
	return 0;
}

int cancel_start(struct world *w, struct host *h, const struct rf_effect *e)
{
	after(w, w->now + hook_time(w), EV_QUIET, h->index, e->cancel.volume, e->cancel.epoch,
	      0);
	return 0;
}

void operator_admin(struct world *w, struct host *h, uint32_t verb, uint32_t volume,
		    uint32_t node)
{
	struct rf_event e = {.kind = RF_EV_ADMIN};

	if (!h->alive || h->paused_until > w->now)
		return;
	trace(w, "operator: n%u verb %u vol=%u node %u", h->id, verb, volume, node);
	e.admin.verb = verb;
	e.admin.volume = volume;
	e.admin.node = node;
	host_event(w, h, &e);
}

/* A blob that says which put it is; the rest is its checksum against mixing. */
void operator_put(struct world *w, struct host *h, uint32_t volume)
{
	struct rf_event e = {.kind = RF_EV_ADMIN};
	uint64_t blob[PAYLOAD_BYTES / 8];

	if (!h->alive || h->paused_until > w->now || h->put_pending[volume])
		return;
	blob[0] = ++w->value;
	blob[1] = volume;
	blob[2] = ~w->value;
	h->put_pending[volume] = true;
	h->put_value[volume] = w->value;
	w->tally.puts++;
	trace(w, "operator: n%u puts %llu vol=%u", h->id, (unsigned long long)w->value, volume);
	e.admin.verb = RF_ADMIN_STATE_PUT;
	e.admin.volume = volume;
	e.admin.data = (const uint8_t *)blob;
	e.admin.len = sizeof(blob);
	host_event(w, h, &e);
}

/* `ringfence stop`: an order to the present life of a node, on every disk. */
void operator_stop(struct world *w, uint32_t node)
{
	struct rf_mailbox m = {.order = RF_ORDER_STOP, .unix_ns = UNIX_START_NS + w->now};
	uint64_t at = rf_geo_mailbox(&w->super, node);
	struct rf_slot s;
	struct rf_mailbox old;

	if (rf_slot_decode(disk_cell(w, 0, rf_geo_slot(&w->super, node)), &w->super.id, node,
			   &s) != RF_RECORD_OK)
		return;
	if (rf_mailbox_decode(disk_cell(w, 0, at), &w->super.id, node, &old) == RF_RECORD_OK)
		m.seq = old.seq;
	m.seq++;
	m.incarnation = s.incarnation;
	trace(w, "operator: orders n%u to stop", node);
	for (uint32_t d = 0; d < w->super.disk_count; d++)
		rf_mailbox_encode(disk_cell(w, d, at), &w->super.id, node, &m);
}

/* `ringfence format --force` at a bad moment: daemons live, and some are started
 * anew soon, for the new area; others are forgotten. */
void operator_format(struct world *w)
{
	uint64_t lease = w->super.timing.lease_ms * RF_MS_NS;

	if (w->area == AREAS_MAX - (w->phase == PHASE_FAULTS))
		return;
	disks_format(w);
	target_formatted(w);
	oracle_formatted(w);
	trace(w, "operator: formats, area %u", w->area);
	for (uint32_t i = 0; i < w->hosts && !w->atlas.scripted; i++)
		if (w->host[i].alive && rng_below(&w->rng, 2))
			after(w, w->now + rng_edge(&w->rng, 1, 3 * lease), EV_KILL, i, 0,
			      w->host[i].life, 0);
}
