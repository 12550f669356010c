/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes to the quorum export (quorum.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quorum.h"

/* A record, before and after. old is NULL where nothing readable stands. */
struct change {
	const struct rf_area *area;
	const struct rf_conn *conn;
	const struct rf_place *place;
	const void *new;
	const void *old;
	size_t bytes;
};

typedef enum rf_quorum_verdict judge_fn(const struct change *c);

static bool life_matches(const struct change *c, __le64 incarnation)
{
	return !c->conn->incarnation || rf_get64(incarnation) == c->conn->incarnation;
}

static enum rf_quorum_verdict judge_slot(const struct change *c)
{
	const struct rf_disk_slot *new = c->new, *old = c->old;
	uint32_t state = rf_get32(new->state);

	if (c->place->index != c->conn->node)
		return RF_QUORUM_NOT_OWN;
	if (state != RF_SLOT_FREE && state != RF_SLOT_JOINED)
		return RF_QUORUM_BAD;
	if (!life_matches(c, new->incarnation))
		return RF_QUORUM_NOT_OWN;
	if (!old)
		return RF_QUORUM_OK;
	/* A ghost of an earlier life must not bring its slot back. */
	if (rf_get64(new->generation) < rf_get64(old->generation))
		return RF_QUORUM_LOWER;
	return RF_QUORUM_OK;
}

static enum rf_quorum_verdict judge_mailbox(const struct change *c)
{
	const struct rf_disk_mailbox *new = c->new, *old = c->old;
	uint32_t order = rf_get32(new->order), from = rf_get32(new->from);

	if (order != RF_ORDER_NONE && order != RF_ORDER_STOP)
		return RF_QUORUM_BAD;
	if (from && from != c->conn->node)
		return RF_QUORUM_NOT_OWN;
	if (old && rf_get32(old->order) == RF_ORDER_STOP && order != RF_ORDER_STOP)
		return RF_QUORUM_LOWER;
	return RF_QUORUM_OK;
}

static enum rf_quorum_verdict judge_epoch(const struct change *c)
{
	const struct rf_disk_epoch *new = c->new, *old = c->old;
	uint64_t epoch = rf_get64(new->epoch);
	uint32_t state = rf_get32(new->state);

	if (rf_get32(new->owner) != c->conn->node || !life_matches(c, new->incarnation))
		return RF_QUORUM_NOT_OWN;
	if (epoch == 0 || (state != RF_EPOCH_CLAIMED && state != RF_EPOCH_RELEASED))
		return RF_QUORUM_BAD;
	if (!old || epoch > rf_get64(old->epoch))
		return RF_QUORUM_OK;
	/* §6: the sector alone could be turned back by a slow winner; not here. */
	if (epoch < rf_get64(old->epoch))
		return RF_QUORUM_LOWER;
	if (rf_get32(old->owner) != rf_get32(new->owner) ||
	    rf_get64(old->incarnation) != rf_get64(new->incarnation))
		return RF_QUORUM_NOT_OWN;
	if (rf_get32(old->state) == RF_EPOCH_RELEASED && state != RF_EPOCH_RELEASED)
		return RF_QUORUM_LOWER;
	return RF_QUORUM_OK;
}

static bool ballot_good(const struct rf_area *a, const struct rf_disk_ballot *b, uint32_t node)
{
	uint64_t mbal = rf_get64(b->mbal), bal = rf_get64(b->bal);
	uint32_t mask = (1u << RF_BALLOT_NODE_BITS) - 1, value = rf_get32(b->value_node);

	if (bal > mbal || (mbal && (mbal & mask) != node))
		return false;
	return !bal || ((bal & mask) == node && value >= 1 && value <= a->id.nodes);
}

static enum rf_quorum_verdict judge_ballot(const struct change *c)
{
	const struct rf_disk_ballot *new = c->new, *old = c->old;

	if (c->place->index != c->conn->node)
		return RF_QUORUM_NOT_OWN;
	if (!ballot_good(c->area, new, c->conn->node))
		return RF_QUORUM_BAD;
	if (!old || rf_get64(new->instance) > rf_get64(old->instance))
		return RF_QUORUM_OK;
	/* §5: ballots cannot go back, and a promise survives everything. */
	if (rf_get64(new->instance) < rf_get64(old->instance) ||
	    rf_get64(new->mbal) < rf_get64(old->mbal) ||
	    rf_get64(new->bal) < rf_get64(old->bal))
		return RF_QUORUM_LOWER;
	if (rf_get64(new->bal) == rf_get64(old->bal) && rf_get64(new->bal) &&
	    (rf_get32(new->value_node) != rf_get32(old->value_node) ||
	     rf_get64(new->value_incarnation) != rf_get64(old->value_incarnation)))
		return RF_QUORUM_LOWER;
	return RF_QUORUM_OK;
}

static bool payload_good(const struct change *c, const struct rf_disk_state *s)
{
	uint32_t length = rf_get32(s->length_bytes);

	return length <= c->bytes - RF_RECORD_BYTES &&
	       rf_get32(s->payload_crc) ==
		       RF_CRC32C((const char *)c->new + RF_RECORD_BYTES, length);
}

static enum rf_quorum_verdict judge_state(const struct change *c)
{
	const struct rf_disk_state *new = c->new, *old = c->old;
	uint64_t epoch = rf_get64(new->epoch);

	if (c->place->index != c->conn->node)
		return RF_QUORUM_NOT_OWN;
	if (!payload_good(c, new))
		return RF_QUORUM_BAD;
	if (!old || epoch > rf_get64(old->epoch))
		return RF_QUORUM_OK;
	if (epoch < rf_get64(old->epoch) || rf_get64(new->version) < rf_get64(old->version))
		return RF_QUORUM_LOWER;
	return RF_QUORUM_OK;
}

static enum rf_quorum_verdict judge_history(const struct change *c)
{
	const struct rf_disk_history *new = c->new, *old = c->old;
	uint64_t epoch = rf_get64(new->epoch);

	if (rf_get32(new->owner) != c->conn->node || !life_matches(c, new->incarnation))
		return RF_QUORUM_NOT_OWN;
	if (epoch == 0 || epoch % c->area->history != c->place->index)
		return RF_QUORUM_BAD;
	if (!old || epoch > rf_get64(old->epoch))
		return RF_QUORUM_OK;
	if (epoch < rf_get64(old->epoch))
		return RF_QUORUM_LOWER;
	if (rf_get32(old->owner) != rf_get32(new->owner) ||
	    rf_get64(old->incarnation) != rf_get64(new->incarnation))
		return RF_QUORUM_NOT_OWN;
	return RF_QUORUM_OK;
}

static judge_fn *const judges[RF_KIND_LAST + 1] = {
	[RF_KIND_SLOT] = judge_slot,   [RF_KIND_MAILBOX] = judge_mailbox,
	[RF_KIND_EPOCH] = judge_epoch, [RF_KIND_BALLOT] = judge_ballot,
	[RF_KIND_STATE] = judge_state, [RF_KIND_HISTORY] = judge_history,
};

enum rf_quorum_verdict rf_quorum_shape(const struct rf_area *a, const struct rf_place *p,
				       uint64_t offset_bytes, size_t bytes)
{
	if (!judges[p->kind])
		return RF_QUORUM_READONLY;
	if (offset_bytes != p->base_bytes || bytes < a->sector_bytes ||
	    bytes % a->sector_bytes || bytes > p->room_bytes)
		return RF_QUORUM_SHAPE;
	return RF_QUORUM_OK;
}

static bool record_good(const struct rf_area *a, const struct rf_place *p, const void *record)
{
	const struct rf_disk_header *h = record;

	return rf_record_check(record, &a->id, p->kind, p->volume, p->index) == RF_RECORD_OK &&
	       rf_get32(h->part) == p->part && rf_get32(h->zero) == 0;
}

static uint64_t record_seq(const void *record)
{
	return rf_get64(((const struct rf_disk_header *)record)->seq);
}

/* Within one epoch, or of one writer, sequences grow. An epoch sector and a
 * history entry start afresh with each epoch: other writers, other counters. */
static bool seq_lower(const struct rf_place *p, const void *new, const void *old)
{
	/* epoch is the first field behind the header in both */
	size_t at = sizeof(struct rf_disk_header);

	if ((p->kind == RF_KIND_EPOCH || p->kind == RF_KIND_HISTORY) &&
	    memcmp((const char *)new + at, (const char *)old + at, sizeof(__le64)))
		return false;
	return record_seq(new) < record_seq(old);
}

_Static_assert(__builtin_offsetof(struct rf_disk_epoch, epoch) == sizeof(struct rf_disk_header),
	       "seq_lower");
_Static_assert(__builtin_offsetof(struct rf_disk_history, epoch) ==
		       sizeof(struct rf_disk_header),
	       "seq_lower");

enum rf_quorum_verdict rf_quorum_judge(const struct rf_area *a, const struct rf_conn *conn,
				       const struct rf_place *p, const void *buf, size_t bytes,
				       const void *old)
{
	struct change c = {a, conn, p, buf, old, bytes};
	enum rf_quorum_verdict v;

	if (!judges[p->kind])
		return RF_QUORUM_READONLY;
	if (!record_good(a, p, buf))
		return RF_QUORUM_BAD;
	/* What stands there unreadable binds nobody but by its place. */
	if (old && !record_good(a, p, old))
		c.old = NULL;
	v = judges[p->kind](&c);
	if (v == RF_QUORUM_OK && c.old && seq_lower(p, buf, c.old))
		return RF_QUORUM_LOWER;
	return v;
}

/* ---- doing it ---- */

/* An unreadable epoch sector tells no epoch to compare with: the ballots must
 * (§5: only the owner of the highest decided epoch writes its own again). */
static enum rf_quorum_verdict judge_rotten_sector(const struct rf_area *a,
						  const struct rf_area_disk *d,
						  const struct rf_place *p, const void *buf,
						  const void *old)
{
	const struct rf_disk_epoch *new = buf;
	struct rf_claim_facts facts;
	size_t bytes = rf_claim_region_bytes(&a->id);
	uint64_t epoch = rf_get64(new->epoch);
	void *region;
	int rc;

	if (p->kind != RF_KIND_EPOCH || record_good(a, p, old))
		return RF_QUORUM_OK;
	region = rf_area_buffer(bytes);
	if (!region)
		return RF_QUORUM_LOWER;
	rc = rf_area_read(d, region, bytes, rf_area_region(a, p->volume));
	if (!rc)
		rf_claim_check(region, &a->id, p->volume, epoch, rf_get32(new->owner),
			       rf_get64(new->incarnation), &facts);
	free(region);
	return rc || facts.highest_instance > epoch ? RF_QUORUM_LOWER : RF_QUORUM_OK;
}

static pthread_mutex_t record_locks[64] = {
	[0 ... 63] = PTHREAD_MUTEX_INITIALIZER,
};

static pthread_mutex_t *record_lock(const struct rf_area *a, const struct rf_area_disk *d,
				    const struct rf_place *p)
{
	uint64_t hash = (p->base_bytes / a->id.stride_bytes) * 5 + d->index;

	return &record_locks[hash % 64];
}

static int write_locked(const struct rf_area *a, const struct rf_area_disk *d,
			const struct rf_conn *conn, const struct rf_place *p, const void *buf,
			size_t bytes, enum rf_quorum_verdict *verdict)
{
	void *old = rf_area_buffer(a->sector_bytes);
	int rc = old ? rf_area_read(d, old, a->sector_bytes, p->base_bytes) : -ENOMEM;

	/* A sector the disk cannot read is unreadable like any other: its writer
	 * may write it anew. */
	if (rc == -EIO) {
		memset(old, 0, a->sector_bytes);
		rc = 0;
	}
	if (!rc) {
		*verdict = rf_quorum_judge(a, conn, p, buf, bytes, old);
		if (*verdict == RF_QUORUM_OK)
			*verdict = judge_rotten_sector(a, d, p, buf, old);
		rc = *verdict ? -EPERM : rf_area_write(d, buf, bytes, p->base_bytes);
	}
	free(old);
	return rc;
}

int rf_quorum_write(const struct rf_area *a, const struct rf_area_disk *d,
		    const struct rf_conn *conn, const void *buf, size_t bytes,
		    uint64_t offset_bytes, enum rf_quorum_verdict *verdict)
{
	struct rf_place p = rf_area_locate(a, offset_bytes);
	void *bounce;
	int rc;

	*verdict = rf_quorum_shape(a, &p, offset_bytes, bytes);
	if (*verdict)
		return -EPERM;
	bounce = rf_area_buffer(bytes);
	if (!bounce)
		return -ENOMEM;
	memcpy(bounce, buf, bytes);
	pthread_mutex_lock(record_lock(a, d, &p));
	rc = write_locked(a, d, conn, &p, bounce, bytes, verdict);
	pthread_mutex_unlock(record_lock(a, d, &p));
	free(bounce);
	return rc;
}

int rf_quorum_read(const struct rf_area *a, const struct rf_area_disk *d, void *buf,
		   size_t bytes, uint64_t offset_bytes)
{
	uint64_t first = offset_bytes / a->sector_bytes * a->sector_bytes;
	uint64_t end = (offset_bytes + bytes + a->sector_bytes - 1) / a->sector_bytes;
	size_t whole = (size_t)(end * a->sector_bytes - first);
	void *bounce = rf_area_buffer(whole);
	int rc;

	if (!bounce)
		return -ENOMEM;
	rc = rf_area_read(d, bounce, whole, first);
	if (!rc)
		memcpy(buf, (char *)bounce + (offset_bytes - first), bytes);
	free(bounce);
	return rc;
}
