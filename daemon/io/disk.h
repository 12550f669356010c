/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quorum disks of one area: direct I/O through the loop, with deadlines.
 *
 * A request that passed its deadline is reported once as -ETIME and, when the kernel
 * lets go of it, once more as late. Until then its buffer belongs to the kernel: no
 * cancellation can be trusted to stop a write that is under way.
 */
#ifndef RF_IO_DISK_H
#define RF_IO_DISK_H

#include "loop.h"

#include "ringfence/limits.h"

struct rf_disks;

/* How many requests of which size can be in flight; see bind.c for the arithmetic. */
struct rf_disks_shape {
	uint32_t disks;
	int fd[RF_DISKS_MAX];          /* opened O_DIRECT; owned from now on; -1 = missing */
	uint64_t offset[RF_DISKS_MAX]; /* bytes: stride 0 of the area on that device */
	uint32_t small_bytes, small;   /* reads up to this, and how many requests */
	uint32_t middle_bytes, middle;
	uint32_t large_bytes, large;
	uint32_t write_bytes; /* the longest write; it fits in the smallest class */
};

struct rf_disk_request {
	uint32_t op, disk;
	uint64_t write_offset, read_offset;
	uint32_t write_len, read_len, data_len;
	const uint8_t *data; /* copied */
	uint64_t deadline_ns;
};

/* disk: of the request. status: 0, the first -errno of the chain, or -ETIME; wrote: the write
 * part is durable; late: this request was reported as -ETIME before. */
typedef void (*rf_disks_done)(void *owner, uint32_t op, uint32_t disk, int status, bool wrote,
			      const uint8_t *data, size_t len, bool late);

/* Allocates everything there will ever be. The memory is given to *memory for
 * rf_loop_register(), as number `index`. */
int rf_disks_open(struct rf_disks **disks, struct rf_loop *loop,
		  const struct rf_disks_shape *shape, unsigned index, rf_disks_done done,
		  void *owner, struct iovec *memory);
/* Closes the devices. Only when the loop is closed already. */
void rf_disks_close(struct rf_disks *disks);
/* The device of a disk is another descriptor from now on; requests under way stay with
 * the old one, which is closed after them. 0, or -EBUSY: too many old ones are still
 * being waited for (the new descriptor is not taken). */
int rf_disks_replace(struct rf_disks *disks, uint32_t disk, int fd, uint64_t offset);
/*
 * 0, or -EINVAL: more than the shape allows. What cannot begin because the device is
 * missing (-ENODEV) or every request that is large enough is in flight (-EBUSY) is
 * told like what failed later, from the loop: one disk of several that is gone must
 * not look like a node that cannot act.
 */
int rf_disks_submit(struct rf_disks *disks, const struct rf_disk_request *request);
uint64_t rf_disks_count(const struct rf_disks *disks); /* operations submitted */
/* Requests the kernel still owns: the daemon's end waits a little for them. */
uint32_t rf_disks_busy(const struct rf_disks *disks);

#endif
