/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence repair: writes what is certain, and nothing else. Of all that is damaged it
 * says which of the two it is, and why.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alive.h"
#include "out.h"
#include "repair.h"
#include "tool.h"

static bool dry_run, stopped, yes;

static const struct opt opts[] = {
	{"dry-run", NULL, "say what would be written and why, write nothing", OPT_FLAG,
	 &dry_run, NULL},
	{"all-stopped", NULL, "I looked: ringfenced runs on no host of this cluster", OPT_FLAG,
	 &stopped, NULL},
	{"yes", NULL, "do not ask on a terminal", OPT_FLAG, &yes, NULL},
	{0},
};

struct work {
	struct disk_set set;
	struct merge g;
	struct repair *list;
	unsigned count, room;
	unsigned total[4]; /* by verdict */
	bool quiet_needed; /* something may be written only when nobody runs */
};

static const char *const verdict_names[] = {"good", "repair", "left", "refused"};

/* ---- plan ---- */

static void add(struct work *w, const struct repair *p)
{
	if (w->count == w->room) {
		w->room = w->room ? 2 * w->room : 16;
		w->list = realloc(w->list, w->room * sizeof(*w->list));
		if (!w->list)
			exit(fail(RF_EXIT_AGAIN, "out of memory"));
	}
	w->list[w->count++] = *p;
	w->total[p->verdict]++;
	w->quiet_needed |= p->verdict == REPAIR_WRITE && !p->while_alive;
}

static void plan(struct work *w)
{
	struct repair *one = calloc(RF_DISKS_MAX, sizeof(*one));
	uint64_t n;
	unsigned i;

	if (!one)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	for (n = 0; n < record_count(&w->set.super); n++) {
		struct record r = record_at(&w->set.super, n);

		repair_judge(&w->set, &w->g, &r, one);
		for (i = 0; i < w->set.count; i++)
			if (one[i].verdict != REPAIR_NOTHING)
				add(w, &one[i]);
	}
	free(one);
}

/* ---- nobody may write meanwhile ---- */

static void refuse_living(struct work *w, const char *why)
{
	unsigned i;

	for (i = 0; i < w->count; i++) {
		struct repair *p = &w->list[i];

		if (p->verdict != REPAIR_WRITE || p->while_alive)
			continue;
		p->verdict = p->otherwise ? REPAIR_LEAVE : REPAIR_REFUSE;
		w->total[REPAIR_WRITE]--;
		w->total[p->verdict]++;
		snprintf(p->why, sizeof(p->why), "%s", p->otherwise ? p->otherwise : why);
	}
}

/* A frozen node may wake up and go on with what it read before: only the operator
 * can know that there is none. */
static int judge_life(struct work *w)
{
	struct alive *a = malloc(sizeof(*a));
	unsigned refused = w->total[REPAIR_REFUSE];
	char who[160], why[280];

	if (!a)
		return fail(RF_EXIT_AGAIN, "out of memory");
	if (w->quiet_needed)
		alive_watch(&w->set, a);
	if (w->quiet_needed && a->count[LIFE_ALIVE]) {
		alive_words(a, LIFE_ALIVE, who, sizeof(who));
		snprintf(why, sizeof(why), "alive: %s; stop ringfenced there first", who);
		refuse_living(w, why);
	} else if (w->quiet_needed && !stopped &&
		   (a->count[LIFE_SILENT] || a->count[LIFE_UNREADABLE])) {
		alive_words(a, a->count[LIFE_SILENT] ? LIFE_SILENT : LIFE_UNREADABLE, who,
			    sizeof(who));
		snprintf(
			why, sizeof(why),
			"not left cleanly, perhaps alive: %s; when ringfenced runs nowhere say "
			"--all-stopped",
			who);
		refuse_living(w, why);
	}
	free(a);
	return w->total[REPAIR_REFUSE] > refused ? RF_EXIT_UNSAFE : 0;
}

static bool asks(void)
{
	return !yes && !tool.json && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const struct repair *find(const struct work *w, const struct repair *p)
{
	for (unsigned i = 0; i < w->count; i++)
		if (w->list[i].disk == p->disk && w->list[i].verdict == REPAIR_WRITE &&
		    w->list[i].record.offset_bytes == p->record.offset_bytes)
			return &w->list[i];
	return NULL;
}

/*
 * The plan was read before the slots were watched, and whoever was asked took his time:
 * a node may have joined, voted and left in between, and what is written now must not be
 * older than what it wrote (PROTOCOL 5: ballots keep their promises). So judge anew.
 */
static int judge_again(struct work *w)
{
	struct work now = {.set = w->set, .g = w->g};
	int rc = 0;

	plan(&now);
	if (asks())
		judge_life(&now);
	for (unsigned i = 0; i < w->count && !rc; i++) {
		const struct repair *p = find(&now, &w->list[i]);

		if (w->list[i].verdict != REPAIR_WRITE)
			continue;
		if (p)
			w->list[i] = *p;
		else
			rc = fail(RF_EXIT_AGAIN, "nothing was written: the area changed while "
						 "it was judged. Stop ringfenced on all hosts "
						 "and repair again");
	}
	free(now.list);
	return rc;
}

/* ---- write ---- */

static int write_failed(const struct work *w, const struct repair *p, int rc)
{
	char name[RECORD_NAME_BYTES];

	record_name(name, &p->record);
	return fail(rc == -EPERM || rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_IO,
		    "%s: %s: cannot be written: %s", w->set.disk[p->disk].path, name,
		    strerror(-rc));
}

static int write_one(struct work *w, const struct repair *p)
{
	const struct disk *d = &w->set.disk[p->disk];
	void *buf = disk_buffer(w->set.super.id.stride_bytes);
	int rc;

	memcpy(buf, p->raw, RF_RECORD_BYTES);
	rc = disk_put(d, &p->record, buf);
	memset(buf, 0, RF_RECORD_BYTES);
	if (!rc)
		rc = disk_record(d, &p->record, buf);
	if (!rc && memcmp(buf, p->raw, RF_RECORD_BYTES))
		rc = -EIO;
	free(buf);
	return rc ? write_failed(w, p, rc) : 0;
}

static int write_all(struct work *w)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < w->set.count && !rc; i++)
		rc = disk_writable(&w->set.disk[i], false);
	for (i = 0; i < w->count && !rc; i++)
		if (w->list[i].verdict == REPAIR_WRITE)
			rc = write_one(w, &w->list[i]);
	return rc;
}

static int may_go_on(const struct work *w)
{
	char answer[8] = "";

	if (!asks())
		return 0;
	fprintf(stderr, "Write these %u records? Type yes: ", w->total[REPAIR_WRITE]);
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return 0;
	return fail(RF_EXIT_NO, "nothing was written");
}

/* ---- tell ---- */

static void tell_json(const struct work *w)
{
	struct json_object *doc = out_doc(), *a;
	char name[RECORD_NAME_BYTES];
	unsigned i;

	out_text(doc, "cluster", w->set.super.cluster_name);
	out_bool(doc, "dry_run", dry_run);
	a = out_array(doc, "records");
	for (i = 0; i < w->count; i++) {
		const struct repair *p = &w->list[i];
		struct json_object *o = out_row(a);

		record_name(name, &p->record);
		out_text(o, "verdict", verdict_names[p->verdict]);
		out_text(o, "device", w->set.disk[p->disk].path);
		out_text(o, "record", name);
		out_u64(o, "offset_bytes",
			w->set.disk[p->disk].base_bytes + p->record.offset_bytes);
		out_text(o, "why", p->why);
	}
	out_print(doc);
}

static void tell(const struct work *w)
{
	char name[RECORD_NAME_BYTES];
	unsigned i;

	if (tool.json) {
		tell_json(w);
		return;
	}
	for (i = 0; i < w->count; i++) {
		const struct repair *p = &w->list[i];

		record_name(name, &p->record);
		printf("%s: %s: %s, byte %" PRIu64 "\n    %s\n", verdict_names[p->verdict],
		       w->set.disk[p->disk].path, name,
		       w->set.disk[p->disk].base_bytes + p->record.offset_bytes, p->why);
	}
	if (!w->count)
		printf("nothing to repair: cluster '%s'\n", w->set.super.cluster_name);
	fflush(stdout);
}

static int finish(struct work *w, int rc)
{
	if (!rc && w->total[REPAIR_REFUSE])
		rc = RF_EXIT_NO;
	if (rc == RF_EXIT_UNSAFE || rc == RF_EXIT_NO)
		fail(rc, "%u records were not repaired; why stands above",
		     w->total[REPAIR_REFUSE]);
	if (w->total[REPAIR_WRITE] && !tool.json)
		printf("%u records %s\n", w->total[REPAIR_WRITE],
		       dry_run ? "would be written" : "written and read back");
	return rc;
}

static int repair(struct work *w)
{
	int life, rc = 0;

	merge_init(&w->g, &w->set);
	plan(w);
	life = judge_life(w);
	tell(w);
	if (w->total[REPAIR_WRITE] && !dry_run) {
		rc = may_go_on(w);
		if (!rc)
			rc = judge_again(w);
		if (!rc)
			rc = write_all(w);
	}
	if (!rc)
		rc = finish(w, life);
	merge_free(&w->g);
	free(w->list);
	return rc;
}

/* A disk and a copy of it are one witness: with both a minority would look like more. */
static int refuse_twins(const struct disk_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		for (unsigned j = 0; j < i; j++)
			if (set->disk[i].super.disk_index == set->disk[j].super.disk_index)
				return fail(RF_EXIT_BAD_VALUE,
					    "%s and %s are both disk %u of the area: give each "
					    "of its disks once",
					    set->disk[j].path, set->disk[i].path,
					    set->disk[i].super.disk_index + 1);
	return 0;
}

static int run(int argc, char **argv)
{
	struct work w = {.count = 0};
	int rc = disk_set_open(&w.set, argc, argv);

	if (!rc)
		rc = refuse_twins(&w.set);
	if (!rc)
		rc = repair(&w);
	disk_set_close(&w.set);
	return rc;
}

const struct command cmd_repair = {
	.name = "repair",
	.args = "DEVICE...",
	.brief = "write anew what is damaged and certain; say why the rest is not",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
