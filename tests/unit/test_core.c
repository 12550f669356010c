/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core, alone in a small world. What the simulator's worlds do not bring about: a
 * slot that another life took, a fence that knows a newer epoch, a fencer that is gone,
 * a health check that says no.
 */
#include "core_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static uint32_t grants_while(struct world *w, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		go_on(w);
	return w->grants;
}

/* A fence without deadlines is told once. One that was away has forgotten it: told again,
 * until it has heard it; one that is dead is not asked. */
static void a_fence_that_was_away_is_told_again(void **state)
{
	struct world *w = *state;
	struct rf_event e = {.kind = RF_EV_CAN, .can = {.can = RF_FENCE_CAN_EVICT}};

	step(w, &e);
	grants_while(w, 200);
	forget(w);
	assert_int_equal(grants_while(w, 200), 0);
	e.can.can = 0;
	step(w, &e);
	assert_int_equal(grants_while(w, 200), 0);
	e.can.can = RF_FENCE_CAN_DEADLINE; /* a gate hears it with each renewal */
	step(w, &e);
	grants_while(w, 200);
	forget(w);
	e.can.can = RF_FENCE_CAN_EVICT;
	w->grant_result = RF_FENCE_FAILED;
	step(w, &e);
	until_said(w, RF_SAY_GATE_FAILED);
	step(w, &e); /* and again, while it is being told */
	w->grant_result = RF_FENCE_OK;
	assert_in_range(grants_while(w, 200), 1, 4);
	forget(w);
	assert_int_equal(grants_while(w, 200), 0);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
}

static void ends_by_the_gate(struct world *w)
{
	struct rf_core_volume v;

	until_role(w, RF_ROLE_FOLLOWER);
	rf_core_volume(w->core, 0, &v);
	assert_int_equal(v.cause, RF_CAUSE_GATE);
	assert_true(w->revokes >= 1);
	assert_int_equal(w->halts, 0);
}

/* The disks renew, but the gate hears nothing of it and has shut: nobody is served. */
static void a_leader_without_its_gate_ends(void **state)
{
	struct world *w = *state;

	w->grant_result = RF_FENCE_FAILED;
	ends_by_the_gate(w);
}

static void a_leader_whose_fencer_stays_dead_ends(void **state)
{
	struct world *w = *state;
	struct rf_event dead = {.kind = RF_EV_CAN};

	step(w, &dead);
	ends_by_the_gate(w);
}

/* Back, it refuses what it had granted, as a target does where that epoch was shut. */
static void a_fence_that_takes_nothing_back_ends_it(void **state)
{
	struct world *w = *state;
	struct rf_event e = {.kind = RF_EV_CAN, .can = {.can = RF_FENCE_CAN_EVICT}};

	step(w, &e);
	grants_while(w, 200);
	assert_int_equal(role(w), RF_ROLE_ACTIVE);
	w->grant_result = RF_FENCE_FAILED;
	step(w, &e);
	step(w, &e); /* said twice, the time is that of the first */
	ends_by_the_gate(w);
}

/* §6: told so by its fence, a superseded owner leaves the epoch sector alone. */
static void shut_by_a_newer_epoch(void **state)
{
	struct world *w = *state;
	struct rf_event e = {.kind = RF_EV_FENCE,
			     .fence = {.epoch = 1, .result = RF_FENCE_STALE}};
	struct rf_core_volume v;

	step(w, &e);
	until_role(w, RF_ROLE_FOLLOWER);
	rf_core_volume(w->core, 0, &v);
	assert_int_equal(v.cause, RF_CAUSE_SUPERSEDED);
	assert_false(w->said[RF_SAY_RELEASED]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stolen_slot_ends_this_life),
		TEST(a_ghost_in_the_slot_is_written_over),
		TEST(a_stale_grant_ends_the_leadership),
		TEST(a_failed_grant_is_told),
		TEST(a_bad_check_shows_and_keeps_from_campaigning),
		TEST(what_a_fencer_can_is_taken_over),
		TEST(a_fence_that_was_away_is_told_again),
		TEST(a_leader_without_its_gate_ends),
		TEST(a_leader_whose_fencer_stays_dead_ends),
		TEST(a_fence_that_takes_nothing_back_ends_it),
		TEST(shut_by_a_newer_epoch),
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
