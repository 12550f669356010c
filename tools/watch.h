/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ringfence watch`: what moves on the disks, and the terminal it is shown on. */
#ifndef RF_TOOLS_WATCH_H
#define RF_TOOLS_WATCH_H

#include <pthread.h>

#include "disk.h"

struct json_object;

/* One node, as far as its slot tells over several readings. */
struct watch_node {
	bool good, moved; /* readable; its sequence has changed since the first reading */
	const char *bad;
	struct rf_slot slot;
	uint32_t order;
	bool order_good;
	uint64_t seen_ns; /* boot clock after the reading that showed this sequence first */
	uint64_t beat_ns; /* between the last two changes, 0 = unknown */
};

struct watch_volume {
	char name[RF_NAME_BYTES];
	bool good;
	struct rf_epoch epoch;
	uint64_t highest;     /* instance in any ballot */
	uint32_t bidder;      /* who has it */
	bool voted;           /* some ballot of it has a value */
	uint32_t unreadable;  /* ballots */
	uint64_t changed_ns;  /* boot clock; 0 = never while we looked */
	uint64_t fingerprint; /* of the region, to see that it changed */
};

/* All that is known. One thread reads the disks and may hang in them; who shows it takes
 * the lock for a copy, and never waits for a disk. */
struct watch {
	pthread_mutex_t lock;
	const struct disk_set *set;
	uint64_t readings, began_ns, read_ns; /* of the last one: when, boot clock */
	uint32_t took_us, worst_us;           /* one reading of everything */
	int busy;                             /* a reading is on its way, since busy_ns */
	uint64_t busy_ns;
	struct watch_node node[RF_NODES_MAX + 1];
	struct watch_volume volume[RF_VOLUMES_MAX];
};

enum watch_sort { SORT_NODE = 0, SORT_AGE, SORT_WORST, SORT_HOST, SORT_LAST = SORT_HOST };

/* One reading of everything; takes the lock only to publish it. */
void watch_read(struct watch *w);
/* The same as a document; w is a copy or locked. */
struct json_object *watch_doc(const struct watch *w, enum watch_sort sort, bool reverse);
/* That document on stdout, as tables. */
void watch_print(struct json_object *doc);

/* ---- the terminal ---- */

/* Alternate screen, keys one by one; put back at any exit but SIGKILL. 0 or -errno. */
int screen_begin(void);
void screen_end(void);
/* Next key within ms; 0: none. Arrows come as 'k' and 'j'. -1: the terminal is gone. */
int screen_key(uint32_t ms);
/* Shows text from its line `top`, cropped. Returns the number of lines that fit. */
unsigned screen_show(const char *text, unsigned top);

#endif
