/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the record codecs share: beginning, end, and the checks of every field. */
#ifndef RF_CORE_RECORD_H
#define RF_CORE_RECORD_H

#include "codec.h"

static inline __le16 rf_put16(uint16_t v)
{
	return (__le16)rf_get16((__le16)v);
}

static inline __le32 rf_put32(uint32_t v)
{
	return (__le32)rf_get32((__le32)v);
}

static inline __le64 rf_put64(uint64_t v)
{
	return (__le64)rf_get64((__le64)v);
}

/* Zero the record and write its header; the fields follow; then the checksum. */
void rf_record_begin(void *record, const struct rf_area_id *id, uint16_t kind, uint32_t volume,
		     uint32_t index, uint32_t part, uint64_t seq);
void rf_record_end(void *record);

/* rf_record_check() of claim.h, and the part number. */
static inline enum rf_record_verdict rf_record_open(const void *record,
						    const struct rf_area_id *id, uint16_t kind,
						    uint32_t volume, uint32_t index,
						    uint32_t part)
{
	const struct rf_disk_header *h = record;
	enum rf_record_verdict verdict = rf_record_check(record, id, kind, volume, index);

	if (verdict == RF_RECORD_OK && (rf_get32(h->part) != part || rf_get32(h->zero)))
		return RF_RECORD_MISPLACED;
	return verdict;
}

/* NUL-terminated inside its field, no control characters. */
bool rf_text_ok(const char *text, size_t bytes);
bool rf_zero(const void *p, size_t bytes);

#endif
