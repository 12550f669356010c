/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the committed state of a leader (struct rf_disk_state) carries: the user's
 * blob, and the list of work that was begun and not yet ended.
 *
 *     0                32                              32 + n * 160
 *     | frame          | n items of work               | the user's bytes ... |
 *
 * The protocol knows nothing of this: for it the payload is one string of bytes,
 * replaced as a whole, covered by the checksum of its record. A payload of no
 * bytes is an empty blob and no work. Readers refuse a version they do not know
 * and never write over it: what they would lose may be somebody's work.
 */
#ifndef RINGFENCE_BLOB_H
#define RINGFENCE_BLOB_H

#include <linux/types.h>

#define RF_BLOB_MAGIC "RFstate\n"
#define RF_BLOB_VERSION 1u

#define RF_BLOB_USER_MAX 65536u /* bytes of the user, if the area has room for them */
#define RF_WORK_MAX 16u         /* unfinished items of one volume */
#define RF_WORK_ID_BYTES 40u    /* NUL included: letters, digits, . _ : - */
#define RF_WORK_TEXT_BYTES 96u  /* NUL included: one line without control characters */

struct rf_disk_blob {
	__u8 magic[8]; /* RF_BLOB_MAGIC */
	__le16 version;
	__le16 items;      /* of work, at most RF_WORK_MAX */
	__le32 user_bytes; /* behind the items */
	__le64 repeated;   /* since format: work begun again that a former leader left */
	__u8 reserved[8];  /* 0 */
} __attribute__((packed));

struct rf_disk_work {
	__le64 epoch;   /* of the leadership that began it last */
	__le64 unix_ns; /* when */
	__le32 node;    /* that did */
	__le32 times;   /* it was begun: 1, or more when leaders died over it */
	__u8 id[RF_WORK_ID_BYTES];
	__u8 text[RF_WORK_TEXT_BYTES];
} __attribute__((packed));

_Static_assert(sizeof(struct rf_disk_blob) == 32, "frame");
_Static_assert(sizeof(struct rf_disk_work) == 160, "work");

#endif
