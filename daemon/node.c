/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step, its effects, their order of duty (ARCHITECTURE rule 6): a later
 * effect is never applied when an earlier one failed. What takes rights away is
 * always applied; what gives or tells is not, once something before it could
 * not be started; each effect that fails comes back to the core as the event it
 * was waiting for.
 */
#include <errno.h>
#include <string.h>

#include "format/assert.h"
#include "node.h"

struct rf_node {
	struct rf_ports ports;
	struct rf_core *core;
	struct rf_effects effects;
	struct rf_event *failed; /* events of effects that could not be started */
	uint32_t failed_count, failed_max;
	uint64_t wake_ns;
};

static size_t up(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

size_t rf_node_bytes(const struct rf_core_config *cfg)
{
	size_t max = 2 * (size_t)rf_core_effects_max(cfg);

	return up(sizeof(struct rf_node)) + up(max * sizeof(struct rf_effect)) +
	       up(max * sizeof(struct rf_event)) + up(rf_core_bytes(cfg));
}

struct rf_node *rf_node_init(void *memory, const struct rf_core_config *cfg,
			     const struct rf_ports *ports)
{
	uint32_t max = 2 * rf_core_effects_max(cfg); /* room for failures of failures */
	struct rf_node *n = memory;
	uint8_t *at = (uint8_t *)memory + up(sizeof(*n));

	memset(n, 0, sizeof(*n));
	n->ports = *ports;
	n->effects.effect = (void *)at;
	at += up(max * sizeof(struct rf_effect));
	n->failed = (void *)at;
	n->failed_max = max;
	at += up(max * sizeof(struct rf_event));
	n->core = rf_core_init(at, cfg);
	return n;
}

const struct rf_core *rf_node_core(const struct rf_node *n)
{
	return n->core;
}

/* ---- one effect ---- */

static uint32_t verb_of(enum rf_effect_kind kind)
{
	return kind == RF_DO_REVOKE  ? RF_FENCE_REVOKE
	       : kind == RF_DO_EVICT ? RF_FENCE_EVICT
				     : RF_FENCE_GRANT;
}

/* Takes rights away, or tells only this host: applied whatever failed before. */
static bool unconditional(enum rf_effect_kind kind)
{
	return kind == RF_DO_REVOKE || kind == RF_DO_HALT || kind == RF_DO_IO ||
	       kind == RF_DO_CANCEL || kind == RF_DO_SAY;
}

static int apply(struct rf_node *n, const struct rf_effect *e)
{
	void *world = n->ports.world;

	switch (e->kind) {
	case RF_DO_REVOKE:
	case RF_DO_EVICT:
	case RF_DO_GRANT:
		return n->ports.fence(world, verb_of(e->kind), e);
	case RF_DO_HALT:
		n->ports.halt(world, e->halt.reason);
		return 0;
	case RF_DO_IO:
		return n->ports.io(world, e);
	case RF_DO_CANCEL:
		return n->ports.cancel(world, e);
	case RF_DO_HOOK:
		return n->ports.hook(world, e);
	case RF_DO_SEND:
		n->ports.send(world, e); /* a hint: its loss fails nothing */
		return 0;
	case RF_DO_SAY:
		n->ports.say(world, &e->say);
		return 0;
	}
	return -EINVAL;
}

/* The event that tells the core its effect did not happen. */
static void fail(struct rf_node *n, const struct rf_effect *e, const struct rf_event *cause,
		 int error)
{
	struct rf_event *ev;

	/* A cancel that could not start is not quiet: the slot stays OPEN, peers wait. */
	if (e->kind == RF_DO_SEND || e->kind == RF_DO_SAY || e->kind == RF_DO_HALT ||
	    e->kind == RF_DO_CANCEL)
		return;
	rf_assert(n->failed_count < n->failed_max);
	ev = &n->failed[n->failed_count++];
	memset(ev, 0, sizeof(*ev));
	ev->now_ns = cause->now_ns;
	ev->unix_ns = cause->unix_ns;
	switch (e->kind) {
	case RF_DO_IO:
		ev->kind = RF_EV_IO;
		ev->io.op = e->io.op;
		ev->io.status = error;
		break;
	case RF_DO_HOOK:
		ev->kind = RF_EV_HOOK;
		ev->hook.volume = e->hook.volume;
		ev->hook.hook = e->hook.hook;
		ev->hook.epoch = e->hook.epoch;
		ev->hook.status = error;
		break;
	default:
		ev->kind = RF_EV_FENCE;
		ev->fence.volume = e->fence.volume;
		ev->fence.verb = verb_of(e->kind);
		ev->fence.epoch = e->fence.epoch;
		ev->fence.result = RF_FENCE_FAILED;
		break;
	}
}

/* ---- one step ---- */

static void step(struct rf_node *n, const struct rf_event *event)
{
	bool clean = true;

	rf_core_step(n->core, event, &n->effects);
	for (uint32_t i = 0; i < n->effects.count; i++) {
		const struct rf_effect *e = &n->effects.effect[i];
		int err = -ECANCELED;

		if (clean || unconditional(e->kind))
			err = apply(n, e);
		if (err < 0) {
			clean = false;
			fail(n, e, event, err);
		}
	}
}

/* Failed events are fed back at once, but a world in which everything fails must
 * not keep us here: what is left after a few rounds waits for the next event. */
static void feed_failures(struct rf_node *n, uint64_t now_ns)
{
	uint32_t done = 0;

	while (done < n->failed_count && done < n->failed_max / 2) {
		struct rf_event failed = n->failed[done++];

		failed.now_ns = now_ns;
		step(n, &failed);
	}
	n->failed_count -= done;
	memmove(n->failed, n->failed + done, n->failed_count * sizeof(*n->failed));
}

void rf_node_event(struct rf_node *n, const struct rf_event *event)
{
	uint64_t wake;

	step(n, event);
	if (n->failed_count)
		feed_failures(n, event->now_ns);
	wake = rf_core_wake_ns(n->core);
	if (n->ports.wake && (wake != n->wake_ns || wake <= event->now_ns)) {
		n->wake_ns = wake;
		n->ports.wake(n->ports.world, wake);
	}
}
