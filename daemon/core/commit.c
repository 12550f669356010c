/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The committed state blob: small, replaced as a whole, found by every later
 * leader.
 *
 * A put is [write own state -> read the claim region] on a majority of disks,
 * and counts only when no region shows this epoch superseded: a later leader
 * reads all states after its own ballot is durable, so either it sees this
 * write, or this read sees its ballot. A new leader writes what it loaded again
 * under its own epoch before it acts on it, so that a late write of an older
 * leader, never acknowledged, cannot come to light under a third one.
 *
 * A blob is written to one half while the other keeps the last committed one: a
 * torn write never destroys what was acknowledged.
 */
#include <string.h>

#include "state.h"

static void refuse(struct rf_core *c, struct volume *v)
{
	rf_say_own(c, v, RF_SAY_STATE_REFUSED, v->commit.version, 0);
}

static bool newer(struct stamp a, struct stamp b)
{
	return a.epoch > b.epoch || (a.epoch == b.epoch && a.version > b.version);
}

/* ---- writing ---- */

static void write_half(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;
	struct rf_state s = {.seq = ++k->id,
			     .epoch = v->my_epoch,
			     .version = k->version,
			     .length_bytes = k->length,
			     .payload_crc = rf_crc32c(v->payload, k->length)};
	struct io io = {.purpose = OP_COMMIT,
			.volume = v->number,
			.tag = s.seq,
			.data = v->half,
			.data_len = RF_RECORD_BYTES + k->length};

	rf_assert(!k->writing && io.data_len <= rf_geo_half_bytes(&c->super));
	k->half = newer(k->own[0], k->own[1]); /* over the older one */
	rf_assert(v->role >= RF_ROLE_LOADING && v->role <= RF_ROLE_ACTIVE);
	rf_assert(newer((struct stamp){v->my_epoch, k->version}, k->own[k->half]));
	k->writing = true;
	k->done = k->failed = 0;
	rf_state_encode(v->half, &c->super.id, v->number, c->me, k->half, &s);
	memcpy(v->half + RF_RECORD_BYTES, v->payload, k->length);
	io.index = k->half;
	for (uint32_t d = 0; d < c->disks; d++)
		if (!rf_op_start(c, d, &io))
			k->failed |= DISK_BIT(d); /* still busy with an older one */
}

void rf_commit_wrote(struct rf_core *c, struct volume *v, const struct op *op,
		     const uint8_t *region)
{
	struct commit *k = &v->commit;
	enum rf_claim_verdict verdict;

	if (!k->writing || op->tag != k->id)
		return;
	rf_assert(v->role >= RF_ROLE_LOADING && v->role <= RF_ROLE_ACTIVE);
	verdict = rf_region_judge(c, v, op->disk, region, v->my_epoch);
	if (RF_RULE(COMMIT_CHECK, verdict == RF_CLAIM_SUPERSEDED))
		rf_lead_superseded(c, v);
	else if (verdict == RF_CLAIM_UNREADABLE)
		k->failed |= DISK_BIT(op->disk);
	else
		k->done |= DISK_BIT(op->disk);
}

void rf_commit_put(struct rf_core *c, struct volume *v, const uint8_t *data, uint32_t len)
{
	struct commit *k = &v->commit;

	/* reconciling, too: that is when what is left of the work is ended (§8) */
	if (v->role < RF_ROLE_RECONCILING || v->role > RF_ROLE_ACTIVE || k->writing ||
	    len > rf_geo_payload_bytes(&c->super) || (len && !data)) {
		refuse(c, v);
		return;
	}
	memcpy(v->payload, data, len);
	k->length = len;
	k->version++;
	k->is_put = true;
	write_half(c, v);
}

/* ---- loading ---- */

void rf_commit_load(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;

	rf_assert(v->lease.opened);
	rf_role_set(v, RF_ROLE_LOADING);
	v->mark_ns = c->now;
	*k = (struct commit){.id = k->id, .loading = true};
	v->read_retry_ns = 0;
}

static void weigh_half(struct rf_core *c, struct volume *v, uint32_t node, uint32_t half,
		       const uint8_t *bytes)
{
	struct commit *k = &v->commit;
	struct stamp found;
	struct rf_state s;

	if (rf_state_decode(bytes, &c->super.id, v->number, node, half, &s) != RF_RECORD_OK ||
	    !rf_state_payload_ok(bytes, rf_geo_half_bytes(&c->super), &s))
		return; /* torn: such a write was never acknowledged */
	found = (struct stamp){s.epoch, s.version};
	if (node == c->me && newer(found, k->own[half]))
		k->own[half] = found;
	if (node == c->me)
		k->id = rf_later(k->id, s.seq);
	if (!newer(found, k->best))
		return;
	rf_assert(s.length_bytes <= rf_geo_payload_bytes(&c->super));
	k->best = found;
	k->length = s.length_bytes;
	memcpy(v->payload, bytes + RF_RECORD_BYTES, s.length_bytes);
}

void rf_commit_states(struct rf_core *c, struct volume *v, const struct op *op,
		      const uint8_t *states)
{
	struct commit *k = &v->commit;
	uint64_t half = rf_geo_half_bytes(&c->super);

	/* what was read under an earlier epoch of mine is older than what came between */
	rf_assert(!k->loading || v->role == RF_ROLE_LOADING);
	if (!k->loading || RF_RULE(STATES_EPOCH, op->tag != v->my_epoch))
		return;
	if (!states) {
		v->read_retry_ns = c->now + c->hb_ns / 2;
		return;
	}
	for (uint32_t j = 1; j <= c->nodes; j++)
		for (uint32_t h = 0; h < 2; h++)
			weigh_half(c, v, j, h, states + (2ull * (j - 1) + h) * half);
	k->done |= DISK_BIT(op->disk);
}

static void read_states(struct rf_core *c, struct volume *v)
{
	/* Only disks that have my ballot: a put of an older leader that reaches such a
	 * disk after this read, reads the ballot there and is not acknowledged (§5). */
	uint8_t never = RF_RULE(STATES_DISKS, true) ? (uint8_t)~v->phase2 : 0;

	if (c->now >= v->read_retry_ns)
		rf_read(c, OP_STATES, v->number, 0, v->commit.done | never);
}

static void loaded(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;

	k->loading = false;
	/* Epoch 0: nothing was ever committed. That is written, too: else a late write
	 * of an older leader would come to light under the next one. */
	if (k->best.epoch >= v->my_epoch) { /* a later leader has been at work already */
		rf_lead_superseded(c, v);
		return;
	}
	k->version = k->best.version;
	k->is_put = false;
#ifdef RF_MUTANT
	if (!RF_RULE(RECOMMIT, true)) {
		rf_say_own(c, v, RF_SAY_LOADED, k->version, k->length);
		rf_lead_loaded(c, v);
		return;
	}
#endif
	write_half(c, v);
}

/* ---- going on, and ending ---- */

void rf_commit_lost(struct rf_core *c, struct volume *v)
{
	if (v->commit.writing && v->commit.is_put)
		refuse(c, v);
	v->commit.loading = v->commit.writing = false;
}

static void settle(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;
	enum rf_verdict verdict = rf_disks_verdict(c, k->done, k->failed);

	if (verdict == RF_PENDING)
		return; /* each write ends, at the latest by its deadline */
	k->writing = false;
	if (verdict == RF_WON) {
		k->own[k->half] = (struct stamp){v->my_epoch, k->version};
		rf_say_own(c, v, k->is_put ? RF_SAY_STATE_COMMITTED : RF_SAY_LOADED, k->version,
			   k->length);
		if (!k->is_put)
			rf_lead_loaded(c, v);
	} else if (k->is_put) {
		refuse(c, v); /* it may still come to light; the version is not used again */
	} else {
		rf_lead_lose(c, v, RF_CAUSE_EXPIRED, 0);
	}
}

void rf_commit_advance(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;
	if (k->loading && rf_most(c, k->done))
		loaded(c, v);
	else if (k->loading)
		read_states(c, v);
	else if (k->writing)
		settle(c, v);
}
