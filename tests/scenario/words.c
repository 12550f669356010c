/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a script's line, as names, numbers and times. */
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

static const char *claim(struct script *s, uint32_t i, const char *text)
{
	s->used[i] = true;
	return text;
}

const char *next_word(struct script *s, const char *what)
{
	for (uint32_t i = 0; i < s->words; i++)
		if (!s->used[i])
			return claim(s, i, s->word[i]);
	fail(s, "%s is missing", what);
	return "";
}

const char *option(struct script *s, const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 0; i < s->words; i++)
		if (!s->used[i] && !strncmp(s->word[i], key, n) && s->word[i][n] == '=')
			return claim(s, i, s->word[i] + n + 1);
	return NULL;
}

uint64_t number_of(struct script *s, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (end == text || *end)
		fail(s, "not a number: %s", text);
	return n;
}

uint64_t option_number(struct script *s, const char *key, uint64_t otherwise)
{
	const char *text = option(s, key);

	return text ? number_of(s, text) : otherwise;
}

uint64_t time_of(struct script *s, const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end != text && !strcmp(end, "ms"))
		return (uint64_t)(n * 1e6);
	if (end != text && !strcmp(end, "us"))
		return (uint64_t)(n * 1e3);
	if (end != text && !strcmp(end, "s"))
		return (uint64_t)(n * 1e9);
	fail(s, "not a time (350ms, 2s, 500us): %s", text);
	return 0;
}

uint64_t option_time(struct script *s, const char *key, uint64_t otherwise)
{
	const char *text = option(s, key);

	return text ? time_of(s, text) : otherwise;
}

struct host *host_of(struct script *s, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (end != text && !strcmp(end, "b"))
		return &s->w->host[s->w->hosts - 1];
	if (end == text || *end || n < 1 || n > s->w->atlas.nodes) {
		fail(s, "no such node: %s", text);
		n = 1;
	}
	return &s->w->host[n - 1];
}

uint32_t volume_of(struct script *s)
{
	uint64_t v = option_number(s, "volume", 0);

	if (v < s->w->super.volumes)
		return (uint32_t)v;
	fail(s, "no such volume");
	return 0;
}

void all_used(struct script *s)
{
	for (uint32_t i = 0; i < s->words; i++)
		if (!s->used[i])
			fail(s, "unknown word: %s", s->word[i]);
}
