/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records whose checksum is good and whose content is not: each value that no
 * writer of this format writes is refused, and what is legal at the edge is not.
 */
#include "format/names.h"
#include "records.h"
#include "ringfence/control.h"

struct change {
	const char *kind;
	struct field field[3];
	bool good;
	const char *what;
};

#define OK true
#define BAD false

static const struct change changes[] = {
	/* superblock */
	{"super", {{272, 8, 1}}, BAD, "an unknown incompat feature"},
	{"super", {{272, 8, 1ull << 63}}, BAD, "the last incompat feature"},
	{"super", {{256, 8, ~0ull}, {264, 8, ~0ull}}, OK, "compat and ro_compat features"},
	{"super", {{280, 8, 0x100200}}, BAD, "an offset between strides"},
	{"super", {{280, 8, 1ull << 63}}, BAD, "an offset beyond any device"},
	{"super", {{280, 8, INT64_MAX - 4095}}, BAD, "an end beyond any device"},
	{"super", {{280, 8, 0}}, OK, "offset 0"},
	{"super", {{288, 8, 75}}, BAD, "a stride too many"},
	{"super", {{288, 8, 73}}, BAD, "a stride too few"},
	{"super", {{304, 4, 2048}}, BAD, "strides below 4096"},
	{"super", {{304, 4, 12288}}, BAD, "strides that are no power of two"},
	{"super", {{304, 4, 131072}}, BAD, "strides above the limit"},
	{"super", {{304, 4, 65536}}, OK, "the largest stride"},
	{"super", {{308, 4, 256}}, BAD, "sectors below a record"},
	{"super", {{308, 4, 8192}}, BAD, "sectors above a stride"},
	{"super", {{308, 4, 513}}, BAD, "odd sectors"},
	{"super", {{308, 4, 4096}}, OK, "4Kn sectors"},
	{"super", {{312, 2, 0}}, BAD, "no nodes"},
	{"super", {{312, 2, 129}}, BAD, "too many nodes"},
	{"super", {{314, 2, 0}}, BAD, "no volumes"},
	{"super", {{314, 2, 257}}, BAD, "too many volumes"},
	{"super", {{316, 2, 7}}, BAD, "too little history"},
	{"super", {{316, 2, 1025}}, BAD, "too much history"},
	{"super", {{318, 2, 0}}, BAD, "no state"},
	{"super", {{318, 2, 1}, {288, 8, 62}}, BAD, "no room for a state payload"},
	{"super", {{318, 2, 65}, {288, 8, 830}}, BAD, "too large a state"},
	{"super", {{318, 2, 64}, {288, 8, 818}}, OK, "the largest state"},
	{"super", {{320, 1, 3}}, BAD, "disk 3 of 3"},
	{"super", {{360, 8, 0}}, BAD, "nobody votes"},
	{"super", {{321, 1, 2}}, BAD, "two quorum disks"},
	{"super", {{321, 1, 4}}, BAD, "four quorum disks"},
	{"super", {{321, 1, 5}, {320, 1, 4}}, OK, "the fifth of five disks"},
	{"super", {{321, 1, 0}, {320, 1, 0}}, BAD, "no quorum disk"},
	{"super", {{321, 1, 1}, {320, 1, 0}}, OK, "one quorum disk"},
	{"super", {{322, 1, 2}}, OK, "at the end of a device"},
	{"super", {{323, 1, 1}}, OK, "the other quorum rule"},
	{"super", {{322, 1, 0}}, BAD, "no place"},
	{"super", {{322, 1, 4}}, BAD, "an unknown place"},
	{"super", {{322, 1, 3}}, OK, "a device of its own"},
	{"super", {{323, 1, 0}}, BAD, "no quorum rule"},
	{"super", {{323, 1, 3}}, BAD, "an unknown quorum rule"},
	{"super", {{324, 4, 0}}, BAD, "a heartbeat of zero"},
	{"super", {{332, 4, 299}}, BAD, "a lease below three heartbeats"},
	{"super", {{352, 4, 999}}, BAD, "in-flight below the lease"},
	{"super", {{356, 4, 100001}}, BAD, "a drift above ten percent"},
	{"super", {{360, 8, 0}}, BAD, "nobody votes"},
	{"super", {{360, 8, 0x0d}}, BAD, "a voter that does not exist"},
	{"super", {{375, 1, 0x80}}, BAD, "voter 128"},
	{"super", {{127, 1, 'x'}}, BAD, "bytes behind the cluster name"},
	{"super", {{64, 8, 0}}, OK, "a cluster without name"},
	{"super", {{255, 1, 'x'}}, BAD, "bytes behind the device identity"},
	/* slot */
	{"slot", {{160, 4, 0}}, BAD, "slot state 0"},
	{"slot", {{160, 4, RF_SLOT_JOINED ^ 1}}, BAD, "a slot state one bit off"},
	{"slot", {{160, 4, RF_SLOT_FREE}}, BAD, "free, with a gate open (§3)"},
	{"slot", {{160, 4, RF_SLOT_FREE}, {176, 8, 0}}, OK, "free, gates shut"},
	{"slot",
	 {{160, 4, RF_SLOT_FREE}, {176, 8, 0}, {207, 1, 0x80}},
	 BAD,
	 "free, last gate open"},
	{"slot", {{64, 8, 0}}, BAD, "joined without incarnation"},
	{"slot", {{159, 1, 'x'}}, BAD, "bytes behind the host name"},
	{"slot", {{240, 1, 0x08}}, BAD, "hears a node that does not exist"},
	{"slot", {{255, 1, 0x80}}, BAD, "hears node 128"},
	{"slot", {{292, 2, 256}}, BAD, "wants a volume that cannot be"},
	{"slot", {{294, 2, 1}}, BAD, "padding"},
	{"slot", {{310, 1, 4}}, BAD, "granted a node that does not exist"},
	{"slot", {{308, 2, 256}}, BAD, "granted a volume that cannot be"},
	{"slot", {{391, 1, 1}}, BAD, "padding of the last grant"},
	{"slot", {{164, 4, 0xffffffff}}, OK, "health bits of later versions"},
	/* mailbox */
	{"mailbox", {{64, 4, 0}}, BAD, "order 0"},
	{"mailbox", {{64, 4, 0xffffffff}}, BAD, "order of all ones"},
	{"mailbox", {{64, 4, RF_ORDER_NONE}}, OK, "no order"},
	{"mailbox", {{64, 4, RF_ORDER_STOP ^ 0x80000000}}, BAD, "an order one bit off"},
	{"mailbox", {{68, 4, 0}}, OK, "ordered by the operator"},
	{"mailbox", {{68, 4, 4}}, BAD, "ordered by nobody"},
	/* volume */
	{"volume", {{127, 1, 'x'}}, BAD, "bytes behind the name"},
	{"volume", {{255, 1, 'x'}}, BAD, "bytes behind the device identity"},
	{"volume", {{280, 8, 0}}, OK, "data to the end"},
	/* epoch sector */
	{"epoch", {{84, 4, 0}}, BAD, "epoch state 0"},
	{"epoch", {{84, 4, RF_EPOCH_RELEASED}}, OK, "released"},
	{"epoch", {{84, 4, RF_EPOCH_NONE}}, BAD, "none, with an owner"},
	{"epoch", {{64, 8, 0}}, BAD, "claimed, epoch 0"},
	{"epoch", {{72, 8, 0}}, BAD, "claimed, no incarnation"},
	{"epoch", {{80, 4, 0}}, BAD, "claimed by nobody"},
	{"epoch", {{80, 4, 4}}, BAD, "claimed by a node that does not exist"},
	{"epoch", {{64, 8, 0}, {72, 8, 0}, {80, 8, (uint64_t)RF_EPOCH_NONE << 32}}, OK, "none"},
	{"epoch", {{64, 8, 0}, {84, 4, RF_EPOCH_NONE}}, BAD, "no epoch, with an owner"},
	{"epoch",
	 {{64, 8, 0}, {80, 8, (uint64_t)RF_EPOCH_NONE << 32}},
	 BAD,
	 "no epoch, with an incarnation"},
	/* ballot */
	{"ballot", {{64, 8, 0}, {72, 8, 0}}, BAD, "a vote in no instance"},
	{"ballot", {{64, 8, 0}, {72, 8, 0}, {80, 8, 0}}, BAD, "a value of no instance"},
	{"ballot", {{80, 8, 0x0503}}, BAD, "bal above mbal (§5)"},
	{"ballot", {{80, 8, 0x0502}}, OK, "phase 2: bal is mbal"},
	{"ballot", {{64, 8, 0}}, BAD, "a ballot of no instance"},
	{"ballot", {{72, 8, 0}}, BAD, "an instance without ballot"},
	{"ballot", {{64, 8, (1ull << 62) + 1}}, BAD, "an instance beyond counting"},
	{"ballot", {{72, 8, (1ull << 62) + 1}}, BAD, "a ballot beyond counting"},
	{"ballot", {{64, 8, 1ull << 62}, {72, 8, 1ull << 62}}, OK, "the last of both"},
	{"ballot", {{88, 8, 0}}, BAD, "a value without incarnation"},
	{"ballot", {{96, 4, 0}}, BAD, "a value without node"},
	{"ballot", {{96, 4, 4}}, BAD, "a value that does not exist"},
	{"ballot", {{100, 4, 1}}, BAD, "padding"},
	{"ballot", {{80, 8, 0}, {88, 8, 0}, {96, 4, 0}}, OK, "phase 1: no value yet"},
	/* state */
	{"state", {{80, 4, 64 * 4096 - 512}}, OK, "the longest payload"},
	{"state", {{80, 4, 64 * 4096 - 511}}, BAD, "too long a payload"},
	{"state", {{64, 8, 0}}, BAD, "content under epoch 0"},
	{"state", {{64, 8, 0}, {72, 8, 0}, {80, 8, 0}}, OK, "no state yet"},
	{"state", {{64, 8, 0}, {72, 8, 0}}, BAD, "a length of no state"},
	{"state", {{64, 8, 0}, {72, 8, 0}, {80, 4, 0}}, BAD, "a checksum of no state"},
	/* history */
	{"history", {{80, 4, 0}}, BAD, "an epoch of nobody"},
	{"history", {{80, 4, 4}}, BAD, "an owner that does not exist"},
	{"history", {{72, 8, 0}}, BAD, "an owner without incarnation"},
	{"history", {{64, 8, 0}, {80, 4, 0}}, BAD, "unused, with an incarnation"},
	{"history", {{84, 4, RF_CAUSE_LAST + 1}}, BAD, "an unknown cause"},
	{"history", {{104, 4, RF_CAUSE_LAST + 1}}, BAD, "an unknown end"},
	{"history", {{104, 4, RF_CAUSE_LAST}}, OK, "the last cause"},
	{"history", {{108, 4, 4}}, BAD, "a predecessor that does not exist"},
	{"history", {{108, 4, 0}}, OK, "no predecessor"},
	{"history", {{211, 1, 'x'}}, BAD, "bytes behind the host name"},
	{"history", {{64, 8, 0}}, BAD, "unused, with an owner"},
	{"history", {{64, 8, 0}, {72, 8, 0}, {80, 4, 0}}, OK, "unused"},
};

static void content_is_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(changes); i++) {
		const struct change *c = &changes[i];
		const struct kind *k = kind_named(c->kind);
		uint8_t record[RF_RECORD_BYTES];
		enum rf_record_verdict verdict;
		union twin out;

		sample_record(k, record);
		for (size_t f = 0; f < COUNT(c->field); f++)
			poke(record, &c->field[f]);
		reseal(record);
		verdict = k->decode(record, &out);
		if (verdict != (c->good ? RF_RECORD_OK : RF_RECORD_BAD_VERSION))
			fail_msg("%s, %s: verdict %d", c->kind, c->what, verdict);
	}
}

static void numbers_without_a_name(void **state)
{
	(void)state;
	assert_string_equal(rf_cause_word(RF_CAUSE_FIRST), "first");
	assert_string_equal(rf_cause_word(RF_CAUSE_LAST + 1), "unknown");
	assert_string_equal(rf_role_word(RF_ROLE_ACTIVE), "active");
	assert_string_equal(rf_role_word(RF_ROLE_LAST + 1), "unknown");
}

/* Text fields that fill all their bytes have no end. */
static void texts_end(void **state)
{
	static const struct {
		const char *kind;
		unsigned offset, bytes;
	} texts[] = {{"super", 64, 64},  {"super", 128, 128},  {"slot", 96, 64},
		     {"volume", 64, 64}, {"volume", 128, 128}, {"history", 148, 64}};
	uint8_t record[RF_RECORD_BYTES];
	union twin out;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct kind *k = kind_named(texts[i].kind);

		sample_record(k, record);
		memset(record + texts[i].offset, 'n', texts[i].bytes);
		reseal(record);
		assert_int_equal(k->decode(record, &out), RF_RECORD_BAD_VERSION);
		record[texts[i].offset + texts[i].bytes - 1] = 0;
		reseal(record);
		assert_int_equal(k->decode(record, &out), RF_RECORD_OK);
	}
}

/* What stands behind a text in memory never reaches the disk. */
static void memory_does_not_leak(void **state)
{
	uint8_t clean[RF_RECORD_BYTES], dirty[RF_RECORD_BYTES];
	union twin t;

	(void)state;
	sample_record(kind_named("slot"), clean);
	kind_named("slot")->sample(&t);
	memset(t.slot.host + strlen(t.slot.host) + 1, 's', 20);
	rf_slot_encode(dirty, &sample_id, SAMPLE_NODE, &t.slot);
	assert_memory_equal(clean, dirty, sizeof(clean));
}

static void impossible_requests_are_bugs(void **state)
{
	uint8_t record[RF_RECORD_BYTES];
	union twin t;

	(void)state;
	kind_named("slot")->sample(&t);
	expect_assert_failure(rf_slot_encode(record, &sample_id, 0, &t.slot));
	expect_assert_failure(rf_slot_encode(record, &sample_id, 4, &t.slot));
	t.slot.state = RF_SLOT_FREE; /* with a gate open */
	expect_assert_failure(rf_slot_encode(record, &sample_id, 2, &t.slot));
	kind_named("ballot")->sample(&t);
	t.ballot.bal = t.ballot.mbal + 1;
	expect_assert_failure(rf_ballot_encode(record, &sample_id, 0, 2, &t.ballot));
	kind_named("epoch")->sample(&t);
	expect_assert_failure(rf_epoch_encode(record, &sample_id, RF_VOLUMES_MAX, &t.epoch));
	t.epoch.owner = 0;
	expect_assert_failure(rf_epoch_encode(record, &sample_id, 0, &t.epoch));
	kind_named("super")->sample(&t);
	t.super.area_strides++;
	expect_assert_failure(rf_super_encode(record, &t.super, 0));
}

/* §1, state: the payload's own checksum tells a torn one. */
static void payloads(void **state)
{
	uint8_t half[2 * 4096];
	struct rf_state s = {.epoch = 7, .version = 1, .length_bytes = 100};

	(void)state;
	memset(half, 0x33, sizeof(half));
	s.payload_crc = rf_crc32c(half + RF_RECORD_BYTES, 100);
	assert_true(rf_state_payload_ok(half, sizeof(half), &s));
	assert_true(rf_state_payload_ok(half, RF_RECORD_BYTES + 100, &s));
	assert_false(rf_state_payload_ok(half, RF_RECORD_BYTES + 99, &s));
	assert_false(rf_state_payload_ok(half, 100, &s));
	half[RF_RECORD_BYTES + 99] ^= 1;
	assert_false(rf_state_payload_ok(half, sizeof(half), &s));
	half[RF_RECORD_BYTES + 99] ^= 1;
	half[RF_RECORD_BYTES + 100] ^= 1; /* behind the payload */
	assert_true(rf_state_payload_ok(half, sizeof(half), &s));
	s = (struct rf_state){.length_bytes = 0};
	assert_true(rf_state_payload_ok(half, sizeof(half), &s)); /* none yet */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_is_checked),
		cmocka_unit_test(numbers_without_a_name),
		cmocka_unit_test(texts_end),
		cmocka_unit_test(memory_does_not_leak),
		cmocka_unit_test(impossible_requests_are_bugs),
		cmocka_unit_test(payloads),
	};

	return cmocka_run_group_tests_name("content", tests, NULL, NULL);
}
