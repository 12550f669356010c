/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenarios: a script drives the simulator's world, and says which decisions
 * must be seen. tests/scenario/README.md describes the language.
 *
 * Nothing is drawn in a calm world but what a script asks for, and time is
 * virtual: a scenario ends the same way each time.
 */
#ifndef RF_SCENARIO_H
#define RF_SCENARIO_H

#include "../sim/sim.h"

#define WORDS_MAX 32u
#define LINE_BYTES 400u

struct said {
	uint64_t at;
	char text[LINE_BYTES]; /* "n2 suspect volume=0 node=1 epoch=2 silent_ms=350" */
};

struct script {
	struct world *w;
	const char *file;
	uint32_t line;

	/* the line at work: its words, and which of them were used */
	char *word[WORDS_MAX];
	bool used[WORDS_MAX];
	uint32_t words;

	/* what was said; expectations begin at `window`, ordered ones at `cursor` */
	struct said *said;
	uint32_t count, capacity, window, cursor;
	uint64_t window_at, window_ops;
	bool expecting; /* the last line was an expectation */

	uint64_t past[RF_NODES_MAX + 1];    /* incarnation of the last dead life of a node */
	bool made, oracles, failed, broken; /* broken: an oracle */
	uint32_t expected;                  /* expectations met */
	char why[LINE_BYTES + 256];
	FILE *transcript;
};

/* run.c: the first failure of a script counts */
__attribute__((format(printf, 2, 3))) void fail(struct script *s, const char *format, ...);

/* words.c */
const char *next_word(struct script *s, const char *what); /* the next unused one */
const char *option(struct script *s, const char *key);     /* key=VALUE, or NULL */
uint64_t option_number(struct script *s, const char *key, uint64_t otherwise);
uint64_t option_time(struct script *s, const char *key, uint64_t otherwise);
uint64_t number_of(struct script *s, const char *text);
uint64_t time_of(struct script *s, const char *text);     /* 350ms, 2s, 500us */
struct host *host_of(struct script *s, const char *text); /* 2, or 2b for its twin */
uint32_t volume_of(struct script *s);
void all_used(struct script *s);

/* act.c, record.c, look.c: one line of a script; false if the word is not theirs */
bool act(struct script *s, const char *verb);
bool record(struct script *s, const char *verb);
bool look(struct script *s, const char *verb);
void pass_until(struct script *s, uint64_t at);
/* fence.c */
void fence_begin(struct script *s, struct host *h);
void fence_expect(struct script *s);
void listen(void *listener, struct host *h, const struct rf_decision *d);

/* pattern.c: the words of a line from `first` on, against one thing said */
bool pattern_valid(struct script *s, uint32_t first);
bool pattern_matches(struct script *s, uint32_t first, const char *text);
void pattern_fields(struct script *s, const char *what, const char *text);

#endif
