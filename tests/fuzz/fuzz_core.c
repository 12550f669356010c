/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf_core_step with arbitrary event sequences.
 *
 * One node, real memory as disks, the fuzzer's bytes decide what happens next:
 * time passes, operations end well, badly, late or never, records rot, peers'
 * slots and ballots appear, messages and answers of the fence come in any order.
 * Anything may happen that a hostile world can do; what must hold is inside the
 * core: its assertions, bounds of the effects, and no effect out of its duty.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "format/assert.h"
#include "format/timing.h"
#include "fuzz.h"

#define NODES 3u
#define VOLUMES 2u
#define PENDING_MAX 256u
#define AREA_BYTES (1u << 20)

struct pending {
	struct rf_effect e;
	bool late;
};

struct world {
	struct feed feed;
	struct rf_core *core;
	struct rf_effects effects;
	uint64_t now_ns;
	uint32_t disks, pendings;
	struct pending pending[PENDING_MAX];
	struct rf_effect fence[64], hook[64];
	uint32_t fences, hooks;
	uint64_t revoked[VOLUMES]; /* highest epoch ever revoked */
	bool halted;
	struct rf_super super;
};

static uint8_t area[3][AREA_BYTES];
static uint8_t read_buffer[AREA_BYTES];

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}

static void need(bool x, const char *what)
{
	if (!x)
		rf_assert_failed(what, "fuzz_core", 0);
}

/* ---- disks ---- */

static void disk_write(struct world *w, const struct rf_effect *e)
{
	need(e->io.write_offset + e->io.write_len <= AREA_BYTES, "write inside the area");
	need(e->io.data_len <= e->io.write_len, "data fits its write");
	memset(&area[e->io.disk][e->io.write_offset], 0, e->io.write_len);
	memcpy(&area[e->io.disk][e->io.write_offset], e->io.data, e->io.data_len);
	(void)w;
}

static void format(struct world *w)
{
	struct rf_super *s = &w->super;
	const struct rf_slot slot = {.state = RF_SLOT_FREE};
	const struct rf_mailbox mail = {.order = RF_ORDER_NONE};
	const struct rf_epoch epoch = {.state = RF_EPOCH_NONE};
	const struct rf_ballot ballot = {0};
	const struct rf_state state = {0};

	for (uint32_t d = 0; d < w->disks; d++) {
		memset(area[d], 0, AREA_BYTES);
		for (uint32_t n = 1; n <= NODES; n++) {
			rf_slot_encode(&area[d][rf_geo_slot(s, n)], &s->id, n, &slot);
			rf_mailbox_encode(&area[d][rf_geo_mailbox(s, n)], &s->id, n, &mail);
		}
		for (uint32_t v = 0; v < VOLUMES; v++) {
			rf_epoch_encode(&area[d][rf_geo_region(s, v)], &s->id, v, &epoch);
			for (uint32_t n = 1; n <= NODES; n++) {
				rf_ballot_encode(&area[d][rf_geo_ballot(s, v, n)], &s->id, v, n,
						 &ballot);
				for (uint32_t h = 0; h < 2; h++)
					rf_state_encode(&area[d][rf_geo_state(s, v, n, h)],
							&s->id, v, n, h, &state);
			}
		}
	}
}

/* ---- effects ---- */

static void keep(struct world *w, const struct rf_effect *e)
{
	switch (e->kind) {
	case RF_DO_IO:
		need(e->io.disk < w->disks, "disk exists");
		need(e->io.read_offset + e->io.read_len <= AREA_BYTES, "read inside the area");
		if (e->io.write_len && feed_u8(&w->feed) < 250)
			disk_write(w, e); /* else the write never lands */
		need(w->pendings < PENDING_MAX, "operations are bounded");
		w->pending[w->pendings++].e = *e;
		w->pending[w->pendings - 1].late = false;
		break;
	case RF_DO_GRANT:
		need(e->fence.epoch > w->revoked[e->fence.volume], "no grant after a revoke");
		need(e->fence.deadline_ns > w->now_ns, "a grant lies in the future");
		goto fence;
	case RF_DO_REVOKE:
		if (e->fence.epoch > w->revoked[e->fence.volume])
			w->revoked[e->fence.volume] = e->fence.epoch;
		goto fence;
	case RF_DO_EVICT:
	fence:
		if (w->fences < 64)
			w->fence[w->fences++] = *e;
		break;
	case RF_DO_HOOK:
		if (w->hooks < 64)
			w->hook[w->hooks++] = *e;
		break;
	case RF_DO_SEND:
		need(e->send.len > 0 && e->send.len <= RF_MESSAGE_BYTES, "message size");
		need(e->send.to <= NODES, "receiver exists");
		break;
	case RF_DO_SAY:
		need(e->say.code < RF_SAY_COUNT, "decision is known");
		break;
	case RF_DO_HALT:
		w->halted = true;
		break;
	case RF_DO_CANCEL:
		break;
	}
}

static void step(struct world *w, struct rf_event *e)
{
	e->now_ns = w->now_ns;
	e->unix_ns = w->now_ns;
	rf_core_step(w->core, e, &w->effects);
	for (uint32_t i = 0; i < w->effects.count; i++) {
		need(i == 0 || w->effects.effect[i].kind >= w->effects.effect[i - 1].kind,
		     "effects are in the order of duty");
		keep(w, &w->effects.effect[i]);
	}
	need(w->halted || rf_core_wake_ns(w->core) != 0, "it wakes up");
}

/* ---- what may happen next ---- */

static void do_time(struct world *w)
{
	static const uint64_t jump_ms[] = {0, 1, 10, 50, 100, 350, 1000, 5000};
	uint64_t wake = rf_core_wake_ns(w->core);
	uint8_t how = feed_u8(&w->feed);
	struct rf_event e = {.kind = RF_EV_TICK};

	if (how & 0x80 && wake != UINT64_MAX && wake > w->now_ns)
		w->now_ns = wake;
	else
		w->now_ns += jump_ms[how & 7] * RF_MS_NS;
	step(w, &e);
}

static void do_io(struct world *w)
{
	struct rf_event e = {.kind = RF_EV_IO};
	uint8_t how = feed_u8(&w->feed);
	struct pending *p;
	struct rf_effect io;

	if (!w->pendings)
		return;
	p = &w->pending[feed_u8(&w->feed) % w->pendings];
	io = p->e;
	e.io.op = io.io.op;
	if (p->late) {
		e.kind = RF_EV_IO_LATE;
	} else if (how < 200) {
		memcpy(read_buffer, &area[io.io.disk][io.io.read_offset], io.io.read_len);
		e.io.wrote = true;
		e.io.data = read_buffer;
		e.io.len = how == 199 ? io.io.read_len / 2 : io.io.read_len;
		if (how >= 190 && io.io.read_len)
			read_buffer[feed_u32(&w->feed) % io.io.read_len] ^= 1;
	} else if (how < 225) {
		e.io.status = -EIO;
		e.io.wrote = how & 1;
	} else {
		e.io.status = -ETIME;
		p->late = true;
		step(w, &e);
		return;
	}
	*p = w->pending[--w->pendings];
	step(w, &e);
}

static void do_fence(struct world *w)
{
	struct rf_event e = {.kind = RF_EV_FENCE};
	uint8_t how = feed_u8(&w->feed);
	struct rf_effect f;
	uint32_t i;

	if (how > 250) { /* shut by itself, or an answer nobody waits for */
		e.fence.volume = how & 1;
		e.fence.verb = how & 3;
		e.fence.epoch = feed_u8(&w->feed);
		step(w, &e);
		return;
	}
	if (!w->fences)
		return;
	i = how % w->fences;
	f = w->fence[i];
	w->fence[i] = w->fence[--w->fences];
	e.fence.volume = f.fence.volume;
	e.fence.verb = f.kind == RF_DO_GRANT    ? RF_FENCE_GRANT
		       : f.kind == RF_DO_REVOKE ? RF_FENCE_REVOKE
						: RF_FENCE_EVICT;
	e.fence.epoch = f.fence.epoch;
	how = feed_u8(&w->feed);
	e.fence.result = how < 200 ? RF_FENCE_OK : how % 6;
	step(w, &e);
}

static void do_hook(struct world *w)
{
	struct rf_event e = {.kind = RF_EV_HOOK};
	struct rf_effect h;

	if (!w->hooks) {
		e.kind = RF_EV_QUIET;
		e.quiet.volume = feed_u8(&w->feed) % VOLUMES;
		e.quiet.epoch = w->revoked[e.quiet.volume];
		step(w, &e);
		return;
	}
	h = w->hook[--w->hooks];
	e.hook.volume = h.hook.volume;
	e.hook.hook = h.hook.hook;
	e.hook.epoch = h.hook.epoch;
	e.hook.status = feed_u8(&w->feed) < 230 ? 0 : 1;
	step(w, &e);
}

static void do_message(struct world *w)
{
	uint8_t bytes[RF_MESSAGE_BYTES];
	struct rf_event e = {.kind = RF_EV_MESSAGE};
	struct rf_core_peer peer;
	size_t n = feed_u8(&w->feed) % 96;

	feed_bytes(&w->feed, bytes, n);
	bytes[0] = n ? 1 + bytes[0] % 6 : 0;
	e.message.from = feed_u8(&w->feed) % 5;
	if (e.message.from >= 1 && e.message.from <= NODES) {
		rf_core_peer(w->core, e.message.from, &peer);
		e.message.incarnation = peer.incarnation;
	}
	e.message.data = bytes;
	e.message.len = n;
	step(w, &e);
}

/* A peer writes: a slot, a ballot or the epoch sector, as its bytes please. */
static void do_peer(struct world *w)
{
	struct rf_super *s = &w->super;
	uint32_t d = feed_u8(&w->feed) % w->disks, node = 2 + feed_u8(&w->feed) % 2;
	uint32_t v = feed_u8(&w->feed) % VOLUMES;
	struct rf_slot slot = {.state = RF_SLOT_JOINED,
			       .seq = feed_u8(&w->feed) * 16u,
			       .incarnation = 1 + feed_u8(&w->feed) % 3,
			       .generation = 1};
	struct rf_ballot b = {.seq = slot.seq, .instance = feed_u8(&w->feed) % 12};
	struct rf_epoch ep = {.state = RF_EPOCH_CLAIMED,
			      .owner = node,
			      .incarnation = slot.incarnation,
			      .epoch = 1 + feed_u8(&w->feed) % 8};

	b.mbal = b.instance ? (uint64_t)(feed_u8(&w->feed) + 1) << 8 | node : 0;
	if (b.mbal && feed_u8(&w->feed) & 1) {
		b.bal = b.mbal;
		b.value_node = 1 + feed_u8(&w->feed) % NODES;
		b.value_incarnation = 1 + feed_u8(&w->feed) % 3;
	}
	feed_bytes(&w->feed, slot.gate_open, 1);
	feed_bytes(&w->feed, slot.leads, 1);
	slot.gate_open[0] &= 3;
	slot.leads[0] &= 3;
	switch (feed_u8(&w->feed) % 4) {
	case 0:
		rf_slot_encode(&area[d][rf_geo_slot(s, node)], &s->id, node, &slot);
		break;
	case 1:
		rf_ballot_encode(&area[d][rf_geo_ballot(s, v, node)], &s->id, v, node, &b);
		break;
	case 2:
		rf_epoch_encode(&area[d][rf_geo_region(s, v)], &s->id, v, &ep);
		break;
	default: /* rot */
		area[d][feed_u32(&w->feed) % (w->super.area_strides * 4096)] ^= 1;
	}
}

static void do_admin(struct world *w)
{
	static const uint8_t blob[64] = "state";
	struct rf_event e = {.kind = RF_EV_ADMIN};
	uint8_t how = feed_u8(&w->feed);

	if (how > 240) {
		e.kind = RF_EV_HEALTH;
		e.health.good = how & 1;
	} else if (how > 220) {
		e.kind = RF_EV_CAN;
		e.can.volume = how & 1;
		e.can.can = how & 7;
	} else {
		e.admin.verb = 1 + how % RF_ADMIN_LAST;
		if (e.admin.verb == RF_ADMIN_SHUTDOWN && how < 200)
			e.admin.verb = RF_ADMIN_RESUME;
		e.admin.volume = feed_u8(&w->feed) % 3;
		e.admin.node = feed_u8(&w->feed) % 5;
		e.admin.data = blob;
		e.admin.len = sizeof(blob);
	}
	step(w, &e);
}

static void config(struct world *w, struct rf_core_config *cfg)
{
	struct rf_super *s = &w->super;

	memset(s->id.cluster, 0xc1, RF_UUID_BYTES);
	memset(s->id.area, 0xa1, RF_UUID_BYTES);
	s->id.nodes = NODES;
	s->id.stride_bytes = 4096;
	s->sector_bytes = 512;
	s->volumes = VOLUMES;
	s->history = RF_HISTORY_MIN;
	s->state_strides = 2;
	s->disk_count = (uint8_t)w->disks;
	s->place = RF_PLACE_WHOLE;
	s->quorum = feed_u8(&w->feed) & 1 ? RF_QUORUM_MAJORITY : RF_QUORUM_SURVIVORS;
	s->voters[0] = 7;
	need(rf_timing_profile("fast", &s->timing), "profile");
	s->area_strides = rf_geo_strides(s);
	need(s->area_strides * 4096 <= AREA_BYTES, "area fits");
	cfg->super = *s;
	cfg->node = 1;
	cfg->incarnation = 1000;
	cfg->seed = feed_u8(&w->feed);
	cfg->now_ns = w->now_ns = 1000 * RF_MS_NS;
	cfg->unix_ns = 1;
	cfg->candidate[0] = 3;
	cfg->can[0] = RF_FENCE_CAN_EVICT | RF_FENCE_CAN_DRAIN;
	cfg->can[1] = RF_FENCE_CAN_DEADLINE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const todo[16])(struct world *) = {
		do_time, do_io,   do_io,    do_io,   do_io,    do_io,   do_time,    do_time,
		do_peer, do_peer, do_fence, do_hook, do_fence, do_hook, do_message, do_admin,
	};
	static struct world world;
	struct world *w = &world;
	struct rf_core_config cfg;
	void *memory;

	memset(w, 0, sizeof(*w));
	memset(&cfg, 0, sizeof(cfg));
	w->feed = (struct feed){.data = data, .size = size};
	w->disks = feed_u8(&w->feed) & 1 ? 3 : 1;
	config(w, &cfg);
	format(w);
	memory = malloc(rf_core_bytes(&cfg));
	w->effects.effect = calloc(rf_core_effects_max(&cfg), sizeof(struct rf_effect));
	w->core = rf_core_init(memory, &cfg);
	while (!feed_end(&w->feed) && !w->halted)
		todo[feed_u8(&w->feed) & 15](w);
	free(w->effects.effect);
	free(memory);
	return 0;
}
