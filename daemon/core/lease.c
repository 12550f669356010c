/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lease (§8): opening the gate, keeping it open, noticing that it ends.
 *
 * On each disk a renewal is [write own slot with OPEN -> read claim region]. The
 * time that counts is the one before the slot write was submitted. With several
 * disks the lease runs from the time that a majority of disks can vouch for.
 */
#include "state.h"

bool rf_renewing(const struct volume *v)
{
	bool renewing = v->role >= RF_ROLE_OPENING && v->role <= RF_ROLE_ACTIVE;

	rf_assert(!renewing || (v->slot_open && v->my_epoch));
	return renewing;
}

/* §8: the first grant is a renewal too; the slot says OPEN before the gate opens. */
void rf_lease_open(struct rf_core *c, struct volume *v)
{
	rf_assert(v->role == RF_ROLE_EXCLUDING);
	rf_assert(v->my_epoch <= v->epoch && rf_push_settled(c, &v->sector));
	v->history.claim_us = rf_us(v->exclude.phase2_ns - v->step.began_ns);
	v->history.prevote_us = rf_us(v->step.began_ns - v->campaign_ns);
	v->history.exclude_us = rf_us(c->now - v->exclude.phase2_ns);
	rf_role_set(v, RF_ROLE_OPENING);
	v->slot_open = true;
	v->mark_ns = c->now;
	v->lease = (struct lease){.margin_min_ns = (int64_t)c->lease_ns};
	rf_slot_change(c);
}

static void grant(struct rf_core *c, struct volume *v)
{
	struct lease *l = &v->lease;

	if (l->granting || (l->sent_ns >= l->deadline_ns && !l->again) ||
	    l->deadline_ns <= c->now)
		return;
	/* a fence without deadlines is told once (§7 aborted needs no lease), and once more
	 * when it was away: what it was told it has forgotten */
	if (l->opened && !(v->can & RF_FENCE_CAN_DEADLINE) && (!l->again || !v->can))
		return;
	rf_assert(rf_renewing(v) && l->deadline_ns <= c->now + c->lease_ns);
	l->granting = true;
	l->again = false;
	l->sent_ns = l->deadline_ns;
	rf_emit_fence(c, RF_DO_GRANT, v, l->deadline_ns);
}

static void extend(struct rf_core *c, struct volume *v, uint64_t begun_ns)
{
	struct lease *l = &v->lease;
	uint64_t deadline = rf_majority_reaches(l->renewed_ns, c->disks);
	int64_t margin = (int64_t)(l->deadline_ns - c->now);

	if (!deadline)
		return;
	deadline += c->lease_ns;
	rf_assert(deadline <= c->now + c->lease_ns); /* §2.4: counted from before */
	if (deadline <= l->deadline_ns)
		return;
	if (l->opened && margin < l->margin_min_ns)
		l->margin_min_ns = margin;
	if (l->opened && margin < 0)
		rf_say_own(c, v, RF_SAY_RENEW_LATE, (uint64_t)-margin, 0);
	else if (l->opened && c->now - begun_ns > c->lease_ns / 3 * 2)
		rf_say_own(c, v, RF_SAY_MARGIN, c->lease_ns - (c->now - begun_ns), c->lease_ns);
	l->deadline_ns = deadline;
	l->held_said = false;
	grant(c, v);
}

/* §6: a slow winner turned the sector back. The owner of the highest decided epoch
 * writes its own again; once the present write has reached that disk. */
static void restore_sector(struct rf_core *c, struct volume *v, uint32_t disk,
			   const uint8_t *region)
{
	struct rf_epoch found = {0};

	if (!RF_RULE(REWRITE, true) || v->sector.done[disk] != v->sector.version)
		return;
	rf_epoch_decode(region, &c->super.id, v->number, &found);
	rf_say_own(c, v, RF_SAY_REWRITE_EPOCH, found.epoch, 0);
	rf_sector_set(c, v, RF_EPOCH_CLAIMED);
}

void rf_lease_observe(struct rf_core *c, struct volume *v, const struct op *op,
		      const uint8_t *region)
{
	struct lease *l = &v->lease;
	enum rf_claim_verdict verdict;
	uint64_t at = RF_RULE(TIME_BEFORE, true) ? op->counts_ns : c->now; /* §2.4 */

	if (!rf_renewing(v) || !l->open_seq || op->tag < l->open_seq)
		return;
	verdict = rf_region_judge(c, v, op->disk, region, v->my_epoch);
	if (RF_RULE(RENEW_CHECK, verdict == RF_CLAIM_SUPERSEDED)) {
		rf_lead_superseded(c, v);
		return;
	}
	/* unreadable: cannot tell, so no renewal (§1); released: never mine again */
	if (verdict == RF_CLAIM_UNREADABLE || verdict == RF_CLAIM_RELEASED)
		return;
	if (verdict == RF_CLAIM_OTHER)
		restore_sector(c, v, op->disk, region);
	l->renewed_ns[op->disk] = rf_later(l->renewed_ns[op->disk], at);
	extend(c, v, op->counts_ns);
}

/* §8: it says what it can do: perhaps it died, and another is in its place. One without
 * deadlines has two leases to hear what is led, as at the beginning. */
void rf_lease_fence_said(struct rf_core *c, struct volume *v)
{
	struct lease *l = &v->lease;

	if (!rf_renewing(v))
		return;
	l->again = true;
	if (v->can && !(v->can & RF_FENCE_CAN_DEADLINE) && !l->fenced_ns)
		l->fenced_ns = c->now + 2 * c->lease_ns;
	grant(c, v);
}

void rf_lease_granted(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t result)
{
	struct lease *l = &v->lease;

	if (!rf_renewing(v) || epoch != v->my_epoch || !l->granting)
		return;
	l->granting = false;
	if (result == RF_FENCE_OK)
		l->fenced_ns = v->can & RF_FENCE_CAN_DEADLINE ? l->sent_ns : 0;
	if (result == RF_FENCE_OK && !l->opened) {
		l->opened = true;
		v->history.open_us = rf_us(c->now - v->mark_ns);
		rf_say_own(c, v, RF_SAY_OPENED, l->deadline_ns - c->now, 0);
		rf_commit_load(c, v);
	} else if (result == RF_FENCE_OK) {
		grant(c, v);
	} else if (result == RF_FENCE_STALE) {
		rf_emit_say(c, v, RF_SAY_SUPERSEDED, 0, v->my_epoch, 0, 0);
		rf_lead_lose(c, v, RF_CAUSE_SUPERSEDED, 0);
	} else {
		rf_say_own(c, v, RF_SAY_GATE_FAILED, RF_FENCE_GRANT, result);
		if (!l->opened)
			rf_lead_lose(c, v, RF_CAUSE_GATE, 0);
		l->again = true; /* an open gate runs out by itself; try at the next renewal */
	}
}

void rf_lease_advance(struct rf_core *c, struct volume *v)
{
	struct lease *l = &v->lease;

	if (!rf_renewing(v))
		return;
	if (!l->opened) {
		if (c->now - v->mark_ns >= 2 * c->lease_ns)
			rf_lead_lose(c, v, RF_CAUSE_EXPIRED, 0);
		return;
	}
	if (c->now < l->deadline_ns) {
		/* §8: the disks renew, but the fence has not heard of it: shut for good */
		if (l->fenced_ns && c->now >= l->fenced_ns + c->hold_ns)
			rf_lead_lose(c, v, RF_CAUSE_GATE, 0);
		return;
	}
	if (!l->held_said) {
		l->held_said = true;
		rf_say_own(c, v, RF_SAY_LEASE_HELD, c->now - l->deadline_ns, 0);
	}
	if (RF_RULE(EXPIRE, c->now - l->deadline_ns >= c->hold_ns))
		rf_lead_lose(c, v, RF_CAUSE_EXPIRED, 0);
}
