/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One record on all disks: what is wrong with it, and what is certain.
 *
 * Copies between disks. A step of the protocol counts when a majority of the disks has
 * it. If fewer than that are unreadable and all others are at hand, each step that counted
 * is on one of these: their newest copy is at least as new as anything that anybody acted
 * on. So it may take the place of what is lost, as long as its writer does not run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repair.h"

static void say(struct repair *p, enum repair_verdict verdict, const char *why)
{
	p->verdict = verdict;
	snprintf(p->why, sizeof(p->why), "%s", why);
}

/* ---- superblocks ---- */

static void judge_super(const struct disk_set *set, const struct record *r, struct repair *p)
{
	const struct disk *d = &set->disk[p->disk];
	struct record other = {.kind = RF_KIND_SUPERBLOCK, .part = !r->part};
	void *buf = disk_buffer(RF_STRIDE_MIN);
	struct rf_super s;

	other.offset_bytes = r->part ? 0 : rf_geo_copy(&d->super);
	if (disk_record(d, &other, buf) ||
	    record_verdict(buf, &d->super, &other) != RF_RECORD_OK ||
	    rf_super_decode(buf, &s) != RF_RECORD_OK) {
		say(p, REPAIR_REFUSE,
		    "neither superblock of this disk is readable; those of other disks name "
		    "another disk and place");
	} else {
		rf_super_encode(p->raw, &s, r->part);
		p->while_alive = true;
		say(p, REPAIR_WRITE,
		    r->part ? "from the superblock of this disk; only format writes them"
			    : "from the copy on this disk; only format writes them");
	}
	free(buf);
}

/* ---- from other disks ---- */

static unsigned unreadable(const struct disk_set *set, const struct merged *m)
{
	unsigned i, n = 0;

	for (i = 0; i < set->count; i++)
		n += m->verdict[i] != RF_RECORD_OK;
	return n;
}

static void judge_copy(const struct disk_set *set, const struct merged *m, struct repair *p)
{
	unsigned bad = unreadable(set, m), disks = set->super.disk_count;

	if (disks == 1) {
		say(p, REPAIR_REFUSE,
		    p->record.kind == RF_KIND_BALLOT
			    ? "what this node promised is nowhere else: stop all nodes, keep "
			      "an "
			      "image, format anew"
			    : "it is nowhere else: stop all nodes, keep an image, format anew");
	} else if (set->count < disks) {
		say(p, REPAIR_REFUSE,
		    "only all disks of the area together can prove it: name "
		    "all of them");
	} else if (2 * bad >= disks) {
		say(p, REPAIR_REFUSE,
		    "it is lost on most disks: the copies left may be older than what counted");
	} else {
		memcpy(p->raw, m->raw, RF_RECORD_BYTES);
		say(p, REPAIR_WRITE,
		    "the newest copy on the other disks, which are more than half of them");
	}
}

/* ---- epoch sectors ---- */

static void judge_sector(const struct disk_set *set, struct merge *g, const struct record *r,
			 const struct merged *m, struct repair *p)
{
	struct rf_epoch sector, e;
	bool have =
		m->newest >= 0 && !rf_epoch_decode(m->raw, &set->super.id, r->volume, &sector);

	/* what lies there is enough, only this disk has lost it */
	if (have && set->super.disk_count > 1 &&
	    2 * unreadable(set, m) < set->super.disk_count &&
	    set->count == set->super.disk_count) {
		judge_copy(set, m, p);
		return;
	}
	if (!repair_epoch(set, g, r->volume, have ? &sector : NULL, &e, p->why)) {
		p->verdict = REPAIR_REFUSE;
		return;
	}
	rf_epoch_encode(p->raw, &set->super.id, r->volume, &e);
	p->verdict = REPAIR_WRITE;
}

/* A good sector that names less than was decided: on every disk. */
static void judge_old_sector(const struct disk_set *set, struct merge *g,
			     const struct record *r, const struct rf_epoch *sector,
			     struct repair out[RF_DISKS_MAX])
{
	struct rf_epoch e;
	char why[280];
	unsigned i;

	if (!repair_epoch(set, g, r->volume, sector, &e, why) || e.epoch <= sector->epoch)
		return;
	for (i = 0; i < set->count; i++) {
		rf_epoch_encode(out[i].raw, &set->super.id, r->volume, &e);
		say(&out[i], REPAIR_WRITE, why);
	}
}

/* ---- what its own writer writes anew ---- */

/* Certain or left: nothing waits for it, so it is no failure. A state is left even then: the
 * next leader commits what it loads on all disks. */
static void judge_healing(const struct disk_set *set, struct merge *g, const struct record *r,
			  const struct merged *m, const char *otherwise, struct repair *p)
{
	if (r->kind != RF_KIND_STATE && set->super.disk_count > 1)
		judge_copy(set, m, p);
	if (p->verdict != REPAIR_WRITE && r->kind == RF_KIND_HISTORY)
		repair_history(set, g, r, p);
	if (p->verdict == REPAIR_WRITE)
		p->otherwise = otherwise;
	else
		say(p, REPAIR_LEAVE, otherwise);
}

/* ---- one record ---- */

static void judge_lost(const struct disk_set *set, struct merge *g, const struct record *r,
		       const struct merged *m, struct repair *p)
{
	switch (r->kind) {
	case RF_KIND_SUPERBLOCK:
		judge_super(set, r, p);
		break;
	case RF_KIND_VOLUME:
		judge_copy(set, m, p);
		p->while_alive = true;
		break;
	case RF_KIND_BALLOT:
		judge_copy(set, m, p);
		break;
	case RF_KIND_EPOCH:
		judge_sector(set, g, r, m, p);
		break;
	case RF_KIND_SLOT:
		judge_healing(
			set, g, r, m,
			"its node writes it anew when ringfenced starts there; until then "
			"it counts as perhaps alive, and a new leader waits for its lease",
			p);
		break;
	case RF_KIND_MAILBOX:
		judge_healing(set, g, r, m, "the next order writes it anew", p);
		break;
	case RF_KIND_STATE:
		judge_healing(set, g, r, m,
			      "the next commit of its node writes it anew; a later leader has "
			      "what was acknowledged from the other halves and disks",
			      p);
		break;
	case RF_KIND_HISTORY:
		judge_healing(set, g, r, m,
			      "who led then is written nowhere else; the leader of the next "
			      "epoch in this place of the ring writes it anew",
			      p);
		break;
	}
}

/* What is there may be somebody's: not damage of ours to write over. */
static const char *never_ours(unsigned verdict)
{
	switch (verdict) {
	case RECORD_IO_ERROR:
		return "the device itself cannot read it, or ends before it";
	case RF_RECORD_BAD_VERSION:
		return "a program of another version may have written it";
	case RF_RECORD_FOREIGN:
		return "another cluster writes here: find out which host, and stop it first";
	default:
		return NULL;
	}
}

void repair_judge(const struct disk_set *set, struct merge *g, const struct record *r,
		  struct repair out[RF_DISKS_MAX])
{
	struct rf_epoch sector;
	struct merged m, first;
	const char *why;
	unsigned i, bad;

	merge_read(g, set, r, &m);
	bad = unreadable(set, &m);
	first = m;
	for (i = 0; i < set->count; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		out[i].disk = i;
		out[i].record = *r;
		if (first.verdict[i] == RF_RECORD_OK)
			continue;
		why = never_ours(first.verdict[i]);
		if (why) {
			say(&out[i], REPAIR_REFUSE, why);
			continue;
		}
		judge_lost(set, g, r, &m, &out[i]);
		merge_read(g, set, r, &m); /* judging read other records into the buffers */
	}
	if (r->kind == RF_KIND_EPOCH && !bad &&
	    !rf_epoch_decode(m.raw, &set->super.id, r->volume, &sector))
		judge_old_sector(set, g, r, &sector, out);
}
