/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the doctor says of targets with odd ways, and that he leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pr_target.h"

#define OTHER 0xabcdefull /* a key of somebody else, on nexus 15 */

static char said[4096];
static struct host h;

static void hear(enum rf_pr_finding finding, const char *text, const char *advice)
{
	static const char *const words[] = {"GOOD", "WEAK", "BAD", "UNTOLD"};
	size_t at = strlen(said);

	if (finding == RF_PR_BAD)
		assert_non_null(advice);
	snprintf(said + at, sizeof(said) - at, "%s %s\n", words[finding], text);
}

static int begin(void **state)
{
	(void)state;
	sim_begin();
	h = (struct host){.first = 0, .paths = 2, .born = 1};
	return 0;
}

/* Whatever happens: others' keys stand as before, ours are gone, nothing is reserved. */
static void attempt(bool active, bool in_use)
{
	const struct rf_pr_try x = {.ops = &sim_ops,
				    .dev = &h,
				    .name = "sim",
				    .key = rf_pr_key_for_test(0x1234567),
				    .active = active,
				    .in_use = in_use,
				    .say = hear};
	struct target before = t;

	said[0] = 0;
	rf_pr_try(&x);
	assert_memory_equal(t.key, before.key, sizeof(t.key));
	assert_int_equal(t.holder, before.holder);
}

static void expect(const char *line)
{
	if (strstr(said, line))
		return;
	print_error("not said: %s\nbut:\n%s", line, said);
	fail();
}

static void good_target(void **state)
{
	(void)state;
	attempt(true, false);
	expect("GOOD says: write exclusive, registrants only; keys can survive");
	expect("GOOD 2 paths; not reserved; generation 0, 0 keys\n");
	expect("GOOD registers on 2 of 2 paths; generation counts");
	expect("GOOD compares keys");
	expect("GOOD knows PREEMPT AND ABORT");
	expect("GOOD a second registration of this host was preempted and aborted (done); "
	       "its path hears it by a unit attention");
	assert_null(strstr(said, "BAD"));
	h.paths = 1;
	attempt(true, false);
	expect("GOOD knows PREEMPT AND ABORT");
	expect("UNTOLD with one path");
}

static void only_looks(void **state)
{
	uint32_t before;

	(void)state;
	t.key[15] = OTHER;
	before = t.generation;
	attempt(false, false);
	expect("0000000000abcdef");
	attempt(true, false);
	expect("UNTOLD in use");
	assert_int_equal(t.generation, before);
	attempt(true, true);
	expect("GOOD registers on 2 of 2");
	expect("GOOD a second registration");
}

static void reserved(void **state)
{
	uint32_t before;

	(void)state;
	t.key[15] = rf_pr_key(0x77, 3, 9);
	t.holder = 15;
	t.type = RF_PR_REGISTRANTS_ONLY;
	before = t.generation;
	attempt(true, true); /* a fenced host that registers could write */
	expect("reserved, type 5, by key 5277030000000009");
	expect("UNTOLD reserved: what it really does is not tried");
	assert_int_equal(t.generation, before);
}

static void lacks_abort(void **state)
{
	(void)state;
	t.no_abort_illegal = true;
	attempt(true, false);
	expect("WEAK lacks PREEMPT AND ABORT (command not known)");
	expect("GOOD a second registration of this host was preempted (done)");
	begin(NULL);
	t.no_abort_check = true;
	attempt(true, false);
	expect("WEAK lacks PREEMPT AND ABORT (check condition)");
}

static void says_little(void **state)
{
	(void)state;
	t.no_able = t.no_full = true;
	attempt(true, false);
	expect("WEAK does not report what it can do (command not known)");
	expect("GOOD knows PREEMPT AND ABORT");
	t.no_able = false;
	t.no_aptpl = true;
	attempt(true, false);
	expect("WEAK says: write exclusive, registrants only; keys do not survive");
	t.no_type = true;
	attempt(true, false);
	expect("BAD has no 'write exclusive, registrants only'");
}

static void liars(void **state)
{
	(void)state;
	t.deaf = true;
	attempt(true, false);
	expect("BAD says that it registered a key on 2 of 2 paths which does not stand there");
	begin(NULL);
	t.careless = true;
	attempt(true, false);
	expect("BAD replaces a key without comparing it");
	begin(NULL);
	t.lie_verb = RF_PR_REGISTER;
	t.lie = RF_PR_FAILED;
	t.lies = 2;
	attempt(true, false);
	expect("WEAK registers, but reports it as an error (no answer)");
	begin(NULL);
	t.vague = true;
	attempt(true, false);
	expect("WEAK refuses a wrong key, but not with a conflict");
}

static void no_device(void **state)
{
	(void)state;
	h.paths = 0;
	attempt(true, false);
	expect("BAD no path");
	h.paths = 2;
	t.dead[0] = true;
	attempt(true, false);
	expect("WEAK registers on 1 of 2 paths");
	t.dead[1] = true;
	attempt(true, false);
	expect("BAD no persistent reservations: no answer");
	begin(NULL);
	t.no_pr = true;
	attempt(true, false);
	expect("BAD no persistent reservations: command not known");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, begin)
	const struct CMUnitTest tests[] = {
		TEST(good_target), TEST(only_looks), TEST(reserved),  TEST(lacks_abort),
		TEST(says_little), TEST(liars),      TEST(no_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
