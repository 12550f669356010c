/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon counts, see metrics.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

int rf_metrics_open(struct rf_metrics *m, uint32_t volumes, uint32_t areas)
{
	m->volume = calloc(volumes, sizeof(*m->volume));
	m->area = calloc(areas, sizeof(*m->area));
	return m->volume && m->area ? 0 : -ENOMEM;
}

/* ---- elections, failovers ---- */

static void election_ends(struct rf_metrics_volume *v, enum rf_election how, uint64_t now_ns)
{
	if (!v->campaign_ns)
		return;
	v->elections[how]++;
	if (how == RF_ELECTION_WON)
		rf_histogram_add(&v->election, now_ns - v->campaign_ns);
	v->campaign_ns = 0;
}

static void leader_is_gone(struct rf_metrics_volume *v, uint64_t since_ns)
{
	if (!v->gone_ns)
		v->gone_ns = since_ns;
}

static void this_node_leads(struct rf_metrics_volume *v, uint64_t now_ns)
{
	if (v->gone_ns)
		rf_histogram_add(&v->failover, now_ns - v->gone_ns);
	v->gone_ns = 0;
}

void rf_metrics_say(struct rf_metrics_volume *v, const struct rf_decision *say, uint32_t me,
		    uint64_t incarnation, uint64_t now_ns)
{
	switch (say->code) {
	case RF_SAY_CAMPAIGN:
		if (!v->campaign_ns)
			v->campaign_ns = now_ns;
		break;
	case RF_SAY_CAMPAIGN_OVER:
		election_ends(v, RF_ELECTION_NO_QUORUM, now_ns);
		break;
	case RF_SAY_DECIDED:
		election_ends(v, say->a == incarnation ? RF_ELECTION_WON : RF_ELECTION_LOST,
			      now_ns);
		break;
	case RF_SAY_LEARNED:
	case RF_SAY_SUPERSEDED:
		election_ends(v, RF_ELECTION_LOST, now_ns);
		break;
	case RF_SAY_SUSPECT:
		leader_is_gone(v, now_ns - say->a);
		break;
	case RF_SAY_NO_LEADER:
		if (say->epoch)
			leader_is_gone(v, now_ns);
		break;
	case RF_SAY_LEADER: /* this node's is said before it may write */
		if (say->node != me)
			v->gone_ns = 0;
		break;
	case RF_SAY_ACTIVE:
		this_node_leads(v, now_ns);
		break;
	case RF_SAY_LEASE_HELD:
		v->renewals[RF_RENEWAL_EXPIRED]++;
		break;
	default:
		break;
	}
}

void rf_metrics_leader(struct rf_metrics_volume *v, uint32_t leader)
{
	if (leader)
		v->leaders++;
}

/* ---- the lease ---- */

/* A deadline lies one lease behind the moment that its renewal counts from (§8). */
void rf_metrics_lease(struct rf_metrics_volume *v, uint64_t lease_ns, uint64_t length_ns,
		      uint64_t now_ns)
{
	if (lease_ns > v->lease_ns) {
		uint64_t begun_ns = lease_ns - length_ns;
		bool late = v->lease_ns && now_ns > v->lease_ns;

		v->renewals[late ? RF_RENEWAL_LATE : RF_RENEWAL_OK]++;
		rf_histogram_add(&v->renewal, now_ns > begun_ns ? now_ns - begun_ns : 0);
	}
	v->lease_ns = lease_ns;
}

/* ---- the fence ---- */

void rf_metrics_asked(struct rf_metrics_volume *v, uint32_t verb, uint64_t epoch,
		      uint64_t deadline_ns)
{
	if (verb == RF_FENCE_GRANT) {
		v->asked_epoch = epoch;
		v->asked_ns = deadline_ns;
	} else if (verb == RF_FENCE_REVOKE) {
		v->granted = false;
		v->asked_epoch = 0; /* a grant that is answered from now on is over */
	}
}

void rf_metrics_answer(struct rf_metrics_volume *v, const struct rf_fence_reply *r)
{
	if (r->verb == RF_FENCE_STATUS && r->result == RF_FENCE_OK) {
		v->admitted = r->admitted;
		v->refused = r->refused;
		memcpy(v->refused_by, r->refused_by, sizeof(v->refused_by));
	}
	if (r->verb < RF_METRICS_VERBS && r->result < RF_METRICS_RESULTS)
		v->fence[r->verb][r->result]++;
	if (r->verb == 0)
		v->granted = false;
	if (r->verb == RF_FENCE_GRANT && r->result == RF_FENCE_OK && v->asked_epoch) {
		v->granted = true;
		v->granted_ns = v->asked_ns;
	}
}

bool rf_metrics_gate_open(const struct rf_metrics_volume *v, uint32_t can, uint64_t now_ns)
{
	return v->granted && (!(can & RF_FENCE_CAN_DEADLINE) || now_ns < v->granted_ns);
}

/* ---- hooks ---- */

void rf_metrics_hook(struct rf_metrics_volume *v, const char *event, int32_t status)
{
	enum rf_hook_end end = status < 0 ? RF_HOOK_KILLED
			       : status   ? RF_HOOK_BAD
					  : RF_HOOK_GOOD;

	for (uint32_t i = 0; i < RF_METRICS_HOOKS_MAX; i++) {
		struct rf_metrics_hook *h = &v->hook[i];

		if (!h->event[0])
			snprintf(h->event, sizeof(h->event), "%s", event);
		if (strncmp(h->event, event, sizeof(h->event) - 1))
			continue;
		h->end[end]++;
		return;
	}
}

/* ---- disks, peers ---- */

void rf_metrics_disk(struct rf_metrics_area *a, uint32_t disk, int status)
{
	enum rf_disk_fault fault = RF_DISK_IO;

	if (status >= 0 || status == -ECANCELED || disk >= RF_DISKS_MAX)
		return;
	if (status == -ETIME)
		fault = RF_DISK_TIMEOUT;
	else if (status == -ENODEV || status == -ENXIO)
		fault = RF_DISK_GONE;
	else if (status == -EBUSY || status == -EAGAIN)
		fault = RF_DISK_BUSY;
	else if (status == -EPERM || status == -EROFS || status == -EBADE)
		fault = RF_DISK_REFUSED;
	a->disk[disk][fault]++;
}

void rf_metrics_message(struct rf_metrics_area *a, const struct rf_super *super, uint32_t me,
			uint32_t from, const uint8_t *data, size_t len, uint32_t rtt_us)
{
	struct rf_msg m;

	if (!rtt_us || from > RF_NODES_MAX ||
	    rf_msg_decode(data, len, super->id.nodes, super->volumes, &m) != 0)
		return;
	if (m.kind == RF_WIRE_HEARTBEAT && m.heartbeat.echo == me)
		rf_histogram_add(&a->rtt[from], rtt_us * 1000ull);
}
