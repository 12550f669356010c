/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence tune: measures devices and network, then proposes timings with the
 * inequality that each meets and the failover they give. Writes nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "inequality.h"
#include "measure.h"
#include "out.h"
#include "proposal.h"
#include "rows.h"
#include "tool.h"
#include "words.h"

static uint32_t for_ms = 10000, grace_ms;
static bool grace_given;

static const struct opt opts[] = {
	{"for", "TIME", "measure for so long; default 10s", OPT_SEC, &for_ms, NULL},
	{"grace", "TIME", "propose with this grace; it cannot be measured", OPT_MS, &grace_ms,
	 &grace_given},
	{0},
};

struct plan {
	struct rf_timing now, to;
	char now_from[160]; /* where `now` is from */
	uint32_t r_us, rtt_us;
	bool rtt_measured, fits, now_fits;
};

/* ---- the timings in force ---- */

static void now_from_area(void *arg, const union ctl_packet *row)
{
	struct plan *p = arg;
	const struct rf_ctl_area *a = &row->area;

	if (row->h.kind != RF_CTL_ROW_AREA || p->now_from[0])
		return;
	p->now = rows_timing(a);
	snprintf(p->now_from, sizeof(p->now_from), "the area of cluster '%s' (daemon)",
		 a->cluster);
}

static int now_of(struct plan *p, const struct disk *disk, unsigned disks)
{
	struct rf_ctl_request request = {.verb = RF_CTL_STATUS};

	for (unsigned i = 0; i < disks && !p->now_from[0]; i++) {
		if (disk[i].found != FOUND_GOOD && disk[i].found != FOUND_COPY)
			continue;
		p->now = disk[i].super.timing;
		snprintf(p->now_from, sizeof(p->now_from), "the area on %.120s", disk[i].path);
	}
	if (!disks)
		return ctl_ask(&request, now_from_area, p);
	if (!p->now_from[0]) {
		rf_timing_profile("san", &p->now);
		snprintf(p->now_from, sizeof(p->now_from), "profile san: no area there yet");
	}
	return 0;
}

/* ---- saying it ---- */

static const struct {
	const char *key, *option;
	enum rf_timing_rule rule;
} values[] = {
	{"heartbeat_ms", "--heartbeat", RF_TIMING_LEASE},
	{"suspect_ms", "--suspect", RF_TIMING_SUSPECT},
	{"lease_ms", "--lease", RF_TIMING_LEASE},
	{"grace_ms", "--grace", RF_TIMING_ZERO},
	{"hold_ms", "--hold", RF_TIMING_HOLD},
	{"isolation_ms", "--isolation", RF_TIMING_ISOLATION},
	{"slot_timeout_ms", "--slot-timeout", RF_TIMING_SLOT},
	{"inflight_ms", "--inflight", RF_TIMING_INFLIGHT},
};
#define VALUES (sizeof(values) / sizeof(values[0]))

static void add_timing(struct json_object *doc, const char *key, const struct plan *p,
		       const struct rf_timing *t)
{
	struct json_object *o = out_object(doc, key);

	words_add_timing(o, t);
	words_add_failover(o, t, p->r_us, p->rtt_us);
}

static void add_samples(struct json_object *doc, const char *key, struct samples *s)
{
	struct json_object *o = out_object(doc, key);

	out_int(o, "count", s->count);
	out_int(o, "median_us", samples_quantile(s, 500));
	out_int(o, "p99_us", samples_quantile(s, 990));
	out_int(o, "worst_us", s->worst_us);
}

static struct json_object *doc_of(const struct plan *p, struct measured *m)
{
	struct json_object *doc = out_doc();

	out_int(doc, "measured_ms", for_ms);
	add_samples(doc, "reads", &m->reads);
	add_samples(doc, "daemon_disk", &m->disk);
	add_samples(doc, "network", &m->rtt);
	out_int(doc, "r_us", p->r_us);
	out_int(doc, "rtt_us", p->rtt_us);
	out_bool(doc, "rtt_measured", p->rtt_measured);
	out_text(doc, "now_source", p->now_from);
	out_bool(doc, "now_fits", p->now_fits);
	out_bool(doc, "fits", p->fits);
	add_timing(doc, "now", p, &p->now);
	add_timing(doc, "proposed", p, &p->to);
	words_add_inequalities(doc, &p->to, p->r_us);
	return doc;
}

static void show_samples(const char *name, struct samples *s)
{
	if (s->count)
		printf("%-28s %6u   median %.3f   p99 %.3f   worst %.3f ms\n", name, s->count,
		       (double)samples_quantile(s, 500) / 1000,
		       (double)samples_quantile(s, 990) / 1000, (double)s->worst_us / 1000);
	else
		printf("%-28s   none\n", name);
}

static long long ms_of(struct json_object *doc, const char *part, const char *key)
{
	struct json_object *o = json_object_object_get(doc, part);

	return (long long)json_object_get_int64(json_object_object_get(o, key));
}

static void show_values(struct json_object *doc, const struct plan *p)
{
	char text[INEQUALITY_BYTES];

	printf("%-16s %12s %12s\n", "", "now", "proposed");
	for (size_t i = 0; i < VALUES; i++) {
		const char *meets = text;

		inequality_text(text, values[i].rule, &p->to, p->r_us);
		if (values[i].rule == RF_TIMING_ZERO)
			meets = "not measured: longest that a write can be under way";
		printf("%-16s %9lld ms %9lld ms   %s\n", values[i].option + 2,
		       ms_of(doc, "now", values[i].key), ms_of(doc, "proposed", values[i].key),
		       meets);
	}
	printf("worst failover after a crash\n%-16s %9lld ms %9lld ms\n%-16s %9lld ms %9lld "
	       "ms\n",
	       "  by expiry", ms_of(doc, "now", "failover_expiry_ms"),
	       ms_of(doc, "proposed", "failover_expiry_ms"), "  at the target",
	       ms_of(doc, "now", "failover_target_ms"),
	       ms_of(doc, "proposed", "failover_target_ms"));
}

static void show_text(const struct plan *p, struct measured *m)
{
	struct json_object *doc = doc_of(p, m);

	printf("Measured for %.1f s\n", (double)for_ms / 1000);
	show_samples("reads of the devices", &m->reads);
	show_samples("operations of the daemon", &m->disk);
	show_samples("network, to peers", &m->rtt);
	printf("Counted with: disk %.3f ms (%u times the worst), network %.3f ms (%s)\n\n",
	       (double)p->r_us / 1000, PROPOSAL_HEADROOM, (double)p->rtt_us / 1000,
	       p->rtt_measured ? "the worst" : "assumed: nothing was measured");
	printf("Now: %s\n", p->now_from);
	show_values(doc, p);
	printf("\nTimings are written when an area is formatted:\n  ringfence format");
	for (size_t i = 0; i < VALUES; i++)
		printf(" %s %lldms", values[i].option, ms_of(doc, "proposed", values[i].key));
	printf(" ...\n");
	json_object_put(doc);
}

/* ---- running ---- */

static int conclude(struct plan *p, struct measured *m)
{
	uint32_t worst =
		m->reads.worst_us > m->disk.worst_us ? m->reads.worst_us : m->disk.worst_us;

	if (!worst)
		return fail(RF_EXIT_CANNOT_TELL,
			    "nothing was measured: the daemon has not joined; name a device");
	if (grace_given)
		p->now.grace_ms = grace_ms;
	p->r_us = proposal_r_us(worst);
	p->rtt_measured = m->rtt.count != 0;
	p->rtt_us = p->rtt_measured ? m->rtt.worst_us : RTT_ASSUMED_US;
	p->fits = proposal_make(&p->to, &p->now, p->r_us, p->rtt_us);
	p->now_fits = rf_timing_check(&p->now, p->r_us) == RF_TIMING_OK;
	if (tool.json)
		out_print(doc_of(p, m));
	else
		show_text(p, m);
	if (!p->fits)
		return fail(RF_EXIT_NO, "no timings fit a disk as slow as this");
	if (!p->now_fits)
		note("the timings in force do not fit what was measured: leadership may be "
		     "lost "
		     "without a fault");
	return 0;
}

static int run(int argc, char **argv)
{
	struct disk disk[RF_DISKS_MAX];
	struct plan p = {.r_us = 0};
	struct measured m = {.daemon = false};
	unsigned opened = 0;
	int rc = 0;

	while (!rc && opened < (unsigned)argc) {
		rc = disk_open(&disk[opened], argv[opened], O_RDONLY);
		if (!rc)
			rc = disk_locate(&disk[opened++], false);
	}
	if (!rc)
		rc = now_of(&p, disk, opened);
	if (!rc)
		rc = measure(&m, disk, opened, for_ms);
	if (!rc)
		rc = conclude(&p, &m);
	measure_free(&m);
	while (opened)
		disk_close(&disk[--opened]);
	return rc;
}

const struct command cmd_tune = {
	.name = "tune",
	.args = "[DEVICE...]",
	.brief = "measure disk and network for a while, then propose timings",
	.opts = opts,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
