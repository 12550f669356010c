/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decision.def, executed. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decision.h"
#include "format/names.h"

struct entry {
	const char *name, *a, *b, *words;
	char level;
};

static const struct entry table[RF_SAY_COUNT] = {
#define LEVEL_d 'd'
#define LEVEL_i 'i'
#define LEVEL_w 'w'
#define LEVEL_e 'e'
/* A field given as "" is unused: as text it begins with a quote. */
#define RF_DECISION(code, name, level, a, b, words) \
	[RF_SAY_##code] = {#name, #a, #b, words, LEVEL_##level},
#include "core/decision.def"
#undef RF_DECISION
};

const char *rf_decision_name(uint32_t code)
{
	return code < RF_SAY_COUNT ? table[code].name : "?";
}

char rf_decision_level(uint32_t code)
{
	return code < RF_SAY_COUNT ? table[code].level : 'e';
}

const char *rf_decision_words(uint32_t code)
{
	return code < RF_SAY_COUNT ? table[code].words : "a decision this build does not know";
}

/* ---- a bounded line ---- */

struct line {
	char *at;
	size_t left; /* NUL included */
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *l, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->at, l->left, format, ap);
	va_end(ap);
	if (n < 0 || !l->left)
		return;
	if ((size_t)n >= l->left)
		n = (int)l->left - 1;
	l->at += n;
	l->left -= (size_t)n;
	l->used += (size_t)n;
}

void rf_ways_words(char *out, size_t bytes, uint32_t ways)
{
	struct line l = {out, bytes, 0};

	if (bytes)
		*out = 0;
	for (unsigned i = 0; i < RF_WAYS; i++)
		if (ways >> i & 1)
			put(&l, "%s%s", l.used ? "+" : "", rf_way_words[i]);
	if (!l.used)
		put(&l, "none");
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

static void put_ms(struct line *l, int64_t ns)
{
	int64_t us = ns / 1000;
	const char *sign = us < 0 ? "-" : "";

	if (us < 0)
		us = -us;
	if (us % 1000)
		put(l, "%s%" PRId64 ".%03" PRId64, sign, us / 1000, us % 1000);
	else
		put(l, "%s%" PRId64, sign, us / 1000);
}

static void put_field(struct line *l, const char *name, uint64_t value)
{
	char words[64];

	if (*name == '"')
		return;
	put(l, " %s=", name);
	if (ends(name, "_ms")) {
		put_ms(l, (int64_t)value);
	} else if (starts(name, "cause")) {
		put(l, "%s", rf_cause_word(value > UINT32_MAX ? UINT32_MAX : (uint32_t)value));
	} else if (starts(name, "role")) {
		put(l, "%s", rf_role_word(value > UINT32_MAX ? UINT32_MAX : (uint32_t)value));
	} else if (starts(name, "way")) {
		rf_ways_words(words, sizeof(words), (uint32_t)value);
		put(l, "%s", words);
	} else if (!strcmp(name, "incarnation")) {
		put(l, "%016" PRIx64, value);
	} else if (!strcmp(name, "status") || !strcmp(name, "error")) {
		put(l, "%" PRId64, (int64_t)value);
	} else {
		put(l, "%" PRIu64, value);
	}
}

size_t rf_decision_format(char *out, size_t bytes, const struct rf_decision *d,
			  const char *volume)
{
	struct line l = {out, bytes, 0};
	const struct entry *e;

	if (bytes)
		*out = 0;
	if (d->code >= RF_SAY_COUNT) {
		put(&l, "decision-%u", d->code);
		return l.used;
	}
	e = &table[d->code];
	put(&l, "%s", e->name);
	if (d->volume != RF_NO_VOLUME && volume)
		put(&l, " volume=%s", volume);
	else if (d->volume != RF_NO_VOLUME)
		put(&l, " volume=%u", d->volume);
	if (d->node)
		put(&l, " node=%u", d->node);
	if (d->epoch)
		put(&l, " epoch=%" PRIu64, d->epoch);
	put_field(&l, e->a, d->a);
	put_field(&l, e->b, d->b);
	return l.used;
}
