/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ringfence verify`: findings, and the checks that make them. */
#ifndef RF_TOOLS_VERIFY_H
#define RF_TOOLS_VERIFY_H

#include "disk.h"

enum severity {
	SEV_NOTE = 0, /* nothing is wrong, but worth knowing: does not count */
	SEV_ALIEN,    /* another area, another device than it was made for */
	SEV_DAMAGE,
	SEV_IO, /* the device itself could not be read there */
};

struct finding {
	enum severity severity;
	int disk;              /* index in the set, -1 = of none in it */
	const char *path;      /* of the device; NULL = about the area as a whole */
	uint64_t offset_bytes; /* on the disk; UINT64_MAX = none */
	char record[RECORD_NAME_BYTES];
	char what[240];
	const char *todo;
};

#define FINDINGS_MAX 4096u /* more are counted, not kept */

struct findings {
	unsigned count;
	uint64_t total[4]; /* by severity */
	struct finding *list;
};

/* All records of all disks, and what they say together. */
void verify_pass(const struct disk_set *set, struct findings *out);

/* Used by the checks. r may be NULL, disk -1. todo is a constant. */
__attribute__((format(printf, 6, 7))) void finding_add(struct findings *out,
						       const struct disk_set *set,
						       enum severity severity, int disk,
						       const struct record *r, const char *fmt,
						       ...);
void finding_todo(struct findings *out, const char *todo); /* of the last one */

void verify_disks(const struct disk_set *set, struct findings *out);
void verify_records(const struct disk_set *set, struct findings *out);
void verify_volumes(const struct disk_set *set, struct findings *out);

#endif
