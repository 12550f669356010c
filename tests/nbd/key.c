/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Key files and connection names (key.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ringfence/key.h"

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX2 "FFEEDDCCBBAA99887766554433221100FFEEDDCCBBAA99887766554433221100"

static char path[64], err[256];
static struct rf_keys keys;

static int load(const char *text, mode_t mode)
{
	int fd, rc;

	snprintf(path, sizeof(path), "/tmp/rf-key.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	err[0] = 0;
	rc = rf_keys_load(&keys, path, err, sizeof(err));
	unlink(path);
	if (rc)
		assert_non_null(strstr(err, path));
	return rc;
}

static void test_load(void **state)
{
	(void)state;
	assert_int_equal(load("1 " HEX "\n", 0600), 0);
	assert_int_equal(keys.count, 1);
	assert_int_equal(keys.key[0].bytes[31], 0x1f);
	assert_int_equal(load("# old and new\n\n  255\t" HEX2 " # x\r\n0 " HEX, 0400), 0);
	assert_int_equal(keys.count, 2);
	assert_int_equal(keys.key[0].id, 255);
	assert_int_equal(keys.key[0].bytes[0], 0xff);
	assert_ptr_equal(rf_keys_find(&keys, 0), &keys.key[1]);
	assert_null(rf_keys_find(&keys, 7));
}

static void test_load_refused(void **state)
{
	char many[2000] = "";
	int i;

	(void)state;
	assert_int_equal(load("", 0600), -ENODATA);
	assert_int_equal(load("# nothing\n", 0600), -EINVAL);
	assert_int_equal(load("1 " HEX "\n", 0640), -EACCES);
	assert_int_equal(load("1 " HEX "\n", 0604), -EACCES);
	assert_int_equal(load("1 " HEX "\n1 " HEX2 "\n", 0600), -EINVAL);
	assert_non_null(strstr(err, ":2"));
	assert_int_equal(load("256 " HEX "\n", 0600), -EINVAL);
	assert_int_equal(load("-1 " HEX "\n", 0600), -EINVAL);
	assert_int_equal(load("99999999999 " HEX "\n", 0600), -EINVAL);
	assert_int_equal(load(HEX "\n", 0600), -EINVAL);
	assert_int_equal(load("1 " HEX "0\n", 0600), -EINVAL);
	assert_int_equal(load("1 00\n", 0600), -EINVAL);
	assert_int_equal(load("1 0g" HEX "\n", 0600), -EINVAL);
	assert_int_equal(
		load("1 0000000000000000000000000000000000000000000000000000000000000000",
		     0600),
		-EINVAL);
	for (i = 0; i < 9; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%d " HEX "\n", i);
	assert_int_equal(load(many, 0600), -EINVAL);
	assert_int_equal(keys.count, 0);
	assert_int_equal(rf_keys_load(&keys, "/nonexistent/key", err, sizeof(err)), -ENOENT);
	assert_int_equal(rf_keys_load(&keys, "/tmp", err, sizeof(err)), -EINVAL);
	assert_int_equal(rf_keys_load(&keys, "/nonexistent/key", err, 5), -ENOENT);
}

static struct rf_conn sample(enum rf_conn_kind kind)
{
	struct rf_conn c = {.kind = kind,
			    .volume = 255,
			    .node = 128,
			    .incarnation = 0xfedcba9876543210ull,
			    .epoch = UINT64_MAX};

	memset(c.area, 0xee, sizeof(c.area));
	return c;
}

static void test_name(void **state)
{
	enum rf_conn_kind kind;

	(void)state;
	assert_int_equal(load("200 " HEX "\n7 " HEX2 "\n", 0600), 0);
	for (kind = RF_CONN_DATA; kind <= RF_CONN_STAT; kind++) {
		struct rf_conn c = sample(kind), back;
		char name[RF_CONN_NAME_BYTES];

		rf_conn_name(name, &c, &keys);
		assert_int_equal(rf_conn_parse(&back, name, &keys), 0);
		assert_int_equal(back.kind, kind);
		assert_int_equal(back.volume, c.volume);
		assert_int_equal(back.node, c.node);
		assert_true(back.incarnation == c.incarnation && back.epoch == c.epoch);
		assert_memory_equal(back.area, c.area, sizeof(c.area));
	}
}

/* The form is frozen: other programs may make names. */
static void test_name_golden(void **state)
{
	struct rf_conn c = {.kind = RF_CONN_DATA,
			    .volume = 3,
			    .node = 2,
			    .incarnation = 0xabc,
			    .epoch = 17};
	char name[RF_CONN_NAME_BYTES];
	const char *head = "rf1.data.1.00000000000000000000000000000000.3.2."
			   "0000000000000abc.17.";

	(void)state;
	assert_int_equal(load("1 " HEX "\n", 0600), 0);
	rf_conn_name(name, &c, &keys);
	assert_memory_equal(name, head, strlen(head));
	assert_string_equal(name + strlen(head), "088c97a64f74ae882b1530af6e5b24c3");
}

/* No name but the one that was signed passes: each single-byte change fails. */
static void test_name_changed(void **state)
{
	struct rf_conn c = sample(RF_CONN_SHUT), back = {.epoch = 42};
	char name[RF_CONN_NAME_BYTES], bad[RF_CONN_NAME_BYTES];
	size_t i, len;
	int byte;

	(void)state;
	assert_int_equal(load("1 " HEX "\n", 0600), 0);
	rf_conn_name(name, &c, &keys);
	len = strlen(name);
	for (i = 0; i < len; i++) {
		for (byte = 0; byte < 256; byte++) {
			if ((char)byte == name[i])
				continue;
			memcpy(bad, name, len + 1);
			bad[i] = (char)byte;
			assert_true(rf_conn_parse(&back, bad, &keys) < 0);
		}
	}
	assert_int_equal(back.epoch, 42);
	for (i = 0; i < len; i++) {
		memcpy(bad, name, i);
		bad[i] = 0;
		assert_int_equal(rf_conn_parse(&back, bad, &keys), -EINVAL);
	}
}

static void test_name_refused(void **state)
{
	static const char *const bad[] = {
		"",
		".",
		"rf1",
		"rf1.data.1.",
		"rf2.data.1.00000000000000000000000000000000.3.2.0000000000000abc.17.0",
		"rf1.data.01.00000000000000000000000000000000.3.2.0000000000000abc.17."
		"00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.256.2.0000000000000abc.17."
		"00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.3.0.0000000000000abc.17."
		"00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.3.129.0000000000000abc.17."
		"00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.3.2.0000000000000abc."
		"18446744073709551616.00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.3.2.0000000000000ABC.17."
		"00000000000000000000000000000000",
		"rf1.data.1.00000000000000000000000000000000.3.2.0000000000000abc.17."
		"00000000000000000000000000000000.",
	};
	char signed_by_other[RF_CONN_NAME_BYTES];
	struct rf_conn c = sample(RF_CONN_DATA), back;
	struct rf_keys other;
	size_t i;

	(void)state;
	assert_int_equal(load("1 " HEX2 "\n", 0600), 0);
	other = keys;
	assert_int_equal(load("1 " HEX "\n", 0600), 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(rf_conn_parse(&back, bad[i], &keys), -EINVAL);
	rf_conn_name(signed_by_other, &c, &other);
	assert_int_equal(rf_conn_parse(&back, signed_by_other, &keys), -EBADMSG);
	other.key[0].id = 2;
	rf_conn_name(signed_by_other, &c, &other);
	assert_int_equal(rf_conn_parse(&back, signed_by_other, &keys), -ENOKEY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),         cmocka_unit_test(test_load_refused),
		cmocka_unit_test(test_name),         cmocka_unit_test(test_name_golden),
		cmocka_unit_test(test_name_changed), cmocka_unit_test(test_name_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
