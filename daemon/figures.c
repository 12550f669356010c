/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every figure as a row of the control socket: what was counted, and what is so now. */
#include <stdio.h>
#include <string.h>

#include "daemon.h"

struct table {
	rf_control_row row;
	void *client;
	uint8_t area[RF_UUID_BYTES];
	const char *volume;
	uint32_t node;
};

static void begin(const struct table *t, struct rf_ctl_metric *r, enum rf_metric metric)
{
	memset(r, 0, sizeof(*r));
	r->h = (struct rf_ctl_head){RF_CTL_MAGIC, RF_CTL_VERSION, RF_CTL_ROW_METRIC};
	r->metric = metric;
	r->node = t->node;
	memcpy(r->area, t->area, sizeof(r->area));
	snprintf(r->volume, sizeof(r->volume), "%s", t->volume ? t->volume : "");
}

static void put2(struct table *t, enum rf_metric metric, const char *label, const char *label2,
		 int64_t value)
{
	struct rf_ctl_metric r;

	begin(t, &r, metric);
	snprintf(r.label, sizeof(r.label), "%s", label);
	snprintf(r.label2, sizeof(r.label2), "%s", label2);
	r.value = value;
	t->row(t->client, &r, sizeof(r));
}

static void put(struct table *t, enum rf_metric metric, const char *label, uint64_t value)
{
	put2(t, metric, label, "", (int64_t)value);
}

static void put_histogram(struct table *t, enum rf_metric metric, const struct rf_histogram *h)
{
	struct rf_ctl_metric r;

	begin(t, &r, metric);
	memcpy(r.bucket, h->bucket, sizeof(r.bucket));
	r.sum_ns = h->sum_ns;
	t->row(t->client, &r, sizeof(r));
}

static void put_words(struct table *t, enum rf_metric metric, const char *const *words,
		      const uint64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put(t, metric, words[i], values[i]);
}

/* ---- a volume ---- */

const char *const rf_metrics_verbs[RF_METRICS_VERBS] = {"shut",  "grant",  "revoke",
							"evict", "verify", "status"};
const char *const rf_metrics_results[RF_METRICS_RESULTS] = {"ok",    "failed",      "uncertain",
							    "stale", "unsupported", "busy"};

static void put_fence(struct table *t, const struct rf_metrics_volume *v)
{
	for (uint32_t w = 0; w < RF_METRICS_VERBS; w++)
		for (uint32_t i = 0; i < RF_METRICS_RESULTS; i++)
			if (v->fence[w][i] || i <= RF_FENCE_FAILED)
				put2(t, RF_METRIC_FENCE_OPERATIONS, rf_metrics_verbs[w],
				     rf_metrics_results[i], (int64_t)v->fence[w][i]);
}

static void put_refused(struct table *t, const struct rf_metrics_volume *v)
{
	static const char *const words[RF_FENCE_REFUSED_COUNT] = {
		"stale", "superseded", "expired", "revoked", "closed"};
	uint64_t other = v->refused;

	put(t, RF_METRIC_GATE_REQUESTS, "admitted", v->admitted);
	put(t, RF_METRIC_GATE_REQUESTS, "refused", v->refused);
	put_words(t, RF_METRIC_GATE_REFUSED, words, v->refused_by, RF_FENCE_REFUSED_COUNT);
	for (uint32_t i = 0; i < RF_FENCE_REFUSED_COUNT; i++)
		other -= v->refused_by[i] < other ? v->refused_by[i] : other;
	put(t, RF_METRIC_GATE_REFUSED, "other", other);
}

static void put_hooks(struct table *t, const struct rf_metrics_volume *v)
{
	static const char *const ends[RF_HOOK_ENDS] = {"ok", "failed", "killed"};

	for (uint32_t i = 0; i < RF_METRICS_HOOKS_MAX && v->hook[i].event[0]; i++)
		for (uint32_t e = 0; e < RF_HOOK_ENDS; e++)
			put2(t, RF_METRIC_HOOK_RUNS, v->hook[i].event, ends[e],
			     (int64_t)v->hook[i].end[e]);
}

static void put_lease(struct table *t, const struct rf_metrics_volume *v,
		      const struct rf_core_volume *now, uint64_t now_ns)
{
	static const char *const renewals[RF_RENEWALS] = {"ok", "late", "expired"};

	if (now->lease_ns) {
		put(t, RF_METRIC_LEASE_REMAINING, "", now->lease_ns - now_ns);
		put(t, RF_METRIC_LEASE_MARGIN_MIN, "", (uint64_t)now->margin_min_ns);
	}
	put_words(t, RF_METRIC_LEASE_RENEWALS, renewals, v->renewals, RF_RENEWALS);
	put_histogram(t, RF_METRIC_RENEWAL_DURATION, &v->renewal);
}

/* Only the leader knows; others would have to guess. */
static void put_work(struct table *t, struct daemon *d, uint32_t volume,
		     const struct rf_core_volume *now)
{
	struct rf_ctl_volume r = {.role = (uint8_t)now->role, .epoch = now->epoch};

	rf_keep_status(d, volume, &r);
	if (r.work_unfinished == RF_CTL_UNKNOWN)
		return;
	put(t, RF_METRIC_WORK_UNFINISHED, "", r.work_unfinished);
	put(t, RF_METRIC_WORK_REPEATED, "", r.work_repeated);
}

static void put_volume(struct table *t, struct daemon *d, uint32_t volume, uint64_t now_ns)
{
	static const char *const elections[RF_ELECTIONS] = {"won", "lost", "no_quorum"};
	const struct managed *m = &d->managed[volume];
	const struct rf_metrics_volume *v = &d->metrics.volume[volume];
	struct rf_core_volume now;

	rf_core_volume(rf_node_core(m->part->node), m->number, &now);
	t->volume = d->config.volume[volume].name;
	put(t, RF_METRIC_HAS_LEADER, "", now.has_leader);
	put(t, RF_METRIC_IS_LEADER, "", now.role == RF_ROLE_ACTIVE);
	put(t, RF_METRIC_EPOCH, "", now.epoch);
	put(t, RF_METRIC_LEADER_CHANGES, "", v->leaders);
	put_words(t, RF_METRIC_ELECTIONS, elections, v->elections, RF_ELECTIONS);
	put_histogram(t, RF_METRIC_ELECTION_DURATION, &v->election);
	put_lease(t, v, &now, now_ns);
	put(t, RF_METRIC_GATE_OPEN, "", rf_metrics_gate_open(v, m->can, now_ns));
	put_refused(t, v);
	put_fence(t, v);
	put_histogram(t, RF_METRIC_FAILOVER_DURATION, &v->failover);
	put_hooks(t, v);
	put_work(t, d, volume, &now);
}

/* ---- an area ---- */

static void put_disks(struct table *t, const struct rf_metrics_area *a, uint32_t disks)
{
	static const char *const faults[RF_DISK_FAULTS] = {"timeout", "io", "gone", "busy",
							   "refused"};
	char disk[16];

	for (uint32_t i = 0; i < disks; i++) {
		snprintf(disk, sizeof(disk), "%u", i);
		for (uint32_t f = 0; f < RF_DISK_FAULTS; f++)
			put2(t, RF_METRIC_DISK_ERRORS, faults[f], disk, (int64_t)a->disk[i][f]);
	}
}

static void put_peer(struct table *t, const struct part *p, const struct rf_metrics_area *a,
		     uint32_t node, uint64_t now_ns)
{
	struct rf_core_peer peer;

	rf_core_peer(rf_node_core(p->node), node, &peer);
	t->node = node;
	put_histogram(t, RF_METRIC_PEER_RTT, &a->rtt[node]);
	if (peer.net_ns)
		put(t, RF_METRIC_PEER_LAST_SEEN, "network", now_ns - peer.net_ns);
	if (peer.disk_ns)
		put(t, RF_METRIC_PEER_LAST_SEEN, "disk", now_ns - peer.disk_ns);
	t->node = 0;
}

/* Heard or seen moving within the suspect time. Its own slot is seen, too. */
static bool alive(const struct part *p, uint32_t node, uint64_t now_ns)
{
	uint64_t limit = p->area.super.timing.suspect_ms * 1000000ull;
	struct rf_core_peer peer;

	rf_core_peer(rf_node_core(p->node), node, &peer);
	return (peer.net_ns && now_ns - peer.net_ns < limit) ||
	       (peer.disk_ns && now_ns - peer.disk_ns < limit);
}

/* §4: only voters count towards a majority. */
static void put_quorum(struct table *t, const struct part *p, uint64_t now_ns)
{
	const struct rf_super *s = &p->area.super;
	uint32_t voters = 0, good = 0;
	struct rf_core_self self;

	for (uint32_t i = 1; i <= s->id.nodes; i++) {
		if (!rf_bit_get(s->voters, i - 1))
			continue;
		voters++;
		good += alive(p, i, now_ns);
	}
	rf_core_self(rf_node_core(p->node), &self);
	put2(t, RF_METRIC_QUORUM, "disks", "all", self.disks);
	put2(t, RF_METRIC_QUORUM, "disks", "good", self.disks_good);
	put2(t, RF_METRIC_QUORUM, "disks", "needed", self.disks / 2 + 1);
	put2(t, RF_METRIC_QUORUM, "nodes", "all", voters);
	put2(t, RF_METRIC_QUORUM, "nodes", "good", good);
	if (s->quorum == RF_QUORUM_MAJORITY)
		put2(t, RF_METRIC_QUORUM, "nodes", "needed", voters / 2 + 1);
}

static void put_area(struct table *t, const struct part *p, const struct rf_metrics_area *a,
		     uint64_t now_ns)
{
	memcpy(t->area, p->area.super.id.area, sizeof(t->area));
	put_quorum(t, p, now_ns);
	put_disks(t, a, p->area.super.disk_count);
	for (uint32_t n = 1; n <= p->area.super.id.nodes; n++)
		if (n != p->daemon->config.node)
			put_peer(t, p, a, n, now_ns);
}

/* ---- all ---- */

static void put_daemon(struct table *t, struct daemon *d)
{
	static const char *const rejects[RF_REJECT_COUNT] = {"short", "magic",  "area", "key",
							     "seal",  "replay", "life", "form"};
	struct rf_net_counts net;

	rf_net_counts(d->net, &net);
	put(t, RF_METRIC_SEND_FAILURES, "", net.failed + net.dropped);
	put_words(t, RF_METRIC_MESSAGES_REJECTED, rejects, d->rejected, RF_REJECT_COUNT);
	put(t, RF_METRIC_WATCHDOG_ARMED, "", d->guard.dog.fd >= 0);
	put_histogram(t, RF_METRIC_LOOP_DELAY, rf_loop_delays(d->loop));
}

void rf_figures(void *world, rf_control_row row, void *client)
{
	struct daemon *d = world;
	struct table t = {.row = row, .client = client};
	uint64_t now = rf_loop_clock_ns();

	put_daemon(&t, d);
	for (uint32_t i = 0; i < d->parts; i++)
		put_area(&t, d->part[i], &d->metrics.area[i], now);
	for (uint32_t i = 0; i < d->config.volumes; i++)
		put_volume(&t, d, i, now);
}
