/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks: a register per stride.
 *
 * An operation has four moments, drawn when it is submitted: its write lands,
 * its write is complete, its read takes its sample, it is complete. They are in
 * this order; between them anything may happen to the others. When its deadline
 * comes first the core hears -ETIME, and the rest happens all the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "sim.h"

#define QUICK_NS 3000000ull         /* shorter ones happen at one moment, their end */
#define FOREVER_NS 1800000000000ull /* half an hour */

/* ---- cells ---- */

uint8_t *disk_cell(struct world *w, uint32_t disk, uint64_t offset)
{
	return w->disk[disk].cells + offset / w->super.id.stride_bytes * CELL_BYTES;
}

static void put_cell(struct world *w, uint32_t disk, uint64_t offset, const uint8_t *record)
{
	memcpy(disk_cell(w, disk, offset), record, RF_RECORD_BYTES);
}

static void format_volume(struct world *w, uint32_t d, uint32_t v)
{
	const struct rf_super *s = &w->super;
	const struct rf_epoch epoch = {.state = RF_EPOCH_NONE};
	const struct rf_ballot ballot = {0};
	const struct rf_state state = {0};
	uint8_t r[RF_RECORD_BYTES];

	rf_epoch_encode(r, &s->id, v, &epoch);
	put_cell(w, d, rf_geo_region(s, v), r);
	for (uint32_t n = 1; n <= s->id.nodes; n++) {
		rf_ballot_encode(r, &s->id, v, n, &ballot);
		put_cell(w, d, rf_geo_ballot(s, v, n), r);
		for (uint32_t half = 0; half < 2; half++) {
			rf_state_encode(r, &s->id, v, n, half, &state);
			put_cell(w, d, rf_geo_state(s, v, n, half), r);
		}
	}
}

static void format(struct world *w, uint32_t d)
{
	const struct rf_super *s = &w->super;
	const struct rf_slot slot = {.state = RF_SLOT_FREE};
	const struct rf_mailbox mail = {.order = RF_ORDER_NONE};
	uint8_t r[RF_RECORD_BYTES];

	for (uint32_t n = 1; n <= s->id.nodes; n++) {
		rf_slot_encode(r, &s->id, n, &slot);
		put_cell(w, d, rf_geo_slot(s, n), r);
		rf_mailbox_encode(r, &s->id, n, &mail);
		put_cell(w, d, rf_geo_mailbox(s, n), r);
	}
	for (uint32_t v = 0; v < s->volumes; v++)
		format_volume(w, d, v);
}

/* A new area in the place of the old one: what was in flight still lands. */
void disks_format(struct world *w)
{
	w->area++;
	w->formatted = w->now;
	w->super.id.area[0] = (uint8_t)(0xa1 + w->area);
	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		memset(w->disk[d].bad, 0, w->strides);
		format(w, d);
	}
}

void disks_reset(struct world *w)
{
	w->strides = (uint32_t)rf_geo_strides(&w->super);
	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		struct disk *disk = &w->disk[d];

		disk->cells = realloc(disk->cells, (size_t)w->strides * CELL_BYTES);
		disk->bad = realloc(disk->bad, w->strides);
		if (!disk->cells || !disk->bad)
			abort();
		memset(disk->bad, 0, w->strides);
		memset(&disk->path, 0, sizeof(disk->path));
		if (d == 0)
			format(w, 0);
		else
			memcpy(disk->cells, w->disk[0].cells, (size_t)w->strides * CELL_BYTES);
	}
	for (uint32_t i = 0; i < w->ops; i++)
		w->op[i]->used = false;
	w->op_free = NULL;
	for (uint32_t i = w->ops; i-- > 0;) {
		w->op[i]->next = w->op_free;
		w->op_free = w->op[i];
	}
}

/* ---- operations ---- */

static struct disk_op *op_take(struct world *w)
{
	struct disk_op *op = w->op_free;
	uint8_t *cells;
	uint32_t max, serial, index;

	if (!op) {
		w->op = realloc(w->op, (w->ops + 1) * sizeof(*w->op));
		op = calloc(1, sizeof(*op));
		if (!w->op || !op)
			abort();
		op->index = w->ops;
		w->op[w->ops++] = op;
	} else {
		w->op_free = op->next;
	}
	cells = op->cells;
	max = op->cells_max;
	serial = op->serial + 1;
	index = op->index;
	memset(op, 0, offsetof(struct disk_op, data));
	op->cells = cells;
	op->cells_max = max;
	op->serial = serial;
	op->index = index;
	op->used = true;
	return op;
}

static void op_give(struct world *w, struct disk_op *op)
{
	op->used = false;
	op->serial++;
	op->next = w->op_free;
	w->op_free = op;
}

static uint64_t usual(struct world *w)
{
	const struct atlas *a = &w->atlas;

	if (a->scripted)
		return a->io_ns;
	return rng_range(&w->rng, a->io_ns / 8, a->io_ns);
}

/* One condition of disk or path, as extra latency. */
static uint64_t condition(struct world *w, const struct path *p)
{
	uint64_t extra = 0;

	if (p->slow_until > w->now)
		extra = w->atlas.scripted ? p->slow_ns
					  : rng_scale(&w->rng, 1000000, p->slow_ns);
	if (p->stuck_until > w->now)
		extra += p->stuck_until - w->now + rng_below(&w->rng, 1000000);
	return extra;
}

static bool concerns(const struct path *p, const struct disk_op *op)
{
	return p->only == SLOW_ALL ||
	       (!op->writes && (p->only == SLOW_READS || op->read_count == 2));
}

static uint64_t latency(struct world *w, struct host *h, const struct disk_op *op)
{
	const struct atlas *a = &w->atlas;
	uint64_t ns = usual(w);

	if (concerns(&h->path[op->disk], op))
		ns += condition(w, &h->path[op->disk]);
	ns += condition(w, &w->disk[op->disk].path);
	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, a->io_slow_ppm))
		ns += rng_scale(&w->rng, 1000000, a->io_slow_ns);
	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, a->io_lost_ppm))
		ns += FOREVER_NS;
	return ns;
}

static bool lost_on(const struct world *w, const struct path *p, const struct disk_op *op)
{
	return p->lost_until > w->now && (op->writes || !p->reads);
}

static bool lost(const struct world *w, const struct host *h, const struct disk_op *op)
{
	return lost_on(w, &h->path[op->disk], op) || lost_on(w, &w->disk[op->disk].path, op);
}

static bool is_sector(const struct world *w, const struct disk_op *op)
{
	for (uint32_t v = 0; v < w->super.volumes; v++)
		if (op->write_stride * (uint64_t)w->super.id.stride_bytes ==
		    rf_geo_region(&w->super, v))
			return true;
	return false;
}

static uint64_t sector_delay(struct world *w, const struct disk_op *op)
{
	if (w->phase != PHASE_FAULTS || !w->atlas.sector_slow_ppm || !is_sector(w, op) ||
	    !rng_ppm(&w->rng, w->atlas.sector_slow_ppm))
		return 0;
	return rng_range(&w->rng, 0, 4ull * w->super.timing.lease_ms * RF_MS_NS);
}

/* Draw the four moments. */
static void plan(struct world *w, struct host *h, struct disk_op *op)
{
	struct rng *r = &w->rng;
	bool error = w->phase == PHASE_FAULTS && rng_ppm(r, w->atlas.io_error_ppm);

	op->wrote_at = op->land = w->now;
	if (op->writes) {
		op->wrote_at = w->now + latency(w, h, op) + sector_delay(w, op);
		op->land = w->atlas.scripted ? op->wrote_at
					     : rng_edge(r, w->now + 1, op->wrote_at);
	}
	op->end = op->wrote_at + (op->reads ? latency(w, h, op) : 0);
	op->sample =
		!op->reads || w->atlas.scripted ? op->end : rng_edge(r, op->wrote_at, op->end);
	if (h->path[op->disk].stale)
		op->sample = op->wrote_at;
	if (lost(w, h, op) || error) {
		op->status = -EIO;
		/* a failed write may have landed all the same, or land a while later */
		op->dropped = w->atlas.scripted || rng_below(r, 2);
		if (op->writes && !op->dropped && rng_below(r, 2))
			op->land = op->end + rng_below(r, w->super.timing.grace_ms * RF_MS_NS);
	}
}

static void advance(struct world *w, struct disk_op *op);

int disk_submit(struct world *w, struct host *h, const struct rf_effect *e)
{
	uint32_t stride = w->super.id.stride_bytes;
	struct disk_op *op;

	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, w->atlas.port_error_ppm))
		return -EAGAIN;
	op = op_take(w);
	op->host = h->index;
	op->life = h->life;
	op->core_op = e->io.op;
	op->disk = e->io.disk;
	op->writes = e->io.write_len != 0;
	op->reads = e->io.read_len != 0;
	op->write_stride = (uint32_t)(e->io.write_offset / stride);
	op->read_stride = (uint32_t)(e->io.read_offset / stride);
	op->read_len = e->io.read_len;
	op->read_count = (e->io.read_len + stride - 1) / stride;
	op->data_len = e->io.data_len < CELL_BYTES ? e->io.data_len : CELL_BYTES;
	if (op->writes)
		memcpy(op->data, e->io.data, op->data_len);
	op->submit = w->now;
	op->deadline = host_when(w, h, e->io.deadline_ns);
	w->tally.disk_ops += op->writes + op->reads;
	w->tally.disk_bytes += e->io.write_len + e->io.read_len;
	plan(w, h, op);
	oracle_submit(w, h, op);
	if (op->end - op->submit < QUICK_NS && op->end < op->deadline)
		after(w, op->end, EV_OP, op->host, op->index, op->serial, 0);
	else
		advance(w, op);
	return 0;
}

/* ---- what happens to the medium ---- */

static void land(struct world *w, struct disk_op *op)
{
	uint8_t *cell = w->disk[op->disk].cells + (size_t)op->write_stride * CELL_BYTES;

	op->landed = true;
	if (op->dropped)
		return;
	oracle_disk(w, op, cell);
	memcpy(cell, op->data, op->data_len);
	if (op->torn)
		memset(cell + 256, 0xa5, 64); /* the checksum will tell */
	if (w->disk[op->disk].bad[op->write_stride] != 3)
		w->disk[op->disk].bad[op->write_stride] = 0;
}

static void cells_room(struct disk_op *op)
{
	if (op->cells_max >= op->read_count)
		return;
	op->cells = realloc(op->cells, (size_t)op->read_count * CELL_BYTES);
	if (!op->cells)
		abort();
	op->cells_max = op->read_count;
}

static void sample(struct world *w, struct disk_op *op)
{
	const struct disk *d = &w->disk[op->disk];

	op->sampled = true;
	cells_room(op);
	memcpy(op->cells, d->cells + (size_t)op->read_stride * CELL_BYTES,
	       (size_t)op->read_count * CELL_BYTES);
	for (uint32_t i = 0; i < op->read_count; i++) {
		uint8_t bad = d->bad[op->read_stride + i];

		if ((bad == 1 || bad == 3) && !op->status)
			op->status = -EIO;
		else if (bad == 2)
			memset(op->cells + (size_t)i * CELL_BYTES + 128, 0x5a, 64);
	}
}

/* ---- telling the core ---- */

static void expand(struct world *w, const struct disk_op *op)
{
	for (uint32_t i = 0; i < op->read_count; i++)
		memcpy(w->scratch + (size_t)i * w->super.id.stride_bytes,
		       op->cells + (size_t)i * CELL_BYTES, CELL_BYTES);
}

static void tell(struct world *w, struct disk_op *op, enum rf_event_kind kind, int32_t status)
{
	struct host *h = &w->host[op->host];
	struct rf_event e = {.kind = kind};

	if (op->orphan || h->life != op->life || !h->alive)
		return;
	e.io.op = op->core_op;
	e.io.status = status;
	e.io.wrote = op->writes && op->wrote;
	if (status == 0 && op->reads && kind == RF_EV_IO) {
		expand(w, op);
		oracle_read(w, h, op);
		e.io.data = w->scratch;
		e.io.len = op->read_len;
	}
	trace(w, "  io h%u n%u disk %u op %x %s%u %s%u+%u status %d%s", h->index, h->id,
	      op->disk, op->core_op, op->writes ? "W" : "", op->write_stride,
	      op->reads ? "R" : "", op->read_stride, op->read_count, status,
	      kind == RF_EV_IO_LATE ? " late" : "");
	host_event(w, h, &e);
}

static void finish(struct world *w, struct disk_op *op)
{
	struct disk_op done = *op;

	/* the core may submit again from inside: free it first, cells stay valid
	 * until they are expanded, at once */
	if (op->writes && !op->landed && !op->orphan && op->land > w->now) {
		op->orphan = true; /* it failed, and yet it lands */
		op->reads = false;
		op->wrote_at = op->end = op->land;
		after(w, op->land, EV_OP, op->host, op->index, ++op->serial, 0);
	} else {
		op_give(w, op);
	}
	tell(w, &done, done.late ? RF_EV_IO_LATE : RF_EV_IO, done.status);
}

/* Everything that is due. Returns false when the operation is over. */
static bool due(struct world *w, struct disk_op *op)
{
	if (op->writes && !op->landed && op->land <= w->now)
		land(w, op);
	if (op->writes && !op->wrote && op->wrote_at <= w->now && !op->status)
		op->wrote = true;
	if (op->reads && !op->sampled && op->sample <= w->now && !op->status)
		sample(w, op);
	return op->end > w->now;
}

static uint64_t next_moment(const struct world *w, const struct disk_op *op, bool timed)
{
	uint64_t at = op->end;

	if (op->writes && !op->landed && op->land < at)
		at = op->land;
	if (op->writes && !op->wrote && !op->status && op->wrote_at < at)
		at = op->wrote_at;
	if (op->reads && !op->sampled && !op->status && op->sample < at)
		at = op->sample;
	if (timed && op->deadline < at)
		at = op->deadline;
	return at > w->now ? at : w->now + 1;
}

static void advance(struct world *w, struct disk_op *op)
{
	struct host *h = &w->host[op->host];
	uint32_t serial = op->serial;
	bool heard = !op->late && !op->orphan, paused = h->paused_until > w->now && !op->orphan;
	uint64_t at;

	if (!due(w, op)) {
		if (paused) /* the kernel is done, the daemon is not there to hear it */
			after(w, h->paused_until, EV_OP, op->host, op->index, serial, 0);
		else
			finish(w, op);
		return;
	}
	if (heard && !paused && op->deadline <= w->now) {
		op->late = true;
		heard = false;
		tell(w, op, RF_EV_IO, -ETIME);
		if (!op->used || op->serial != serial)
			return;
	}
	at = next_moment(w, op, heard && !paused);
	if (heard && paused && h->paused_until < at)
		at = h->paused_until;
	after(w, at, EV_OP, op->host, op->index, serial, 0);
}

void disk_event(struct world *w, const struct happening *e)
{
	struct disk_op *op = w->op[e->a];

	if (!op->used || op->serial != e->b)
		return;
	advance(w, op);
}

/* ---- deaths, and the end of faults ---- */

static bool may_tear(const struct world *w, const struct disk_op *op)
{
	uint64_t offset = (uint64_t)op->write_stride * w->super.id.stride_bytes;

	/* slots and states heal by themselves: the next write of their owner */
	if (offset < rf_geo_region(&w->super, 0) || offset >= rf_geo_history(&w->super, 0, 0))
		return true;
	return w->atlas.torn_disk[op->disk];
}

/* What a dead process left in the kernel: nothing, a ghost, or a torn write. */
static void orphan(struct world *w, struct disk_op *op)
{
	uint64_t bound = w->super.timing.inflight_ms * RF_MS_NS;

	op->orphan = true;
	op->reads = false;
	if (!op->writes || op->landed) {
		op_give(w, op);
		return;
	}
	if (!rng_ppm(&w->rng, w->atlas.ghost_ppm)) {
		if (!w->atlas.ghost_ppm || rng_below(&w->rng, 2))
			op->dropped = true;
	}
	op->torn = may_tear(w, op) && rng_ppm(&w->rng, w->atlas.torn_ppm);
	if (op->land > w->now + bound || rng_below(&w->rng, 2))
		op->land = w->now + rng_edge(&w->rng, 1, bound - 1);
	op->wrote_at = op->end = op->land;
	op->serial++;
	after(w, op->land, EV_OP, op->host, op->index, op->serial, 0);
}

void disk_orphan(struct world *w, struct host *h)
{
	for (uint32_t i = 0; i < w->ops; i++) {
		struct disk_op *op = w->op[i];

		if (op->used && op->host == h->index && op->life == h->life && !op->orphan)
			orphan(w, op);
	}
}

static uint64_t sooner(struct world *w, uint64_t at, uint64_t limit)
{
	return at > limit ? w->now + rng_below(&w->rng, 1000000) : at;
}

void disk_hurry(struct world *w)
{
	uint64_t limit = w->now + 20 * RF_MS_NS;

	for (uint32_t d = 0; d < w->super.disk_count; d++) {
		memset(&w->disk[d].path, 0, sizeof(w->disk[d].path));
		memset(w->disk[d].bad, 0, w->strides);
	}
	for (uint32_t i = 0; i < w->ops; i++) {
		struct disk_op *op = w->op[i];

		if (!op->used || op->end <= limit)
			continue;
		op->land = sooner(w, op->land, limit);
		op->wrote_at = op->wrote_at > limit ? op->land : op->wrote_at;
		op->wrote_at = op->wrote_at < op->land ? op->land : op->wrote_at;
		op->sample = op->wrote_at > w->now ? op->wrote_at : w->now;
		op->end = op->sample + 1;
		op->serial++;
		after(w, w->now + 1, EV_OP, op->host, op->index, op->serial, 0);
	}
}

/* The claim region as it is now, into scratch: for enforcement points. */
void disk_copy_region(struct world *w, uint32_t disk, uint32_t volume)
{
	uint64_t at = rf_geo_region(&w->super, volume);

	for (uint32_t i = 0; i <= w->super.id.nodes; i++)
		memcpy(w->scratch + (size_t)i * w->super.id.stride_bytes,
		       disk_cell(w, disk, at + (uint64_t)i * w->super.id.stride_bytes),
		       RF_RECORD_BYTES);
}
