/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders on the quorum disks, written by the tool itself: no daemon is needed.
 *
 * An order counts on a disk only when the durable write returned and the record
 * read back is the order. Whatever failed is named: disk, record and why.
 */
#ifndef RF_TOOLS_MAILBOX_H
#define RF_TOOLS_MAILBOX_H

#include "disk.h"

/*
 * Opens the disks of one area for writing. A disk of a set that cannot be opened is
 * said and left out. Exit code: 0 = a majority of the area's disks is open; else why.
 */
int mailbox_open(struct disk_set *set, unsigned count, const char *const paths[]);
unsigned mailbox_majority(const struct disk_set *set);

/* What stands in the mailbox of a node, over all disks. */
struct mailbox_state {
	unsigned readable;   /* copies */
	unsigned unreadable; /* copies that are damaged or cannot be read */
	uint64_t seq;        /* highest */
	unsigned stops;      /* copies that hold a stop order ... */
	struct rf_mailbox stop[RF_DISKS_MAX];
};
void mailbox_read(const struct disk_set *set, uint32_t node, struct mailbox_state *out);

/* On how many disks the order stands afterwards. */
unsigned mailbox_write(const struct disk_set *set, uint32_t node, const struct rf_mailbox *m);
/* On how many disks there is this order now, or one at least as strong for that life. */
unsigned mailbox_stands(const struct disk_set *set, uint32_t node, const struct rf_mailbox *m);

/* Newest slot of a node among the disks. false: no majority of copies is readable. */
bool mailbox_slot(const struct disk_set *set, uint32_t node, struct rf_slot *slot);

/* For the watcher of a worker that may hang in the kernel: what is being done now. */
extern void (*mailbox_doing)(const char *path, const char *what);

#endif
