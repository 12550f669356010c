/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seal against whoever holds a network card: short, foreign, forged and replayed
 * datagrams, each refused for its own reason and with nothing changed.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/seal.h"

#define OPENED 0
#define REFUSED (-1)
#define NOTHING_NEW 1

static const uint8_t area[RF_UUID_BYTES] = {0xaa, 1, 2, 3};
static const uint8_t elsewhere[RF_UUID_BYTES] = {0xbb, 1, 2, 3};

static struct rf_keys keys_of(uint8_t id, uint8_t fill)
{
	struct rf_keys k = {.count = 1};

	k.key[0].id = id;
	memset(k.key[0].bytes, fill, RF_KEY_BYTES);
	return k;
}

/* A node of area 0 under key 1; its life is its id times 16 plus `life`. */
static struct rf_seal *node_in(uint32_t id, unsigned life, const uint8_t *of)
{
	struct rf_keys k = keys_of(1, 0x11);
	struct rf_seal *s;

	assert_int_equal(rf_seal_open(&s, id * 16 + life, 77), 0);
	rf_seal_keys(s, &k);
	assert_int_equal(rf_seal_area(s, of, id, 3), 0);
	return s;
}

static struct rf_seal *node(uint32_t id, unsigned life)
{
	return node_in(id, life, area);
}

struct datagram {
	uint8_t bytes[RF_DATAGRAM_BYTES];
	size_t len;
};

static struct datagram sealed(struct rf_seal *s, const char *text)
{
	struct datagram d;

	d.len = rf_seal_close(s, 0, d.bytes, (const uint8_t *)text, strlen(text));
	assert_true(d.len > 0 && d.len <= RF_DATAGRAM_BYTES);
	return d;
}

static uint8_t message[RF_MESSAGE_BYTES];
static struct rf_unsealed got;

static int give(struct rf_seal *s, const struct datagram *d, enum rf_reject *why)
{
	*why = RF_REJECT_COUNT;
	return rf_seal_unseal(s, d->bytes, d->len, message, &got, why);
}

static void expect(struct rf_seal *s, const struct datagram *d, int rc, enum rf_reject reason)
{
	enum rf_reject why;

	assert_int_equal(give(s, d, &why), rc);
	if (rc == REFUSED)
		assert_int_equal(why, reason);
}

static void a_message_arrives(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct datagram d = sealed(a, "hello");

	(void)state;
	assert_int_equal(d.len, sizeof(struct rf_wire_envelope) + 5 + RF_WIRE_TAG_BYTES);
	assert_null(memmem(d.bytes, d.len, "hello", 5));
	expect(b, &d, OPENED, 0);
	assert_int_equal(got.from, 1);
	assert_int_equal(got.incarnation, 16);
	assert_int_equal(got.area, 0);
	assert_int_equal(got.len, 5);
	assert_memory_equal(message, "hello", 5);
	rf_seal_free(a);
	rf_seal_free(b);
}

static void the_longest_message_fits(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	static uint8_t longest[RF_MESSAGE_BYTES + 1];
	struct datagram d;

	(void)state;
	d.len = rf_seal_close(a, 0, d.bytes, longest, RF_MESSAGE_BYTES);
	assert_true(d.len && d.len <= RF_DATAGRAM_BYTES);
	expect(b, &d, OPENED, 0);
	assert_int_equal(got.len, RF_MESSAGE_BYTES);
	assert_int_equal(rf_seal_close(a, 0, d.bytes, longest, RF_MESSAGE_BYTES + 1), 0);
	rf_seal_free(a);
	rf_seal_free(b);
}

static void my_own_comes_back(void **state)
{
	struct rf_seal *a = node(1, 0), *old = node(1, 1);
	struct datagram d = sealed(a, "x"), o = sealed(old, "x");

	(void)state;
	expect(a, &d, NOTHING_NEW, 0);
	expect(a, &o, REFUSED, RF_REJECT_LIFE); /* an earlier life of mine, replayed */
	rf_seal_free(a);
	rf_seal_free(old);
}

/* Every prefix, and every flipped bit: never opened. */
static void no_forgery_is_opened(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct datagram d = sealed(a, "hello"), bad;
	enum rf_reject why;

	(void)state;
	for (size_t n = 0; n < d.len; n++) {
		bad = d;
		bad.len = n;
		assert_int_equal(give(b, &bad, &why), REFUSED);
		assert_true(why == RF_REJECT_SHORT || why == RF_REJECT_SEAL);
	}
	for (size_t bit = 0; bit < 8 * d.len; bit++) {
		bad = d;
		bad.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		assert_int_equal(give(b, &bad, &why), REFUSED);
		assert_true(why < RF_REJECT_COUNT && why != RF_REJECT_REPLAY);
	}
	expect(b, &d, OPENED, 0); /* none of them spoiled the window */
	rf_seal_free(a);
	rf_seal_free(b);
}

static void each_refusal_has_its_reason(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0), *c = node_in(1, 0, elsewhere);
	struct rf_wire_envelope *e;
	struct datagram d = sealed(a, "hello"), bad;

	(void)state;
	bad = d;
	bad.len = sizeof(*e) + RF_WIRE_TAG_BYTES - 1;
	expect(b, &bad, REFUSED, RF_REJECT_SHORT);
	bad = (struct datagram){.len = RF_DATAGRAM_BYTES};
	expect(b, &bad, REFUSED, RF_REJECT_SHORT);
	bad = (struct datagram){.len = 200};
	expect(b, &bad, REFUSED, RF_REJECT_MAGIC);
	bad = sealed(c, "hello");
	expect(b, &bad, REFUSED, RF_REJECT_AREA);
	bad = d;
	e = (struct rf_wire_envelope *)(void *)bad.bytes;
	e->sender = htole16(4); /* the area has three */
	expect(b, &bad, REFUSED, RF_REJECT_AREA);
	e->sender = 0;
	expect(b, &bad, REFUSED, RF_REJECT_AREA);
	e->sender = htole16(3); /* a node, but not the one that sealed it */
	expect(b, &bad, REFUSED, RF_REJECT_SEAL);
	bad = d;
	e->key_id = 9;
	expect(b, &bad, REFUSED, RF_REJECT_KEY);
	rf_seal_free(a);
	rf_seal_free(b);
	rf_seal_free(c);
}

/* ---- replay ---- */

static void what_was_seen_is_not_seen_again(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct datagram d[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		d[i] = sealed(a, "x");
	expect(b, &d[10], OPENED, 0);
	expect(b, &d[10], REFUSED, RF_REJECT_REPLAY);
	expect(b, &d[9], OPENED, 0); /* overtaken, not replayed */
	expect(b, &d[73], OPENED, 0);
	expect(b, &d[11], OPENED, 0);
	expect(b, &d[10], REFUSED, RF_REJECT_REPLAY);
	expect(b, &d[9], REFUSED, RF_REJECT_REPLAY); /* out of the window */
	expect(b, &d[8], REFUSED, RF_REJECT_REPLAY);
	expect(b, &d[99], OPENED, 0);
	expect(b, &d[73], REFUSED, RF_REJECT_REPLAY);
	expect(b, &d[74], OPENED, 0);
	rf_seal_free(a);
	rf_seal_free(b);
}

/* With several groups or interfaces each datagram comes more than once. */
static void an_expected_copy_is_no_replay(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct datagram d[80];

	(void)state;
	rf_seal_copies(b, true);
	for (int i = 0; i < 80; i++)
		d[i] = sealed(a, "x");
	expect(b, &d[0], OPENED, 0);
	expect(b, &d[0], NOTHING_NEW, 0);
	expect(b, &d[79], OPENED, 0);
	expect(b, &d[79], NOTHING_NEW, 0);
	expect(b, &d[0], REFUSED, RF_REJECT_REPLAY); /* a copy does not come that late */
	rf_seal_free(a);
	rf_seal_free(b);
}

/* Replays of lives long gone must not push out the window of the present one. */
static void old_lives_cannot_evict_the_present(void **state)
{
	struct rf_seal *now = node(1, 0), *b = node(2, 0);
	struct datagram d = sealed(now, "x");

	(void)state;
	rf_seal_life(b, 0, 1, 16); /* the slot names it */
	expect(b, &d, OPENED, 0);
	for (unsigned life = 1; life < 9; life++) {
		struct rf_seal *old = node(1, life);
		struct datagram o = sealed(old, "x");

		expect(b, &o, OPENED, 0); /* authentic; the core refuses the life */
		assert_int_equal(got.incarnation, 16 + life);
		rf_seal_free(old);
	}
	expect(b, &d, REFUSED, RF_REJECT_REPLAY);
	rf_seal_free(now);
	rf_seal_free(b);
}

/* What was heard before the disk named the new life is not heard twice. */
static void a_new_life_keeps_its_window(void **state)
{
	struct rf_seal *old = node(1, 0), *new = node(1, 1), *b = node(2, 0);
	struct datagram o = sealed(old, "x"), n = sealed(new, "x");

	(void)state;
	rf_seal_life(b, 0, 1, 16);
	expect(b, &o, OPENED, 0);
	expect(b, &n, OPENED, 0);
	rf_seal_life(b, 0, 1, 17);
	expect(b, &n, REFUSED, RF_REJECT_REPLAY);
	expect(b, &o, REFUSED, RF_REJECT_REPLAY);
	rf_seal_free(old);
	rf_seal_free(new);
	rf_seal_free(b);
}

/* ---- keys ---- */

/* Append everywhere, move to the front everywhere, drop: nobody is deaf in between. */
static void keys_are_rotated_without_silence(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct rf_keys both = keys_of(1, 0x11), next;
	struct datagram d;

	(void)state;
	both.count = 2;
	both.key[1] = keys_of(2, 0x22).key[0];
	rf_seal_keys(a, &both);
	rf_seal_keys(b, &both);
	d = sealed(a, "x");
	expect(b, &d, OPENED, 0);
	next = (struct rf_keys){.count = 2, .key = {both.key[1], both.key[0]}};
	rf_seal_keys(a, &next);
	d = sealed(a, "x");
	expect(b, &d, OPENED, 0);
	next.count = 1;
	rf_seal_keys(b, &next);
	d = sealed(a, "x");
	expect(b, &d, OPENED, 0);
	rf_seal_keys(a, &both); /* still the old one in front */
	d = sealed(a, "x");
	expect(b, &d, REFUSED, RF_REJECT_KEY);
	rf_seal_free(a);
	rf_seal_free(b);
}

static void the_same_id_is_not_the_same_key(void **state)
{
	struct rf_seal *a = node(1, 0), *b = node(2, 0);
	struct rf_keys other = keys_of(1, 0x33);
	struct datagram d;

	(void)state;
	rf_seal_keys(a, &other);
	d = sealed(a, "x");
	expect(b, &d, REFUSED, RF_REJECT_SEAL);
	rf_seal_free(a);
	rf_seal_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_arrives),
		cmocka_unit_test(the_longest_message_fits),
		cmocka_unit_test(my_own_comes_back),
		cmocka_unit_test(no_forgery_is_opened),
		cmocka_unit_test(each_refusal_has_its_reason),
		cmocka_unit_test(what_was_seen_is_not_seen_again),
		cmocka_unit_test(an_expected_copy_is_no_replay),
		cmocka_unit_test(old_lives_cannot_evict_the_present),
		cmocka_unit_test(a_new_life_keeps_its_window),
		cmocka_unit_test(keys_are_rotated_without_silence),
		cmocka_unit_test(the_same_id_is_not_the_same_key),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
