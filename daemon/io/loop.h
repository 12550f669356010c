/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop: one io_uring, one thread, everything the daemon waits for.
 *
 * An operation is a struct rf_op inside its owner's own struct. Completions are
 * copied to a queue first and called back afterwards: a callback may start new
 * operations, on the same op too, and never runs inside another one. Nothing is
 * allocated after rf_loop_open(); a full submission queue is submitted, never
 * dropped. Times are nanoseconds of CLOCK_BOOTTIME.
 */
#ifndef RF_IO_LOOP_H
#define RF_IO_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "histogram.h"

struct rf_loop;
struct rf_op;

/* res: >= 0 result, or -errno. more: a multishot op that stays armed. */
typedef void (*rf_op_done)(struct rf_op *op, int res, bool more);

struct rf_op {
	rf_op_done done;
	void *owner;
	uint32_t buffer; /* multishot receive: the provided buffer that was filled */
	bool filled;
};

struct rf_timer {
	void (*fire)(struct rf_timer *timer, uint64_t now_ns);
	void *owner;
	uint64_t at_ns; /* 0 = not armed */
	struct rf_timer *next;
};

/*
 * entries: operations in flight the loop should take without submitting early.
 * -errno and one line in err: -ENOSYS (kernel without io_uring), -EPERM (disabled:
 * the line names kernel.io_uring_disabled).
 */
int rf_loop_open(struct rf_loop **loop, unsigned entries, char *err, size_t err_bytes);
void rf_loop_close(struct rf_loop *loop);

/* Runs until rf_loop_stop(). 0 or -errno. */
int rf_loop_run(struct rf_loop *loop);
void rf_loop_stop(struct rf_loop *loop);

uint64_t rf_loop_clock_ns(void);
/* Worst lateness of a timer since the loop was opened. */
uint32_t rf_loop_delay_us(struct rf_loop *loop);
const struct rf_histogram *rf_loop_delays(const struct rf_loop *loop);

/* Arm or move a timer; at_ns 0 disarms, a time in the past is as soon as possible:
 * after the completions that are there by then, never within the present round. */
void rf_loop_timer(struct rf_loop *loop, struct rf_timer *timer, uint64_t at_ns);

/* Register memory for disk operations: once, before the first. 0 or -errno (-ENOMEM:
 * more than may be locked, see RLIMIT_MEMLOCK). */
int rf_loop_register(struct rf_loop *loop, const struct iovec *memory, unsigned count);

/* One part of a disk chain; buffer lies in registered memory number `memory`. */
struct rf_disk_part {
	struct rf_op *op;
	void *data;
	uint32_t bytes;
	uint64_t offset;
};
/*
 * Write durably (RWF_DSYNC), then read; either may be NULL. With both, the read is
 * submitted only when the whole write completed; otherwise it ends with -ECANCELED.
 */
void rf_loop_chain(struct rf_loop *loop, int fd, unsigned memory,
		   const struct rf_disk_part *write, const struct rf_disk_part *read);

/* Once, when fd is readable (res: poll events) or broken; arm it again in the callback. */
void rf_loop_poll(struct rf_loop *loop, struct rf_op *op, int fd);
void rf_loop_write(struct rf_loop *loop, struct rf_op *op, int fd, const void *data,
		   size_t len);
void rf_loop_sendmsg(struct rf_loop *loop, struct rf_op *op, int fd, const struct msghdr *msg);

/*
 * Receive datagrams for ever into a ring of buffers: multishot where the kernel has
 * it, otherwise one at a time. `data` is valid until the callback returns.
 */
int rf_loop_receive(struct rf_loop *loop, int fd,
		    void (*got)(void *owner, const uint8_t *data, size_t len), void *owner);

#endif
