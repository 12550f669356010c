/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every field of every record (ringfence/format.h). The fields of a kind cover its
 * record without a hole: tests/e2e/disk-dump.sh counts. */
#include "field.h"

#define F(type, member, name, kind)                                                      \
	{                                                                                \
		name, offsetof(struct type, member), sizeof(((struct type *)0)->member), \
			FIELD_##kind                                                     \
	}

static const struct field header[] = {
#define H(member, name, kind) F(rf_disk_header, member, name, kind)
	H(magic, "magic", HEX),
	H(version, "version", UINT),
	H(kind, "kind", KIND),
	H(cluster, "cluster", UUID),
	H(area, "area", UUID),
	H(index, "index", UINT),
	H(volume, "volume", UINT),
	H(seq, "sequence", U64),
	H(part, "part", UINT),
	H(zero, "header_zero", ZERO),
	{0},
};

static const struct field superblock[] = {
#define S(member, kind) F(rf_disk_superblock, member, #member, kind)
	S(cluster_name, TEXT),    S(device_id, TEXT),
	S(compat, HEX),           S(ro_compat, HEX),
	S(incompat, HEX),         S(area_offset_bytes, U64),
	S(area_strides, U64),     F(rf_disk_superblock, created_unix_s, "created", UNIX_S),
	S(stride_bytes, UINT),    S(sector_bytes, UINT),
	S(nodes, UINT),           S(volumes, UINT),
	S(history, UINT),         S(state_strides, UINT),
	S(disk_index, UINT),      S(disk_count, UINT),
	S(place, PLACE),          S(quorum, QUORUM),
	S(heartbeat_ms, UINT),    S(suspect_ms, UINT),
	S(lease_ms, UINT),        S(grace_ms, UINT),
	S(hold_ms, UINT),         S(isolation_ms, UINT),
	S(slot_timeout_ms, UINT), S(inflight_ms, UINT),
	S(epsilon_ppm, UINT),     S(voters, NODES),
	S(reserved, ZERO),        {0},
};

#define GRANT(n)                                                                     \
	F(rf_disk_slot, grants[n].epoch, "grant" #n "_epoch", U64),                  \
		F(rf_disk_slot, grants[n].round, "grant" #n "_round", UINT),         \
		F(rf_disk_slot, grants[n].volume, "grant" #n "_volume", UINT),       \
		F(rf_disk_slot, grants[n].candidate, "grant" #n "_candidate", UINT), \
		F(rf_disk_slot, grants[n].zero, "grant" #n "_zero", ZERO)

static const struct field slot[] = {
#define L(member, kind) F(rf_disk_slot, member, #member, kind)
	L(incarnation, HEX),
	L(generation, U64),
	L(boot_id, UUID),
	L(host, TEXT),
	L(state, SLOT_STATE),
	L(health, HEALTH),
	F(rf_disk_slot, unix_ns, "written", UNIX_NS),
	L(gate_open, VOLUMES),
	L(leads, VOLUMES),
	L(hears, NODES),
	L(write_us, UINT),
	L(read_us, UINT),
	L(worst_us, UINT),
	L(priority, UINT),
	L(order_seq, U64),
	L(want_epoch, U64),
	L(want_round, UINT),
	L(want_volume, UINT),
	L(zero, ZERO),
	GRANT(0),
	GRANT(1),
	GRANT(2),
	GRANT(3),
	GRANT(4),
	GRANT(5),
	L(reserved, ZERO),
	{0},
};

static const struct field mailbox[] = {
#define M(member, kind) F(rf_disk_mailbox, member, #member, kind)
	M(order, ORDER),     M(from, UINT),
	M(incarnation, HEX), F(rf_disk_mailbox, unix_ns, "written", UNIX_NS),
	M(reserved, ZERO),   {0},
};

static const struct field volume[] = {
#define V(member, kind) F(rf_disk_volume, member, #member, kind)
	V(name, TEXT),      V(device_id, TEXT), V(uuid, UUID), V(data_offset_bytes, U64),
	V(data_bytes, U64), V(reserved, ZERO),  {0},
};

static const struct field epoch[] = {
#define E(member, kind) F(rf_disk_epoch, member, #member, kind)
	E(epoch, U64),
	E(incarnation, HEX),
	E(owner, UINT),
	E(state, EPOCH_STATE),
	F(rf_disk_epoch, unix_ns, "written", UNIX_NS),
	E(reserved, ZERO),
	{0},
};

static const struct field ballot[] = {
#define B(member, kind) F(rf_disk_ballot, member, #member, kind)
	B(instance, U64),    B(mbal, U64),  B(bal, U64),       B(value_incarnation, HEX),
	B(value_node, UINT), B(zero, ZERO), B(reserved, ZERO), {0},
};

static const struct field state[] = {
#define T(member, kind) F(rf_disk_state, member, #member, kind)
	T(epoch, U64),         F(rf_disk_state, version, "state_version", U64),
	T(length_bytes, UINT), T(payload_crc, HEX),
	T(reserved, ZERO),     {0},
};

static const struct field history[] = {
#define Y(member, kind) F(rf_disk_history, member, #member, kind)
	Y(epoch, U64),
	Y(incarnation, HEX),
	Y(owner, UINT),
	Y(cause, CAUSE),
	F(rf_disk_history, start_unix_ns, "start", UNIX_NS),
	F(rf_disk_history, end_unix_ns, "end", UNIX_NS),
	Y(end_cause, CAUSE),
	Y(prev_owner, UINT),
	Y(prev_epoch, U64),
	Y(suspect_us, UINT),
	Y(prevote_us, UINT),
	Y(claim_us, UINT),
	Y(exclude_us, UINT),
	Y(open_us, UINT),
	Y(reconcile_us, UINT),
	Y(excluded_by, WAYS),
	Y(host, TEXT),
	Y(reserved, ZERO),
	{0},
};

const struct field field_crc = {"crc32c", RF_CRC_OFFSET, 4, FIELD_HEX};

const struct field *field_header(void)
{
	return header;
}

const struct field *field_table(enum rf_kind kind)
{
	static const struct field *const tables[] = {
		[RF_KIND_SUPERBLOCK] = superblock, [RF_KIND_SLOT] = slot,
		[RF_KIND_MAILBOX] = mailbox,       [RF_KIND_VOLUME] = volume,
		[RF_KIND_EPOCH] = epoch,           [RF_KIND_BALLOT] = ballot,
		[RF_KIND_STATE] = state,           [RF_KIND_HISTORY] = history,
	};

	return tables[kind];
}
