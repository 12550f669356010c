/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns over what was said: words in any order, each of which must hold.
 *
 *   n2                who said it
 *   excluded          which decision
 *   epoch=3           a field is so
 *   took_ms<=5, >=    a field is at most, at least
 *   ways~closed       a field contains
 */
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

struct field {
	const char *name, *value;
	size_t length;
	char relation; /* = < > ~ */
};

static const struct {
	const char *name, *a, *b;
} decisions[] = {
#define RF_DECISION(code, name, level, a, b, text) {#name, #a, #b},
#include "core/decision.def"
#undef RF_DECISION
};

static bool split(const char *word, struct field *f)
{
	size_t n = strcspn(word, "=<>~");

	if (!word[n] || !n)
		return false;
	f->name = word;
	f->length = n;
	f->relation = word[n];
	f->value = word + n + 1 + ((word[n] == '<' || word[n] == '>') && word[n + 1] == '=');
	return true;
}

static bool is_node(const char *word)
{
	return word[0] == 'n' && word[1] >= '0' && word[1] <= '9';
}

static bool named(const struct field *f, const char *name)
{
	return strlen(name) == f->length && !memcmp(f->name, name, f->length);
}

static bool has_field(uint32_t decision, const struct field *f)
{
	return named(f, "volume") || named(f, "node") || named(f, "epoch") ||
	       named(f, decisions[decision].a) || named(f, decisions[decision].b);
}

static int decision_named(const char *word)
{
	for (uint32_t i = 0; i < sizeof(decisions) / sizeof(*decisions); i++)
		if (!strcmp(decisions[i].name, word))
			return (int)i;
	return -1;
}

/* A misspelt pattern must not be one that is never seen. */
bool pattern_valid(struct script *s, uint32_t first)
{
	int decision = -1;
	struct field f;

	for (uint32_t i = first; i < s->words; i++) {
		if (s->used[i] || is_node(s->word[i]) || split(s->word[i], &f))
			continue;
		if (decision >= 0 || (decision = decision_named(s->word[i])) < 0)
			fail(s, "no such decision: %s", s->word[i]);
	}
	if (decision < 0)
		fail(s, "a pattern names a decision");
	for (uint32_t i = first; i < s->words && decision >= 0; i++)
		if (!s->used[i] && split(s->word[i], &f) && !has_field((uint32_t)decision, &f))
			fail(s, "%s has no such field: %s", decisions[decision].name,
			     s->word[i]);
	return !s->failed;
}

static bool value_holds(const struct field *f, const char *value, size_t n)
{
	double have, want;
	char text[128];

	if (f->relation == '=')
		return strlen(f->value) == n && !memcmp(f->value, value, n);
	snprintf(text, sizeof(text), "%.*s", (int)n, value);
	if (f->relation == '~')
		return strstr(text, f->value) != NULL;
	have = strtod(text, NULL);
	want = strtod(f->value, NULL);
	return f->relation == '<' ? have <= want : have >= want;
}

/* The value of a field in " name=value name=value", or NULL. */
static const char *find(const char *text, const struct field *f, size_t *n)
{
	for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
		if (strncmp(at + 1, f->name, f->length) || at[1 + f->length] != '=')
			continue;
		at += f->length + 2;
		*n = strcspn(at, " ");
		return at;
	}
	return NULL;
}

static bool token_is(const char *text, uint32_t index, const char *word)
{
	while (index--) {
		text = strchr(text, ' ');
		if (!text)
			return false;
		text++;
	}
	return strcspn(text, " ") == strlen(word) && !strncmp(text, word, strlen(word));
}

bool pattern_matches(struct script *s, uint32_t first, const char *text)
{
	struct field f;

	for (uint32_t i = first; i < s->words; i++) {
		const char *word = s->word[i], *value;
		size_t n;

		if (s->used[i])
			continue;
		if (split(word, &f)) {
			value = find(text, &f, &n);
			if (!value || !value_holds(&f, value, n))
				return false;
		} else if (!token_is(text, is_node(word) ? 0 : 1, word)) {
			return false;
		}
	}
	return true;
}

/* Each unused word must be a field of `text`, and hold. */
void pattern_fields(struct script *s, const char *what, const char *text)
{
	struct field f;

	for (uint32_t i = 1; i < s->words; i++) {
		const char *value;
		size_t n;

		if (s->used[i])
			continue;
		s->used[i] = true;
		value = split(s->word[i], &f) ? find(text, &f, &n) : NULL;
		if (!value)
			fail(s, "%s has no such field: %s", what, s->word[i]);
		else if (!value_holds(&f, value, n))
			fail(s, "%s is not %s:%s", what, s->word[i], text);
	}
}
