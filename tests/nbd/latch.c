/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latch alone, under threads (latch.h): what a change of epoch promises. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../fence/nbd/latch.h"

#define WRITERS 6
#define EPOCHS 60u

static struct rf_latch latch;
static int fd;

static int setup(void **state)
{
	char path[] = "/tmp/rf-latch.XXXXXX";

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	return rf_latch_init(&latch);
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	rf_latch_destroy(&latch);
	return 0;
}

static struct rf_owner owner(uint64_t epoch, uint32_t node, uint64_t incarnation)
{
	return (struct rf_owner){.epoch = epoch, .node = node, .incarnation = incarnation};
}

static void test_judge(void **state)
{
	struct rf_latch_view v = {.state = RF_LATCH_IDLE, .owner = owner(5, 0, 0)};
	struct rf_owner same = owner(5, 1, 7), older = owner(4, 1, 7), newer = owner(6, 1, 7);
	struct rf_owner life = owner(5, 1, 8), node = owner(5, 2, 7);

	(void)state;
	assert_int_equal(rf_latch_judge(&v, &older), RF_LATCH_STALE);
	assert_int_equal(rf_latch_judge(&v, &same), RF_LATCH_NEWER); /* the floor itself */
	assert_int_equal(rf_latch_judge(&v, &newer), RF_LATCH_NEWER);
	v = (struct rf_latch_view){.state = RF_LATCH_SERVING, .owner = same};
	assert_int_equal(rf_latch_judge(&v, &older), RF_LATCH_STALE);
	assert_int_equal(rf_latch_judge(&v, &same), RF_LATCH_SAME);
	assert_int_equal(rf_latch_judge(&v, &life), RF_LATCH_OTHER);
	assert_int_equal(rf_latch_judge(&v, &node), RF_LATCH_OTHER);
	assert_int_equal(rf_latch_judge(&v, &newer), RF_LATCH_NEWER);
	v.state = RF_LATCH_ENDED;
	assert_int_equal(rf_latch_judge(&v, &same), RF_LATCH_OVER);
	assert_int_equal(rf_latch_judge(&v, &life), RF_LATCH_OTHER);
	assert_int_equal(rf_latch_judge(&v, &newer), RF_LATCH_NEWER);
}

static enum rf_latch_verdict move(struct rf_owner o, enum rf_latch_state to, int *error)
{
	return rf_latch_move(&latch, &o, to, fd, error);
}

static void test_move(void **state)
{
	struct rf_owner a = owner(3, 1, 7), b = owner(4, 2, 8);
	int error;

	(void)state;
	assert_false(rf_latch_enter(&latch, &a));
	assert_int_equal(move(a, RF_LATCH_SERVING, &error), RF_LATCH_SAME);
	assert_true(rf_latch_enter(&latch, &a));
	rf_latch_leave(&latch);
	assert_int_equal(move(owner(3, 1, 8), RF_LATCH_SERVING, &error), RF_LATCH_OTHER);
	assert_int_equal(move(owner(3, 2, 7), RF_LATCH_ENDED, &error), RF_LATCH_OTHER);
	assert_int_equal(move(owner(2, 1, 7), RF_LATCH_SERVING, &error), RF_LATCH_STALE);
	assert_int_equal(move(owner(2, 1, 7), RF_LATCH_ENDED, &error), RF_LATCH_SAME);
	assert_true(rf_latch_enter(&latch, &a)); /* none of these touched it */
	rf_latch_leave(&latch);
	assert_int_equal(move(a, RF_LATCH_ENDED, &error), RF_LATCH_SAME);
	assert_false(rf_latch_enter(&latch, &a));
	assert_int_equal(move(a, RF_LATCH_SERVING, &error), RF_LATCH_OVER);
	assert_int_equal(move(a, RF_LATCH_ENDED, &error), RF_LATCH_SAME);
	assert_int_equal(move(b, RF_LATCH_SERVING, &error), RF_LATCH_SAME);
	assert_true(rf_latch_enter(&latch, &b));
	rf_latch_leave(&latch);
	assert_int_equal(rf_latch_look(&latch).owner.epoch, 4);
}

/* Older writes that are not durable: the newer one is not let in, and the
 * older one does not go on. */
static void test_sync_fails(void **state)
{
	struct rf_owner a = owner(3, 1, 7), b = owner(4, 2, 8);
	int error;

	(void)state;
	assert_int_equal(move(a, RF_LATCH_SERVING, &error), RF_LATCH_SAME);
	rf_latch_move(&latch, &b, RF_LATCH_SERVING, -1, &error);
	assert_true(error < 0);
	assert_false(rf_latch_enter(&latch, &a));
	assert_false(rf_latch_enter(&latch, &b));
	assert_int_equal(move(a, RF_LATCH_SERVING, &error), RF_LATCH_OVER);
	assert_int_equal(move(b, RF_LATCH_SERVING, &error), RF_LATCH_SAME);
	assert_int_equal(error, 0);
	assert_true(rf_latch_enter(&latch, &b));
	rf_latch_leave(&latch);
}

/* ---- threads ---- */

static atomic_uint in_flight[EPOCHS + 2]; /* writes inside, by epoch */
static atomic_bool over;

/* Writes of all epochs at once, long enough to overlap always: with a lock that
 * prefers readers no change of epoch would ever come through. */
static void *writer(void *arg)
{
	struct timespec nap = {.tv_nsec = 300000};
	unsigned at = (unsigned)(uintptr_t)arg, i;

	for (i = at; !atomic_load(&over); i++) {
		uint64_t now = rf_latch_look(&latch).owner.epoch;
		uint64_t epoch = now + 1 - i % 3; /* one ahead, now, one behind */
		struct rf_owner o = owner(epoch, 1, epoch);

		if (epoch > EPOCHS + 1 || !rf_latch_enter(&latch, &o))
			continue;
		atomic_fetch_add(&in_flight[epoch], 1);
		nanosleep(&nap, NULL);
		atomic_fetch_sub(&in_flight[epoch], 1);
		rf_latch_leave(&latch);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[WRITERS];
	unsigned i, k;
	int error;

	(void)state;
	atomic_store(&over, false);
	for (i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, writer, (void *)(uintptr_t)i);
	for (i = 1; i <= EPOCHS; i++) {
		struct rf_owner o = owner(i, 1, i);

		assert_int_equal(move(o, RF_LATCH_SERVING, &error), RF_LATCH_SAME);
		for (k = 0; k < i; k++)
			assert_int_equal(atomic_load(&in_flight[k]), 0);
		if (i % 4)
			continue;
		assert_int_equal(move(o, RF_LATCH_ENDED, &error), RF_LATCH_SAME);
		for (k = 0; k <= i; k++)
			assert_int_equal(atomic_load(&in_flight[k]), 0);
	}
	atomic_store(&over, true);
	for (i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		T(test_move),
		T(test_sync_fails),
		T(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
