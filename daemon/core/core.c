/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The step: an event is noted, the state advances as far as it can, effects
 * are handed out in the order of duty. See core.h for the contract.
 */
#include <string.h>

#include "state.h"

/* ---- effects of the present step ---- */

struct rf_effect *rf_emit(struct rf_core *c, enum rf_effect_kind kind)
{
	struct rf_effect *e;

	rf_assert(c->count < c->count_max);
	e = &c->queue[c->count++];
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	return e;
}

/* Saying is never worth more than acting: above its share it is dropped. */
void rf_emit_say(struct rf_core *c, const struct volume *v, enum rf_say code, uint32_t node,
		 uint64_t epoch, uint64_t a, uint64_t b)
{
	rf_assert(code < RF_SAY_COUNT);
	if (c->says >= c->say_max)
		return;
	c->says++;
	rf_emit(c, RF_DO_SAY)->say =
		(struct rf_decision){code, v ? v->number : RF_NO_VOLUME, node, epoch, a, b};
}

void rf_say_own(struct rf_core *c, const struct volume *v, enum rf_say code, uint64_t a,
		uint64_t b)
{
	rf_emit_say(c, v, code, c->me, v ? v->my_epoch : 0, a, b);
}

/* Messages are hints: one that does not fit is dropped. */
void rf_emit_send(struct rf_core *c, uint32_t to, const struct rf_msg *m)
{
	uint8_t *at = c->arena + c->arena_used;
	struct rf_effect *e;

	if (c->arena_used + RF_MESSAGE_BYTES > c->arena_max)
		return;
	rf_assert(to <= c->nodes && to != c->me);
	e = rf_emit(c, RF_DO_SEND);
	e->send.to = to;
	e->send.data = at;
	e->send.len = rf_msg_encode(at, m);
	c->arena_used += e->send.len;
	rf_assert(e->send.len <= RF_MESSAGE_BYTES);
}

void rf_emit_fence(struct rf_core *c, enum rf_effect_kind kind, const struct volume *v,
		   uint64_t deadline_ns)
{
	uint64_t life = v->my_epoch ? c->incarnation : c->join.old_incarnation;

	rf_assert(kind == RF_DO_REVOKE || (rf_owning(v) && v->my_epoch));
	rf_assert((kind == RF_DO_GRANT) == (deadline_ns > c->now));
	*rf_emit(c, kind) = (struct rf_effect){
		.kind = kind, .fence = {v->number, v->my_epoch, life, deadline_ns}};
}

void rf_emit_hook(struct rf_core *c, struct volume *v, enum rf_hook hook)
{
	uint32_t cause = v->role == RF_ROLE_CLOSING ? v->closing.cause : v->history.cause;

	*rf_emit(c, RF_DO_HOOK) = (struct rf_effect){
		.kind = RF_DO_HOOK,
		.hook = {v->number, hook, v->my_epoch, v->history.prev_epoch,
			 v->lease.deadline_ns, v->history.prev_owner, cause}};
}

/* §3: all gates shut, then this life is over. */
void rf_halt(struct rf_core *c, uint32_t reason)
{
	rf_assert(!c->halted);
	c->halted = true;
	rf_each_volume (c, v) {
		if (v->role >= RF_ROLE_OPENING) {
			rf_emit_fence(c, RF_DO_REVOKE, v, 0);
			rf_emit(c, RF_DO_CANCEL)->cancel.volume = v->number;
		}
		rf_role_set(v, RF_ROLE_STOPPED);
	}
	rf_emit(c, RF_DO_HALT)->halt.reason = reason;
}

void rf_over(struct rf_core *c, enum rf_say why, uint64_t a, uint64_t b)
{
	rf_say_own(c, NULL, why, a, b);
	rf_halt(c, RF_CAUSE_STOLEN);
}

/* xorshift64*: back-off and jitter only. */
uint32_t rf_random(struct rf_core *c, uint32_t below)
{
	rf_assert(below > 0);
	c->random ^= c->random >> 12;
	c->random ^= c->random << 25;
	c->random ^= c->random >> 27;
	return (uint32_t)((c->random * 0x2545f4914f6cdd1dull) >> 33) % below;
}

/* ---- memory ---- */

static uint32_t ops_max(const struct rf_core_config *cfg)
{
	const struct rf_super *s = &cfg->super;

	/* per disk: slot, own, all slots at join, one read a peer; per volume: region,
	 * renewal, fresh region, fresh slots, ballot, sector, history, states, commit */
	return s->disk_count * (3 + s->id.nodes + 9 * s->volumes);
}

uint32_t rf_core_effects_max(const struct rf_core_config *cfg)
{
	const struct rf_super *s = &cfg->super;

	return ops_max(cfg) + 512 + 20 * s->volumes + 4 * s->id.nodes;
}

static size_t arena_bytes(const struct rf_core_config *cfg)
{
	return 4 * RF_MESSAGE_BYTES + 48 * (size_t)cfg->super.volumes + RF_MESSAGE_BYTES;
}

static size_t up(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* Carve the memory: with base NULL only the size is computed. */
static size_t carve(const struct rf_core_config *cfg, uint8_t *base, struct rf_core *c)
{
	const struct rf_super *s = &cfg->super;
	size_t at = up(sizeof(struct rf_core)), half = (size_t)rf_geo_half_bytes(s);

#define TAKE(field, count, type)                               \
	do {                                                   \
		if (base)                                      \
			(field) = (type *)(void *)(base + at); \
		at += up((size_t)(count) * sizeof(type));      \
	} while (0)
	TAKE(c->peer, s->id.nodes + 1, struct peer);
	TAKE(c->volume, s->volumes, struct volume);
	TAKE(c->op, ops_max(cfg), struct op);
	TAKE(c->queue, rf_core_effects_max(cfg), struct rf_effect);
	TAKE(c->arena, arena_bytes(cfg), uint8_t);
	for (uint32_t i = 0; i < s->volumes; i++) {
		TAKE(c->volume[i].exclusion, s->id.nodes + 1, struct exclusion);
		TAKE(c->volume[i].payload, half, uint8_t);
		TAKE(c->volume[i].half, half, uint8_t);
	}
#undef TAKE
	return at;
}

size_t rf_core_bytes(const struct rf_core_config *cfg)
{
	struct rf_core unused;

	return carve(cfg, NULL, &unused);
}

size_t rf_core_io_max(const struct rf_core_config *cfg)
{
	const struct rf_super *s = &cfg->super;
	uint64_t most = rf_later(rf_geo_slots_bytes(s), rf_geo_region_bytes(s));

	return (size_t)rf_later(most, 2 * rf_geo_half_bytes(s) * s->id.nodes);
}

/* ---- init ---- */

static void init_volumes(struct rf_core *c)
{
	rf_each_volume (c, v) {
		v->number = (uint32_t)(v - c->volume);
		v->candidate = rf_bit_get(c->cfg.candidate, v->number);
		v->can = c->cfg.can[v->number];
		v->role = RF_ROLE_JOINING;
		v->look_ns = c->now;
		v->leader_said = UINT32_MAX;
		v->ballot.purpose = OP_BALLOT;
		v->sector.purpose = OP_EPOCH;
		v->history_push.purpose = OP_HISTORY;
		v->ballot.volume = v->sector.volume = v->history_push.volume = v->number;
	}
}

static void init_times(struct rf_core *c)
{
	const struct rf_timing *t = &c->super.timing;

	rf_assert(rf_timing_check(t, 0) == RF_TIMING_OK);
	c->hb_ns = t->heartbeat_ms * RF_MS_NS;
	c->suspect_ns = t->suspect_ms * RF_MS_NS;
	c->lease_ns = t->lease_ms * RF_MS_NS;
	c->grace_ns = t->grace_ms * RF_MS_NS;
	c->hold_ns = t->hold_ms * RF_MS_NS;
	c->isolation_ns = t->isolation_ms * RF_MS_NS;
	c->expiry_ns = rf_timing_expiry_ns(t);
	c->beat_ns = c->now;
}

struct rf_core *rf_core_init(void *memory, const struct rf_core_config *cfg)
{
	struct rf_core *c = memory;
	const struct rf_super *s = &cfg->super;

	rf_assert(s->id.nodes >= 1 && s->id.nodes <= RF_NODES_MAX);
	rf_assert(s->volumes >= 1 && s->volumes <= RF_VOLUMES_MAX);
	rf_assert(s->disk_count == 1 || s->disk_count == 3 || s->disk_count == 5);
	rf_assert(cfg->node >= 1 && cfg->node <= s->id.nodes);
	rf_assert(cfg->incarnation != 0);

	memset(memory, 0, rf_core_bytes(cfg));
	c->cfg = *cfg;
	c->super = *s;
	c->nodes = s->id.nodes;
	c->volumes = s->volumes;
	c->disks = s->disk_count;
	c->me = cfg->node;
	c->now = cfg->now_ns;
	c->unix_ns = cfg->unix_ns;
	c->random = (cfg->seed ^ 0x9e3779b97f4a7c15ull) | 1; /* never 0 */
	c->incarnation = cfg->incarnation;
	c->ops = ops_max(cfg);
	c->count_max = rf_core_effects_max(cfg);
	c->say_max = 48 + 6 * c->volumes + 3 * c->nodes;
	c->arena_max = arena_bytes(cfg);
	carve(cfg, memory, c);
	init_times(c);
	init_volumes(c);
	c->slot.purpose = OP_SLOT;
	c->join.began_ns = c->now;
	return c;
}

/* ---- events ---- */

static struct volume *volume_of(struct rf_core *c, uint32_t number)
{
	return number < c->volumes ? &c->volume[number] : NULL;
}

static void admin_event(struct rf_core *c, const struct rf_event *e)
{
	struct volume *v = volume_of(c, e->admin.volume);
	bool leads = v && rf_owning(v);

	switch ((enum rf_admin)e->admin.verb) {
	case RF_ADMIN_RESIGN:
		if (leads)
			rf_lead_lose(c, v, RF_CAUSE_RESIGNED, 0);
		break;
	case RF_ADMIN_HANDOVER:
		if (leads && e->admin.node - 1 < c->nodes && e->admin.node != c->me)
			rf_lead_lose(c, v, RF_CAUSE_HANDOVER, e->admin.node);
		break;
	case RF_ADMIN_PAUSE:
	case RF_ADMIN_RESUME:
		c->paused = e->admin.verb == RF_ADMIN_PAUSE;
		rf_say_own(c, NULL, RF_SAY_PAUSED, c->paused, 0);
		break;
	case RF_ADMIN_SHUTDOWN:
		c->leaving = true;
		break;
	case RF_ADMIN_PRIORITY:
		c->cfg.priority = e->admin.node;
		break;
	case RF_ADMIN_STATE_PUT:
		if (v)
			rf_commit_put(c, v, e->admin.data, e->admin.len);
		break;
	}
}

static void fence_event(struct rf_core *c, struct volume *v, const struct rf_event *e)
{
	switch (e->fence.verb) {
	case 0: /* the gate shut by itself; STALE: a newer epoch rules (§6) */
		if (e->fence.epoch == v->my_epoch && rf_renewing(v)) {
			rf_say_own(c, v, RF_SAY_GATE_FAILED, 0, e->fence.result);
			rf_lead_lose(c, v,
				     e->fence.result == RF_FENCE_STALE ? RF_CAUSE_SUPERSEDED
								       : RF_CAUSE_GATE,
				     0);
		}
		break;
	case RF_FENCE_GRANT:
		rf_lease_granted(c, v, e->fence.epoch, e->fence.result);
		break;
	case RF_FENCE_EVICT:
		if (v->exclude.evicting && e->fence.epoch == v->my_epoch)
			rf_exclusion_evicted(c, v, e->fence.result);
		break;
	case RF_FENCE_REVOKE:
		if (c->join.stage == JOIN_REVOKE && e->fence.epoch == 0)
			rf_join_revoked(c, v->number, e->fence.result);
		else
			rf_lead_revoked(c, v, e->fence.epoch, e->fence.result);
		break;
	}
}

static void note(struct rf_core *c, const struct rf_event *e)
{
	/* of FENCE, HOOK, QUIET and CAN, which all begin with it */
	struct volume *v = volume_of(c, e->fence.volume);

	switch (e->kind) {
	case RF_EV_TICK:
		break;
	case RF_EV_IO:
	case RF_EV_IO_LATE:
		rf_op_event(c, e);
		break;
	case RF_EV_MESSAGE:
		rf_peer_message(c, e);
		break;
	case RF_EV_FENCE:
		if (v)
			fence_event(c, v, e);
		break;
	case RF_EV_HOOK:
		if (v)
			rf_lead_hook(c, v, e->hook.hook, e->hook.epoch, e->hook.status);
		break;
	case RF_EV_QUIET:
		if (v && v->role == RF_ROLE_CLOSING && e->quiet.epoch == v->my_epoch)
			v->closing.quiet = true;
		break;
	case RF_EV_ADMIN:
		admin_event(c, e);
		break;
	case RF_EV_HEALTH:
		c->barred = !e->health.good;
		break;
	default: /* RF_EV_CAN */
		if (v) {
			v->can = e->can.can;
			v->abstains = e->can.abstains;
			rf_lease_fence_said(c, v);
		}
		break;
	}
}

/* §3, and a stop order: what ends every leadership at once. */
static void advance_endings(struct rf_core *c)
{
	bool busy = false;

	if (!c->leaving && !c->order_pending)
		return;
	rf_each_volume (c, v) {
		rf_lead_lose(c, v, c->leaving ? RF_CAUSE_SHUTDOWN : RF_CAUSE_ORDERED, 0);
		busy |= v->role == RF_ROLE_CLOSING;
	}
	if (busy || !c->order_pending)
		return;
	c->order_seq = c->order_pending; /* every gate is shut and drained */
	c->order_pending = 0;
	rf_slot_change(c);
}

static void advance(struct rf_core *c)
{
	if (c->leaving && c->join.stage != JOIN_DONE) { /* once joined: FREE first (beat.c) */
		rf_halt(c, RF_CAUSE_SHUTDOWN);
		return;
	}
	rf_join_advance(c);
	if (c->join.stage != JOIN_DONE)
		return;
	rf_each_volume (c, v) {
		rf_lead_check(c, v);
		rf_region_look_advance(c, v);
		rf_campaign_advance(c, v);
		rf_ballot_advance(c, v);
		rf_exclusion_advance(c, v);
		rf_lease_advance(c, v);
		rf_commit_advance(c, v);
		rf_lead_advance(c, v);
		rf_leader_say(c, v);
	}
	advance_endings(c);
	rf_beat_advance(c);
}

/* What would give rights to a leadership that was lost later in the same step. */
static bool withdrawn(const struct rf_core *c, const struct rf_effect *e)
{
	return (e->kind == RF_DO_GRANT || e->kind == RF_DO_EVICT) &&
	       !rf_owning(&c->volume[e->fence.volume]);
}

/* Hand the effects out, kind by kind, in the order of duty (core.h). */
static void hand_out(struct rf_core *c, struct rf_effects *out)
{
	out->count = 0;
	for (int kind = RF_DO_REVOKE; kind <= RF_DO_LAST; kind++)
		for (uint32_t i = 0; i < c->count; i++)
			if ((int)c->queue[i].kind == kind && !withdrawn(c, &c->queue[i]))
				out->effect[out->count++] = c->queue[i];
	rf_assert(out->count <= c->count);
	rf_assert(c->arena_used <= c->arena_max && c->says <= c->say_max);
}

/*
 * This node stood still (a stopped process, a paused machine): what it did not see
 * meanwhile is no silence. §4: everybody is owed the suspect time again.
 */
static void advance_gap(struct rf_core *c, uint64_t now)
{
	if (now - c->now < c->hb_ns + c->suspect_ns / 2)
		return;
	c->awake_ns = now;
	/* §3: long enough for another host to be given this node's id: nothing is written
	 * before the own slot was looked at */
	if (now - c->now >= c->super.timing.slot_timeout_ms * RF_MS_NS) {
		c->doubt_ns = now;
		c->doubt_seen = 0;
	}
	rf_each_volume (c, v)
		v->seen_ns = now;
}

void rf_core_step(struct rf_core *c, const struct rf_event *e, struct rf_effects *out)
{
	rf_assert(e->kind >= RF_EV_TICK && e->kind <= RF_EV_LAST);
	rf_assert(e->now_ns >= c->now);
	if (RF_RULE(GAP, c->join.stage == JOIN_DONE))
		advance_gap(c, e->now_ns);
	c->now = e->now_ns;
	if (e->unix_ns)
		c->unix_ns = e->unix_ns;
	c->count = 0;
	c->says = 0;
	c->arena_used = 0;
	if (!c->halted)
		note(c, e);
	if (!c->halted)
		advance(c);
	hand_out(c, out);
}
