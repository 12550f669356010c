/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Oracle 3: an epoch is handed out once, to one life, for ever; and ballots keep
 * their promises, over restarts too: on no disk does a single-writer record go
 * back, whoever's late write it was.
 */
#include "oracle.h"

void oracle_epoch_owned(struct world *w, uint32_t volume, uint64_t epoch, uint32_t node,
			uint64_t incarnation, const char *how)
{
	struct owner *o = oracle_owner(w, volume, epoch);

	if (!o->node) {
		o->node = node;
		o->incarnation = incarnation;
		if (epoch > w->oracles->highest[volume])
			w->oracles->highest[volume] = epoch;
		return;
	}
	if (o->node != node || o->incarnation != incarnation)
		violate(w, "epoch", "epoch %llu of vol=%u was n%u/%llx, now %s n%u/%llx",
			(unsigned long long)epoch, volume, o->node,
			(unsigned long long)o->incarnation, how, node,
			(unsigned long long)incarnation);
}

static bool goes_back(const struct rf_ballot *now, const struct rf_ballot *was)
{
	return now->instance < was->instance ||
	       (now->instance == was->instance &&
		(now->mbal < was->mbal || now->bal < was->bal));
}

/* What reached only a minority of the disks a new life need not know (Disk Paxos:
 * nothing was promised or chosen by it). */
static bool majority_has(struct world *w, uint32_t volume, uint32_t node,
			 const struct rf_ballot *was)
{
	uint32_t have = 0;
	struct rf_ballot b;

	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		const uint8_t *at = disk_cell(w, d, rf_geo_ballot(&w->super, volume, node));

		have += rf_ballot_decode(at, &w->super.id, volume, node, &b) == RF_RECORD_OK &&
			b.seq == was->seq;
	}
	return 2 * have > w->super.disk_count;
}

static void ballot(struct world *w, const struct disk_op *op, const uint8_t *cell,
		   uint32_t volume, uint32_t node)
{
	struct rf_ballot was, now;

	if (rf_ballot_decode(cell, &w->super.id, volume, node, &was) != RF_RECORD_OK)
		return;
	if (rf_ballot_decode(op->data, &w->super.id, volume, node, &now) != RF_RECORD_OK) {
		violate(w, "epoch", "n%u writes a ballot on vol=%u that nobody can read", node,
			volume);
		return;
	}
	if (now.seq < was.seq || (goes_back(&now, &was) && majority_has(w, volume, node, &was)))
		violate(w, "epoch",
			"ballot of n%u on vol=%u disk %u goes back: {%llu %llx %llx} seq %llx "
			"after {%llu %llx %llx} seq %llx",
			node, volume, op->disk, (unsigned long long)now.instance,
			(unsigned long long)now.mbal, (unsigned long long)now.bal,
			(unsigned long long)now.seq, (unsigned long long)was.instance,
			(unsigned long long)was.mbal, (unsigned long long)was.bal,
			(unsigned long long)was.seq);
}

/* The first write of a life that died while it joined may come late: it says that
 * every gate may be open, so that it makes others wait, never hurry. */
static bool harmless(const struct world *w, const struct rf_slot *now)
{
	if (!w->atlas.forgetful && !w->atlas.weight[F_IMPOSTOR])
		return false; /* its successor knew, and waited */
	for (uint32_t v = 0; v < w->super.volumes; v++)
		if (!rf_bit_get(now->gate_open, v))
			return false;
	return true;
}

static void slot(struct world *w, const struct disk_op *op, const uint8_t *cell, uint32_t node)
{
	struct rf_slot was, now;

	if (rf_slot_decode(cell, &w->super.id, node, &was) != RF_RECORD_OK ||
	    rf_slot_decode(op->data, &w->super.id, node, &now) != RF_RECORD_OK)
		return;
	if (w->atlas.theft)
		return;
	if ((now.seq < was.seq || now.generation < was.generation) && !harmless(w, &now))
		violate(w, "epoch", "slot of n%u on disk %u goes back: seq %llx after %llx",
			node, op->disk, (unsigned long long)now.seq,
			(unsigned long long)was.seq);
}

void oracle_epoch_disk(struct world *w, const struct disk_op *op, const uint8_t *cell)
{
	uint32_t volume, node, half;
	struct rf_epoch e;

	switch (oracle_stride(w, op->write_stride, &volume, &node, &half)) {
	case STRIDE_SLOT:
		slot(w, op, cell, node);
		oracle_fence_slot(w, op, node);
		break;
	case STRIDE_BALLOT:
		ballot(w, op, cell, volume, node);
		break;
	case STRIDE_EPOCH:
		if (rf_epoch_decode(op->data, &w->super.id, volume, &e) == RF_RECORD_OK)
			oracle_epoch_owned(w, volume, e.epoch, e.owner, e.incarnation,
					   "announced by");
		break;
	default:
		break;
	}
}

/* ---- §5 "after each read": later, higher: stop ---- */

static bool own_ballot(struct world *w, const struct host *h, const struct disk_op *op,
		       uint32_t *volume, struct rf_ballot *b)
{
	uint32_t node, half;

	return op->writes &&
	       oracle_stride(w, op->write_stride, volume, &node, &half) == STRIDE_BALLOT &&
	       rf_ballot_decode(op->data, &w->super.id, *volume, h->id, b) == RF_RECORD_OK;
}

static struct ballot_seen *entered(struct world *w, const struct host *h, uint32_t volume)
{
	return &w->oracles->ballot[h->index * w->oracles->volumes + volume];
}

/* A phase begins: by the decision, for its writes may have to wait for others. */
static void phase_begins(struct world *w, struct host *h, const struct rf_decision *d)
{
	struct ballot_seen *seen = entered(w, h, d->volume);

	if (seen->instance != d->epoch || seen->mbal != d->a)
		*seen = (struct ballot_seen){.instance = d->epoch, .mbal = d->a};
	if (d->b == 2 && seen->lost && !seen->entered)
		violate_rule(
			w, "epoch",
			"n%u enters phase 2 of epoch %llu on vol=%u, what it read says stop",
			h->id, (unsigned long long)d->epoch, d->volume);
	seen->entered = d->b == 2;
}

void oracle_epoch_said(struct world *w, struct host *h, const struct rf_decision *d)
{
	if (d->code == RF_SAY_DECIDED)
		oracle_epoch_owned(w, d->volume, d->epoch, d->node, d->a, "decided for");
	if (d->code == RF_SAY_BALLOT)
		phase_begins(w, h, d);
}

static bool says_stop(struct world *w, const struct host *h, const struct disk_op *op,
		      uint32_t volume, const struct rf_ballot *mine)
{
	struct rf_epoch sector;
	struct rf_ballot b;

	if (rf_epoch_decode(op->cells, &w->super.id, volume, &sector) != RF_RECORD_OK)
		return false;
	if (sector.epoch >= mine->instance)
		return true;
	for (uint32_t n = 1; n <= w->super.id.nodes; n++) {
		const uint8_t *cell = op->cells + (size_t)n * CELL_BYTES;

		if (rf_ballot_decode(cell, &w->super.id, volume, n, &b) != RF_RECORD_OK)
			return false; /* unreadable: this disk does not count */
		if (b.instance > mine->instance)
			return true;
		if (n != h->id && b.instance == mine->instance && b.mbal > mine->mbal)
			return true;
	}
	return false;
}

void oracle_epoch_read(struct world *w, struct host *h, const struct disk_op *op)
{
	struct ballot_seen *seen;
	struct rf_ballot b;
	uint32_t volume;

	if (!own_ballot(w, h, op, &volume, &b) || op->read_count != w->super.id.nodes + 1)
		return;
	seen = entered(w, h, volume);
	if (seen->instance == b.instance && seen->mbal == b.mbal && b.bal != b.mbal &&
	    says_stop(w, h, op, volume, &b))
		seen->lost = true;
}
