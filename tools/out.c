/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as JSON or as tables. */
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "tool.h"

#define VALUE_BYTES 512

/* ---- documents ---- */

struct json_object *out_doc(void)
{
	struct json_object *o = json_object_new_object();

	out_int(o, "schema", 1);
	return o;
}

void out_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, text ? json_object_new_string(text) : NULL);
}

void out_format(struct json_object *o, const char *key, const char *fmt, ...)
{
	char text[VALUE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_text(o, key, text);
}

void out_int(struct json_object *o, const char *key, int64_t value)
{
	json_object_object_add(o, key, json_object_new_int64(value));
}

static void with_suffix(char *out, size_t bytes, const char *key)
{
	snprintf(out, bytes, "%s_str", key);
}

void out_u64(struct json_object *o, const char *key, uint64_t value)
{
	char twin[64];

	with_suffix(twin, sizeof(twin), key);
	json_object_object_add(o, key, json_object_new_uint64(value));
	out_format(o, twin, "%" PRIu64, value);
}

void out_u64_null(struct json_object *o, const char *key)
{
	char twin[64];

	with_suffix(twin, sizeof(twin), key);
	out_null(o, key);
	out_null(o, twin);
}

void out_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void out_null(struct json_object *o, const char *key)
{
	json_object_object_add(o, key, NULL);
}

void out_hex(struct json_object *o, const char *key, const void *bytes, size_t len)
{
	char text[2 * 64 + 1] = "";
	const uint8_t *p = bytes;
	size_t i;

	for (i = 0; i < len && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	out_text(o, key, text);
}

void out_uuid_text(char text[37], const uint8_t *u)
{
	snprintf(text, 37,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

void out_uuid(struct json_object *o, const char *key, const uint8_t *uuid)
{
	char text[37];

	out_uuid_text(text, uuid);
	out_text(o, key, text);
}

struct json_object *out_array(struct json_object *o, const char *key)
{
	struct json_object *a = json_object_new_array();

	json_object_object_add(o, key, a);
	return a;
}

struct json_object *out_object(struct json_object *o, const char *key)
{
	struct json_object *child = json_object_new_object();

	json_object_object_add(o, key, child);
	return child;
}

struct json_object *out_row(struct json_object *array)
{
	struct json_object *o = json_object_new_object();

	json_object_array_add(array, o);
	return o;
}

static void print(struct json_object *doc, int flags)
{
	puts(json_object_to_json_string_ext(doc, flags | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(doc);
}

void out_print(struct json_object *doc)
{
	print(doc, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
}

void out_line(struct json_object *doc)
{
	print(doc, JSON_C_TO_STRING_PLAIN);
}

/* ---- values as text ---- */

static const char *bytes_text(int64_t value, char *buf, size_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)value;
	unsigned u = 0;

	while (v >= 1024 && u < 6) {
		v /= 1024;
		u++;
	}
	snprintf(buf, bytes, v == (double)(int64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
	return buf;
}

static const char *time_text(int64_t unix_ms, char *buf, size_t bytes)
{
	time_t t = (time_t)(unix_ms / 1000);
	struct tm tm;

	if (!unix_ms || !gmtime_r(&t, &tm) || !strftime(buf, bytes, "%Y-%m-%d %H:%M:%SZ", &tm))
		return "-";
	return buf;
}

static const char *duration_text(int64_t ms, char *buf, size_t bytes)
{
	if (ms > -10000 && ms < 10000)
		snprintf(buf, bytes, "%" PRId64 " ms", ms);
	else
		snprintf(buf, bytes, "%.1f s", (double)ms / 1000);
	return buf;
}

static const char *list_text(struct json_object *v, char *buf, size_t bytes)
{
	size_t i, n = json_object_array_length(v), used = 0;

	buf[0] = 0;
	for (i = 0; i < n && used < bytes; i++)
		used += (size_t)snprintf(
			buf + used, bytes - used, "%s%s", i ? "," : "",
			json_object_get_string(json_object_array_get_idx(v, i)));
	return n ? buf : "-";
}

const char *out_value(struct json_object *v, enum out_style style, char *buf, size_t bytes)
{
	if (!v)
		return "-";
	switch (style) {
	case OUT_MS:
		return duration_text(json_object_get_int64(v), buf, bytes);
	case OUT_US:
		snprintf(buf, bytes, "%.3f ms", (double)json_object_get_int64(v) / 1000);
		return buf;
	case OUT_BYTES:
		return bytes_text(json_object_get_int64(v), buf, bytes);
	case OUT_TIME:
		return time_text(json_object_get_int64(v), buf, bytes);
	case OUT_YESNO:
		return json_object_get_boolean(v) ? "yes" : "no";
	case OUT_LIST:
		return list_text(v, buf, bytes);
	case OUT_PLAIN:
		break;
	}
	return json_object_get_string(v);
}

/* ---- tables ---- */

static void fill_line(struct libscols_line *line, struct json_object *row,
		      const struct out_col *cols, size_t n)
{
	char buf[VALUE_BYTES];
	size_t i;

	for (i = 0; i < n; i++)
		scols_line_set_data(line, i,
				    out_value(json_object_object_get(row, cols[i].key),
					      cols[i].style, buf, sizeof(buf)));
}

void out_table(struct json_object *array, const struct out_col *cols, size_t n)
{
	struct libscols_table *t = scols_new_table();
	size_t i, rows = json_object_array_length(array);

	if (!t)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	for (i = 0; i < n; i++)
		scols_table_new_column(t, cols[i].title, 0, cols[i].right ? SCOLS_FL_RIGHT : 0);
	for (i = 0; i < rows; i++) {
		struct libscols_line *line = scols_table_new_line(t, NULL);

		if (!line)
			exit(fail(RF_EXIT_AGAIN, "out of memory"));
		fill_line(line, json_object_array_get_idx(array, i), cols, n);
	}
	if (rows)
		scols_print_table(t);
	scols_unref_table(t);
}

void out_pairs(struct json_object *o, const struct out_col *cols, size_t n)
{
	char buf[VALUE_BYTES];
	size_t i, width = 0;

	for (i = 0; i < n; i++)
		if (strlen(cols[i].title) > width)
			width = strlen(cols[i].title);
	for (i = 0; i < n; i++)
		printf("%-*s  %s\n", (int)width, cols[i].title,
		       out_value(json_object_object_get(o, cols[i].key), cols[i].style, buf,
				 sizeof(buf)));
}

bool out_color(void)
{
	if (!strcmp(tool.color, "always"))
		return true;
	return !strcmp(tool.color, "auto") && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}
