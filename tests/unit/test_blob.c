/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a committed state: what comes back, what is refused, how work counts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "blob.h"

static uint8_t bytes[RF_BLOB_MAX];

static struct rf_work work(const char *id, uint64_t epoch)
{
	struct rf_work w = {.epoch = epoch, .node = (uint32_t)epoch, .unix_ns = 5000000000u};

	snprintf(w.id, sizeof(w.id), "%s", id);
	snprintf(w.text, sizeof(w.text), "about %s", id);
	return w;
}

static void begin(struct rf_blob *b, const char *id, uint64_t epoch, enum rf_work_begun want)
{
	struct rf_work w = work(id, epoch);

	assert_int_equal(rf_work_begin(b, &w), want);
}

static void comes_back_as_it_was(void **state)
{
	struct rf_blob b = {.user = (const uint8_t *)"a\0b", .user_bytes = 3}, c;
	size_t n;

	(void)state;
	begin(&b, "one", 3, RF_WORK_NEW);
	begin(&b, "two", 3, RF_WORK_NEW);
	n = rf_blob_encode(bytes, sizeof(bytes), &b);
	assert_int_equal(n, 32 + 2 * 160 + 3);
	assert_int_equal(rf_blob_encode(bytes, n - 1, &b), 0);
	assert_int_equal(rf_blob_encode(bytes, n, &b), n);
	assert_int_equal(rf_blob_decode(&c, bytes, n), 0);
	assert_int_equal(c.user_bytes, 3);
	assert_memory_equal(c.user, "a\0b", 3);
	assert_int_equal(c.works, 2);
	assert_memory_equal(c.work, b.work, 2 * sizeof(b.work[0]));
	assert_int_equal(rf_blob_decode(&c, bytes, 0), 0);
	assert_int_equal(c.works + c.user_bytes, 0);
}

static void any_other_byte_count_is_refused(void **state)
{
	struct rf_blob b = {.user = (const uint8_t *)"user", .user_bytes = 4}, c;
	size_t n;

	(void)state;
	begin(&b, "one", 3, RF_WORK_NEW);
	n = rf_blob_encode(bytes, sizeof(bytes), &b);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(rf_blob_decode(&c, bytes, i), -EBADMSG);
	assert_int_equal(rf_blob_decode(&c, bytes, n + 1), -EBADMSG);
}

static void damage_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int error;
	} table[] = {
		{0, 'x', -EBADMSG},              /* magic */
		{8, 2, -EPROTONOSUPPORT},        /* version */
		{10, RF_WORK_MAX + 1, -EBADMSG}, /* items */
		{15, 1, -EBADMSG},               /* 16 MiB of the user */
		{32 + 20, 0, -EBADMSG},          /* begun no times */
		{32 + 24, '/', -EBADMSG},        /* id */
		{32 + 24 + 40, '\n', -EBADMSG},  /* text */
		{192 + 24, 'a', -EBADMSG},       /* the same id twice */
	};
	struct rf_blob b = {.works = 0}, c;

	(void)state;
	begin(&b, "a", 3, RF_WORK_NEW);
	begin(&b, "b", 3, RF_WORK_NEW);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t n = rf_blob_encode(bytes, sizeof(bytes), &b);

		assert_int_equal(rf_blob_decode(&c, bytes, n), 0);
		bytes[table[i].at] = table[i].byte;
		assert_int_equal(rf_blob_decode(&c, bytes, n), table[i].error);
	}
}

static void repeated_work_is_counted(void **state)
{
	char lines[RF_WORK_LINES_BYTES];
	struct rf_blob b = {.works = 0};
	struct rf_work quiet = {.epoch = 9, .node = 2, .id = "a"};
	size_t n;

	(void)state;
	begin(&b, "a", 3, RF_WORK_NEW);
	begin(&b, "b", 3, RF_WORK_NEW);
	begin(&b, "a", 3, RF_WORK_AGAIN);
	assert_int_equal(b.repeated, 0);
	assert_int_equal(rf_work_begin(&b, &quiet), RF_WORK_REPEATED);
	assert_int_equal(b.repeated, 1);
	assert_string_equal(b.work[0].text, "about a"); /* an empty one keeps it */
	n = rf_work_lines(&b, lines, sizeof(lines));
	assert_int_equal(n, strlen(lines));
	assert_string_equal(lines, "a\t9\t2\t2\t0\tabout a\nb\t3\t3\t1\t5\tabout b\n");
	assert_true(rf_work_end(&b, "a"));
	assert_false(rf_work_end(&b, "a"));
	assert_int_equal(b.works, 1);
	assert_string_equal(b.work[0].id, "b");
	assert_int_equal(b.repeated, 1);
}

static void room_is_bounded(void **state)
{
	struct rf_blob b = {.works = 0};
	char id[16];

	(void)state;
	for (unsigned i = 0; i < RF_WORK_MAX; i++) {
		snprintf(id, sizeof(id), "id%u", i);
		begin(&b, id, 1, RF_WORK_NEW);
	}
	begin(&b, "more", 1, RF_WORK_FULL);
	b.user_bytes = rf_blob_user_max(7680); /* the smallest area */
	assert_true(b.user_bytes >= 4096);
	b.user = bytes;
	assert_int_equal(rf_blob_encode(bytes + 8192, 7680, &b), 7680);
	assert_int_equal(rf_blob_user_max(1u << 22), RF_BLOB_USER_MAX);
	assert_int_equal(rf_blob_user_max(100), 0);
}

static void ids_and_texts_are_tame(void **state)
{
	static const char unending[RF_WORK_TEXT_BYTES] = {[0 ... RF_WORK_TEXT_BYTES - 1] = 'a'};

	(void)state;
	assert_null(rf_work_id_wrong("a.B_9:-", 8));
	assert_non_null(rf_work_id_wrong("", 1));
	assert_non_null(rf_work_id_wrong("a b", 4));
	assert_non_null(rf_work_id_wrong("../x", 5));
	assert_non_null(rf_work_id_wrong(unending, RF_WORK_ID_BYTES));
	assert_null(rf_work_text_wrong("", 1));
	assert_null(rf_work_text_wrong("\xc3\xa9t\xc3\xa9", 6));
	assert_non_null(rf_work_text_wrong("\x1b[2J", 5));
	assert_non_null(rf_work_text_wrong(unending, RF_WORK_TEXT_BYTES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was),
		cmocka_unit_test(any_other_byte_count_is_refused),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(repeated_work_is_counted),
		cmocka_unit_test(room_is_bounded),
		cmocka_unit_test(ids_and_texts_are_tame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
