/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a leader keeps, as it lies on the quorum disks: no daemon needed. */
#ifndef RF_TOOLS_KEEP_H
#define RF_TOOLS_KEEP_H

#include "blob.h"
#include "disk.h"
#include "newest.h"
#include "tool.h"

struct keep {
	struct rf_newest newest; /* node 0: nothing was ever committed */
	struct rf_blob blob;     /* points into it */
};

/* The quorum disks named with --device. As disk_set_open(). */
int keep_open(struct disk_set *set, const struct opt_list *devices);
/*
 * The newest state of a volume on the open disks. It may be one that its leader has
 * not acknowledged. Exit code; says why: 105 no such volume, 65 not understood.
 */
int keep_load(struct keep *keep, const struct disk_set *set, const char *volume);
void keep_free(struct keep *keep);

#endif
