/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ringfence format` in three steps: refuse, plan, write. */
#ifndef RF_TOOLS_FORMAT_H
#define RF_TOOLS_FORMAT_H

#include "disk.h"

struct plan {
	unsigned disks;
	struct disk disk[RF_DISKS_MAX];
	/* Of disk 0; the others differ in disk_index, device_id, area_offset_bytes. */
	struct rf_super super;
	uint64_t offset_bytes[RF_DISKS_MAX];
	uint64_t data_offset_bytes, data_bytes; /* of volume 0 when the area is on it */
	char names[RF_VOLUMES_MAX][RF_NAME_BYTES];
	uint8_t uuids[RF_VOLUMES_MAX][RF_UUID_BYTES];
	uint32_t read_us, write_us; /* worst measured; write 0 = not measured */
	bool in_use[RF_DISKS_MAX];  /* somebody holds it exclusively */
	bool force, dry_run;
};

/* All reasons not to write on this device, each printed. 0, RF_EXIT_UNSAFE, or
 * what kept it from finding out. in_use is set when an exclusive open failed. */
int format_refuse(const struct disk *d, bool force, bool *in_use);
/* Do nodes write slots of the area that is there? Watches for some heartbeats. */
int format_alive(const struct disk *d);

/* Geometry, offsets, fit. 0 or an exit code; says why. */
int format_layout(struct plan *p);
/* Measures reads, then checks every inequality. 0 or an exit code; says why. */
int format_timing(struct plan *p);
int format_timing_judge(const struct rf_timing *t, uint32_t worst_us);
void format_show(const struct plan *p);

/* Writes everything, superblock last, then reads all of it back. */
int format_write(struct plan *p);

#endif
