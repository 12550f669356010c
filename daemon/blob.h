/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a committed state (ringfence/blob.h): text <-> bytes, every bound checked. */
#ifndef RF_BLOB_H
#define RF_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/blob.h"

/* What a whole list of work and its frame take of a payload. */
#define RF_BLOB_OVERHEAD_BYTES \
	(sizeof(struct rf_disk_blob) + RF_WORK_MAX * sizeof(struct rf_disk_work))
#define RF_BLOB_MAX (RF_BLOB_OVERHEAD_BYTES + RF_BLOB_USER_MAX)

struct rf_work {
	uint64_t epoch, unix_ns;
	uint32_t node, times;
	char id[RF_WORK_ID_BYTES], text[RF_WORK_TEXT_BYTES];
};

struct rf_blob {
	const uint8_t *user; /* user_bytes, inside what was decoded */
	uint32_t user_bytes;
	uint64_t repeated;
	uint32_t works;
	struct rf_work work[RF_WORK_MAX]; /* in the order begun */
};

/* Longest user's blob of an area with so much room in a payload. */
uint32_t rf_blob_user_max(uint32_t payload_bytes);

/* 0; -EBADMSG: not such a payload; -EPROTONOSUPPORT: of a version not known here.
 * The blob points into the payload. */
int rf_blob_decode(struct rf_blob *blob, const void *payload, size_t len);
/* Bytes written, 0 when there is no room. user must not overlap out. */
size_t rf_blob_encode(void *out, size_t room, const struct rf_blob *blob);

/* NULL, or what is wrong with a field of `bytes` bytes. */
const char *rf_work_id_wrong(const char *id, size_t bytes);
const char *rf_work_text_wrong(const char *text, size_t bytes);
struct rf_work *rf_work_find(struct rf_blob *blob, const char *id);

enum rf_work_begun {
	RF_WORK_NEW,
	RF_WORK_AGAIN,    /* begun before in this epoch: nothing has changed */
	RF_WORK_REPEATED, /* a former leader left it unfinished; counted */
	RF_WORK_FULL,
};
/* Both fields must be good. An empty text keeps the one that is there. */
enum rf_work_begun rf_work_begin(struct rf_blob *blob, const struct rf_work *work);
/* False: there is no such work. */
bool rf_work_end(struct rf_blob *blob, const char *id);

/* "ID EPOCH NODE TIMES UNIX-SECONDS TEXT", with tabs, a line an item. The length. */
size_t rf_work_lines(const struct rf_blob *blob, char *out, size_t bytes);
#define RF_WORK_LINES_BYTES (RF_WORK_MAX * (RF_WORK_ID_BYTES + RF_WORK_TEXT_BYTES + 80))

#endif
