/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When is a life of a node certainly over? Readings of a slot, and what follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../tools/victim.h"
#include "format/assert.h"
#include "format/timing.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	printf("%s at %s:%d\n", what, file, line);
	abort();
}

#define LIFE 0x1234u
#define MS RF_MS_NS

static struct rf_timing fast(void)
{
	struct rf_timing t;

	assert_true(rf_timing_profile("fast", &t));
	return t;
}

static struct rf_slot slot(uint64_t seq)
{
	struct rf_slot s = {.seq = seq, .incarnation = LIFE, .state = RF_SLOT_JOINED};

	rf_bit_set(s.gate_open, 0, true);
	return s;
}

static struct victim begun(uint64_t seq, uint64_t at_ns)
{
	struct rf_timing t = fast();
	struct rf_slot s = slot(seq);
	struct victim v;

	victim_begin(&v, &t, &s, 7, at_ns);
	return v;
}

/* A reading that took no time. */
static enum victim_way look(struct victim *v, const struct rf_slot *s, uint64_t ms)
{
	return victim_look(v, s, ms * MS, ms * MS);
}

/* (lease + hold)(1 + 1 %) + grace: a leader may renew late within the hold time */
static void expiry_covers_lease_hold_and_grace(void **state)
{
	struct rf_timing t = fast();

	(void)state;
	assert_int_equal(victim_expiry_ns(&t), 1715 * MS);
	assert_true(victim_expiry_ns(&t) > rf_timing_expiry_ns(&t));
}

static void unmoved_for_long_enough(void **state)
{
	struct victim v = begun(10, 1000 * MS);
	struct rf_slot s = slot(10);

	(void)state;
	assert_int_equal(look(&v, &s, 2714), VICTIM_WAITING);
	/* begun before the time was up: may show an earlier state */
	assert_int_equal(victim_look(&v, &s, 2714 * MS, 9000 * MS), VICTIM_WAITING);
	assert_int_equal(look(&v, &s, 2715), VICTIM_EXPIRED);
}

static void every_move_begins_anew(void **state)
{
	struct victim v = begun(10, 1000 * MS);
	struct rf_slot s = slot(11);

	(void)state;
	/* counted from the end of the reading that showed it first (§2.4) */
	assert_int_equal(victim_look(&v, &s, 2000 * MS, 2500 * MS), VICTIM_WAITING);
	assert_int_equal(look(&v, &s, 4214), VICTIM_WAITING);
	assert_int_equal(look(&v, &s, 4215), VICTIM_EXPIRED);
	/* also backwards: a disk that missed a write */
	s.seq = 10;
	assert_int_equal(look(&v, &s, 9000), VICTIM_WAITING);
}

static void answered_only_by_that_life_with_gates_shut(void **state)
{
	struct victim v = begun(10, 0);
	struct rf_slot s = slot(11);

	(void)state;
	s.order_seq = 7;
	s.health = RF_HEALTH_STOPPED;
	assert_int_equal(look(&v, &s, 1), VICTIM_WAITING); /* a gate is open */
	rf_bit_set(s.gate_open, 0, false);
	rf_bit_set(s.gate_open, 200, true);
	assert_int_equal(look(&v, &s, 2), VICTIM_WAITING);
	rf_bit_set(s.gate_open, 200, false);
	s.order_seq = 6;
	assert_int_equal(look(&v, &s, 3), VICTIM_WAITING); /* another order */
	s.order_seq = 7;
	s.health = 0;
	assert_int_equal(look(&v, &s, 4), VICTIM_WAITING); /* not stopped */
	s.health = RF_HEALTH_STOPPED;
	s.incarnation++;
	assert_int_equal(look(&v, &s, 5), VICTIM_WAITING); /* another life */
	s.incarnation--;
	assert_int_equal(look(&v, &s, 6), VICTIM_ANSWERED);
}

static void left_cleanly(void **state)
{
	struct victim v = begun(10, 0);
	struct rf_slot s = slot(11);

	(void)state;
	rf_bit_set(s.gate_open, 0, false);
	s.state = RF_SLOT_FREE;
	assert_int_equal(look(&v, &s, 1), VICTIM_LEFT);
	s.incarnation++; /* somebody else left */
	assert_int_equal(look(&v, &s, 2), VICTIM_WAITING);
}

/* CASES 18: the next life neither shortens nor cancels the wait for the old one. */
static void a_later_life(void **state)
{
	struct victim v = begun(10, 0);
	struct rf_slot s = slot(5000);

	(void)state;
	s.incarnation++;
	rf_bit_set(s.gate_open, 0, false);
	assert_int_equal(look(&v, &s, 1700), VICTIM_WAITING);
	assert_true(v.later);
	s.seq++; /* it lives; that says nothing of the old one */
	assert_int_equal(look(&v, &s, 1715), VICTIM_WAITING);
	assert_int_equal(look(&v, &s, 3414), VICTIM_WAITING);
	assert_int_equal(look(&v, &s, 3415), VICTIM_EXPIRED);
}

/* A ghost of the old life over the new one's slot: it moved once more. */
static void a_ghost_of_the_old_life(void **state)
{
	struct victim v = begun(10, 0);
	struct rf_slot old = slot(11), new = slot(5000);

	(void)state;
	new.incarnation++;
	assert_int_equal(look(&v, &new, 100), VICTIM_WAITING);
	assert_int_equal(look(&v, &old, 1000), VICTIM_WAITING);
	assert_int_equal(look(&v, &old, 2714), VICTIM_WAITING);
	assert_int_equal(look(&v, &new, 2714), VICTIM_WAITING);
	assert_int_equal(look(&v, &new, 4428), VICTIM_WAITING);
	assert_int_equal(look(&v, &new, 4429), VICTIM_EXPIRED);
}

static void a_gate_that_does_not_drain(void **state)
{
	struct victim v = begun(10, 0);
	struct rf_slot s = slot(11);

	(void)state;
	s.health = RF_HEALTH_STOPPED | RF_HEALTH_UNDRAINED;
	assert_int_equal(look(&v, &s, 1), VICTIM_WAITING);
	assert_true(v.drains_not);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expiry_covers_lease_hold_and_grace),
		cmocka_unit_test(unmoved_for_long_enough),
		cmocka_unit_test(every_move_begins_anew),
		cmocka_unit_test(answered_only_by_that_life_with_gates_shut),
		cmocka_unit_test(left_cleanly),
		cmocka_unit_test(a_later_life),
		cmocka_unit_test(a_ghost_of_the_old_life),
		cmocka_unit_test(a_gate_that_does_not_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
