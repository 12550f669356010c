/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks that are no part of a leadership. Those that only tell (leader-change, fenced,
 * gate-refused, degraded, recovered) run beside it and decide nothing. pre-campaign
 * decides whether this node may campaign: with `pre-campaign = yes` it abstains until
 * the hook has consented, for each time without a leader anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "decision.h"
#include "format/names.h"
#include "format/timing.h"
#include "log.h"

#define ASK_AGAIN_NS 2000000000u

#define DEGRADED_HEALTH                                                           \
	(RF_HEALTH_WRITE_FAILING | RF_HEALTH_READ_FAILING | RF_HEALTH_UNDRAINED | \
	 RF_HEALTH_STOPPED)

/* ---- one event ---- */

const char *rf_tell_name(uint32_t hook)
{
	static const char *const names[] = {
		[RF_HOOK_RECONCILE] = "reconcile",
		[RF_HOOK_PROMOTE] = "promote",
		[RF_HOOK_DEMOTE] = "demote",
		[RF_HOOK_LOST] = "lost",
		[RF_TELL_LEADER_CHANGE] = "leader-change",
		[RF_TELL_FENCED] = "fenced",
		[RF_TELL_GATE_REFUSED] = "gate-refused",
		[RF_TELL_DEGRADED] = "degraded",
		[RF_TELL_RECOVERED] = "recovered",
		[RF_TELL_PRE_CAMPAIGN] = "pre-campaign",
	};

	return hook >= 1 && hook <= RF_TELL_LAST ? names[hook] : "";
}

/* What is the same in all of them; the caller adds what it knows better. */
static void prepare(struct rf_hooks_call *c, struct daemon *d, uint32_t volume,
		    enum rf_tell event, const char *reason)
{
	struct managed *m = &d->managed[volume];
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(m->part->node), m->number, &v);
	*c = (struct rf_hooks_call){
		.volume = volume,
		.hook = event,
		.tells = true,
		.node = d->config.node,
		.leader = v.has_leader ? v.owner : 0,
		.prev_leader = m->leader,
		.epoch = v.epoch,
		.prev_epoch = m->epoch,
		.unix_ns = rf_unix_ns(),
		.sequence = ++m->sequence,
	};
	snprintf(c->event, sizeof(c->event), "%s", rf_tell_name(event));
	snprintf(c->role, sizeof(c->role), "%s",
		 v.role == RF_ROLE_ACTIVE ? "leader" : "follower");
	memcpy(c->prev_role, c->role, sizeof(c->prev_role));
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	snprintf(c->cluster, sizeof(c->cluster), "%s", d->config.cluster);
	snprintf(c->volume_name, sizeof(c->volume_name), "%s", d->config.volume[volume].name);
	snprintf(c->device, sizeof(c->device), "%s", d->config.volume[volume].device);
	snprintf(c->host, sizeof(c->host), "%s", d->host);
}

__attribute__((format(printf, 3, 4))) static int run(struct daemon *d, struct rf_hooks_call *c,
						     const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	vsnprintf(c->desc, sizeof(c->desc), format, ap);
	va_end(ap);
	rc = rf_hooks_run(d->hooks, c);
	if (rc)
		rf_log(RF_LOG_WARNING, "hook %s %s not run: %s", c->event, c->volume_name,
		       strerror(-rc));
	return rc;
}

/* ---- those that only tell ---- */

void rf_tell_leader(struct daemon *d, uint32_t volume, const struct rf_core_volume *now,
		    uint32_t leader)
{
	struct rf_hooks_call c;

	prepare(&c, d, volume, RF_TELL_LEADER_CHANGE, rf_cause_word(now->cause));
	c.leader = leader;
	if (leader)
		run(d, &c, "node %u leads %s in epoch %" PRIu64, leader, c.volume_name,
		    c.epoch);
	else
		run(d, &c, "%s has no leader, after node %u", c.volume_name, c.prev_leader);
}

void rf_tell_said(struct daemon *d, uint32_t volume, const struct rf_decision *s)
{
	struct rf_hooks_call c;
	char way[32];

	/* who shut his gate himself was not fenced */
	if (s->code != RF_SAY_OUT || !(s->a & (RF_WAY_ABORTED | RF_WAY_EXPIRED)))
		return;
	rf_ways_words(way, sizeof(way), (uint32_t)s->a);
	prepare(&c, d, volume, RF_TELL_FENCED, way);
	c.prev_leader = s->node;
	run(d, &c, "node %u can no longer write to %s under an older epoch than %" PRIu64,
	    s->node, c.volume_name, s->epoch);
}

void rf_tell_refused(struct daemon *d, uint32_t volume, uint64_t refused)
{
	struct managed *m = &d->managed[volume];
	uint64_t more = refused - m->refused;
	struct rf_hooks_call c;

	if (m->counted && refused > m->refused) {
		prepare(&c, d, volume, RF_TELL_GATE_REFUSED, "stale");
		run(d, &c, "%" PRIu64 " stale writes to %s were refused", more, c.volume_name);
	}
	m->refused = refused;
	m->counted = true;
}

/* ---- health of this node ---- */

static bool fence_lost(const struct daemon *d, uint32_t volume)
{
	const struct managed *m = &d->managed[volume];

	return m->driver[0] && !m->can && strcmp(d->config.volume[volume].fence, "expiry") != 0;
}

/* NULL: nothing is wrong. */
static const char *degraded_by(const struct part *p, const struct rf_core_self *self)
{
	const struct daemon *d = p->daemon;

	if (self->disks_good < self->disks)
		return "quorum-disk";
	if (self->health & DEGRADED_HEALTH)
		return self->health & RF_HEALTH_UNDRAINED ? "undrained"
		       : self->health & RF_HEALTH_STOPPED ? "stopped"
							  : "disk-errors";
	for (uint32_t i = 0; i < d->config.volumes; i++)
		if (d->managed[i].part == p && fence_lost(d, i))
			return "fence";
	return NULL;
}

/* ---- pre-campaign ---- */

/* Priority 0: never campaigns here, whatever a hook says. */
static void abstain(struct daemon *d, uint32_t volume, bool on)
{
	struct managed *m = &d->managed[volume];

	m->abstains = on || !d->config.volume[volume].priority;
	rf_bind_can(m);
}

void rf_tell_start(struct daemon *d)
{
	for (uint32_t i = 0; i < d->config.volumes; i++)
		abstain(d, i, d->config.hooks_ask && !d->managed[i].willing);
}

static void ask(struct daemon *d, uint32_t volume)
{
	struct managed *m = &d->managed[volume];
	uint64_t now = rf_loop_clock_ns();
	struct rf_core_volume v;
	struct rf_hooks_call c;

	rf_core_volume(rf_node_core(m->part->node), m->number, &v);
	if (v.has_leader && m->willing) { /* consent was for that time */
		m->willing = false;
		abstain(d, volume, true);
	}
	if (v.has_leader || v.role != RF_ROLE_FOLLOWER || m->asking || m->willing ||
	    now < m->ask_again_ns || !d->config.volume[volume].priority)
		return;
	m->asking = true;
	prepare(&c, d, volume, RF_TELL_PRE_CAMPAIGN, rf_cause_word(v.cause));
	c.tells = false; /* nothing of an earlier leadership may still run */
	if (run(d, &c, "%s has no leader: may this node campaign?", c.volume_name) != 0)
		rf_tell_done(d, volume, RF_TELL_PRE_CAMPAIGN, -EIO);
}

void rf_tell_done(struct daemon *d, uint32_t volume, uint32_t hook, int32_t status)
{
	struct managed *m = &d->managed[volume];

	if (hook != RF_TELL_PRE_CAMPAIGN)
		return; /* its output and status are in the log */
	m->asking = false;
	m->ask_again_ns = rf_loop_clock_ns() + ASK_AGAIN_NS;
	if (status) {
		rf_log(RF_LOG_INFO, "pre-campaign volume=%s status=%d: this node abstains",
		       d->config.volume[volume].name, status);
		return;
	}
	m->willing = true;
	abstain(d, volume, false);
}

static void tell_health(struct part *p, const char *why)
{
	struct daemon *d = p->daemon;

	for (uint32_t i = 0; i < d->config.volumes; i++) {
		struct rf_hooks_call c;

		if (d->managed[i].part != p)
			continue;
		prepare(&c, d, i, why ? RF_TELL_DEGRADED : RF_TELL_RECOVERED,
			why ? why : "none");
		run(d, &c, "this node's part in %s is %s%s%s", c.volume_name,
		    why ? "degraded: " : "good again", why ? why : "",
		    why ? "; see `ringfence status`" : "");
	}
}

void rf_tell_health(struct part *p, const struct rf_core_self *self)
{
	struct daemon *d = p->daemon;
	const char *why;

	if (!p->joined || p->halted)
		return;
	why = degraded_by(p, self);
	if (!why != !p->degraded) {
		p->degraded = why != NULL;
		tell_health(p, why);
	}
	for (uint32_t i = 0; i < d->config.volumes && d->config.hooks_ask; i++)
		if (d->managed[i].part == p)
			ask(d, i);
}
