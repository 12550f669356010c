/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A leadership from the open gate to the closed one (§8):
 *
 *   opened -> committed state loaded -> reconcile hook -> active, promote hook
 *   lost   -> revoke and drain -> cancel all work, demote hook -> slot CLOSED
 *          -> epoch RELEASED (if it was not superseded)
 */
#include "state.h"

#define FRUITLESS_MAX 3u
#define HOOK_BIT(h) ((uint8_t)(1u << (h)))

/* ---- history ---- */

static void history_change(struct rf_core *c, struct volume *v)
{
	struct rf_history *h = &v->history;

	rf_assert(v->my_epoch && (v->role == RF_ROLE_ACTIVE || v->role == RF_ROLE_FOLLOWER));
	h->seq++;
	h->epoch = v->my_epoch;
	h->incarnation = c->incarnation;
	h->owner = c->me;
	h->excluded_by = v->exclude.excluded_by;
	__builtin_memcpy(h->host, c->cfg.host, sizeof(h->host));
	v->history_push.version++;
	v->history_push.index = (uint32_t)(v->my_epoch % c->super.history);
	rf_history_encode(v->history_push.bytes, &c->super.id, v->number, v->history_push.index,
			  h);
	rf_push(c, &v->history_push); /* now: a node that leaves says FREE in this very step */
}

/* ---- the life of a leadership (§8) ---- */

/* Roles are numbered in the order of that life: a step up, or one of the ways out. */
void rf_role_set(struct volume *v, enum rf_role role)
{
	enum rf_role was = v->role;

	rf_assert((role == was + 1 && role <= RF_ROLE_ACTIVE) || role == RF_ROLE_STOPPED ||
		  (role == RF_ROLE_FOLLOWER &&
		   (was == RF_ROLE_CANDIDATE || was == RF_ROLE_CLAIMING ||
		    was == RF_ROLE_CLOSING)) ||
		  (role == RF_ROLE_CLOSING && rf_owning(v)));
	rf_assert(role != RF_ROLE_FOLLOWER || !v->slot_open); /* CLOSED is said first */
	v->role = role;
}

/* ---- up ---- */

void rf_lead_loaded(struct rf_core *c, struct volume *v)
{
	rf_assert(v->role == RF_ROLE_LOADING);
	rf_role_set(v, RF_ROLE_RECONCILING);
	rf_emit_hook(c, v, RF_HOOK_RECONCILE);
}

static void become_active(struct rf_core *c, struct volume *v)
{
	rf_role_set(v, RF_ROLE_ACTIVE);
	v->fruitless = 0;
	v->history.reconcile_us = rf_us(c->now - v->mark_ns);
	v->history.start_unix_ns = c->unix_ns;
	history_change(c, v);
	rf_say_own(c, v, RF_SAY_ACTIVE, v->history.cause, c->now - v->campaign_ns);
	rf_emit_hook(c, v, RF_HOOK_PROMOTE);
}

void rf_lead_hook(struct rf_core *c, struct volume *v, uint32_t hook, uint64_t epoch,
		  int32_t status)
{
	if (epoch != v->my_epoch || hook < 1 || hook > RF_HOOK_LAST)
		return;
	if (v->role == RF_ROLE_CLOSING) {
		v->closing.hooks &= (uint8_t)~HOOK_BIT(hook);
	} else if (v->role == RF_ROLE_RECONCILING && hook == RF_HOOK_RECONCILE) {
		if (status == 0) {
			become_active(c, v);
			return;
		}
		rf_say_own(c, v, RF_SAY_RECONCILE_FAILED, (uint64_t)(int64_t)status, 0);
		rf_lead_lose(c, v, RF_CAUSE_RECONCILE, 0);
	}
}

/* ---- down ---- */

/* How long this node lets others campaign first after it left by itself. */
static uint64_t holdoff(const struct rf_core *c, enum rf_cause cause)
{
	static const uint8_t suspects[RF_CAUSE_LAST + 1] = {
		[RF_CAUSE_RESIGNED] = 4,   [RF_CAUSE_HANDOVER] = 4, [RF_CAUSE_ISOLATED] = 2,
		[RF_CAUSE_RECONCILE] = 10, [RF_CAUSE_GATE] = 2,     [RF_CAUSE_EXPIRED] = 2};

	rf_assert(cause <= RF_CAUSE_LAST);
	return suspects[cause] * c->suspect_ns +
	       (cause == RF_CAUSE_ISOLATED ? c->isolation_ns : 0);
}

bool rf_lead_voluntary(enum rf_cause cause)
{
	return cause == RF_CAUSE_RESIGNED || cause == RF_CAUSE_HANDOVER ||
	       cause == RF_CAUSE_SHUTDOWN;
}

static void revoke(struct rf_core *c, struct volume *v)
{
	v->closing.revoking = true;
	rf_emit_fence(c, RF_DO_REVOKE, v, 0);
}

/*
 * The claim that ended this epoch, 0 = none: then it may be released. A ballot of e+1
 * supersedes before it is known to be decided, so it is named by its instance; a
 * superseded owner never writes the epoch sector again (it would turn it back).
 */
static uint64_t ended_by(const struct volume *v, enum rf_cause cause)
{
	rf_assert(v->role == RF_ROLE_CLOSING && v->my_epoch);
	if (v->epoch > v->my_epoch)
		return v->epoch;
	return cause == RF_CAUSE_SUPERSEDED ? v->my_epoch + 1 : 0;
}

/* §6, learnt by whatever read: before anything else is done under this epoch. */
void rf_lead_check(struct rf_core *c, struct volume *v)
{
	if (RF_RULE(RENEW_CHECK, rf_owning(v) && v->epoch > v->my_epoch))
		rf_lead_superseded(c, v);
}

void rf_lead_superseded(struct rf_core *c, struct volume *v)
{
	rf_assert(rf_owning(v) && v->epoch >= v->my_epoch);
	rf_emit_say(c, v, RF_SAY_SUPERSEDED, v->owner, v->my_epoch, v->epoch, 0);
	rf_lead_lose(c, v, RF_CAUSE_SUPERSEDED, 0);
}

void rf_lead_lose(struct rf_core *c, struct volume *v, enum rf_cause cause, uint32_t to)
{
	bool worked = v->role >= RF_ROLE_RECONCILING;

	if (v->role == RF_ROLE_CLAIMING) /* a candidate has given up by itself */
		rf_campaign_abandon(c, v, c->hb_ns);
	if (!rf_owning(v))
		return;
	rf_say_own(c, v, RF_SAY_LOSING, cause, 0);
	rf_commit_lost(c, v);
	rf_role_set(v, RF_ROLE_CLOSING);
	v->exclude.evicting = false;
	v->closing = (struct closing){.cause = cause,
				      .to = to,
				      .since_ns = c->now,
				      .worked = worked,
				      .quiet = !worked,
				      .by_epoch = ended_by(v, cause)};
	/* each leadership costs an epoch: one whose gate refuses is tried less often, but
	 * soon enough to be there when the gate works again */
	v->holdoff_ns = c->now + (holdoff(c, cause) << v->fruitless);
	v->fruitless += cause == RF_CAUSE_GATE && v->fruitless < FRUITLESS_MAX;
	v->history.end_cause = cause;
	revoke(c, v); /* §8: the gate first */
	rf_slot_change(c);
}

/* The answer to a revoke is a proof that nothing of this epoch is in flight; so is
 * STALE: the enforcement point admits only a newer epoch. */
void rf_lead_revoked(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t result)
{
	struct closing *k = &v->closing;

	if (v->role != RF_ROLE_CLOSING || epoch != v->my_epoch || k->drained)
		return;
	k->revoking = false;
	if (result == RF_FENCE_OK || result == RF_FENCE_STALE) {
		k->drained = true;
		c->health &= ~RF_HEALTH_UNDRAINED;
		rf_emit_say(c, v, RF_SAY_DRAINED, c->me, epoch, c->now - k->since_ns, 0);
		return;
	}
	k->retry_ns = c->now + c->hb_ns;
	c->health |= RF_HEALTH_UNDRAINED;
	if (!k->undrained_said)
		rf_emit_say(c, v, RF_SAY_UNDRAINED, c->me, epoch, c->now - k->since_ns, 0);
	k->undrained_said = true;
}

/* A device that is stuck must not keep the work under it alive. */
static void cancel(struct rf_core *c, struct volume *v)
{
	struct closing *k = &v->closing;

	if (k->cancelled || !k->worked || !(k->drained || c->now - k->since_ns >= c->grace_ns))
		return;
	k->cancelled = true;
	*rf_emit(c, RF_DO_CANCEL) =
		(struct rf_effect){.kind = RF_DO_CANCEL, .cancel = {v->number, v->my_epoch}};
	if (!rf_lead_voluntary(k->cause)) {
		k->hooks |= HOOK_BIT(RF_HOOK_LOST);
		rf_emit_hook(c, v, RF_HOOK_LOST);
	}
	k->hooks |= HOOK_BIT(RF_HOOK_DEMOTE);
	rf_emit_hook(c, v, RF_HOOK_DEMOTE);
}

static void tell(struct rf_core *c, struct volume *v)
{
	struct closing *k = &v->closing;
	/* §7.1: the acknowledgement names the claim it saw */
	struct rf_msg m = {.kind = RF_WIRE_CLOSED,
			   .closed = {k->by_epoch, (uint16_t)v->number}};

	if (!k->by_epoch) {
		rf_say_own(c, v, RF_SAY_RELEASED, k->to, 0);
		m = (struct rf_msg){
			.kind = RF_WIRE_RELEASED,
			.released = {v->my_epoch, (uint16_t)v->number, (uint16_t)k->to}};
	}
	rf_emit_send(c, 0, &m);
}

static void finish(struct rf_core *c, struct volume *v)
{
	struct closing *k = &v->closing;

	rf_say_own(c, v, RF_SAY_CLOSED, k->cause, c->now - k->since_ns);
	if (!k->by_epoch)
		v->epoch_state = RF_EPOCH_RELEASED;
	v->last_cause = k->cause;
	rf_role_set(v, RF_ROLE_FOLLOWER);
	v->campaign.at_ns = 0;
	v->history.end_unix_ns = c->unix_ns;
	if (v->history.start_unix_ns)
		history_change(c, v);
	tell(c, v);
}

static void close_slot(struct rf_core *c, struct volume *v)
{
	struct closing *k = &v->closing;

	/* §8: CLOSED only when drained and all work under it is gone */
	if (RF_RULE(DRAIN, !k->drained) || !k->quiet || k->hooks)
		return;
	k->by_epoch = ended_by(v, k->cause);
	if (v->slot_open) {
		v->slot_open = false;
		rf_slot_change(c);
	}
	if (!k->by_epoch && v->sector_record.state != RF_EPOCH_RELEASED) {
		rf_sector_set(c, v, RF_EPOCH_RELEASED);
		rf_push(c, &v->sector);
	}
	if (!k->close_seq || rf_slot_majority(c) < k->close_seq)
		return;
	if (!k->by_epoch && !rf_push_settled(c, &v->sector))
		return;
	finish(c, v);
}

void rf_lead_advance(struct rf_core *c, struct volume *v)
{
	struct closing *k = &v->closing;

	rf_push(c, &v->history_push);
	if (v->role != RF_ROLE_CLOSING)
		return;
	if (!k->drained && !k->revoking && c->now >= k->retry_ns)
		revoke(c, v);
	cancel(c, v);
	close_slot(c, v);
}
