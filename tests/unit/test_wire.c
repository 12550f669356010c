/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages: exactly one encoding each. Whatever else arrives is refused: any
 * other length, counts that lie, ids beyond the area, enums nobody knows.
 */
#include "support.h"

#define NODES 3u
#define VOLUMES 2u

struct sample {
	const char *name;
	struct rf_msg msg;
	size_t bytes;
};

static struct sample samples[] = {
	{"heartbeat",
	 {.kind = RF_WIRE_HEARTBEAT,
	  .heartbeat = {.slot_seq = 0x0102030405060708,
			.clock_ns = 0x1112131415161718,
			.echo_ns = 0x2122232425262728,
			.echo_held_us = 1234567,
			.health = RF_HEALTH_PAUSED,
			.priority = 100,
			.echo = 3,
			.part = 0,
			.parts = 1,
			.count = 2,
			.hears = {7},
			.entries = {{0x3132333435363738, 0, RF_WIRE_ROLE_CLAIMED},
				    {0x4142434445464748, 1, RF_WIRE_ROLE_LEADER}}}},
	 60 + 2 * 12},
	{"heartbeat-empty",
	 {.kind = RF_WIRE_HEARTBEAT, .heartbeat = {.slot_seq = 1, .parts = 1}},
	 60},
	{"prevote",
	 {.kind = RF_WIRE_PREVOTE,
	  .prevote = {.epoch = 0x0102030405060708,
		      .round = 0x11121314,
		      .priority = 100,
		      .volume = 1,
		      .hears = 3}},
	 24},
	{"vote",
	 {.kind = RF_WIRE_VOTE,
	  .vote = {.epoch = 0x0102030405060708,
		   .known = 0x1112131415161718,
		   .round = 0x21222324,
		   .volume = 1,
		   .candidate = 2,
		   .granted = true}},
	 32},
	{"closed",
	 {.kind = RF_WIRE_CLOSED, .closed = {.epoch = 0x0102030405060708, .volume = 1}},
	 16},
	{"released",
	 {.kind = RF_WIRE_RELEASED,
	  .released = {.epoch = 0x0102030405060708, .volume = 1, .to = 3}},
	 16},
};

/* The bytes stand at the very end of an allocation: an overrun is seen. */
static int decode(const uint8_t *bytes, size_t len, struct rf_msg *out)
{
	uint8_t *exact = malloc(len ? len : 1);
	int rc;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	rc = rf_msg_decode(exact, len, NODES, VOLUMES, out);
	free(exact);
	return rc;
}

static void refuse(const uint8_t *bytes, size_t len, const char *name, const char *what)
{
	struct rf_msg out, untouched;

	memset(&out, UNTOUCHED, sizeof(out));
	memset(&untouched, UNTOUCHED, sizeof(untouched));
	if (!decode(bytes, len, &out))
		fail_msg("%s with %s was believed", name, what);
	assert_memory_equal(&out, &untouched, sizeof(out));
}

static void sent_is_received(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		uint8_t bytes[RF_MESSAGE_BYTES], again[RF_MESSAGE_BYTES];
		struct rf_msg out;

		assert_int_equal(rf_msg_encode(bytes, &samples[i].msg), samples[i].bytes);
		assert_int_equal(decode(bytes, samples[i].bytes, &out), 0);
		assert_int_equal(rf_msg_encode(again, &out), samples[i].bytes);
		assert_memory_equal(bytes, again, samples[i].bytes);
		assert_int_equal(out.kind, samples[i].msg.kind);
	}
}

static void golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		uint8_t bytes[RF_MESSAGE_BYTES];
		char name[64];

		snprintf(name, sizeof(name), "wire-%s", samples[i].name);
		assert_golden(name, bytes, rf_msg_encode(bytes, &samples[i].msg));
	}
}

static void every_other_length_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		uint8_t bytes[RF_MESSAGE_BYTES + 1] = {0};

		rf_msg_encode(bytes, &samples[i].msg);
		for (size_t len = 0; len <= sizeof(bytes); len++)
			if (len != samples[i].bytes)
				refuse(bytes, len, samples[i].name, "another length");
	}
}

struct change {
	size_t sample;
	unsigned offset;
	uint8_t value;
	const char *what;
};

static const struct change changes[] = {
	{0, 0, 0, "kind 0"},
	{0, 0, 6, "kind 6"},
	{0, 0, 255, "kind 255"},
	{0, 1, 1, "a count below its entries"},
	{0, 1, 3, "a count above its entries"},
	{0, 1, 255, "a count above all limits"},
	{0, 2, 1, "padding"},
	{0, 32, 4, "an echo of node 4"},
	{0, 33, 1, "an echo of node 259"},
	{0, 34, 1, "part 1 of 1"},
	{0, 35, 0, "no parts"},
	{0, 44, 0x0f, "hears node 4"},
	{0, 59, 0x80, "hears node 128"},
	{0, 68, 2, "an entry of volume 2"},
	{0, 69, 1, "an entry of volume 256"},
	{0, 70, 0, "role 0"},
	{0, 70, 3, "role 3"},
	{0, 71, 1, "padding of an entry"},
	{0, 83, 1, "padding of the last entry"},
	{1, 1, 1, "a count without entries"},
	{2, 1, 1, "a count"},
	{2, 2, 1, "padding"},
	{2, 16, 2, "volume 2"},
	{2, 18, 4, "hearing four of three"},
	{3, 1, 1, "a count"},
	{3, 24, 2, "volume 2"},
	{3, 26, 0, "candidate 0"},
	{3, 26, 4, "candidate 4"},
	{3, 28, 2, "granted twice"},
	{3, 29, 1, "padding"},
	{3, 31, 1, "the last padding"},
	{4, 1, 1, "a count"},
	{4, 12, 2, "volume 2"},
	{4, 14, 1, "padding"},
	{5, 1, 1, "a count"},
	{5, 12, 2, "volume 2"},
	{5, 14, 4, "to node 4"},
};

static void lies_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(changes); i++) {
		const struct sample *s = &samples[changes[i].sample];
		uint8_t bytes[RF_MESSAGE_BYTES];

		rf_msg_encode(bytes, &s->msg);
		bytes[changes[i].offset] = changes[i].value;
		refuse(bytes, s->bytes, s->name, changes[i].what);
	}
}

/* Any byte may have any value: believed or not, the encoding is the only one. */
static void one_encoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		for (size_t at = 0; at < samples[i].bytes; at++)
			for (unsigned v = 0; v < 256; v++) {
				uint8_t bytes[RF_MESSAGE_BYTES], again[RF_MESSAGE_BYTES];
				struct rf_msg out;

				rf_msg_encode(bytes, &samples[i].msg);
				bytes[at] = (uint8_t)v;
				if (decode(bytes, samples[i].bytes, &out))
					continue;
				assert_int_equal(rf_msg_encode(again, &out), samples[i].bytes);
				assert_memory_equal(bytes, again, samples[i].bytes);
			}
}

static void a_full_heartbeat_fits(void **state)
{
	struct rf_msg m = {.kind = RF_WIRE_HEARTBEAT}, out;
	uint8_t bytes[RF_MESSAGE_BYTES];
	size_t len;

	(void)state;
	m.heartbeat.part = 3;
	m.heartbeat.parts = 4;
	m.heartbeat.count = RF_HEARTBEAT_ENTRIES;
	for (unsigned i = 0; i < RF_HEARTBEAT_ENTRIES; i++)
		m.heartbeat.entries[i] = (struct rf_msg_entry){
			.epoch = i, .volume = (uint16_t)(192 + i), .role = RF_WIRE_ROLE_LEADER};
	len = rf_msg_encode(bytes, &m);
	assert_true(len <= RF_MESSAGE_BYTES);
	assert_int_equal(rf_msg_decode(bytes, len, RF_NODES_MAX, RF_VOLUMES_MAX, &out), 0);
	assert_int_equal(out.heartbeat.entries[63].volume, 255);
	assert_int_equal(rf_msg_decode(bytes, len, RF_NODES_MAX, 255, &out), -1);
}

static void impossible_messages_are_bugs(void **state)
{
	struct rf_msg m = samples[0].msg;
	uint8_t bytes[RF_MESSAGE_BYTES];

	(void)state;
	m.heartbeat.count = RF_HEARTBEAT_ENTRIES + 1;
	expect_assert_failure(rf_msg_encode(bytes, &m));
	m = samples[0].msg;
	m.heartbeat.parts = 0;
	expect_assert_failure(rf_msg_encode(bytes, &m));
	m = samples[3].msg;
	m.vote.candidate = 0;
	expect_assert_failure(rf_msg_encode(bytes, &m));
	m.kind = 0;
	expect_assert_failure(rf_msg_encode(bytes, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sent_is_received),
		cmocka_unit_test(golden_files),
		cmocka_unit_test(every_other_length_is_refused),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(one_encoding),
		cmocka_unit_test(a_full_heartbeat_fits),
		cmocka_unit_test(impossible_messages_are_bugs),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
