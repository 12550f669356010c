/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of drivers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../../fence/params.h"
#include "ringfence/limits.h"

static const char *text, *path;
static uint8_t uuid[RF_UUID_BYTES];
static uint32_t number;
static unsigned taken;
static char err[160];

static bool take_even(void *owner, const char *value)
{
	++*(unsigned *)owner;
	return strlen(value) % 2 == 0;
}

static int give(const char *a, const char *b)
{
	struct rf_param table[] = {
		{.key = "text", .text = &text},
		{.key = "path", .path = &path, .needed = true},
		{.key = "uuid", .uuid = uuid},
		{.key = "number", .number = &number, .min = 1, .max = UINT32_MAX},
		{.key = "number-two", .number = &number, .min = 50, .max = 60},
		{.key = "even", .take = take_even},
		{.key = "ignored"},
		{.key = NULL},
	};
	char *const params[] = {(char *)a, (char *)b, NULL};

	*err = 0;
	return rf_params_take("x", table, &taken, params, err, sizeof(err));
}

static void good(void **state)
{
	(void)state;
	assert_int_equal(give("path=/dev/x", "text=a=b"), 0);
	assert_string_equal(path, "/dev/x");
	assert_string_equal(text, "a=b");
	assert_int_equal(give("path=/", "uuid=00112233445566778899aabbccddEEfF"), 0);
	assert_int_equal(uuid[1], 0x11);
	assert_int_equal(uuid[15], 0xff);
	assert_int_equal(give("path=/", "number=4294967295"), 0);
	assert_int_equal(number, UINT32_MAX);
	assert_int_equal(give("path=/", "number-two=50"), 0);
	assert_int_equal(number, 50);
	assert_int_equal(give("path=/", "even=ab"), 0);
	assert_int_equal(taken, 1);
	assert_int_equal(give("path=/", "ignored="), 0);
}

static void bad(void **state)
{
	static const char *const wrong[] = {
		"",
		"path",
		"path=",
		"path=dev",
		"text=",
		"textt=a",
		"tex=a",
		"number=",
		"number=0",
		"number=-1",
		"number=+1",
		"number= 1",
		"number=1x",
		"number=4294967296",
		"number=18446744073709551617",
		"number-two=61",
		"uuid=00112233445566778899aabbccddeef",
		"uuid=00112233445566778899aabbccddeeffa",
		"uuid=0x112233445566778899aabbccddeeff",
		"even=a",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char line[160] = "driver x: bad parameter ";

		strcat(line, wrong[i]);
		assert_int_equal(give("path=/", wrong[i]), -EINVAL);
		assert_string_equal(err, line);
	}
}

static void needed(void **state)
{
	(void)state;
	assert_int_equal(give("text=a", NULL), -EINVAL);
	assert_string_equal(err, "driver x needs path=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
		cmocka_unit_test(needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
