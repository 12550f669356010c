/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams between the nodes of an area: UDP, multicast or unicast.
 *
 * The network is a hint (PROTOCOL: "may be wrong about anything"): it decides
 * who is suspected and who should campaign, never who may write.
 *
 *   [ rf_wire_envelope | ciphertext of one message | 16 bytes tag ]
 *
 * AEAD: XChaCha20-Poly1305 (IETF) under the cluster key named by key_id. The
 * 24-byte nonce is {incarnation, counter, salt}: never used twice, since an
 * incarnation is a fresh random number and its counter only grows. The whole
 * envelope is additional data. A receiver opens the seal before it believes
 * any byte, then checks: area known, sender another node of it, counter not
 * seen before in this incarnation (64-wide window). The core adds: incarnation
 * equal to the one in the sender's slot on disk, so that a replay from an
 * earlier life is refused by a node that has itself just started.
 *
 * A message is one rf_wire_message header and the body of its kind.
 * All integers little-endian. A datagram of any other size than its kind and
 * counts imply is refused.
 */
#ifndef RINGFENCE_WIRE_H
#define RINGFENCE_WIRE_H

#include <linux/types.h>

#include "limits.h"

#define RF_WIRE_MAGIC 0x31574652u /* "RFW1" */
#define RF_WIRE_TAG_BYTES 16u
#define RF_WIRE_PORT_DEFAULT 7411u
#define RF_WIRE_GROUP4_DEFAULT "239.255.74.11"
#define RF_WIRE_GROUP6_DEFAULT "ff05::7411"

struct rf_wire_envelope {
	__le32 magic;
	__le16 sender; /* node id */
	__u8 key_id;
	__u8 zero;
	__u8 area[RF_UUID_BYTES];
	__le64 incarnation; /* nonce, bytes 0..7 */
	__le64 counter;     /* nonce, bytes 8..15 */
	__le64 salt;        /* nonce, bytes 16..23 */
} __attribute__((packed));

enum rf_wire_kind {
	RF_WIRE_HEARTBEAT = 1, /* I am alive; this I lead */
	RF_WIRE_PREVOTE = 2,   /* would you let me claim epoch e of volume v? */
	RF_WIRE_VOTE = 3,      /* answer to a prevote */
	RF_WIRE_CLOSED = 4,    /* my gate on v is shut and drained; I saw epoch e */
	RF_WIRE_RELEASED = 5,  /* I left epoch e of v; `to` should take it (0: anybody) */
	RF_WIRE_KIND_LAST = 5,
};

struct rf_wire_message {
	__u8 kind;  /* enum rf_wire_kind */
	__u8 count; /* heartbeat: entries that follow; else 0 */
	__le16 zero;
} __attribute__((packed));

/* Role of the sender on a volume, in a heartbeat. */
#define RF_WIRE_ROLE_CLAIMED 1u /* owns the epoch, its gate is not open */
#define RF_WIRE_ROLE_LEADER 2u  /* its gate may be open */

struct rf_wire_entry {
	__le64 epoch;
	__le16 volume;
	__u8 role;
	__u8 zero;
} __attribute__((packed));

struct rf_wire_heartbeat {
	struct rf_wire_message m;
	__le64 slot_seq;     /* last slot sequence known durable on a majority of disks */
	__le64 clock_ns;     /* sender's boot clock, to be echoed */
	__le64 echo_ns;      /* clock_ns last heard from node `echo` */
	__le32 echo_held_us; /* how long ago that was, at sending */
	__le16 echo;         /* node id, 0 = no echo */
	__u8 part, parts;    /* of a heartbeat with more entries than fit in one */
	__le32 health;       /* RF_HEALTH_* */
	__le32 priority;
	__u8 hears[RF_NODES_MAX / 8];   /* as in the slot */
	struct rf_wire_entry entries[]; /* m.count of them */
} __attribute__((packed));

struct rf_wire_prevote {
	struct rf_wire_message m;
	__le64 epoch; /* wanted */
	__le32 round; /* counts this candidate's attempts; echoed in the vote */
	__le16 volume;
	__le16 hears; /* number of nodes the candidate hears, itself included */
	__le32 priority;
} __attribute__((packed));

struct rf_wire_vote {
	struct rf_wire_message m;
	__le64 epoch; /* as asked */
	__le64 known; /* highest epoch the voter knows */
	__le32 round;
	__le16 volume;
	__le16 candidate;
	__u8 granted; /* 0 or 1 */
	__u8 zero[3];
} __attribute__((packed));

struct rf_wire_closed {
	struct rf_wire_message m;
	__le64 epoch; /* the claim that is acknowledged (§7.1: it names e) */
	__le16 volume;
	__le16 zero;
} __attribute__((packed));

struct rf_wire_released {
	struct rf_wire_message m;
	__le64 epoch; /* the one that ended */
	__le16 volume;
	__le16 to;
} __attribute__((packed));

_Static_assert(sizeof(struct rf_wire_envelope) == 48, "envelope");
_Static_assert(sizeof(struct rf_wire_entry) == 12, "entry");
_Static_assert(sizeof(struct rf_wire_heartbeat) == 60, "heartbeat");
_Static_assert(sizeof(struct rf_wire_prevote) == 24, "prevote");
_Static_assert(sizeof(struct rf_wire_vote) == 32, "vote");
_Static_assert(sizeof(struct rf_wire_closed) == 16, "closed");
_Static_assert(sizeof(struct rf_wire_released) == 16, "released");
_Static_assert(sizeof(struct rf_wire_heartbeat) +
			       RF_HEARTBEAT_ENTRIES * sizeof(struct rf_wire_entry) <=
		       RF_MESSAGE_BYTES,
	       "a heartbeat fits in one message");
_Static_assert(sizeof(struct rf_wire_envelope) + RF_MESSAGE_BYTES + RF_WIRE_TAG_BYTES <=
		       RF_DATAGRAM_BYTES,
	       "a message fits in one datagram");

#endif
