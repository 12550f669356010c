/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence timeline: who led when, on the terminal or as a picture (--svg). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/names.h"
#include "out.h"
#include "timeline.h"
#include "tool.h"

#define LAST_DEFAULT 30u
#define NAME_WIDTH 20
#define BAR_MAX 160u

static const char *volume, *svg;
static uint32_t last = LAST_DEFAULT;

static const struct opt opts[] = {
	{"svg", "FILE", "write a picture; - is standard output", OPT_TEXT, &svg, NULL},
	{"volume", "NAME", "only this volume (name or number)", OPT_TEXT, &volume, NULL},
	{"last", "N", "the newest N leaderships of each volume; default 30", OPT_U32, &last,
	 NULL},
	{0},
};

/* ---- terminal ---- */

static const char phase_letters[PHASES + 1] = "spcxor";
static const char *const phase_ansi[PHASES] = {"37", "33", "34", "35", "36", "32"};

static unsigned bar_width(void)
{
	struct winsize w;
	const char *columns = getenv("COLUMNS");
	uint64_t n = 100;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		n = w.ws_col;
	else if (columns)
		parse_u64(columns, 10, &n);
	n = n > NAME_WIDTH + 24 ? n - NAME_WIDTH - 4 : 20;
	return n > BAR_MAX ? BAR_MAX : (unsigned)n;
}

static unsigned column_of(const struct timeline *t, uint64_t ns, unsigned width)
{
	double part = (double)(ns - t->from_ns) / (double)(t->to_ns - t->from_ns);
	unsigned at = (unsigned)(part * width);

	return at < width ? at : width - 1;
}

/* Of a lane: its leaderships; of node 0: when nobody led. */
static void text_lane(const struct timeline *t, uint32_t node, unsigned width)
{
	char bar[BAR_MAX + 1], name[64];
	unsigned i;

	memset(bar, node ? '.' : ' ', width);
	bar[width] = 0;
	for (i = 0; i < t->count; i++) {
		unsigned from = column_of(t, t->list[i].from_ns, width);
		unsigned to = column_of(t, t->list[i].to_ns, width);

		if (t->list[i].owner == node)
			memset(bar + from, node ? '#' : '!', to - from + 1);
	}
	snprintf(name, sizeof(name), "%u %.15s", node, t->all->host[node]);
	printf("%-*.*s  %s\n", NAME_WIDTH, NAME_WIDTH, node ? name : "nobody", bar);
}

static void text_axis(const struct timeline *t, unsigned width)
{
	uint64_t step = timeline_step_ns(t, width / 16 + 1);
	uint64_t at = (t->from_ns + step - 1) / step * step;
	char line[BAR_MAX + 40], words[32];
	size_t end = 0;

	memset(line, ' ', sizeof(line));
	for (; at <= t->to_ns; at += step) {
		timeline_tick_text(words, at, step);
		memcpy(line + column_of(t, at, width), words, strlen(words));
		end = column_of(t, at, width) + strlen(words);
	}
	line[end] = 0;
	printf("%*s  %s\n", NAME_WIDTH, "UTC", line);
}

static void text_bar(const struct timeline *t, const struct rf_history *h, unsigned width)
{
	bool color = out_color();
	int i;

	for (i = 0; i < PHASES; i++) {
		uint64_t us = past_phase_us(h, i);
		unsigned n = t->longest_us ? (unsigned)(us * width / t->longest_us) : 0;

		if (us && !n)
			n = 1;
		if (color && n)
			printf("\033[%sm", phase_ansi[i]);
		while (n--)
			putchar(phase_letters[i]);
	}
	puts(color ? "\033[0m" : "");
}

static void text_changes(const struct timeline *t, unsigned width)
{
	char took[32];
	unsigned n;

	printf("\n%6s %-4s %-9s %-15s %9s  s suspect, p prevote, c claim, x exclude, o open, "
	       "r reconcile\n",
	       "EPOCH", "NODE", "CAUSE", "BEFORE-ENDED", "CHANGE");
	for (n = 0; n < t->past->count; n++) {
		const struct rf_history *h = &t->past->entry[n];

		timeline_us_text(took, past_change_us(h));
		printf("%6" PRIu64 " %4u %-9s %-15s %9s  ", h->epoch, h->owner,
		       rf_cause_word(h->cause), n ? past_ended(t->past, n - 1) : "-", took);
		text_bar(t, h, width > 60 ? width - 32 : 28);
	}
}

static void text_volume(const struct timeline *t)
{
	const struct past *p = t->past;
	unsigned i, width = bar_width();

	if (!p->count) {
		printf("%s: nobody led\n", p->name);
		return;
	}
	printf("%s: epoch %" PRIu64 ", %s%s\n", p->name, p->entry[p->count - 1].epoch,
	       past_leads(p, p->count - 1) ? "" : "ended: ", past_ended(p, p->count - 1));
	for (i = 0; i < t->lanes; i++)
		text_lane(t, t->lane[i], width);
	text_lane(t, 0, width);
	text_axis(t, width);
	text_changes(t, width);
}

static void text_all(const struct past_set *all)
{
	struct timeline t;
	unsigned i;

	for (i = 0; i < all->count; i++) {
		if (i)
			putchar('\n');
		timeline_make(&t, all, &all->list[i]);
		text_volume(&t);
		timeline_free(&t);
	}
}

/* ---- JSON: the stretches ---- */

static void json_volume(struct json_object *a, const struct timeline *t)
{
	struct json_object *o = out_row(a), *list;
	unsigned i;

	out_text(o, "volume", t->past->name);
	out_int(o, "index", t->past->volume);
	out_int(o, "median_us", (int64_t)t->median_us);
	out_int(o, "longest_us", (int64_t)t->longest_us);
	list = out_array(o, "stretches");
	for (i = 0; i < t->count; i++) {
		struct json_object *s = out_row(list);

		out_int(s, "from_unix_ms", (int64_t)(t->list[i].from_ns / 1000000));
		out_int(s, "to_unix_ms", (int64_t)(t->list[i].to_ns / 1000000));
		if (t->list[i].owner) {
			out_int(s, "owner", t->list[i].owner);
			out_u64(s, "epoch", t->list[i].epoch);
		} else {
			out_null(s, "owner");
			out_u64_null(s, "epoch");
		}
		out_bool(s, "goes_on", t->list[i].goes_on);
	}
}

static void json_all(const struct disk_set *set, const struct past_set *all)
{
	struct json_object *doc = out_doc(), *a;
	struct timeline t;
	unsigned i;

	out_text(doc, "cluster", set->super.cluster_name);
	a = out_array(doc, "volumes");
	for (i = 0; i < all->count; i++) {
		timeline_make(&t, all, &all->list[i]);
		json_volume(a, &t);
		timeline_free(&t);
	}
	out_print(doc);
}

/* ---- picture ---- */

static int write_svg(const struct disk_set *set, const struct past_set *all)
{
	bool out = !strcmp(svg, "-");
	struct stat st;
	FILE *f;
	int rc;

	if (!out && !stat(svg, &st) && !S_ISREG(st.st_mode))
		return fail(RF_EXIT_UNSAFE, "%s: is there and is no file: name another one",
			    svg);
	f = out ? stdout : fopen(svg, "we");
	if (!f)
		return fail(errno == EACCES ? RF_EXIT_PERMISSION : RF_EXIT_IO, "%s: %s", svg,
			    strerror(errno));
	rc = timeline_svg(f, set, all);
	if (!out && fclose(f) && !rc)
		rc = -errno;
	if (rc)
		return fail(RF_EXIT_IO, "%s: cannot be written: %s", svg, strerror(-rc));
	return 0;
}

static int tell(const struct disk_set *set, const struct past_set *all)
{
	unsigned i, bad = 0;
	int rc = 0;

	if (svg)
		rc = write_svg(set, all);
	else if (tool.json)
		json_all(set, all);
	else
		text_all(all);
	for (i = 0; i < all->count; i++)
		bad += all->list[i].unreadable;
	if (!rc && bad)
		return fail(RF_EXIT_BAD_DATA,
			    "%u records are unreadable and missing here: `ringfence verify` "
			    "says what to do",
			    bad);
	return rc;
}

static int run(int argc, char **argv)
{
	struct past_set all;
	struct disk_set set;
	int rc;

	if (!last)
		return fail(RF_EXIT_BAD_VALUE, "--last 0: wants at least 1");
	rc = disk_set_open_some(&set, argc, argv);
	if (!rc) {
		rc = past_read(&set, volume, &all);
		if (!rc) {
			past_keep(&all, last);
			rc = tell(&set, &all);
			past_free(&all);
		}
	}
	disk_set_close(&set);
	return rc;
}

const struct command cmd_timeline = {
	.name = "timeline",
	.args = "DEVICE...",
	.brief = "who led when, and what each change took, as a picture",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
