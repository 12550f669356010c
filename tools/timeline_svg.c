/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timeline as an SVG that stands by itself: no scripts, no fonts or files from
 * elsewhere. Above, for each volume, a lane of wall time for each node; below, for each
 * change of leader, a bar of its phases on one scale.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/names.h"
#include "timeline.h"
#include "words.h"

#define WIDTH 1200
#define LEFT 190
#define RIGHT 40
#define PLOT (WIDTH - LEFT - RIGHT)
#define LANE 34
#define ROW 30
#define TITLE_FITS 36
#define HOST_FITS 14 /* characters of a host name beside the lanes, and in a row */
#define BARS_LEFT 480
#define BARS_RIGHT 330
#define BARS (WIDTH - BARS_LEFT - BARS_RIGHT)

/* Distinct without red and green side by side; of nodes by id, of phases in order. */
static const char *const node_colors[] = {"#3b6fb6", "#d9822b", "#3a9a8c", "#8e5ea2",
					  "#b8a02a", "#5a6b7d", "#c2527c", "#6b8e23"};
static const char *const phase_colors[PHASES] = {"#9aa3ad", "#e3b23c", "#3b6fb6",
						 "#8e5ea2", "#3a9a8c", "#74b266"};
static const char *const phase_words[PHASES] = {
	"suspect: old leader silent",  "prevote",       "claim: Disk Paxos",
	"exclude: old leader stopped", "open the gate", "load state, reconcile"};

struct page {
	FILE *f;
	unsigned y;
};

static const char *color_of(uint32_t node)
{
	return node_colors[(node - 1) % (sizeof(node_colors) / sizeof(node_colors[0]))];
}

/* Names come from the disk: nothing in them may become markup. */
static void escaped(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc((unsigned char)*text < 0x20 ? '?' : *text, f);
		}
}

/* style: a class of the sheet below. anchor: start, middle, end. */
static void text(const struct page *p, double x, double y, const char *style,
		 const char *anchor, const char *words)
{
	fprintf(p->f, "<text x='%.1f' y='%.1f' class='%s' text-anchor='%s'>", x, y, style,
		anchor);
	escaped(p->f, words);
	fputs("</text>\n", p->f);
}

static void box(const struct page *p, double x, double y, double w, double h, const char *fill,
		double round)
{
	fprintf(p->f,
		"<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' rx='%.1f' fill='%s'/>\n", x,
		y, w, h, round, fill);
}

static void line(const struct page *p, double x1, double y1, double x2, double y2,
		 const char *style)
{
	fprintf(p->f, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='%s'/>\n", x1, y1,
		x2, y2, style);
}

static void node_words(char out[RF_HOST_BYTES + 24], const struct past_set *all, uint32_t node)
{
	const char *host = all->host[node];
	size_t first = strcspn(host, ".");

	if (!*host)
		snprintf(out, RF_HOST_BYTES + 24, "node %u", node);
	else if (strlen(host) <= HOST_FITS)
		snprintf(out, RF_HOST_BYTES + 24, "%s", host);
	else if (first <= HOST_FITS) /* the node's id stands beside it */
		snprintf(out, RF_HOST_BYTES + 24, "%.*s", (int)first, host);
	else
		snprintf(out, RF_HOST_BYTES + 24, "%.*s…", HOST_FITS - 1, host);
}

/* ---- lanes ---- */

static double x_of(const struct timeline *t, uint64_t ns)
{
	return LEFT + PLOT * ((double)(ns - t->from_ns) / (double)(t->to_ns - t->from_ns));
}

static void axis(const struct page *p, const struct timeline *t, unsigned bottom)
{
	uint64_t step = timeline_step_ns(t, 9), at = (t->from_ns + step - 1) / step * step;
	char words[32];

	for (; at <= t->to_ns; at += step) {
		line(p, x_of(t, at), p->y, x_of(t, at), bottom, "grid");
		timeline_tick_text(words, at, step);
		text(p, x_of(t, at), bottom + 16, "small", "middle", words);
	}
}

static void lane_names(const struct page *p, const struct timeline *t)
{
	char host[RF_HOST_BYTES + 24], id[32];
	unsigned i, y;

	for (i = 0; i < t->lanes; i++) {
		y = p->y + i * LANE;
		if (i % 2 == 0)
			box(p, LEFT, y, PLOT, LANE, "#f6f8fa", 0);
		node_words(host, t->all, t->lane[i]);
		text(p, LEFT - 14, y + 22, "name", "end", host);
		snprintf(id, sizeof(id), "%u", t->lane[i]);
		fprintf(p->f, "<circle cx='36' cy='%u' r='10' fill='%s'/>\n", y + 17,
			color_of(t->lane[i]));
		text(p, 36, y + 21, "inbar", "middle", id);
	}
	y = p->y + t->lanes * LANE;
	text(p, LEFT - 14, y + 14, "soft", "end", "nobody");
}

static unsigned lane_of(const struct timeline *t, uint32_t node)
{
	unsigned i = 0;

	while (i < t->lanes && t->lane[i] != node)
		i++;
	return i;
}

static void leadership(const struct page *p, const struct timeline *t, const struct stretch *s)
{
	double x = x_of(t, s->from_ns), w = x_of(t, s->to_ns) - x;
	double y = p->y + lane_of(t, s->owner) * LANE + 5;
	char words[32];

	if (w < 1.5)
		w = 1.5;
	box(p, x, y, w, LANE - 10, color_of(s->owner), w > 8 ? 3 : 0);
	snprintf(words, sizeof(words), "%" PRIu64, s->epoch);
	if (w > 9 + 7.0 * (double)strlen(words))
		text(p, x + w / 2, y + 16.5, "inbar", "middle", words);
	if (s->goes_on)
		fprintf(p->f, "<path d='M%.1f %.1f l9 %.1f l-9 %.1f z' fill='%s'/>\n",
			x + w + 2, y, (LANE - 10) / 2.0, (LANE - 10) / 2.0, color_of(s->owner));
}

static void gap(const struct page *p, const struct timeline *t, const struct stretch *s)
{
	double x = x_of(t, s->from_ns), w = x_of(t, s->to_ns) - x;

	box(p, x, p->y + t->lanes * LANE + 3, w < 2 ? 2 : w, 14, "#c8372d", 0);
}

static void lanes(struct page *p, const struct timeline *t)
{
	unsigned i, bottom = p->y + t->lanes * LANE + 22;

	lane_names(p, t);
	axis(p, t, bottom);
	for (i = 0; i < t->count; i++)
		if (t->list[i].owner)
			leadership(p, t, &t->list[i]);
		else
			gap(p, t, &t->list[i]);
	line(p, LEFT, bottom, WIDTH - RIGHT, bottom, "axis");
	p->y = bottom + 30;
}

/* ---- changes ---- */

static void legend(struct page *p)
{
	double x = 36;
	int i;

	for (i = 0; i < PHASES; i++) {
		box(p, x, p->y, 14, 14, phase_colors[i], 3);
		text(p, x + 20, p->y + 11.5, "small", "start", phase_words[i]);
		x += 44 + 6.3 * (double)strlen(phase_words[i]);
	}
	p->y += 34;
}

/* A round number of milliseconds for about five ticks. */
static uint64_t bar_step_us(uint64_t longest_us)
{
	uint64_t step = 1000;

	while (longest_us / step > 5) {
		step *= 2;
		if (longest_us / step <= 5)
			break;
		step = step / 2 * 5;
		if (longest_us / step <= 5)
			break;
		step *= 2;
	}
	return step;
}

static double bar_of(const struct timeline *t, uint64_t us)
{
	return t->longest_us ? BARS * ((double)us / (double)t->longest_us) : 0;
}

static void bar_axis(const struct page *p, const struct timeline *t, unsigned bottom)
{
	uint64_t step = bar_step_us(t->longest_us), at;
	char words[32];

	for (at = 0; at <= t->longest_us; at += step) {
		line(p, BARS_LEFT + bar_of(t, at), p->y, BARS_LEFT + bar_of(t, at), bottom,
		     "grid");
		if (at)
			timeline_us_text(words, at);
		text(p, BARS_LEFT + bar_of(t, at), p->y - 5, "small", "middle",
		     at ? words : "0");
	}
}

static void phases(const struct page *p, const struct timeline *t, const struct rf_history *h)
{
	double x = BARS_LEFT, w;
	char words[32];
	int i;

	for (i = 0; i < PHASES; i++) {
		w = bar_of(t, past_phase_us(h, i));
		if (w <= 0)
			continue;
		box(p, x, p->y + 6, w, ROW - 12, phase_colors[i], 0);
		timeline_us_text(words, past_phase_us(h, i));
		if (w > 12 + 6.3 * (double)strlen(words))
			text(p, x + w / 2, p->y + 19.5, "inbar", "middle", words);
		x += w;
	}
	timeline_us_text(words, past_change_us(h));
	text(p, x + 8, p->y + 19.5, "total", "start", words);
}

/* "20:14:03" left; who from whom; why. */
static void change(struct page *p, const struct timeline *t, unsigned n)
{
	const struct rf_history *h = &t->past->entry[n];
	char words[WORDS_BYTES + 64], ways[WORDS_BYTES];

	snprintf(words, sizeof(words), "%" PRIu64, h->epoch);
	box(p, 24, p->y + 6, 24 + 4.0 * (double)strlen(words), ROW - 12, color_of(h->owner), 3);
	text(p, 36 + 2.0 * (double)strlen(words), p->y + 19.5, "inbar", "middle", words);
	timeline_tick_text(words, h->start_unix_ns, 1000000000);
	text(p, 76, p->y + 19.5, "soft", "start", words);
	node_words(words, t->all, h->owner);
	text(p, 142, p->y + 19.5, "name", "start", words);
	if (h->cause == RF_CAUSE_SILENCE && n)
		snprintf(words, sizeof(words), "silence; before: %s",
			 past_ended(t->past, n - 1));
	else
		snprintf(words, sizeof(words), "%s", rf_cause_word(h->cause));
	text(p, 270, p->y + 19.5, "soft", "start", words);
	phases(p, t, h);
	if (h->excluded_by)
		text(p, WIDTH - RIGHT, p->y + 19.5, "soft", "end",
		     words_ways(ways, h->excluded_by));
	p->y += ROW;
}

static void never_led(struct page *p, uint64_t from, uint64_t to)
{
	char words[96];

	if (from > to)
		return;
	if (from == to)
		snprintf(words, sizeof(words), "epoch %" PRIu64 ": claimed, but never led",
			 from);
	else
		snprintf(words, sizeof(words),
			 "epochs %" PRIu64 " to %" PRIu64 ": claimed, but never led", from, to);
	text(p, 76, p->y + 15, "soft", "start", words);
	p->y += ROW - 8;
}

static void changes(struct page *p, const struct timeline *t)
{
	const struct past *v = t->past;
	unsigned n, bottom = p->y + 20 + v->count * ROW;

	for (n = 1; n < v->count; n++)
		if (v->entry[n].epoch - v->entry[n - 1].epoch > 1)
			bottom += ROW - 8;
	text(p, 24, p->y + 14, "head", "start", "Each change of leader");
	text(p, WIDTH - RIGHT, p->y + 14, "small", "end", "how others were excluded");
	p->y += 20;
	bar_axis(p, t, bottom);
	for (n = 0; n < v->count; n++) {
		if (n)
			never_led(p, v->entry[n - 1].epoch + 1, v->entry[n].epoch - 1);
		change(p, t, n);
	}
	p->y += 34;
}

/* ---- the page ---- */

static unsigned height_of(const struct timeline *t)
{
	const struct past *v = t->past;
	unsigned n, h = 154 + t->lanes * LANE;

	if (!v->count)
		return 48;
	for (n = 0; n < v->count; n++)
		h += ROW + (n && v->entry[n].epoch - v->entry[n - 1].epoch > 1 ? ROW - 8 : 0);
	return h;
}

static void volume_head(struct page *p, const struct timeline *t)
{
	const struct past *v = t->past;
	char words[160], median[32], longest[32], name[RF_NAME_BYTES + 8];
	double after_name;

	snprintf(name, sizeof(name), "%.*s%s", TITLE_FITS, v->name,
		 strlen(v->name) > TITLE_FITS ? "…" : "");
	after_name = 42 + 12.5 * (double)strlen(name);
	text(p, 24, p->y + 20, "title", "start", name);
	if (v->epoch_good && v->epoch.epoch)
		snprintf(words, sizeof(words), "epoch %" PRIu64 ", %s by node %u",
			 v->epoch.epoch, words_epoch_state(v->epoch.state), v->epoch.owner);
	else
		snprintf(words, sizeof(words), "%s",
			 v->epoch_good ? "nobody ever led" : "epoch sector unreadable");
	text(p, after_name > LEFT ? after_name : LEFT, p->y + 20, "sub", "start", words);
	if (v->count) {
		timeline_us_text(median, t->median_us);
		timeline_us_text(longest, t->longest_us);
		snprintf(words, sizeof(words), "%u leaderships; change: median %s, longest %s",
			 v->count, median, longest);
		text(p, WIDTH - RIGHT, p->y + 20, "sub", "end", words);
	}
	p->y += 40;
}

static void page_head(struct page *p, const struct disk_set *set, const struct past_set *all,
		      unsigned height)
{
	char words[160], when[32];

	fprintf(p->f,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' viewBox='0 0 "
		"%u "
		"%u' font-family='DejaVu Sans, Verdana, sans-serif'>\n"
		"<style>text{fill:#24292f;font-size:12px}.title{font-size:19px;font-weight:"
		"bold}"
		".sub{font-size:13px;fill:#57606a}.head{font-size:14px;font-weight:bold}"
		".name{font-size:13px}.soft{fill:#57606a}.small{font-size:11px;fill:#57606a}"
		".inbar{font-size:11px;fill:#fff;font-weight:bold}"
		".total{font-weight:bold}.grid{stroke:#d8dee4;stroke-width:1}"
		".axis{stroke:#8c959f;stroke-width:1}</style>\n",
		(unsigned)WIDTH, height, (unsigned)WIDTH, height);
	box(p, 0, 0, WIDTH, height, "#ffffff", 0);
	snprintf(words, sizeof(words), "cluster %s: who led when", set->super.cluster_name);
	text(p, 24, 30, "sub", "start", words);
	timeline_tick_text(when, all->seen_ns, 86400000000000ull);
	snprintf(words, sizeof(words), "as the disk says, until %s ", when);
	timeline_tick_text(when, all->seen_ns, 1000000000);
	snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s UTC", when);
	text(p, WIDTH - RIGHT, 30, "sub", "end", words);
	p->y = 48;
}

static void volume(struct page *p, const struct timeline *t)
{
	line(p, 24, p->y, WIDTH - 24, p->y, "axis");
	p->y += 8;
	volume_head(p, t);
	if (!t->past->count)
		return;
	lanes(p, t);
	changes(p, t);
}

int timeline_svg(FILE *f, const struct disk_set *set, const struct past_set *all)
{
	struct timeline *list = calloc(all->count, sizeof(*list));
	struct page p = {.f = f};
	unsigned i, height = 48 + 34;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < all->count; i++) {
		timeline_make(&list[i], all, &all->list[i]);
		height += height_of(&list[i]);
	}
	page_head(&p, set, all, height);
	for (i = 0; i < all->count; i++) {
		volume(&p, &list[i]);
		timeline_free(&list[i]);
	}
	legend(&p);
	fputs("</svg>\n", f);
	free(list);
	return ferror(f) ? -EIO : 0;
}
