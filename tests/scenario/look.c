/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expectations: what must, and what must not, have been said; how things are. */
#include <stdlib.h>
#include <string.h>

#include "decision.h"
#include "format/names.h"
#include "scenario.h"

void listen(void *listener, struct host *h, const struct rf_decision *d)
{
	struct script *s = listener;
	struct said *line;
	int n;

	if (s->count == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 256;
		s->said = realloc(s->said, s->capacity * sizeof(*s->said));
		if (!s->said)
			abort();
	}
	line = &s->said[s->count++];
	line->at = s->w->now;
	n = snprintf(line->text, sizeof(line->text), "n%u%s ", h->id, h->impostor ? "b" : "");
	rf_decision_format(line->text + n, sizeof(line->text) - (size_t)n, d, NULL);
	if (s->transcript)
		fprintf(s->transcript, "  %10.3f  %s\n", (double)line->at / 1e6, line->text);
}

static const char *rest(const struct script *s, uint32_t first)
{
	static char text[LINE_BYTES];
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = first; i < s->words && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > first ? " " : "",
				      s->word[i]);
	return text;
}

static void pattern_used(struct script *s)
{
	for (uint32_t i = 0; i < s->words; i++)
		s->used[i] = true;
}

/* The next thing said, from the last match on, that fits; at what time? */
static void expect(struct script *s, uint64_t from, uint64_t until)
{
	uint32_t first = 1, i;

	while (first < s->words && s->used[first])
		first++;
	if (!pattern_valid(s, first))
		return;
	for (i = s->cursor; i < s->count; i++)
		if (pattern_matches(s, first, s->said[i].text))
			break;
	if (i == s->count) {
		fail(s, "not seen: %s", rest(s, first));
	} else if (s->said[i].at - s->window_at < from) {
		fail(s, "seen after %.3f ms, too early: %s",
		     (double)(s->said[i].at - s->window_at) / 1e6, s->said[i].text);
	} else if (s->said[i].at - s->window_at > until) {
		fail(s, "seen after %.3f ms, too late: %s",
		     (double)(s->said[i].at - s->window_at) / 1e6, s->said[i].text);
	}
	s->cursor = i + 1;
	pattern_used(s);
}

static void expect_none(struct script *s)
{
	if (!pattern_valid(s, 1))
		return;
	for (uint32_t i = s->window; i < s->count; i++)
		if (pattern_matches(s, 1, s->said[i].text))
			fail(s, "seen, and must not be: %s", s->said[i].text);
	pattern_used(s);
}

static void expect_any(struct script *s)
{
	uint32_t i;

	if (!pattern_valid(s, 1))
		return;
	for (i = s->window; i < s->count; i++)
		if (pattern_matches(s, 1, s->said[i].text))
			break;
	if (i == s->count)
		fail(s, "not seen: %s", rest(s, 1));
	pattern_used(s);
}

/* until PATTERN LIMIT: let time pass until it is said. */
static void until(struct script *s)
{
	struct world *w = s->w;
	uint64_t limit;
	uint32_t seen = s->count;

	if (s->words < 3) {
		fail(s, "until PATTERN LIMIT");
		return;
	}
	s->used[s->words - 1] = true;
	limit = w->now + time_of(s, s->word[s->words - 1]);
	if (!pattern_valid(s, 1))
		return;
	for (;; seen++) {
		while (seen == s->count && !s->failed && w->heap.count &&
		       w->heap.item[0].at <= limit)
			pass_until(s, w->heap.item[0].at);
		if (seen == s->count) {
			fail(s, "not said in time: %s", rest(s, 1));
			return;
		}
		if (pattern_matches(s, 1, s->said[seen].text))
			break;
	}
	pattern_used(s);
}

/* ---- how things are ---- */

static void expect_gate(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s);
	bool open = gate_admits(s->w, h, volume);
	const char *want = next_word(s, "open or shut");

	if (strcmp(want, open ? "open" : "shut"))
		fail(s, "the gate of n%u is %s", h->id, open ? "open" : "shut");
}

static void expect_role(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s);
	const char *want = next_word(s, "a role");
	struct rf_core_volume v;

	if (!h->alive) {
		fail(s, "n%u is dead", h->id);
		return;
	}
	rf_core_volume(rf_node_core(h->node), volume, &v);
	if (strcmp(want, rf_role_word(v.role)))
		fail(s, "n%u is %s", h->id, rf_role_word(v.role));
}

static void expect_life(struct script *s, bool alive)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	if (h->alive != alive)
		fail(s, "n%u is %s", h->id, h->alive ? "alive" : "dead");
}

static bool relation(struct script *s, uint64_t have)
{
	const char *sign = next_word(s, "<=, = or >=");
	uint64_t want = number_of(s, next_word(s, "a number"));

	if (!strcmp(sign, "<="))
		return have <= want;
	if (!strcmp(sign, ">="))
		return have >= want;
	if (strcmp(sign, "="))
		fail(s, "not a relation: %s", sign);
	return have == want;
}

static const struct said *said_by(const struct script *s, uint32_t *from, uint32_t node,
				  const char *name)
{
	char start[80];
	size_t n = (size_t)snprintf(start, sizeof(start), "n%u %s ", node, name);

	for (; *from < s->count; (*from)++)
		if (!strncmp(s->said[*from].text, start, n))
			return &s->said[(*from)++];
	return NULL;
}

/* expect-ops N FROM TO <= K: disk operations, one after the other, between two
 * decisions. Each takes the same time here, and nothing else takes any. */
static void expect_ops(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	const char *from = next_word(s, "a decision"), *to = next_word(s, "a decision");
	uint32_t at = s->window;
	const struct said *a = said_by(s, &at, h->id, from), *b;
	uint64_t ops;

	b = a ? said_by(s, &at, h->id, to) : NULL;
	if (!b) {
		fail(s, "not said: %s, then %s", from, to);
		return;
	}
	ops = (b->at - a->at + s->w->atlas.io_ns - 1) / s->w->atlas.io_ns;
	if (!relation(s, ops))
		fail(s, "%llu operations", (unsigned long long)ops);
}

/* expect-count disk-ops <= K, since the last command. */
static void expect_count(struct script *s)
{
	const char *what = next_word(s, "what");
	uint64_t have = s->w->tally.disk_ops - s->window_ops;

	if (strcmp(what, "disk-ops"))
		fail(s, "cannot count %s", what);
	else if (!relation(s, have))
		fail(s, "there were %llu", (unsigned long long)have);
}

/* expect-refused >= K: writes of an older epoch, at the target. */
static void expect_refused(struct script *s)
{
	uint64_t have = s->w->tally.refused;

	if (!relation(s, have))
		fail(s, "there were %llu", (unsigned long long)have);
}

/* expect-peer N of M field=…: what N knows of M. */
static void expect_peer(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	struct host *of = host_of(s, next_word(s, "a node"));
	struct rf_core_peer p;
	char text[200];

	if (!h->alive || h->id == of->id) {
		fail(s, "n%u knows nothing", h->id);
		return;
	}
	rf_core_peer(rf_node_core(h->node), of->id, &p);
	snprintf(text, sizeof(text), " health=%u state=%s life=%s", p.health,
		 p.state == RF_SLOT_FREE     ? "free"
		 : p.state == RF_SLOT_JOINED ? "joined"
		 : p.state == 1              ? "unreadable"
					     : "unknown",
		 p.incarnation == of->incarnation ? "now" : "old");
	pattern_fields(s, "that peer", text);
}

static void within(struct script *s)
{
	uint64_t limit = time_of(s, next_word(s, "a time"));

	expect(s, 0, limit);
}

static void between(struct script *s)
{
	uint64_t from = time_of(s, next_word(s, "a time"));
	uint64_t limit = time_of(s, next_word(s, "a time"));

	expect(s, from, limit);
}

static void any_time(struct script *s)
{
	expect(s, 0, NEVER);
}

static void dead(struct script *s)
{
	expect_life(s, false);
}

static void alive(struct script *s)
{
	expect_life(s, true);
}

bool look(struct script *s, const char *verb)
{
	static const struct {
		const char *name;
		void (*run)(struct script *s);
	} verbs[] = {
		{"expect", any_time},
		{"expect-within", within},
		{"expect-between", between},
		{"expect-none", expect_none},
		{"expect-any", expect_any},
		{"expect-gate", expect_gate},
		{"expect-role", expect_role},
		{"expect-dead", dead},
		{"expect-alive", alive},
		{"expect-ops", expect_ops},
		{"expect-count", expect_count},
		{"expect-peer", expect_peer},
		{"expect-fenced", fence_expect},
		{"expect-refused", expect_refused},
		{"until", until},
	};

	for (uint32_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, verb))
			continue;
		verbs[i].run(s);
		return true;
	}
	return false;
}
