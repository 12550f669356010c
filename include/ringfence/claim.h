/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one truth at every enforcement point: is a record good, who owns epoch
 * e, and has that owner been superseded?
 *
 * Compiled alike by the kernel gate, the target plugin, the daemon's core, the
 * tool and the simulator. No libc, no allocation, no side effect. The kernel
 * module defines RF_CRC32C(p, len) to its own CRC32C before including this;
 * in user space it is rf_crc32c() of daemon/format/crc32c.c.
 */
#ifndef RINGFENCE_CLAIM_H
#define RINGFENCE_CLAIM_H

#include "format.h"
#include "rule.h"

#ifndef RF_CRC32C
#include <stddef.h>
#include <stdint.h>
/* CRC32C (Castagnoli) of len bytes, init and final xor all ones. */
uint32_t rf_crc32c(const void *data, size_t len);
#define RF_CRC32C(p, len) rf_crc32c(p, len)
#endif

static inline __u16 rf_get16(__le16 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap16((__force __u16)v);
#else
	return (__force __u16)v;
#endif
}

static inline __u32 rf_get32(__le32 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap32((__force __u32)v);
#else
	return (__force __u32)v;
#endif
}

static inline __u64 rf_get64(__le64 v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64((__force __u64)v);
#else
	return (__force __u64)v;
#endif
}

/* Identity of an area, and its shape: what a reader must know beforehand. */
struct rf_area_id {
	__u8 cluster[RF_UUID_BYTES];
	__u8 area[RF_UUID_BYTES];
	__u32 nodes;
	__u32 stride_bytes;
};

enum rf_record_verdict {
	RF_RECORD_OK = 0,
	RF_RECORD_BAD_MAGIC,   /* not one of our records at all */
	RF_RECORD_BAD_VERSION, /* ours, of a format this code does not know */
	RF_RECORD_BAD_CRC,     /* torn, rotten or truncated */
	RF_RECORD_FOREIGN,     /* another cluster or another area */
	RF_RECORD_MISPLACED,   /* a good record of another kind, index or volume */
};

/* All but RF_RECORD_OK mean *unreadable*; none of them means empty (§1). */
static inline enum rf_record_verdict rf_record_check(const void *record,
						     const struct rf_area_id *id, __u16 kind,
						     __u32 volume, __u32 index)
{
	const struct rf_disk_header *h = record;
	const __le32 *crc = (const __le32 *)((const char *)record + RF_CRC_OFFSET);

	if (rf_get32(h->magic) != RF_DISK_MAGIC)
		return RF_RECORD_BAD_MAGIC;
	if (rf_get32(*crc) != RF_CRC32C(record, RF_CRC_OFFSET))
		return RF_RECORD_BAD_CRC;
	if (rf_get16(h->version) != RF_FORMAT_VERSION)
		return RF_RECORD_BAD_VERSION;
	if (__builtin_memcmp(h->cluster, id->cluster, RF_UUID_BYTES) ||
	    __builtin_memcmp(h->area, id->area, RF_UUID_BYTES))
		return RF_RECORD_FOREIGN;
	if (rf_get16(h->kind) != kind || rf_get32(h->volume) != volume ||
	    rf_get32(h->index) != index)
		return RF_RECORD_MISPLACED;
	return rf_get64(h->seq) > RF_COUNT_MAX ? RF_RECORD_BAD_VERSION : RF_RECORD_OK;
}

/* Could an owner have written it? A record that is sealed well but says nonsense is
 * unreadable, too. */
static inline int rf_epoch_sane(const struct rf_disk_epoch *e, __u32 nodes)
{
	__u32 state = rf_get32(e->state), owner = rf_get32(e->owner);
	__u64 epoch = rf_get64(e->epoch);

	if (state == RF_EPOCH_NONE)
		return !epoch && !owner && !e->incarnation;
	return (state == RF_EPOCH_CLAIMED || state == RF_EPOCH_RELEASED) && epoch &&
	       epoch <= RF_COUNT_MAX && e->incarnation && owner >= 1 && owner <= nodes;
}

/* §6, first test: the epoch sector names a later epoch. */
static inline int rf_superseded_by_sector(__u64 epoch, __u64 sector_epoch)
{
	return sector_epoch > epoch;
}

/*
 * §6, the tests on ballots. Ballots are single-writer and cannot go back, so
 * they count even when a slow winner turned the epoch sector back. A ballot of
 * e+1 with bal = 0 is only an attempt; a ballot of e+2 proves e+1 was decided.
 */
static inline int rf_superseded_by_ballot(__u64 epoch, __u64 instance, __u64 bal)
{
	if (RF_RULE(BALLOT_BEYOND, instance > epoch && instance - epoch > 1))
		return 1;
	return RF_RULE(BALLOT_NEXT, instance > epoch && instance - epoch == 1 && bal > 0);
}

enum rf_claim_verdict {
	RF_CLAIM_OWNED = 0,  /* epoch sector names exactly this owner, not superseded */
	RF_CLAIM_SUPERSEDED, /* a later epoch exists: this one is over for ever */
	RF_CLAIM_RELEASED,   /* this owner drained and left: over for ever */
	RF_CLAIM_OTHER,      /* not superseded, but the sector names another or older owner */
	RF_CLAIM_UNREADABLE, /* cannot tell: some record is unreadable */
};

/* What one region says, for reports and counters; may be NULL below. */
struct rf_claim_facts {
	__u64 sector_epoch;
	__u64 sector_incarnation;
	__u32 sector_owner;
	__u32 sector_state;
	__u64 highest_instance; /* largest instance in any readable ballot */
	__u64 highest_decided;  /* lower bound: an epoch known to be decided */
	__u32 unreadable;       /* number of unreadable records */
};

/* Bytes of the claim region of one volume. */
static inline __u64 rf_claim_region_bytes(const struct rf_area_id *id)
{
	return (__u64)(id->nodes + 1) * id->stride_bytes;
}

/*
 * Judge one copy of the claim region: does (node, incarnation) own `epoch`?
 * region: rf_claim_region_bytes(id) bytes as read from one disk.
 *
 * Superseded wins over unreadable: one readable proof is enough to shut a gate.
 * OWNED needs every record readable. With several disks: SUPERSEDED on any one
 * disk shuts; opening needs OWNED on one disk and OWNED or OTHER on a majority
 * (the sector is written only after the decision, ballots decide the rest).
 */
static inline enum rf_claim_verdict rf_claim_check(const void *region,
						   const struct rf_area_id *id, __u32 volume,
						   __u64 epoch, __u32 node, __u64 incarnation,
						   struct rf_claim_facts *facts)
{
	const struct rf_disk_epoch *sector = region;
	struct rf_claim_facts f;
	int superseded = 0;
	__u32 i;

	__builtin_memset(&f, 0, sizeof(f));
	if (rf_record_check(sector, id, RF_KIND_EPOCH, volume, 0) == RF_RECORD_OK &&
	    rf_epoch_sane(sector, id->nodes)) {
		f.sector_epoch = rf_get64(sector->epoch);
		f.sector_incarnation = rf_get64(sector->incarnation);
		f.sector_owner = rf_get32(sector->owner);
		f.sector_state = rf_get32(sector->state);
		f.highest_decided = f.sector_epoch;
		superseded = rf_superseded_by_sector(epoch, f.sector_epoch);
	} else {
		f.unreadable++;
	}
	for (i = 1; i <= id->nodes; i++) {
		const struct rf_disk_ballot *b =
			(const void *)((const char *)region + (__u64)i * id->stride_bytes);
		__u64 instance;

		instance = rf_get64(b->instance);
		/* §6: what nobody can have written proves nothing, and is not good either */
		if (rf_record_check(b, id, RF_KIND_BALLOT, volume, i) != RF_RECORD_OK ||
		    instance > RF_COUNT_MAX) {
			f.unreadable++;
			continue;
		}
		if (instance > f.highest_instance)
			f.highest_instance = instance;
		superseded |= rf_superseded_by_ballot(epoch, instance, rf_get64(b->bal));
	}
	if (RF_RULE(BALLOT_BEYOND, f.highest_instance > f.highest_decided + 1))
		f.highest_decided = f.highest_instance - 1;
	if (facts)
		*facts = f;
	if (superseded)
		return RF_CLAIM_SUPERSEDED;
	if (f.unreadable)
		return RF_CLAIM_UNREADABLE;
	if (f.sector_epoch != epoch || f.sector_owner != node ||
	    f.sector_incarnation != incarnation)
		return RF_CLAIM_OTHER;
	return f.sector_state == RF_EPOCH_RELEASED ? RF_CLAIM_RELEASED : RF_CLAIM_OWNED;
}

#endif
