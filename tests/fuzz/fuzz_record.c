/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record codec: any bytes may stand on a disk. Decoders must not overrun, must
 * leave *out alone unless they say OK, and what they accept must encode to a
 * record that they accept again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/assert.h"
#include "format/codec.h"
#include "fuzz.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}

static const struct rf_area_id id = {
	.cluster = {1}, .area = {2}, .nodes = 3, .stride_bytes = 4096};

/* Make the checksum and identity good, or nothing would get past the first check. */
static void sign(uint8_t *r, uint16_t kind, uint32_t index)
{
	struct rf_disk_header *h = (void *)r;
	uint32_t crc;

	h->magic = RF_DISK_MAGIC;
	h->version = RF_FORMAT_VERSION;
	h->kind = kind;
	memcpy(h->cluster, id.cluster, RF_UUID_BYTES);
	memcpy(h->area, id.area, RF_UUID_BYTES);
	h->index = index;
	h->volume = 0;
	crc = rf_crc32c(r, RF_CRC_OFFSET);
	memcpy(r + RF_CRC_OFFSET, &crc, 4);
}

#define TRY(type, decode, encode)                             \
	do {                                                  \
		struct type in, again;                        \
		memset(&in, 0x5a, sizeof(in));                \
		if ((decode(&in)) == RF_RECORD_OK) {          \
			uint8_t back[RF_RECORD_BYTES];        \
			encode(back, &in);                    \
			memcpy(record, back, sizeof(back));   \
			if ((decode(&again)) != RF_RECORD_OK) \
				abort();                      \
		}                                             \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t record[RF_RECORD_BYTES] = {0};
	uint16_t kind;

	if (size < 2)
		return 0;
	kind = data[0] % (RF_KIND_LAST + 1);
	memcpy(record, data + 1, size - 1 < sizeof(record) ? size - 1 : sizeof(record));
	if (data[0] & 0x80)
		sign(record, kind,
		     kind == RF_KIND_SLOT || kind == RF_KIND_MAILBOX ||
				     kind == RF_KIND_BALLOT || kind == RF_KIND_STATE
			     ? 1
			     : 0);
#define D1(o) rf_super_decode(record, o)
#define E1(b, i) rf_super_encode(b, i, 0)
	TRY(rf_super, D1, E1);
#define D2(o) rf_slot_decode(record, &id, 1, o)
#define E2(b, i) rf_slot_encode(b, &id, 1, i)
	TRY(rf_slot, D2, E2);
#define D3(o) rf_mailbox_decode(record, &id, 1, o)
#define E3(b, i) rf_mailbox_encode(b, &id, 1, i)
	TRY(rf_mailbox, D3, E3);
#define D4(o) rf_volume_decode(record, &id, 0, o)
#define E4(b, i) rf_volume_encode(b, &id, 0, i)
	TRY(rf_volume_desc, D4, E4);
#define D5(o) rf_epoch_decode(record, &id, 0, o)
#define E5(b, i) rf_epoch_encode(b, &id, 0, i)
	TRY(rf_epoch, D5, E5);
#define D6(o) rf_ballot_decode(record, &id, 0, 1, o)
#define E6(b, i) rf_ballot_encode(b, &id, 0, 1, i)
	TRY(rf_ballot, D6, E6);
#define D7(o) rf_state_decode(record, &id, 0, 1, 0, o)
#define E7(b, i) rf_state_encode(b, &id, 0, 1, 0, i)
	TRY(rf_state, D7, E7);
#define D8(o) rf_history_decode(record, &id, 0, 0, o)
#define E8(b, i) rf_history_encode(b, &id, 0, 0, i)
	TRY(rf_history, D8, E8);
	return 0;
}
