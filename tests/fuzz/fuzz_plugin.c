/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target plugin's request path, without nbdkit.
 *
 * A small formatted area on one or three disks in memory. The input is a script:
 * nodes write records of any content anywhere (rf_quorum_write), sectors rot, the
 * claim region is judged, volumes change hands in the latch; or the superblock
 * itself is of the fuzzer's making. What must hold is said again here in other
 * words: nobody writes another's record, nothing goes back, nobody is an owner
 * whom the disks do not name, no epoch is served after a later one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../fence/nbd/claimread.h"
#include "../../fence/nbd/latch.h"
#include "../../fence/nbd/quorum.h"
#include "format/assert.h"
#include "format/codec.h"
#include "format/timing.h"
#include "fuzz.h"

#define NODES 3u
#define VOLUMES 2u
#define STRIDES_MAX 128u
#define ALONE 3u /* the image of the only disk */
#define WRITE_MAX (3 * RF_STRIDE_MIN)

static struct {
	struct feed feed;
	struct rf_super super;
	struct rf_area area;
	uint32_t disks;
	int fd[3];
	char path[3][64];
	size_t area_bytes;
	bool asking;
	uint8_t *clean[4]; /* as formatted: three disks of three, one of one */
	bool dirty[3][STRIDES_MAX];
} w;

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "does not hold: %s (%s:%d)\n", what, file, line);
	abort();
}

static void need(bool x, const char *what)
{
	if (!x)
		rf_assert_failed(what, "fuzz_plugin", 0);
}

/* ---- an area in memory ---- */

static void config(struct rf_super *s, uint32_t disks)
{
	memset(s, 0, sizeof(*s));
	memset(s->id.cluster, 0xc1, RF_UUID_BYTES);
	memset(s->id.area, 0xa1, RF_UUID_BYTES);
	s->id.nodes = NODES;
	s->id.stride_bytes = RF_STRIDE_MIN;
	s->sector_bytes = 512;
	s->volumes = VOLUMES;
	s->history = RF_HISTORY_MIN;
	s->state_strides = 2;
	s->disk_count = (uint8_t)disks;
	s->place = RF_PLACE_WHOLE;
	s->quorum = RF_QUORUM_MAJORITY;
	s->voters[0] = 7;
	s->seq = 1;
	snprintf(s->cluster_name, sizeof(s->cluster_name), "fuzz");
	need(rf_timing_profile("fast", &s->timing), "profile");
	s->area_strides = rf_geo_strides(s);
}

static void format(uint8_t *to, const struct rf_super *s)
{
	const struct rf_slot slot = {.state = RF_SLOT_FREE};
	const struct rf_mailbox mail = {.order = RF_ORDER_NONE};
	const struct rf_epoch epoch = {.state = RF_EPOCH_NONE};
	const struct rf_ballot ballot = {0};
	const struct rf_state state = {0};
	const struct rf_history history = {0};

	rf_super_encode(to, s, 0);
	rf_super_encode(to + rf_geo_copy(s), s, 1);
	for (uint32_t n = 1; n <= NODES; n++) {
		rf_slot_encode(to + rf_geo_slot(s, n), &s->id, n, &slot);
		rf_mailbox_encode(to + rf_geo_mailbox(s, n), &s->id, n, &mail);
	}
	for (uint32_t v = 0; v < VOLUMES; v++) {
		rf_epoch_encode(to + rf_geo_region(s, v), &s->id, v, &epoch);
		for (uint32_t k = 0; k < s->history; k++)
			rf_history_encode(to + rf_geo_history(s, v, k), &s->id, v, k, &history);
		for (uint32_t n = 1; n <= NODES; n++) {
			rf_ballot_encode(to + rf_geo_ballot(s, v, n), &s->id, v, n, &ballot);
			for (uint32_t h = 0; h < 2; h++)
				rf_state_encode(to + rf_geo_state(s, v, n, h), &s->id, v, n, h,
						&state);
		}
	}
}

static void begin(void)
{
	config(&w.super, 1);
	need(w.super.area_strides <= STRIDES_MAX, "area fits");
	w.area_bytes = w.super.area_strides * RF_STRIDE_MIN;
	for (uint32_t i = 0; i < 4; i++) {
		config(&w.super, i == ALONE ? 1 : 3);
		w.super.disk_index = i % ALONE;
		w.clean[i] = calloc(1, w.area_bytes);
		format(w.clean[i], &w.super);
	}
	for (uint32_t i = 0; i < 3; i++) {
		w.fd[i] = memfd_create("disk", MFD_CLOEXEC);
		need(w.fd[i] >= 0, "memory");
		snprintf(w.path[i], sizeof(w.path[i]), "/proc/self/fd/%d", w.fd[i]);
	}
}

/* The readers of claimread.c, one after another: the same input does the same. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	if (!w.asking) /* not ours: the fuzzer's own */
		return __real_pthread_create(thread, attr, run, arg);
	if (feed_u8(&w.feed) > 240)
		return EAGAIN;
	memset(thread, 0, sizeof(*thread));
	run(arg);
	return 0;
}

static void put(uint32_t disk, const void *bytes, size_t n, uint64_t at)
{
	for (uint64_t s = at / RF_STRIDE_MIN; s * RF_STRIDE_MIN < at + n; s++)
		w.dirty[disk][s] = true;
	need(pwrite(w.fd[disk], bytes, n, (off_t)at) == (ssize_t)n, "memory is written");
}

static void get(uint32_t disk, void *bytes, size_t n, uint64_t at)
{
	need(pread(w.fd[disk], bytes, n, (off_t)at) == (ssize_t)n, "memory is read");
}

/* As formatted again, where it was written. */
static void restore(uint32_t disk, const uint8_t *clean)
{
	for (uint64_t s = 0; s * RF_STRIDE_MIN < w.area_bytes; s++)
		if (w.dirty[disk][s])
			put(disk, clean + s * RF_STRIDE_MIN, RF_STRIDE_MIN, s * RF_STRIDE_MIN);
	memset(w.dirty[disk], 0, sizeof(w.dirty[disk]));
}

static void open_area(uint32_t disks)
{
	char err[256] = "";

	if (w.disks != disks)
		memset(w.dirty, 1, sizeof(w.dirty));
	w.disks = disks;
	config(&w.super, disks);
	memset(&w.area, 0, sizeof(w.area));
	for (uint32_t i = 0; i < disks; i++) {
		restore(i, w.clean[disks == 1 ? ALONE : i]);
		need(!rf_area_add(&w.area, w.path[i], err, sizeof(err)), "disk is added");
	}
	need(!rf_area_open(&w.area, err, sizeof(err)), err);
}

/* ---- records of the fuzzer's making ---- */

static void sign(uint8_t *record)
{
	uint32_t crc = rf_crc32c(record, RF_CRC_OFFSET);

	memcpy(record + RF_CRC_OFFSET, &crc, sizeof(crc));
}

static uint32_t code_word(uint16_t kind, uint8_t how)
{
	switch (kind) {
	case RF_KIND_SLOT:
		return how & 1 ? RF_SLOT_JOINED : RF_SLOT_FREE;
	case RF_KIND_MAILBOX:
		return how & 1 ? RF_ORDER_STOP : RF_ORDER_NONE;
	default:
		return how & 1 ? RF_EPOCH_CLAIMED : RF_EPOCH_RELEASED;
	}
}

static void fill(uint8_t *record, const struct rf_place *p)
{
	struct rf_disk_slot *slot = (void *)record;
	struct rf_disk_mailbox *mail = (void *)record;
	struct rf_disk_epoch *epoch = (void *)record;
	struct rf_disk_ballot *ballot = (void *)record;
	struct rf_disk_state *state = (void *)record;
	struct rf_disk_history *history = (void *)record;
	uint8_t a = feed_u8(&w.feed), b = feed_u8(&w.feed), c = feed_u8(&w.feed);

	switch (p->kind) {
	case RF_KIND_SLOT:
		slot->state = code_word(p->kind, c);
		slot->incarnation = 1 + a % 3;
		slot->generation = b;
		slot->gate_open[0] = c >> 1;
		break;
	case RF_KIND_MAILBOX:
		mail->order = code_word(p->kind, c);
		mail->from = a % (NODES + 1);
		break;
	case RF_KIND_EPOCH:
		epoch->state = code_word(p->kind, c);
		epoch->owner = a % (NODES + 1);
		epoch->incarnation = 1 + (c >> 1) % 3;
		epoch->epoch = b % 16;
		break;
	case RF_KIND_BALLOT:
		ballot->instance = b % 16;
		ballot->mbal = (uint64_t)(c >> 4) << RF_BALLOT_NODE_BITS | p->index;
		ballot->bal = c & 1 ? ballot->mbal : 0;
		ballot->value_node = a % (NODES + 1);
		ballot->value_incarnation = 1 + (c >> 1) % 3;
		break;
	case RF_KIND_STATE:
		state->epoch = b;
		state->version = c;
		state->length_bytes = a;
		state->payload_crc = rf_crc32c(record + RF_RECORD_BYTES, a);
		break;
	case RF_KIND_HISTORY:
		history->epoch = b * 8u + p->index;
		history->owner = a % (NODES + 1);
		history->incarnation = 1 + c % 3;
		break;
	}
}

static void make(uint8_t *record, const struct rf_place *p)
{
	struct rf_disk_header *h = (void *)record;
	uint8_t how = feed_u8(&w.feed);

	memset(record, 0, WRITE_MAX);
	fill(record, p);
	if (how & 0x80) /* some bytes of its own, before the checksum */
		feed_bytes(&w.feed, record + feed_u32(&w.feed) % 400, 16);
	h->magic = RF_DISK_MAGIC;
	h->version = RF_FORMAT_VERSION;
	h->kind = p->kind;
	memcpy(h->cluster, w.super.id.cluster, RF_UUID_BYTES);
	memcpy(h->area, w.super.id.area, RF_UUID_BYTES);
	h->index = p->index;
	h->volume = p->volume;
	h->part = p->part;
	h->seq = feed_u8(&w.feed);
	if ((how & 7) == 7)
		feed_bytes(&w.feed, record + feed_u8(&w.feed) % 60, 4);
	sign(record);
	if ((how & 0x38) == 0x38)
		record[feed_u32(&w.feed) % RF_RECORD_BYTES] ^= 1;
}

/* ---- writes: whose, and not back ---- */

static bool good(const uint8_t *record, const struct rf_place *p)
{
	return rf_record_check(record, &w.super.id, p->kind, p->volume, p->index) ==
	       RF_RECORD_OK;
}

static void owned_by_writer(const struct rf_place *p, const struct rf_conn *c,
			    const uint8_t *new)
{
	const struct rf_disk_epoch *e = (const void *)new;
	const struct rf_disk_history *h = (const void *)new;
	const struct rf_disk_slot *s = (const void *)new;
	const struct rf_disk_mailbox *m = (const void *)new;
	bool mine = p->index == c->node;
	uint64_t life = c->incarnation;

	if (p->kind == RF_KIND_SLOT)
		life = s->incarnation;
	if (p->kind == RF_KIND_EPOCH) {
		mine = e->owner == c->node;
		life = e->incarnation;
	}
	if (p->kind == RF_KIND_HISTORY) {
		mine = h->owner == c->node;
		life = h->incarnation;
	}
	if (p->kind == RF_KIND_MAILBOX)
		mine = !m->from || m->from == c->node;
	need(p->kind != RF_KIND_SUPERBLOCK && p->kind != RF_KIND_VOLUME && p->kind,
	     "format's records are nobody's");
	need(mine, "its own record");
	need(!c->incarnation || life == c->incarnation, "of its own life");
}

static void not_back(const struct rf_place *p, const uint8_t *new, const uint8_t *old)
{
	const struct rf_disk_epoch *ne = (const void *)new, *oe = (const void *)old;
	const struct rf_disk_ballot *nb = (const void *)new, *ob = (const void *)old;
	const struct rf_disk_slot *ns = (const void *)new, *os = (const void *)old;
	const struct rf_disk_state *nt = (const void *)new, *ot = (const void *)old;
	const struct rf_disk_history *nh = (const void *)new, *oh = (const void *)old;

	switch (p->kind) {
	case RF_KIND_EPOCH:
		need(ne->epoch >= oe->epoch, "epoch not lower");
		need(ne->epoch > oe->epoch ||
			     (ne->owner == oe->owner && ne->incarnation == oe->incarnation &&
			      ne->h.seq >= oe->h.seq),
		     "one owner an epoch");
		need(ne->epoch > oe->epoch || oe->state != RF_EPOCH_RELEASED ||
			     ne->state == RF_EPOCH_RELEASED,
		     "released stays released");
		return;
	case RF_KIND_HISTORY:
		need(nh->epoch >= oh->epoch, "history not lower");
		return;
	case RF_KIND_SLOT:
		need(ns->generation >= os->generation, "generation not lower");
		break;
	case RF_KIND_BALLOT:
		need(nb->instance >= ob->instance, "instance not lower");
		need(nb->instance > ob->instance ||
			     (nb->mbal >= ob->mbal && nb->bal >= ob->bal),
		     "ballot not lower");
		break;
	case RF_KIND_STATE:
		need(nt->epoch > ot->epoch ||
			     (nt->epoch == ot->epoch && nt->version >= ot->version),
		     "state not lower");
		break;
	}
	need(ns->h.seq >= os->h.seq, "sequence not lower");
}

/* Where no epoch can be read, the ballots say which are over. */
static void not_behind_ballots(uint32_t disk, const struct rf_place *p, const uint8_t *new)
{
	const struct rf_disk_epoch *e = (const void *)new;
	uint8_t record[RF_RECORD_BYTES];
	struct rf_ballot b;

	for (uint32_t n = 1; n <= NODES; n++) {
		get(disk, record, sizeof(record), rf_geo_ballot(&w.super, p->volume, n));
		if (rf_ballot_decode(record, &w.super.id, p->volume, n, &b) == RF_RECORD_OK)
			need(b.instance <= e->epoch, "not behind a ballot");
	}
}

static void check_write(uint32_t disk, const struct rf_conn *c, uint64_t at, size_t bytes,
			const uint8_t *old, const uint8_t *asked, int rc)
{
	static uint8_t now[WRITE_MAX];
	struct rf_place p = rf_area_locate(&w.area, at);

	if (at + bytes > w.area_bytes) {
		need(rc != 0, "nothing beyond the area");
		return;
	}
	get(disk, now, bytes, at);
	need(!memcmp(now, rc ? old : asked, bytes), rc ? "refused, and unchanged" : "written");
	if (rc)
		return;
	need(at == p.base_bytes && bytes <= p.room_bytes && bytes % w.area.sector_bytes == 0,
	     "one record, whole sectors");
	need(good(now, &p), "a good record of its place");
	owned_by_writer(&p, c, now);
	if (good(old, &p) && ((const struct rf_disk_header *)old)->part == p.part)
		not_back(&p, now, old);
	else if (p.kind == RF_KIND_EPOCH)
		not_behind_ballots(disk, &p, now);
}

static void do_write(void)
{
	static const size_t sizes[] = {512, 4096, 512, 8192, 1024, 0, 513, WRITE_MAX};
	static uint8_t record[WRITE_MAX], old[WRITE_MAX];
	uint32_t disk = feed_u8(&w.feed) % w.disks;
	uint8_t where = feed_u8(&w.feed), who = feed_u8(&w.feed);
	uint64_t at = where % (w.super.area_strides + 1) * RF_STRIDE_MIN;
	size_t bytes = sizes[who >> 5];
	struct rf_conn c = {
		.kind = RF_CONN_QUORUM, .node = 1 + who % NODES, .incarnation = (who >> 3) % 4};
	struct rf_place p = rf_area_locate(&w.area, at);
	struct rf_area_disk *d = rf_area_disk_by_index(&w.area, disk);
	enum rf_quorum_verdict verdict;
	int rc;

	make(record, &p);
	if ((record[20] & 15) == 15)
		at += feed_u8(&w.feed);
	need(d && d->index == disk, "disk is there");
	if (at + bytes <= w.area_bytes)
		get(disk, old, bytes, at);
	rc = rf_quorum_write(&w.area, d, &c, record, bytes, at, &verdict);
	memset(&w.dirty[disk][at / RF_STRIDE_MIN], 1, 3);
	need((rc == -EPERM) == (verdict != RF_QUORUM_OK), "refused with a verdict");
	check_write(disk, &c, at, bytes, old, record, rc);
}

static void do_rot(void)
{
	uint64_t at = feed_u32(&w.feed) % w.area_bytes;
	uint32_t disk = feed_u8(&w.feed) % w.disks;
	uint8_t byte;

	if (at < RF_STRIDE_MIN)
		return; /* read once, at the start */
	get(disk, &byte, 1, at);
	byte ^= 1u << (at % 8);
	put(disk, &byte, 1, at);
}

static void do_read(void)
{
	static uint8_t out[WRITE_MAX], want[WRITE_MAX];
	uint32_t disk = feed_u8(&w.feed) % w.disks;
	size_t bytes = feed_u32(&w.feed) % WRITE_MAX;
	uint64_t at = feed_u32(&w.feed) % (w.area_bytes - bytes);

	get(disk, want, bytes, at);
	need(!rf_quorum_read(&w.area, rf_area_disk_by_index(&w.area, disk), out, bytes, at),
	     "reads");
	need(!memcmp(out, want, bytes), "what stands there");
}

/* ---- who owns an epoch ---- */

/* Does this disk alone say that o owns its epoch, and that nobody does after it? */
static bool disk_says(uint32_t disk, uint32_t volume, const struct rf_owner *o)
{
	uint8_t record[RF_RECORD_BYTES];
	struct rf_epoch e;
	struct rf_ballot b;

	get(disk, record, sizeof(record), rf_geo_region(&w.super, volume));
	if (rf_epoch_decode(record, &w.super.id, volume, &e) != RF_RECORD_OK ||
	    e.state != RF_EPOCH_CLAIMED || e.epoch != o->epoch || e.owner != o->node ||
	    e.incarnation != o->incarnation)
		return false;
	for (uint32_t n = 1; n <= NODES; n++) {
		get(disk, record, sizeof(record), rf_geo_ballot(&w.super, volume, n));
		if (rf_ballot_decode(record, &w.super.id, volume, n, &b) != RF_RECORD_OK ||
		    b.instance > o->epoch + 1 || (b.instance == o->epoch + 1 && b.bal))
			return false;
	}
	return true;
}

static bool disk_shows_open(uint32_t disk, uint32_t volume, const struct rf_owner *o)
{
	uint8_t record[RF_RECORD_BYTES];
	struct rf_slot s;

	get(disk, record, sizeof(record), rf_geo_slot(&w.super, o->node));
	return rf_slot_decode(record, &w.super.id, o->node, &s) == RF_RECORD_OK &&
	       s.state == RF_SLOT_JOINED && s.incarnation == o->incarnation &&
	       (s.gate_open[volume / 8] >> volume % 8 & 1);
}

static bool claim(uint32_t volume, const struct rf_owner *o, bool need_open)
{
	struct rf_claim_read r;
	uint32_t says = 0, open = 0;

	w.asking = true;
	rf_claim_read(&w.area, volume, o, need_open, &r);
	w.asking = false;
	for (uint32_t i = 0; i < w.disks; i++) {
		says += disk_says(i, volume, o);
		open += disk_shows_open(i, volume, o);
	}
	if (r.answer != RF_ANSWER_OWNED)
		return false;
	need(says >= 1, "a disk names the owner");
	need(!need_open || open >= 1, "a slot shows the open gate");
	need(w.disks == 1 || r.disks_read * 2 > w.disks, "a majority was read");
	return true;
}

static void feed_owner(struct rf_owner *o)
{
	uint8_t how = feed_u8(&w.feed);

	o->node = 1 + how % NODES;
	o->incarnation = 1 + (how >> 2) % 3;
	o->epoch = how >> 4;
}

static void do_claim(void)
{
	struct rf_owner o;
	uint8_t how = feed_u8(&w.feed);

	feed_owner(&o);
	claim(how & 1, &o, how & 2);
}

/* ---- the latch ---- */

static void check_latch(struct rf_latch *l, const struct rf_latch_view *before)
{
	struct rf_latch_view now = rf_latch_look(l);
	bool same = rf_owner_equal(&now.owner, &before->owner);

	need(now.owner.epoch >= before->owner.epoch, "epochs only grow");
	need(now.owner.epoch > before->owner.epoch || before->state == RF_LATCH_IDLE || same,
	     "one owner an epoch");
	need(!same || before->state != RF_LATCH_ENDED || now.state == RF_LATCH_ENDED,
	     "an end is for ever");
}

static void do_latch(void)
{
	struct rf_latch l;
	struct rf_latch_view first = {.state = RF_LATCH_IDLE, .owner = {.epoch = 1}}, before;
	uint32_t steps = feed_u8(&w.feed) % 16;

	need(!rf_latch_init(&l), "latch");
	rf_latch_set(&l, &first);
	while (steps--) {
		struct rf_owner o;
		uint8_t how = feed_u8(&w.feed);
		enum rf_latch_verdict v;
		int error = 0;

		feed_owner(&o);
		before = rf_latch_look(&l);
		if (how & 1) {
			bool in = rf_latch_enter(&l, &o);

			need(in == (before.state == RF_LATCH_SERVING &&
				    rf_owner_equal(&o, &before.owner)),
			     "only who is served gets in");
			if (in)
				rf_latch_leave(&l);
			continue;
		}
		v = rf_latch_move(&l, &o, how & 2 ? RF_LATCH_SERVING : RF_LATCH_ENDED,
				  how & 0x80 ? -1 : w.fd[0], &error);
		check_latch(&l, &before);
		need(v != RF_LATCH_NEWER, "a change is done or refused");
		if (v == RF_LATCH_SAME && !error && how & 2)
			need(rf_owner_equal(&l.view.owner, &o), "it is served");
	}
	rf_latch_destroy(&l);
}

/* ---- superblocks of any content ---- */

static void any_super(void)
{
	uint8_t record[RF_STRIDE_MIN];
	struct rf_area a = {0};
	char err[256] = "";
	uint32_t patches = 1 + feed_u8(&w.feed) % 4;

	if (w.disks != 1)
		open_area(1);
	rf_area_close(&w.area);
	memcpy(record, w.clean[ALONE], sizeof(record));
	while (patches--) {
		uint32_t at = feed_u32(&w.feed) % (RF_CRC_OFFSET - 8);

		feed_bytes(&w.feed, record + at, 1 + feed_u8(&w.feed) % 8);
	}
	sign(record);
	put(0, record, sizeof(record), 0);
	put(0, "x", 1, rf_geo_copy(&w.super)); /* the copy is no help */
	need(!rf_area_add(&a, w.path[0], err, sizeof(err)), "disk is added");
	if (rf_area_open(&a, err, sizeof(err))) {
		need(err[0], "a refusal says why");
	} else {
		need(rf_area_bytes(&a) <= w.area_bytes, "it lies on its device");
		need(a.id.nodes >= 1 && a.id.nodes <= RF_NODES_MAX, "nodes");
		for (uint64_t s = 0; s < a.strides; s++) {
			struct rf_place p = rf_area_locate(&a, s * a.id.stride_bytes);

			need(p.kind >= 1 && p.kind <= RF_KIND_LAST, "a place for each stride");
			need(p.base_bytes + p.room_bytes <= rf_area_bytes(&a), "inside");
		}
	}
	rf_area_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const todo[8])(void) = {
		do_write, do_write, do_write, do_write, do_rot, do_claim, do_read, do_latch,
	};
	uint8_t how;

	if (!w.clean[0])
		begin();
	w.feed = (struct feed){.data = data, .size = size};
	how = feed_u8(&w.feed);
	if ((how & 7) == 7) {
		any_super();
		return 0;
	}
	open_area(how & 0x40 ? 3 : 1);
	while (!feed_end(&w.feed))
		todo[feed_u8(&w.feed) & 7]();
	rf_area_close(&w.area);
	return 0;
}
