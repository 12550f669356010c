/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Oracle 2: a fence or a takeover is reported only after the victim's last
 * possible write. Also what makes such reports true: a slot never says "closed"
 * while a gate of that node may pass writes, a gate opens only when the slot
 * says so, and whoever knows of a later epoch reports nothing under its own.
 */
#include "oracle.h"

/* Without a fence: does it believe that it may write? */
static bool has_lease(struct world *w, const struct host *h, uint32_t volume, uint64_t below)
{
	struct rf_core_volume v;

	if (!h->alive || !host_current(w, h))
		return false;
	rf_core_volume(rf_node_core(h->node), volume, &v);
	return v.role >= RF_ROLE_LOADING && v.role <= RF_ROLE_ACTIVE && v.epoch < below &&
	       host_clock(w, h) < v.lease_ns;
}

/* May a write of an epoch below this one still land? */
static bool may_write(struct world *w, const struct host *h, uint32_t volume, uint64_t below)
{
	const struct gate *g = &h->gate[volume];
	const struct target *t = &w->target[volume];

	if (w->atlas.fence[volume] == FENCE_NONE)
		return has_lease(w, h, volume, below);
	if (g->area != w->area)
		return false; /* its time is oracle_admitted()'s */
	if (volume_at_target(w, volume))
		return t->epoch && t->epoch < below && t->node == h->id &&
		       (gate_admits(w, h, volume) || t->in_flight);
	return g->epoch && g->epoch < below && (g->in_flight || gate_admits(w, h, volume));
}

static void check_out(struct world *w, struct host *h, const struct rf_decision *d,
		      uint32_t node)
{
	for (uint32_t i = 0; i < w->hosts; i++) {
		const struct host *other = &w->host[i];

		if (other == h || (node && other->id != node) ||
		    !may_write(w, other, d->volume, d->epoch))
			continue;
		violate(w, "fence",
			"n%u says %s of epoch %llu on vol=%u while n%u may write under %llu",
			h->id, rf_decision_name(d->code), (unsigned long long)d->epoch,
			d->volume, other->id, (unsigned long long)other->gate[d->volume].epoch);
	}
}

static void check_known(struct world *w, struct host *h, const struct rf_decision *d)
{
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(h->node), d->volume, &v);
	if (v.epoch > d->epoch)
		violate_rule(w, "fence", "n%u says %s of epoch %llu on vol=%u and knows %llu",
			     h->id, rf_decision_name(d->code), (unsigned long long)d->epoch,
			     d->volume, (unsigned long long)v.epoch);
}

/* The slot that the others read says closed, or this life could not have closed it. */
static void check_closed(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct gate *g = &h->gate[d->volume];

	if (g->epoch != d->epoch || volume_at_target(w, d->volume))
		return;
	if (g->in_flight || gate_admits(w, h, d->volume))
		violate(w, "fence",
			"n%u says %s of epoch %llu on vol=%u, its gate passes writes", h->id,
			rf_decision_name(d->code), (unsigned long long)d->epoch, d->volume);
}

static void check_fresh(struct world *w, struct host *h, const struct rf_decision *d);
static void check_states(struct world *w, struct host *h, const struct rf_decision *d);
static void check_put(struct world *w, struct host *h, const struct rf_decision *d);

void oracle_fence_said(struct world *w, struct host *h, const struct rf_decision *d)
{
	if (d->volume >= w->super.volumes || !oracle_judges(w, d->volume))
		return;
	switch (d->code) {
	case RF_SAY_OUT:
		/* at the target only the switch ends anybody's writes */
		if (!volume_at_target(w, d->volume) || d->a == RF_WAY_ABORTED)
			check_out(w, h, d, d->node);
		break;
	case RF_SAY_EXCLUDED:
		check_known(w, h, d);
		check_fresh(w, h, d);
		if (!volume_at_target(w, d->volume) || d->a == RF_WAY_ABORTED)
			check_out(w, h, d, 0);
		break;
	case RF_SAY_OPENED:
		check_out(w, h, d, 0);
		break;
	case RF_SAY_LOADED:
		check_states(w, h, d);
		break;
	case RF_SAY_STATE_COMMITTED:
		check_put(w, h, d);
		break;
	case RF_SAY_DRAINED:
	case RF_SAY_CLOSED:
		check_closed(w, h, d);
		break;
	default:
		break;
	}
}

/* Disks on which a newer record of this slot says open: a majority outvotes a
 * record that comes late to one of the others. */
static bool outvoted(struct world *w, uint32_t node, uint32_t volume, uint64_t seq)
{
	uint32_t newer = 0;
	struct rf_slot s;

	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		const uint8_t *cell = disk_cell(w, d, rf_geo_slot(&w->super, node));

		newer += rf_slot_decode(cell, &w->super.id, node, &s) == RF_RECORD_OK &&
			 s.seq > seq && rf_bit_get(s.gate_open, volume);
	}
	return 2 * newer > w->super.disk_count;
}

/* A slot record is about to land. §3, §8: "closed" means that no gate of this node,
 * of whatever life, passes writes. */
void oracle_fence_slot(struct world *w, const struct disk_op *op, uint32_t node)
{
	struct rf_slot s;

	if (rf_slot_decode(op->data, &w->super.id, node, &s) != RF_RECORD_OK)
		return;
	for (uint32_t v = 0; v < w->super.volumes; v++) {
		if (rf_bit_get(s.gate_open, v) || volume_at_target(w, v) ||
		    !oracle_judges(w, v))
			continue;
		for (uint32_t i = 0; i < w->hosts; i++) {
			const struct host *h = &w->host[i];

			if (h->id == node && may_write(w, h, v, NEVER) &&
			    !outvoted(w, node, v, s.seq))
				violate(w, "fence",
					"slot of n%u says closed on vol=%u, its gate of epoch "
					"%llu passes writes",
					node, v, (unsigned long long)h->gate[v].epoch);
		}
	}
}

void oracle_fence_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch,
			  uint64_t incarnation)
{
	uint32_t open = 0;
	struct rf_slot s;

	if (!h->alive || h->incarnation != incarnation || !oracle_judges(w, volume) ||
	    !gate_admits(w, h, volume))
		return;
	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		const uint8_t *cell = disk_cell(w, d, rf_geo_slot(&w->super, h->id));

		if (rf_slot_decode(cell, &w->super.id, h->id, &s) == RF_RECORD_OK)
			open += (s.incarnation == incarnation || w->atlas.forgetful) &&
				rf_bit_get(s.gate_open, volume);
		else if (w->area) /* a ghost of the old area lies over it: may be open */
			open++;
	}
	if (2 * open <= w->super.disk_count)
		violate_rule(
			w, "fence",
			"gate of n%u on vol=%u opens for %llu, its slot says so on %u of %u "
			"disks",
			h->id, volume, (unsigned long long)epoch, open, w->super.disk_count);
}

/* ---- what was read under a claim ---- */

static struct claim_seen *seen(struct world *w, const struct host *h, uint32_t volume)
{
	return &w->oracles->claim[h->index * w->oracles->volumes + volume];
}

/* Which volume's claim region is this? */
static bool is_region(const struct world *w, const struct disk_op *op, uint32_t *volume)
{
	uint32_t node, half;

	return op->read_count == w->super.id.nodes + 1 &&
	       oracle_stride(w, op->read_stride, volume, &node, &half) == STRIDE_EPOCH;
}

/* §6, by the letter, of one copy of the region. */
static bool superseded(struct world *w, const struct disk_op *op, uint32_t volume,
		       uint64_t epoch)
{
	struct rf_epoch sector;
	struct rf_ballot b;

	if (rf_epoch_decode(op->cells, &w->super.id, volume, &sector) == RF_RECORD_OK &&
	    sector.epoch > epoch)
		return true;
	for (uint32_t n = 1; n <= w->super.id.nodes; n++) {
		const uint8_t *cell = op->cells + (size_t)n * CELL_BYTES;

		if (rf_ballot_decode(cell, &w->super.id, volume, n, &b) != RF_RECORD_OK)
			continue;
		if (b.instance > epoch + 1 || (b.instance == epoch + 1 && b.bal > 0))
			return true;
	}
	return false;
}

static bool shows_phase_two(struct world *w, const struct host *h, const struct disk_op *op,
			    uint32_t volume, uint64_t epoch)
{
	const uint8_t *cell = op->cells + (size_t)h->id * CELL_BYTES;
	struct rf_ballot b;

	return rf_ballot_decode(cell, &w->super.id, volume, h->id, &b) == RF_RECORD_OK &&
	       b.instance == epoch && b.bal > 0;
}

/* A region that was read behind a write: of the slot (§8), or of a state. */
static void read_behind(struct world *w, const struct disk_op *op, struct claim_seen *s,
			uint32_t volume)
{
	uint32_t other, node, half;
	struct rf_state state;

	if (op->late || !superseded(w, op, volume, s->epoch))
		return; /* of a late one the core hears nothing */
	switch (oracle_stride(w, op->write_stride, &other, &node, &half)) {
	case STRIDE_SLOT:
		s->superseded = true;
		break;
	case STRIDE_STATE:
		if (rf_state_decode(op->data, &w->super.id, volume, node, half, &state) ==
		    RF_RECORD_OK)
			s->put = state.version;
		break;
	default:
		break;
	}
}

/* Its own claim of this volume, or NULL: it claims and leads nothing there. */
static struct claim_seen *claim(struct world *w, const struct host *h, uint32_t volume)
{
	struct claim_seen *s = seen(w, h, volume);
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(h->node), volume, &v);
	if (v.role < RF_ROLE_EXCLUDING || v.role > RF_ROLE_ACTIVE || v.owner != h->id ||
	    v.owner_incarnation != h->incarnation)
		return NULL;
	if (s->epoch != v.epoch)
		*s = (struct claim_seen){.epoch = v.epoch};
	return s;
}

static void states_read(struct world *w, const struct host *h, const struct disk_op *op,
			uint32_t volume)
{
	const uint8_t *cell = disk_cell(w, op->disk, rf_geo_ballot(&w->super, volume, h->id));
	struct claim_seen *s = claim(w, h, volume);
	struct rf_ballot b;

	if (s && rf_ballot_decode(cell, &w->super.id, volume, h->id, &b) == RF_RECORD_OK &&
	    b.instance == s->epoch && b.bal > 0)
		s->states |= (uint8_t)(1u << op->disk);
}

void oracle_fence_read(struct world *w, struct host *h, const struct disk_op *op)
{
	uint32_t volume, node, half;
	struct claim_seen *s;

	if (!op->writes && op->read_count > 2 &&
	    oracle_stride(w, op->read_stride, &volume, &node, &half) == STRIDE_STATE) {
		states_read(w, h, op, volume);
		return;
	}
	if (!is_region(w, op, &volume))
		return;
	s = claim(w, h, volume);
	if (!s)
		return;
	if (op->writes)
		read_behind(w, op, s, volume);
	else if (shows_phase_two(w, h, op, volume, s->epoch))
		s->fresh |= (uint8_t)(1u << op->disk);
}

static void check_states(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct claim_seen *s = seen(w, h, d->volume);
	uint32_t disks = 0;

	if (s->epoch != d->epoch)
		return;
	for (uint32_t i = 0; i < w->super.disk_count; i++)
		disks += s->states >> i & 1;
	if (2 * disks <= w->super.disk_count)
		violate_rule(
			w, "fence",
			"n%u has loaded the state of vol=%u from %u of %u disks that have its "
			"ballot",
			h->id, d->volume, disks, w->super.disk_count);
}

static void check_put(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct claim_seen *s = seen(w, h, d->volume);

	if (s->epoch == d->epoch && s->put && s->put == d->a)
		violate_rule(
			w, "fence",
			"n%u acknowledges version %llu on vol=%u, what it read supersedes %llu",
			h->id, (unsigned long long)d->a, d->volume,
			(unsigned long long)d->epoch);
}

/* §5, §7: three unrelated majorities need not share a disk. */
static void check_fresh(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct claim_seen *s = seen(w, h, d->volume);
	uint32_t disks = 0;

	for (uint32_t i = 0; i < w->super.disk_count && s->epoch == d->epoch; i++)
		disks += s->fresh >> i & 1;
	if (2 * disks <= w->super.disk_count)
		violate_rule(
			w, "fence",
			"n%u says %s of epoch %llu on vol=%u, its fresh read has its ballot on "
			"%u of %u disks",
			h->id, rf_decision_name(d->code), (unsigned long long)d->epoch,
			d->volume, disks, w->super.disk_count);
}

static void stops(struct world *w, struct host *h, uint32_t volume,
		  const struct rf_core_volume *v)
{
	const struct claim_seen *s = seen(w, h, volume);

	if (v->owner != h->id || v->owner_incarnation != h->incarnation)
		violate_rule(w, "fence",
			     "n%u goes on leading vol=%u and knows that n%u owns %llu", h->id,
			     volume, v->owner, (unsigned long long)v->epoch);
	else if (s->epoch == v->epoch && s->superseded)
		violate_rule(w, "fence",
			     "n%u goes on leading vol=%u, what it read supersedes %llu", h->id,
			     volume, (unsigned long long)v->epoch);
}

/* §6: superseded, and known to be: over. */
void oracle_fence_stepped(struct world *w, struct host *h)
{
	const struct rf_core *core = rf_node_core(h->node);
	struct rf_core_volume v;

	for (uint32_t i = 0; i < w->super.volumes; i++) {
		rf_core_volume(core, i, &v);
		if (v.role >= RF_ROLE_OPENING && v.role <= RF_ROLE_ACTIVE)
			stops(w, h, i, &v);
	}
}
