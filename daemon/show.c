/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the control socket may see and do: rows, roles, operators' orders. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "format/timing.h"
#include "io/notify.h"
#include "log.h"
#include "pause.h"
#include "reload.h"
#include "service.h"
#include "status.h"

static struct managed *managed_of(struct daemon *d, uint32_t volume)
{
	return &d->managed[volume];
}

static int find(void *world, const char *name)
{
	struct daemon *d = world;

	for (uint32_t i = 0; i < d->config.volumes; i++)
		if (!strcmp(d->config.volume[i].name, name))
			return (int)i;
	return -ENOENT;
}

static const char *name_of(void *world, uint32_t volume)
{
	return ((struct daemon *)world)->config.volume[volume].name;
}

static void now_of(void *world, uint32_t volume, struct rf_control_now *now)
{
	struct daemon *d = world;
	struct managed *m = managed_of(d, volume);
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(m->part->node), m->number, &v);
	*now = (struct rf_control_now){.role = v.role,
				       .node = d->config.node,
				       .cause = v.cause,
				       .epoch = v.epoch,
				       .incarnation = d->incarnation,
				       .deadline_ns = v.lease_ns};
}

/*
 * Why a node that exists could not take a volume over now, or NULL. Only what is known
 * here: a release to a node that is gone would leave the volume to whoever is next.
 */
static const char *unfit(const struct part *p, uint32_t node)
{
	uint64_t now = rf_loop_clock_ns(), last;
	struct rf_core_peer peer;

	rf_core_peer(rf_node_core(p->node), node, &peer);
	last = peer.net_ns > peer.disk_ns ? peer.net_ns : peer.disk_ns;
	if (peer.state != RF_SLOT_JOINED)
		return "has not joined";
	if (!last || (now > last && now - last >= p->area.super.timing.suspect_ms * RF_MS_NS))
		return "is silent: it is gone, or not back yet";
	if (peer.health & RF_HEALTH_STOPPED)
		return "obeyed a stop order: restart its ringfenced";
	if (peer.health & RF_HEALTH_PAUSED)
		return "is paused: `ringfence resume` there";
	if (peer.health & RF_HEALTH_BARRED)
		return "is barred by its health check";
	if (peer.health & RF_HEALTH_WRITE_FAILING)
		return "cannot write to the quorum disk";
	return NULL;
}

static uint32_t heir(void *world, uint32_t volume, uint32_t node, char text[RF_CTL_TEXT_BYTES])
{
	const struct part *p = managed_of(world, volume)->part;
	const char *why;

	if (node < 1 || node > p->area.super.id.nodes || node == p->daemon->config.node) {
		snprintf(text, RF_CTL_TEXT_BYTES,
			 "node %u cannot take %s: see `ringfence nodes`", node,
			 name_of(world, volume));
		return RF_EXIT_NO_SUCH;
	}
	why = unfit(p, node);
	if (!why)
		return RF_EXIT_YES;
	snprintf(text, RF_CTL_TEXT_BYTES, "node %u %s; %s stays here", node, why,
		 name_of(world, volume));
	return RF_EXIT_AGAIN;
}

/* ---- rows ---- */

static bool row_daemon(struct daemon *d, rf_control_row row, void *client)
{
	struct rf_ctl_daemon r = {
		.h = {RF_CTL_MAGIC, RF_CTL_VERSION, RF_CTL_ROW_DAEMON},
		.now_ns = rf_loop_clock_ns(),
		.started_ns = d->started_ns,
		.datagrams_received = d->received,
		.log_lost = rf_log_lost(),
		.pid = (uint32_t)getpid(),
		.memory_locked = d->memory_locked,
		.realtime = d->realtime,
		.loop_delay_max_us = rf_loop_delay_us(d->loop),
		.paused_unix_ns = d->pause.since_unix_ns,
		.release = RF_VERSION,
	};
	struct rf_net_counts net;

	rf_net_counts(d->net, &net);
	rf_guard_show(d, &r);
	r.datagrams_sent = net.sent;
	for (uint32_t i = 0; i < RF_REJECT_COUNT; i++) {
		r.rejected_by_reason[i] = (uint32_t)d->rejected[i];
		r.datagrams_rejected += d->rejected[i];
	}
	for (uint32_t i = 0; i < d->parts; i++)
		r.disk_ops += rf_disks_count(d->part[i]->disks);
	return row(client, &r, sizeof(r));
}

static bool row_volume(struct daemon *d, uint32_t volume, rf_control_row row, void *client)
{
	struct managed *m = managed_of(d, volume);
	struct rf_status_volume about = {
		.name = d->config.volume[volume].name,
		.driver = m->driver[0] ? m->driver : d->config.volume[volume].fence,
		.area = m->part->index,
		.volume = m->number,
		.refused = m->refused,
	};
	struct rf_ctl_volume r;

	rf_status_volume(&r, rf_node_core(m->part->node), &m->part->area.super, &about,
			 rf_loop_clock_ns());
	rf_keep_status(d, volume, &r);
	return row(client, &r, sizeof(r));
}

static void status(void *world, int volume, rf_control_row row, void *client)
{
	struct daemon *d = world;
	uint64_t now = rf_loop_clock_ns();

	if (volume >= 0) {
		row_volume(d, (uint32_t)volume, row, client);
		return;
	}
	if (!row_daemon(d, row, client))
		return;
	for (uint32_t i = 0; i < d->parts; i++) {
		struct part *p = d->part[i];
		struct rf_ctl_area r;

		rf_status_area(&r, rf_node_core(p->node), &p->area.super, d->config.node, now);
		if (p->fit.misfit)
			r.health |= RF_CTL_HEALTH_MISFIT;
		if (!row(client, &r, sizeof(r)))
			return;
	}
	for (uint32_t i = 0; i < d->config.volumes; i++)
		if (!row_volume(d, i, row, client))
			return;
	for (uint32_t i = 0; i < d->parts; i++) {
		struct part *p = d->part[i];

		for (uint32_t n = 1; n <= p->area.super.id.nodes; n++) {
			struct rf_ctl_node r;

			rf_status_node(&r, rf_node_core(p->node), &p->area.super, i, n, now);
			if (!row(client, &r, sizeof(r)))
				return;
		}
	}
}

/* ---- orders ---- */

static int admin(void *world, uint32_t verb, uint32_t volume, uint32_t node)
{
	struct daemon *d = world;
	struct rf_event e = {.kind = RF_EV_ADMIN};

	switch (verb) {
	case RF_CTL_RESIGN:
		e.admin.verb = RF_ADMIN_RESIGN;
		break;
	case RF_CTL_HANDOVER:
		e.admin.verb = RF_ADMIN_HANDOVER;
		break;
	case RF_CTL_PAUSE:
	case RF_CTL_RESUME:
		return rf_pause_set(d, verb == RF_CTL_PAUSE);
	default:
		return -EINVAL;
	}
	e.admin.volume = managed_of(d, volume)->number;
	e.admin.node = node;
	rf_bind_event(managed_of(d, volume)->part, &e);
	return 0;
}

const struct rf_control_ops rf_show_control_ops = {.find = find,
						   .name = name_of,
						   .now = now_of,
						   .heir = heir,
						   .status = status,
						   .admin = admin,
						   .quiet = rf_bind_control_quiet,
						   .read = rf_keep_read,
						   .change = rf_keep_change,
						   .reload = rf_reload_ask,
						   .metrics = rf_figures};

/* ---- changes ---- */

static void tell(struct daemon *d, uint32_t volume, const struct rf_core_volume *v,
		 uint32_t leader)
{
	struct managed *m = managed_of(d, volume);
	struct rf_control_change c = {
		.volume = volume,
		.node = leader,
		.prev_node = m->leader,
		.cause = v->cause,
		.role = v->role,
		.prev_role = m->role,
		.epoch = v->epoch,
		.prev_epoch = m->epoch,
		.incarnation = d->incarnation,
		.deadline_ns = v->lease_ns,
	};

	rf_control_role(d->control, &c);
	if (leader != m->leader) {
		rf_metrics_leader(&d->metrics.volume[volume], leader);
		rf_tell_leader(d, volume, v, leader);
	}
	m->role = v->role;
	m->epoch = v->epoch;
	m->leader = leader;
	rf_service_tell(d);
}

void rf_show_roles(struct part *p)
{
	struct daemon *d = p->daemon;
	struct rf_core_self self;

	for (uint32_t i = 0; i < p->area.super.volumes; i++) {
		uint32_t volume = p->config_of[i];
		struct rf_core_volume v;
		uint32_t leader;

		if (volume == UINT32_MAX)
			continue;
		rf_core_volume(rf_node_core(p->node), i, &v);
		leader = v.has_leader ? v.owner : 0;
		rf_metrics_lease(&d->metrics.volume[volume], v.lease_ns,
				 p->area.super.timing.lease_ms * RF_MS_NS, rf_loop_clock_ns());
		if (v.role != managed_of(d, volume)->role ||
		    leader != managed_of(d, volume)->leader)
			tell(d, volume, &v, leader);
	}
	rf_core_self(rf_node_core(p->node), &self);
	rf_tell_health(p, &self);
	if (!self.joined || p->joined)
		return;
	p->joined = true;
	for (uint32_t i = 0; i < d->parts; i++)
		if (!d->part[i]->joined)
			return;
	rf_notify_ready();
	rf_service_tell(d);
}
