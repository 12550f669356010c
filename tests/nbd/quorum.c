/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quorum export: the matrix of who may write what over what (quorum.h). */
#include "lab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A 0x1111111111111111ull
#define B 0x2222222222222222ull

static struct lab lab;
static struct nbd_handle *one, *two; /* nodes 1 and 2; 2 for any life */
static uint8_t record[RF_RECORD_BYTES];

static int setup(void **state)
{
	(void)state;
	lab_make(&lab, 1);
	assert_true(lab_serve(&lab, NULL, false));
	one = lab_open(&lab, RF_CONN_QUORUM, 1, A, 0);
	two = lab_open(&lab, RF_CONN_QUORUM, 2, 0, 0);
	assert_non_null(one);
	assert_non_null(two);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nbd_close(one);
	nbd_close(two);
	lab_remove(&lab);
	return 0;
}

static bool put(struct nbd_handle *h, uint64_t offset)
{
	uint8_t back[RF_RECORD_BYTES];

	if (nbd_pwrite(h, record, sizeof(record), offset, 0)) {
		assert_int_equal(nbd_get_errno(), EPERM);
		return false;
	}
	assert_int_equal(nbd_pread(h, back, sizeof(back), offset, 0), 0);
	assert_memory_equal(back, record, sizeof(back));
	return true;
}

static bool put_slot(struct nbd_handle *h, uint32_t node, uint64_t seq, uint64_t generation,
		     uint64_t incarnation)
{
	struct rf_slot s = {.seq = seq,
			    .generation = generation,
			    .incarnation = incarnation,
			    .state = RF_SLOT_JOINED};

	rf_slot_encode(record, &lab.super.id, node, &s);
	return put(h, rf_geo_slot(&lab.super, node));
}

static void test_slot(void **state)
{
	(void)state;
	assert_true(put_slot(one, 1, 2, 1, A));
	assert_true(put_slot(one, 1, 2, 1, A)); /* again, after a lost answer */
	assert_true(put_slot(one, 1, 5, 2, A));
	assert_false(put_slot(one, 1, 4, 2, A)); /* sequence back */
	assert_false(put_slot(one, 1, 9, 1, A)); /* generation back: a ghost */
	assert_false(put_slot(one, 1, 9, 3, B)); /* not the life of this connection */
	assert_false(put_slot(one, 2, 9, 3, A)); /* not its slot */
	assert_true(put_slot(two, 2, 2, 1, A));
	assert_true(put_slot(two, 2, 3, 2, B));
	assert_int_equal(lab_stat(&lab, "target_refused_quorum_lower"), 2);
	assert_int_equal(lab_stat(&lab, "target_refused_quorum_not_own"), 2);
}

static bool put_mailbox(struct nbd_handle *h, uint32_t node, uint64_t seq, uint32_t from,
			uint32_t order)
{
	struct rf_mailbox m = {.seq = seq, .from = from, .order = order, .incarnation = A};

	rf_mailbox_encode(record, &lab.super.id, node, &m);
	return put(h, rf_geo_mailbox(&lab.super, node));
}

static void test_mailbox(void **state)
{
	(void)state;
	assert_true(put_mailbox(one, 2, 2, 1, RF_ORDER_STOP));
	assert_false(put_mailbox(one, 2, 3, 1, RF_ORDER_NONE)); /* weaker over stronger */
	assert_false(put_mailbox(two, 2, 3, 2, RF_ORDER_NONE)); /* by its addressee, too */
	assert_true(put_mailbox(one, 2, 3, 0, RF_ORDER_STOP));  /* the operator's tool */
	assert_false(put_mailbox(one, 3, 2, 2, RF_ORDER_STOP)); /* in another's name */
	assert_false(put_mailbox(one, 2, 2, 1, RF_ORDER_STOP)); /* sequence back */
}

static bool put_epoch(struct nbd_handle *h, uint64_t seq, uint64_t epoch, uint32_t owner,
		      uint64_t incarnation, uint32_t st)
{
	struct rf_epoch e = {.seq = seq,
			     .epoch = epoch,
			     .owner = owner,
			     .incarnation = incarnation,
			     .state = st};

	rf_epoch_encode(record, &lab.super.id, 0, &e);
	return put(h, rf_geo_region(&lab.super, 0));
}

static void test_epoch(void **state)
{
	uint8_t zero[RF_RECORD_BYTES] = {0};

	(void)state;
	assert_true(put_epoch(one, 5, 3, 1, A, RF_EPOCH_CLAIMED));
	assert_true(
		put_epoch(two, 1, 4, 2, B, RF_EPOCH_CLAIMED)); /* another writer's counter */
	assert_false(put_epoch(one, 9, 3, 1, A, RF_EPOCH_CLAIMED)); /* §6: turned back */
	assert_false(
		put_epoch(one, 9, 4, 1, A, RF_EPOCH_CLAIMED)); /* two owners of one epoch */
	assert_false(put_epoch(one, 9, 5, 2, B, RF_EPOCH_CLAIMED)); /* in another's name */
	assert_false(put_epoch(two, 9, 4, 2, A, RF_EPOCH_CLAIMED)); /* two lives in one epoch */
	assert_true(put_epoch(two, 2, 4, 2, B, RF_EPOCH_RELEASED));
	assert_false(put_epoch(two, 3, 4, 2, B, RF_EPOCH_CLAIMED)); /* over is over */
	/* rotten: only the owner of the highest known epoch writes its own again */
	lab_ballot(&lab, -1, 3, 6, 1u << RF_BALLOT_NODE_BITS | 3);
	lab_put(&lab, -1, rf_geo_region(&lab.super, 0), zero);
	assert_false(put_epoch(two, 9, 5, 2, B, RF_EPOCH_CLAIMED));
	assert_true(put_epoch(two, 9, 6, 2, B, RF_EPOCH_CLAIMED));
}

static bool put_ballot(struct nbd_handle *h, uint32_t node, uint64_t seq, uint64_t instance,
		       uint32_t mround, uint32_t round, uint32_t value)
{
	struct rf_ballot b = {.seq = seq,
			      .instance = instance,
			      .mbal = (uint64_t)mround << RF_BALLOT_NODE_BITS | node,
			      .bal = round ? (uint64_t)round << RF_BALLOT_NODE_BITS | node : 0,
			      .value_node = value,
			      .value_incarnation = value ? A : 0};

	rf_ballot_encode(record, &lab.super.id, 0, node, &b);
	return put(h, rf_geo_ballot(&lab.super, 0, node));
}

static void test_ballot(void **state)
{
	(void)state;
	assert_true(put_ballot(one, 1, 2, 5, 3, 0, 0));
	assert_false(put_ballot(one, 1, 3, 5, 2, 0, 0)); /* a promise taken back */
	assert_true(put_ballot(one, 1, 3, 5, 3, 3, 1));
	assert_false(put_ballot(one, 1, 4, 5, 3, 3, 2)); /* another value, same ballot */
	assert_false(put_ballot(one, 1, 4, 5, 4, 0, 0)); /* a vote taken back */
	assert_true(put_ballot(one, 1, 4, 5, 4, 3, 1));
	assert_false(put_ballot(one, 1, 5, 4, 9, 0, 0)); /* an older instance */
	assert_true(put_ballot(one, 1, 5, 6, 1, 0, 0));
	assert_false(put_ballot(one, 2, 5, 6, 1, 0, 0)); /* not its ballot */
}

static bool put_history(struct nbd_handle *h, uint64_t seq, uint64_t epoch, uint32_t owner,
			uint64_t incarnation, uint32_t index)
{
	struct rf_history r = {.seq = seq,
			       .epoch = epoch,
			       .owner = owner,
			       .incarnation = incarnation,
			       .cause = RF_CAUSE_FIRST};

	rf_history_encode(record, &lab.super.id, 0, index, &r);
	return put(h, rf_geo_history(&lab.super, 0, index));
}

static void test_history(void **state)
{
	(void)state;
	assert_true(put_history(one, 2, 3, 1, A, 3));
	assert_true(put_history(one, 3, 3, 1, A, 3));
	assert_true(put_history(two, 1, 11, 2, B, 3));  /* K = 8: the ring goes on */
	assert_false(put_history(one, 9, 3, 1, A, 3));  /* what happened later stays */
	assert_false(put_history(one, 9, 11, 1, A, 3)); /* another's epoch */
	assert_false(put_history(one, 9, 12, 2, B, 4)); /* in another's name */
}

static int put_state(struct nbd_handle *h, uint32_t node, uint64_t seq, uint64_t epoch,
		     uint64_t version, const char *text, bool torn)
{
	uint8_t half[4096] = {0};
	struct rf_state s = {.seq = seq,
			     .epoch = epoch,
			     .version = version,
			     .length_bytes = (uint32_t)strlen(text),
			     .payload_crc = rf_crc32c(text, strlen(text))};

	rf_state_encode(half, &lab.super.id, 0, node, 1, &s);
	memcpy(half + RF_RECORD_BYTES, text, strlen(text));
	half[RF_RECORD_BYTES] ^= torn;
	return nbd_pwrite(h, half, sizeof(half), rf_geo_state(&lab.super, 0, node, 1), 0)
		       ? nbd_get_errno()
		       : 0;
}

static void test_state(void **state)
{
	(void)state;
	assert_int_equal(put_state(one, 1, 2, 4, 7, "hello", false), 0);
	assert_int_equal(put_state(one, 1, 3, 4, 8, "hello", true), EPERM); /* torn payload */
	assert_int_equal(put_state(one, 1, 3, 4, 6, "older", false), EPERM);
	assert_int_equal(put_state(one, 1, 3, 3, 9, "older", false), EPERM);
	assert_int_equal(put_state(one, 2, 3, 4, 8, "not mine", false), EPERM);
	assert_int_equal(put_state(one, 1, 3, 5, 1, "newer", false), 0);
}

static void test_never(void **state)
{
	struct rf_volume_desc d = {.seq = 99, .name = "v0"};
	struct rf_super s = lab.super;

	(void)state;
	s.seq = 99;
	rf_super_encode(record, &s, 0);
	assert_false(put(one, 0));
	rf_super_encode(record, &s, 1);
	assert_false(put(one, rf_geo_copy(&lab.super)));
	rf_volume_encode(record, &lab.super.id, 0, &d);
	assert_false(put(one, rf_geo_volume(&lab.super, 0)));
	assert_int_equal(lab_stat(&lab, "target_refused_quorum_readonly"), 3);
}

static void test_shape(void **state)
{
	uint8_t wide[8192] = {0};
	struct rf_slot s = {
		.seq = 9, .generation = 9, .incarnation = A, .state = RF_SLOT_JOINED};
	uint64_t at = rf_geo_slot(&lab.super, 1);

	(void)state;
	rf_slot_encode(wide, &lab.super.id, 1, &s);
	assert_int_equal(nbd_pwrite(one, wide, 8192, at, 0), -1); /* two records */
	assert_int_equal(nbd_pwrite(one, wide, 256, at, 0), -1);
	assert_int_equal(nbd_pwrite(one, wide, 512, at + 512, 0), -1);
	assert_int_equal(nbd_pwrite(one, wide, 512, at + 100, 0), -1);
	assert_int_equal(nbd_pwrite(one, wide, 700, at, 0), -1);
	assert_int_equal(lab_stat(&lab, "target_refused_quorum_shape"), 5);
	assert_int_equal(nbd_pwrite(one, wide, 4096, at, 0), 0);
	/* zeroes are a write like any other: not a record */
	assert_int_equal(nbd_zero(one, 512, at, 0), -1);
	assert_int_equal(nbd_trim(one, 512, at, 0), -1);
	assert_true(lab_stat(&lab, "target_refused_quorum_bad") >= 1);
	assert_int_equal(nbd_flush(one, 0), 0);
	assert_int_equal(nbd_pread(one, wide, 1000, at + 3, 0), 0); /* any range */
}

static void test_bad(void **state)
{
	struct rf_slot s = {
		.seq = 9, .generation = 9, .incarnation = A, .state = RF_SLOT_JOINED};
	struct rf_area_id foreign = lab.super.id;
	size_t i;

	(void)state;
	rf_slot_encode(record, &lab.super.id, 1, &s);
	for (i = 0; i < sizeof(record); i += 37) {
		record[i] ^= 0x10;
		assert_false(put(one, rf_geo_slot(&lab.super, 1)));
		record[i] ^= 0x10;
	}
	foreign.cluster[3] ^= 1;
	rf_slot_encode(record, &foreign, 1, &s);
	assert_false(put(one, rf_geo_slot(&lab.super, 1)));
	rf_slot_encode(record, &lab.super.id, 2, &s); /* good, but not of this place */
	assert_false(put(one, rf_geo_slot(&lab.super, 1)));
	rf_slot_encode(record, &lab.super.id, 1, &s);
	assert_true(put(one, rf_geo_slot(&lab.super, 1)));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_slot),  T(test_mailbox), T(test_epoch), T(test_ballot), T(test_history),
		T(test_state), T(test_never),   T(test_shape), T(test_bad),
	};

	if (!lab_can_run())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
