/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PROTOCOL §9, the essay of timing.h and ringfence-timing(7) tell one story. */
#include "support.h"

static struct rf_timing fast(void)
{
	struct rf_timing t;

	assert_true(rf_timing_profile("fast", &t));
	return t;
}

static void profiles_hold(void **state)
{
	static const char *const names[] = {"fast", "san", "multipath"};
	struct rf_timing t;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_true(rf_timing_profile(names[i], &t));
		assert_int_equal(rf_timing_check(&t, 0), RF_TIMING_OK);
	}
	assert_false(rf_timing_profile("", &t));
	assert_false(rf_timing_profile("fas", &t));
	assert_false(rf_timing_profile("fast ", &t));
}

/* ---- the inequalities, each at its edge ---- */

struct edge {
	size_t field;
	uint32_t good, bad;
	uint32_t worst_r_us;
	enum rf_timing_rule rule;
};

#define FIELD(f) offsetof(struct rf_timing, f)

/* Profile fast with one value moved to where its inequality just holds. */
static const struct edge edges[] = {
	{FIELD(heartbeat_ms), 175, 176, 0, RF_TIMING_SUSPECT},
	{FIELD(heartbeat_ms), 1, 0, 0, RF_TIMING_ZERO},
	{FIELD(grace_ms), 1, 0, 0, RF_TIMING_ZERO},
	{FIELD(grace_ms), 3600000, 3600001, 0, RF_TIMING_ZERO},
	{FIELD(epsilon_ppm), 1, 0, 0, RF_TIMING_ZERO},
	{FIELD(lease_ms), 500, 499, 0, RF_TIMING_HOLD},
	{FIELD(lease_ms), 2000, 2001, 0, RF_TIMING_INFLIGHT},
	{FIELD(lease_ms), 1000, 999, 350000, RF_TIMING_LEASE},
	{FIELD(suspect_ms), 200, 199, 0, RF_TIMING_SUSPECT},
	{FIELD(suspect_ms), 700, 701, 0, RF_TIMING_ISOLATION},
	{FIELD(isolation_ms), 350, 349, 0, RF_TIMING_ISOLATION},
	{FIELD(hold_ms), 1000, 1001, 0, RF_TIMING_HOLD},
	{FIELD(hold_ms), 1, 0, 0, RF_TIMING_ZERO},
	{FIELD(slot_timeout_ms), 200, 199, 0, RF_TIMING_SLOT},
	{FIELD(inflight_ms), 1000, 999, 0, RF_TIMING_INFLIGHT},
	{FIELD(epsilon_ppm), 100000, 100001, 0, RF_TIMING_EPSILON},
};

static enum rf_timing_rule with(const struct edge *e, uint32_t value)
{
	struct rf_timing t = fast();

	*(uint32_t *)((char *)&t + e->field) = value;
	return rf_timing_check(&t, e->worst_r_us);
}

static void each_inequality_at_its_edge(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(edges); i++) {
		if (with(&edges[i], edges[i].good) != RF_TIMING_OK)
			fail_msg("edge %zu: %u should hold", i, edges[i].good);
		if (with(&edges[i], edges[i].bad) != edges[i].rule)
			fail_msg("edge %zu: %u gives rule %d", i, edges[i].bad,
				 with(&edges[i], edges[i].bad));
	}
}

/* No value may be missing, and none is longer than an hour. */
static void every_value_counts(void **state)
{
	const uint32_t values = sizeof(struct rf_timing) / sizeof(uint32_t);

	(void)state;
	for (uint32_t i = 0; i < values; i++) {
		struct rf_timing none = fast(), hour = fast();

		((uint32_t *)&none)[i] = 0;
		((uint32_t *)&hour)[i] = 3600001;
		assert_int_equal(rf_timing_check(&none, 0), RF_TIMING_ZERO);
		assert_int_not_equal(rf_timing_check(&hour, 0), RF_TIMING_OK);
	}
}

/* §9: L < 3·HB + 2·worst measured R is refused; S > L too. */
static void lease_and_patience(void **state)
{
	struct rf_timing t = fast();

	(void)state;
	assert_int_equal(rf_timing_check(&t, 350000), RF_TIMING_OK);
	assert_int_equal(rf_timing_check(&t, 350001), RF_TIMING_LEASE);
	assert_int_equal(rf_timing_check(&t, UINT32_MAX), RF_TIMING_LEASE);
	t.suspect_ms = t.isolation_ms = 1000;
	assert_int_equal(rf_timing_check(&t, 0), RF_TIMING_OK);
	t.suspect_ms = t.isolation_ms = 1001;
	assert_int_equal(rf_timing_check(&t, 0), RF_TIMING_PATIENCE);
}

static void every_rule_has_words(void **state)
{
	(void)state;
	for (int rule = RF_TIMING_OK; rule <= RF_TIMING_EPSILON; rule++)
		assert_true(strlen(rf_timing_words((enum rf_timing_rule)rule)) > 5);
	expect_assert_failure(rf_timing_words((enum rf_timing_rule)(RF_TIMING_EPSILON + 1)));
}

/* ---- the essay, line by line ---- */

static void the_failover_of_the_essay(void **state)
{
	struct rf_timing t = fast();
	uint64_t t_r = 100; /* B reads sequence s with the last heartbeat before the death */

	(void)state;
	assert_int_equal(0 + t.lease_ms, 1000); /* A's gate shuts by itself */
	assert_int_equal(t.heartbeat_ms, 100);  /* no heartbeat comes */
	assert_int_equal(t.suspect_ms, 350);    /* B suspects A */
	assert_int_equal(rf_timing_expiry_ns(&t), 1210 * RF_MS_NS);
	assert_int_equal(t_r * RF_MS_NS + rf_timing_expiry_ns(&t), 1310 * RF_MS_NS);
}

/* §7.3: never early on any clock: A's 1000 ms on the slowest clock is over. */
static void expiry_is_rounded_up(void **state)
{
	struct rf_timing t = {.lease_ms = 1, .grace_ms = 1, .epsilon_ppm = 1};

	(void)state;
	assert_int_equal(rf_timing_expiry_ns(&t), 2 * RF_MS_NS + 1);
	t = fast();
	t.lease_ms = t.grace_ms = 3600000;
	t.epsilon_ppm = 100000;
	assert_int_equal(rf_timing_expiry_ns(&t), 7560000 * RF_MS_NS);
}

/* §9: max(S + C, L(1+eps) + G + HB) + R, and S + HB + C + one preempt. */
static void bounds_of_a_failover(void **state)
{
	struct rf_timing t = fast();
	uint64_t c_ns = (2 * 1000 + 4 * 2000) * 1000ull + 100 * RF_MS_NS;

	(void)state;
	assert_int_equal(rf_timing_failover_expiry_ns(&t, 2000, 1000), 1312 * RF_MS_NS);
	assert_int_equal(rf_timing_failover_target_ns(&t, 2000, 1000),
			 450 * RF_MS_NS + c_ns + 2 * RF_MS_NS);
	assert_int_equal(rf_timing_failover_expiry_ns(&t, 1000000, 0), /* a slow disk rules */
			 (350 + 4000 + 100 + 1000) * RF_MS_NS);
}

/* ---- the manual page ---- */

struct row {
	const char *label;
	size_t field;
};

static const struct row rows[] = {
	{"heartbeat HB", FIELD(heartbeat_ms)},
	{"suspect S", FIELD(suspect_ms)},
	{"lease L", FIELD(lease_ms)},
	{"grace G", FIELD(grace_ms)},
	{"hold", FIELD(hold_ms)},
	{"isolation", FIELD(isolation_ms)},
	{"slot timeout", FIELD(slot_timeout_ms)},
	{"in-flight", FIELD(inflight_ms)},
};

static uint32_t text_ms(const char *text)
{
	char unit[8] = "";
	double n = 0;

	assert_int_equal(sscanf(text, "%lf %7s", &n, unit), 2);
	return (uint32_t)(n * (strcmp(unit, "s") ? 1 : 1000) + 0.5);
}

static void check_row(const struct row *row, char *line)
{
	static const char *const names[] = {"fast", "san", "multipath"};
	struct rf_timing t;

	strtok(line, "\t");
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_true(rf_timing_profile(names[i], &t));
		assert_int_equal(text_ms(strtok(NULL, "\t")),
				 *(uint32_t *)((char *)&t + row->field));
	}
}

static void the_manual_page_says_the_same(void **state)
{
	FILE *f = fopen("man/ringfence-timing.7", "r");
	size_t seen = 0;
	char line[256];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < COUNT(rows); i++) {
			size_t n = strlen(rows[i].label);

			if (strncmp(line, rows[i].label, n) || line[n] != '\t')
				continue;
			check_row(&rows[i], line);
			seen++;
			break;
		}
	fclose(f);
	assert_int_equal(seen, COUNT(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_hold),
		cmocka_unit_test(each_inequality_at_its_edge),
		cmocka_unit_test(every_value_counts),
		cmocka_unit_test(lease_and_patience),
		cmocka_unit_test(every_rule_has_words),
		cmocka_unit_test(the_failover_of_the_essay),
		cmocka_unit_test(expiry_is_rounded_up),
		cmocka_unit_test(bounds_of_a_failover),
		cmocka_unit_test(the_manual_page_says_the_same),
	};

	return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
