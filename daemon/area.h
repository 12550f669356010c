/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening the quorum disks of an area at start: find, read, believe nothing. */
#ifndef RF_AREA_H
#define RF_AREA_H

#include "config.h"
#include "format/codec.h"

struct rf_area {
	struct rf_super super;         /* of any good disk; disk_index means nothing here */
	int fd[RF_DISKS_MAX];          /* by disk index; -1 = that disk is missing */
	uint64_t offset[RF_DISKS_MAX]; /* bytes: stride 0 on that device */
	uint32_t path[RF_DISKS_MAX];   /* which of the configured ones; UINT32_MAX */
	/* Number in the area of each volume of the configuration that names this
	 * area, by index in rf_config.volume; UINT32_MAX = another area's. */
	uint32_t number[RF_CONFIG_VOLUMES_MAX];
	struct rf_volume_desc desc[RF_CONFIG_VOLUMES_MAX];
};

/*
 * Opens area `index` of the configuration. 0, or -errno and one line in err that
 * names device, what was found there and what was expected: -ENODEV (too few disks
 * can be opened), -EBADMSG (no readable superblock), -EMEDIUMTYPE (another cluster,
 * area or device than expected), -ENOENT (no such volume), -EINVAL (timings, ids).
 */
int rf_area_open(struct rf_area *area, const struct rf_config *config, uint32_t index,
		 char *err, size_t err_bytes);
void rf_area_close(struct rf_area *area);

/*
 * Opens the disk at `path` (an index) of area `index` and checks that it belongs to
 * `area`, which is open or was. 0 with its descriptor, disk index and offset, or
 * -errno and one line in err as above.
 */
int rf_area_find(const struct rf_area *area, const struct rf_config *config, uint32_t index,
		 uint32_t path, int *fd, uint32_t *disk, uint64_t *offset, char *err,
		 size_t err_bytes);

#endif
