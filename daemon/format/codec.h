/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records and messages: bytes <-> decoded twins, and where records lie.
 *
 * Pure. Encoders zero the record first and always succeed; they assert what a
 * caller must not get wrong. Decoders believe nothing: they check the record
 * (claim.h), every count, every enum and every reserved code word, and leave
 * *out untouched unless they return RF_RECORD_OK (messages: 0).
 */
#ifndef RF_FORMAT_CODEC_H
#define RF_FORMAT_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/claim.h"
#include "ringfence/format.h"
#include "ringfence/wire.h"

/* ---- decoded twins of the disk records ---- */

struct rf_timing {
	uint32_t heartbeat_ms, suspect_ms, lease_ms, grace_ms;
	uint32_t hold_ms, isolation_ms, slot_timeout_ms, inflight_ms;
	uint32_t epsilon_ppm;
};

struct rf_super {
	struct rf_area_id id; /* cluster, area, nodes, stride_bytes */
	char cluster_name[RF_NAME_BYTES];
	char device_id[RF_DEVICE_ID_BYTES];
	uint64_t seq, compat, ro_compat, incompat;
	uint64_t area_offset_bytes, area_strides, created_unix_s;
	uint32_t sector_bytes;
	uint32_t volumes, history, state_strides;
	uint8_t disk_index, disk_count, place, quorum;
	struct rf_timing timing;
	uint8_t voters[RF_NODES_MAX / 8];
};

struct rf_grant {
	uint64_t epoch;
	uint32_t round;
	uint16_t volume;
	uint8_t candidate;
};

struct rf_slot {
	uint64_t seq, incarnation, generation, unix_ns, order_seq;
	uint8_t boot_id[RF_UUID_BYTES];
	char host[RF_HOST_BYTES];
	uint32_t state, health, priority;
	uint32_t write_us, read_us, worst_us;
	uint8_t gate_open[RF_VOLUMES_MAX / 8];
	uint8_t leads[RF_VOLUMES_MAX / 8];
	uint8_t hears[RF_NODES_MAX / 8];
	uint64_t want_epoch;
	uint32_t want_round;
	uint16_t want_volume;
	struct rf_grant grants[RF_SLOT_GRANTS];
};

struct rf_mailbox {
	uint64_t seq, incarnation, unix_ns;
	uint32_t order, from;
};

struct rf_volume_desc {
	uint64_t seq, data_offset_bytes, data_bytes;
	char name[RF_NAME_BYTES];
	char device_id[RF_DEVICE_ID_BYTES];
	uint8_t uuid[RF_UUID_BYTES];
};

struct rf_epoch {
	uint64_t seq, epoch, incarnation, unix_ns;
	uint32_t owner, state;
};

struct rf_ballot {
	uint64_t seq, instance, mbal, bal, value_incarnation;
	uint32_t value_node;
};

struct rf_state {
	uint64_t seq, epoch, version;
	uint32_t length_bytes, payload_crc;
};

struct rf_history {
	uint64_t seq, epoch, incarnation, start_unix_ns, end_unix_ns, prev_epoch;
	uint32_t owner, prev_owner, cause, end_cause, excluded_by;
	uint32_t suspect_us, prevote_us, claim_us, exclude_us, open_us, reconcile_us;
	char host[RF_HOST_BYTES];
};

/* ---- records: one encoder and one decoder per kind ---- */

void rf_super_encode(void *record, const struct rf_super *in, uint32_t part);
/* Superblock: identity is not known beforehand; every field is checked. */
enum rf_record_verdict rf_super_decode(const void *record, struct rf_super *out);

void rf_slot_encode(void *record, const struct rf_area_id *id, uint32_t node,
		    const struct rf_slot *in);
enum rf_record_verdict rf_slot_decode(const void *record, const struct rf_area_id *id,
				      uint32_t node, struct rf_slot *out);
void rf_mailbox_encode(void *record, const struct rf_area_id *id, uint32_t node,
		       const struct rf_mailbox *in);
enum rf_record_verdict rf_mailbox_decode(const void *record, const struct rf_area_id *id,
					 uint32_t node, struct rf_mailbox *out);
void rf_volume_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		      const struct rf_volume_desc *in);
enum rf_record_verdict rf_volume_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, struct rf_volume_desc *out);
void rf_epoch_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		     const struct rf_epoch *in);
enum rf_record_verdict rf_epoch_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, struct rf_epoch *out);
void rf_ballot_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		      const struct rf_ballot *in);
enum rf_record_verdict rf_ballot_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, uint32_t node, struct rf_ballot *out);
/* State: the record only; rf_state_payload_ok() judges what stands behind it. */
void rf_state_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		     uint32_t half, const struct rf_state *in);
enum rf_record_verdict rf_state_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, uint32_t node, uint32_t half,
				       struct rf_state *out);
/* half: bytes of one half as read (record, then payload); s: its decoded record. */
bool rf_state_payload_ok(const void *half, size_t half_bytes, const struct rf_state *s);
/* Index of the ring is epoch mod K; an unused entry has epoch 0 and its own index. */
void rf_history_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		       uint32_t index, const struct rf_history *in);
enum rf_record_verdict rf_history_decode(const void *record, const struct rf_area_id *id,
					 uint32_t volume, uint32_t index,
					 struct rf_history *out);

/* ---- where records lie: byte offsets from stride 0 of the area ---- */

uint64_t rf_geo_slot(const struct rf_super *s, uint32_t node); /* mailbox follows */
uint64_t rf_geo_mailbox(const struct rf_super *s, uint32_t node);
uint64_t rf_geo_volume(const struct rf_super *s, uint32_t volume);
uint64_t rf_geo_region(const struct rf_super *s, uint32_t volume); /* epoch sector */
uint64_t rf_geo_ballot(const struct rf_super *s, uint32_t volume, uint32_t node);
uint64_t rf_geo_history(const struct rf_super *s, uint32_t volume, uint32_t index);
uint64_t rf_geo_state(const struct rf_super *s, uint32_t volume, uint32_t node, uint32_t half);
uint64_t rf_geo_copy(const struct rf_super *s);    /* superblock copy */
uint64_t rf_geo_strides(const struct rf_super *s); /* whole area, copy included */
uint64_t rf_geo_region_bytes(const struct rf_super *s);
uint64_t rf_geo_slots_bytes(const struct rf_super *s);   /* all slots and mailboxes */
uint64_t rf_geo_half_bytes(const struct rf_super *s);    /* one half of a state */
uint32_t rf_geo_payload_bytes(const struct rf_super *s); /* largest state payload */

/* ---- messages (plain text; the seal is the network's business) ---- */

struct rf_msg_entry {
	uint64_t epoch;
	uint16_t volume;
	uint8_t role; /* RF_WIRE_ROLE_* */
};

struct rf_msg {
	uint8_t kind; /* enum rf_wire_kind */
	union {
		struct {
			uint64_t slot_seq, clock_ns, echo_ns;
			uint32_t echo_held_us, health, priority;
			uint16_t echo;
			uint8_t part, parts, count;
			uint8_t hears[RF_NODES_MAX / 8];
			struct rf_msg_entry entries[RF_HEARTBEAT_ENTRIES];
		} heartbeat;
		struct {
			uint64_t epoch;
			uint32_t round, priority;
			uint16_t volume, hears;
		} prevote;
		struct {
			uint64_t epoch, known;
			uint32_t round;
			uint16_t volume, candidate;
			bool granted;
		} vote;
		struct {
			uint64_t epoch;
			uint16_t volume;
		} closed;
		struct {
			uint64_t epoch;
			uint16_t volume, to;
		} released;
	};
};

/* Returns bytes written; out has room for RF_MESSAGE_BYTES. */
size_t rf_msg_encode(void *out, const struct rf_msg *in);
/* 0, or -1: not a message (wrong size for its counts, unknown kind, bad enum).
 * nodes and volumes bound every id in it. */
int rf_msg_decode(const void *data, size_t len, uint32_t nodes, uint32_t volumes,
		  struct rf_msg *out);

/* ---- little helpers for bitmaps of nodes (bit id-1) and volumes (bit v) ---- */

static inline bool rf_bit_get(const uint8_t *map, uint32_t bit)
{
	return map[bit / 8] >> (bit % 8) & 1;
}

static inline void rf_bit_set(uint8_t *map, uint32_t bit, bool on)
{
	if (on)
		map[bit / 8] |= (uint8_t)(1u << (bit % 8));
	else
		map[bit / 8] &= (uint8_t) ~(1u << (bit % 8));
}

static inline uint32_t rf_map_count(const uint8_t *map, uint32_t bits)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bits; i++)
		n += rf_bit_get(map, i);
	return n;
}

#endif
