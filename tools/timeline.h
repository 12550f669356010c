/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ringfence timeline`: who led when, as a picture for people. */
#ifndef RF_TOOLS_TIMELINE_H
#define RF_TOOLS_TIMELINE_H

#include <stdio.h>

#include "past.h"

/* One stretch of wall time of one volume; owner 0: nobody led. */
struct stretch {
	uint64_t from_ns, to_ns;
	uint64_t epoch;
	uint32_t owner;
	bool goes_on; /* nothing on the disk says that it ended */
};

struct timeline {
	const struct past *past;
	const struct past_set *all;
	uint64_t from_ns, to_ns; /* to > from */
	unsigned count;
	struct stretch *list;
	unsigned lanes;
	uint32_t lane[RF_NODES_MAX]; /* node ids that led or have a slot in use */
	uint64_t longest_us;         /* of the changes shown */
	uint64_t median_us;
};

void timeline_make(struct timeline *t, const struct past_set *all, const struct past *p);
void timeline_free(struct timeline *t);
/* Ticks of the axis: a step for about `count` of them, and the first one. */
uint64_t timeline_step_ns(const struct timeline *t, unsigned count);
/* For an axis of that step: HH:MM, HH:MM:SS or a date. */
void timeline_tick_text(char text[32], uint64_t unix_ns, uint64_t step_ns);
/* "41 ms", "1.88 s" */
void timeline_us_text(char text[32], uint64_t us);

/* All volumes in one picture. 0 or -errno. */
int timeline_svg(FILE *f, const struct disk_set *set, const struct past_set *all);

#endif
