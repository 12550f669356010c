/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exclusion (§7): before I open my gate for e, every older owner must certainly
 * have stopped. Also the epoch sector, which announces the new owner (§5).
 */
#include <string.h>

#include "state.h"

/* ---- epoch sector ---- */

void rf_sector_set(struct rf_core *c, struct volume *v, uint32_t state)
{
	struct rf_epoch *r = &v->sector_record;

	/* claimed while it is mine; released when the slot no longer says OPEN (§8) */
	rf_assert(v->my_epoch != 0);
	rf_assert(state == RF_EPOCH_CLAIMED ? rf_owning(v)
					    : v->role == RF_ROLE_CLOSING && !v->slot_open);
	v->sector.version++;
	*r = (struct rf_epoch){.seq = r->seq + 1,
			       .epoch = v->my_epoch,
			       .incarnation = c->incarnation,
			       .unix_ns = c->unix_ns,
			       .owner = c->me,
			       .state = state};
	rf_epoch_encode(v->sector.bytes, &c->super.id, v->number, r);
}

/* ---- beginning ---- */

void rf_exclusion_begin(struct rf_core *c, struct volume *v)
{
	rf_assert(v->mine.instance > v->my_epoch && v->mine.instance <= v->epoch);
	rf_assert(v->mine.value_node == c->me && v->mine.value_incarnation == c->incarnation);
	rf_assert(rf_most(c, v->phase2));
	rf_assert(!v->slot_open);
	rf_role_set(v, RF_ROLE_EXCLUDING);
	v->my_epoch = v->mine.instance;
	v->mark_ns = c->now;
	v->read_retry_ns = 0;
	memset(v->exclusion, 0, sizeof(*v->exclusion) * (c->nodes + 1));
	v->exclude = (struct excluding){.phase2_ns = c->now, .poll_ns = c->now};
	v->lease = (struct lease){0};
	v->closing = (struct closing){0};
	rf_sector_set(c, v, RF_EPOCH_CLAIMED);
	rf_beat_send(c); /* a hint for others: do not campaign against me now */
}

/* ---- the fresh read (§7) ---- */

/* Only disks on which my phase 2 write is durable: three unrelated majorities need
 * not share a disk (§5). */
static void read_fresh(struct rf_core *c, struct volume *v)
{
	uint8_t never = RF_RULE(PHASE2_DISKS, true) ? (uint8_t)~v->phase2 : 0;

	if (c->now < v->read_retry_ns)
		return;
	rf_read(c, OP_FRESH, v->number, 0, v->exclude.fresh_region | never);
	rf_read(c, OP_SLOTS, v->number, 0, v->exclude.fresh_slots | never);
}

void rf_exclusion_region(struct rf_core *c, struct volume *v, const struct op *op,
			 const uint8_t *region)
{
	enum rf_claim_verdict verdict;

	if (v->role != RF_ROLE_EXCLUDING || op->tag != v->my_epoch)
		return;
	verdict = rf_region_judge(c, v, op->disk, region, v->my_epoch);
	if (RF_RULE(FRESH_REGION, verdict == RF_CLAIM_SUPERSEDED)) {
		rf_lead_superseded(c, v);
	} else if (verdict == RF_CLAIM_UNREADABLE) {
		v->read_retry_ns = c->now + c->hb_ns / 2;
	} else {
		v->exclude.fresh_region |= DISK_BIT(op->disk);
	}
}

/* The newest record by sequence; a copy that cannot be read does not count. */
static void merge_slot(struct rf_core *c, struct volume *v, uint32_t node, uint32_t disk,
		       const uint8_t *record)
{
	struct exclusion *x = &v->exclusion[node];
	struct rf_slot s;

	if (rf_slot_decode(record, &c->super.id, node, &s) != RF_RECORD_OK) {
		rf_emit_say(c, v, RF_SAY_UNREADABLE, node, v->my_epoch, disk, RF_KIND_SLOT);
		return;
	}
	rf_assert(!(x->readable & DISK_BIT(disk)));
	x->readable |= DISK_BIT(disk);
	if (s.seq < x->seq)
		return;
	x->open = (s.seq == x->seq && x->open) || rf_bit_get(s.gate_open, v->number);
	x->seq = s.seq;
	x->incarnation = s.incarnation;
}

void rf_exclusion_slots(struct rf_core *c, struct volume *v, const struct op *op,
			const uint8_t *slots)
{
	if (v->role != RF_ROLE_EXCLUDING || op->tag != v->my_epoch)
		return;
	if (!slots) {
		v->read_retry_ns = c->now + c->hb_ns / 2;
		return;
	}
	rf_each_other (c, j) {
		const uint8_t *record = slots + 2ull * (j - 1) * c->super.id.stride_bytes;

		rf_peer_slot(c, j, op->disk, record);
		merge_slot(c, v, j, op->disk, record);
	}
	v->exclude.fresh_slots |= DISK_BIT(op->disk);
}

/* ---- one node out ---- */

static void out(struct rf_core *c, struct volume *v, uint32_t node, uint32_t way)
{
	struct exclusion *x = &v->exclusion[node];

	rf_assert(node != c->me && v->role == RF_ROLE_EXCLUDING && !x->way);
	x->way = way;
	v->exclude.excluded_by |= way;
	if (way != RF_WAY_CLOSED)
		rf_emit_say(c, v, RF_SAY_OUT, node, v->my_epoch, way, 0);
}

#ifdef RF_MUTANT
/* The mutant without the fresh read: what was read before the ballot must do. */
static void believe_old_readings(struct rf_core *c, struct volume *v)
{
	for (uint32_t j = 1; j <= c->nodes && !RF_RULE(FRESH_READ, true); j++) {
		struct exclusion *x = &v->exclusion[j];

		x->open = rf_bit_get(c->peer[j].gate_open, v->number);
		x->seq = c->peer[j].disk_seq;
		x->incarnation = c->peer[j].incarnation;
		x->readable = (uint8_t)(DISK_BIT(c->disks) - 1);
	}
}
#endif

/* When its lease and the grace after it have passed, on any clock (§7.3). */
static uint64_t expiry_of(struct rf_core *c, struct volume *v, uint32_t node)
{
	const struct exclusion *x = &v->exclusion[node];
	const struct peer *p = &c->peer[node];
	bool readable = rf_most(c, x->readable);
	/* Unreadable: the moment phase 2 completed. That bound holds for every node:
	 * a renewal that did not read my ballot began before it was durable. */
	uint64_t read_ns = v->exclude.phase2_ns;
	uint64_t wait = c->expiry_ns;

	if (readable && p->disk_seq == x->seq && p->incarnation == x->incarnation &&
	    p->disk_seq_ns < read_ns)
		read_ns = p->disk_seq_ns; /* t_r: this sequence first read then */
#ifdef RF_MUTANT
	else if (readable && !RF_RULE(SEQUENCE_RESTART, true))
		read_ns = p->first_ns;
	if (!RF_RULE(GRACE, true))
		wait -= c->grace_ns;
	if (!RF_RULE(EPSILON, true))
		wait = c->lease_ns + c->grace_ns;
#endif
	/* never before a lease that could have been granted when phase 2 had not begun */
	rf_assert(read_ns <= v->exclude.phase2_ns || !RF_RULE(SEQUENCE_RESTART, true));
	return read_ns + wait;
}

static bool waits_for(const struct volume *v, const struct exclusion *x)
{
	return v->role == RF_ROLE_EXCLUDING && x->until_ns && !x->way;
}

static void judge_nodes(struct rf_core *c, struct volume *v)
{
	rf_each_other (c, j) {
		struct exclusion *x = &v->exclusion[j];
		bool readable = rf_most(c, x->readable);

		if (x->way || x->until_ns)
			continue;
		if (readable ? !x->open : !RF_RULE(UNREADABLE_OPEN, true)) {
			out(c, v, j, RF_WAY_CLOSED);
			continue;
		}
		x->until_ns = expiry_of(c, v, j);
		rf_emit_say(c, v, RF_SAY_EXCLUDE, j, v->my_epoch, x->incarnation,
			    x->until_ns > c->now ? x->until_ns - c->now : 0);
	}
}

/* ---- the three ways ---- */

/*
 * Acknowledged through the slot. One disk's copy suffices when it is newer than
 * the newest of the fresh read: to open again that node would have to read my
 * ballot first. An older copy on a disk that missed a write proves nothing.
 */
void rf_exclusion_seen(struct rf_core *c, uint32_t node, const struct rf_slot *s)
{
	rf_each_volume (c, v) {
		struct exclusion *x = &v->exclusion[node];

		if (waits_for(v, x) && s->seq > x->seq && rf_most(c, x->readable) &&
		    !rf_bit_get(s->gate_open, v->number))
			out(c, v, node, RF_WAY_ACKNOWLEDGED);
	}
}

/* Acknowledged by an authenticated message that names e. */
void rf_exclusion_closed(struct rf_core *c, struct volume *v, uint32_t node, uint64_t epoch)
{
	struct exclusion *x = &v->exclusion[node];

	if (waits_for(v, x) && epoch == v->my_epoch &&
	    x->incarnation == c->peer[node].incarnation)
		out(c, v, node, RF_WAY_ACKNOWLEDGED);
}

/* Aborted at the target. A fence that failed is never counted as done. */
void rf_exclusion_evicted(struct rf_core *c, struct volume *v, uint32_t result)
{
	v->exclude.evicting = false;
	if (v->role != RF_ROLE_EXCLUDING)
		return;
	if (result == RF_FENCE_OK) {
		v->exclude.evicted = true;
		return;
	}
	v->exclude.evict_retry_ns = c->now + c->hb_ns;
	rf_say_own(c, v, RF_SAY_EVICT_FAILED, result, 0);
	/* Either somebody is newer: look. Or the target found an older epoch in the
	 * sector, turned back by a slow winner: write ours again (§6). */
	rf_region_look(c, v);
	rf_sector_set(c, v, RF_EPOCH_CLAIMED);
}

static void evict(struct rf_core *c, struct volume *v)
{
	if (!(v->can & RF_FENCE_CAN_EVICT) || v->exclude.evicting || v->exclude.evicted ||
	    c->now < v->exclude.evict_retry_ns)
		return;
	/* the target checks the epoch sector itself */
	if (!rf_push_settled(c, &v->sector))
		return;
	v->exclude.evicting = true;
	rf_emit_fence(c, RF_DO_EVICT, v, 0);
}

static bool everybody_out(struct rf_core *c, struct volume *v)
{
	bool all = true;

	rf_each_other (c, j) {
		struct exclusion *x = &v->exclusion[j];

		if (x->way)
			continue;
		if (v->exclude.evicted)
			out(c, v, j, RF_WAY_ABORTED);
		else if (!RF_RULE(EXCLUSION, true) || c->now >= x->until_ns)
			out(c, v, j, RF_WAY_EXPIRED);
		else
			all = false;
	}
	return all;
}

/* While waiting: has somebody answered meanwhile? */
static void poll(struct rf_core *c, struct volume *v)
{
	if (c->now < v->exclude.poll_ns)
		return;
	v->exclude.poll_ns = c->now + c->hb_ns / 2;
	rf_each_other (c, j)
		if (waits_for(v, &v->exclusion[j]))
			rf_peer_read(c, j);
}

void rf_exclusion_advance(struct rf_core *c, struct volume *v)
{
	rf_push(c, &v->sector);
	if (v->role != RF_ROLE_EXCLUDING)
		return;
	evict(c, v);
	if (RF_RULE(FRESH_READ, true) &&
	    !rf_most(c, v->exclude.fresh_slots & v->exclude.fresh_region)) {
		read_fresh(c, v);
		return;
	}
#ifdef RF_MUTANT
	believe_old_readings(c, v);
#endif
	judge_nodes(c, v);
	if (!everybody_out(c, v)) {
		poll(c, v);
		return;
	}
	if (!rf_push_settled(c, &v->sector))
		return;
	rf_say_own(c, v, RF_SAY_EXCLUDED, v->exclude.excluded_by, c->now - v->mark_ns);
	rf_lease_open(c, v);
}
