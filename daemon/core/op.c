/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on the quorum disks.
 *
 * §2.2: one outstanding write per record and disk. An operation that passed its
 * deadline keeps its record busy until the kernel is done with it: a write that
 * is issued again could be overtaken by its own ghost. Reads of one kind are
 * bounded the same way, so that a stuck disk cannot eat all operations.
 */
#include <errno.h>

#include "state.h"

/* Which disks are busy with operations of this purpose. */
static uint8_t *busy_mask(struct rf_core *c, enum purpose purpose, uint32_t volume,
			  uint32_t index)
{
	rf_assert(purpose > OP_NONE && purpose <= OP_LAST);
	if (purpose == OP_PEER)
		return &c->peer[index].busy;
	if (purpose == OP_SLOT || volume == RF_NO_VOLUME)
		return &c->busy[purpose];
	rf_assert(volume < c->volumes);
	return &c->volume[volume].busy[purpose];
}

/*
 * The map of all I/O: what is written, and what is read (behind it, §2.3). Of a
 * volume that is the claim region, unless said otherwise.
 */
static void place(const struct rf_core *c, const struct io *io, struct rf_effect *e)
{
	const struct rf_super *s = &c->super;
	bool on_volume = io->volume != RF_NO_VOLUME;
	uint64_t write = 0, read = on_volume ? rf_geo_region(s, io->volume) : 0;
	uint64_t length = on_volume ? rf_geo_region_bytes(s) : 0;

	switch (io->purpose) {
	case OP_SLOT:
		write = rf_geo_slot(s, c->me);
		break;
	case OP_BALLOT:
		write = rf_geo_ballot(s, io->volume, c->me);
		break;
	case OP_COMMIT:
		write = rf_geo_state(s, io->volume, c->me, io->index);
		break;
	case OP_EPOCH:
		write = read;
		length = 0;
		break;
	case OP_HISTORY:
		write = rf_geo_history(s, io->volume, io->index);
		length = 0;
		break;
	case OP_OWN: /* and the mailbox behind it */
		read = rf_geo_slot(s, c->me);
		length = 2 * s->id.stride_bytes;
		break;
	case OP_PEER:
		read = rf_geo_slot(s, io->index);
		length = s->sector_bytes;
		break;
	case OP_SLOTS:
		read = rf_geo_slot(s, 1);
		length = rf_geo_slots_bytes(s);
		break;
	case OP_STATES:
		read = rf_geo_state(s, io->volume, 1, 0);
		length = 2 * rf_geo_half_bytes(s) * c->nodes;
		break;
	default: /* OP_REGION, OP_RENEW, OP_FRESH */
		break;
	}
	e->io.write_offset = write;
	e->io.write_len =
		(io->data_len + s->sector_bytes - 1) / s->sector_bytes * s->sector_bytes;
	e->io.read_offset = read;
	e->io.read_len = (uint32_t)length;
	e->io.data = io->data;
	e->io.data_len = io->data_len;
	/* nothing of the superblock is ever written; a write has content, a read a length */
	rf_assert(!io->data_len || write >= rf_geo_slot(s, 1));
	rf_assert((write != 0) == (io->data_len != 0) && (write || length));
}

/* There is one for each record and each kind of read (ops_max), so one is free. */
static struct op *op_free(struct rf_core *c)
{
	uint32_t i, n = 0;

	do {
		rf_assert(n < c->ops);
		i = (c->op_hint + n++) % c->ops;
	} while (c->op[i].purpose != OP_NONE);
	c->op_hint = i + 1;
	return &c->op[i];
}

bool rf_op_start(struct rf_core *c, uint32_t disk, const struct io *io)
{
	uint8_t *busy = busy_mask(c, io->purpose, io->volume, io->index);
	struct rf_effect *e;
	struct op *op;

	rf_assert(disk < c->disks);
	if (RF_RULE(DOUBT, c->doubt_ns && io->data_len))
		return false;
	if (RF_RULE(BUSY, *busy & DISK_BIT(disk)))
		return false;
	op = op_free(c);
	*busy |= DISK_BIT(disk);
	e = rf_emit(c, RF_DO_IO);
	place(c, io, e);
	*op = (struct op){
		.purpose = (uint8_t)io->purpose,
		.disk = (uint8_t)disk,
		.writes = io->data_len != 0,
		.generation = (uint16_t)(op->generation + 1),
		.volume = io->volume,
		.index = io->index,
		.read_len = e->io.read_len,
		.push = io->push,
		/* §2.4: taken before it is submitted */
		.begun_ns = c->now,
		.counts_ns = io->begun_ns ? io->begun_ns : c->now,
		.tag = io->tag,
	};
	rf_assert(op->counts_ns <= c->now);
	e->io.op = (uint32_t)op->generation << 16 | (uint32_t)(op - c->op + 1);
	e->io.disk = disk;
	/* a renewal that took a whole lease would be over when it came */
	e->io.deadline_ns = c->now + c->lease_ns;
	return true;
}

void rf_read(struct rf_core *c, enum purpose purpose, uint32_t volume, uint32_t index,
	     uint8_t done)
{
	struct io io = {.purpose = purpose, .volume = volume, .index = index};

	if (volume != RF_NO_VOLUME)
		io.tag = c->volume[volume].my_epoch;
	for (uint32_t d = 0; d < c->disks; d++)
		if (!(done & DISK_BIT(d)))
			rf_op_start(c, d, &io);
}

static struct op *op_find(struct rf_core *c, uint32_t id)
{
	uint32_t index = id & 0xffff;
	struct op *op = index && index <= c->ops ? &c->op[index - 1] : NULL;

	return op && op->purpose != OP_NONE && op->generation == id >> 16 ? op : NULL;
}

static void note_latency(struct rf_core *c, const struct op *op)
{
	uint64_t took = c->now - op->begun_ns;

	*(op->writes ? &c->write_us : &c->read_us) = rf_us(took);
	c->worst_us = (uint32_t)rf_later(c->worst_us, rf_us(took));
	if (took > c->lease_ns / 3)
		c->health |= RF_HEALTH_SLOW_DISK;
}

/* Failing and back again: said once each, published as health. */
static void note_status(struct rf_core *c, const struct op *op, int status)
{
	bool failing = c->failing & DISK_BIT(op->disk);

	if (status == 0) {
		if (op->writes)
			c->health &= ~RF_HEALTH_WRITE_FAILING;
		c->health &= ~RF_HEALTH_READ_FAILING;
		if (failing && (op->writes || !(c->health & RF_HEALTH_WRITE_FAILING))) {
			c->failing &= (uint8_t)~DISK_BIT(op->disk);
			rf_emit_say(c, NULL, RF_SAY_DISK_BACK, 0, 0, op->disk, 0);
		}
		return;
	}
	c->failing |= DISK_BIT(op->disk);
	c->health |=
		op->writes && !op->wrote ? RF_HEALTH_WRITE_FAILING : RF_HEALTH_READ_FAILING;
	if (!failing && status == -ETIME)
		rf_emit_say(c, NULL, RF_SAY_DISK_SLOW, 0, 0, op->disk, c->now - op->begun_ns);
	else if (!failing)
		rf_emit_say(c, NULL, RF_SAY_DISK_ERROR, 0, 0, op->disk, (uint64_t)-status);
}

static void push_wrote(struct push *p, uint32_t disk, uint64_t version, bool wrote)
{
	rf_assert(version <= p->version);
	if (wrote && version > p->done[disk])
		p->done[disk] = version;
	else if (!wrote)
		p->retry |= DISK_BIT(disk);
}

static void slots_read(struct rf_core *c, struct volume *v, const struct op *op,
		       const uint8_t *slots)
{
	if (v)
		rf_exclusion_slots(c, v, op, slots);
	else if (slots)
		rf_join_slots(c, op->disk, slots);
}

static void peer_read(struct rf_core *c, struct volume *v, const struct op *op,
		      const uint8_t *record)
{
	(void)v;
	rf_peer_slot(c, op->index, op->disk, record);
}

static void dispatch(struct rf_core *c, const struct op *op, const uint8_t *read)
{
	static void (*const heard[OP_LAST + 1])(struct rf_core * c, struct volume * v,
						const struct op *op, const uint8_t *read) = {
		[OP_OWN] = rf_own_read,           [OP_PEER] = peer_read,
		[OP_REGION] = rf_region_read,     [OP_RENEW] = rf_lease_observe,
		[OP_SLOT] = rf_slot_wrote,        [OP_SLOTS] = slots_read,
		[OP_FRESH] = rf_exclusion_region, [OP_BALLOT] = rf_ballot_done,
		[OP_STATES] = rf_commit_states,   [OP_COMMIT] = rf_commit_wrote};
	struct volume *v = op->volume != RF_NO_VOLUME ? &c->volume[op->volume] : NULL;
	bool only_reads = op->purpose <= OP_RENEW; /* has nothing to say when that failed */

	if (op->push)
		push_wrote(op->push, op->disk, op->tag, op->wrote);
	if (heard[op->purpose] && (read || !only_reads))
		heard[op->purpose](c, v, op, read);
}

/* Was refused before anything left the host: such a write never lands. */
static bool never_left(int status)
{
	return status == -EBUSY || status == -EAGAIN || status == -ENODEV || status == -EBADF ||
	       status == -EROFS || status == -EPERM || status == -EINVAL ||
	       status == -ECANCELED;
}

static void set_free(struct rf_core *c, struct op *op)
{
	uint8_t *busy = busy_mask(c, op->purpose, op->volume, op->index);

	rf_assert(*busy & DISK_BIT(op->disk) || !RF_RULE(BUSY, true));
	*busy &= (uint8_t)~DISK_BIT(op->disk);
	op->purpose = OP_NONE;
}

/*
 * An error hides what became of the write: a path that failed may still have it, and
 * let it go within the grace time (A4). Its record stays busy for so long, or what is
 * written next could be overtaken by its ghost (§2.2).
 */
static void release(struct rf_core *c, struct op *op, int status)
{
	bool unknown = op->writes && !op->wrote && !never_left(status);

	if (RF_RULE(ERROR_GHOST, unknown)) {
		op->late = true;
		op->until_ns = c->now + c->grace_ns;
	} else {
		set_free(c, op);
	}
}

void rf_op_event(struct rf_core *c, const struct rf_event *e)
{
	struct op *op = op_find(c, e->io.op), was;
	int status = e->io.status;

	if (!op)
		return;
	rf_assert(status <= 0);
	op->wrote = op->writes && (status == 0 || e->io.wrote);
	was = *op;
	if (status == 0 && e->io.len < op->read_len)
		status = -EIO; /* half a record is none */
	if (op->late) {        /* RF_EV_IO_LATE: only now may the record be written again */
		release(c, op, status);
		return;
	}
	note_latency(c, op);
	note_status(c, op, status);
	if (status == -ETIME)
		op->late = true;
	else
		release(c, op, status);
	dispatch(c, &was, status == 0 && was.read_len ? e->io.data : NULL);
}

/* ---- pushed records ---- */

static bool push_due(struct rf_core *c, const struct push *p, uint32_t disk)
{
	uint8_t busy = *busy_mask(c, p->purpose, p->volume, 0);

	return p->version != p->given[disk] && RF_RULE(BUSY, !(busy & DISK_BIT(disk)));
}

bool rf_push_wanted(struct rf_core *c, const struct push *p)
{
	for (uint32_t d = 0; d < c->disks; d++)
		if (push_due(c, p, d))
			return true;
	return false;
}

void rf_push(struct rf_core *c, struct push *p)
{
	struct io io = {.purpose = p->purpose,
			.volume = p->volume,
			.index = p->index,
			.tag = p->version,
			.push = p,
			/* §2.4, §7: a peer may first read this sequence on the disk that got
			 * it first; on a disk that was busy then it counts from there too */
			.begun_ns = RF_RULE(FIRST_SUBMIT, p->since_ns) ? p->since_ns : 0,
			.data = p->bytes,
			.data_len = RF_RECORD_BYTES};

	for (uint32_t d = 0; d < c->disks; d++) {
		rf_assert(p->given[d] <= p->version && p->done[d] <= p->version);
		if (push_due(c, p, d) && rf_op_start(c, d, &io))
			p->given[d] = p->version;
	}
}

static void push_again(struct rf_core *c, struct push *p)
{
	uint8_t free = (uint8_t) ~*busy_mask(c, p->purpose, p->volume, 0);

	for (uint32_t d = 0; d < c->disks; d++)
		if (p->retry & free & DISK_BIT(d))
			p->given[d] = 0;
	p->retry &= (uint8_t)~free;
}

/* A failed write is tried again once a beat; one that is late, when it ended; one
 * that may have a ghost, when that is gone. */
void rf_push_retry(struct rf_core *c)
{
	for (uint32_t i = 0; i < c->ops; i++) {
		struct op *op = &c->op[i];

		if (op->purpose != OP_NONE && op->until_ns && c->now >= op->until_ns)
			set_free(c, op);
	}
	push_again(c, &c->slot);
	rf_each_volume (c, v) {
		push_again(c, &v->sector);
		push_again(c, &v->history_push);
	}
}

bool rf_push_settled(const struct rf_core *c, const struct push *p)
{
	rf_assert(p->version);
	return rf_majority_reaches(p->done, c->disks) >= p->version;
}
