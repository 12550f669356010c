/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quorum disks of one area, see disk.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "disk.h"

struct request {
	struct rf_disks *disks;
	struct rf_op write_op, read_op;
	struct device *device;
	uint8_t *write_data, *read_data;
	uint32_t read_room;
	uint32_t op, disk, write_len, read_len;
	uint64_t deadline_ns;
	uint8_t pending; /* parts the kernel owns */
	bool used, late, wrote;
	int status;
};

/* A descriptor lives as long as a request on it: the kernel looks the number up when
 * the read of a chain begins, and by then it could mean another disk. */
struct device {
	int fd; /* -1 = none */
	uint32_t in_flight;
	bool old; /* replaced: close it when nothing is in flight */
};
#define OLD_MAX 8u

/* Failed before it began; told in the next turn of the loop. */
struct refusal {
	uint32_t op, disk;
	int status;
};
#define REFUSALS 512u

struct rf_disks {
	struct rf_loop *loop;
	struct rf_disks_shape shape;
	struct device device[RF_DISKS_MAX + OLD_MAX], *now[RF_DISKS_MAX];
	unsigned memory;
	rf_disks_done done;
	void *owner;
	struct request *request; /* small ones first, then middle, then large */
	uint32_t requests;
	uint8_t *base;
	struct rf_timer timer, refuse;
	struct refusal refusal[REFUSALS];
	uint32_t refusals;
	uint64_t count;
};

/* ---- deadlines ---- */

static void arm(struct rf_disks *d)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < d->requests; i++) {
		const struct request *r = &d->request[i];

		if (r->used && !r->late && (!at || r->deadline_ns < at))
			at = r->deadline_ns;
	}
	if (at != d->timer.at_ns)
		rf_loop_timer(d->loop, &d->timer, at);
}

static void expire(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_disks *d = t->owner;

	for (uint32_t i = 0; i < d->requests; i++) {
		struct request *r = &d->request[i];

		if (!r->used || r->late || r->deadline_ns > now_ns)
			continue;
		r->late = true; /* the buffer stays the kernel's */
		d->done(d->owner, r->op, r->disk, -ETIME, r->wrote, NULL, 0, false);
	}
	arm(d);
}

/* ---- completions ---- */

static void leave_device(struct device *v)
{
	if (--v->in_flight || !v->old)
		return;
	close(v->fd);
	*v = (struct device){.fd = -1};
}

static void part_done(struct request *r)
{
	struct rf_disks *d = r->disks;
	bool late = r->late;
	int status = r->status;
	bool good = status == 0 && r->read_len;

	if (--r->pending)
		return;
	leave_device(r->device);
	/* the callback may submit: this request is free only after it */
	d->done(d->owner, r->op, r->disk, status, r->wrote, good ? r->read_data : NULL,
		good ? r->read_len : 0, late);
	r->used = false;
	arm(d);
}

static void write_done(struct rf_op *op, int res, bool more)
{
	struct request *r = op->owner;

	(void)more;
	if (res == (int)r->write_len)
		r->wrote = true;
	else
		r->status = res < 0 ? res : -EIO; /* short: the chain is broken too */
	part_done(r);
}

static void read_done(struct rf_op *op, int res, bool more)
{
	struct request *r = op->owner;

	(void)more;
	if (res != (int)r->read_len && !r->status)
		r->status = res < 0 ? res : -EIO;
	part_done(r);
}

/* ---- submitting ---- */

static void tell_refusals(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_disks *d = t->owner;
	uint32_t n = d->refusals;

	(void)now_ns;
	for (uint32_t i = 0; i < n; i++) { /* a callback may add some behind these */
		struct refusal r = d->refusal[i];

		d->done(d->owner, r.op, r.disk, r.status, false, NULL, 0, false);
	}
	d->refusals -= n;
	memmove(d->refusal, d->refusal + n, d->refusals * sizeof(d->refusal[0]));
	if (d->refusals)
		rf_loop_timer(d->loop, t, rf_loop_clock_ns());
}

static int refuse(struct rf_disks *d, const struct rf_disk_request *q, int status)
{
	if (d->refusals == REFUSALS)
		return status;
	d->refusal[d->refusals++] = (struct refusal){q->op, q->disk, status};
	if (!d->refuse.at_ns)
		rf_loop_timer(d->loop, &d->refuse, rf_loop_clock_ns());
	return 0;
}

static struct request *take(struct rf_disks *d, const struct rf_disk_request *q)
{
	for (uint32_t i = 0; i < d->requests; i++) {
		struct request *r = &d->request[i];

		if (!r->used && r->read_room >= q->read_len)
			return r;
	}
	return NULL;
}

int rf_disks_submit(struct rf_disks *d, const struct rf_disk_request *q)
{
	struct rf_disk_part write, read;
	struct request *r;
	uint64_t base;

	if (q->disk >= d->shape.disks || q->write_len > d->shape.write_bytes ||
	    q->data_len > q->write_len || (!q->write_len && !q->read_len))
		return -EINVAL;
	if (d->now[q->disk]->fd < 0)
		return refuse(d, q, -ENODEV);
	r = take(d, q);
	if (!r)
		return refuse(d, q, -EBUSY);
	base = d->shape.offset[q->disk];
	r->op = q->op;
	r->disk = q->disk;
	r->device = d->now[q->disk];
	r->device->in_flight++;
	r->write_len = q->write_len;
	r->read_len = q->read_len;
	r->deadline_ns = q->deadline_ns;
	r->used = true;
	r->late = r->wrote = false;
	r->status = 0;
	r->pending = (uint8_t)(!!q->write_len + !!q->read_len);
	d->count += r->pending;
	if (q->write_len) {
		memcpy(r->write_data, q->data, q->data_len);
		memset(r->write_data + q->data_len, 0, q->write_len - q->data_len);
		write = (struct rf_disk_part){&r->write_op, r->write_data, q->write_len,
					      base + q->write_offset};
	}
	read = (struct rf_disk_part){&r->read_op, r->read_data, q->read_len,
				     base + q->read_offset};
	rf_loop_chain(d->loop, r->device->fd, d->memory, q->write_len ? &write : NULL,
		      q->read_len ? &read : NULL);
	arm(d);
	return 0;
}

/* ---- opening ---- */

static size_t page(size_t n)
{
	return (n + 4095) & ~(size_t)4095;
}

static size_t memory_bytes(const struct rf_disks_shape *s)
{
	size_t write = page(s->write_bytes);

	return s->small * (page(s->small_bytes) + write) +
	       s->middle * (page(s->middle_bytes) + write) +
	       s->large * (page(s->large_bytes) + write);
}

static uint8_t *carve(struct rf_disks *d, uint8_t *at, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		struct request *r = &d->request[d->requests++];

		r->disks = d;
		r->write_op = (struct rf_op){.done = write_done, .owner = r};
		r->read_op = (struct rf_op){.done = read_done, .owner = r};
		r->read_room = bytes;
		r->read_data = at;
		at += page(bytes);
		r->write_data = at;
		at += page(d->shape.write_bytes);
	}
	return at;
}

int rf_disks_open(struct rf_disks **disks, struct rf_loop *loop, const struct rf_disks_shape *s,
		  unsigned index, rf_disks_done done, void *owner, struct iovec *memory)
{
	struct rf_disks *d = calloc(1, sizeof(*d));
	size_t bytes = memory_bytes(s);
	uint8_t *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (d)
		d->request = calloc(s->small + s->middle + s->large, sizeof(*d->request));
	if (!d || !d->request || at == MAP_FAILED) {
		if (at != MAP_FAILED)
			munmap(at, bytes);
		if (d)
			free(d->request);
		free(d);
		return -ENOMEM;
	}
	d->loop = loop;
	d->shape = *s;
	d->memory = index;
	d->done = done;
	d->owner = owner;
	d->timer = (struct rf_timer){.fire = expire, .owner = d};
	d->refuse = (struct rf_timer){.fire = tell_refusals, .owner = d};
	for (uint32_t i = 0; i < RF_DISKS_MAX + OLD_MAX; i++)
		d->device[i].fd = i < s->disks ? s->fd[i] : -1;
	for (uint32_t i = 0; i < s->disks; i++)
		d->now[i] = &d->device[i];
	d->base = at;
	*memory = (struct iovec){at, bytes};
	at = carve(d, at, s->small, s->small_bytes);
	at = carve(d, at, s->middle, s->middle_bytes);
	carve(d, at, s->large, s->large_bytes);
	*disks = d;
	return 0;
}

void rf_disks_close(struct rf_disks *d)
{
	for (uint32_t i = 0; i < RF_DISKS_MAX + OLD_MAX; i++)
		if (d->device[i].fd >= 0)
			close(d->device[i].fd);
	munmap(d->base, memory_bytes(&d->shape));
	free(d->request);
	free(d);
}

static bool is_current(const struct rf_disks *d, const struct device *v)
{
	for (uint32_t i = 0; i < d->shape.disks; i++)
		if (d->now[i] == v)
			return true;
	return false;
}

int rf_disks_replace(struct rf_disks *d, uint32_t disk, int fd, uint64_t offset)
{
	struct device *was = d->now[disk], *v = NULL;

	for (uint32_t i = 0; i < RF_DISKS_MAX + OLD_MAX && !v; i++)
		if (d->device[i].fd < 0 && !is_current(d, &d->device[i]))
			v = &d->device[i];
	if (!was->in_flight)
		v = was;
	if (!v)
		return -EBUSY;
	if (v == was && was->fd >= 0)
		close(was->fd);
	was->old = v != was;
	*v = (struct device){.fd = fd};
	d->now[disk] = v;
	d->shape.offset[disk] = offset;
	return 0;
}

uint64_t rf_disks_count(const struct rf_disks *d)
{
	return d->count;
}

uint32_t rf_disks_busy(const struct rf_disks *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->requests; i++)
		n += d->request[i].used;
	return n;
}
