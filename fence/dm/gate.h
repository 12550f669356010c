/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the module: the gate, its counters, and its view of the claim regions.
 *
 *   target.c  device-mapper's callbacks: arguments, map, end_io, status, messages
 *   gate.c    the latch: who may open it, and everything that shuts it
 *   region.c  reading the claim regions and judging them
 */
#ifndef RF_DM_GATE_H
#define RF_DM_GATE_H

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/crc32c.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* The kernel's crc32c() leaves init and final xor to the caller. */
#define RF_CRC32C(p, len) (~crc32c(~0u, (p), (len)))
#include "ringfence/claim.h"
#include "ringfence/gate.h"

#include "compat.h"

#define DM_MSG_PREFIX "ringfence"

enum rf_refused {
	RF_REFUSED_CLOSED,
	RF_REFUSED_EXPIRED,
	RF_REFUSED_SUPERSEDED,
	RF_REFUSED_REVOKED,
	RF_REFUSED_REASONS,
};

struct rf_counters {
	u64 admitted, finished, late;
	u64 refused[RF_REFUSED_REASONS];
};

/* Of each bio. dm does not clear it: every path of map() sets it. */
struct rf_io {
	bool counted; /* in gate->counters->admitted, not yet in finished */
};

enum rf_disk_read { RF_READ_IDLE, RF_READ_BUSY, RF_READ_DONE };

/* One copy of the claim region. All but `read` belongs to the work item. */
struct rf_disk {
	struct rf_gate *gate;
	struct dm_dev *dev;
	sector_t sector;
	void *region;
	struct work_struct submit;
	struct bio *bios;
	struct bio_vec *vecs;
	unsigned int bio_count, page_count;
	atomic_t pending; /* bios of the read that is on its way */
	atomic_t failed;
	int read;         /* enum rf_disk_read; DONE is set by the last bio */
	bool stuck;       /* told about it */
	bool owned;       /* the last good read names us in the epoch sector */
	bool foreign;     /* the last read gives our epoch to somebody else */
	u64 submitted_ns; /* §2.4: what counts for me is taken before I submit */
	u64 good_ns;      /* submission of the last read that was not superseded */
	u64 judged_ns;    /* submission of the last read that came back, good or bad */
};

static_assert(sizeof(long) == sizeof(u64)); /* a deadline is read in one go */

struct rf_gate {
	/* Read by every bio; written by grants and at the end, never by a bio. */
	u64 deadline_ns; /* 0: shut */
	u64 sure_ns;     /* a quarter of the lease earlier; 0: shut */
	struct block_device *bdev;
	sector_t offset;
	sector_t begin;
	struct rf_counters __percpu *counters;
	blk_status_t refusal;
	bool gate_reads;

	spinlock_t lock ____cacheline_aligned; /* irq-safe; guards down to `held` */
	enum rf_gate_state state;
	enum rf_gate_why why;
	u64 epoch, incarnation;
	u64 granted_ns;  /* what the daemon asked for */
	u64 verified_ns; /* a majority was good in reads submitted then or later */
	u64 fresh_ns;    /* to open, verified_ns must have reached this */
	u64 failed_ns;   /* when a fresh read last did not suffice to open, */
	int failed_error;
	u64 hold_end_ns;
	u64 drain_start_ns, drain_ns;
	u64 seen;
	bool suspended, inherited, resumed, dying, check_now;
	bool quiesced; /* shut, and nothing is being admitted any more */
	enum rf_gate_state announced;
	unsigned int held_count;
	struct bio_list held;

	u64 checks, check_errors; /* only the work item counts */
	u64 lease_ns, interval_ns, hold_ns;
	u32 node, volume;
	struct rf_area_id id;
	struct dm_target *ti;
	struct dm_dev *dev;
	struct workqueue_struct *wq;      /* what must never block */
	struct workqueue_struct *slow_wq; /* what may: reads, issuing, events */
	struct work_struct work, quiesce, settle, announce;
	struct hrtimer timer;
	wait_queue_head_t wait;
	struct completion drained;
	unsigned int disk_count;
	struct rf_disk disks[RF_DISKS_MAX];
};

/* ---- gate.c ---- */

/* May sleep. The gate is zeroed, its settings and disks are filled in. */
int rf_gate_init(struct rf_gate *g);
/* May sleep, as long as a claim read is stuck below us. */
void rf_gate_exit(struct rf_gate *g);
/* May sleep until the deadline. 0 or an error of ringfence/gate.h. */
int rf_gate_grant(struct rf_gate *g, u64 epoch, u64 deadline_ns, u64 incarnation);
/* May sleep for wait_ms. True when drained. */
bool rf_gate_revoke(struct rf_gate *g, unsigned int wait_ms);
void rf_gate_check(struct rf_gate *g);
void rf_gate_presuspend(struct dm_target *ti);
void rf_gate_postsuspend(struct dm_target *ti);
void rf_gate_resume(struct dm_target *ti);
/* Not admitted: hold, refuse, or admit after all. What map() returns. No sleep. */
int rf_gate_slow(struct rf_gate *g, struct bio *bio);
extern const char *const rf_gate_states[];
extern const char *const rf_gate_whys[];
void rf_gate_sum(struct rf_gate *g, struct rf_counters *sum);

/*
 * Check and count in one section that RCU waits for: once a grace period has
 * passed since the deadline was taken away, every bio whose check passed has been
 * counted, and none will be. The precise clock, not the coarse one: the coarse
 * clock is as old as the last tick, and nothing bounds the delay of a tick
 * (interrupts off, a virtual CPU that was taken away).
 */
static inline bool rf_gate_enter(struct rf_gate *g)
{
	bool open;

	preempt_disable();
	open = ktime_get_boottime_ns() < READ_ONCE(g->deadline_ns);
	if (likely(open))
		this_cpu_inc(g->counters->admitted);
	preempt_enable();
	return open;
}

/*
 * Of a bio that was admitted. True when it came too late to be believed. Here the
 * coarse clock will do, as long as it says that a quarter of the lease is left: it
 * would take a timekeeper that stood still for that long to believe a late write,
 * and that one was let through in time. Any nearer, the precise clock decides.
 */
static inline bool rf_gate_leave(struct rf_gate *g)
{
	bool late = false;
	u64 sure;

	preempt_disable();
	sure = READ_ONCE(g->sure_ns);
	if (unlikely(ktime_get_coarse_boottime_ns() >= sure))
		late = ktime_get_boottime_ns() >= READ_ONCE(g->deadline_ns);
	this_cpu_inc(g->counters->finished);
	preempt_enable();
	if (unlikely(!sure)) /* a drain may be waiting for this one */
		queue_work(g->wq, &g->work);
	return late;
}

static inline void rf_gate_remap(struct rf_gate *g, struct bio *bio)
{
	bio_set_dev(bio, g->bdev);
	if (bio_sectors(bio))
		bio->bi_iter.bi_sector += g->offset - g->begin;
}

/* ---- region.c ---- */

/* May sleep. disk->dev and ->sector are filled in. */
int rf_disk_init(struct rf_gate *g, struct rf_disk *d);
/* May sleep until the read that is on its way has come back. */
void rf_disk_wait(struct rf_disk *d);
void rf_disk_exit(struct rf_disk *d);
/* Submits a read, unless the last one is still on its way. Process context. */
void rf_disk_submit(struct rf_disk *d, u64 now_ns);

/* What the disks say, together. */
struct rf_findings {
	u64 seen;
	unsigned int finished, errors;
	bool superseded, foreign, owned, complete;
};

/* Judges a read that came back for `epoch` of `incarnation`, and adds it to f. */
void rf_disk_judge(struct rf_disk *d, u64 epoch, u64 incarnation, struct rf_findings *f);
/* Since when has a majority of the disks been good? 0: never. */
u64 rf_disks_verified(const struct rf_disk *disks, unsigned int count);

/* ---- selftest.c, in debug builds ---- */

#ifdef RF_SELFTEST
bool rf_selftest(void);
#else
static inline bool rf_selftest(void)
{
	return true;
}
#endif

extern struct target_type rf_target;

#endif
