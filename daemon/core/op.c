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

uint32_t rf_sector(const struct rf_core *c)
{
	return c->super.sector_bytes;
}

/* Which disks are busy with operations of this purpose. */
static uint8_t *busy_mask(struct rf_core *c, const struct op *op)
{
	struct volume *v = op->volume < c->volumes ? &c->volume[op->volume] : NULL;

	switch ((enum purpose)op->purpose) {
	case OP_SLOT:
		return &c->slot.busy;
	case OP_OWN:
		return &c->own_busy;
	case OP_PEER:
		return &c->peer[op->node].busy;
	case OP_SLOTS:
		return v ? &v->slots_busy : &c->slots_busy;
	case OP_REGION:
		return &v->look_busy;
	case OP_RENEW:
		return &v->renew_busy;
	case OP_FRESH:
		return &v->fresh_busy;
	case OP_BALLOT:
		return &v->ballot.busy;
	case OP_EPOCH:
		return &v->sector.busy;
	case OP_HISTORY:
		return &v->history_push.busy;
	case OP_STATES:
		return &v->states_busy;
	case OP_COMMIT:
		return &v->commit_busy;
	case OP_NONE:
		break;
	}
	rf_assert(!"an operation has a purpose");
	return NULL;
}

static struct op *op_free(struct rf_core *c)
{
	for (uint32_t n = 0; n < c->ops; n++) {
		uint32_t i = (c->op_hint + n) % c->ops;

		if (c->op[i].purpose == OP_NONE) {
			c->op_hint = i + 1;
			return &c->op[i];
		}
	}
	return NULL;
}

bool rf_op_start(struct rf_core *c, enum purpose purpose, uint32_t disk, uint32_t volume,
		 uint32_t node, uint64_t tag, const struct io *io)
{
	struct op want = {.purpose = (uint8_t)purpose, .volume = volume, .node = node};
	uint8_t *busy = busy_mask(c, &want);
	struct rf_effect *e;
	struct op *op;

	rf_assert(disk < c->disks);
	rf_assert(io->write_len || io->read_len);
	if (RF_RULE(BUSY, *busy & DISK_BIT(disk)))
		return false;
	op = op_free(c);
	if (!op)
		return false;
	*op = (struct op){
		.purpose = (uint8_t)purpose,
		.disk = (uint8_t)disk,
		.writes = io->write_len != 0,
		.generation = (uint16_t)(op->generation + 1),
		.volume = volume,
		.node = node,
		/* §2.4: taken before it is submitted */
		.begun_ns = io->begun_ns ? io->begun_ns : c->now,
		.tag = tag,
	};
	*busy |= DISK_BIT(disk);
	e = rf_emit(c, RF_DO_IO);
	e->io.op = (uint32_t)op->generation << 16 | (uint32_t)(op - c->op + 1);
	e->io.disk = disk;
	e->io.write_offset = io->write_offset;
	e->io.write_len = io->write_len;
	e->io.read_offset = io->read_offset;
	e->io.read_len = io->read_len;
	e->io.data = io->data;
	e->io.data_len = io->data_len;
	/* a renewal that took a whole lease would be over when it came */
	e->io.deadline_ns = c->now + c->lease_ns;
	return true;
}

static struct op *op_find(struct rf_core *c, uint32_t id)
{
	uint32_t index = id & 0xffff;
	struct op *op;

	if (index == 0 || index > c->ops)
		return NULL;
	op = &c->op[index - 1];
	if (op->purpose == OP_NONE || op->generation != id >> 16)
		return NULL;
	return op;
}

static void note_latency(struct rf_core *c, const struct op *op)
{
	uint64_t us = (c->now - op->begun_ns) / 1000;
	uint32_t us32 = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;

	if (op->writes)
		c->write_us = us32;
	else
		c->read_us = us32;
	if (us32 > c->worst_us)
		c->worst_us = us32;
	if (us * 1000 > c->lease_ns / 3)
		c->health |= RF_HEALTH_SLOW_DISK;
}

/* Failing and back again: said once each, published as health. */
static void note_status(struct rf_core *c, const struct op *op, int status, bool wrote)
{
	struct disk *disk = &c->disk[op->disk];
	uint32_t bit = op->writes && !wrote ? RF_HEALTH_WRITE_FAILING : RF_HEALTH_READ_FAILING;

	if (status == 0) {
		if (op->writes)
			c->health &= ~RF_HEALTH_WRITE_FAILING;
		c->health &= ~RF_HEALTH_READ_FAILING;
		if (disk->failing && (op->writes || !(c->health & RF_HEALTH_WRITE_FAILING))) {
			disk->failing = false;
			rf_emit_say(c, NULL, RF_SAY_DISK_BACK, 0, 0, op->disk, 0);
		}
		return;
	}
	c->health |= bit;
	if (!disk->failing && status == -ETIME)
		rf_emit_say(c, NULL, RF_SAY_DISK_SLOW, 0, 0, op->disk, c->now - op->begun_ns);
	else if (!disk->failing)
		rf_emit_say(c, NULL, RF_SAY_DISK_ERROR, 0, 0, op->disk, (uint64_t)-status);
	disk->failing = true;
}

static void dispatch_volume(struct rf_core *c, const struct op *op, int status, bool wrote,
			    const uint8_t *data, size_t len)
{
	struct volume *v = &c->volume[op->volume];
	bool whole = status == 0 && len >= rf_geo_region_bytes(&c->super);

	switch ((enum purpose)op->purpose) {
	case OP_REGION:
		if (whole)
			rf_region_judge(c, v, op->disk, data, 0);
		if (whole && c->join.stage == JOIN_BALLOTS)
			rf_join_region(c, v, op->disk, data);
		if (whole)
			v->look_done |= DISK_BIT(op->disk);
		rf_campaign_region(c, v, op->disk, whole);
		break;
	case OP_RENEW:
		if (whole)
			rf_lease_observe(c, v, op->disk, op->begun_ns, op->tag, data);
		break;
	case OP_FRESH:
		if (op->tag == v->my_epoch)
			rf_exclusion_region(c, v, op->disk, whole ? 0 : -EIO, data, len);
		break;
	case OP_SLOTS:
		if (op->tag == v->my_epoch)
			rf_exclusion_slots(c, v, op->disk, status, data, len);
		break;
	case OP_BALLOT:
		rf_ballot_done(c, v, op, status, wrote, data, len);
		break;
	case OP_EPOCH:
		rf_push_wrote(&v->sector, op->disk, op->tag, status == 0);
		break;
	case OP_HISTORY:
		rf_push_wrote(&v->history_push, op->disk, op->tag, status == 0);
		break;
	case OP_STATES:
		rf_commit_states(c, v, op->disk, status, data, len);
		break;
	case OP_COMMIT:
		rf_commit_wrote(c, v, op, status, wrote, data, len);
		break;
	default:
		rf_assert(!"an operation on a volume");
	}
}

static void dispatch(struct rf_core *c, const struct op *op, int status, bool wrote,
		     const uint8_t *data, size_t len)
{
	switch ((enum purpose)op->purpose) {
	case OP_SLOT:
		rf_slot_wrote(c, op, status, wrote, data, len);
		break;
	case OP_OWN:
		rf_own_read(c, op->disk, status, data, len);
		break;
	case OP_PEER:
		if (status == 0 && len >= RF_RECORD_BYTES)
			rf_peer_slot(c, op->node, data);
		break;
	case OP_SLOTS:
		if (op->volume == RF_NO_VOLUME)
			rf_join_slots(c, op->disk, status, data, len);
		else
			dispatch_volume(c, op, status, wrote, data, len);
		break;
	default:
		dispatch_volume(c, op, status, wrote, data, len);
	}
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
	*busy_mask(c, op) &= (uint8_t)~DISK_BIT(op->disk);
	op->purpose = OP_NONE;
}

/*
 * An error hides what became of the write: a path that failed may still have it, and
 * let it go within the grace time (A4). Its record stays busy for so long, or what is
 * written next could be overtaken by its ghost (§2.2).
 */
static void release(struct rf_core *c, struct op *op, int status, bool wrote)
{
	bool unknown = op->writes && !wrote && status != 0 && !never_left(status);

	if (RF_RULE(ERROR_GHOST, unknown)) {
		op->late = true;
		op->until_ns = c->now + c->grace_ns;
	} else {
		set_free(c, op);
	}
}

void rf_op_sweep(struct rf_core *c)
{
	for (uint32_t i = 0; i < c->ops; i++) {
		struct op *op = &c->op[i];

		if (op->purpose != OP_NONE && op->until_ns && c->now >= op->until_ns)
			set_free(c, op);
	}
}

void rf_op_event(struct rf_core *c, const struct rf_event *e)
{
	struct op *op = op_find(c, e->io.op);
	struct op was;
	int status = e->io.status;

	if (!op)
		return;
	rf_assert(status <= 0);
	was = *op;
	if (op->late) { /* RF_EV_IO_LATE: only now may the record be written again */
		release(c, op, status, e->io.wrote);
		return;
	}
	note_latency(c, op);
	note_status(c, op, status, e->io.wrote);
	if (status == -ETIME && e->kind == RF_EV_IO)
		op->late = true;
	else
		release(c, op, status, e->io.wrote);
	if (!c->halted)
		dispatch(c, &was, status, status == 0 || e->io.wrote, e->io.data, e->io.len);
}

/* ---- pushed records ---- */

bool rf_push_due(const struct push *p, uint32_t disk)
{
	rf_assert(disk < RF_DISKS_MAX);
	return p->version != p->given[disk] && RF_RULE(BUSY, !(p->busy & DISK_BIT(disk)));
}

void rf_push_given(struct push *p, uint32_t disk)
{
	rf_assert(p->given[disk] < p->version);
	p->given[disk] = p->version;
}

void rf_push_wrote(struct push *p, uint32_t disk, uint64_t version, bool wrote)
{
	if (wrote && version > p->done[disk])
		p->done[disk] = version;
	else if (!wrote)
		p->retry |= DISK_BIT(disk);
}

/* A failed write is tried again once a beat; one that is late, when it ended. */
void rf_push_retry(struct push *p)
{
	for (uint32_t d = 0; d < RF_DISKS_MAX; d++)
		if (p->retry & DISK_BIT(d) && !(p->busy & DISK_BIT(d))) {
			p->retry &= (uint8_t)~DISK_BIT(d);
			p->given[d] = 0;
		}
}

uint8_t rf_push_disks(const struct rf_core *c, const struct push *p, uint64_t version)
{
	uint8_t disks = 0;

	rf_assert(version <= p->version);
	for (uint32_t d = 0; d < c->disks; d++)
		if (p->done[d] >= version)
			disks |= DISK_BIT(d);
	return disks;
}

bool rf_push_settled(const struct rf_core *c, const struct push *p, uint64_t version)
{
	return version && rf_count(rf_push_disks(c, p, version)) >= rf_majority(c->disks);
}
