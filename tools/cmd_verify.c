/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence verify: is the area good? 0 yes, 1 damaged, 2 not ours (or not on
 * the device it was made for), 74/77 when the device cannot be read.
 *
 * Nodes may be writing meanwhile. So what is found is looked at once more, and
 * only what is found twice is reported.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "out.h"
#include "tool.h"
#include "verify.h"

#define SECOND_LOOK_MS 200

static const char *cluster;

static const struct opt opts[] = {
	{"cluster", "NAME", "the cluster it must belong to", OPT_TEXT, &cluster, NULL},
	{0},
};

static const char *const severity_names[] = {"note", "not-ours", "damaged", "unreadable"};

/* ---- findings ---- */

void finding_add(struct findings *out, const struct disk_set *set, enum severity severity,
		 int disk, const struct record *r, const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	out->total[severity]++;
	if (out->count == FINDINGS_MAX)
		return;
	f = &out->list[out->count++];
	*f = (struct finding){
		.severity = severity, .disk = disk, .offset_bytes = UINT64_MAX, .todo = ""};
	if (disk >= 0)
		f->path = set->disk[disk].path;
	if (r) {
		record_name(f->record, r);
		f->offset_bytes = set->disk[disk < 0 ? 0 : disk].base_bytes + r->offset_bytes;
	}
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
}

void finding_todo(struct findings *out, const char *todo)
{
	if (out->count && !*out->list[out->count - 1].todo)
		out->list[out->count - 1].todo = todo;
}

static void findings_init(struct findings *f)
{
	memset(f, 0, sizeof(*f));
	f->list = calloc(FINDINGS_MAX, sizeof(*f->list));
	if (!f->list)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
}

static bool same(const struct finding *a, const struct finding *b)
{
	return a->disk == b->disk && a->offset_bytes == b->offset_bytes &&
	       !strcmp(a->what, b->what);
}

/* Keeps of `now` what `before` found too. */
static void keep_common(struct findings *now, const struct findings *before)
{
	unsigned i, j, kept = 0;

	if (now->count == FINDINGS_MAX)
		return;
	for (i = 0; i < now->count; i++) {
		for (j = 0; j < before->count && !same(&now->list[i], &before->list[j]); j++)
			;
		if (j < before->count)
			now->list[kept++] = now->list[i];
		else
			now->total[now->list[i].severity]--;
	}
	now->count = kept;
}

void verify_pass(const struct disk_set *set, struct findings *out)
{
	verify_disks(set, out);
	verify_records(set, out);
	verify_volumes(set, out);
}

static void look_twice(const struct disk_set *set, struct findings *out)
{
	struct timespec pause = {.tv_nsec = SECOND_LOOK_MS * 1000000l};
	struct findings first;

	findings_init(&first);
	verify_pass(set, &first);
	if (first.count) {
		nanosleep(&pause, NULL);
		verify_pass(set, out);
		keep_common(out, &first);
	}
	free(first.list);
}

/* ---- telling ---- */

static void print_finding(const struct finding *f)
{
	printf("%s: ", severity_names[f->severity]);
	if (f->path)
		printf("%s: ", f->path);
	if (f->offset_bytes != UINT64_MAX)
		printf("%s, byte %" PRIu64 ": ", f->record, f->offset_bytes);
	printf("%s\n    %s\n", f->what, f->todo);
}

static void json_finding(struct json_object *a, const struct finding *f)
{
	struct json_object *o = out_row(a);

	out_text(o, "severity", severity_names[f->severity]);
	out_text(o, "device", f->path);
	out_text(o, "record", f->record[0] ? f->record : NULL);
	if (f->offset_bytes != UINT64_MAX)
		out_u64(o, "offset_bytes", f->offset_bytes);
	else
		out_u64_null(o, "offset_bytes");
	out_text(o, "reason", f->what);
	out_text(o, "todo", f->todo);
}

static int exit_code(const struct findings *f)
{
	if (f->total[SEV_IO])
		return RF_EXIT_IO;
	if (f->total[SEV_DAMAGE])
		return RF_EXIT_NO;
	return f->total[SEV_ALIEN] ? RF_EXIT_BAD_VALUE : RF_EXIT_YES;
}

static void tell_json(const struct disk_set *set, const struct findings *f)
{
	struct json_object *doc = out_doc(), *a;
	unsigned i;

	out_text(doc, "cluster", set->count ? set->super.cluster_name : NULL);
	out_int(doc, "verdict", exit_code(f));
	out_u64(doc, "records", set->count ? record_count(&set->super) * set->count : 0);
	out_u64(doc, "damaged", f->total[SEV_DAMAGE]);
	out_u64(doc, "unreadable", f->total[SEV_IO]);
	out_u64(doc, "not_ours", f->total[SEV_ALIEN]);
	a = out_array(doc, "findings");
	for (i = 0; i < f->count; i++)
		json_finding(a, &f->list[i]);
	out_print(doc);
}

static void tell(const struct disk_set *set, const struct findings *f)
{
	uint64_t bad = f->total[SEV_DAMAGE] + f->total[SEV_IO] + f->total[SEV_ALIEN];
	unsigned i;

	if (tool.json) {
		tell_json(set, f);
		return;
	}
	for (i = 0; i < f->count; i++)
		print_finding(&f->list[i]);
	if (f->total[0] + bad > f->count)
		printf("... %" PRIu64 " more\n", f->total[0] + bad - f->count);
	if (bad)
		printf("%" PRIu64 " finding%s\n", bad, bad == 1 ? "" : "s");
	else
		printf("good: cluster '%s', %" PRIu64 " records on %u disk%s\n",
		       set->super.cluster_name, record_count(&set->super) * set->count,
		       set->count, set->count == 1 ? "" : "s");
}

/* ---- opening: what the others call errors are findings here ---- */

static int take_disk(struct disk_set *set)
{
	struct disk *d = &set->disk[set->count];

	if (d->found == FOUND_NOTHING) {
		fail(0, "%s: not ours: no ringfence area at its start or end", d->path);
		return RF_EXIT_BAD_VALUE;
	}
	if (d->found == FOUND_DAMAGED)
		return RF_EXIT_NO; /* missing() tells it */
	if (!set->count)
		set->super = d->super;
	if (cluster && strcmp(cluster, d->super.cluster_name))
		return fail(RF_EXIT_BAD_VALUE, "%s: not ours: cluster '%s', not '%s'", d->path,
			    d->super.cluster_name, cluster);
	if (!disk_same_area(set, d))
		return fail(
			RF_EXIT_BAD_VALUE,
			"%s: not ours: an area of cluster '%s', while %s is one of '%s' (or "
			"another area of the same cluster)",
			d->path, d->super.cluster_name, set->disk[0].path,
			set->super.cluster_name);
	set->count++;
	return 0;
}

/* A disk that is none of the set is a finding all the same. */
static void missing(struct findings *out, const struct disk *d, int rc)
{
	struct record r = {.kind = RF_KIND_SUPERBLOCK};
	struct finding *f;

	if (rc == RF_EXIT_NO) {
		finding_add(out, NULL, SEV_DAMAGE, -1, NULL,
			    "%s, and no readable copy was found",
			    record_verdict_words(d->verdict));
		finding_todo(out,
			     "nothing on this disk can be read without it: keep an image of "
			     "the device; nodes cannot start on it");
	} else {
		finding_add(
			out, NULL, rc == RF_EXIT_BAD_VALUE ? SEV_ALIEN : SEV_IO, -1, NULL, "%s",
			rc == RF_EXIT_BAD_VALUE ? "is no disk of this area" : "cannot be read");
		finding_todo(out, "the others were judged without it");
	}
	f = &out->list[out->count - 1];
	f->path = d->path;
	if (rc != RF_EXIT_NO)
		return;
	record_name(f->record, &r);
	f->offset_bytes = d->verdict_at_bytes;
}

static int open_one(struct disk_set *set, struct findings *lost, const char *path)
{
	struct disk *d = &set->disk[set->count];
	int rc = disk_open(d, path, O_RDONLY);

	if (!rc) {
		rc = disk_locate(d, true);
		if (!rc)
			rc = take_disk(set);
		if (rc)
			disk_close(d);
	}
	if (rc)
		missing(lost, d, rc);
	return rc;
}

/* The first thing that is wrong with those that are not in the set, or 0. */
static int open_all(struct disk_set *set, struct findings *lost, int argc, char **argv)
{
	int i, rc, first = 0;

	*set = (struct disk_set){.count = 0};
	for (i = 0; i < argc; i++) {
		rc = open_one(set, lost, argv[i]);
		first = first ? first : rc;
	}
	return first;
}

static void append(struct findings *to, const struct findings *from)
{
	for (unsigned i = 0; i < from->count && to->count < FINDINGS_MAX; i++) {
		to->list[to->count++] = from->list[i];
		to->total[from->list[i].severity]++;
	}
}

static int run(int argc, char **argv)
{
	struct findings f, lost;
	struct disk_set set;
	int rc;

	findings_init(&f);
	findings_init(&lost);
	rc = open_all(&set, &lost, argc, argv);
	if (set.count)
		look_twice(&set, &f);
	append(&f, &lost);
	if (set.count || rc == RF_EXIT_NO)
		tell(&set, &f);
	if (set.count)
		rc = exit_code(&f);
	disk_set_close(&set);
	free(lost.list);
	free(f.list);
	return rc;
}

const struct command cmd_verify = {
	.name = "verify",
	.args = "DEVICE...",
	.brief = "check every record and what they say together: 0 good, 1 damaged, 2 not ours",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
