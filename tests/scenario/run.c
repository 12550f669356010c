/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-scenario [--transcript] [--without RULE] SCRIPT...
 * rf-scenario --kills [--outcomes] SCRIPT...
 *
 * Runs each script in a world of its own and prints one line of TAP for it. A
 * script that fails is shown with all that was said, up to the first mismatch.
 *
 * --kills, in a build with mutants: each script must fail under each rule that
 * its header names in a line "# kills: RULE...", and pass without. With --outcomes
 * not what is said counts but what comes of it: an oracle of outcomes must break.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

#ifdef RF_MUTANT
#include "../sim/mutants.h"
uint32_t rf_mutant;
#endif

#define SCRIPT_LINE 512u

void fail(struct script *s, const char *format, ...)
{
	va_list ap;

	if (s->failed)
		return;
	s->failed = true;
	va_start(ap, format);
	vsnprintf(s->why, sizeof(s->why), format, ap);
	va_end(ap);
}

static void split(struct script *s, char *line)
{
	char *end = strchr(line, '#');

	if (end)
		*end = 0;
	s->words = 0;
	memset(s->used, 0, sizeof(s->used));
	for (char *word = strtok(line, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
		if (s->words == WORDS_MAX) {
			fail(s, "more than %u words", WORDS_MAX);
			return;
		}
		s->word[s->words++] = word;
	}
}

/* Expectations look at what was said since the first command after the last one. */
static void open_window(struct script *s, bool expectation)
{
	if (s->expecting && !expectation) {
		s->window = s->cursor = s->count;
		s->window_at = s->w->now;
		s->window_ops = s->w->tally.disk_ops;
	}
	s->expecting = expectation;
	s->expected += expectation;
}

static void run_line(struct script *s, char *line)
{
	const char *verb;

	if (s->transcript && line[strspn(line, " \t\n")] && line[0] != '#')
		fprintf(s->transcript, "%u: %s", s->line, line);
	split(s, line);
	if (!s->words || s->failed)
		return;
	verb = s->word[0];
	s->used[0] = true;
	open_window(s, !strncmp(verb, "expect", 6));
	if (!s->made && strcmp(verb, "cluster"))
		fail(s, "a script begins with cluster");
	else if (!act(s, verb) && !record(s, verb) && !look(s, verb))
		fail(s, "unknown word: %s", verb);
	all_used(s);
}

/* True when the script passes. */
static bool run(struct script *s, const char *file, FILE *transcript)
{
	struct world *w = s->w;
	char line[SCRIPT_LINE];
	FILE *f = fopen(file, "re");

	s->file = file;
	s->transcript = transcript;
	s->line = s->count = s->window = s->cursor = s->expected = 0;
	s->made = s->failed = s->expecting = s->broken = false;
	s->oracles = true;
	s->window_at = s->window_ops = 0;
	memset(s->past, 0, sizeof(s->past));
	w->listen = listen;
	w->listener = s;
	if (!f) {
		fail(s, "%s", strerror(errno));
		return false;
	}
	while (!s->failed && fgets(line, sizeof(line), f)) {
		s->line++;
		run_line(s, line);
	}
	fclose(f);
	if (!s->failed && !s->expected)
		fail(s, "nothing is expected");
	return !s->failed;
}

static const char *name_of(const char *file, char *out, size_t size)
{
	const char *slash = strrchr(file, '/');

	snprintf(out, size, "%s", slash ? slash + 1 : file);
	if (strlen(out) > 4 && !strcmp(out + strlen(out) - 4, ".txt"))
		out[strlen(out) - 4] = 0;
	return out;
}

static bool test(struct script *s, const char *file, uint32_t number, bool transcript)
{
	char name[128];
	bool good = run(s, file, transcript ? stdout : NULL);

	printf("%sok %u - %s\n", good ? "" : "not ", number, name_of(file, name, sizeof(name)));
	if (good)
		return true;
	if (!transcript)
		for (uint32_t i = 0; i < s->count; i++)
			printf("# %10.3f  %s\n", (double)s->said[i].at / 1e6, s->said[i].text);
	printf("# %s:%u: %s\n", file, s->line, s->why);
	return false;
}

/* ---- rules removed ---- */

#ifdef RF_MUTANT
static uint32_t mutant_named(const char *name)
{
	static const char *const names[] = {
#define RF_MUTANT_NAME(n) [RF_MUTANT_##n] = #n,
		RF_MUTANTS(RF_MUTANT_NAME)};

	for (uint32_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return i;
	fprintf(stderr, "rf-scenario: no such rule: %s\n", name);
	exit(2);
}

static bool killed(struct script *s, const char *file, const char *rule)
{
	bool survived;
	char name[128];

	rf_mutant = mutant_named(rule);
	survived = run(s, file, NULL);
	rf_mutant = RF_MUTANT_NONE;
	if (s->w->outcomes && !survived && !s->broken) {
		survived = true;
		snprintf(s->why, sizeof(s->why), "no oracle breaks");
	}
	printf("%sok - %s kills %s (%s)\n", survived ? "not " : "",
	       name_of(file, name, sizeof(name)), rule,
	       survived && !s->w->outcomes ? "it passes" : s->why);
	return !survived;
}

static bool kills(struct script *s, const char *file)
{
	char line[SCRIPT_LINE];
	FILE *f = fopen(file, "re");
	bool good = true;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "# kills:", 8))
			continue;
		for (char *save = NULL, *rule = strtok_r(line + 8, " \t\n", &save); rule;
		     rule = strtok_r(NULL, " \t\n", &save))
			good &= killed(s, file, rule);
	}
	fclose(f);
	return good;
}

static void without(const char *rule)
{
	rf_mutant = mutant_named(rule);
}
#else
static void without(const char *rule)
{
	(void)rule;
	fprintf(stderr, "rf-scenario: this build has no mutants (make check-scenario-kills)\n");
	exit(2);
}

static bool kills(struct script *s, const char *file)
{
	(void)s;
	(void)file;
	fprintf(stderr, "rf-scenario: this build has no mutants (make check-scenario-kills)\n");
	exit(2);
}
#endif

int main(int argc, char **argv)
{
	static struct script s;
	bool transcript = false, killing = false, good = true;
	uint32_t number = 0;

	s.w = world_new();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--transcript"))
			transcript = true;
		else if (!strcmp(argv[i], "--kills"))
			killing = true;
		else if (!strcmp(argv[i], "--outcomes"))
			s.w->outcomes = true;
		else if (!strcmp(argv[i], "--without") && i + 1 < argc)
			without(argv[++i]);
		else if (killing)
			good &= kills(&s, argv[i]);
		else
			good &= test(&s, argv[i], ++number, transcript);
	}
	if (argc < 2) {
		fprintf(stderr,
			"usage: rf-scenario [--transcript | --kills [--outcomes]] SCRIPT...\n");
		return 2;
	}
	world_free(s.w);
	free(s.said);
	return good ? 0 : 1;
}
