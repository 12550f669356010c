/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence history: who led each volume, why it changed, and what the change took; from
 * the disk alone (CASES 24). */
#include <inttypes.h>
#include <stdio.h>

#include "format/names.h"
#include "out.h"
#include "past.h"
#include "tool.h"
#include "words.h"

static const char *volume;
static uint32_t last;
static bool phases;

static const struct opt opts[] = {
	{"volume", "NAME", "only this volume (name or number)", OPT_TEXT, &volume, NULL},
	{"last", "N", "only the newest N leaderships of each volume", OPT_U32, &last, NULL},
	{"phases", NULL, "what each change of leader spent its time on", OPT_FLAG, &phases,
	 NULL},
	{0},
};

static const struct out_col cols[] = {
	{"EPOCH", "epoch", 0, true},
	{"NODE", "owner", 0, true},
	{"HOST", "host", 0, 0},
	{"SINCE", "start_unix_ms", OUT_TIME, 0},
	{"LED", "led_ms", OUT_MS, true},
	{"CAUSE", "cause", 0, 0},
	{"ENDED", "ended", 0, 0},
	{"CHANGE", "change_us", OUT_US, true},
	{"EXCLUDED-BY", "excluded_by", 0, 0},
};

static const struct out_col phase_cols[] = {
	{"EPOCH", "epoch", 0, true},
	{"NODE", "owner", 0, true},
	{"CAUSE", "cause", 0, 0},
	{"CHANGE", "change_us", OUT_US, true},
	{"SUSPECT", "suspect_us", OUT_US, true},
	{"PREVOTE", "prevote_us", OUT_US, true},
	{"CLAIM", "claim_us", OUT_US, true},
	{"EXCLUDE", "exclude_us", OUT_US, true},
	{"OPEN", "open_us", OUT_US, true},
	{"RECONCILE", "reconcile_us", OUT_US, true},
};

static void out_unix(struct json_object *o, const char *key, uint64_t ns)
{
	if (ns)
		out_int(o, key, (int64_t)(ns / 1000000));
	else
		out_null(o, key);
}

static void add_span(struct json_object *o, const struct past *p, unsigned n)
{
	const struct rf_history *h = &p->entry[n];
	uint64_t end = past_end_ns(p, n);

	out_unix(o, "start_unix_ms", h->start_unix_ns);
	out_unix(o, "end_unix_ms", h->end_unix_ns);
	out_text(o, "ended", past_ended(p, n));
	if (h->start_unix_ns && end > h->start_unix_ns)
		out_int(o, "led_ms", (int64_t)((end - h->start_unix_ns) / 1000000));
	else
		out_null(o, "led_ms");
}

static void add_entry(struct json_object *a, const struct past *p, unsigned n)
{
	const struct rf_history *h = &p->entry[n];
	struct json_object *o = out_row(a);
	char key[32], ways[WORDS_BYTES];
	int i;

	out_u64(o, "epoch", h->epoch);
	out_int(o, "owner", h->owner);
	out_text(o, "host", h->host[0] ? h->host : NULL);
	out_u64(o, "incarnation", h->incarnation);
	out_format(o, "incarnation_hex", "%016" PRIx64, h->incarnation);
	out_text(o, "cause", rf_cause_word(h->cause));
	add_span(o, p, n);
	out_u64(o, "prev_epoch", h->prev_epoch);
	out_int(o, "prev_owner", h->prev_owner);
	out_int(o, "change_us", (int64_t)past_change_us(h));
	for (i = 0; i < PHASES; i++) {
		snprintf(key, sizeof(key), "%s_us", past_phase_name(i));
		out_int(o, key, past_phase_us(h, i));
	}
	out_text(o, "excluded_by", words_ways(ways, h->excluded_by));
}

static void add_now(struct json_object *o, const struct past *p)
{
	struct json_object *e = out_object(o, "epoch_sector");

	out_text(e, "state", p->epoch_good ? words_epoch_state(p->epoch.state) : "unreadable");
	if (!p->epoch_good) {
		out_u64_null(e, "epoch");
		out_null(e, "owner");
		out_null(e, "written_unix_ms");
		return;
	}
	out_u64(e, "epoch", p->epoch.epoch);
	out_int(e, "owner", p->epoch.owner);
	out_unix(e, "written_unix_ms", p->epoch.unix_ns);
}

static struct json_object *add_volume(struct json_object *a, const struct past *p)
{
	struct json_object *o = out_row(a), *list;
	unsigned n;

	out_text(o, "volume", p->name);
	out_int(o, "index", p->volume);
	add_now(o, p);
	out_int(o, "unreadable", p->unreadable);
	out_u64(o, "epochs_without_entry", p->lost);
	list = out_array(o, "leaderships");
	for (n = 0; n < p->count; n++)
		add_entry(list, p, n);
	return list;
}

/* ---- text ---- */

/* The answer to "who holds it?" in one line. */
static void text_now(const struct past *p)
{
	if (!p->epoch_good)
		printf("%s: the epoch sector is unreadable\n", p->name);
	else if (p->epoch.state == RF_EPOCH_NONE)
		printf("%s: nobody ever led\n", p->name);
	else
		printf("%s: epoch %" PRIu64 ", %s by node %u\n", p->name, p->epoch.epoch,
		       words_epoch_state(p->epoch.state), p->epoch.owner);
}

static void text_rest(const struct past *p)
{
	for (unsigned n = 0; n < p->count; n++)
		if (p->entry[n].end_cause == RF_CAUSE_WATCHDOG)
			printf("epoch %" PRIu64 ", node %u: reset by watchdog: %s did not "
			       "drain\n",
			       p->entry[n].epoch, p->entry[n].owner, p->name);
	if (p->lost)
		printf("%" PRIu64 " epochs in between have no entry: claimed, but never led\n",
		       p->lost);
	if (p->unreadable)
		printf("%u entries are unreadable\n", p->unreadable);
}

static int tell(const struct disk_set *set, const struct past_set *all)
{
	struct json_object *doc = out_doc(), *a, *list;
	unsigned i, bad = 0;

	out_text(doc, "cluster", set->super.cluster_name);
	out_uuid(doc, "area_uuid", set->super.id.area);
	a = out_array(doc, "volumes");
	for (i = 0; i < all->count; i++) {
		const struct past *p = &all->list[i];

		list = add_volume(a, p);
		bad += p->unreadable + !p->epoch_good;
		if (tool.json)
			continue;
		if (i)
			putchar('\n');
		text_now(p);
		out_table(list, phases ? phase_cols : cols,
			  phases ? OUT_N(phase_cols) : OUT_N(cols));
		text_rest(p);
	}
	if (tool.json)
		out_print(doc);
	else
		json_object_put(doc);
	return bad ? fail(RF_EXIT_BAD_DATA,
			  "%u records are unreadable: `ringfence verify` says what to do", bad)
		   : 0;
}

static int run(int argc, char **argv)
{
	struct past_set all;
	struct disk_set set;
	int rc = disk_set_open_some(&set, argc, argv);

	if (!rc) {
		rc = past_read(&set, volume, &all);
		if (!rc) {
			past_keep(&all, last ? last : UINT32_MAX);
			rc = tell(&set, &all);
			past_free(&all);
		}
	}
	disk_set_close(&set);
	return rc;
}

const struct command cmd_history = {
	.name = "history",
	.args = "DEVICE...",
	.brief = "who led each volume, why it changed, what the change took",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
