/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One device of device-mapper, by its ioctls: without a process for each question, which
 * takes an emulated machine longer than what is asked for.
 */
#ifndef RF_TEST_DM_H
#define RF_TEST_DM_H

#include <linux/dm-ioctl.h>

#define DM_DIRECTORY "/dev/mapper/"

struct dm {
	int control;
	char name[DM_NAME_LEN];
	union {
		struct dm_ioctl io;
		char bytes[4096];
	};
};

/* These return 0 or -errno. A path in DM_DIRECTORY does for a name. */
int dm_open(struct dm *d, const char *name);
void dm_close(struct dm *d);
/* A table of one line, in force at once. */
int dm_load(struct dm *d, const char *table);
/* answer: what the target said, "" if nothing; stands until the next question. */
int dm_message(struct dm *d, const char *text, const char **answer);
int dm_status(struct dm *d, const char **answer);

#endif
