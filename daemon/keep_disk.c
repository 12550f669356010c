/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State and work for whoever asks a node that does not lead: read from the quorum disks,
 * a majority of them. One read an area at a time; who asks meanwhile waits for the next.
 */
#include <errno.h>
#include <string.h>

#include "daemon.h"
#include "format/timing.h"
#include "keep.h"

#define OP_MINE 0x80000000u /* operations of the core are small numbers */
#define LIMIT_MS 600u       /* the tool gives an answer up after 900 */

static uint32_t count(uint32_t disks)
{
	return (uint32_t)__builtin_popcount(disks);
}

static uint32_t op_of(const struct rf_keep_look *l)
{
	return OP_MINE | l->turn;
}

/* A disk that still has a read of before is not given another: it may hang for ever. */
static void submit(struct part *p, uint32_t disk)
{
	const struct rf_super *s = &p->area.super;
	struct rf_keep_look *l = &p->look;
	struct rf_disk_request r = {
		.op = op_of(l),
		.disk = disk,
		.read_offset = rf_geo_state(s, l->number, 1, 0),
		.read_len = (uint32_t)(2 * rf_geo_half_bytes(s) * s->id.nodes),
		.deadline_ns = rf_loop_clock_ns() + LIMIT_MS * RF_MS_NS,
	};

	if (!(l->stuck & 1u << disk) && rf_disks_submit(p->disks, &r) == 0)
		l->stuck |= 1u << disk;
	else
		l->failed |= 1u << disk;
}

static void begin(struct part *p, uint32_t volume)
{
	struct rf_keep *k = &p->daemon->managed[volume].keep;
	struct rf_keep_look *l = &p->look;

	k->wanted = false;
	k->newest = (struct rf_newest){.payload = k->seen};
	l->busy = true;
	l->turn = (l->turn + 1) & 0xffff;
	l->volume = volume;
	l->number = p->daemon->managed[volume].number;
	l->done = l->failed = 0;
	for (uint32_t d = 0; d < p->area.super.disk_count; d++)
		submit(p, d);
	/* what failed at once is told from the loop's next turn */
	rf_loop_timer(p->daemon->loop, &l->timer, rf_loop_clock_ns());
}

void rf_keep_look(struct daemon *d, uint32_t volume)
{
	struct part *p = d->managed[volume].part;

	if (p->look.busy)
		d->managed[volume].keep.wanted = true;
	else
		begin(p, volume);
}

static void answer(struct part *p, int rc)
{
	uint32_t volume = p->look.volume;
	struct daemon *d = p->daemon;
	struct rf_keep *k = &d->managed[volume].keep;

	p->look.busy = false;
	if (!rc)
		rc = rf_blob_decode(&k->seen_blob, k->seen, k->newest.bytes);
	k->seen_bad = rc;
	k->fresh = true;
	rf_control_read(d->control, volume);
	k->fresh = false;
	for (uint32_t i = 0; i < d->config.volumes && !p->look.busy; i++)
		if (d->managed[i].part == p && d->managed[i].keep.wanted)
			begin(p, i);
}

static void settle(struct part *p)
{
	const struct rf_keep_look *l = &p->look;
	uint32_t disks = p->area.super.disk_count;

	if (l->busy && count(l->done) > disks / 2)
		answer(p, 0);
	else if (l->busy && count(l->failed) >= disks - disks / 2)
		answer(p, -EIO);
}

static void again(struct rf_timer *t, uint64_t now_ns)
{
	(void)now_ns;
	settle(t->owner);
}

void rf_keep_look_open(struct part *p)
{
	p->look.timer = (struct rf_timer){.fire = again, .owner = p};
}

bool rf_keep_disk_done(struct part *p, uint32_t op, uint32_t disk, int status,
		       const uint8_t *data, bool late)
{
	struct rf_keep_look *l = &p->look;

	if (!(op & OP_MINE))
		return false;
	if (status != -ETIME || late) /* off the kernel */
		l->stuck &= ~(1u << disk);
	if (!l->busy || op != op_of(l) || late)
		return true;
	if (status == 0) {
		rf_newest_disk(&p->daemon->managed[l->volume].keep.newest, &p->area.super,
			       l->number, data);
		l->done |= 1u << disk;
	} else {
		l->failed |= 1u << disk;
	}
	settle(p);
	return true;
}
