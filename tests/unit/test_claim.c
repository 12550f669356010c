/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PROTOCOL §6, sentence by sentence, on claim.h: the one test that the kernel
 * gate, the target plugin, the daemon, the tool and the simulator share.
 */
#include "support.h"

#define VOLUME 1u
#define EPOCH 10u
#define OWNER 2u
#define LIFE 0x2222u

struct block {
	uint64_t instance, bal; /* mbal is always at least bal */
};

struct claim_case {
	const char *sentence;
	struct rf_epoch sector;
	struct block ballot[3]; /* of nodes 1..3 */
	uint8_t unreadable;     /* bit 0 sector, bit i ballot of node i */
	enum rf_claim_verdict verdict;
};

#define MINE                                                                                   \
	{                                                                                      \
		.epoch = EPOCH, .owner = OWNER, .incarnation = LIFE, .state = RF_EPOCH_CLAIMED \
	}
#define SECTOR(e, o, life)                                                                   \
	{                                                                                    \
		.epoch = (e), .owner = (o), .incarnation = (life), .state = RF_EPOCH_CLAIMED \
	}

static const struct claim_case cases[] = {
	{"the sector names exactly this owner and no ballot is later",
	 MINE,
	 {{10, 1}, {10, 2}, {9, 3}},
	 0,
	 RF_CLAIM_OWNED},
	{"nobody ever voted: the sector alone", MINE, {{0, 0}}, 0, RF_CLAIM_OWNED},
	/* "Owner of e is superseded if the epoch sector names an epoch > e" */
	{"the sector names e+1", SECTOR(11, 3, 0x33), {{10, 1}}, 0, RF_CLAIM_SUPERSEDED},
	{"the sector names the last epoch of all",
	 SECTOR(RF_COUNT_MAX, 3, 0x33),
	 {{0, 0}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	/* "or any ballot belongs to instance > e+1" */
	{"a ballot of e+2 with bal = 0 proves that e+1 was decided",
	 MINE,
	 {{12, 0}, {10, 2}, {10, 1}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"a ballot of e+2 with a value",
	 MINE,
	 {{0, 0}, {0, 0}, {12, 5}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"a ballot far ahead",
	 MINE,
	 {{0, 0}, {RF_COUNT_MAX, 0}, {0, 0}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"a ballot of an epoch that cannot be",
	 MINE,
	 {{0, 0}, {RF_COUNT_MAX + 1, 0}, {0, 0}},
	 0,
	 RF_CLAIM_UNREADABLE},
	/* "or any ballot belongs to instance e+1 with bal > 0" */
	{"a ballot of e+1 with a value",
	 MINE,
	 {{10, 2}, {10, 2}, {11, 1}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"my own ballot of e+1 with a value",
	 MINE,
	 {{10, 2}, {11, 1}, {10, 2}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	/* "A ballot of e+1 with bal = 0 is only an attempt and is ignored" */
	{"an attempt at e+1", MINE, {{10, 2}, {10, 2}, {11, 0}}, 0, RF_CLAIM_OWNED},
	{"everybody attempts e+1", MINE, {{11, 0}, {11, 0}, {11, 0}}, 0, RF_CLAIM_OWNED},
	/* "The epoch sector alone is not enough: a slow winner may turn it back" */
	{"the sector was turned back from e+1 to e, ballots know better",
	 MINE,
	 {{11, 3}, {10, 2}, {11, 3}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"the sector was turned back while e+2 is in phase 1 (the explorer's find)",
	 MINE,
	 {{10, 1}, {12, 0}, {10, 1}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	{"the sector was turned back behind e: mine to write again, not superseded",
	 SECTOR(9, 1, 0x11),
	 {{10, 2}, {10, 2}, {10, 2}},
	 0,
	 RF_CLAIM_OTHER},
	/* older instances say nothing */
	{"old ballots with values", MINE, {{9, 7}, {8, 8}, {1, 1}}, 0, RF_CLAIM_OWNED},
	/* whose epoch is it? */
	{"the same epoch of another node", SECTOR(10, 3, LIFE), {{0, 0}}, 0, RF_CLAIM_OTHER},
	{"the same node in another life", SECTOR(10, 2, 0x2223), {{0, 0}}, 0, RF_CLAIM_OTHER},
	{"nobody owns anything yet", {.state = RF_EPOCH_NONE}, {{0, 0}}, 0, RF_CLAIM_OTHER},
	{"released by this owner",
	 {.epoch = EPOCH, .owner = OWNER, .incarnation = LIFE, .state = RF_EPOCH_RELEASED},
	 {{10, 2}},
	 0,
	 RF_CLAIM_RELEASED},
	{"released, and the next one is decided",
	 {.epoch = EPOCH, .owner = OWNER, .incarnation = LIFE, .state = RF_EPOCH_RELEASED},
	 {{11, 1}},
	 0,
	 RF_CLAIM_SUPERSEDED},
	/* §1: unreadable is never the same as empty */
	{"the sector is unreadable", MINE, {{10, 2}}, 1, RF_CLAIM_UNREADABLE},
	{"one ballot is unreadable", MINE, {{10, 2}}, 8, RF_CLAIM_UNREADABLE},
	{"all is unreadable", MINE, {{10, 2}}, 15, RF_CLAIM_UNREADABLE},
	{"one readable proof is enough, whatever else cannot be read",
	 MINE,
	 {{0, 0}, {0, 0}, {12, 0}},
	 7,
	 RF_CLAIM_SUPERSEDED},
	{"the sector proves it while no ballot can be read",
	 SECTOR(11, 3, 0x33),
	 {{0, 0}},
	 14,
	 RF_CLAIM_SUPERSEDED},
	{"the proof itself is unreadable",
	 MINE,
	 {{12, 0}, {0, 0}, {0, 0}},
	 2,
	 RF_CLAIM_UNREADABLE},
};

static void build(uint8_t *region, const struct claim_case *c)
{
	memset(region, 0, 4 * 4096);
	rf_epoch_encode(region, &sample_id, VOLUME, &c->sector);
	for (uint32_t i = 1; i <= 3; i++) {
		const struct block *k = &c->ballot[i - 1];
		struct rf_ballot b = {.instance = k->instance, .bal = k->bal};

		b.mbal = k->instance ? k->bal + 1 : 0;
		b.value_node = k->bal ? i : 0;
		b.value_incarnation = k->bal ? 0x1000 + i : 0;
		rf_ballot_encode(region + i * 4096, &sample_id, VOLUME, i, &b);
	}
	for (uint32_t i = 0; i < 4; i++)
		if (c->unreadable >> i & 1)
			region[i * 4096 + 300] ^= 0x10;
}

static enum rf_claim_verdict judge(const uint8_t *region, struct rf_claim_facts *facts)
{
	return rf_claim_check(region, &sample_id, VOLUME, EPOCH, OWNER, LIFE, facts);
}

static void each_sentence(void **state)
{
	static uint8_t region[4 * 4096];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		enum rf_claim_verdict verdict;

		build(region, &cases[i]);
		verdict = judge(region, NULL);
		if (verdict != cases[i].verdict)
			fail_msg("%s: verdict %d", cases[i].sentence, verdict);
	}
}

/* The same rules as predicates, at the ends of the number range too. */
static void the_two_tests_alone(void **state)
{
	(void)state;
	assert_false(rf_superseded_by_sector(10, 10));
	assert_true(rf_superseded_by_sector(10, 11));
	assert_false(rf_superseded_by_ballot(10, 10, 5));
	assert_false(rf_superseded_by_ballot(10, 11, 0));
	assert_true(rf_superseded_by_ballot(10, 11, 1));
	assert_true(rf_superseded_by_ballot(10, 12, 0));
	assert_false(rf_superseded_by_ballot(UINT64_MAX, UINT64_MAX, 1));
	assert_false(rf_superseded_by_ballot(UINT64_MAX - 1, UINT64_MAX, 0));
	assert_true(rf_superseded_by_ballot(UINT64_MAX - 1, UINT64_MAX, 1));
	assert_true(rf_superseded_by_ballot(0, UINT64_MAX, 0));
}

/* Once superseded, no later history of single-writer ballots undoes it. */
static void ballots_only_add_proof(void **state)
{
	static uint8_t region[4 * 4096];

	(void)state;
	for (uint64_t instance = 11; instance < 15; instance++)
		for (uint64_t bal = instance == 11; bal < 3; bal++) {
			struct claim_case c = {.sector = MINE};

			c.ballot[2] = (struct block){instance, bal};
			build(region, &c);
			assert_int_equal(judge(region, NULL), RF_CLAIM_SUPERSEDED);
		}
}

static void facts_are_reported(void **state)
{
	static uint8_t region[4 * 4096];
	struct claim_case c = {
		.sector = MINE, .ballot = {{10, 1}, {13, 0}, {9, 1}}, .unreadable = 8};
	struct rf_claim_facts f;

	(void)state;
	build(region, &c);
	assert_int_equal(judge(region, &f), RF_CLAIM_SUPERSEDED);
	assert_int_equal(f.sector_epoch, 10);
	assert_int_equal(f.sector_owner, OWNER);
	assert_int_equal(f.sector_incarnation, LIFE);
	assert_int_equal(f.sector_state, RF_EPOCH_CLAIMED);
	assert_int_equal(f.highest_instance, 13);
	assert_int_equal(f.highest_decided, 12); /* 13 in phase 1 proves 12 */
	assert_int_equal(f.unreadable, 1);
}

/* A copy of another volume's region, or of another area, proves nothing. */
static void other_regions_prove_nothing(void **state)
{
	static uint8_t region[4 * 4096];
	struct claim_case later = {.sector = SECTOR(99, 1, 1), .ballot = {{99, 1}}};
	struct rf_area_id other = sample_id;
	struct rf_claim_facts f;

	(void)state;
	build(region, &later);
	assert_int_equal(rf_claim_check(region, &sample_id, 0, EPOCH, OWNER, LIFE, &f),
			 RF_CLAIM_UNREADABLE);
	assert_int_equal(f.unreadable, 4);
	other.area[0] ^= 1;
	assert_int_equal(rf_claim_check(region, &other, VOLUME, EPOCH, OWNER, LIFE, NULL),
			 RF_CLAIM_UNREADABLE);
	memset(region, 0, sizeof(region));
	assert_int_equal(judge(region, NULL), RF_CLAIM_UNREADABLE);
}

/* Sealed well, but no owner writes such a thing: nobody may take it for a later epoch, or
 * its owner for a node that there is. */
static void a_sector_of_nonsense_is_unreadable(void **state)
{
	static uint8_t region[4 * 4096];
	static const struct {
		uint64_t epoch, life;
		uint32_t owner, state;
	} nonsense[] = {
		{99, 5, 200, RF_EPOCH_CLAIMED},
		{RF_COUNT_MAX + 1, 5, 1, RF_EPOCH_CLAIMED},
		{UINT64_MAX, 5, 1, RF_EPOCH_RELEASED},
		{99, 5, 0, RF_EPOCH_CLAIMED},
		{99, 0, 1, RF_EPOCH_CLAIMED},
		{0, 5, 1, RF_EPOCH_RELEASED},
		{99, 5, 1, 0},
		{99, 0, 0, RF_EPOCH_NONE},
		{0, 0, 1, RF_EPOCH_NONE},
		{0, 5, 0, RF_EPOCH_NONE},
	};
	struct rf_disk_epoch *d = (struct rf_disk_epoch *)region;
	struct claim_case c = {.sector = MINE};

	(void)state;
	for (size_t i = 0; i < COUNT(nonsense); i++) {
		struct rf_claim_facts f;
		struct rf_epoch out;

		build(region, &c);
		d->epoch = nonsense[i].epoch;
		d->incarnation = nonsense[i].life;
		d->owner = nonsense[i].owner;
		d->state = nonsense[i].state;
		d->crc = rf_crc32c(d, RF_CRC_OFFSET);
		assert_int_equal(judge(region, &f), RF_CLAIM_UNREADABLE);
		assert_int_equal(f.sector_owner, 0);
		assert_int_equal(f.unreadable, 1);
		assert_int_not_equal(rf_epoch_decode(region, &sample_id, VOLUME, &out),
				     RF_RECORD_OK);
	}
}

/* Ballots that stand in each other's place are misplaced, not believed. */
static void swapped_ballots_are_unreadable(void **state)
{
	static uint8_t region[4 * 4096];
	struct claim_case c = {.sector = MINE, .ballot = {{12, 1}, {10, 1}, {0, 0}}};

	(void)state;
	build(region, &c);
	memcpy(region + 3 * 4096, region + 1 * 4096, 4096);
	memcpy(region + 1 * 4096, region + 2 * 4096, 4096);
	assert_int_equal(judge(region, NULL), RF_CLAIM_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sentence),
		cmocka_unit_test(the_two_tests_alone),
		cmocka_unit_test(ballots_only_add_proof),
		cmocka_unit_test(facts_are_reported),
		cmocka_unit_test(other_regions_prove_nothing),
		cmocka_unit_test(a_sector_of_nonsense_is_unreadable),
		cmocka_unit_test(swapped_ballots_are_unreadable),
	};

	return cmocka_run_group_tests_name("claim", tests, NULL, NULL);
}
