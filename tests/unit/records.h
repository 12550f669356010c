/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One sample of every record kind, and its codec behind one shape. */
#ifndef TESTS_UNIT_RECORDS_H
#define TESTS_UNIT_RECORDS_H

#include "support.h"

/* Where the samples stand. */
#define SAMPLE_NODE 2u
#define SAMPLE_VOLUME 1u
#define SAMPLE_HALF 1u
#define SAMPLE_HISTORY 7u

/* Room for any decoded twin. */
union twin {
	struct rf_super super;
	struct rf_slot slot;
	struct rf_mailbox mailbox;
	struct rf_volume_desc volume;
	struct rf_epoch epoch;
	struct rf_ballot ballot;
	struct rf_state state;
	struct rf_history history;
};

struct field {
	uint16_t offset;
	uint8_t bytes;
	uint64_t value;
};

struct kind {
	const char *name;
	uint16_t number;
	void (*sample)(union twin *t);
	void (*encode)(void *record, const union twin *in);
	enum rf_record_verdict (*decode)(const void *record, union twin *out);
	const struct field *field; /* of the sample, header left out */
	size_t fields;
};

extern const struct kind kinds[];
extern const size_t kind_count;

const struct kind *kind_named(const char *name);
/* The encoded sample of a kind. */
void sample_record(const struct kind *k, uint8_t record[RF_RECORD_BYTES]);
/* Little-endian store and load, independent of the codec. */
void poke(uint8_t *record, const struct field *f);
uint64_t peek(const uint8_t *record, const struct field *f);

#endif
