/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core, alone in a small world. What should not be there: torn states, answers that
 * come too late or to nothing, more to say than there is room for.
 */
#include "core_world.h"

#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

/* Torn in the record or behind it: such a put was never acknowledged, the one before was. */
static void a_torn_state_is_not_loaded(void **state)
{
	static const uint32_t torn_at[] = {40, RF_RECORD_BYTES + 2};
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	struct rf_core_volume v;
	struct rf_state half[2];

	for (size_t i = 0; i < sizeof(torn_at) / sizeof(torn_at[0]); i++) {
		put(w, "first", 5);
		until_said(w, RF_SAY_STATE_COMMITTED);
		put(w, "second", 6);
		until_said(w, RF_SAY_STATE_COMMITTED);
		for (uint32_t h = 0; h < 2; h++)
			assert_int_equal(rf_state_decode(w->disk + rf_geo_state(s, 0, 1, h),
							 &s->id, 0, 1, h, &half[h]),
					 RF_RECORD_OK);
		w->disk[rf_geo_state(s, 0, 1, half[1].version > half[0].version) +
			torn_at[i]] ^= 1;
		step(w, &resign);
		until_role(w, RF_ROLE_FOLLOWER);
		until_role(w, RF_ROLE_ACTIVE);
		rf_core_volume(w->core, 0, &v);
		assert_int_equal(v.state_bytes, 5);
		assert_memory_equal(v.state, "first", 5);
	}
}

/* ---- what nobody should see ---- */

/* §1: a released epoch is never mine again, whoever wrote that: no renewal. */
static void a_released_sector_is_no_renewal(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	struct rf_epoch e;

	assert_int_equal(rf_epoch_decode(w->disk + rf_geo_region(s, 0), &s->id, 0, &e),
			 RF_RECORD_OK);
	e.state = RF_EPOCH_RELEASED;
	rf_epoch_encode(w->disk + rf_geo_region(s, 0), &s->id, 0, &e);
	until_said(w, RF_SAY_LEASE_HELD);
	until_said(w, RF_SAY_LOSING);
	assert_false(w->said[RF_SAY_SUPERSEDED]);
}

/* §3: what was left by a life that died while it joined is far behind; one who lives keeps
 * up with this node's sequence. */
static void an_old_slot_of_a_later_life_is_no_theft(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	uint8_t *record = w->disk + rf_geo_slot(s, 1);
	struct rf_slot slot;

	w->writes = 0;
	while (w->writes < 50)
		go_on(w);
	assert_int_equal(rf_slot_decode(record, &s->id, 1, &slot), RF_RECORD_OK);
	slot.incarnation = 500;
	slot.generation++;
	slot.seq -= 20;
	rf_slot_encode(record, &s->id, 1, &slot);
	w->writes = 0;
	for (int i = 0; i < STEPS_MAX && w->writes < 5; i++)
		go_on(w);
	assert_int_equal(w->halts, 0);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
}

/* Told to stop: it does not campaign until it is restarted. */
static void one_that_was_stopped_does_not_campaign(void **state)
{
	struct world *w = *state;
	const struct rf_super *s = &w->cfg.super;
	const struct rf_mailbox mail = {.order = RF_ORDER_STOP,
					.seq = 1,
					.from = 1,
					.incarnation = w->cfg.incarnation,
					.unix_ns = 1};

	rf_mailbox_encode(w->disk + rf_geo_mailbox(s, 1), &s->id, 1, &mail);
	until_role(w, RF_ROLE_FOLLOWER);
	for (int i = 0; i < 2000; i++) {
		go_on(w);
		assert_int_equal(role(w), RF_ROLE_FOLLOWER);
	}
}

/* A hook that nobody asked for ends nothing; a campaign ends when this node leaves. */
static void a_candidate_leaves(void **state)
{
	struct rf_event odd = {.kind = RF_EV_HOOK, .hook = {.hook = RF_HOOK_PROMOTE}};
	struct rf_event resign = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_RESIGN}};
	struct rf_event leave = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_SHUTDOWN}};
	struct rf_core_volume v;
	struct world *w = *state;

	step(w, &resign);
	until_role(w, RF_ROLE_RECONCILING);
	rf_core_volume(w->core, 0, &v);
	odd.hook.epoch = v.epoch;
	step(w, &odd);
	assert_int_equal(role(w), RF_ROLE_RECONCILING);
	step(w, &resign);
	until_role(w, RF_ROLE_CANDIDATE);
	step(w, &leave);
	assert_int_equal(role(w), RF_ROLE_FOLLOWER);
	until_said(w, RF_SAY_LEFT);
}

static void a_priority_is_changed_at_work(void **state)
{
	struct rf_event e = {.kind = RF_EV_ADMIN,
			     .admin = {.verb = RF_ADMIN_PRIORITY, .node = 7}};
	struct world *w = *state;
	struct rf_core_peer me;

	step(w, &e);
	rf_core_peer(w->core, 1, &me);
	assert_int_equal(me.priority, 7);
}

/* An answer after hours, and one to an operation of the same place that is over. */
static void late_answers_are_borne(void **state)
{
	struct world *w = *state;
	struct rf_event odd = {.kind = RF_EV_IO};
	struct rf_core_self self;

	while (!w->pendings)
		go_on(w);
	odd.io.op = w->pending[0].io.op ^ 0x10000;
	step(w, &odd);
	assert_int_equal(w->halts, 0);
	w->now_ns += 7200ull * 1000000000;
	answer_io(w);
	rf_core_self(w->core, &self);
	assert_int_equal(self.worst_us, UINT32_MAX);
}

/* Saying and sending are never worth more than acting: above their share both end. */
static void what_is_said_and_sent_is_bounded(void **state)
{
	struct world *w = *state;
	struct rf_msg m = {.kind = RF_WIRE_CLOSED, .closed = {.epoch = 1}};
	struct rf_core *c = w->core;

	c->count = c->says = 0;
	for (uint32_t i = 0; i < c->say_max + 9; i++)
		rf_emit_say(c, NULL, RF_SAY_LEFT, 0, 0, 0, 0);
	assert_int_equal(c->count, c->say_max);
	c->count = 0;
	c->arena_used = 0;
	for (uint32_t i = 0; i < c->arena_max; i++)
		rf_emit_send(c, 0, &m);
	assert_true(c->count > 4 && c->arena_used <= c->arena_max);
	c->count = 0;
}

/* ---- a life that begins after one that crashed ---- */

static void begin_again(struct world *w, uint32_t can)
{
	w->cfg.incarnation++;
	w->cfg.crashed = true;
	w->cfg.can[0] = can;
	w->cfg.now_ns = w->now_ns;
	w->pendings = w->fences = w->hooks = 0;
	w->cancelled = false;
	free(w->core);
	w->core = rf_core_init(malloc(rf_core_bytes(&w->cfg)), &w->cfg);
	forget(w);
}

/* §2.5: promises that could not be read at the start are none of this life, though the
 * record is good again; and that is shown. */
static void unreadable_promises_are_shown(void **state)
{
	struct world *w = *state;
	uint8_t *ballot = w->disk + rf_geo_ballot(&w->cfg.super, 0, 1);
	struct rf_core_volume v;

	*ballot ^= 1;
	begin_again(w, RF_FENCE_CAN_DEADLINE);
	until_said(w, RF_SAY_JOINED);
	*ballot ^= 1;
	for (int i = 0; i < 2000; i++) {
		go_on(w);
		rf_core_volume(w->core, 0, &v);
		assert_true(v.unreadable);
		assert_int_equal(v.role, RF_ROLE_FOLLOWER);
	}
}

/* §3: STALE proves as much as OK that no gate of the earlier life passes anything. */
static void gates_of_an_earlier_life_may_be_stale(void **state)
{
	struct rf_event odd = {.kind = RF_EV_FENCE,
			       .fence = {.verb = RF_FENCE_REVOKE, .epoch = 3}};
	struct rf_event tick = {.kind = RF_EV_TICK};
	struct world *w = *state;

	begin_again(w, RF_FENCE_CAN_DEADLINE);
	w->revoke_result = RF_FENCE_STALE;
	while (!w->fences)
		go_on(w);
	step(w, &odd);           /* not of this one */
	w->now_ns += 1000000000; /* slow, but it is asked once at a time */
	step(w, &tick);
	assert_int_equal(w->fences, 1);
	until_said(w, RF_SAY_JOINED);
	assert_false(w->said[RF_SAY_UNDRAINED]);
	until_role(w, RF_ROLE_ACTIVE);
}

/* What would give rights is withheld when they are lost in the same step. */
static void no_eviction_for_a_leadership_that_ends(void **state)
{
	struct rf_event failed = {
		.kind = RF_EV_FENCE,
		.fence = {.verb = RF_FENCE_EVICT, .epoch = 2, .result = RF_FENCE_FAILED}};
	struct rf_event leave = {.kind = RF_EV_ADMIN, .admin = {.verb = RF_ADMIN_SHUTDOWN}};
	struct world *w = *state;

	begin_again(w, RF_FENCE_CAN_EVICT);
	until_role(w, RF_ROLE_EXCLUDING);
	for (int round = 0; round < 2; round++) { /* the sector alone is written */
		for (uint32_t i = 0; i < w->pendings; i++)
			if (w->pending[i].io.write_len && !w->pending[i].io.read_len) {
				struct rf_effect sector = w->pending[i];

				w->pending[i] = w->pending[w->pendings - 1];
				w->pending[w->pendings - 1] = sector;
				answer_io(w);
				break;
			}
		w->fences = 0;
		if (round)
			continue;
		failed.fence.epoch = 1; /* of an earlier epoch: says nothing of this one */
		step(w, &failed);
		assert_false(w->said[RF_SAY_EVICT_FAILED]);
		failed.fence.epoch = 2;
		step(w, &failed);
	}
	assert_true(w->said[RF_SAY_EVICT_FAILED]);
	w->now_ns += 2ull * w->cfg.super.timing.heartbeat_ms * RF_MS_NS;
	step(w, &leave);
	assert_int_equal(w->fences, 1);
	assert_int_equal(w->fence[0].kind, RF_DO_REVOKE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_torn_state_is_not_loaded),
		TEST(a_released_sector_is_no_renewal),
		TEST(an_old_slot_of_a_later_life_is_no_theft),
		TEST(one_that_was_stopped_does_not_campaign),
		TEST(a_candidate_leaves),
		TEST(a_priority_is_changed_at_work),
		TEST(late_answers_are_borne),
		TEST(what_is_said_and_sent_is_bounded),
		TEST(unreadable_promises_are_shown),
		TEST(gates_of_an_earlier_life_may_be_stale),
		TEST(no_eviction_for_a_leadership_that_ends),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
