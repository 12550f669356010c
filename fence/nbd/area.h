/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quorum area as the target sees it: its disks, its geometry, its bytes.
 * Everything read is hostile until checked; nothing is cached but geometry.
 */
#ifndef RF_NBD_AREA_H
#define RF_NBD_AREA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/claim.h"

struct rf_area_disk {
	const char *path;
	pthread_mutex_t open_lock;
	int fd; /* -1: not (yet) usable; tried again at each use */
	bool read_only;
	uint64_t offset_bytes; /* of stride 0 */
	uint32_t index;        /* disk_index of its superblock */
	atomic_uint reading;   /* reads in flight: a hung disk collects no more */
};

struct rf_area {
	bool known; /* geometry was read from some disk */
	struct rf_area_id id;
	uint32_t sector_bytes, volumes, history, state_strides, disk_count;
	uint64_t strides;
	unsigned disks;
	struct rf_area_disk disk[RF_DISKS_MAX];
};

/* Where a stride of the area belongs. */
struct rf_place {
	uint16_t kind; /* RF_KIND_*; 0 = outside */
	uint32_t volume, index, part;
	uint64_t base_bytes; /* first byte of the record, from stride 0 */
	uint64_t room_bytes; /* a stride; for a state one half */
};

/* Paths stay the caller's. Errors: one line in err. */
int rf_area_add(struct rf_area *a, const char *path, char *err, size_t err_bytes);
/* Open what can be opened. 0 when a majority of the area's disks is there. */
int rf_area_open(struct rf_area *a, char *err, size_t err_bytes);
void rf_area_close(struct rf_area *a);

/* The disk with that disk_index, opened if need be, or NULL. */
struct rf_area_disk *rf_area_disk_by_index(struct rf_area *a, uint32_t index);
/* Try to open a disk that was not there before. true: usable. */
bool rf_area_disk_ready(struct rf_area *a, struct rf_area_disk *d);
unsigned rf_area_majority(const struct rf_area *a);

struct rf_place rf_area_locate(const struct rf_area *a, uint64_t offset_bytes);
uint64_t rf_area_bytes(const struct rf_area *a);
uint64_t rf_area_slot(const struct rf_area *a, uint32_t node);
uint64_t rf_area_volume(const struct rf_area *a, uint32_t volume);
uint64_t rf_area_region(const struct rf_area *a, uint32_t volume);

/* Memory fit for direct I/O; free() it. */
void *rf_area_buffer(size_t bytes);
/* Whole sectors, from/to memory of rf_area_buffer. 0 or -errno, never short.
 * A write is durable when it returns (§2 rule 1). */
int rf_area_read(const struct rf_area_disk *d, void *buf, size_t bytes, uint64_t offset_bytes);
int rf_area_write(const struct rf_area_disk *d, const void *buf, size_t bytes,
		  uint64_t offset_bytes);

#endif
