/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop, see loop.h. The only file that knows liburing. */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "loop.h"

#define DATAGRAM_ROOM 2048u
#define RECEIVE_BUFFERS 64u /* a power of two */
#define RECEIVERS_MAX 4u
#define GROUP 1

struct finished {
	struct rf_op *op;
	int res;
	uint32_t flags;
};

/* A socket that is received from for ever. */
struct receiver {
	struct rf_op op;
	struct rf_loop *loop;
	struct rf_timer again;
	int fd;
	void (*got)(void *owner, const uint8_t *data, size_t len);
	void *owner;
	uint8_t single[DATAGRAM_ROOM]; /* without multishot */
};

struct rf_loop {
	struct io_uring ring;
	struct rf_timer *timers; /* by time */
	struct finished *queue;
	unsigned queue_max, queued;
	bool running, multishot;
	uint32_t delay_us;
	struct rf_histogram delays;
	uint64_t round_ns; /* what fires in this round was due before */
	struct io_uring_buf_ring *buffers;
	uint8_t *buffer_memory;
	struct receiver receiver[RECEIVERS_MAX];
	unsigned receivers;
};

uint64_t rf_loop_clock_ns(void)
{
	return rf_boot_ns();
}

/* ---- opening ---- */

static int refuse(int rc, char *err, size_t n)
{
	if (rc == -EPERM)
		snprintf(err, n,
			 "io_uring is disabled on this host (sysctl kernel.io_uring_disabled): "
			 "set it to 0, or to 1 and run in kernel.io_uring_group");
	else if (rc == -ENOSYS)
		snprintf(err, n, "this kernel has no io_uring: 5.19 or later is needed");
	else
		snprintf(err, n, "io_uring cannot be set up: %s", strerror(-rc));
	return rc;
}

static void buffer_back(struct rf_loop *l, uint32_t id)
{
	io_uring_buf_ring_add(l->buffers, l->buffer_memory + (size_t)id * DATAGRAM_ROOM,
			      DATAGRAM_ROOM, (unsigned short)id,
			      io_uring_buf_ring_mask(RECEIVE_BUFFERS), 0);
	io_uring_buf_ring_advance(l->buffers, 1);
}

/* A ring of provided buffers: kernels since 5.19; multishot receive since 6.0. */
static void open_buffers(struct rf_loop *l)
{
	size_t bytes = RECEIVE_BUFFERS * sizeof(struct io_uring_buf);
	struct io_uring_buf_reg reg = {.ring_entries = RECEIVE_BUFFERS, .bgid = GROUP};
	void *ring = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!ring)
		return;
	memset(ring, 0, (bytes + 4095) & ~(size_t)4095);
	reg.ring_addr = (uint64_t)(uintptr_t)ring;
	if (io_uring_register_buf_ring(&l->ring, &reg, 0) != 0) {
		free(ring);
		return;
	}
	l->buffers = ring;
	io_uring_buf_ring_init(l->buffers);
	for (uint32_t i = 0; i < RECEIVE_BUFFERS; i++)
		buffer_back(l, i);
	l->multishot = true;
}

int rf_loop_open(struct rf_loop **loop, unsigned entries, char *err, size_t n)
{
	struct io_uring_params p = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP};
	struct rf_loop *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return refuse(-ENOMEM, err, n);
	p.cq_entries = 4 * entries;
	rc = io_uring_queue_init_params(entries, &l->ring, &p);
	if (rc < 0) {
		free(l);
		return refuse(rc, err, n);
	}
	if (!(p.features & IORING_FEAT_EXT_ARG) || !(p.features & IORING_FEAT_NODROP)) {
		io_uring_queue_exit(&l->ring);
		free(l);
		return refuse(-ENOSYS, err, n);
	}
	l->queue_max = 2 * p.cq_entries;
	l->queue = calloc(l->queue_max, sizeof(*l->queue));
	l->buffer_memory = calloc(RECEIVE_BUFFERS, DATAGRAM_ROOM);
	if (!l->queue || !l->buffer_memory) {
		rf_loop_close(l);
		return refuse(-ENOMEM, err, n);
	}
	open_buffers(l);
	*loop = l;
	return 0;
}

void rf_loop_close(struct rf_loop *l)
{
	io_uring_queue_exit(&l->ring);
	free(l->buffers);
	free(l->buffer_memory);
	free(l->queue);
	free(l);
}

int rf_loop_register(struct rf_loop *l, const struct iovec *memory, unsigned count)
{
	return io_uring_register_buffers(&l->ring, memory, count);
}

/* ---- submitting ---- */

/* Copy what is finished; nothing is called back from here. */
static void collect(struct rf_loop *l)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&l->ring, head, cqe)
	{
		if (l->queued == l->queue_max)
			break;
		l->queue[l->queued++] = (struct finished){
			.op = io_uring_cqe_get_data(cqe), .res = cqe->res, .flags = cqe->flags};
		n++;
	}
	io_uring_cq_advance(&l->ring, n);
}

/* `count` entries that will not be torn apart: linked ones go in one submission.
 * A kernel that is short of memory, or wants completions taken first, is asked again. */
static void room(struct rf_loop *l, unsigned count)
{
	while (io_uring_sq_space_left(&l->ring) < count)
		if (io_uring_submit(&l->ring) < 0)
			collect(l);
}

static struct io_uring_sqe *entry(struct rf_loop *l, struct rf_op *op)
{
	struct io_uring_sqe *sqe;

	room(l, 1);
	sqe = io_uring_get_sqe(&l->ring);
	io_uring_sqe_set_data(sqe, op);
	return sqe;
}

/* Preparing helpers of later liburings clear the user data: set it behind them. */
static void owned(struct io_uring_sqe *sqe, struct rf_op *op)
{
	io_uring_sqe_set_data(sqe, op);
}

void rf_loop_chain(struct rf_loop *l, int fd, unsigned memory, const struct rf_disk_part *write,
		   const struct rf_disk_part *read)
{
	struct io_uring_sqe *sqe;

	room(l, 2);
	if (write) {
		sqe = entry(l, write->op);
		io_uring_prep_write_fixed(sqe, fd, write->data, write->bytes, write->offset,
					  (int)memory);
		sqe->rw_flags = RWF_DSYNC; /* §2.1: durable when it completes */
		owned(sqe, write->op);
		if (read) /* §2.3: the read is submitted only after the write completed */
			io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
	}
	if (read) {
		sqe = entry(l, read->op);
		io_uring_prep_read_fixed(sqe, fd, read->data, read->bytes, read->offset,
					 (int)memory);
		owned(sqe, read->op);
	}
}

void rf_loop_poll(struct rf_loop *l, struct rf_op *op, int fd)
{
	struct io_uring_sqe *sqe = entry(l, op);

	/* one shot: armed again it sees what is still there, a multishot one would not */
	io_uring_prep_poll_add(sqe, fd, POLLIN);
	owned(sqe, op);
}

void rf_loop_write(struct rf_loop *l, struct rf_op *op, int fd, const void *data, size_t len)
{
	struct io_uring_sqe *sqe = entry(l, op);

	io_uring_prep_write(sqe, fd, data, (unsigned)len, (uint64_t)-1);
	owned(sqe, op);
}

void rf_loop_sendmsg(struct rf_loop *l, struct rf_op *op, int fd, const struct msghdr *msg)
{
	struct io_uring_sqe *sqe = entry(l, op);

	io_uring_prep_sendmsg(sqe, fd, msg, MSG_NOSIGNAL);
	owned(sqe, op);
}

/* ---- receiving datagrams ---- */

static void receive(struct receiver *r)
{
	struct rf_loop *l = r->loop;
	struct io_uring_sqe *sqe = entry(l, &r->op);

	if (l->multishot) {
		io_uring_prep_recv_multishot(sqe, r->fd, NULL, 0, 0);
		sqe->buf_group = GROUP;
		io_uring_sqe_set_flags(sqe, IOSQE_BUFFER_SELECT);
	} else {
		io_uring_prep_recv(sqe, r->fd, r->single, sizeof(r->single), 0);
	}
	owned(sqe, &r->op);
}

static void received(struct rf_op *op, int res, bool more)
{
	struct receiver *r = op->owner;
	struct rf_loop *l = r->loop;

	if (op->filled) {
		if (res >= 0)
			r->got(r->owner, l->buffer_memory + (size_t)op->buffer * DATAGRAM_ROOM,
			       (size_t)res);
		buffer_back(l, op->buffer);
	} else if (res >= 0) { /* single shot; or an empty datagram, which fills nothing */
		r->got(r->owner, r->single, (size_t)res);
	}
	if (more)
		return;
	if (res == -EINVAL && l->multishot)
		l->multishot = false; /* a kernel between 5.19 and 6.0 */
	if (res >= 0 || res == -ENOBUFS || res == -EINVAL || res == -EINTR)
		receive(r);
	else /* an interface went down, say: not worth a busy loop */
		rf_loop_timer(l, &r->again, rf_loop_clock_ns() + 100000000u);
}

static void receive_again(struct rf_timer *t, uint64_t now_ns)
{
	(void)now_ns;
	receive(t->owner);
}

int rf_loop_receive(struct rf_loop *l, int fd,
		    void (*got)(void *owner, const uint8_t *data, size_t len), void *owner)
{
	struct receiver *r;

	if (l->receivers == RECEIVERS_MAX)
		return -ENOSPC;
	r = &l->receiver[l->receivers++];
	*r = (struct receiver){.loop = l, .fd = fd, .got = got, .owner = owner};
	r->op = (struct rf_op){.done = received, .owner = r};
	r->again = (struct rf_timer){.fire = receive_again, .owner = r};
	receive(r);
	return 0;
}

/* ---- timers ---- */

static void unlink_timer(struct rf_loop *l, struct rf_timer *t)
{
	struct rf_timer **at = &l->timers;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	t->at_ns = 0;
}

void rf_loop_timer(struct rf_loop *l, struct rf_timer *t, uint64_t at_ns)
{
	struct rf_timer **at = &l->timers;
	uint64_t now;

	if (t->at_ns)
		unlink_timer(l, t);
	if (!at_ns)
		return;
	/* the past is now, or lateness would be told of what nobody was late for; and
	 * not this round, or one timer could keep the loop from its completions */
	now = rf_loop_clock_ns();
	if (at_ns < now)
		at_ns = now;
	if (at_ns <= l->round_ns)
		at_ns = l->round_ns + 1;
	while (*at && (*at)->at_ns <= at_ns)
		at = &(*at)->next;
	t->at_ns = at_ns;
	t->next = *at;
	*at = t;
}

static void note_late(struct rf_loop *l, uint64_t late_ns)
{
	uint64_t us = late_ns / 1000;

	rf_histogram_add(&l->delays, late_ns);
	if (us > l->delay_us)
		l->delay_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static void fire_timers(struct rf_loop *l)
{
	struct rf_timer *t;

	l->round_ns = rf_loop_clock_ns();
	while ((t = l->timers) && t->at_ns <= l->round_ns) {
		uint64_t now = rf_loop_clock_ns();

		note_late(l, now - t->at_ns);
		unlink_timer(l, t);
		t->fire(t, now);
	}
}

uint32_t rf_loop_delay_us(struct rf_loop *l)
{
	return l->delay_us;
}

const struct rf_histogram *rf_loop_delays(const struct rf_loop *l)
{
	return &l->delays;
}

/* ---- running ---- */

static int wait_some(struct rf_loop *l)
{
	struct __kernel_timespec ts = {0}, *limit = NULL;
	struct io_uring_cqe *cqe;
	int rc;

	if (l->timers) {
		uint64_t now = rf_loop_clock_ns();
		uint64_t left = l->timers->at_ns > now ? l->timers->at_ns - now : 0;

		ts.tv_sec = (long long)(left / 1000000000u);
		ts.tv_nsec = (long long)(left % 1000000000u);
		limit = &ts;
	}
	rc = io_uring_submit_and_wait_timeout(&l->ring, &cqe, 1, limit, NULL);
	if (rc == -ETIME || rc == -EINTR)
		return 0;
	if (rc == -EAGAIN || rc == -EBUSY) {
		/* short of memory, or completions must be taken first: not in a busy loop,
		 * at real-time priority it would keep from memory whoever frees some */
		if (!io_uring_cq_ready(&l->ring))
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		return 0;
	}
	return rc < 0 ? rc : 0;
}

/* Call back what is in the queue now. What is collected meanwhile, by a submission
 * that found the ring full, comes behind it and has its turn in the same pass. */
static void call_back(struct rf_loop *l)
{
	for (unsigned i = 0; i < l->queued; i++) {
		struct finished f = l->queue[i];

		f.op->filled = f.flags & IORING_CQE_F_BUFFER;
		f.op->buffer = f.flags >> IORING_CQE_BUFFER_SHIFT;
		f.op->done(f.op, f.res, f.flags & IORING_CQE_F_MORE);
	}
	l->queued = 0;
}

int rf_loop_run(struct rf_loop *l)
{
	l->running = true;
	while (l->running) {
		int rc = wait_some(l);

		if (rc < 0)
			return rc;
		collect(l);
		call_back(l);
		fire_timers(l);
	}
	return 0;
}

void rf_loop_stop(struct rf_loop *l)
{
	l->running = false;
}
