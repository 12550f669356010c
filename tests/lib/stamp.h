/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writer puts into every block, and what it remembers of each write.
 * The checker reads both. Native byte order: one machine writes and checks.
 */
#ifndef RF_TEST_STAMP_H
#define RF_TEST_STAMP_H

#include <stdint.h>

#include "ringfence/claim.h"

#define STAMP_MAGIC 0x706d617473667231ull
#define BLOCK_BYTES 4096u

struct stamp {
	uint64_t magic;
	uint64_t epoch, incarnation, seq;
	uint64_t offset; /* bytes, on the export */
	uint32_t node;
	uint32_t crc; /* CRC32C of all before it */
};

static inline uint32_t stamp_crc(const struct stamp *s)
{
	return rf_crc32c(s, offsetof(struct stamp, crc));
}

/* What became of a write. */
enum outcome {
	WROTE = 1,       /* acknowledged */
	REFUSED = 2,     /* the target said no: it must not be on the disk */
	UNKNOWN = 3,     /* submitted, no answer: it may or may not be there */
	TURNED_AWAY = 4, /* a connection, not a write: handshake refused */
};

/* Appended twice for a write: as UNKNOWN before it is submitted, then its outcome. */
struct entry {
	uint64_t begun_ns, ended_ns; /* CLOCK_BOOTTIME */
	uint64_t epoch, seq, offset;
	uint32_t node, outcome;
};

#endif
