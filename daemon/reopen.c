/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quorum disks that come back, see reopen.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "helper.h"
#include "log.h"
#include "reopen.h"

#define GONE 3u /* this many failures in a row */
#define AGAIN_NS 5000000000ull

struct ask {
	uint32_t area, path; /* indices into the configuration */
};

struct found {
	struct ask about;
	int32_t rc; /* 0: a descriptor travels with this */
	uint32_t disk;
	uint64_t offset;
	char text[400];
};

struct rf_reopen {
	struct daemon *daemon;
	struct rf_helper helper;
	struct rf_op op;
	struct rf_timer timer;
	uint8_t failures[RF_AREAS_MAX][RF_DISKS_MAX]; /* by disk, up to GONE */
	bool asked[RF_AREAS_MAX][RF_DISKS_MAX];       /* by path */
	int32_t said[RF_AREAS_MAX][RF_DISKS_MAX];     /* the last error told */
};

/* ---- the helper ---- */

static void help(void *daemon, int socket)
{
	struct daemon *d = daemon;
	struct found f;
	struct ask q;

	while (recv(socket, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		int fd = -1;

		memset(&f, 0, sizeof(f));
		f.about = q;
		f.rc = rf_area_find(&d->part[q.area]->area, &d->config, q.area, q.path, &fd,
				    &f.disk, &f.offset, f.text, sizeof(f.text));
		if (rf_helper_send(socket, &f, sizeof(f), &fd, f.rc == 0) != 0)
			return;
		if (fd >= 0)
			close(fd);
	}
}

int rf_reopen_start(struct daemon *d)
{
	d->reopen = calloc(1, sizeof(*d->reopen));
	if (!d->reopen)
		return -ENOMEM;
	d->reopen->daemon = d;
	return rf_helper_start(&d->reopen->helper, "ringfence-open", help, d);
}

/* ---- the daemon ---- */

static bool is_gone(const struct rf_reopen *r, uint32_t area, uint32_t disk)
{
	return r->failures[area][disk] >= GONE;
}

/* The path that was this disk, or any that was none yet. */
static bool may_be(const struct rf_area *a, uint32_t path, uint32_t disk)
{
	if (a->path[disk] != UINT32_MAX)
		return a->path[disk] == path;
	for (uint32_t d = 0; d < a->super.disk_count; d++)
		if (a->path[d] == path)
			return false;
	return true;
}

static void ask(struct rf_reopen *r, uint32_t area, uint32_t path)
{
	struct ask q = {area, path};

	if (r->helper.fd < 0 || r->asked[area][path])
		return;
	r->asked[area][path] =
		send(r->helper.fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* Asks for what is gone; true when something is. */
static bool ask_area(struct rf_reopen *r, uint32_t area)
{
	const struct rf_area *a = &r->daemon->part[area]->area;
	bool any = false;

	for (uint32_t d = 0; d < a->super.disk_count; d++) {
		if (!is_gone(r, area, d))
			continue;
		any = true;
		for (uint32_t p = 0; p < a->super.disk_count; p++)
			if (may_be(a, p, d))
				ask(r, area, p);
	}
	return any;
}

static void look(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_reopen *r = t->owner;
	bool any = false;

	for (uint32_t area = 0; area < r->daemon->parts; area++)
		any |= ask_area(r, area);
	if (any)
		rf_loop_timer(r->daemon->loop, t, now_ns + AGAIN_NS);
}

void rf_reopen_note(struct part *p, uint32_t disk, int status)
{
	struct rf_reopen *r = p->daemon->reopen;
	uint8_t *failures = &r->failures[p->index][disk];

	if (status == 0)
		*failures = 0;
	/* slow is not gone, and what was refused here never reached the device */
	if (status == 0 || status == -ETIME || status == -ECANCELED || status == -EBUSY)
		return;
	if (*failures < GONE)
		(*failures)++;
	if (*failures == GONE && !r->timer.at_ns)
		rf_loop_timer(p->daemon->loop, &r->timer, rf_loop_clock_ns());
}

static void take(struct rf_reopen *r, const struct found *f, int fd)
{
	const char *path = r->daemon->config.area[f->about.area].disk[f->about.path];
	struct part *p = r->daemon->part[f->about.area];
	int32_t *said = &r->said[f->about.area][f->about.path];

	r->asked[f->about.area][f->about.path] = false;
	if (fd < 0) {
		if (*said != f->rc)
			rf_log(RF_LOG_WARNING, "disk-missing: %s", f->text);
		*said = f->rc;
		return;
	}
	if (!is_gone(r, p->index, f->disk) ||
	    rf_disks_replace(p->disks, f->disk, fd, f->offset) != 0) {
		close(fd); /* it works again; or too many requests are stuck: later */
		return;
	}
	rf_log(RF_LOG_INFO, "quorum disk %u opened again: %s", f->disk, path);
	*said = 0;
	r->failures[p->index][f->disk] = 0;
	p->area.path[f->disk] = f->about.path;
}

static bool sane(const struct rf_reopen *r, const struct found *f)
{
	const struct daemon *d = r->daemon;

	return f->about.area < d->parts &&
	       f->about.path < d->part[f->about.area]->area.super.disk_count &&
	       f->disk < d->part[f->about.area]->area.super.disk_count;
}

/* One packet; false: none is left, or the helper is gone. */
static bool receive(struct rf_reopen *r)
{
	struct found f = {.rc = 0};
	int fd;
	ssize_t n = rf_helper_receive(&r->helper, &f, sizeof(f), &fd, 1);

	if (n == 0) {
		rf_log(RF_LOG_WARNING, "the helper that opens devices died: a quorum disk that "
				       "is lost stays lost until restart");
		rf_helper_died(&r->helper);
	}
	if (n <= 0)
		return false;
	if (n == (ssize_t)sizeof(f) && sane(r, &f))
		take(r, &f, fd);
	else if (fd >= 0)
		close(fd);
	return true;
}

static void readable(struct rf_op *op, int res, bool more)
{
	struct rf_reopen *r = op->owner;

	(void)res;
	(void)more;
	while (receive(r))
		;
	if (r->helper.fd >= 0)
		rf_loop_poll(r->daemon->loop, op, r->helper.fd);
}

void rf_reopen_attach(struct daemon *d)
{
	struct rf_reopen *r = d->reopen;

	r->op = (struct rf_op){.done = readable, .owner = r};
	r->timer = (struct rf_timer){.fire = look, .owner = r};
	rf_loop_poll(d->loop, &r->op, r->helper.fd);
	for (uint32_t i = 0; i < d->parts; i++)
		for (uint32_t k = 0; k < d->part[i]->area.super.disk_count; k++)
			if (d->part[i]->area.path[k] == UINT32_MAX)
				r->failures[i][k] = GONE;
	rf_loop_timer(d->loop, &r->timer, rf_loop_clock_ns());
}

/* It may hang in an open: not waited for, the kernel ends it with us. */
void rf_reopen_stop(struct daemon *d)
{
	rf_helper_end(&d->reopen->helper);
	free(d->reopen);
}
