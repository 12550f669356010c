/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of format.h: every record has its own strides, and none is left over. */
#include "support.h"

struct shape {
	uint32_t nodes, volumes, history, state_strides, stride_bytes;
};

static const struct shape shapes[] = {
	{1, 1, 8, 2, 4096},     {2, 1, 16, 2, 4096},    {3, 2, 16, 2, 4096},
	{3, 4, 1024, 2, 4096},  {5, 3, 9, 1, 8192},     {7, 31, 64, 3, 16384},
	{16, 8, 100, 64, 4096}, {64, 16, 8, 2, 65536},  {128, 1, 8, 2, 4096},
	{1, 256, 8, 2, 4096},   {128, 256, 8, 2, 4096}, {128, 256, 1024, 4, 4096},
};

static struct rf_super super_of(const struct shape *shape)
{
	struct rf_super s = {
		.id = {.nodes = shape->nodes, .stride_bytes = shape->stride_bytes},
		.volumes = shape->volumes,
		.history = shape->history,
		.state_strides = shape->state_strides,
	};

	return s;
}

static uint8_t *taken;
static uint64_t taken_strides, taken_count;

static void take(const struct rf_super *s, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / s->id.stride_bytes, n = bytes / s->id.stride_bytes;

	assert_int_equal(offset % s->id.stride_bytes, 0);
	assert_true(n >= 1 && first + n <= taken_strides);
	for (uint64_t i = first; i < first + n; i++) {
		if (taken[i])
			fail_msg("stride %llu is used twice", (unsigned long long)i);
		taken[i] = 1;
		taken_count++;
	}
}

static void take_volume(const struct rf_super *s, uint32_t v)
{
	take(s, rf_geo_volume(s, v), s->id.stride_bytes);
	take(s, rf_geo_region(s, v), s->id.stride_bytes);
	for (uint32_t k = 0; k < s->history; k++)
		take(s, rf_geo_history(s, v, k), s->id.stride_bytes);
	for (uint32_t n = 1; n <= s->id.nodes; n++) {
		take(s, rf_geo_ballot(s, v, n), s->id.stride_bytes);
		for (uint32_t half = 0; half < 2; half++)
			take(s, rf_geo_state(s, v, n, half), rf_geo_half_bytes(s));
	}
}

static void no_two_records_overlap(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct rf_super s = super_of(&shapes[i]);

		taken_strides = rf_geo_strides(&s);
		taken_count = 0;
		taken = calloc(1, taken_strides);
		assert_non_null(taken);
		take(&s, 0, s.id.stride_bytes);
		take(&s, rf_geo_copy(&s), s.id.stride_bytes);
		for (uint32_t n = 1; n <= s.id.nodes; n++) {
			take(&s, rf_geo_slot(&s, n), s.id.stride_bytes);
			take(&s, rf_geo_mailbox(&s, n), s.id.stride_bytes);
		}
		for (uint32_t v = 0; v < s.volumes; v++)
			take_volume(&s, v);
		assert_int_equal(taken_count, taken_strides);
		free(taken);
	}
}

/* The formulas of format.h, spelled out once more. */
static void as_the_essay_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct rf_super s = super_of(&shapes[i]);
		uint64_t N = s.id.nodes, V = s.volumes, K = s.history, P = s.state_strides;
		uint64_t b = s.id.stride_bytes, v = V - 1, n = N;
		uint64_t D = 1 + 2 * N, C = D + V, H = C + V * (N + 1), T = H + V * K;
		uint64_t E = T + 2 * P * N * V + 1;

		assert_int_equal(rf_geo_slot(&s, (uint32_t)n), b * (1 + 2 * (n - 1)));
		assert_int_equal(rf_geo_mailbox(&s, (uint32_t)n), b * (2 + 2 * (n - 1)));
		assert_int_equal(rf_geo_volume(&s, (uint32_t)v), b * (D + v));
		assert_int_equal(rf_geo_region(&s, (uint32_t)v), b * (C + v * (N + 1)));
		assert_int_equal(rf_geo_ballot(&s, (uint32_t)v, (uint32_t)n),
				 b * (C + v * (N + 1) + n));
		assert_int_equal(rf_geo_history(&s, (uint32_t)v, (uint32_t)K - 1),
				 b * (H + v * K + K - 1));
		assert_int_equal(rf_geo_state(&s, (uint32_t)v, (uint32_t)n, 1),
				 b * (T + (v * N + n - 1) * 2 * P + P));
		assert_int_equal(rf_geo_copy(&s), b * (E - 1));
		assert_int_equal(rf_geo_strides(&s), E);
	}
}

/* One read fetches a slot and its mailbox, one all that claim.h needs. */
static void neighbours(void **state)
{
	struct rf_super s;

	(void)state;
	sample_super(&s);
	assert_int_equal(rf_geo_mailbox(&s, 2), rf_geo_slot(&s, 2) + 4096);
	assert_int_equal(rf_geo_ballot(&s, 1, 1), rf_geo_region(&s, 1) + 4096);
	assert_int_equal(rf_geo_region_bytes(&s), rf_claim_region_bytes(&s.id));
	assert_int_equal(rf_geo_region_bytes(&s), 4 * 4096);
	assert_int_equal(rf_geo_slots_bytes(&s), 6 * 4096);
	assert_int_equal(rf_geo_half_bytes(&s), 2 * 4096);
	assert_int_equal(rf_geo_payload_bytes(&s), 2 * 4096 - 512);
}

static void ids_that_do_not_exist_are_bugs(void **state)
{
	struct rf_super s;

	(void)state;
	sample_super(&s);
	expect_assert_failure(rf_geo_slot(&s, 0));
	expect_assert_failure(rf_geo_slot(&s, 4));
	expect_assert_failure(rf_geo_volume(&s, 2));
	expect_assert_failure(rf_geo_region(&s, 2));
	expect_assert_failure(rf_geo_ballot(&s, 0, 4));
	expect_assert_failure(rf_geo_history(&s, 0, 16));
	expect_assert_failure(rf_geo_state(&s, 0, 1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_records_overlap),
		cmocka_unit_test(as_the_essay_says),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(ids_that_do_not_exist_are_bugs),
	};

	return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
