/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quorum export: which write by which node may pass.
 *
 *   superblock, volume   nobody
 *   slot i               node i: its own good record, sequence and generation
 *                        not lower; the incarnation the connection names
 *   mailbox              anybody: a good order from the node of the connection
 *                        (or from the operator's tool there), never a weaker
 *                        one over a stronger one
 *   epoch sector         a node that the record names as owner: epoch not
 *                        lower, no other owner in an epoch, never CLAIMED over
 *                        RELEASED
 *   ballot i             node i: instance, promise and vote not lower
 *   state i              node i: epoch and version not lower, payload whole
 *   history              a node that the record names as owner, epoch not lower
 *
 * A write is one record: it starts at the record and is whole sectors long, at
 * most a stride (a state: at most its half, payload included).
 * A connection that names incarnation 0 may write for any life of its node.
 */
#ifndef RF_NBD_QUORUM_H
#define RF_NBD_QUORUM_H

#include "area.h"
#include "ringfence/key.h"

enum rf_quorum_verdict {
	RF_QUORUM_OK = 0,
	RF_QUORUM_SHAPE,    /* not whole sectors of exactly one record */
	RF_QUORUM_READONLY, /* superblock, volume, or nothing at all */
	RF_QUORUM_NOT_OWN,  /* another node's record, or another life's */
	RF_QUORUM_BAD,      /* not a good record of this kind and place */
	RF_QUORUM_LOWER,    /* would take back what stands there */
};

/* Pure: `old` is the sector that stands at the record now (RF_RECORD_BYTES). */
enum rf_quorum_verdict rf_quorum_judge(const struct rf_area *a, const struct rf_conn *conn,
				       const struct rf_place *p, const void *buf, size_t bytes,
				       const void *old);
/* Shape only. */
enum rf_quorum_verdict rf_quorum_shape(const struct rf_area *a, const struct rf_place *p,
				       uint64_t offset_bytes, size_t bytes);

/* Judge and write; other writers of the same record wait. Durable on 0.
 * 0, -EPERM with *verdict, or -errno of the disk (verdict RF_QUORUM_OK). */
int rf_quorum_write(const struct rf_area *a, const struct rf_area_disk *d,
		    const struct rf_conn *conn, const void *buf, size_t bytes,
		    uint64_t offset_bytes, enum rf_quorum_verdict *verdict);
/* Any range: bounced through whole sectors. */
int rf_quorum_read(const struct rf_area *a, const struct rf_area_disk *d, void *buf,
		   size_t bytes, uint64_t offset_bytes);

#endif
