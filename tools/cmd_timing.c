/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence timing: every timing, where it comes from, which inequality it must
 * meet, and the worst failover that follows. From a device, or from the daemon.
 */
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "disk.h"
#include "inequality.h"
#include "out.h"
#include "rows.h"
#include "tool.h"
#include "words.h"

#define MEASURE_READS 64u

static bool explain;
static uint32_t rtt_ms;
static bool rtt_given;

static const struct opt opts[] = {
	{"explain", NULL, "also what each value means and every inequality", OPT_FLAG, &explain,
	 NULL},
	{"rtt", "TIME", "round trip of the network to count with; default: as measured, or 1ms",
	 OPT_MS, &rtt_ms, &rtt_given},
	{0},
};

struct source {
	struct rf_timing timing;
	char cluster[RF_NAME_BYTES];
	char from[320];   /* where the values come from */
	char r_from[160]; /* and the round trip */
	uint32_t r_us, rtt_us;
	const char *rtt_from;
};

static const struct {
	const char *key, *name, *meaning;
} values[] = {
	{"heartbeat_ms", "HB heartbeat", "between two slot writes"},
	{"suspect_ms", "S suspect", "silence after which a leader is suspected"},
	{"lease_ms", "L lease", "right to write after a renewal"},
	{"grace_ms", "G grace", "longest flight of a write below a gate"},
	{"hold_ms", "hold", "writes wait after the deadline for a late renewal"},
	{"isolation_ms", "isolation", "a cut-off leader waits before it resigns"},
	{"slot_timeout_ms", "slot timeout", "a slot not left cleanly is watched"},
	{"inflight_ms", "in-flight", "longest flight of a write of a dead daemon"},
};

/* ---- text ---- */

static void show_text(const struct source *s, struct json_object *doc)
{
	char text[INEQUALITY_BYTES];
	size_t i;
	int rule;

	printf("Cluster '%s', values from %s\n\n", s->cluster, s->from);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		printf("%-14s %8lld ms%s%s\n", values[i].name,
		       (long long)json_object_get_int64(
			       json_object_object_get(doc, values[i].key)),
		       explain ? "   " : "", explain ? values[i].meaning : "");
	printf("%-14s %8.4g %%\n", "epsilon", (double)s->timing.epsilon_ppm / 10000);
	printf("%-14s %8.3f ms   %s\n", "R round trip", (double)s->r_us / 1000, s->r_from);
	printf("%-14s %8.3f ms   %s\n\n", "network", (double)s->rtt_us / 1000, s->rtt_from);
	for (rule = RF_TIMING_ZERO; explain && rule <= RF_TIMING_EPSILON; rule++) {
		inequality_text(text, rule, &s->timing, s->r_us);
		printf("%-4s %s\n", inequality_holds(rule, &s->timing, s->r_us) ? "ok" : "NOT",
		       text);
	}
	printf("%sworst failover after a crash, by expiry:           %lld ms\n",
	       explain ? "\n" : "",
	       (long long)json_object_get_int64(
		       json_object_object_get(doc, "failover_expiry_ms")));
	printf("worst failover after a crash, target-side fence:   %lld ms\n",
	       (long long)json_object_get_int64(
		       json_object_object_get(doc, "failover_target_ms")));
}

/* ---- JSON ---- */

static struct json_object *doc_of(const struct source *s)
{
	struct json_object *doc = out_doc();

	out_text(doc, "cluster", s->cluster);
	out_text(doc, "source", s->from);
	words_add_timing(doc, &s->timing);
	out_int(doc, "r_us", s->r_us);
	out_text(doc, "r_source", s->r_from);
	out_int(doc, "rtt_ms", (s->rtt_us + 999) / 1000);
	out_int(doc, "rtt_us", s->rtt_us);
	out_text(doc, "rtt_source", s->rtt_from);
	words_add_failover(doc, &s->timing, s->r_us, s->rtt_us);
	words_add_inequalities(doc, &s->timing, s->r_us);
	return doc;
}

/* What was asked for, what was measured, or a guess. */
static void set_rtt(struct source *s, uint32_t measured_us)
{
	s->rtt_us = rtt_given ? rtt_ms * 1000 : measured_us ? measured_us : RTT_ASSUMED_US;
	s->rtt_from = rtt_given     ? "as told by --rtt"
		      : measured_us ? "worst latest round trip of a heartbeat"
				    : "assumed: nothing was measured";
}

static int show(const struct source *s)
{
	enum rf_timing_rule rule = rf_timing_check(&s->timing, s->r_us);
	struct json_object *doc = doc_of(s);

	if (tool.json) {
		out_print(doc);
	} else {
		show_text(s, doc);
		json_object_put(doc);
	}
	if (rule == RF_TIMING_OK)
		return 0;
	return fail(RF_EXIT_NO, "%s does not hold: leadership may be lost without a fault",
		    rf_timing_words(rule));
}

/* ---- where the values come from ---- */

static int from_disk(int argc, char **argv, struct source *s)
{
	struct disk_set set;
	uint32_t us;
	unsigned i;
	int rc = disk_set_open_some(&set, argc, argv);

	if (rc)
		return rc;
	s->timing = set.super.timing;
	memcpy(s->cluster, set.super.cluster_name, sizeof(s->cluster));
	snprintf(s->from, sizeof(s->from), "the superblock on %.200s", argv[0]);
	snprintf(s->r_from, sizeof(s->r_from), "worst of %u reads now; writes may be slower",
		 MEASURE_READS);
	for (i = 0; i < set.count && !rc; i++) {
		rc = disk_measure(&set.disk[i], set.disk[i].base_bytes, MEASURE_READS, &us);
		if (rc)
			rc = fail(RF_EXIT_IO, "%s: %s", set.disk[i].path, strerror(-rc));
		else if (us > s->r_us)
			s->r_us = us;
	}
	disk_set_close(&set);
	return rc;
}

static void from_area(const struct rf_ctl_area *a, struct source *s)
{
	memset(s, 0, sizeof(*s));
	s->timing = rows_timing(a);
	memcpy(s->cluster, a->cluster, sizeof(s->cluster));
	snprintf(s->from, sizeof(s->from),
		 "the superblock, as the daemon of this host read it");
	snprintf(s->r_from, sizeof(s->r_from), "worst operation the daemon has seen");
	s->r_us = a->worst_us;
}

static uint32_t worst_rtt_us(const struct ctl_status *status, uint32_t area)
{
	uint32_t worst = 0;

	for (unsigned i = 0; i < status->nodes; i++)
		if (status->node[i].area == area && status->node[i].rtt_us > worst)
			worst = status->node[i].rtt_us;
	return worst;
}

static int from_daemon(void)
{
	struct ctl_status status;
	struct source s;
	unsigned i;
	int rc = ctl_status(&status), one;

	for (i = 0; i < status.areas; i++) {
		from_area(&status.area[i], &s);
		set_rtt(&s, worst_rtt_us(&status, i));
		one = show(&s);
		rc = rc ? rc : one;
	}
	ctl_status_free(&status);
	return rc;
}

static int run(int argc, char **argv)
{
	struct source s = {.r_us = 0};
	int rc;

	if (!argc)
		return from_daemon();
	set_rtt(&s, 0);
	rc = from_disk(argc, argv, &s);
	return rc ? rc : show(&s);
}

const struct command cmd_timing = {
	.name = "timing",
	.args = "[DEVICE...]",
	.brief = "the timings of an area, what they must meet, and the worst failover",
	.opts = opts,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
