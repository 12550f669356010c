/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What claim regions teach: who owns the highest epoch, and is anybody leading?
 */
#include "state.h"

void rf_decided_learn(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t owner,
		      uint64_t incarnation)
{
	rf_assert(epoch > v->epoch || !RF_RULE(LATER_STOP, true));
	v->epoch = epoch;
	v->owner = owner;
	v->owner_incarnation = incarnation;
	v->epoch_state = RF_EPOCH_CLAIMED;
	v->seen_ns = c->now;
}

/* Epochs are learnt only from disks, never from datagrams. */
static void learn_sector(struct rf_core *c, struct volume *v, const struct rf_claim_facts *f)
{
	if (f->sector_epoch < v->epoch)
		return;
	if (f->sector_epoch > v->epoch) {
		rf_decided_learn(c, v, f->sector_epoch, f->sector_owner, f->sector_incarnation);
		v->last_cause = RF_CAUSE_NONE;
		v->hint_epoch = 0;
	}
	/* an owner learnt from ballots stays; the sector adds what it knows */
	if (v->owner == 0) {
		v->owner = f->sector_owner;
		v->owner_incarnation = f->sector_incarnation;
	}
	if (v->epoch == 0 || v->epoch_state != RF_EPOCH_RELEASED)
		v->epoch_state = f->sector_state;
}

/* A hand-over whose datagram was quicker than the look at the disk. */
static void keep_promise(struct rf_core *c, struct volume *v)
{
	if (!v->promised_epoch || v->promised_epoch > v->epoch)
		return;
	if (v->promised_epoch == v->epoch && v->owner == v->promised_by &&
	    v->epoch_state == RF_EPOCH_RELEASED)
		rf_campaign_mandate(c, v);
	v->promised_epoch = 0;
}

enum rf_claim_verdict rf_region_judge(struct rf_core *c, struct volume *v, uint32_t disk,
				      const uint8_t *region, uint64_t epoch)
{
	struct rf_claim_facts f;
	enum rf_claim_verdict verdict;
	uint8_t was = v->unreadable;

	if (!region)
		return RF_CLAIM_UNREADABLE;
	verdict = rf_claim_check(region, &c->super.id, v->number, epoch, c->me, c->incarnation,
				 &f);
	v->unreadable &= (uint8_t)~DISK_BIT(disk);
	v->unreadable |= f.unreadable ? DISK_BIT(disk) : 0;
	if (v->unreadable & ~was) /* once a disk, not at each renewal */
		rf_emit_say(c, v, RF_SAY_UNREADABLE, 0, epoch, disk, f.unreadable);
	learn_sector(c, v, &f);
	v->instance = rf_later(v->instance, f.highest_instance);
	/* §6: a ballot of e+2 proves that e+1 was decided, though not for whom */
	if (f.highest_decided > v->epoch)
		rf_decided_learn(c, v, f.highest_decided, 0, 0);
	rf_assert(v->my_epoch <= v->epoch);
	keep_promise(c, v);
	return verdict;
}

void rf_region_read(struct rf_core *c, struct volume *v, const struct op *op,
		    const uint8_t *region)
{
	rf_region_judge(c, v, op->disk, region, 0);
	if (c->join.stage == JOIN_BALLOTS)
		rf_join_region(c, v, op->disk, region);
	v->look_done |= DISK_BIT(op->disk);
	if (v->role == RF_ROLE_CANDIDATE)
		v->campaign.read_done |= DISK_BIT(op->disk);
}

/* ---- looking again, when something hints at a change ---- */

void rf_region_look(struct rf_core *c, struct volume *v)
{
	if (v->look_ns)
		return;
	v->look_ns = c->now;
	v->look_done = 0;
}

void rf_region_look_advance(struct rf_core *c, struct volume *v)
{
	if (!v->look_ns)
		return;
	if (rf_most(c, v->look_done)) {
		v->look_ns = 0;
		return;
	}
	/* once at the wish, then once a beat, while disks do not answer */
	if (v->look_ns != c->now && c->now < c->beat_ns)
		return;
	rf_read(c, OP_REGION, v->number, 0, v->look_done);
}

/* ---- is anybody leading? ---- */

/*
 * Nobody leads when no epoch was ever owned, the owner released, its life is
 * over (its slot names another one), or it is suspected (§4): neither network
 * nor slot gave a life sign on this volume for the suspect time.
 */
bool rf_leaderless(const struct rf_core *c, const struct volume *v)
{
	const struct peer *p;

	if (v->epoch == 0 || v->epoch_state == RF_EPOCH_RELEASED)
		return c->now - v->hint_ns >= c->suspect_ns || v->hint_epoch <= v->epoch;
	if (rf_owning(v))
		return false;
	if (v->owner == c->me) /* an earlier life of mine, or one that I left */
		return true;
	if (v->owner) {
		p = &c->peer[v->owner];
		if (p->state == RF_SLOT_FREE ||
		    (p->state == RF_SLOT_JOINED && p->incarnation != v->owner_incarnation))
			return c->now - v->seen_ns >= c->hb_ns;
	}
	return c->now - v->seen_ns >= c->suspect_ns;
}

/* Say when the leader, as this node knows it, changes. */
void rf_leader_say(struct rf_core *c, struct volume *v)
{
	uint32_t leader = rf_leaderless(c, v) ? 0 : v->owner;
	bool released = v->epoch == 0 || v->epoch_state == RF_EPOCH_RELEASED;

	if (!leader && !released && v->owner && v->owner != c->me && !v->suspected) {
		v->suspected = true;
		rf_emit_say(c, v, RF_SAY_SUSPECT, v->owner, v->epoch, c->now - v->seen_ns, 0);
	} else if (leader) {
		v->suspected = false;
	}
	if (v->hint_epoch > v->epoch && c->now - v->hint_ns < c->suspect_ns)
		return; /* a change is under way: said when the disk names the owner */
	if (leader == v->leader_said && (v->epoch == v->leader_epoch_said || !leader))
		return;
	v->leader_said = leader;
	v->leader_epoch_said = v->epoch;
	if (leader)
		rf_emit_say(c, v, RF_SAY_LEADER, leader, v->epoch, v->owner_incarnation, 0);
	else
		rf_emit_say(c, v, RF_SAY_NO_LEADER, v->owner, v->epoch,
			    released                     ? RF_CAUSE_RELEASED
			    : v->role == RF_ROLE_CLOSING ? v->closing.cause
							 : RF_CAUSE_SILENCE,
			    0);
}
