/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers that only the codec's own files use: little-endian stores and records. */
#ifndef RF_FORMAT_CODEC_BYTES_H
#define RF_FORMAT_CODEC_BYTES_H

#include <string.h>

#include "assert.h"
#include "codec.h"

static inline __le16 put16(uint16_t v)
{
	return (__force __le16)rf_get16((__force __le16)v);
}

static inline __le32 put32(uint32_t v)
{
	return (__force __le32)rf_get32((__force __le32)v);
}

static inline __le64 put64(uint64_t v)
{
	return (__force __le64)rf_get64((__force __le64)v);
}

static inline bool all_zero(const void *p, size_t len)
{
	const unsigned char *b = p;
	unsigned char seen = 0;

	while (len--)
		seen |= *b++;
	return !seen;
}

/* A text field ends inside its bytes, and nothing stands behind its end. */
static inline bool text_ok(const char *text, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && text[n])
		n++;
	return n < bytes && all_zero(text + n, bytes - n);
}

/* What stands behind the end of `text` in memory never reaches a disk. */
static inline void put_text(char *to, const char *text, size_t bytes)
{
	size_t n = 0;

	for (; n < bytes && text[n]; n++)
		to[n] = text[n];
	rf_assert(n < bytes);
}

/* A map of `bits` bits says nothing of bits that do not exist. */
static inline bool map_ok(const uint8_t *map, uint32_t bits, uint32_t bits_max)
{
	for (; bits < bits_max; bits++)
		if (rf_bit_get(map, bits))
			return false;
	return true;
}

/* Which record: everything of a header that is not the same in every record. */
struct place {
	uint16_t kind;
	uint32_t volume, index, part;
};

void rf_record_begin(void *record, const struct rf_area_id *id, struct place at, uint64_t seq);
void rf_record_seal(void *record);
/* As rf_record_check(), and the part of the header that it leaves to the codec. */
enum rf_record_verdict rf_record_open(const void *record, const struct rf_area_id *id,
				      struct place at);

#endif
