/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ringfence repair`: what can be proven of a record that is lost, and from what. */
#ifndef RF_TOOLS_REPAIR_H
#define RF_TOOLS_REPAIR_H

#include "disk.h"

enum repair_verdict {
	REPAIR_NOTHING = 0, /* the record is good */
	REPAIR_WRITE,       /* bytes are known for certain */
	REPAIR_LEAVE,       /* its own writer writes it anew; nothing waits for it */
	REPAIR_REFUSE,      /* nobody can know what was there */
};

struct repair {
	enum repair_verdict verdict;
	unsigned disk;
	struct record record;
	bool while_alive;      /* nobody but format ever writes it */
	const char *otherwise; /* if it may not be written: who writes it anew, or NULL */
	char why[280];
	uint8_t raw[RF_RECORD_BYTES];
};

/* Looks at one record of all disks; out has an entry for each. */
void repair_judge(const struct disk_set *set, struct merge *g, const struct record *r,
		  struct repair out[RF_DISKS_MAX]);

/*
 * The epoch sector of a volume from its ballots (PROTOCOL 5, 6). True: *e is what its
 * owner would write; why says from what. False: nothing is proven, and why says that.
 * sector is what lies there, NULL when no disk has it readable.
 */
bool repair_epoch(const struct disk_set *set, struct merge *g, uint32_t volume,
		  const struct rf_epoch *sector, struct rf_epoch *e, char why[280]);

/* The same for an entry of the history; *p is filled in when it is certain. */
bool repair_history(const struct disk_set *set, struct merge *g, const struct record *r,
		    struct repair *p);

#endif
