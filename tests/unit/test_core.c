/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core, alone in a small world: one node, one disk in memory, a fence and hooks
 * that obey. What the simulator's worlds do not bring about: a slot that another
 * life took, a fence that knows a newer epoch, a fencer that is gone, a health
 * check that says no.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "format/timing.h"
#include "support.h"

#define STRIDE 4096u
#define PENDING_MAX 64u
#define STEPS_MAX 20000

struct world {
	struct rf_core_config cfg;
	struct rf_core *core;
	struct rf_effects effects;
	uint64_t now_ns;
	uint8_t *disk, *read;
	struct rf_effect pending[PENDING_MAX], fence[PENDING_MAX], hook[PENDING_MAX];
	uint32_t pendings, fences, hooks;
	bool cancelled; /* QUIET is due */
	uint64_t cancel_epoch;
	uint32_t grant_result, revoke_result;
	int write_status; /* of the next write; such a write does not reach the disk */
	/* heard since forget() */
	uint32_t revokes, cancels, halts, writes, halt_reason, lost_hooks;
	bool said[RF_SAY_COUNT];
};

static void forget(struct world *w)
{
	w->revokes = w->cancels = w->halts = w->writes = w->lost_hooks = 0;
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

static void step(struct world *w, struct rf_event *e)
{
	e->now_ns = w->now_ns;
	e->unix_ns = w->now_ns;
	rf_core_step(w->core, e, &w->effects);
	for (uint32_t i = 0; i < w->effects.count; i++)
		take(w, &w->effects.effect[i]);
}

/* The next thing that happens, if all obey. */
static void answer_io(struct world *w)
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

static void go_on(struct world *w)
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

static enum rf_role role(const struct world *w)
{
	struct rf_core_volume v;

	rf_core_volume(w->core, 0, &v);
	return v.role;
}

static void until_role(struct world *w, enum rf_role want)
{
	for (int i = 0; i < STEPS_MAX && role(w) != want; i++)
		go_on(w);
	assert_int_equal(role(w), want);
}

static void until_said(struct world *w, enum rf_say code)
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

static int begin(void **state)
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

static int end(void **state)
{
	struct world *w = *state;

	free(w->core);
	free(w->effects.effect);
	free(w->disk);
	free(w->read);
	free(w);
	return 0;
}

/* ---- what happens to a leader ---- */

/* §3: whose slot another life took shuts its gates, ends, and writes no more. */
static void a_stolen_slot_ends_this_life(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	uint8_t *record = w->disk + rf_geo_slot(s, 1);
	struct rf_slot slot;

	for (int i = 0; i < STEPS_MAX && !w->halts; i++) {
		/* after each of our beats the other one beats, too */
		assert_int_equal(rf_slot_decode(record, &s->id, 1, &slot), RF_RECORD_OK);
		if (slot.incarnation == w->cfg.incarnation) {
			slot.incarnation = 2000;
			slot.generation++;
			slot.seq += 5;
			rf_slot_encode(record, &s->id, 1, &slot);
		}
		w->writes = 0;
		go_on(w);
	}
	assert_int_equal(w->halts, 1);
	assert_int_equal(w->halt_reason, RF_CAUSE_STOLEN);
	assert_true(w->said[RF_SAY_STOLEN]);
	assert_int_equal(w->revokes, 1);
	assert_int_equal(w->cancels, 1);
	assert_int_equal(w->writes, 0);
	assert_int_equal(role(w), RF_ROLE_STOPPED);
	for (int i = 0; i < 100; i++) {
		w->now_ns += 100000000;
		if (w->pendings || w->fences)
			go_on(w);
		else
			step(w, &(struct rf_event){.kind = RF_EV_TICK});
	}
	assert_int_equal(w->writes, 0);
	assert_int_equal(w->halts, 1);
}

/* An older life's ghost is no theft. */
static void a_ghost_in_the_slot_is_written_over(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	uint8_t *record = w->disk + rf_geo_slot(s, 1);
	struct rf_slot slot;

	assert_int_equal(rf_slot_decode(record, &s->id, 1, &slot), RF_RECORD_OK);
	slot.incarnation = 500;
	slot.generation--;
	rf_slot_encode(record, &s->id, 1, &slot);
	w->writes = 0;
	for (int i = 0; i < STEPS_MAX && w->writes < 5; i++)
		go_on(w);
	assert_int_equal(w->halts, 0);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
	assert_int_equal(rf_slot_decode(record, &s->id, 1, &slot), RF_RECORD_OK);
	assert_int_equal(slot.incarnation, w->cfg.incarnation);
}

/* §8: the enforcement point knows a newer epoch: this leadership is over. */
static void a_stale_grant_ends_the_leadership(void **state)
{
	struct world *w = *state;

	w->grant_result = RF_FENCE_STALE;
	until_said(w, RF_SAY_SUPERSEDED);
	assert_true(role(w) == RF_ROLE_CLOSING || role(w) == RF_ROLE_FOLLOWER);
	until_role(w, RF_ROLE_FOLLOWER);
	assert_true(w->revokes >= 1);
	assert_true(w->cancels >= 1);
	assert_int_equal(w->halts, 0);
}

/* A failed renewal of an open gate is told, and the lease decides. */
static void a_failed_grant_is_told(void **state)
{
	struct world *w = *state;

	w->grant_result = RF_FENCE_FAILED;
	until_said(w, RF_SAY_GATE_FAILED);
	assert_int_equal(w->halts, 0);
	w->grant_result = RF_FENCE_OK;
	forget(w);
	for (int i = 0; i < 200; i++)
		go_on(w);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
	assert_false(w->said[RF_SAY_GATE_FAILED]);
}

static void a_bad_check_shows_and_keeps_from_campaigning(void **state)
{
	struct world *w = *state;
	struct rf_event bad = {.kind = RF_EV_HEALTH}, good = {.kind = RF_EV_HEALTH};
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct rf_core_self self;

	good.health.good = true;
	step(w, &bad);
	for (int i = 0; i < 100; i++)
		go_on(w);
	rf_core_self(w->core, &self);
	assert_true(self.health & RF_HEALTH_BARRED);
	step(w, &resign);
	until_role(w, RF_ROLE_FOLLOWER);
	for (int i = 0; i < 2000; i++) {
		go_on(w);
		assert_int_equal(role(w), RF_ROLE_FOLLOWER);
	}
	step(w, &good);
	until_role(w, RF_ROLE_ACTIVE);
	for (int i = 0; i < 100; i++)
		go_on(w); /* the next beat shows it */
	rf_core_self(w->core, &self);
	assert_false(self.health & RF_HEALTH_BARRED);
}

static void what_a_fencer_can_is_taken_over(void **state)
{
	struct world *w = *state;
	struct rf_event e = {.kind = RF_EV_CAN, .can = {.can = RF_FENCE_CAN_DRAIN}};
	struct rf_core_volume v;

	step(w, &e);
	rf_core_volume(w->core, 0, &v);
	assert_int_equal(v.can, RF_FENCE_CAN_DRAIN);
	e.can.volume = 7; /* none of ours */
	e.can.can = 0;
	step(w, &e);
	rf_core_volume(w->core, 0, &v);
	assert_int_equal(v.can, RF_FENCE_CAN_DRAIN);
}

/* Answers that belong to nothing: another epoch, another volume, another hook. */
static void answers_to_nothing_change_nothing(void **state)
{
	struct world *w = *state;
	struct rf_event events[] = {
		{.kind = RF_EV_HOOK, .hook = {.hook = RF_HOOK_RECONCILE, .epoch = 77}},
		{.kind = RF_EV_HOOK, .hook = {.hook = 99, .epoch = 1, .status = 1}},
		{.kind = RF_EV_HOOK, .hook = {.volume = 9, .hook = 1, .epoch = 1}},
		{.kind = RF_EV_QUIET, .quiet = {.epoch = 1}},
		{.kind = RF_EV_QUIET, .quiet = {.volume = 9}},
		{.kind = RF_EV_FENCE, .fence = {.volume = 9, .verb = RF_FENCE_GRANT}},
		{.kind = RF_EV_FENCE, .fence = {.verb = 99, .epoch = 1}},
		{.kind = RF_EV_FENCE,
		 .fence = {.verb = RF_FENCE_GRANT, .epoch = 5, .result = RF_FENCE_STALE}},
		{.kind = RF_EV_FENCE, .fence = {.verb = RF_FENCE_REVOKE, .epoch = 0}},
		{.kind = RF_EV_FENCE, .fence = {.verb = RF_FENCE_EVICT, .epoch = 9}},
		{.kind = RF_EV_IO, .io = {.op = 0xffffffff, .wrote = true}},
		{.kind = RF_EV_IO, .io = {.op = 0}},
		{.kind = RF_EV_IO_LATE, .io = {.op = 12345}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN, .volume = 9}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_HANDOVER, .node = 9}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = 99}},
		{.kind = RF_EV_HOOK, .hook = {.hook = 0, .epoch = 1, .status = 1}},
		{.kind = RF_EV_HOOK,
		 .hook = {.hook = RF_HOOK_RECONCILE, .epoch = 1, .status = 1}},
		{.kind = RF_EV_FENCE, .fence = {.verb = 0, .epoch = 7}},
		{.kind = RF_EV_FENCE,
		 .fence = {.verb = RF_FENCE_GRANT, .epoch = 1, .result = 99}},
		{.kind = RF_EV_FENCE, .fence = {.verb = RF_FENCE_REVOKE, .epoch = 1}},
		{.kind = RF_EV_IO, .io = {.op = 0xffff0001}},
		{.kind = RF_EV_IO, .io = {.op = 1}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_HANDOVER, .node = 1}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_HANDOVER, .node = 0}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_STATE_PUT, .volume = 9}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_STATE_PUT, .len = 1u << 30}},
		{.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_STATE_PUT, .len = 5}},
		{.kind = RF_EV_MESSAGE, .message = {.from = 0}},
		{.kind = RF_EV_MESSAGE, .message = {.from = 1}},
		{.kind = RF_EV_MESSAGE, .message = {.from = 200}},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		step(w, &events[i]);
		assert_int_equal(role(w), RF_ROLE_ACTIVE);
		assert_int_equal(w->revokes + w->cancels + w->halts, 0);
	}
	for (int i = 0; i < 200; i++)
		go_on(w);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
}

/* §2.2, A4: what never left the host may be written again at once; what failed
 * somewhere else may still land. Either way the leadership goes on. */
static void failed_writes_are_survived(void **state)
{
	static const int failures[] = {EBUSY, EAGAIN, ENODEV,    EBADF, EROFS,
				       EPERM, EINVAL, ECANCELED, EIO};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		uint64_t until = w->now_ns + 300000000;

		forget(w);
		w->write_status = -failures[i];
		while (w->now_ns < until)
			go_on(w);
		assert_int_equal(w->write_status, 0);
		assert_int_equal(role(w), RF_ROLE_ACTIVE);
		/* three beats: one lost, and with an error the record rests for the grace */
		assert_true(w->writes >= (failures[i] == EIO ? 2 : 3));
	}
}

/* §8: CLOSED only when drained. A drain that fails is tried again and told once;
 * STALE proves that only a newer epoch is admitted. */
static void a_drain_is_tried_until_it_is_done(void **state)
{
	struct world *w = *state;
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct rf_event odd[] = {
		{.kind = RF_EV_FENCE, .fence = {.verb = 0, .epoch = 1}},
		{.kind = RF_EV_FENCE, .fence = {.verb = RF_FENCE_REVOKE, .epoch = 9}},
		{.kind = RF_EV_FENCE, .fence = {.verb = RF_FENCE_GRANT, .epoch = 1}},
		{.kind = RF_EV_QUIET, .quiet = {.epoch = 9}},
	};

	w->revoke_result = RF_FENCE_FAILED;
	step(w, &resign);
	until_said(w, RF_SAY_UNDRAINED);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		step(w, &odd[i]);
	for (int i = 0; i < 200; i++)
		go_on(w);
	assert_int_equal(role(w), RF_ROLE_CLOSING);
	assert_true(w->revokes > 2);
	w->revoke_result = RF_FENCE_STALE;
	until_said(w, RF_SAY_DRAINED);
	odd[1].fence.epoch = 1;
	step(w, &odd[1]); /* said twice: nothing more to do */
	until_role(w, RF_ROLE_FOLLOWER);
}

/* §8 reconcile: what an earlier leader left undone can be ended there, durably. */
static void a_state_is_put_while_reconciling(void **state)
{
	struct world *w = *state;
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct rf_event put = {.kind = RF_EV_ADMIN,
			       .admin = {.verb = RF_ADMIN_STATE_PUT,
					 .data = (const uint8_t *)"done",
					 .len = 4}};

	step(w, &put);
	until_said(w, RF_SAY_STATE_COMMITTED);
	step(w, &resign);
	until_role(w, RF_ROLE_FOLLOWER);
	forget(w);
	step(w, &put); /* this node leads no more */
	assert_true(w->said[RF_SAY_STATE_REFUSED]);
	until_role(w, RF_ROLE_RECONCILING);
	forget(w);
	step(w, &put);
	until_said(w, RF_SAY_STATE_COMMITTED); /* the hook has not been answered yet */
	assert_int_equal(role(w), RF_ROLE_RECONCILING);
	until_role(w, RF_ROLE_ACTIVE);
}

/* An operator's pause, a shutdown: a claim under way ends, nothing is led. */
static void a_claim_ends_when_it_is_not_wanted(void **state)
{
	struct world *w = *state;
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct rf_event pause = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_PAUSE}};
	struct rf_event resume = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESUME}};
	struct rf_event leave = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_SHUTDOWN}};

	step(w, &resign);
	until_role(w, RF_ROLE_FOLLOWER);
	until_role(w, RF_ROLE_CLAIMING);
	step(w, &pause);
	until_said(w, RF_SAY_CAMPAIGN_OVER);
	assert_int_equal(role(w), RF_ROLE_FOLLOWER);
	step(w, &resume);
	until_role(w, RF_ROLE_CLAIMING);
	step(w, &leave);
	until_said(w, RF_SAY_LEFT);
	assert_int_equal(w->halts, 1);
	/* the kernel may still answer, and time may pass: nothing comes of it */
	forget(w);
	while (w->pendings)
		answer_io(w);
	step(w, &resign);
	assert_int_equal(w->effects.count, 0);
}

/* What status and metrics see of this node itself. */
static void a_node_shows_itself(void **state)
{
	struct world *w = *state;
	struct rf_core_peer me;
	struct rf_core_volume v;
	struct rf_event plain = {.kind = RF_EV_TICK, .now_ns = w->now_ns};

	rf_core_peer(w->core, 1, &me);
	assert_int_equal(me.state, RF_SLOT_JOINED);
	assert_int_equal(me.incarnation, w->cfg.incarnation);
	assert_true(rf_bit_get(me.gate_open, 0) && rf_bit_get(me.hears, 0));
	assert_string_equal(me.host, w->cfg.host);
	assert_string_equal(rf_core_holder(w->core), w->cfg.host);
	rf_core_volume(w->core, 0, &v);
	assert_int_equal(v.owner, 1);
	assert_true(v.has_leader && v.lease_ns > w->now_ns && !v.unreadable);
	rf_core_step(w->core, &plain, &w->effects); /* a caller without a wall clock */
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
}

/* ---- states ---- */

static void put(struct world *w, const void *data, uint32_t len)
{
	struct rf_event e = {.kind = RF_EV_ADMIN,
			     .admin = {.verb = RF_ADMIN_STATE_PUT, .data = data, .len = len}};

	forget(w);
	step(w, &e);
}

/* One state is written at a time; an empty one is a state, too. */
static void states_are_put_one_by_one(void **state)
{
	struct world *w = *state;

	put(w, "first", 5);
	assert_false(w->said[RF_SAY_STATE_REFUSED]);
	put(w, "second", 6);
	assert_true(w->said[RF_SAY_STATE_REFUSED]);
	until_said(w, RF_SAY_STATE_COMMITTED);
	put(w, NULL, 0);
	assert_false(w->said[RF_SAY_STATE_REFUSED]);
	until_said(w, RF_SAY_STATE_COMMITTED);
}

/* ---- the end ---- */

/* A good mailbox of another area: this one was formatted under the daemon. */
static void a_format_ends_this_life(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	const struct rf_mailbox mail = {.order = RF_ORDER_NONE};
	struct rf_area_id other = s->id;

	other.area[0] ^= 1;
	rf_mailbox_encode(w->disk + rf_geo_mailbox(s, 1), &other, 1, &mail);
	until_said(w, RF_SAY_FORMATTED);
	assert_int_equal(w->halts, 1);
	assert_int_equal(w->revokes, 1);
}

/* What comes after it changes nothing, and nothing is asked for any more. */
static void nothing_follows_the_end(void **state)
{
	struct world *w = *state;
	struct rf_event e = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_SHUTDOWN}};

	step(w, &e);
	for (int i = 0; i < STEPS_MAX && !w->halts; i++)
		go_on(w);
	assert_int_equal(w->halts, 1);
	for (uint32_t kind = RF_EV_TICK; kind <= RF_EV_LAST; kind++) {
		struct rf_event late = {.kind = (enum rf_event_kind)kind};

		w->now_ns += 1000000;
		step(w, &late);
		assert_int_equal(w->effects.count, 0);
	}
	assert_true(rf_core_wake_ns(w->core) == UINT64_MAX);
}

/* Any seed will do, also the one that would leave the generator at zero. */
static void every_seed_is_a_seed(void **state)
{
	struct world *w = *state;
	struct rf_core *other;
	struct rf_core_peer me;

	w->cfg.seed = 0x9e3779b97f4a7c15ull;
	other = rf_core_init(malloc(rf_core_bytes(&w->cfg)), &w->cfg);
	rf_core_peer(other, 1, &me);
	assert_int_equal(me.state, RF_SLOT_FREE); /* it has said nothing yet */
	assert_true(rf_core_wake_ns(other) > w->cfg.now_ns);
	free(other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stolen_slot_ends_this_life),
		TEST(a_ghost_in_the_slot_is_written_over),
		TEST(a_stale_grant_ends_the_leadership),
		TEST(a_failed_grant_is_told),
		TEST(a_bad_check_shows_and_keeps_from_campaigning),
		TEST(what_a_fencer_can_is_taken_over),
		TEST(answers_to_nothing_change_nothing),
		TEST(failed_writes_are_survived),
		TEST(a_drain_is_tried_until_it_is_done),
		TEST(a_state_is_put_while_reconciling),
		TEST(a_claim_ends_when_it_is_not_wanted),
		TEST(a_node_shows_itself),
		TEST(states_are_put_one_by_one),
		TEST(a_format_ends_this_life),
		TEST(nothing_follows_the_end),
		TEST(every_seed_is_a_seed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
