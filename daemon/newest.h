/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest state of a volume among the halves of all nodes on some disks: for whoever
 * reads without leading, daemon and tool. What a leader loads is the core's (commit.c).
 *
 * What a leader acknowledged is on a majority of the disks. What is found here may be
 * newer than that: written, and not acknowledged yet, or never.
 */
#ifndef RF_NEWEST_H
#define RF_NEWEST_H

#include "format/codec.h"

struct rf_newest {
	uint64_t epoch, version; /* 0, 0: nothing was ever committed */
	uint32_t node, bytes;
	uint8_t *payload; /* the caller's, of rf_geo_payload_bytes() */
};

/* half: one half as read, rf_geo_half_bytes() long. Torn ones count for nothing. */
void rf_newest_half(struct rf_newest *newest, const struct rf_super *super, uint32_t volume,
		    uint32_t node, uint32_t half, const uint8_t *bytes);
/* All halves of all nodes, as they lie behind each other on a disk. */
void rf_newest_disk(struct rf_newest *newest, const struct rf_super *super, uint32_t volume,
		    const uint8_t *states);

#endif
