/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the history ring of a volume tells, in order; for `history` and `timeline`. */
#ifndef RF_TOOLS_PAST_H
#define RF_TOOLS_PAST_H

#include "disk.h"

struct past {
	uint32_t volume;
	char name[RF_NAME_BYTES]; /* "volume N" when its record is unreadable */
	unsigned count;           /* entries, oldest epoch first */
	struct rf_history *entry;
	unsigned unreadable; /* records of the ring that no disk has readable */
	uint64_t lost;       /* epochs between two entries that are in neither */
	bool epoch_good;
	struct rf_epoch epoch;
};

struct past_set {
	unsigned count;
	struct past *list;
	/* The newest wall clock anywhere on the disks: until when the past is known. */
	uint64_t seen_ns;
	uint32_t nodes;
	char host[RF_NODES_MAX + 1][RF_HOST_BYTES]; /* by node id, as its slot says */
};

/* All volumes, or the one named (by name or number). 0, or RF_EXIT_NO_SUCH; says why. */
int past_read(const struct disk_set *set, const char *volume, struct past_set *out);
void past_free(struct past_set *p);
/* Keeps the newest n of each volume. */
void past_keep(struct past_set *p, uint32_t n);

/* Phases of one change of leader, in order. */
enum past_phase {
	PHASE_SUSPECT = 0, /* the old one's silence before somebody campaigned */
	PHASE_PREVOTE,
	PHASE_CLAIM,
	PHASE_EXCLUDE,
	PHASE_OPEN,
	PHASE_RECONCILE, /* load the state, and the hook */
	PHASES,
};
const char *past_phase_name(enum past_phase p);
uint32_t past_phase_us(const struct rf_history *h, enum past_phase p);
/* From the suspicion to active. */
uint64_t past_change_us(const struct rf_history *h);
/* When it ended: by its own word unless that came late, else when its successor's campaign
 * began, else 0. */
uint64_t past_end_ns(const struct past *p, unsigned n);
const char *past_ended(const struct past *p, unsigned n);
/* The newest entry that its owner has not ended, while the epoch sector says it holds. */
bool past_leads(const struct past *p, unsigned n);
#endif
