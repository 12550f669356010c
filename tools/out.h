/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results: one json-c document per command, printed as it is with --json and
 * as tables by libsmartcols without. So both say the same.
 *
 * Every key is always there, null when unknown. 64-bit numbers that may exceed
 * 2^53 come twice: KEY as a number, KEY_str as a string. Durations are integers
 * in ms (_us where the name says so), wall-clock times unix ms.
 */
#ifndef RF_TOOLS_OUT_H
#define RF_TOOLS_OUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum out_style {
	OUT_PLAIN = 0,
	OUT_MS,    /* duration in ms */
	OUT_US,    /* duration in us */
	OUT_BYTES, /* size for people */
	OUT_TIME,  /* unix ms */
	OUT_YESNO,
	OUT_LIST, /* array of texts or numbers, joined by commas */
};

struct out_col {
	const char *title, *key;
	enum out_style style;
	bool right;
};

/* {"schema": 1} */
struct json_object *out_doc(void);
void out_text(struct json_object *o, const char *key, const char *text); /* NULL: null */
void out_format(struct json_object *o, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void out_int(struct json_object *o, const char *key, int64_t value);
void out_u64(struct json_object *o, const char *key, uint64_t value);
void out_bool(struct json_object *o, const char *key, bool value);
void out_null(struct json_object *o, const char *key);
void out_u64_null(struct json_object *o, const char *key);
void out_hex(struct json_object *o, const char *key, const void *bytes, size_t len);
void out_uuid(struct json_object *o, const char *key, const uint8_t *uuid);
void out_uuid_text(char text[37], const uint8_t *uuid);
struct json_object *out_array(struct json_object *o, const char *key);
struct json_object *out_object(struct json_object *o, const char *key);
struct json_object *out_row(struct json_object *array);

/* Print and free. With --json the document, pretty or on one line. */
void out_print(struct json_object *doc);
void out_line(struct json_object *doc);
/* Text only: one table of an array of objects; title:value pairs of one object. */
void out_table(struct json_object *array, const struct out_col *cols, size_t n);
void out_pairs(struct json_object *o, const struct out_col *cols, size_t n);
/* A value as text; buf is used when the value has no text of its own. */
const char *out_value(struct json_object *v, enum out_style style, char *buf, size_t bytes);
/* May escape sequences be used on stdout? (--color, terminal, NO_COLOR) */
bool out_color(void);

#define OUT_N(cols) (sizeof(cols) / sizeof((cols)[0]))

#endif
