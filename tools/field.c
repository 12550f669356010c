/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of raw records as text and as JSON. Nothing in a record is believed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "field.h"
#include "format/codec.h"
#include "format/names.h"
#include "out.h"
#include "record.h"
#include "words.h"

static const uint8_t *at(const struct field *f, const void *raw)
{
	return (const uint8_t *)raw + f->offset;
}

static uint64_t value(const struct field *f, const void *raw)
{
	const uint8_t *p = at(f, raw);
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < f->bytes && i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static bool all_zero(const struct field *f, const void *raw)
{
	const uint8_t *p = at(f, raw);
	unsigned i;

	for (i = 0; i < f->bytes; i++)
		if (p[i])
			return false;
	return true;
}

/* A damaged name must not play games with the terminal. */
static void plain_text(char *out, size_t bytes, const struct field *f, const void *raw)
{
	const uint8_t *p = at(f, raw);
	size_t i;

	for (i = 0; i < f->bytes && i + 1 < bytes && p[i]; i++)
		out[i] = p[i] < 0x20 || p[i] > 0x7e ? '?' : (char)p[i];
	out[i] = 0;
}

static void time_text(char *out, size_t bytes, uint64_t unix_s, unsigned ms)
{
	time_t t = (time_t)unix_s;
	struct tm tm;
	size_t n;

	if (!unix_s || unix_s > 1ull << 36 || !gmtime_r(&t, &tm) ||
	    !(n = strftime(out, bytes, "%Y-%m-%dT%H:%M:%S", &tm)))
		snprintf(out, bytes, unix_s ? "beyond the calendar" : "never");
	else
		snprintf(out + n, bytes - n, ".%03uZ", ms);
}

static void bits_text(char *out, size_t bytes, const struct field *f, const void *raw,
		      unsigned first)
{
	unsigned i, used = 0;

	snprintf(out, bytes, "none");
	for (i = 0; i < f->bytes * 8u && used < bytes; i++)
		if (rf_bit_get(at(f, raw), i))
			used += (unsigned)snprintf(out + used, bytes - used, "%s%u",
						   used ? "," : "", i + first);
}

/* The value as a word, or NULL if the type has none. */
static const char *word(const struct field *f, const void *raw, char buf[WORDS_BYTES])
{
	uint32_t v = (uint32_t)value(f, raw);
	const char *name;

	switch (f->type) {
	case FIELD_KIND:
		name = record_kind_name(v);
		return name ? name : "unknown";
	case FIELD_SLOT_STATE:
		return v > 1 ? words_slot_state(v) : "unknown";
	case FIELD_EPOCH_STATE:
		return words_epoch_state(v);
	case FIELD_ORDER:
		return words_order(v);
	case FIELD_HEALTH:
		return words_health(buf, v);
	case FIELD_CAUSE:
		return rf_cause_word(v);
	case FIELD_WAYS:
		return words_ways(buf, v);
	case FIELD_PLACE:
		return words_place(v);
	case FIELD_QUORUM:
		return words_quorum(v);
	default:
		return NULL;
	}
}

static void word_text(char text[FIELD_TEXT_BYTES], const struct field *f, const void *raw)
{
	char buf[WORDS_BYTES];
	const char *w = word(f, raw, buf);

	if (strcmp(w, "unknown"))
		snprintf(text, FIELD_TEXT_BYTES, "%s", w);
	else
		snprintf(text, FIELD_TEXT_BYTES, "unknown (0x%" PRIx64 ")", value(f, raw));
}

void field_text(char text[FIELD_TEXT_BYTES], const struct field *f, const void *raw)
{
	uint64_t v = value(f, raw);

	switch (f->type) {
	case FIELD_UINT:
	case FIELD_U64:
		snprintf(text, FIELD_TEXT_BYTES, "%" PRIu64, v);
		break;
	case FIELD_HEX:
		snprintf(text, FIELD_TEXT_BYTES, "0x%0*" PRIx64, 2 * f->bytes, v);
		break;
	case FIELD_UUID:
		out_uuid_text(text, at(f, raw));
		break;
	case FIELD_TEXT:
		plain_text(text, FIELD_TEXT_BYTES, f, raw);
		break;
	case FIELD_NODES:
		bits_text(text, FIELD_TEXT_BYTES, f, raw, 1);
		break;
	case FIELD_VOLUMES:
		bits_text(text, FIELD_TEXT_BYTES, f, raw, 0);
		break;
	case FIELD_UNIX_S:
		time_text(text, FIELD_TEXT_BYTES, v, 0);
		break;
	case FIELD_UNIX_NS:
		time_text(text, FIELD_TEXT_BYTES, v / 1000000000, v / 1000000 % 1000);
		break;
	case FIELD_ZERO:
		snprintf(text, FIELD_TEXT_BYTES, all_zero(f, raw) ? "zero" : "NOT ZERO");
		break;
	default:
		word_text(text, f, raw);
	}
}

static void hex_json(struct json_object *o, const struct field *f, const void *raw)
{
	uint64_t v = value(f, raw);
	char key[64];

	out_u64(o, f->name, v);
	snprintf(key, sizeof(key), "%s_hex", f->name);
	out_format(o, key, "%0*" PRIx64, 2 * f->bytes, v);
}

static void time_json(struct json_object *o, const struct field *f, uint64_t unix_ms)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_unix_ms", f->name);
	if (unix_ms)
		out_int(o, key, (int64_t)unix_ms);
	else
		out_null(o, key);
}

void field_json(struct json_object *o, const struct field *f, const void *raw)
{
	char text[FIELD_TEXT_BYTES];
	uint64_t v = value(f, raw);

	switch (f->type) {
	case FIELD_UINT:
		out_int(o, f->name, (int64_t)v);
		break;
	case FIELD_U64:
		out_u64(o, f->name, v);
		break;
	case FIELD_HEX:
		hex_json(o, f, raw);
		break;
	case FIELD_NODES:
		words_add_bits(o, f->name, at(f, raw), f->bytes * 8u, 1);
		break;
	case FIELD_VOLUMES:
		words_add_bits(o, f->name, at(f, raw), f->bytes * 8u, 0);
		break;
	case FIELD_UNIX_S:
		time_json(o, f, v * 1000);
		break;
	case FIELD_UNIX_NS:
		time_json(o, f, v / 1000000);
		break;
	case FIELD_ZERO:
		out_bool(o, f->name, all_zero(f, raw));
		break;
	default:
		field_text(text, f, raw);
		out_text(o, f->name, text);
	}
}
