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

static bool newer(uint64_t epoch, uint64_t version, uint64_t than_epoch, uint64_t than_version)
{
	return epoch > than_epoch || (epoch == than_epoch && version > than_version);
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
	/* over the older one */
	k->half = newer(k->half_epoch[0], k->half_version[0], k->half_epoch[1],
			k->half_version[1]);
	rf_assert(v->role >= RF_ROLE_LOADING && v->role <= RF_ROLE_ACTIVE);
	rf_assert(newer(v->my_epoch, k->version, k->half_epoch[k->half],
			k->half_version[k->half]));
	k->writing = true;
	k->done = k->failed = 0;
	k->began_ns = c->now;
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
	enum rf_claim_verdict verdict = RF_CLAIM_UNREADABLE;

	if (!k->writing || op->tag != k->id)
		return;
	if (region)
		verdict = rf_region_judge(c, v, op->disk, region, v->my_epoch);
	if (RF_RULE(COMMIT_CHECK, verdict == RF_CLAIM_SUPERSEDED)) {
		k->writing = false;
		if (k->is_put)
			refuse(c, v);
		rf_lead_lose(c, v, RF_CAUSE_SUPERSEDED, 0);
	} else if (verdict == RF_CLAIM_UNREADABLE) {
		k->failed |= DISK_BIT(op->disk);
	} else {
		k->done |= DISK_BIT(op->disk);
	}
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
	*k = (struct commit){.id = k->id, .loading = true, .began_ns = c->now};
	v->read_retry_ns = 0;
}

static void weigh_half(struct rf_core *c, struct volume *v, uint32_t node, uint32_t half,
		       const uint8_t *bytes)
{
	struct commit *k = &v->commit;
	struct rf_state s;

	if (rf_state_decode(bytes, &c->super.id, v->number, node, half, &s) != RF_RECORD_OK ||
	    !rf_state_payload_ok(bytes, rf_geo_half_bytes(&c->super), &s))
		return; /* torn: such a write was never acknowledged */
	if (node == c->me &&
	    newer(s.epoch, s.version, k->half_epoch[half], k->half_version[half])) {
		k->half_epoch[half] = s.epoch;
		k->half_version[half] = s.version;
	}
	if (node == c->me && s.seq > k->id)
		k->id = s.seq;
	if (!newer(s.epoch, s.version, k->best_epoch, k->best_version) || s.epoch == 0)
		return;
	rf_assert(s.length_bytes <= rf_geo_payload_bytes(&c->super));
	k->best_epoch = s.epoch;
	k->best_version = s.version;
	k->length = s.length_bytes;
	memcpy(v->payload, bytes + RF_RECORD_BYTES, s.length_bytes);
}

void rf_commit_states(struct rf_core *c, struct volume *v, uint32_t disk, const uint8_t *states)
{
	struct commit *k = &v->commit;
	uint64_t half = rf_geo_half_bytes(&c->super);

	if (v->role != RF_ROLE_LOADING || !k->loading || k->done & DISK_BIT(disk))
		return;
	if (!states) {
		v->read_retry_ns = c->now + c->hb_ns / 2;
		return;
	}
	for (uint32_t j = 1; j <= c->nodes; j++)
		for (uint32_t h = 0; h < 2; h++)
			weigh_half(c, v, j, h, states + (2ull * (j - 1) + h) * half);
	k->done |= DISK_BIT(disk);
}

static void read_states(struct rf_core *c, struct volume *v)
{
	uint8_t skip = v->commit.done;

	/* Only disks that have my ballot: a put of an older leader that reaches such a
	 * disk after this read, reads the ballot there and is not acknowledged (§5). */
	if (RF_RULE(STATES_DISKS, true))
		skip |= (uint8_t)~v->phase2;
	if (c->now >= v->read_retry_ns)
		rf_read(c, OP_STATES, v->number, 0, skip);
}

static void loaded(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;

	k->loading = false;
	/* Epoch 0: nothing was ever committed. That is written, too: else a late write
	 * of an older leader would come to light under the next one. */
	if (k->best_epoch >= v->my_epoch) { /* a later leader has been at work already */
		rf_lead_superseded(c, v);
		return;
	}
	k->version = k->best_version;
	k->is_put = false;
	if (RF_RULE(RECOMMIT, true)) {
		write_half(c, v);
		return;
	}
	rf_say_own(c, v, RF_SAY_LOADED, k->version, k->length);
	rf_lead_loaded(c, v);
}

/* ---- going on ---- */

static void settle(struct rf_core *c, struct volume *v)
{
	struct commit *k = &v->commit;
	enum rf_verdict verdict = rf_disks_verdict(c, k->done, k->failed);

	if (verdict == RF_PENDING && c->now - k->began_ns < 2 * c->lease_ns)
		return;
	k->writing = false;
	if (verdict == RF_WON) {
		k->half_epoch[k->half] = v->my_epoch;
		k->half_version[k->half] = k->version;
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
	bool leads = v->role >= RF_ROLE_LOADING && v->role <= RF_ROLE_ACTIVE;

	if (!leads) {
		if (k->writing && k->is_put)
			refuse(c, v);
		k->loading = k->writing = false;
		return;
	}
	if (k->loading && rf_most(c, k->done))
		loaded(c, v);
	else if (k->loading)
		read_states(c, v);
	else if (k->writing)
		settle(c, v);
}
