/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PROTOCOL §1, for every record kind: what was written is read back, each field
 * stands at its frozen place, and a record that fails any check is unreadable.
 */
#include "records.h"

/* Decodes, and sees to it that *out is left alone unless the record is good. */
static enum rf_record_verdict decode(const struct kind *k, const uint8_t *record)
{
	enum rf_record_verdict verdict;
	union twin out, untouched;

	memset(&out, UNTOUCHED, sizeof(out));
	memset(&untouched, UNTOUCHED, sizeof(untouched));
	verdict = k->decode(record, &out);
	if (verdict != RF_RECORD_OK)
		assert_memory_equal(&out, &untouched, sizeof(out));
	return verdict;
}

static void expect(const struct kind *k, const uint8_t *record, enum rf_record_verdict want,
		   const char *what)
{
	enum rf_record_verdict verdict = decode(k, record);

	if (verdict != want)
		fail_msg("%s, %s: verdict %d, not %d", k->name, what, verdict, want);
}

static void written_is_read_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		const struct kind *k = &kinds[i];
		uint8_t record[RF_RECORD_BYTES], again[RF_RECORD_BYTES];
		union twin out;

		sample_record(k, record);
		assert_int_equal(k->decode(record, &out), RF_RECORD_OK);
		memset(again, UNTOUCHED, sizeof(again));
		k->encode(again, &out);
		assert_memory_equal(record, again, sizeof(record));
	}
}

/* The sample record, byte for byte as in the golden file: the format is frozen. */
static void golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		uint8_t record[RF_RECORD_BYTES];

		sample_record(&kinds[i], record);
		assert_golden(kinds[i].name, record, sizeof(record));
	}
}

static void check_header(const struct kind *k, const uint8_t *record)
{
	const struct field header[] = {
		{0, 4, 0x434e4652},
		{4, 2, 1},
		{6, 2, k->number},
		{8, 8, 0xc7c6c5c4c3c2c1c0},
		{16, 8, 0xcfcecdcccbcac9c8},
		{24, 8, 0xa7a6a5a4a3a2a1a0},
		{32, 8, 0xafaeadacabaaa9a8},
		{48, 8, 0x0102030405060708},
		{60, 4, 0},
	};

	for (size_t i = 0; i < COUNT(header); i++)
		if (peek(record, &header[i]) != header[i].value)
			fail_msg("%s: header at %u", k->name, header[i].offset);
	assert_memory_equal(record, "RFNC", 4);
}

static void each_field_at_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		const struct kind *k = &kinds[i];
		uint8_t record[RF_RECORD_BYTES];

		sample_record(k, record);
		check_header(k, record);
		for (size_t f = 0; f < k->fields; f++)
			if (peek(record, &k->field[f]) != k->field[f].value)
				fail_msg("%s: field at %u", k->name, k->field[f].offset);
	}
}

/* Where in the header a record says that it stands: volume, index, part. */
static void headers_name_their_place(void **state)
{
	static const struct {
		const char *kind;
		uint32_t index, volume, part;
	} want[] = {
		{"super", 0, 0, 1},
		{"slot", SAMPLE_NODE, 0, 0},
		{"mailbox", SAMPLE_NODE, 0, 0},
		{"volume", 0, SAMPLE_VOLUME, 0},
		{"epoch", 0, SAMPLE_VOLUME, 0},
		{"ballot", SAMPLE_NODE, SAMPLE_VOLUME, 0},
		{"state", SAMPLE_NODE, SAMPLE_VOLUME, SAMPLE_HALF},
		{"history", SAMPLE_HISTORY, SAMPLE_VOLUME, 0},
	};
	uint8_t record[RF_RECORD_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++) {
		sample_record(kind_named(want[i].kind), record);
		assert_int_equal(peek(record, &(struct field){40, 4, 0}), want[i].index);
		assert_int_equal(peek(record, &(struct field){44, 4, 0}), want[i].volume);
		assert_int_equal(peek(record, &(struct field){56, 4, 0}), want[i].part);
	}
}

static void every_flipped_bit_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		uint8_t record[RF_RECORD_BYTES];

		sample_record(&kinds[i], record);
		for (unsigned bit = 0; bit < 8 * RF_RECORD_BYTES; bit++) {
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
			expect(&kinds[i], record,
			       bit < 32 ? RF_RECORD_BAD_MAGIC : RF_RECORD_BAD_CRC, "bit flip");
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* Torn: the first n bytes are new, the rest is still an older record. */
static void every_torn_write_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		const struct kind *k = &kinds[i];
		uint8_t new[RF_RECORD_BYTES], torn[RF_RECORD_BYTES];

		sample_record(k, new);
		for (size_t n = 1; n < RF_RECORD_BYTES; n++) {
			memset(torn, 0, sizeof(torn));
			memcpy(torn, new, n);
			expect(k, torn, n < 4 ? RF_RECORD_BAD_MAGIC : RF_RECORD_BAD_CRC,
			       "cut short");
		}
	}
}

static void a_torn_rewrite_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		const struct kind *k = &kinds[i];
		uint8_t old[RF_RECORD_BYTES], new[RF_RECORD_BYTES], torn[RF_RECORD_BYTES];

		sample_record(k, old);
		memcpy(new, old, sizeof(new));
		poke(new, &(struct field){48, 8, 0x0102030405060709}); /* seq + 1 */
		reseal(new);
		for (size_t n = 49; n <= RF_CRC_OFFSET; n++) {
			memcpy(torn, old, sizeof(torn));
			memcpy(torn, new, n);
			expect(k, torn, RF_RECORD_BAD_CRC, "half rewritten");
		}
	}
}

/* §1: unreadable is never the same as empty, and zeros are unreadable too. */
static void blank_disks_are_unreadable(void **state)
{
	uint8_t record[RF_RECORD_BYTES];

	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		memset(record, 0, sizeof(record));
		expect(&kinds[i], record, RF_RECORD_BAD_MAGIC, "zeros");
		memset(record, 0xff, sizeof(record));
		expect(&kinds[i], record, RF_RECORD_BAD_MAGIC, "ones");
	}
}

struct change {
	struct field field;
	enum rf_record_verdict verdict;
	const char *what;
};

static void changed(const struct kind *k, const struct change *c)
{
	uint8_t record[RF_RECORD_BYTES];

	sample_record(k, record);
	poke(record, &c->field);
	reseal(record);
	expect(k, record, c->verdict, c->what);
}

static void other_clusters_and_places_are_told_apart(void **state)
{
	static const struct change changes[] = {
		{{4, 2, 2}, RF_RECORD_BAD_VERSION, "next format version"},
		{{4, 2, 0}, RF_RECORD_BAD_VERSION, "format version 0"},
		{{6, 2, 0}, RF_RECORD_MISPLACED, "no kind"},
		{{6, 2, 99}, RF_RECORD_MISPLACED, "unknown kind"},
		{{40, 4, 1000}, RF_RECORD_MISPLACED, "another index"},
		{{44, 4, 77}, RF_RECORD_MISPLACED, "another volume"},
		{{56, 4, 2}, RF_RECORD_MISPLACED, "another part"},
		{{60, 4, 1}, RF_RECORD_BAD_VERSION, "header padding"},
	};
	static const struct change foreign[] = {
		{{8, 1, 0}, RF_RECORD_FOREIGN, "another cluster"},
		{{23, 1, 0}, RF_RECORD_FOREIGN, "another cluster, last byte"},
		{{24, 1, 0}, RF_RECORD_FOREIGN, "another area"},
		{{39, 1, 0}, RF_RECORD_FOREIGN, "another area, last byte"},
	};

	(void)state;
	for (size_t i = 0; i < kind_count; i++) {
		for (size_t c = 0; c < COUNT(changes); c++)
			changed(&kinds[i], &changes[c]);
		/* a superblock is where the identity comes from */
		for (size_t c = 0; c < COUNT(foreign) && i > 0; c++)
			changed(&kinds[i], &foreign[c]);
	}
}

/* A good record of another kind in the place of this one. */
static void kinds_do_not_pass_for_each_other(void **state)
{
	uint8_t record[RF_RECORD_BYTES];

	(void)state;
	for (size_t i = 0; i < kind_count; i++)
		for (size_t j = 0; j < kind_count; j++) {
			sample_record(&kinds[j], record);
			expect(&kinds[i], record, i == j ? RF_RECORD_OK : RF_RECORD_MISPLACED,
			       kinds[j].name);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_is_read_back),
		cmocka_unit_test(golden_files),
		cmocka_unit_test(each_field_at_its_place),
		cmocka_unit_test(headers_name_their_place),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(every_torn_write_is_found),
		cmocka_unit_test(a_torn_rewrite_is_found),
		cmocka_unit_test(blank_disks_are_unreadable),
		cmocka_unit_test(other_clusters_and_places_are_told_apart),
		cmocka_unit_test(kinds_do_not_pass_for_each_other),
	};

	return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
