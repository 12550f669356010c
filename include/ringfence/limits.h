/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every bound of ringfence in one place, with the relations between them.
 *
 * These are the limits of the format and of the wire. What one area really
 * has (nodes, volumes, stride, timings) is written in its superblock.
 */
#ifndef RINGFENCE_LIMITS_H
#define RINGFENCE_LIMITS_H

#define RF_NODES_MAX 128u   /* node ids are 1..RF_NODES_MAX */
#define RF_VOLUMES_MAX 256u /* volumes of one area, numbered from 0 */
#define RF_DISKS_MAX 5u     /* quorum disks of one area: 1, 3 or 5 */
#define RF_AREAS_MAX 16u    /* areas one daemon takes part in */

#define RF_RECORD_BYTES 512u /* every record fits in one logical sector */
#define RF_STRIDE_MIN 4096u  /* bytes between records */
#define RF_STRIDE_MAX 65536u
#define RF_STATE_PAYLOAD_MIN 4096u /* bytes of one committed state blob */
#define RF_STATE_STRIDES_MAX 64u   /* strides of one half of a state record */

#define RF_NAME_BYTES 64u       /* cluster and volume names, NUL included */
#define RF_HOST_BYTES 64u       /* host name, NUL included, may be cut */
#define RF_DEVICE_ID_BYTES 128u /* WWID or serial, NUL included */
#define RF_UUID_BYTES 16u
#define RF_HISTORY_MIN 8u
#define RF_HISTORY_MAX 1024u
#define RF_SLOT_GRANTS 6u /* prevotes a slot can answer at once */

#define RF_DATAGRAM_BYTES 1400u  /* a sealed datagram never exceeds this */
#define RF_MESSAGE_BYTES 1280u   /* its plain text never exceeds this */
#define RF_HEARTBEAT_ENTRIES 64u /* volumes in one heartbeat datagram */
#define RF_KEYS_MAX 8u           /* keys accepted at the same time */

/* Epochs, sequences and ballot numbers of a record count up to this. More is nonsense, as
 * from a disk that lies: unreadable, and no sum of ours overflows. */
#define RF_COUNT_MAX (1ull << 62)

/* A ballot number is (round << RF_BALLOT_NODE_BITS) | node: unique to a node. */
#define RF_BALLOT_NODE_BITS 8u

#if RF_NODES_MAX >= (1u << RF_BALLOT_NODE_BITS)
#error "node ids must fit in the low bits of a ballot number"
#endif
#if RF_VOLUMES_MAX % 8 || RF_NODES_MAX % 8
#error "bitmaps of nodes and volumes are whole bytes"
#endif
#if RF_MESSAGE_BYTES + 96 > RF_DATAGRAM_BYTES
#error "a sealed message must fit in one datagram"
#endif

#endif
