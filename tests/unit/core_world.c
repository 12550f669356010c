/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core_world.h"

#include <stdlib.h>
#include <string.h>

#define STRIDE 4096u

void forget(struct world *w)
{
	w->grants = w->revokes = w->cancels = w->halts = w->writes = w->lost_hooks = 0;
	memset(w->said, 0, sizeof(w->said));
}

static void push(struct rf_effect *to, uint32_t *n, const struct rf_effect *e)
{
	assert_true(*n < PENDING_MAX);
	to[(*n)++] = *e;
}

static void io(struct world *w, const struct rf_effect *e)
{
	if (e->io.write_len)
		w->writes++;
	if (e->io.write_len && !w->write_status) {
		memset(w->disk + e->io.write_offset, 0, e->io.write_len);
		memcpy(w->disk + e->io.write_offset, e->io.data, e->io.data_len);
	}
	push(w->pending, &w->pendings, e);
}

static void take(struct world *w, const struct rf_effect *e)
{
	switch (e->kind) {
	case RF_DO_IO:
		io(w, e);
		break;
	case RF_DO_REVOKE:
		w->revokes++;
		push(w->fence, &w->fences, e);
		break;
	case RF_DO_GRANT:
		w->grants++;
		push(w->fence, &w->fences, e);
		break;
	case RF_DO_EVICT:
		push(w->fence, &w->fences, e);
		break;
	case RF_DO_HOOK:
		w->lost_hooks += e->hook.hook == RF_HOOK_LOST;
		push(w->hook, &w->hooks, e);
		break;
	case RF_DO_CANCEL:
		w->cancels++;
		w->cancelled = true;
		w->cancel_epoch = e->cancel.epoch;
		break;
	case RF_DO_HALT:
		w->halts++;
		w->halt_reason = e->halt.reason;
		break;
	case RF_DO_SAY:
		w->said[e->say.code] = true;
		break;
	default:
		break;
	}
}

void step(struct world *w, struct rf_event *e)
{
	e->now_ns = w->now_ns;
	e->unix_ns = w->now_ns;
	rf_core_step(w->core, e, &w->effects);
	for (uint32_t i = 0; i < w->effects.count; i++)
		take(w, &w->effects.effect[i]);
}

/* The next thing that happens, if all obey. */
void answer_io(struct world *w)
{
	struct rf_effect p = w->pending[--w->pendings];
	struct rf_event e = {.kind = RF_EV_IO,
			     .io = {.op = p.io.op,
				    .wrote = p.io.write_len > 0,
				    .data = w->read,
				    .len = p.io.read_len}};

	memcpy(w->read, w->disk + p.io.read_offset, p.io.read_len);
	if (p.io.write_len && w->write_status) {
		e.io.status = w->write_status;
		e.io.wrote = false;
		w->write_status = 0;
	}
	step(w, &e);
}

static void answer_fence(struct world *w)
{
	struct rf_effect f = w->fence[--w->fences];
	struct rf_event e = {.kind = RF_EV_FENCE,
			     .fence = {.volume = f.fence.volume, .epoch = f.fence.epoch}};

	e.fence.verb = f.kind == RF_DO_GRANT    ? RF_FENCE_GRANT
		       : f.kind == RF_DO_REVOKE ? RF_FENCE_REVOKE
						: RF_FENCE_EVICT;
	e.fence.result = f.kind == RF_DO_GRANT    ? w->grant_result
			 : f.kind == RF_DO_REVOKE ? w->revoke_result
						  : RF_FENCE_OK;
	step(w, &e);
}

static void answer_hook(struct world *w)
{
	struct rf_effect h = w->hook[--w->hooks];
	struct rf_event e = {
		.kind = RF_EV_HOOK,
		.hook = {.volume = h.hook.volume, .hook = h.hook.hook, .epoch = h.hook.epoch}};

	step(w, &e);
}

static void answer_cancel(struct world *w)
{
	struct rf_event e = {.kind = RF_EV_QUIET, .quiet = {.epoch = w->cancel_epoch}};

	w->cancelled = false;
	step(w, &e);
}

void go_on(struct world *w)
{
	struct rf_event tick = {.kind = RF_EV_TICK};
	uint64_t wake;

	if (w->pendings) {
		answer_io(w);
	} else if (w->fences) {
		answer_fence(w);
	} else if (w->hooks) {
		answer_hook(w);
	} else if (w->cancelled) {
		answer_cancel(w);
	} else {
		wake = rf_core_wake_ns(w->core);
		if (wake > w->now_ns)
			w->now_ns = wake;
		step(w, &tick);
	}
}

enum rf_role role(const struct world *w)
{
	struct rf_core_volume v;

	rf_core_volume(w->core, 0, &v);
	return v.role;
}

void until_role(struct world *w, enum rf_role want)
{
	for (int i = 0; i < STEPS_MAX && role(w) != want; i++)
		go_on(w);
	assert_int_equal(role(w), want);
}

void until_said(struct world *w, enum rf_say code)
{
	for (int i = 0; i < STEPS_MAX && !w->said[code] && !w->halts; i++)
		go_on(w);
	assert_true(w->said[code]);
}

/* ---- a formatted disk ---- */

static void format(struct world *w)
{
	const struct rf_super *s = &w->cfg.super;
	const struct rf_slot slot = {.state = RF_SLOT_FREE};
	const struct rf_mailbox mail = {.order = RF_ORDER_NONE};
	const struct rf_epoch epoch = {.state = RF_EPOCH_NONE};
	const struct rf_ballot ballot = {0};
	const struct rf_state state = {0};

	rf_slot_encode(w->disk + rf_geo_slot(s, 1), &s->id, 1, &slot);
	rf_mailbox_encode(w->disk + rf_geo_mailbox(s, 1), &s->id, 1, &mail);
	rf_epoch_encode(w->disk + rf_geo_region(s, 0), &s->id, 0, &epoch);
	rf_ballot_encode(w->disk + rf_geo_ballot(s, 0, 1), &s->id, 0, 1, &ballot);
	for (uint32_t h = 0; h < 2; h++)
		rf_state_encode(w->disk + rf_geo_state(s, 0, 1, h), &s->id, 0, 1, h, &state);
}

static void config(struct world *w)
{
	struct rf_super *s = &w->cfg.super;

	memset(s->id.cluster, 0xc1, RF_UUID_BYTES);
	memset(s->id.area, 0xa1, RF_UUID_BYTES);
	s->id.nodes = 1;
	s->id.stride_bytes = STRIDE;
	s->sector_bytes = 512;
	s->volumes = 1;
	s->history = RF_HISTORY_MIN;
	s->state_strides = 2;
	s->disk_count = 1;
	s->place = RF_PLACE_WHOLE;
	s->quorum = RF_QUORUM_MAJORITY;
	s->voters[0] = 1;
	assert_true(rf_timing_profile("fast", &s->timing));
	s->area_strides = rf_geo_strides(s);
	w->cfg.node = 1;
	w->cfg.incarnation = 1000;
	w->cfg.seed = 1;
	w->cfg.unix_ns = 1;
	w->cfg.now_ns = w->now_ns = 1000000000;
	w->cfg.candidate[0] = 1;
	w->cfg.can[0] = RF_FENCE_CAN_DEADLINE;
}

int world_begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	size_t bytes;

	config(w);
	bytes = w->cfg.super.area_strides * STRIDE;
	w->disk = calloc(1, bytes);
	w->read = calloc(1, bytes);
	format(w);
	w->effects.effect = calloc(rf_core_effects_max(&w->cfg), sizeof(struct rf_effect));
	w->core = rf_core_init(malloc(rf_core_bytes(&w->cfg)), &w->cfg);
	w->grant_result = w->revoke_result = RF_FENCE_OK;
	until_role(w, RF_ROLE_ACTIVE);
	forget(w);
	*state = w;
	return 0;
}

int world_end(void **state)
{
	struct world *w = *state;

	free(w->core);
	free(w->effects.effect);
	free(w->disk);
	free(w->read);
	free(w);
	return 0;
}

void put(struct world *w, const void *data, uint32_t len)
{
	struct rf_event e = {.kind = RF_EV_ADMIN,
			     .admin = {.verb = RF_ADMIN_STATE_PUT, .data = data, .len = len}};

	forget(w);
	step(w, &e);
}
