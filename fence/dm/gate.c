// SPDX-License-Identifier: GPL-2.0-only
/*
 * The latch: who may open the gate, and everything that shuts it.
 *
 * A bio looks at one word, deadline_ns, which is always the earlier of what the
 * daemon asked for and what the gate's own claim reads allow. Everything
 * else happens under gate->lock, in messages and in one work item that the
 * timer, the reads and the drain wake up. Nothing here depends on the daemon.
 */
#define CREATE_TRACE_POINTS
#include "gate.h"
#include "trace.h"

#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
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

static int over_error(const struct rf_gate *g)
{
	return g->why == RF_GATE_WHY_SUPERSEDED ? -ESTALE : -ESHUTDOWN;
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

/* The words that bios look at. */
static void set_deadline(struct rf_gate *g)
{
	u64 limit = min(g->granted_ns, g->verified_ns + g->lease_ns);
	u64 sure = limit - min(limit, g->lease_ns / 4);

	WRITE_ONCE(g->deadline_ns, g->state == RF_GATE_OPEN ? limit : 0);
	WRITE_ONCE(g->sure_ns, g->state == RF_GATE_OPEN ? sure : 0);
}

static void shut(struct rf_gate *g, enum rf_gate_why why)
{
	if (is_over(g))
		return;
	g->state = RF_GATE_SHUTTING;
	g->why = why;
	g->drain_start_ns = ktime_get_boottime_ns();
	set_deadline(g);
	queue_work(g->wq, &g->quiesce);
	queue_work(g->wq, &g->work);
	if (!g->dying)
		trace_rf_shut(gate_devt(g), g->epoch, g->drain_start_ns, why);
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

/* ---- bios that were not admitted ---- */

static void refuse(struct rf_gate *g, struct bio *bio, enum rf_refused reason)
{
	this_cpu_inc(g->counters->refused[reason]);
	trace_rf_refuse(gate_devt(g), (__force u32)bio_op(bio), bio->bi_iter.bi_sector, reason);
	bio->bi_status = g->refusal;
	bio_endio(bio);
}

static bool admit(struct rf_gate *g, struct bio *bio)
{
	struct rf_io *io = dm_per_bio_data(bio, sizeof(*io));

	if (!rf_gate_enter(g))
		return false;
	io->counted = true;
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

/* Issues what was held, or fails it. Its own work item: issuing may block. */
static void settle_work(struct work_struct *work)
{
	struct rf_gate *g = container_of(work, struct rf_gate, settle);
	struct bio_list held = BIO_EMPTY_LIST;
	struct bio *bio;

	spin_lock_irq(&g->lock);
	if (g->state != RF_GATE_HOLDING) {
		bio_list_merge(&held, &g->held);
		bio_list_init(&g->held);
		g->held_count = 0;
	}
	spin_unlock_irq(&g->lock);
	/* §8: under the same epoch or not at all; an instance never has another */
	while ((bio = bio_list_pop(&held)))
		if (rf_gate_slow(g, bio) == DM_MAPIO_REMAPPED)
			submit_bio_noacct(bio);
}

/* ---- draining ---- */

/* Expedited: peers wait for our answer, and this happens once in an instance. */
static void quiesce_work(struct work_struct *work)
{
	struct rf_gate *g = container_of(work, struct rf_gate, quiesce);

	synchronize_rcu_expedited();
	spin_lock_irq(&g->lock);
	g->quiesced = true;
	queue_work(g->wq, &g->work);
	spin_unlock_irq(&g->lock);
}

/* Nothing is being admitted: equal counters mean that none is in flight. */
static void finish_drain(struct rf_gate *g, u64 now)
{
	struct rf_counters c;

	if (g->state != RF_GATE_SHUTTING || !g->quiesced)
		return;
	rf_gate_sum(g, &c);
	if (c.admitted != c.finished)
		return;
	g->drain_ns = now - g->drain_start_ns;
	g->state = RF_GATE_SHUT;
	complete(&g->drained);
}

/* ---- the work item ---- */

static void judge_disks(struct rf_gate *g, u64 epoch, u64 incarnation, u64 fresh_ns,
			struct rf_findings *f)
{
	unsigned int i;

	f->complete = true;
	for (i = 0; i < g->disk_count; i++) {
		struct rf_disk *d = &g->disks[i];

		/* pairs with read_end(): what was read is there */
		if (smp_load_acquire(&d->read) == RF_READ_DONE)
			rf_disk_judge(d, epoch, incarnation, f);
		f->foreign |= d->foreign && d->judged_ns >= fresh_ns;
		f->owned |= d->owned && d->good_ns >= fresh_ns;
		f->complete &= d->judged_ns >= fresh_ns;
	}
}

/* A verdict on our epoch. With the lock held. */
static void apply(struct rf_gate *g, u64 now, const struct rf_findings *f)
{
	g->verified_ns = rf_disks_verified(g->disks, g->disk_count);
	if (f->superseded || f->foreign) {
		if (g->state == RF_GATE_OPENING)
			give_up_opening(g, now, f->superseded ? -ESTALE : -EPERM);
		else if (g->state != RF_GATE_CLOSED)
			shut(g, RF_GATE_WHY_SUPERSEDED);
		return;
	}
	set_deadline(g);
	expire(g, now);
	try_open(g, now, f->owned);
	if (f->complete && g->granted_ns > now)
		give_up_opening(g, now, g->verified_ns >= g->fresh_ns ? -EPERM : -EIO);
	if (g->state == RF_GATE_HOLDING && now >= g->hold_end_ns)
		shut(g, RF_GATE_WHY_EXPIRED);
}

/* Starts the reads that are due; says when the next one is. */
static u64 start_reads(struct rf_gate *g, u64 now, enum rf_gate_state state, u64 fresh_ns,
		       bool at_once)
{
	bool wanting = state == RF_GATE_OPENING || state == RF_GATE_HOLDING;
	bool active = wanting || state == RF_GATE_OPEN;
	u64 next = U64_MAX;
	unsigned int i;

	for (i = 0; i < g->disk_count; i++) {
		struct rf_disk *d = &g->disks[i];
		bool due = now >= d->submitted_ns + g->interval_ns;

		if (READ_ONCE(d->read) == RF_READ_BUSY) {
			g->check_errors += due && !d->stuck;
			d->stuck |= due;
		} else if (at_once || (active && due) || (wanting && d->judged_ns < fresh_ns)) {
			rf_disk_submit(d, now);
		}
		if (active && !d->stuck)
			next = min(next, d->submitted_ns + g->interval_ns);
	}
	return next;
}

static void gate_work(struct work_struct *work)
{
	struct rf_gate *g = container_of(work, struct rf_gate, work);
	u64 now, next, epoch, incarnation, fresh_ns;
	struct rf_findings f = {};
	enum rf_gate_state state;
	bool at_once;

	spin_lock_irq(&g->lock);
	epoch = g->epoch;
	incarnation = g->incarnation;
	fresh_ns = g->fresh_ns;
	spin_unlock_irq(&g->lock);
	judge_disks(g, epoch, incarnation, fresh_ns, &f);

	spin_lock_irq(&g->lock);
	now = ktime_get_boottime_ns();
	g->seen = max(g->seen, f.seen);
	g->checks += f.finished;
	g->check_errors += f.errors;
	if (epoch == g->epoch && incarnation == g->incarnation && fresh_ns == g->fresh_ns)
		apply(g, now, &f);
	finish_drain(g, now);
	state = g->state;
	fresh_ns = g->fresh_ns;
	at_once = g->check_now && !g->dying; /* who ends waited for the reads already */
	g->check_now = false;
	next = state == RF_GATE_OPEN      ? g->deadline_ns
	       : state == RF_GATE_HOLDING ? g->hold_end_ns
					  : U64_MAX;
	if (g->held_count && state != RF_GATE_HOLDING)
		queue_work(g->slow_wq, &g->settle);
	if (state != g->announced)
		queue_work(g->slow_wq, &g->announce);
	spin_unlock_irq(&g->lock);

	wake_up_all(&g->wait);
	next = min(next, start_reads(g, now, state, fresh_ns, at_once));
	if (next != U64_MAX)
		hrtimer_start(&g->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

static enum hrtimer_restart gate_timer(struct hrtimer *timer)
{
	struct rf_gate *g = container_of(timer, struct rf_gate, timer);

	queue_work(g->wq, &g->work);
	return HRTIMER_NORESTART;
}

/* ---- telling the world ---- */

const char *const rf_gate_states[] = {RF_GATE_STATE_WORDS};
const char *const rf_gate_whys[] = {RF_GATE_WHY_WORDS};

static void announce_work(struct work_struct *work)
{
	struct rf_gate *g = container_of(work, struct rf_gate, announce);
	char state[32], why[32], epoch[48];
	char *env[4];
	unsigned int noio;
	bool quiet;

	spin_lock_irq(&g->lock);
	quiet = g->dying || g->announced == g->state;
	g->announced = g->state;
	snprintf(state, sizeof(state), RF_GATE_UEVENT_STATE "=%s", rf_gate_states[g->state]);
	snprintf(why, sizeof(why), RF_GATE_UEVENT_WHY "=%s", rf_gate_whys[g->why]);
	snprintf(epoch, sizeof(epoch), RF_GATE_UEVENT_EPOCH "=%llu", g->epoch);
	spin_unlock_irq(&g->lock);
	if (quiet)
		return;
	/* writeback may be waiting for this gate: no I/O to get memory */
	env[0] = state;
	env[1] = why;
	env[2] = epoch;
	env[3] = NULL;
	noio = memalloc_noio_save();
	kobject_uevent_env(&disk_to_dev(gate_disk(g))->kobj, KOBJ_CHANGE, env);
	dm_table_event(g->ti->table);
	memalloc_noio_restore(noio);
}

/* clang-format off */ /* it does not know this loop */
void rf_gate_sum(struct rf_gate *g, struct rf_counters *sum)
{
	const struct rf_counters *c;
	int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(g->counters, cpu);
		sum->finished += READ_ONCE(c->finished);
	}
	/* finished before admitted: their difference is never below what is in flight */
	smp_rmb();
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(g->counters, cpu);
		sum->admitted += READ_ONCE(c->admitted);
		sum->late += READ_ONCE(c->late);
		for (i = 0; i < RF_REFUSED_REASONS; i++)
			sum->refused[i] += READ_ONCE(c->refused[i]);
	}
}

/* clang-format on */

/* ---- orders ---- */

static int may_grant(struct rf_gate *g, u64 now, u64 epoch, u64 deadline_ns, u64 incarnation)
{
	if (is_over(g))
		return over_error(g);
	if (g->suspended)
		return -EAGAIN;
	if (deadline_ns <= now)
		return -ETIME;
	if (deadline_ns - now > g->lease_ns)
		return -ERANGE;
	if (g->state == RF_GATE_OPENING)
		return -EBUSY;
	if (g->state != RF_GATE_CLOSED)
		return epoch == g->epoch && incarnation == g->incarnation ? 0 : -EBUSY;
	/* §8: who had the device open under an earlier instance may still be there */
	if (g->inherited && disk_openers(gate_disk(g)))
		return -EBUSY;
	g->inherited = false;
	return 0;
}

/* True if the claim region must be read first. */
static bool take_grant(struct rf_gate *g, u64 now, u64 epoch, u64 deadline_ns, u64 incarnation)
{
	g->granted_ns = max(g->granted_ns, deadline_ns);
	queue_work(g->wq, &g->work);
	if (g->state == RF_GATE_OPEN) {
		set_deadline(g);
		return false;
	}
	g->fresh_ns = now;
	if (g->state == RF_GATE_CLOSED) {
		g->state = RF_GATE_OPENING;
		g->epoch = epoch;
		g->incarnation = incarnation;
	}
	return true;
}

/* Is the grant of `since` decided? 1: no. */
static int grant_result(struct rf_gate *g, u64 since)
{
	int r = 1;

	spin_lock_irq(&g->lock);
	if (g->state == RF_GATE_OPEN)
		r = 0;
	else if (is_over(g)) /* opened, and expired before we looked? */
		r = g->why == RF_GATE_WHY_EXPIRED ? -ETIME : over_error(g);
	else if (g->failed_ns >= since)
		r = g->failed_error;
	spin_unlock_irq(&g->lock);
	return r;
}

static int wait_grant(struct rf_gate *g, u64 since, u64 deadline_ns)
{
	unsigned long limit = nsecs_to_jiffies(deadline_ns - since) + 1;
	int r = 1;

	wait_event_killable_timeout(g->wait, (r = grant_result(g, since)) <= 0, limit);
	if (r <= 0)
		return r;
	spin_lock_irq(&g->lock);
	give_up_opening(g, ktime_get_boottime_ns(), -ETIME);
	spin_unlock_irq(&g->lock);
	r = grant_result(g, since);
	return r <= 0 ? r : -ETIME;
}

int rf_gate_grant(struct rf_gate *g, u64 epoch, u64 deadline_ns, u64 incarnation)
{
	bool wait = false;
	u64 now;
	int r;

	spin_lock_irq(&g->lock);
	now = ktime_get_boottime_ns();
	expire(g, now);
	r = may_grant(g, now, epoch, deadline_ns, incarnation);
	if (!r)
		wait = take_grant(g, now, epoch, deadline_ns, incarnation);
	spin_unlock_irq(&g->lock);
	if (wait)
		r = wait_grant(g, now, deadline_ns);
	trace_rf_grant(gate_devt(g), epoch, deadline_ns, r);
	return r;
}

bool rf_gate_revoke(struct rf_gate *g, unsigned int wait_ms)
{
	spin_lock_irq(&g->lock);
	shut(g, RF_GATE_WHY_REVOKED);
	spin_unlock_irq(&g->lock);
	wait_event_killable_timeout(g->wait, READ_ONCE(g->state) == RF_GATE_SHUT,
				    msecs_to_jiffies(wait_ms) + 1);
	return READ_ONCE(g->state) == RF_GATE_SHUT;
}

void rf_gate_check(struct rf_gate *g)
{
	spin_lock_irq(&g->lock);
	g->check_now = true;
	queue_work(g->wq, &g->work);
	spin_unlock_irq(&g->lock);
}

/* ---- suspend, resume ---- */

/* What is held must end now: the suspend waits for it. */
void rf_gate_presuspend(struct dm_target *ti)
{
	struct rf_gate *g = ti->private;

	spin_lock_irq(&g->lock);
	g->suspended = true;
	if (g->state == RF_GATE_OPENING)
		give_up_opening(g, ktime_get_boottime_ns(), -EAGAIN);
	if (g->state == RF_GATE_HOLDING)
		shut(g, RF_GATE_WHY_SUSPENDED);
	queue_work(g->wq, &g->work);
	spin_unlock_irq(&g->lock);
}

/* All writes are through, filesystems above are frozen: the moment to shut. */
void rf_gate_postsuspend(struct dm_target *ti)
{
	struct rf_gate *g = ti->private;

	spin_lock_irq(&g->lock);
	if (g->state != RF_GATE_CLOSED)
		shut(g, RF_GATE_WHY_SUSPENDED);
	spin_unlock_irq(&g->lock);
}

/* Also when a suspend is given up half-way. */
void rf_gate_resume(struct dm_target *ti)
{
	struct rf_gate *g = ti->private;

	spin_lock_irq(&g->lock);
	g->suspended = false;
	if (!g->resumed)
		g->inherited = disk_openers(gate_disk(g)) > 0;
	g->resumed = true;
	spin_unlock_irq(&g->lock);
}

/* ---- life ---- */

static void free_parts(struct rf_gate *g)
{
	if (g->wq)
		destroy_workqueue(g->wq);
	if (g->slow_wq)
		destroy_workqueue(g->slow_wq);
	free_percpu(g->counters);
}

int rf_gate_init(struct rf_gate *g)
{
	spin_lock_init(&g->lock);
	bio_list_init(&g->held);
	INIT_WORK(&g->work, gate_work);
	INIT_WORK(&g->quiesce, quiesce_work);
	INIT_WORK(&g->settle, settle_work);
	INIT_WORK(&g->announce, announce_work);
	init_waitqueue_head(&g->wait);
	init_completion(&g->drained);
	rf_hrtimer_setup(&g->timer, gate_timer, CLOCK_BOOTTIME);
	g->counters = alloc_percpu(struct rf_counters);
	/* on the reclaim path both, and what blocks never delays what must not */
	g->wq = alloc_workqueue("rf_gate", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	g->slow_wq = alloc_workqueue("rf_gate_io", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (g->counters && g->wq && g->slow_wq)
		return 0;
	free_parts(g);
	return -ENOMEM;
}

void rf_gate_exit(struct rf_gate *g)
{
	unsigned int i;

	spin_lock_irq(&g->lock);
	g->dying = true;
	shut(g, RF_GATE_WHY_REMOVED);
	spin_unlock_irq(&g->lock);
	wait_for_completion(&g->drained);
	for (i = 0; i < g->disk_count; i++)
		rf_disk_wait(&g->disks[i]);
	/* the run that found it drained was the last that could have set the timer */
	hrtimer_cancel(&g->timer);
	free_parts(g);
}
