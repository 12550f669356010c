/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens goes to the oracles that it concerns. */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

static void *array(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	if (!p)
		abort();
	return p;
}

void oracle_free(struct world *w)
{
	struct oracles *o = w->oracles;

	if (!o)
		return;
	free(o->landed);
	free(o->highest);
	free(o->owner);
	free(o->put);
	free(o->vote);
	free(o->ballot);
	free(o->claim);
	free(o->paused);
	free(o->twice_since);
	free(o->resumed);
	free(o->outlived);
	free(o->waits);
	free(o->leader);
	free(o->leader_epoch);
	free(o);
	w->oracles = NULL;
}

static void allocate(struct world *w)
{
	struct oracles *o = array(1, sizeof(*o));
	uint32_t v = w->super.volumes, h = w->hosts;

	o->volumes = v;
	o->hosts = h;
	o->landed = array(v, sizeof(*o->landed));
	o->highest = array(v, sizeof(*o->highest));
	o->owner = array((size_t)v * EPOCHS_MAX, sizeof(*o->owner));
	o->put = array((size_t)h * v, sizeof(*o->put));
	o->vote = array((size_t)h * v, sizeof(*o->vote));
	o->ballot = array((size_t)h * v, sizeof(*o->ballot));
	o->claim = array((size_t)h * v, sizeof(*o->claim));
	o->paused = array(h, sizeof(*o->paused));
	o->twice_since = array(h, sizeof(*o->twice_since));
	o->resumed = array(h, sizeof(*o->resumed));
	o->waits = array((size_t)h * v, sizeof(*o->waits));
	o->outlived = array((size_t)h * v, sizeof(*o->outlived));
	o->leader = array(v, sizeof(*o->leader));
	o->leader_epoch = array(v, sizeof(*o->leader_epoch));
	w->oracles = o;
}

void oracle_reset(struct world *w)
{
	oracle_free(w);
	allocate(w);
}

/* Of the old area nothing counts any more. */
void oracle_formatted(struct world *w)
{
	struct oracles *o = w->oracles;
	uint32_t v = w->super.volumes, h = w->hosts;

	memset(o->landed, 0, v * sizeof(*o->landed));
	memset(o->highest, 0, v * sizeof(*o->highest));
	memset(o->owner, 0, (size_t)v * EPOCHS_MAX * sizeof(*o->owner));
	memset(o->put, 0, (size_t)h * v * sizeof(*o->put));
	memset(o->vote, 0, (size_t)h * v * sizeof(*o->vote));
	memset(o->ballot, 0, (size_t)h * v * sizeof(*o->ballot));
	memset(o->claim, 0, (size_t)h * v * sizeof(*o->claim));
}

struct owner *oracle_owner(struct world *w, uint32_t volume, uint64_t epoch)
{
	if (epoch >= EPOCHS_MAX) {
		violate(w, "world", "epoch %llu is beyond what a run can need",
			(unsigned long long)epoch);
		epoch = EPOCHS_MAX - 1;
	}
	return &w->oracles->owner[(size_t)volume * EPOCHS_MAX + epoch];
}

bool oracle_judges(const struct world *w, uint32_t volume)
{
	return !w->atlas.drift_beyond || volume_at_target(w, volume);
}

enum stride_kind oracle_stride(const struct world *w, uint32_t stride, uint32_t *volume,
			       uint32_t *node, uint32_t *half)
{
	const struct rf_super *s = &w->super;
	uint32_t n = s->id.nodes, at = stride, claims = 1 + 2 * n + s->volumes;

	*volume = *node = *half = 0;
	if (at >= 1 && at <= 2 * n) {
		*node = (at + 1) / 2;
		return at % 2 ? STRIDE_SLOT : STRIDE_OTHER;
	}
	if (at < claims)
		return STRIDE_OTHER;
	at -= claims;
	if (at < s->volumes * (n + 1)) {
		*volume = at / (n + 1);
		*node = at % (n + 1);
		return *node ? STRIDE_BALLOT : STRIDE_EPOCH;
	}
	at -= s->volumes * (n + 1);
	if (at < s->volumes * s->history)
		return STRIDE_OTHER;
	at -= s->volumes * s->history;
	if (at >= 2 * s->state_strides * n * s->volumes || at % s->state_strides)
		return STRIDE_OTHER;
	at /= s->state_strides;
	*volume = at / (2 * n);
	*node = at % (2 * n) / 2 + 1;
	*half = at % 2;
	return STRIDE_STATE;
}

void oracle_born(struct world *w, struct host *h)
{
	w->oracles->resumed[h->index] = w->now;
	w->oracles->twice_since[h->index] = 0;
	for (uint32_t v = 0; v < w->super.volumes; v++)
		w->oracles->waits[h->index * w->super.volumes + v] = (struct waits){0};
	for (uint32_t v = 0; v < w->super.volumes; v++)
		if (rng_below(&w->rng, 3))
			h->gate[v].opener = false; /* the mount of the dead life is gone */
}

void oracle_died(struct world *w, struct host *h)
{
	w->oracles->twice_since[h->index] = 0;
}

void oracle_stepped(struct world *w, struct host *h)
{
	if (host_current(w, h))
		oracle_fence_stepped(w, h);
}

void oracle_said(struct world *w, struct host *h, const struct rf_decision *d)
{
	if (d->code == RF_SAY_ACTIVE)
		w->tally.leaderships++;
	if (!host_current(w, h))
		return;
	oracle_epoch_said(w, h, d);
	oracle_fence_said(w, h, d);
	oracle_state_said(w, h, d);
	oracle_live_said(w, h, d);
}

void oracle_sent(struct world *w, struct host *h, const struct rf_effect *e)
{
	if (host_current(w, h))
		oracle_live_sent(w, h, e);
}

void oracle_hook(struct world *w, struct host *h, const struct rf_effect *e)
{
	(void)w;
	(void)h;
	(void)e;
}

void oracle_submit(struct world *w, struct host *h, const struct disk_op *op)
{
	if (host_current(w, h))
		oracle_state_submit(w, h, op);
}

void oracle_read(struct world *w, struct host *h, const struct disk_op *op)
{
	if (!host_current(w, h))
		return;
	if (op->writes)
		oracle_epoch_read(w, h, op);
	oracle_fence_read(w, h, op);
}

/* CASES: replays of earlier lives do nothing. */
void oracle_heard(struct world *w, struct host *h, uint32_t from, uint64_t incarnation,
		  const struct rf_core_peer *before)
{
	struct rf_core_peer now;

	if (!h->alive || !before->incarnation || incarnation == before->incarnation)
		return;
	rf_core_peer(rf_node_core(h->node), from, &now);
	if (now.net_ns != before->net_ns && now.incarnation == before->incarnation)
		violate_rule(w, "live", "n%u believes a datagram of a dead life of n%u", h->id,
			     from);
}

void oracle_disk(struct world *w, const struct disk_op *op, const uint8_t *cell)
{
	if (!memcmp(((const struct rf_disk_header *)op->data)->area, w->super.id.area,
		    RF_UUID_BYTES))
		oracle_epoch_disk(w, op, cell);
}

void oracle_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch,
		    uint64_t incarnation)
{
	if (h->gate[volume].area != w->area)
		return;
	oracle_epoch_owned(w, volume, epoch, h->id, incarnation, "granted to");
	oracle_write_granted(w, h, volume, epoch);
	oracle_fence_granted(w, h, volume, epoch, incarnation);
}

void oracle_landed(struct world *w, uint32_t volume, uint32_t node, uint64_t incarnation,
		   uint64_t epoch)
{
	w->tally.landed++;
	oracle_write_landed(w, volume, node, incarnation, epoch);
}
