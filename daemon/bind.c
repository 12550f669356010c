/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ports of node.h over io: effects become system calls, completions become
 * events. Nothing is decided here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "fencers.h"
#include "format/names.h"
#include "format/timing.h"
#include "log.h"
#include "reopen.h"
#include "status.h"

#define COUNTERS_NS 5000000000ull /* between two looks at the fence's counters */
#define TROUBLE_AGAIN_NS 10000000000ull

/* ---- events in ---- */

void rf_bind_event(struct part *p, struct rf_event *e)
{
	e->now_ns = rf_loop_clock_ns(); /* §2.4: about others, after the completion */
	e->unix_ns = rf_unix_ns();
	rf_node_event(p->node, e);
	rf_show_roles(p);
}

void rf_bind_wake(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_event e = {.kind = RF_EV_TICK};

	(void)now_ns;
	rf_bind_event(t->owner, &e);
}

static void disk_done(void *owner, uint32_t op, uint32_t disk, int status, bool wrote,
		      const uint8_t *data, size_t len, bool late)
{
	struct rf_event e = {.kind = late ? RF_EV_IO_LATE : RF_EV_IO};
	struct part *p = owner;

	if (!late)
		rf_metrics_disk(&p->daemon->metrics.area[p->index], disk, status);
	rf_reopen_note(owner, disk, status);
	if (rf_keep_disk_done(p, op, disk, status, data, late))
		return;
	e.io.op = op;
	e.io.status = status;
	e.io.wrote = wrote;
	e.io.data = data;
	e.io.len = len;
	rf_bind_event(owner, &e);
	rf_fit_note(p);
}

void rf_bind_datagram(void *owner, const uint8_t *data, size_t len)
{
	struct daemon *d = owner;
	uint8_t message[RF_MESSAGE_BYTES];
	struct rf_event e = {.kind = RF_EV_MESSAGE};
	struct rf_core_peer peer;
	struct rf_unsealed u;
	enum rf_reject why;
	struct part *p;
	int rc;

	d->received++;
	rc = rf_seal_unseal(d->seal, data, len, message, &u, &why);
	if (rc < 0)
		d->rejected[why]++;
	if (rc != 0)
		return;
	p = d->part[u.area];
	e.message.from = u.from;
	e.message.incarnation = u.incarnation;
	e.message.data = message;
	e.message.len = u.len;
	rf_bind_event(p, &e);
	rf_core_peer(rf_node_core(p->node), u.from, &peer);
	rf_seal_life(d->seal, u.area, u.from, peer.incarnation);
	rf_metrics_message(&d->metrics.area[p->index], &p->area.super, d->config.node, u.from,
			   message, u.len, peer.rtt_us);
}

/* ---- fencers ---- */

static const char *word(const char *const *words, uint32_t count, uint32_t i)
{
	return i < count ? words[i] : "unknown";
}

/* The same again and again, as while a target is away, is one line in ten seconds. */
static void say_trouble(struct daemon *d, uint32_t volume, const struct rf_fence_reply *r)
{
	struct managed *m = &d->managed[volume];
	uint64_t now = rf_loop_clock_ns();

	if (r->verb != m->trouble.verb || r->result != m->trouble.result ||
	    r->epoch != m->trouble.epoch)
		m->trouble.again_ns = m->trouble.repeated = 0;
	if (now < m->trouble.again_ns) {
		m->trouble.repeated++;
		return;
	}
	rf_log(RF_LOG_WARNING,
	       "fencer volume=%s driver=%s way=%s epoch=%llu result=%s repeated=%u msg=\"%s\"",
	       d->config.volume[volume].name, m->driver,
	       word(rf_metrics_verbs, RF_METRICS_VERBS, r->verb), (unsigned long long)r->epoch,
	       word(rf_metrics_results, RF_METRICS_RESULTS, r->result), m->trouble.repeated,
	       r->text);
	m->trouble.verb = r->verb;
	m->trouble.result = r->result;
	m->trouble.epoch = r->epoch;
	m->trouble.repeated = 0;
	m->trouble.again_ns = now + TROUBLE_AGAIN_NS;
}

static void fence_answer(void *owner, uint32_t volume, const struct rf_fence_reply *r)
{
	struct daemon *d = owner;
	struct managed *m = &d->managed[volume];
	struct rf_event e = {.kind = RF_EV_FENCE};

	rf_metrics_answer(&d->metrics.volume[volume], r);
	rf_guard_answered(m, r->verb, r->result);
	if (r->verb == RF_FENCE_STATUS) { /* for people: its failure decides nothing */
		if (r->result == RF_FENCE_OK)
			rf_tell_refused(d, volume, r->refused);
		return;
	}
	if (r->result != RF_FENCE_OK || r->verb == 0)
		say_trouble(d, volume, r);
	e.fence.volume = m->number;
	e.fence.verb = r->verb;
	e.fence.epoch = r->epoch;
	e.fence.result = r->result;
	rf_bind_event(m->part, &e);
}

void rf_bind_can(struct managed *m)
{
	struct rf_event e = {.kind = RF_EV_CAN};

	e.can.volume = m->number;
	e.can.can = m->can;
	e.can.abstains = m->abstains || m->unfit;
	rf_bind_event(m->part, &e);
}

static void fence_can(void *owner, uint32_t volume, uint32_t can, const char *driver)
{
	struct daemon *d = owner;
	struct managed *m = &d->managed[volume];

	snprintf(m->driver, sizeof(m->driver), "%s", driver);
	m->target_side = rf_status_at_storage(driver, can);
	m->unfit = false;
	m->can = can;
	rf_bind_can(m);
}

static void fence_failed(void *owner, uint32_t volume, const char *driver, const char *text)
{
	struct daemon *d = owner;
	struct managed *m = &d->managed[volume];

	snprintf(m->driver, sizeof(m->driver), "%s", driver);
	rf_log(RF_LOG_ERR, "fencer volume=%s driver=%s: cannot start: %s",
	       d->config.volume[volume].name, driver, text);
	m->target_side = false;
	m->unfit = true; /* a claim would cost an epoch and end at the grant */
	m->can = 0;
	rf_bind_can(m);
}

static void fence_died(void *owner, uint32_t volume)
{
	struct daemon *d = owner;

	rf_fencers_died(d, volume);
	d->managed[volume].can = 0;
	rf_bind_can(&d->managed[volume]);
}

/* Nothing urgent is to wait behind this. */
static bool settled(const struct managed *m)
{
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(m->part->node), m->number, &v);
	return v.role == RF_ROLE_ACTIVE || (v.role == RF_ROLE_FOLLOWER && v.has_leader);
}

void rf_bind_counters(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	for (uint32_t i = 0; i < d->config.volumes; i++) {
		struct managed *m = &d->managed[i];
		struct rf_fence_request r = {
			.verb = RF_FENCE_STATUS, .node = d->config.node, .volume = m->number};

		if (m->can && settled(m))
			rf_fencer_ask(m->fencer, &r, COUNTERS_NS);
	}
	for (uint32_t i = 0; i < d->parts; i++)
		rf_fit_judge(d->part[i]);
	rf_loop_timer(d->loop, t, now_ns + COUNTERS_NS);
}

const struct rf_fencer_ops rf_bind_fencer_ops = {
	.answer = fence_answer, .can = fence_can, .failed = fence_failed, .died = fence_died};

/* ---- hooks ---- */

static void maybe_quiet(struct daemon *d, uint32_t volume)
{
	struct managed *m = &d->managed[volume];
	struct rf_event e = {.kind = RF_EV_QUIET};

	if (!m->cancel_epoch || !m->control_quiet || !m->hooks_quiet)
		return;
	e.quiet.volume = m->number;
	e.quiet.epoch = m->cancel_epoch;
	m->cancel_epoch = 0;
	rf_bind_event(m->part, &e);
}

static void hook_done(void *owner, uint32_t volume, uint32_t hook, uint64_t epoch,
		      int32_t status)
{
	struct daemon *d = owner;
	struct rf_event e = {.kind = RF_EV_HOOK};

	rf_metrics_hook(&d->metrics.volume[volume], rf_tell_name(hook), status);
	if (hook > RF_HOOK_LAST) {
		rf_tell_done(d, volume, hook, status);
		return;
	}
	e.hook.volume = d->managed[volume].number;
	e.hook.hook = hook;
	e.hook.epoch = epoch;
	e.hook.status = status;
	rf_bind_event(d->managed[volume].part, &e);
}

static void hooks_quiet(void *owner, uint32_t volume, uint64_t epoch)
{
	struct daemon *d = owner;

	if (d->managed[volume].cancel_epoch == epoch)
		d->managed[volume].hooks_quiet = true;
	maybe_quiet(d, volume);
}

void rf_bind_control_quiet(void *owner, uint32_t volume, uint64_t epoch)
{
	struct daemon *d = owner;

	if (d->managed[volume].cancel_epoch == epoch)
		d->managed[volume].control_quiet = true;
	maybe_quiet(d, volume);
}

static void hook_line(void *owner, bool warning, const char *from, const char *text)
{
	(void)owner;
	rf_log(warning ? RF_LOG_WARNING : RF_LOG_INFO, "hook %s: %s", from, text);
}

static void health(void *owner, bool good)
{
	struct daemon *d = owner;
	struct rf_event e = {.kind = RF_EV_HEALTH};

	e.health.good = good;
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
}

static void hooks_died(void *owner)
{
	(void)owner;
	rf_log(RF_LOG_ERR,
	       "hook-runner: died: leaderships can not be released cleanly any more, "
	       "peers wait for the lease; restart ringfenced");
}

const struct rf_hooks_ops rf_bind_hooks_ops = {.done = hook_done,
					       .quiet = hooks_quiet,
					       .line = hook_line,
					       .health = health,
					       .died = hooks_died};

/* ---- effects out ---- */

static int port_io(void *world, const struct rf_effect *e)
{
	struct part *p = world;
	struct rf_disk_request r = {
		.op = e->io.op,
		.disk = e->io.disk,
		.write_offset = e->io.write_offset,
		.read_offset = e->io.read_offset,
		.write_len = e->io.write_len,
		.read_len = e->io.read_len,
		.data_len = e->io.data_len,
		.data = e->io.data,
		.deadline_ns = e->io.deadline_ns,
	};

	p->left &= !r.write_len; /* §2.5: from here on it may land, however this life ends */
	return rf_disks_submit(p->disks, &r);
}

static int port_fence(void *world, uint32_t verb, const struct rf_effect *e)
{
	struct part *p = world;
	struct daemon *d = p->daemon;
	uint32_t volume = p->config_of[e->fence.volume];
	const struct rf_timing *t = &p->area.super.timing;
	struct rf_fence_request r = {
		.verb = verb,
		.epoch = e->fence.epoch,
		.incarnation = e->fence.incarnation,
		.deadline_ns = e->fence.deadline_ns,
		.node = d->config.node,
		.volume = e->fence.volume,
	};

	if (volume == UINT32_MAX)
		return -ENOENT;
	rf_metrics_asked(&d->metrics.volume[volume], verb, r.epoch, r.deadline_ns);
	rf_guard_asked(&d->managed[volume], verb, rf_loop_clock_ns());
	return rf_fencer_ask(d->managed[volume].fencer, &r,
			     (verb == RF_FENCE_EVICT ? t->suspect_ms : t->lease_ms) * RF_MS_NS);
}

static int port_cancel(void *world, const struct rf_effect *e)
{
	struct part *p = world;
	struct daemon *d = p->daemon;
	uint32_t volume = p->config_of[e->cancel.volume];
	struct managed *m;

	if (volume == UINT32_MAX)
		return -ENOENT;
	m = &d->managed[volume];
	m->cancel_epoch = e->cancel.epoch;
	m->control_quiet = m->hooks_quiet = false;
	rf_control_cancel(d->control, volume, e->cancel.epoch);
	return rf_hooks_cancel(d->hooks, volume, e->cancel.epoch);
}

static int port_hook(void *world, const struct rf_effect *e)
{
	struct part *p = world;
	struct daemon *d = p->daemon;
	uint32_t volume = p->config_of[e->hook.volume];
	bool down = e->hook.hook == RF_HOOK_DEMOTE || e->hook.hook == RF_HOOK_LOST;
	struct rf_hooks_call c = {
		.volume = volume,
		.hook = e->hook.hook,
		.node = d->config.node,
		.leader = down ? 0 : d->config.node,
		.prev_leader = e->hook.prev_owner,
		.epoch = e->hook.epoch,
		.prev_epoch = e->hook.prev_epoch,
		.unix_ns = rf_unix_ns(),
		.deadline_ns = e->hook.deadline_ns,
	};

	if (volume == UINT32_MAX)
		return -ENOENT;
	if (e->hook.hook == RF_HOOK_RECONCILE)
		rf_keep_load(d, volume, e->hook.epoch);
	if (rf_keep_tell(d, volume) != 0)
		return -EAGAIN; /* not without the work that it is to go on with */
	c.sequence = ++d->managed[volume].sequence;
	snprintf(c.event, sizeof(c.event), "%s", rf_tell_name(e->hook.hook));
	snprintf(c.role, sizeof(c.role), "%s", down ? "follower" : "leader");
	snprintf(c.prev_role, sizeof(c.prev_role), "%s", down ? "leader" : "follower");
	snprintf(c.reason, sizeof(c.reason), "%s", rf_cause_word(e->hook.cause));
	snprintf(c.cluster, sizeof(c.cluster), "%s", d->config.cluster);
	snprintf(c.host, sizeof(c.host), "%s", d->host);
	snprintf(c.volume_name, sizeof(c.volume_name), "%s", d->config.volume[volume].name);
	snprintf(c.device, sizeof(c.device), "%s", d->config.volume[volume].device);
	snprintf(c.desc, sizeof(c.desc), "%s epoch %llu of %s: %s", c.event,
		 (unsigned long long)c.epoch, c.volume_name, c.reason);
	return rf_hooks_run(d->hooks, &c);
}

static int port_send(void *world, const struct rf_effect *e)
{
	struct part *p = world;
	uint8_t datagram[RF_DATAGRAM_BYTES];
	size_t len =
		rf_seal_close(p->daemon->seal, p->index, datagram, e->send.data, e->send.len);

	if (len)
		rf_net_send(p->daemon->net, datagram, len);
	return 0;
}

static void port_say(void *world, const struct rf_decision *s)
{
	struct part *p = world;
	struct daemon *d = p->daemon;
	uint32_t volume =
		s->volume < p->area.super.volumes ? p->config_of[s->volume] : UINT32_MAX;
	const char *name = volume == UINT32_MAX ? NULL : d->config.volume[volume].name;
	struct rf_ctl_event ev = {
		.event = RF_CTL_EV_DECISION, .epoch = s->epoch, .node = s->node};

	if (s->code == RF_SAY_MESSAGE_REFUSED && s->a < RF_REJECT_COUNT)
		d->rejected[s->a]++;
	if (name)
		rf_metrics_say(&d->metrics.volume[volume], s, d->config.node, d->incarnation,
			       rf_loop_clock_ns());
	rf_log_decision(s, name, d->parts > 1 ? d->config.area[p->index].disk[0] : NULL,
			ev.text, sizeof(ev.text));
	if (name)
		snprintf(ev.volume, sizeof(ev.volume), "%s", name);
	rf_control_event(d->control, &ev);
	if (volume != UINT32_MAX)
		rf_tell_said(d, volume, s);
	if (volume != UINT32_MAX &&
	    (s->code == RF_SAY_STATE_COMMITTED || s->code == RF_SAY_STATE_REFUSED))
		rf_keep_settled(d, volume, s->code == RF_SAY_STATE_COMMITTED);
	p->left |= s->code == RF_SAY_LEFT;
	if (s->code == RF_SAY_JOIN_REFUSED)
		rf_log(RF_LOG_ERR, "node-id %u is in use by host %s: this host does not join",
		       s->node, rf_core_holder(rf_node_core(p->node)));
}

static void port_halt(void *world, uint32_t reason)
{
	struct part *p = world;
	bool all = true;

	p->halted = true;
	p->reason = reason;
	for (uint32_t i = 0; i < p->daemon->parts; i++)
		all &= p->daemon->part[i]->halted;
	if (all)
		rf_loop_stop(p->daemon->loop);
}

static void port_wake(void *world, uint64_t at_ns)
{
	struct part *p = world;

	rf_loop_timer(p->daemon->loop, &p->timer, at_ns == UINT64_MAX ? 0 : at_ns);
}

void rf_bind_ports(struct part *p, struct rf_ports *ports)
{
	*ports = (struct rf_ports){.world = p,
				   .io = port_io,
				   .fence = port_fence,
				   .cancel = port_cancel,
				   .hook = port_hook,
				   .send = port_send,
				   .say = port_say,
				   .halt = port_halt,
				   .wake = port_wake};
}

/*
 * Requests that can be in flight at once. Per disk: own slot and own pair, a slot of
 * each peer; per volume: sector and history (small); region, renewal, fresh region,
 * ballot, commit (middle); all slots and all states, and states for who asks (large). With very
 * many nodes and volumes memory bounds them: the least is one of each kind a disk for one
 * volume, and what finds no room fails with -EBUSY and is tried again with the next beat.
 */
#define MIDDLE_BUDGET_BYTES (64u << 20)
#define LARGE_BUDGET_BYTES (32u << 20)

static uint32_t bounded(uint32_t wanted, uint32_t least, uint32_t bytes, uint32_t budget)
{
	uint32_t fits = budget / bytes;

	return wanted <= fits ? wanted : fits > least ? fits : least;
}

int rf_bind_disks(struct part *p, struct iovec *memory)
{
	const struct rf_super *s = &p->area.super;
	const uint32_t disks = s->disk_count, volumes = s->volumes;
	const uint32_t write = (uint32_t)rf_geo_half_bytes(s);
	const struct rf_core_config cfg = {.super = *s};
	struct rf_disks_shape shape = {
		.disks = disks,
		.small_bytes = 2 * s->id.stride_bytes,
		.small = disks * (4 + s->id.nodes + 2 * volumes),
		.middle_bytes = (uint32_t)rf_geo_region_bytes(s),
		.large_bytes = (uint32_t)rf_core_io_max(&cfg),
		.write_bytes = write,
	};

	shape.middle = bounded(disks * (1 + 5 * volumes), 6 * disks, shape.middle_bytes + write,
			       MIDDLE_BUDGET_BYTES);
	shape.large = bounded(disks * (2 * volumes + 1), 3 * disks, shape.large_bytes + write,
			      LARGE_BUDGET_BYTES);
	memcpy(shape.fd, p->area.fd, sizeof(shape.fd));
	memcpy(shape.offset, p->area.offset, sizeof(shape.offset));
	return rf_disks_open(&p->disks, p->daemon->loop, &shape, p->index, disk_done, p,
			     memory);
}
