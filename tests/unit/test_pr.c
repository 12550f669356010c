/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservations against a simulated target (pr_target.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pr_target.h"

#define TAG 0x77
#define GRACE_MS 500u

static uint64_t key(uint32_t node, uint64_t epoch)
{
	return rf_pr_key(TAG, node, epoch);
}

/* ---- hosts ---- */

static struct host a, b, c;

static void host_start(struct host *h, uint32_t node, unsigned first, unsigned paths)
{
	*h = (struct host){.first = first, .paths = paths, .born = 1};
	h->pr = (struct rf_pr){.ops = &sim_ops,
			       .dev = h,
			       .node = node,
			       .tag = TAG,
			       .grace_ms = GRACE_MS,
			       .fresh_ms = 5000};
}

static int begin(void **state)
{
	(void)state;
	sim_begin();
	host_start(&a, 1, 0, 1);
	host_start(&b, 2, 4, 1);
	host_start(&c, 3, 8, 2);
	return 0;
}

static enum rf_fence_result take_only(struct host *h, uint64_t epoch)
{
	memset(&h->a, 0, sizeof(h->a));
	h->a.result = RF_FENCE_FAILED;
	rf_pr_take(&h->pr, epoch, &h->a);
	return h->a.result;
}

/* As the fencer does: the next look, soon after, settles the key. */
static enum rf_fence_result take(struct host *h, uint64_t epoch)
{
	enum rf_fence_result result = take_only(h, epoch);
	unsigned commands = h->pr.commands;
	struct rf_pr_answer ignored = {0};

	if (result == RF_FENCE_OK && h->pr.held & RF_PR_UNSETTLED)
		rf_pr_check(&h->pr, &ignored);
	h->pr.commands = commands;
	return result;
}

static bool check(struct host *h)
{
	memset(&h->a, 0, sizeof(h->a));
	return rf_pr_check(&h->pr, &h->a);
}

static bool may_write(const struct host *h)
{
	for (unsigned i = 0; i < h->paths; i++)
		if (t.holder >= 0 && !t.key[h->first + i])
			return false;
	return true;
}

static void assert_rules(const struct host *h, uint64_t epoch)
{
	assert_true(t.holder >= 0);
	assert_int_equal(t.key[t.holder], key(h->pr.node, epoch));
	assert_int_equal(t.type, RF_PR_REGISTRANTS_ONLY);
	for (unsigned i = 0; i < NEXUS_MAX; i++)
		assert_true(!t.key[i] || t.key[i] == key(h->pr.node, epoch));
	assert_true(may_write(h));
}

/* ---- takeovers ---- */

static void first_leader(void **state)
{
	(void)state;
	assert_int_equal(take(&a, 5), RF_FENCE_OK);
	assert_non_null(strstr(a.a.text, "nothing was reserved"));
	assert_rules(&a, 5);
	assert_false(may_write(&b));
	assert_int_equal(take(&a, 5), RF_FENCE_OK); /* again: nothing is sent */
	assert_int_equal(a.pr.commands, 5); /* look, register, reserve, look, wait, look */
}

/* The number in the issue: register, preempt and abort, one look. */
static void budget(void **state)
{
	(void)state;
	take(&a, 5);
	assert_false(check(&b)); /* what a follower does once a second */
	t.in_flight[0] = true;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_int_equal(b.pr.commands, 3);
	assert_non_null(strstr(b.a.text, "commands=3"));
	assert_rules(&b, 6);
	assert_false(t.in_flight[0]);
	assert_false(may_write(&a));
}

static void old_look(void **state)
{
	(void)state;
	take(&a, 5);
	check(&b);
	take(&a, 7); /* the look of b is wrong by now: it names a key that is gone */
	assert_int_equal(take(&b, 8), RF_FENCE_OK);
	assert_rules(&b, 8);
	t.now_ms += 5000; /* and too old by now: looked at afresh */
	assert_int_equal(take(&a, 9), RF_FENCE_OK);
	assert_rules(&a, 9);
}

static void key_moves_in_place(void **state)
{
	(void)state;
	take(&c, 5);
	assert_int_equal(take(&c, 9), RF_FENCE_OK);
	assert_int_equal(c.pr.commands, 3); /* two paths, one look; no hole between */
	assert_rules(&c, 9);
}

/* A new process knows nothing; what the last one registered is on the target. */
static void after_restart(void **state)
{
	(void)state;
	take(&c, 5);
	host_start(&c, 3, 8, 2);
	assert_int_equal(take(&c, 6), RF_FENCE_OK);
	assert_rules(&c, 6);
	/* after a boot the nexuses may be others */
	host_start(&c, 3, 12, 2);
	assert_int_equal(take(&c, 7), RF_FENCE_OK);
	assert_rules(&c, 7);
}

/* Seen of Linux before NVMe's "do not retry" was masked out: a conflict is any error. */
static void vague_conflict(void **state)
{
	t.vague = true;
	after_restart(state);
}

static void all_paths(void **state)
{
	(void)state;
	take(&c, 5);
	assert_int_equal(take(&a, 6), RF_FENCE_OK);
	assert_rules(&a, 6);
	assert_false(may_write(&c));
	assert_int_equal(take(&c, 7), RF_FENCE_OK);
	assert_rules(&c, 7);
	assert_int_equal(t.key[8], t.key[9]);
}

/* ---- odd answers ---- */

static void unit_attention(void **state)
{
	(void)state;
	take(&a, 5);
	t.attention[4] = 3;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_rules(&b, 6);
	assert_int_equal(take(&a, 7), RF_FENCE_OK); /* a has one: it was preempted */
	assert_rules(&a, 7);
}

static void error_hides_success(void **state)
{
	(void)state;
	take(&a, 5);
	t.lie_verb = RF_PR_REGISTER;
	t.lie = RF_PR_ATTENTION;
	t.lies = 1;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_rules(&b, 6);
}

/* The key is gone, but nobody said that its commands are: the grace passes. */
static void abort_answered(enum rf_pr_status lie)
{
	uint64_t since;

	begin(NULL);
	take(&a, 5);
	t.lie_verb = RF_PR_PREEMPT_ABORT;
	t.lie = lie;
	t.lies = 1;
	since = t.now_ms;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_true(t.now_ms >= since + GRACE_MS);
	assert_non_null(strstr(b.a.text, "grace"));
	assert_rules(&b, 6);
}

static void abort_without_answer(void **state)
{
	(void)state;
	abort_answered(RF_PR_FAILED);
	abort_answered(RF_PR_ATTENTION); /* tried again, and then nobody is there */
}

static void no_abort(bool *odd)
{
	uint64_t since;

	begin(NULL);
	take(&a, 5);
	*odd = true;
	since = t.now_ms;
	t.in_flight[0] = true;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_true(t.now_ms >= since + GRACE_MS);
	assert_non_null(strstr(b.a.text, "lacks abort"));
	assert_rules(&b, 6);
}

static void target_without_abort(void **state)
{
	(void)state;
	no_abort(&t.no_abort_illegal);
	no_abort(&t.no_abort_check);
}

/* Interrupted in the grace: not done, and the rest of it is waited for later. */
static void grace_is_interrupted(void **state)
{
	uint64_t since;

	(void)state;
	take(&a, 5);
	since = t.now_ms;
	t.no_abort_illegal = t.urgent = true;
	assert_int_equal(take(&b, 6), RF_FENCE_FAILED);
	t.urgent = false;
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_true(t.now_ms >= since + GRACE_MS);
}

static void target_without_full_status(void **state)
{
	(void)state;
	t.no_full = true;
	take(&a, 5);
	check(&b);
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_int_equal(b.pr.commands, 4);
	assert_rules(&b, 6);
}

static void target_without_reservations(void **state)
{
	(void)state;
	t.no_pr = true;
	assert_int_equal(take(&a, 5), RF_FENCE_UNSUPPORTED);
	assert_true(a.pr.no_pr);
	assert_int_equal(a.pr.held, 0);
	rf_pr_leave(&a.pr, 5, &a.a); /* or its node could never end */
	assert_int_equal(a.a.result, RF_FENCE_OK);
}

static void dead_paths(void **state)
{
	(void)state;
	take(&a, 5);
	t.dead[8] = true;
	assert_int_equal(take(&c, 6), RF_FENCE_OK);
	assert_int_equal(t.key[9], key(3, 6));
	assert_int_equal(t.key[0], 0);
	t.dead[9] = true;
	assert_false(check(&c)); /* cut off: that proves nothing */
	assert_int_equal(take(&c, 7), RF_FENCE_UNCERTAIN);
	c.paths = 0;
	assert_int_equal(take(&c, 8), RF_FENCE_FAILED);
}

/* ---- a takeover that nobody settled ---- */

static uint64_t waited(struct host *h, uint64_t epoch)
{
	uint64_t since = t.now_ms;

	assert_int_equal(take(h, epoch), RF_FENCE_OK);
	assert_rules(h, epoch);
	return t.now_ms - since;
}

/* §7: nobody is registered, so nobody is aborted: what somebody sent before the target
 * forgot may land until the grace is over. */
static void nothing_was_reserved(void **state)
{
	(void)state;
	assert_true(waited(&a, 5) >= GRACE_MS);
	memset(t.key, 0, sizeof(t.key));
	t.holder = -1;
	assert_true(waited(&b, 6) >= GRACE_MS);
	assert_non_null(strstr(b.a.text, "nothing was reserved"));
	assert_int_equal(waited(&a, 7), 0);
}

/* A preempt without abort that was done, answered by an error, and tried again. */
static void plain_preempt_hides_success(void **state)
{
	(void)state;
	take(&a, 5);
	t.no_abort_illegal = true;
	t.lie_verb = RF_PR_PREEMPT;
	t.lie = RF_PR_ATTENTION;
	t.lies = 1;
	assert_true(waited(&b, 6) >= GRACE_MS);
}

static void settled_soon(void **state)
{
	(void)state;
	assert_int_equal(take_only(&c, 5), RF_FENCE_OK);
	assert_int_equal(t.key[8], key(3, 5) | RF_PR_UNSETTLED);
	assert_int_equal(t.key[9], key(3, 5) | RF_PR_UNSETTLED);
	assert_false(check(&c));
	assert_rules(&c, 5);
	take_only(&c, 6);
	rf_pr_leave(&c.pr, 6, &c.a); /* at the latest */
	assert_rules(&c, 6);
	assert_int_equal(waited(&a, 7), 0);
}

/* b has preempted a, nobody knows what became of a's writes, and b dies in the grace. */
static void dies_in_the_grace(void)
{
	begin(NULL);
	take(&a, 5);
	t.lie_verb = RF_PR_PREEMPT_ABORT;
	t.lie = RF_PR_FAILED;
	t.lies = 1;
	t.urgent = true;
	assert_int_equal(take(&b, 6), RF_FENCE_FAILED);
	assert_int_equal(t.key[0], 0);
	t.urgent = false;
	host_start(&b, 2, 4, 1);
}

static void grace_outlives_its_fencer(void **state)
{
	(void)state;
	dies_in_the_grace();
	assert_true(waited(&b, 6) >= GRACE_MS); /* the same leadership, again */
	dies_in_the_grace();
	assert_true(waited(&b, 7) >= GRACE_MS);
	dies_in_the_grace();
	assert_true(waited(&c, 7) >= GRACE_MS); /* whoever is next */
	/* c looked before b was there: what it preempts is not what it saw */
	dies_in_the_grace();
	host_start(&c, 3, 8, 2);
	t.key[4] = 0;
	t.key[0] = key(1, 5);
	t.holder = 0;
	check(&c);
	t.key[0] = 0;
	t.key[4] = key(2, 6) | RF_PR_UNSETTLED;
	t.holder = 4;
	assert_true(waited(&c, 7) >= GRACE_MS);
	/* and nobody waits twice */
	assert_int_equal(waited(&a, 8), 0);
}

/* ---- others ---- */

static void newer_rules(void **state)
{
	(void)state;
	take(&a, 9);
	assert_int_equal(take(&b, 8), RF_FENCE_STALE);
	assert_int_equal(b.a.epoch, 9);
	assert_rules(&a, 9);
	assert_int_equal(take(&b, 10), RF_FENCE_OK);
	assert_rules(&b, 10);
}

static void b_takes_8(void)
{
	assert_int_equal(take(&b, 8), RF_FENCE_OK);
}

/* A newer claim at every point of an older one's takeover: the newer one rules. */
static void both_claim(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 6; n++) {
		begin(NULL);
		take(&c, 5);
		check(&a);
		t.before = n;
		t.happens = b_takes_8;
		take(&a, 7);
		if (t.happens) /* a was through before */
			b_takes_8();
		check(&b);
		assert_rules(&b, 8);
		assert_true(a.pr.held != key(1, 7) || check(&a));
		assert_int_equal(a.pr.held, 0);
		assert_false(may_write(&a));
	}
}

static void a_takes_7(void)
{
	take(&a, 7);
}

/* And the other way round: the late, stale one must not harm the newer one. */
static void stale_claim_meanwhile(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		begin(NULL);
		take(&c, 5);
		check(&a);
		t.before = n;
		t.happens = a_takes_7;
		assert_int_equal(take(&b, 8), RF_FENCE_OK);
		assert_false(check(&b));
		assert_rules(&b, 8);
		assert_false(may_write(&a));
	}
}

static void foreign_key(void **state)
{
	(void)state;
	t.key[15] = 0xabcdef;
	assert_int_equal(take(&a, 5), RF_FENCE_FAILED);
	assert_non_null(strstr(a.a.text, "foreign key 0x0000000000abcdef"));
	assert_int_equal(t.key[0], 0);
	assert_int_equal(t.key[15], 0xabcdef);
	/* the same node number, but of another volume or cluster */
	t.key[15] = rf_pr_key(TAG + 1, 1, 4);
	t.now_ms += 5000;
	assert_int_equal(take(&a, 5), RF_FENCE_FAILED);
	/* ours, but two hosts with one node id */
	t.key[15] = key(2, 5);
	t.now_ms += 5000;
	assert_int_equal(take(&a, 5), RF_FENCE_FAILED);
	assert_non_null(strstr(a.a.text, "too"));
}

/* The doctor's: harmless, and dropped. */
static void test_key(void **state)
{
	(void)state;
	t.key[15] = rf_pr_key_for_test(12345);
	assert_int_equal(take(&a, 5), RF_FENCE_OK);
	assert_rules(&a, 5);
	t.key[15] = rf_pr_key_for_test(12345); /* tried while somebody leads */
	assert_int_equal(take(&b, 6), RF_FENCE_OK);
	assert_rules(&b, 6);
}

static void foreign_type(void **state)
{
	(void)state;
	t.key[15] = key(4, 1);
	t.holder = 15;
	t.type = 1;
	assert_int_equal(take(&a, 5), RF_FENCE_FAILED);
	assert_non_null(strstr(a.a.text, "type 1"));
}

static void epoch_does_not_fit(void **state)
{
	(void)state;
	/* its low bits are those of an epoch that rules */
	take(&a, 5);
	memset(&a.a, 0, sizeof(a.a));
	rf_pr_verify(&a.pr, RF_PR_EPOCH_MAX + 1 + 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_FAILED);
	rf_pr_verify(&a.pr, 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_OK);
	assert_int_equal(take(&a, RF_PR_EPOCH_MAX + 1), RF_FENCE_FAILED);
	assert_int_equal(take(&a, 0), RF_FENCE_FAILED);
	assert_int_equal(take(&a, RF_PR_EPOCH_MAX), RF_FENCE_OK);
}

/* ---- while leading ---- */

static void loser_notices(void **state)
{
	(void)state;
	take(&a, 5);
	assert_false(check(&a));
	take(&b, 6);
	assert_true(check(&a));
	assert_non_null(strstr(a.a.text, "epoch 6"));
	assert_int_equal(a.a.epoch, 5);
	assert_false(check(&a)); /* said once */
}

static void target_forgets(void **state)
{
	(void)state;
	take(&a, 5);
	memset(t.key, 0, sizeof(t.key));
	t.holder = -1;
	assert_true(check(&a));
	assert_non_null(strstr(a.a.text, "forgot"));
	assert_int_equal(take(&a, 6), RF_FENCE_OK);
	assert_rules(&a, 6);
}

static void path_comes_back(void **state)
{
	(void)state;
	take(&c, 5);
	t.key[8] = 0; /* the session was made anew: another nexus */
	if (t.holder == 8)
		t.holder = 9;
	c.born++;
	assert_false(check(&c));
	assert_int_equal(t.key[8], key(3, 5));
	assert_rules(&c, 5);
	/* of a fenced node it stays fenced */
	take(&a, 6);
	c.born++;
	assert_true(check(&c));
	assert_false(check(&c));
	assert_int_equal(t.key[8], 0);
	assert_rules(&a, 6);
}

/* Preempted between its look and the registration of a path that came back. */
static void path_comes_back_too_late(void **state)
{
	(void)state;
	take(&c, 5);
	t.key[8] = 0;
	t.holder = 9;
	c.born++;
	t.before = 2;
	t.happens = b_takes_8;
	assert_true(check(&c));
	assert_non_null(strstr(c.a.text, "epoch 8"));
	assert_rules(&b, 8);
	assert_false(may_write(&c));
}

/* The session of one path ends, and the host comes back through another nexus: what was
 * registered through the old one still stands, and counts for nobody. */
static void session_is_new(void **state)
{
	(void)state;
	for (unsigned changed = 8; changed <= 9; changed++) {
		begin(NULL);
		take(&c, 7);
		assert_false(check(&c));
		assert_false(check(&c)); /* both sessions are known */
		t.key[12] = t.key[changed];
		t.key[changed] = 0;
		if (t.holder == (int)changed)
			t.holder = 12;
		assert_true(check(&c) || check(&c));
		assert_non_null(strstr(c.a.text, "new to the target"));
		assert_int_equal(c.a.epoch, 7);
		assert_int_equal(c.pr.held, 0);
		assert_true(t.holder >= 0 && t.key[t.holder] == key(3, 7)); /* shut for all */
		assert_int_equal(take(&c, 8), RF_FENCE_OK);
		assert_rules(&c, 8);
	}
}

/* Preempted just before it would have found out: the newer one is what it says. */
static void session_of_who_was_preempted(void **state)
{
	(void)state;
	take(&c, 7);
	check(&b);
	t.before = 2; /* one look, then the path in turn */
	t.happens = b_takes_8;
	assert_true(check(&c));
	assert_int_equal(c.a.result, RF_FENCE_STALE);
	assert_rules(&b, 8);
}

static void late_registrant_is_dropped(void **state)
{
	(void)state;
	take(&a, 5);
	t.key[4] = key(2, 4); /* stale, and dead before it could step back */
	assert_false(check(&a));
	assert_rules(&a, 5);
}

static void holder_never_unregisters(void **state)
{
	(void)state;
	take(&a, 5);
	rf_pr_leave(&a.pr, 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_OK);
	assert_int_equal(t.holder, 0);
	assert_false(may_write(&b));
	take(&b, 6);
	rf_pr_leave(&a.pr, 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_STALE);
	assert_int_equal(a.a.epoch, 6);
	rf_pr_verify(&b.pr, 6, &b.a);
	assert_int_equal(b.a.result, RF_FENCE_OK);
	rf_pr_verify(&a.pr, 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_STALE);
	t.dead[0] = true;
	rf_pr_leave(&a.pr, 5, &a.a);
	assert_int_equal(a.a.result, RF_FENCE_UNCERTAIN);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, begin)
	const struct CMUnitTest tests[] = {
		TEST(first_leader),
		TEST(budget),
		TEST(old_look),
		TEST(key_moves_in_place),
		TEST(after_restart),
		TEST(vague_conflict),
		TEST(all_paths),
		TEST(unit_attention),
		TEST(error_hides_success),
		TEST(abort_without_answer),
		TEST(target_without_abort),
		TEST(grace_is_interrupted),
		TEST(target_without_full_status),
		TEST(target_without_reservations),
		TEST(dead_paths),
		TEST(nothing_was_reserved),
		TEST(plain_preempt_hides_success),
		TEST(settled_soon),
		TEST(grace_outlives_its_fencer),
		TEST(newer_rules),
		TEST(both_claim),
		TEST(stale_claim_meanwhile),
		TEST(foreign_key),
		TEST(test_key),
		TEST(foreign_type),
		TEST(epoch_does_not_fit),
		TEST(loser_notices),
		TEST(target_forgets),
		TEST(path_comes_back),
		TEST(path_comes_back_too_late),
		TEST(session_is_new),
		TEST(session_of_who_was_preempted),
		TEST(late_registrant_is_dropped),
		TEST(holder_never_unregisters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
