// SPDX-License-Identifier: GPL-2.0-only
/*
 * The latch: who may open the gate, and everything that shuts it.
 *
 * Each bio looks at one word, deadline_ns, which is always the earlier of what
 * the daemon asked for and what the gate's own claim reads allow. Everything
 * else happens under gate->lock, in messages and in one work item that the
 * timer, the reads and the drain wake up. Nothing here depends on the daemon.
 */
#define CREATE_TRACE_POINTS
#include "gate.h"
#include "trace.h"

#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/sched/signal.h>

static struct gendisk *gate_disk(const struct rf_gate *g)
{
	return dm_disk(dm_table_get_md(g->ti->table));
}

static dev_t gate_devt(const struct rf_gate *g)
{
	return disk_devt(gate_disk(g));
}

static bool is_over(const struct rf_gate *g)
{
	return g->state == RF_GATE_SHUTTING || g->state == RF_GATE_SHUT;
}

static enum rf_refused refused_as(const struct rf_gate *g)
{
	if (g->state == RF_GATE_OPEN || g->state == RF_GATE_HOLDING ||
	    g->why == RF_GATE_WHY_EXPIRED)
		return RF_REFUSED_EXPIRED;
	if (!is_over(g))
		return RF_REFUSED_CLOSED;
	return g->why == RF_GATE_WHY_SUPERSEDED ? RF_REFUSED_SUPERSEDED : RF_REFUSED_REVOKED;
}

/* ---- transitions; all with the lock held ---- */

/* The one word that bios look at. */
static void set_deadline(struct rf_gate *g)
{
	u64 limit = min(g->granted_ns, g->verified_ns + g->lease_ns);

	WRITE_ONCE(g->deadline_ns, g->state == RF_GATE_OPEN ? limit : 0);
}

static void shut(struct rf_gate *g, enum rf_gate_why why)
{
	if (is_over(g))
		return;
	g->state = RF_GATE_SHUTTING;
	g->why = why;
	g->drain_start_ns = ktime_get_boottime_ns();
	set_deadline(g);
	queue_work(g->wq, &g->work);
	if (!g->dying)
		trace_rf_shut(gate_devt(g), g->epoch, why);
}

/* §8: after expiry writes wait a bounded time for a renewal of the same epoch. */
static void expire(struct rf_gate *g, u64 now)
{
	if (g->state != RF_GATE_OPEN || now < g->deadline_ns)
		return;
	g->hold_end_ns = g->deadline_ns + g->hold_ns;
	g->state = RF_GATE_HOLDING;
	g->fresh_ns = now;
	set_deadline(g);
	queue_work(g->wq, &g->work);
}

/* Opens for the first time, or again for the same epoch, if all is proved. */
static void try_open(struct rf_gate *g, u64 now, bool owned)
{
	if (g->state != RF_GATE_OPENING && g->state != RF_GATE_HOLDING)
		return;
	if (g->verified_ns < g->fresh_ns ||
	    min(g->granted_ns, g->verified_ns + g->lease_ns) <= now)
		return;
	/* claim.h: opening needs the epoch sector of one disk to name us */
	if (g->state == RF_GATE_OPENING && !owned)
		return;
	g->state = RF_GATE_OPEN;
	set_deadline(g);
}

static void give_up_opening(struct rf_gate *g, u64 now, int error)
{
	if (g->state != RF_GATE_OPENING && g->state != RF_GATE_HOLDING)
		return;
	g->failed_ns = now;
	g->failed_error = error;
	if (g->state == RF_GATE_OPENING) {
		g->state = RF_GATE_CLOSED;
		g->epoch = 0;
		g->incarnation = 0;
		g->granted_ns = 0;
	}
}

void rf_gate_shut(struct rf_gate *g, enum rf_gate_why why)
{
	unsigned long flags;

	spin_lock_irqsave(&g->lock, flags);
	shut(g, why);
	spin_unlock_irqrestore(&g->lock, flags);
}

/* ---- bios that were not admitted ---- */

static void refuse(struct rf_gate *g, struct bio *bio, enum rf_refused reason)
{
	this_cpu_inc(g->counters->refused[reason]);
	trace_rf_refuse(gate_devt(g), bio_op(bio), bio->bi_iter.bi_sector, bio_sectors(bio),
			reason);
	bio->bi_status = g->refusal;
	bio_endio(bio);
}

static bool admit(struct rf_gate *g, struct bio *bio)
{
	struct rf_io *io = dm_per_bio_data(bio, sizeof(*io));

	if (!rf_gate_enter(g))
		return false;
	io->counted = true;
	this_cpu_inc(g->counters->admitted);
	rf_gate_remap(g, bio);
	return true;
}

int rf_gate_slow(struct rf_gate *g, struct bio *bio)
{
	enum rf_refused reason;
	unsigned long flags;
	bool hold;
	u64 now;

	spin_lock_irqsave(&g->lock, flags);
	if (admit(g, bio)) { /* a renewal came between */
		spin_unlock_irqrestore(&g->lock, flags);
		return DM_MAPIO_REMAPPED;
	}
	now = ktime_get_boottime_ns();
	expire(g, now);
	reason = refused_as(g);
	hold = g->state == RF_GATE_HOLDING && now < g->hold_end_ns && !g->suspended;
	if (hold && !(bio->bi_opf & REQ_NOWAIT)) {
		bio_list_add(&g->held, bio);
		g->held_count++;
		spin_unlock_irqrestore(&g->lock, flags);
		return DM_MAPIO_SUBMITTED;
	}
	spin_unlock_irqrestore(&g->lock, flags);
	if (hold)
		bio_wouldblock_error(bio);
	else
		refuse(g, bio, reason);
	return DM_MAPIO_SUBMITTED;
}

/* Issues what was held, or fails it, or (in the state holding) leaves it. */
static void settle_held(struct rf_gate *g)
{
	struct bio_list held = BIO_EMPTY_LIST;
	enum rf_refused reason;
	struct bio *bio;

	spin_lock_irq(&g->lock);
	if (g->state != RF_GATE_HOLDING) {
		bio_list_merge(&held, &g->held);
		bio_list_init(&g->held);
		g->held_count = 0;
	}
	reason = refused_as(g);
	spin_unlock_irq(&g->lock);
	while ((bio = bio_list_pop(&held))) {
		/* the same epoch, or none: an instance never has another */
		if (admit(g, bio))
			submit_bio_noacct(bio);
		else if (reason == RF_REFUSED_EXPIRED)
			hold_again(g, bio);
		else
			refuse(g, bio, reason);
	}
}
