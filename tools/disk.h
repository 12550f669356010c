/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices, image files and snapshots: opening, reading, finding the area.
 *
 * The area is looked for at the start and at the end of the device;
 * if the superblock is unreadable its copy is searched for. Up to five disks of
 * one area form a set: records are merged, the newest readable one counts.
 */
#ifndef RF_TOOLS_DISK_H
#define RF_TOOLS_DISK_H

#include "record.h"

enum found {
	FOUND_NOTHING = 0, /* not ours: no superblock anywhere */
	FOUND_GOOD,        /* superblock at its place */
	FOUND_COPY,        /* only one of superblock and copy is readable */
	FOUND_DAMAGED,     /* a superblock is there, none is readable */
};

struct disk {
	const char *path;
	int fd;
	bool block, direct;
	uint64_t size_bytes;
	uint32_t logical_bytes, physical_bytes;
	char device_id[RF_DEVICE_ID_BYTES]; /* WWID or serial, "" = has none */

	enum found found;
	struct rf_super super;          /* GOOD, COPY */
	uint64_t base_bytes;            /* of stride 0 on this device, as found */
	enum rf_record_verdict verdict; /* DAMAGED: why */
	uint64_t verdict_at_bytes;
};

struct disk_set {
	unsigned count;
	struct disk disk[RF_DISKS_MAX];
	struct rf_super super; /* of the first disk that has a readable one */
};

#define DISK_READ_MAX (1u << 20)

/* Memory for direct I/O, zeroed, room for a sector of any size; free() it. Ends the program
 * when there is none. */
void *disk_buffer(size_t bytes);
/* Opens with `flags` (and O_DIRECT where it works). Exit code 0, 74 or 77; says why. */
int disk_open(struct disk *d, const char *path, int flags);
/* Opens it anew for writing, what was found stays; exclusive: nobody mounts it meanwhile.
 * Exit code 0, 74 or 77; says why. */
int disk_writable(struct disk *d, bool exclusive);
void disk_close(struct disk *d);
/* From the device's start. 0 or -errno; -ENODATA beyond its end. Offset and
 * length are multiples of 512; buf is from disk_buffer(). */
int disk_read(const struct disk *d, void *buf, size_t bytes, uint64_t offset_bytes);
/* From the device's start. Whole sectors, else -EINVAL; buf is a disk_buffer(). Durable
 * when it returns. */
int disk_write(const struct disk *d, const void *buf, size_t bytes, uint64_t offset_bytes);
/* Where is the area? Exit code 0 or 74; says why. Sets found and the rest. deep:
 * when it is not at its place, search 64 MiB at either end for its copy. */
int disk_locate(struct disk *d, bool deep);
/* One record, RF_RECORD_BYTES, into buf (disk_buffer of a stride). 0 or -errno. */
int disk_record(const struct disk *d, const struct record *r, void *buf);
/* Writes one record at its place in the area, in whole sectors. buf: a disk_buffer() of a
 * stride, the record in front, zeros behind. Durable. 0 or -errno. */
int disk_put(const struct disk *d, const struct record *r, const void *buf);
/* Worst of `count` reads of a sector at offset, in microseconds. */
int disk_measure(const struct disk *d, uint64_t offset_bytes, unsigned count,
		 uint32_t *worst_us);

/*
 * Open and locate all. Exit code: 0, or RF_EXIT_IO, RF_EXIT_PERMISSION, when
 * nothing is ours RF_EXIT_BAD_VALUE, when no superblock is readable or the disks
 * are not of one area RF_EXIT_BAD_DATA; says why. set->count disks are open.
 */
int disk_set_open(struct disk_set *set, int argc, char **argv);
/* The same for whoever only reads: goes on with those that are there, if any is, and notes
 * what is missing. */
int disk_set_open_some(struct disk_set *set, int argc, char **argv);
/* Notes that what is given is no majority. */
void disk_set_note(const struct disk_set *set);
void disk_set_close(struct disk_set *set);
/* The disk is of the same area and shape as the set's superblock. */
bool disk_same_area(const struct disk_set *set, const struct disk *d);

#define RECORD_IO_ERROR 64 /* behind the verdicts of claim.h: could not be read */

struct merged {
	void *raw; /* newest readable copy, or of the first disk */
	unsigned verdict[RF_DISKS_MAX];
	int error[RF_DISKS_MAX];    /* -errno with RECORD_IO_ERROR */
	uint64_t seq[RF_DISKS_MAX]; /* 0 when unreadable */
	int newest;                 /* disk of raw; -1: none is readable */
	bool differ;
};

/* Several records in one piece, as they lie on one disk. */
struct run {
	char *buf;
	uint64_t at_bytes; /* from stride 0 */
	size_t bytes;
	bool good; /* could be read as a whole */
};

/* Buffers for one record of all disks; m->raw points into them. */
struct merge {
	void *buf[RF_DISKS_MAX];
	uint64_t ahead_from, ahead_to;
	struct run run[RF_DISKS_MAX];
};
void merge_init(struct merge *g, const struct disk_set *set);
/* The records of this part of the area (bytes from stride 0) will be read in the order of
 * the disk, each of them once: from now on they are read many at a time. */
void merge_ahead(struct merge *g, uint64_t from_bytes, uint64_t to_bytes);
void merge_free(struct merge *g);
void merge_read(struct merge *g, const struct disk_set *set, const struct record *r,
		struct merged *m);
uint64_t record_epoch(const struct record *r, const void *raw);
const char *merge_words(unsigned verdict, int error);

#endif
