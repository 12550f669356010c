/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The past as stretches of wall time. Clocks of hosts may disagree, and a damaged clock may
 * say anything: stretches are put in the order of their epochs and never overlap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timeline.h"
#include "tool.h"

#define S_NS 1000000000ull

static void add(struct timeline *t, struct stretch s)
{
	if (s.to_ns > s.from_ns)
		t->list[t->count++] = s;
}

/* Leaderships and what lies between them. */
static void stretches(struct timeline *t)
{
	const struct past *p = t->past;
	uint64_t before = 0;
	unsigned n;

	for (n = 0; n < p->count; n++) {
		const struct rf_history *h = &p->entry[n];
		uint64_t from = h->start_unix_ns, to = past_end_ns(p, n);
		bool open = !to && n + 1 == p->count;

		if (from < before)
			from = before;
		if (open)
			to = t->all->seen_ns;
		if (before && from > before)
			add(t, (struct stretch){.from_ns = before, .to_ns = from});
		if (to <= from)
			to = from + 1;
		add(t, (struct stretch){from, to, h->epoch, h->owner, open});
		before = to;
	}
}

static void range(struct timeline *t)
{
	uint64_t room;

	t->from_ns = t->count ? t->list[0].from_ns : t->all->seen_ns;
	t->to_ns = t->count ? t->list[t->count - 1].to_ns : t->from_ns;
	room = (t->to_ns - t->from_ns) / 50 + S_NS / 10;
	t->from_ns -= t->from_ns > room ? room : 0;
	t->to_ns += room;
}

static void lanes(struct timeline *t)
{
	bool used[RF_NODES_MAX + 1] = {false};
	uint32_t i;

	for (i = 0; i < t->past->count; i++)
		used[t->past->entry[i].owner] = true;
	for (i = 1; i <= t->all->nodes; i++)
		if (used[i] || t->all->host[i][0])
			t->lane[t->lanes++] = i;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void measure(struct timeline *t, uint64_t *us)
{
	unsigned n, count = t->past->count;

	for (n = 0; n < count; n++)
		us[n] = past_change_us(&t->past->entry[n]);
	qsort(us, count, sizeof(*us), by_size);
	if (!count)
		return;
	t->longest_us = us[count - 1];
	t->median_us = us[count / 2];
}

void timeline_make(struct timeline *t, const struct past_set *all, const struct past *p)
{
	uint64_t *us = calloc(p->count + 1, sizeof(*us));

	*t = (struct timeline){.past = p, .all = all};
	t->list = calloc(2 * (size_t)p->count + 1, sizeof(*t->list));
	if (!us || !t->list)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	stretches(t);
	range(t);
	lanes(t);
	measure(t, us);
	free(us);
}

void timeline_free(struct timeline *t)
{
	free(t->list);
}

/* ---- words of the axis ---- */

uint64_t timeline_step_ns(const struct timeline *t, unsigned count)
{
	static const uint32_t steps_s[] = {
		1,      2,      5,       10,      15,      30,       60,       120,   300,
		600,    900,    1800,    3600,    7200,    10800,    21600,    43200, 86400,
		172800, 604800, 1209600, 2592000, 7776000, 31536000, 315360000};
	uint64_t span = t->to_ns - t->from_ns;
	size_t i = 0;

	if (span < count * (S_NS / 2))
		return S_NS / 10 * (span < count * (S_NS / 10) ? 1 : 5);
	while (i + 1 < sizeof(steps_s) / sizeof(steps_s[0]) &&
	       span / (steps_s[i] * S_NS) > count)
		i++;
	return steps_s[i] * S_NS;
}

void timeline_tick_text(char text[32], uint64_t unix_ns, uint64_t step_ns)
{
	time_t s = (time_t)(unix_ns / S_NS);
	const char *format = "%H:%M";
	struct tm tm;

	if (step_ns < 60 * S_NS)
		format = "%H:%M:%S";
	if (step_ns >= 86400 * S_NS || (s % 86400 == 0 && step_ns >= 60 * S_NS))
		format = "%Y-%m-%d";
	if (!gmtime_r(&s, &tm) || !strftime(text, 24, format, &tm))
		snprintf(text, 32, "?");
	if (step_ns < S_NS)
		snprintf(text + strlen(text), 8, ".%u", (unsigned)(unix_ns / 100000000 % 10));
}

void timeline_us_text(char text[32], uint64_t us)
{
	if (us < 10000)
		snprintf(text, 32, "%.1f ms", (double)us / 1e3);
	else if (us < 1000000)
		snprintf(text, 32, "%.0f ms", (double)us / 1e3);
	else if (us < 60000000)
		snprintf(text, 32, "%.2f s", (double)us / 1e6);
	else
		snprintf(text, 32, "%.1f min", (double)us / 6e7);
}
