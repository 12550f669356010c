/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the claim region on one or several disks (claimread.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "claimread.h"

#define DISK_READS_MAX 64u
#define WAIT_S 3

/* One disk's copy of what is needed. */
struct copy {
	bool done;
	int error;
	enum rf_claim_verdict verdict;
	struct rf_claim_facts facts;
	bool slot_good, slot_open;
	uint64_t slot_seq;
};

/* One question to all disks. Owned by its asker and by every reader of a disk:
 * a reader that hangs keeps it alive, and the last one frees it. */
struct question {
	struct rf_area *area;
	uint32_t volume;
	struct rf_owner owner;
	bool need_open;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	struct copy copies[RF_DISKS_MAX];
};

struct reader {
	struct question *q;
	unsigned disk;
};

/* ---- one disk ---- */

static void judge_slot(const struct question *q, const void *record, struct copy *c)
{
	const struct rf_disk_slot *s = record;
	uint32_t v = q->volume;

	if (rf_record_check(s, &q->area->id, RF_KIND_SLOT, 0, q->owner.node) != RF_RECORD_OK)
		return;
	c->slot_good = true;
	c->slot_seq = rf_get64(s->h.seq);
	c->slot_open = rf_get32(s->state) == RF_SLOT_JOINED &&
		       rf_get64(s->incarnation) == q->owner.incarnation &&
		       (s->gate_open[v / 8] >> v % 8 & 1);
}

static int read_disk(const struct question *q, const struct rf_area_disk *d, struct copy *c)
{
	const struct rf_area *a = q->area;
	size_t bytes = rf_claim_region_bytes(&a->id);
	void *buf = rf_area_buffer(bytes);
	int rc;

	if (!buf)
		return -ENOMEM;
	rc = rf_area_read(d, buf, bytes, rf_area_region(a, q->volume));
	if (!rc)
		c->verdict = rf_claim_check(buf, &a->id, q->volume, q->owner.epoch,
					    q->owner.node, q->owner.incarnation, &c->facts);
	if (!rc && q->need_open && q->owner.node >= 1 && q->owner.node <= a->id.nodes) {
		rc = rf_area_read(d, buf, a->id.stride_bytes, rf_area_slot(a, q->owner.node));
		if (!rc)
			judge_slot(q, buf, c);
	}
	free(buf);
	return rc;
}

static void copy_read(const struct question *q, struct rf_area_disk *d, struct copy *c)
{
	c->verdict = RF_CLAIM_UNREADABLE;
	c->error = -EBUSY;
	if (atomic_fetch_add(&d->reading, 1) < DISK_READS_MAX)
		c->error = rf_area_disk_ready(q->area, d) ? read_disk(q, d, c) : -ENODEV;
	atomic_fetch_sub(&d->reading, 1);
}

/* ---- judging what has come in ---- */

struct tally {
	unsigned done, superseded, released, owned, other;
	unsigned slots;
	bool slot_open;
};

static struct tally count(const struct question *q)
{
	struct tally t = {0};
	uint64_t newest = 0;
	unsigned i;

	for (i = 0; i < q->area->disks; i++) {
		const struct copy *c = &q->copies[i];

		if (!c->done)
			continue;
		t.done++;
		/* One readable proof is enough to refuse (claim.h). */
		t.superseded += !c->error && c->verdict == RF_CLAIM_SUPERSEDED;
		t.released += !c->error && c->verdict == RF_CLAIM_RELEASED;
		t.owned += !c->error && c->verdict == RF_CLAIM_OWNED;
		t.other += !c->error && c->verdict == RF_CLAIM_OTHER;
		if (c->error || !c->slot_good)
			continue;
		if (!t.slots || c->slot_seq > newest) {
			newest = c->slot_seq;
			t.slot_open = c->slot_open;
		}
		t.slots++;
	}
	return t;
}

static enum rf_claim_answer answer(const struct question *q, const struct tally *t)
{
	unsigned majority = rf_area_majority(q->area);

	if (t->superseded)
		return RF_ANSWER_SUPERSEDED;
	if (t->released)
		return RF_ANSWER_RELEASED;
	if (t->owned + t->other < majority)
		return RF_ANSWER_UNREADABLE;
	if (!t->owned)
		return RF_ANSWER_OTHER;
	if (!q->need_open)
		return RF_ANSWER_OWNED;
	if (t->slots < majority)
		return RF_ANSWER_UNREADABLE;
	return t->slot_open ? RF_ANSWER_OWNED : RF_ANSWER_CLOSED;
}

/* A refusal by proof is final; the rest can change while disks are out. */
static bool settled(const struct question *q)
{
	struct tally t = count(q);
	enum rf_claim_answer r = answer(q, &t);

	return t.done == q->area->disks || r == RF_ANSWER_OWNED || r == RF_ANSWER_SUPERSEDED ||
	       r == RF_ANSWER_RELEASED;
}

static void report(const struct question *q, struct rf_claim_read *out)
{
	struct tally t = count(q);
	unsigned i;

	memset(out, 0, sizeof(*out));
	out->answer = answer(q, &t);
	for (i = 0; i < q->area->disks; i++) {
		const struct copy *c = &q->copies[i];
		const struct rf_claim_facts *f = &c->facts;

		if (!c->done || c->error)
			continue;
		out->disks_read++;
		if (f->highest_decided > out->highest_decided)
			out->highest_decided = f->highest_decided;
		if (f->highest_instance > out->highest_instance)
			out->highest_instance = f->highest_instance;
		if (f->sector_epoch >= out->sector.epoch) {
			out->sector.epoch = f->sector_epoch;
			out->sector.node = f->sector_owner;
			out->sector.incarnation = f->sector_incarnation;
			out->sector_state = f->sector_state;
		}
	}
}

/* ---- several disks at once ---- */

static void question_put(struct question *q)
{
	bool last;

	pthread_mutex_lock(&q->lock);
	last = --q->refs == 0;
	pthread_mutex_unlock(&q->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->changed);
	free(q);
}

static void question_done(struct question *q, unsigned disk, const struct copy *c)
{
	pthread_mutex_lock(&q->lock);
	q->copies[disk] = *c;
	q->copies[disk].done = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void *reader_run(void *arg)
{
	struct reader *r = arg;
	struct copy c = {0};

	copy_read(r->q, &r->q->area->disk[r->disk], &c);
	question_done(r->q, r->disk, &c);
	question_put(r->q);
	free(r);
	return NULL;
}

static void reader_start(struct question *q, unsigned disk)
{
	struct reader *r = malloc(sizeof(*r));
	struct copy failed = {.error = -EAGAIN, .verdict = RF_CLAIM_UNREADABLE};
	pthread_attr_t attr;
	pthread_t thread;
	int rc = ENOMEM;

	if (r) {
		r->q = q;
		r->disk = disk;
		pthread_mutex_lock(&q->lock);
		q->refs++;
		pthread_mutex_unlock(&q->lock);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		rc = pthread_create(&thread, &attr, reader_run, r);
		pthread_attr_destroy(&attr);
	}
	if (!rc)
		return;
	question_done(q, disk, &failed);
	if (r)
		question_put(q);
	free(r);
}

static void ask_all(struct question *q)
{
	struct timespec until;
	unsigned i;
	int rc = 0;

	for (i = 0; i < q->area->disks; i++)
		reader_start(q, i);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&q->lock);
	while (!settled(q) && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&q->changed, &q->lock, &until);
	pthread_mutex_unlock(&q->lock);
}

static struct question *question_new(struct rf_area *a, uint32_t volume,
				     const struct rf_owner *o, bool need_open)
{
	struct question *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;

	if (!q)
		return NULL;
	q->area = a;
	q->volume = volume;
	q->owner = *o;
	q->need_open = need_open;
	q->refs = 1;
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &attr);
	pthread_condattr_destroy(&attr);
	return q;
}

void rf_claim_read(struct rf_area *a, uint32_t volume, const struct rf_owner *o, bool need_open,
		   struct rf_claim_read *out)
{
	struct question *q = question_new(a, volume, o, need_open);

	memset(out, 0, sizeof(*out));
	out->answer = RF_ANSWER_UNREADABLE;
	if (!q)
		return;
	if (a->disks == 1) {
		struct copy c = {0};

		copy_read(q, &a->disk[0], &c);
		question_done(q, 0, &c);
	} else {
		ask_all(q);
	}
	pthread_mutex_lock(&q->lock);
	report(q, out);
	pthread_mutex_unlock(&q->lock);
	question_put(q);
}

void rf_claim_look(struct rf_area *a, uint32_t volume, struct rf_claim_read *out)
{
	/* An epoch that no record can supersede: no early answer, all facts. */
	const struct rf_owner nobody = {.epoch = UINT64_MAX};

	rf_claim_read(a, volume, &nobody, false, out);
}
