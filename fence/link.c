/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libnbd, driven by poll with a deadline (link.h). */
#include <errno.h>
#include <libnbd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "link.h"

/* Completion of an asynchronous command. */
struct outcome {
	bool done;
	int error;
};

static int complete(void *data, int *error)
{
	struct outcome *o = data;

	o->done = true;
	o->error = *error;
	return 1;
}

static void set_error(struct rf_link *l, int error, const char *what)
{
	l->error = error;
	snprintf(l->text, sizeof(l->text), "%s: %s", what, strerror(error));
}

static void set_nbd_error(struct rf_link *l)
{
	const char *text = nbd_get_error();

	l->error = nbd_get_errno() ? nbd_get_errno() : EIO;
	snprintf(l->text, sizeof(l->text), "%s", text ? text : "libnbd failed");
}

/* Let the connection make one step. 0, or -1 with the error set. */
static int step(struct rf_link *l)
{
	struct pollfd fds[2] = {{.fd = nbd_aio_get_fd(l->nbd)},
				{.fd = RF_FENCE_FD, .events = POLLIN}};
	unsigned direction = nbd_aio_get_direction(l->nbd);
	uint64_t now = rf_fencer_now_ms();
	int n;

	if (now >= l->until_ms) {
		set_error(l, ETIMEDOUT, "target does not answer");
		return -1;
	}
	if (l->yield && rf_fencer_urgent()) {
		set_error(l, EINTR, "gave way to a revoke");
		return -1;
	}
	if (direction & LIBNBD_AIO_DIRECTION_READ)
		fds[0].events |= POLLIN;
	if (direction & LIBNBD_AIO_DIRECTION_WRITE)
		fds[0].events |= POLLOUT;
	n = poll(fds, l->yield ? 2 : 1, (int)(l->until_ms - now));
	if (n <= 0)
		return 0; /* the deadline or a signal: seen on the next step */
	if ((direction & LIBNBD_AIO_DIRECTION_READ) &&
	    fds[0].revents & (POLLIN | POLLHUP | POLLERR))
		n = nbd_aio_notify_read(l->nbd);
	else if ((direction & LIBNBD_AIO_DIRECTION_WRITE) && fds[0].revents)
		n = nbd_aio_notify_write(l->nbd);
	if (n >= 0)
		return 0;
	set_nbd_error(l);
	return -1;
}

static bool gone(struct rf_link *l)
{
	if (!nbd_aio_is_dead(l->nbd) && !nbd_aio_is_closed(l->nbd))
		return false;
	set_error(l, ECONNRESET, "target closed the connection");
	return true;
}

/* true when it happened before the deadline and before the connection died */
static bool wait_outcome(struct rf_link *l, const struct outcome *o)
{
	while (!o->done)
		if (gone(l) || step(l))
			return o->done;
	return true;
}

enum rf_link_result rf_link_dial(struct rf_link *l, const char *uri)
{
	l->nbd = nbd_create();
	if (!l->nbd || nbd_set_opt_mode(l->nbd, true) || nbd_aio_connect_uri(l->nbd, uri)) {
		set_nbd_error(l);
		rf_link_drop(l);
		return RF_LINK_UNREACHABLE;
	}
	while (!nbd_aio_is_negotiating(l->nbd)) {
		if (gone(l) || step(l)) {
			rf_link_drop(l);
			return RF_LINK_UNREACHABLE;
		}
	}
	return RF_LINK_OK;
}

enum rf_link_result rf_link_go(struct rf_link *l, const char *name)
{
	/* Static: a completion that comes while the handle is closed still has a
	 * place to go to. One request at a time is all this program does. */
	static struct outcome o;
	nbd_completion_callback cb = {.callback = complete, .user_data = &o};

	memset(&o, 0, sizeof(o));
	if (nbd_set_export_name(l->nbd, name) || nbd_aio_opt_go(l->nbd, cb)) {
		set_nbd_error(l);
		rf_link_drop(l);
		return RF_LINK_UNREACHABLE;
	}
	if (!wait_outcome(l, &o)) {
		rf_link_drop(l);
		return RF_LINK_LOST;
	}
	if (!o.error && nbd_aio_is_ready(l->nbd))
		return RF_LINK_OK;
	if (nbd_aio_is_negotiating(l->nbd)) {
		set_error(l, EACCES, "target refused the connection");
		return RF_LINK_REFUSED;
	}
	/* Some answer came, but not in the shape of a refusal: believe nothing. */
	set_error(l, ECONNRESET, "target closed the connection while asked for an export");
	rf_link_drop(l);
	return RF_LINK_LOST;
}

enum rf_link_result rf_link_read(struct rf_link *l, void *buf, uint32_t bytes, uint64_t offset)
{
	static struct outcome o;
	nbd_completion_callback cb = {.callback = complete, .user_data = &o};

	memset(&o, 0, sizeof(o));
	if (nbd_aio_pread(l->nbd, buf, bytes, offset, cb, 0) < 0) {
		set_nbd_error(l);
		rf_link_drop(l);
		return RF_LINK_LOST;
	}
	if (wait_outcome(l, &o) && !o.error)
		return RF_LINK_OK;
	if (o.done)
		set_error(l, o.error, "target could not be read");
	rf_link_drop(l);
	return RF_LINK_LOST;
}

bool rf_link_alive(struct rf_link *l)
{
	struct pollfd fd;

	if (!l->nbd)
		return false;
	fd = (struct pollfd){.fd = nbd_aio_get_fd(l->nbd), .events = POLLIN};
	/* An idle export has nothing to say: input means its end. */
	if (poll(&fd, 1, 0) > 0 && fd.revents)
		nbd_aio_notify_read(l->nbd);
	if (nbd_aio_is_ready(l->nbd))
		return true;
	set_error(l, ECONNRESET, "target closed the connection");
	rf_link_drop(l);
	return false;
}

void rf_link_drop(struct rf_link *l)
{
	if (l->nbd)
		nbd_close(l->nbd);
	l->nbd = NULL;
}
