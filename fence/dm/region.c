// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading the claim regions.
 *
 * Own bios and own buffers, made beforehand: the gate is on the reclaim path.
 * A read that is stuck cannot be recalled: its buffers stay its own until it
 * comes back, the disk is not read again before that, and the time that counts
 * is when it was submitted. So a stuck disk makes the gate older, never younger.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "gate.h"

static size_t region_bytes(const struct rf_gate *g)
{
	return rf_claim_region_bytes(&g->id);
}

/* Any context. The gate outlives this: rf_disk_wait() waits for read != BUSY. */
static void read_end(struct bio *bio)
{
	struct rf_disk *d = bio->bi_private;
	struct rf_gate *g = d->gate;
	unsigned long flags;

	if (bio->bi_status)
		atomic_set(&d->failed, 1);
	if (!atomic_dec_and_test(&d->pending))
		return;
	/* Under this lock to the end: rf_disk_wait() takes it before g is freed. */
	spin_lock_irqsave(&g->wait.lock, flags);
	/* after all of the region; pairs with those who look whether it is done */
	smp_store_release(&d->read, RF_READ_DONE);
	queue_work(g->wq, &g->work);
	wake_up_locked(&g->wait);
	spin_unlock_irqrestore(&g->wait.lock, flags);
}

static void fill(struct rf_disk *d, struct bio *bio, size_t at)
{
	size_t left = region_bytes(d->gate) - at;
	unsigned int n = bio->bi_max_vecs;

	for (; n && left; n--) {
		size_t len = min_t(size_t, left, PAGE_SIZE);

		__bio_add_page(bio, vmalloc_to_page(d->region + at), len, 0);
		at += len;
		left -= len;
	}
}

/* Of its own work item: submitting may block on a device that is stuck. */
static void submit_work(struct work_struct *work)
{
	struct rf_disk *d = container_of(work, struct rf_disk, submit);
	const blk_opf_t opf = REQ_OP_READ | REQ_META | REQ_PRIO | REQ_SYNC;
	const size_t step = (size_t)BIO_MAX_VECS * PAGE_SIZE;
	unsigned int i;

	flush_kernel_vmap_range(d->region, region_bytes(d->gate));
	for (i = 0; i < d->bio_count; i++) {
		struct bio *bio = &d->bios[i];

		bio_reset(bio, d->dev->bdev, opf);
		bio->bi_iter.bi_sector = d->sector + (i * step >> SECTOR_SHIFT);
		bio->bi_private = d;
		bio->bi_end_io = read_end;
		fill(d, bio, i * step);
		submit_bio(bio);
	}
}

void rf_disk_submit(struct rf_disk *d, u64 now_ns)
{
	if (d->read != RF_READ_IDLE)
		return;
	d->read = RF_READ_BUSY;
	d->stuck = false;
	d->submitted_ns = now_ns;
	atomic_set(&d->failed, 0);
	atomic_set(&d->pending, d->bio_count);
	queue_work(d->gate->slow_wq, &d->submit);
}

int rf_disk_init(struct rf_gate *g, struct rf_disk *d)
{
	unsigned int i;

	d->gate = g;
	INIT_WORK(&d->submit, submit_work);
	d->page_count = DIV_ROUND_UP(region_bytes(g), PAGE_SIZE);
	d->bio_count = DIV_ROUND_UP(d->page_count, BIO_MAX_VECS);
	d->region = vzalloc((size_t)d->page_count * PAGE_SIZE);
	d->bios = kcalloc(d->bio_count, sizeof(*d->bios), GFP_KERNEL);
	d->vecs = kvcalloc(d->page_count, sizeof(*d->vecs), GFP_KERNEL);
	if (!d->region || !d->bios || !d->vecs)
		return -ENOMEM;
	for (i = 0; i < d->bio_count; i++)
		bio_init(&d->bios[i], NULL, d->vecs + i * BIO_MAX_VECS,
			 min(d->page_count - i * BIO_MAX_VECS, BIO_MAX_VECS), 0);
	return 0;
}

/* The bios and the buffer belong to the device below until they have come back. */
void rf_disk_wait(struct rf_disk *d)
{
	/* pairs with read_end() */
	wait_event(d->gate->wait, smp_load_acquire(&d->read) != RF_READ_BUSY);
	/* read_end() may still be on its way out */
	spin_lock_irq(&d->gate->wait.lock);
	spin_unlock_irq(&d->gate->wait.lock);
}

void rf_disk_exit(struct rf_disk *d)
{
	unsigned int i;

	for (i = 0; d->bios && i < d->bio_count; i++)
		bio_uninit(&d->bios[i]);
	kvfree(d->vecs);
	kfree(d->bios);
	vfree(d->region);
}

void rf_disk_judge(struct rf_disk *d, u64 epoch, u64 incarnation, struct rf_findings *out)
{
	struct rf_gate *g = d->gate;
	enum rf_claim_verdict verdict = RF_CLAIM_UNREADABLE;
	struct rf_claim_facts f = {};

	invalidate_kernel_vmap_range(d->region, region_bytes(g));
	if (!atomic_read(&d->failed))
		verdict = rf_claim_check(d->region, &g->id, g->volume, epoch, g->node,
					 incarnation, &f);
	out->finished++;
	out->seen = max(out->seen, f.highest_decided);
	out->errors += verdict == RF_CLAIM_UNREADABLE;
	out->superseded |= verdict == RF_CLAIM_SUPERSEDED || verdict == RF_CLAIM_RELEASED;
	d->owned = verdict == RF_CLAIM_OWNED;
	/* §6: an epoch has one owner for ever; an older one in the sector is only late */
	d->foreign = verdict == RF_CLAIM_OTHER && f.sector_epoch == epoch;
	if (d->owned || (verdict == RF_CLAIM_OTHER && !d->foreign))
		d->good_ns = d->submitted_ns;
	d->judged_ns = d->submitted_ns;
	d->read = RF_READ_IDLE;
}

/*
 * Whatever supersedes us was written to a majority, so it lies on one of any
 * majority of disks. If all of a majority were good in reads submitted at t or
 * later, nothing had superseded us at t. The newest such t is the majority-th
 * newest of the disks' own times.
 */
u64 rf_disks_verified(const struct rf_disk *disks, unsigned int count)
{
	u64 best = 0;
	unsigned int i, k;

	for (i = 0; i < count; i++) {
		unsigned int as_new = 0;

		for (k = 0; k < count; k++)
			as_new += disks[k].good_ns >= disks[i].good_ns;
		if (as_new > count / 2)
			best = max(best, disks[i].good_ns);
	}
	return best;
}
