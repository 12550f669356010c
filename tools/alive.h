/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is anybody using this area? From the disk alone: two readings of all slots. */
#ifndef RF_TOOLS_ALIVE_H
#define RF_TOOLS_ALIVE_H

#include "disk.h"

enum life {
	LIFE_FREE = 0,   /* cleanly closed, or never used */
	LIFE_ALIVE,      /* wrote its slot between the readings */
	LIFE_SILENT,     /* joined and silent: crashed, frozen, or cut off from the disk */
	LIFE_UNREADABLE, /* may be anything */
};

struct alive {
	uint32_t nodes;
	enum life life[RF_NODES_MAX + 1];
	char host[RF_NODES_MAX + 1][RF_HOST_BYTES];
	uint32_t watched_ms;
	unsigned count[4]; /* by life */
};

/* Watches for four heartbeats, or until somebody moves. */
void alive_watch(const struct disk_set *set, struct alive *out);
/* "node 2 (san-b)" and so on, of that life. */
void alive_words(const struct alive *a, enum life life, char *text, size_t bytes);

#endif
