/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The quorum area: what lies on the disk.
 *
 * An area is one consistent register set on a block device: in the reserved
 * head or tail of a protected volume, or on a device of its own. With three or
 * five quorum disks each disk carries the whole area and a majority counts.
 *
 * The area is an array of strides. A stride is the larger of the logical and
 * physical sector size and never below 4096 bytes, so that no two writers
 * share a physical sector. Each stride holds one record in its first
 * RF_RECORD_BYTES bytes; the rest of the stride is never read (but see state).
 * An I/O on a record is one logical sector.
 *
 *   stride                    record            written by
 *   0                         superblock        format only
 *   1 + 2(i-1)                slot of node i    node i only
 *   2 + 2(i-1)                mailbox of i      anybody (orders to i)
 *   D + v                     volume v          format only
 *   C + v(N+1)                epoch sector of v the owner of the epoch it names
 *   C + v(N+1) + i            ballot of i on v  node i only
 *   H + vK + (e mod K)        history of v      the owner of epoch e
 *   T + (vN + i-1)2P          state of i on v   node i only, two halves of P strides
 *   E - 1                     superblock copy   format only
 *
 *   D = 1 + 2N   C = D + V   H = C + V(N+1)   T = H + VK   E = T + 2PNV + 1
 *
 * N nodes, V volumes, K history entries and P come from the superblock. Slot
 * and mailbox of a node are neighbours: one read fetches both. The epoch
 * sector and the ballots of a volume are neighbours: the "claim region", one
 * read fetches all that the superseded test needs (claim.h).
 *
 * All integers are little-endian. A record is zeroed before it is encoded.
 * It starts with struct rf_disk_header and ends with CRC32C (Castagnoli,
 * reflected, init and final xor all ones) over the 508 bytes before it.
 *
 * A record that fails any check is *unreadable*. That is never the same as
 * empty: `format` writes a valid record everywhere, so all-zero bytes are
 * unreadable too. Nobody but its writer ever overwrites an unreadable record.
 *
 * Writers. One writer per record. The sequence number grows by at least one
 * with each write of a record; when copies on several disks differ, the
 * highest sequence counts. (Epoch sectors have one writer per epoch: there
 * the highest epoch counts, then the sequence.)
 */
#ifndef RINGFENCE_FORMAT_H
#define RINGFENCE_FORMAT_H

#include <linux/types.h>

#include "limits.h"

#define RF_DISK_MAGIC 0x434e4652u /* "RFNC" */
#define RF_FORMAT_VERSION 1u
#define RF_CRC_OFFSET (RF_RECORD_BYTES - 4u)

/* Record kinds. */
enum rf_kind {
	RF_KIND_SUPERBLOCK = 1,
	RF_KIND_SLOT = 2,
	RF_KIND_MAILBOX = 3,
	RF_KIND_VOLUME = 4,
	RF_KIND_EPOCH = 5,
	RF_KIND_BALLOT = 6,
	RF_KIND_STATE = 7,
	RF_KIND_HISTORY = 8,
	RF_KIND_LAST = 8,
};

/*
 * Code words. Where a bit flip or a misread could open a gate or stop a node
 * the value is a random word, at least 14 bits away from every other one, from
 * all zeros and from all ones (asserted in the codec).
 */
#define RF_SLOT_FREE 0x59c3a61du      /* cleanly closed, or never used */
#define RF_SLOT_JOINED 0x892f902bu    /* a life of this node is or was using it */
#define RF_EPOCH_NONE 0x3d95e26bu     /* no epoch was ever owned */
#define RF_EPOCH_CLAIMED 0xc8764bb5u  /* owned; its gate may be open */
#define RF_EPOCH_RELEASED 0x96ab1c72u /* owner drained and left: no wait needed */
#define RF_ORDER_NONE 0x6e1bd347u
#define RF_ORDER_STOP 0xa3f82c99u /* close all gates, answer, stay closed */

/* Quorum rules (superblock). */
#define RF_QUORUM_MAJORITY 1u  /* more than half of the voters */
#define RF_QUORUM_SURVIVORS 2u /* more than half of the voters whose slots beat */

/* Where the area lies on its device (superblock). */
#define RF_PLACE_START 1u /* head of a volume, data behind it */
#define RF_PLACE_END 2u   /* tail of a volume, data before it */
#define RF_PLACE_WHOLE 3u /* a device of its own */

struct rf_disk_header {
	__le32 magic;
	__le16 version;
	__le16 kind;
	__u8 cluster[RF_UUID_BYTES];
	__u8 area[RF_UUID_BYTES];
	__le32 index;  /* node id; 0 in superblock, volume, epoch; ring index in history */
	__le32 volume; /* volume number; 0 where there is none */
	__le64 seq;
	__le32 part; /* copy 0/1 of a superblock, half 0/1 of a state; else 0 */
	__le32 zero;
} __attribute__((packed));

/*
 * Superblock. Nodes obey these timings, not their configuration.
 * Feature words: an unknown bit in incompat refuses the area, in ro_compat
 * allows only reading, in compat is ignored.
 */
struct rf_disk_superblock {
	struct rf_disk_header h;
	char cluster_name[RF_NAME_BYTES];
	char device_id[RF_DEVICE_ID_BYTES]; /* of the disk this copy was made for, or "" */
	__le64 compat, ro_compat, incompat;
	__le64 area_offset_bytes; /* of stride 0 on the device */
	__le64 area_strides;
	__le64 created_unix_s;
	__le32 stride_bytes;
	__le32 sector_bytes; /* one record I/O: the logical sector at format time */
	__le16 nodes, volumes;
	__le16 history;       /* K */
	__le16 state_strides; /* P */
	__u8 disk_index, disk_count;
	__u8 place;  /* RF_PLACE_* */
	__u8 quorum; /* RF_QUORUM_* */
	__le32 heartbeat_ms, suspect_ms, lease_ms, grace_ms;
	__le32 hold_ms, isolation_ms, slot_timeout_ms, inflight_ms;
	__le32 epsilon_ppm;
	__u8 voters[RF_NODES_MAX / 8];
	__u8 reserved[132];
	__le32 crc;
} __attribute__((packed));

/* Slot: what one node says of itself. */
struct rf_disk_grant {
	__le64 epoch;
	__le32 round;
	__le16 volume;
	__u8 candidate; /* node id granted, 0 = unused entry */
	__u8 zero;
} __attribute__((packed));

struct rf_disk_slot {
	struct rf_disk_header h;
	__le64 incarnation;
	__le64 generation; /* +1 per join */
	__u8 boot_id[RF_UUID_BYTES];
	char host[RF_HOST_BYTES];
	__le32 state;                       /* RF_SLOT_* */
	__le32 health;                      /* RF_HEALTH_* */
	__le64 unix_ns;                     /* wall clock at the write, information only */
	__u8 gate_open[RF_VOLUMES_MAX / 8]; /* bit v: my gate on v may be open */
	__u8 leads[RF_VOLUMES_MAX / 8];     /* bit v: I claim or lead v */
	__u8 hears[RF_NODES_MAX / 8];       /* bit i-1: I hear node i on the network */
	__le32 write_us, read_us, worst_us; /* last and worst I/O latencies */
	__le32 priority;
	__le64 order_seq; /* sequence of the last order obeyed */
	/* A prevote asked through the disk; want_round 0 = none. */
	__le64 want_epoch;
	__le32 want_round;
	__le16 want_volume;
	__le16 zero;
	struct rf_disk_grant grants[RF_SLOT_GRANTS];
	__u8 reserved[116];
	__le32 crc;
} __attribute__((packed));

/* Health bits (slot, heartbeat). */
#define RF_HEALTH_PAUSED 0x1u /* operator: does not campaign */
#define RF_HEALTH_BARRED 0x2u /* user's health check failed: does not campaign */
#define RF_HEALTH_WRITE_FAILING 0x4u
#define RF_HEALTH_READ_FAILING 0x8u
#define RF_HEALTH_SLOW_DISK 0x10u /* a latency above a third of the lease was seen */
#define RF_HEALTH_STOPPED 0x20u   /* obeyed a stop order */
#define RF_HEALTH_UNDRAINED 0x40u /* a gate did not drain */

/* Mailbox: an order to one life of one node. */
struct rf_disk_mailbox {
	struct rf_disk_header h;
	__le32 order;       /* RF_ORDER_* */
	__le32 from;        /* node that wrote it, 0 = operator's tool */
	__le64 incarnation; /* the life that is ordered */
	__le64 unix_ns;
	__u8 reserved[420];
	__le32 crc;
} __attribute__((packed));

/* Volume descriptor. */
struct rf_disk_volume {
	struct rf_disk_header h;
	char name[RF_NAME_BYTES];
	char device_id[RF_DEVICE_ID_BYTES];
	__u8 uuid[RF_UUID_BYTES];
	__le64 data_offset_bytes; /* on the volume's device */
	__le64 data_bytes;        /* 0 = to the end */
	__u8 reserved[220];
	__le32 crc;
} __attribute__((packed));

/* Epoch sector. */
struct rf_disk_epoch {
	struct rf_disk_header h;
	__le64 epoch;
	__le64 incarnation;
	__le32 owner; /* node id, 0 with RF_EPOCH_NONE */
	__le32 state; /* RF_EPOCH_* */
	__le64 unix_ns;
	__u8 reserved[412];
	__le32 crc;
} __attribute__((packed));

/* Ballot: Disk Paxos block of one node for one instance (= epoch). */
struct rf_disk_ballot {
	struct rf_disk_header h;
	__le64 instance; /* 0 = never voted */
	__le64 mbal;     /* highest ballot entered */
	__le64 bal;      /* ballot of the value, 0 = none */
	__le64 value_incarnation;
	__le32 value_node;
	__le32 zero;
	__u8 reserved[404];
	__le32 crc;
} __attribute__((packed));

/*
 * State: the blob the leader committed. Two halves, written in turn, each P
 * strides. The payload starts right behind the record (byte 512 of the half),
 * so one write carries both; payload_crc tells a torn one. The half with the
 * highest (epoch, version) of all nodes counts.
 */
struct rf_disk_state {
	struct rf_disk_header h;
	__le64 epoch; /* 0 = none */
	__le64 version;
	__le32 length_bytes;
	__le32 payload_crc; /* CRC32C over length_bytes */
	__u8 reserved[420];
	__le32 crc;
} __attribute__((packed));

/* History ring entry, at index epoch mod K. Durations in microseconds. */
struct rf_disk_history {
	struct rf_disk_header h;
	__le64 epoch; /* 0 = unused */
	__le64 incarnation;
	__le32 owner;
	__le32 cause;         /* RF_CAUSE_* */
	__le64 start_unix_ns; /* active since */
	__le64 end_unix_ns;   /* 0 = not ended by its owner */
	__le32 end_cause;     /* RF_CAUSE_* */
	__le32 prev_owner;
	__le64 prev_epoch;
	__le32 suspect_us; /* silence of the old leader when suspected */
	__le32 prevote_us, claim_us, exclude_us, open_us, reconcile_us;
	__le32 excluded_by; /* RF_WAY_* bits that were needed */
	char host[RF_HOST_BYTES];
	__u8 reserved[296];
	__le32 crc;
} __attribute__((packed));

/* Why a leadership began or ended. */
enum rf_cause {
	RF_CAUSE_NONE = 0,
	RF_CAUSE_FIRST = 1,      /* nobody led before */
	RF_CAUSE_SILENCE = 2,    /* leader suspected: network and slot silent */
	RF_CAUSE_RELEASED = 3,   /* predecessor had released */
	RF_CAUSE_HANDOVER = 4,   /* predecessor handed over to me */
	RF_CAUSE_RESIGNED = 5,   /* operator's resign */
	RF_CAUSE_SUPERSEDED = 6, /* a later epoch was seen */
	RF_CAUSE_EXPIRED = 7,    /* lease ran out and the hold time after it */
	RF_CAUSE_ORDERED = 8,    /* stop order in the mailbox */
	RF_CAUSE_ISOLATED = 9,   /* hears too few, a larger side exists */
	RF_CAUSE_RECONCILE = 10, /* reconcile hook refused */
	RF_CAUSE_GATE = 11,      /* gate could not be opened or shut by itself */
	RF_CAUSE_SHUTDOWN = 12,  /* daemon ended */
	RF_CAUSE_STOLEN = 13,    /* another life uses my slot */
	RF_CAUSE_WATCHDOG = 14,  /* did not drain: its host was reset; said by the next life */
	RF_CAUSE_LAST = 14,
};

/* Ways of exclusion (PROTOCOL §7), as bits. */
#define RF_WAY_CLOSED 0x1u       /* its slot said closed */
#define RF_WAY_ACKNOWLEDGED 0x2u /* it answered after revoke and drain */
#define RF_WAY_ABORTED 0x4u      /* target-side fence confirmed */
#define RF_WAY_EXPIRED 0x8u      /* lease, drift and grace have passed */

#ifndef RF_STATIC_ASSERT
#define RF_STATIC_ASSERT(x) _Static_assert(x, #x)
#endif
#define RF_RECORD_ASSERT(t)                                    \
	RF_STATIC_ASSERT(sizeof(struct t) == RF_RECORD_BYTES); \
	RF_STATIC_ASSERT(__builtin_offsetof(struct t, crc) == RF_CRC_OFFSET)

RF_STATIC_ASSERT(sizeof(struct rf_disk_header) == 64);
RF_RECORD_ASSERT(rf_disk_superblock);
RF_RECORD_ASSERT(rf_disk_slot);
RF_RECORD_ASSERT(rf_disk_mailbox);
RF_RECORD_ASSERT(rf_disk_volume);
RF_RECORD_ASSERT(rf_disk_epoch);
RF_RECORD_ASSERT(rf_disk_ballot);
RF_RECORD_ASSERT(rf_disk_state);
RF_RECORD_ASSERT(rf_disk_history);

#endif
