/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every field of every record, by name: where it lies and how to read it.
 * From one table come the text, the JSON and the hex dump of a record.
 */
#ifndef RF_TOOLS_FIELD_H
#define RF_TOOLS_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "ringfence/format.h"

struct json_object;

enum field_type {
	FIELD_UINT, /* 1, 2, 4 or 8 bytes */
	FIELD_U64,  /* may be large: also as a string */
	FIELD_HEX,  /* 4 or 8 bytes shown in hex */
	FIELD_UUID,
	FIELD_TEXT,
	FIELD_NODES,   /* bitmap, bit 0 = node 1 */
	FIELD_VOLUMES, /* bitmap, bit 0 = volume 0 */
	FIELD_UNIX_S,
	FIELD_UNIX_NS,
	FIELD_KIND,
	FIELD_SLOT_STATE,
	FIELD_EPOCH_STATE,
	FIELD_ORDER,
	FIELD_HEALTH,
	FIELD_CAUSE,
	FIELD_WAYS,
	FIELD_PLACE,
	FIELD_QUORUM,
	FIELD_ZERO, /* must be zero, or reserved */
};

struct field {
	const char *name;
	uint16_t offset, bytes;
	enum field_type type;
};

#define FIELD_TEXT_BYTES 1200

/* All fields of a kind but the header's, in the order of the disk; ends with a
 * NULL name. field_header() is what all kinds begin with, field_crc their end. */
const struct field *field_table(enum rf_kind kind);
const struct field *field_header(void);
extern const struct field field_crc;

/* Value of a field for people. */
void field_text(char text[FIELD_TEXT_BYTES], const struct field *f, const void *raw);
/* Adds the field to an object. */
void field_json(struct json_object *o, const struct field *f, const void *raw);

#endif
