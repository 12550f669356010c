/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libringfence: acquiring, holding and losing a leadership. See ringfence/ringfence.h. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define ASK_LEAST_NS 20000000u
#define EVENTS_A_CHECK 64 /* more are left for the next: it is readable still */

uint64_t rfl_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int rfl_fail(struct ringfence *r, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(r->error, sizeof(r->error), format, ap);
	va_end(ap);
	return error;
}

/* ---- packets ---- */

int rfl_dial(struct ringfence *r)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	uint64_t until = rfl_now_ns() + RFL_ANSWER_NS;

	if (fd < 0)
		return rfl_fail(r, -errno, "socket: %s", strerror(errno));
	while (connect(fd, (struct sockaddr *)&r->address, sizeof(r->address)) < 0) {
		error = errno;
		if ((error == EAGAIN || error == EINTR) && rfl_now_ns() < until) {
			poll(NULL, 0, 20); /* its backlog is full */
			continue;
		}
		close(fd);
		error = error == ECONNREFUSED ? ENOENT : error == EAGAIN ? ETIMEDOUT : error;
		return rfl_fail(r, -error, "%s: %s: is ringfenced running on this host?",
				r->address.sun_path, strerror(error));
	}
	return fd;
}

int rfl_send(struct ringfence *r, int fd, struct rf_ctl_request *q, const void *data,
	     size_t bytes)
{
	struct iovec part[2] = {{q, sizeof(*q)}, {(void *)data, bytes}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = bytes ? 2 : 1};

	q->magic = RF_CTL_MAGIC;
	q->version = RF_CTL_VERSION;
	memcpy(q->volume, r->volume, sizeof(q->volume));
	if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		return rfl_fail(r, -errno, "%s: the daemon closed the connection",
				r->address.sun_path);
	return 0;
}

static size_t packet_bytes(unsigned kind)
{
	switch (kind) {
	case RF_CTL_DONE:
		return sizeof(struct rf_ctl_done);
	case RF_CTL_ROW_VOLUME:
		return sizeof(struct rf_ctl_volume);
	case RF_CTL_EVENT:
		return sizeof(struct rf_ctl_event);
	case RF_CTL_ROW_DATA:
		return sizeof(struct rf_ctl_data);
	case RF_CTL_ROW_WORK:
		return sizeof(struct rf_ctl_work);
	}
	return 0;
}

int rfl_receive(struct ringfence *r, int fd, union rfl_packet *p, uint64_t until_ns)
{
	for (;;) {
		struct pollfd f = {.fd = fd, .events = POLLIN};
		ssize_t n = recv(fd, p, sizeof(*p), MSG_TRUNC | MSG_DONTWAIT);
		uint64_t now = rfl_now_ns();

		if (n > 0 &&
		    ((size_t)n < sizeof(p->h) || p->h.magic != RF_CTL_MAGIC ||
		     p->h.version != RF_CTL_VERSION || (size_t)n != packet_bytes(p->h.kind)))
			return rfl_fail(r, -EPROTO,
					"%s: the daemon is of another version than the "
					"library: restart what is older",
					r->address.sun_path);
		if (n > 0)
			return 0;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return rfl_fail(r, -EPIPE, "%s: the daemon closed the connection",
					r->address.sun_path);
		if (now >= until_ns)
			return rfl_fail(r, -ETIMEDOUT, "%s: no answer in time",
					r->address.sun_path);
		poll(&f, 1,
		     until_ns - now > 1000000000u ? 1000
						  : (int)((until_ns - now) / 1000000u) + 1);
	}
}

int rfl_errno(uint32_t code)
{
	static const struct {
		uint32_t code;
		int error;
	} table[] = {
		{RF_EXIT_YES, 0},
		{RF_EXIT_NO, -ENOENT},
		{RF_EXIT_BAD_VALUE, -EINVAL},
		{RF_EXIT_BAD_DATA, -EBADMSG},
		{RF_EXIT_AGAIN, -EAGAIN},
		{RF_EXIT_PERMISSION, -EACCES},
		{RF_EXIT_NO_SUCH, -ENOENT},
		{RF_EXIT_LEASE_LOST, -ESTALE},
		{RF_EXIT_TIMED_OUT, -ETIMEDOUT},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].code == code)
			return table[i].error;
	return -EIO;
}

int rfl_hear(struct ringfence *r, int fd, uint64_t until_ns, rfl_row row, void *arg)
{
	union rfl_packet p;
	int rc;

	while (!(rc = rfl_receive(r, fd, &p, until_ns)) && p.h.kind != RF_CTL_DONE) {
		if (row)
			row(arg, &p);
		if (rfl_now_ns() >= until_ns) /* it talks, but comes to no end */
			return rfl_fail(r, -ETIMEDOUT, "%s: no answer in time",
					r->address.sun_path);
	}
	if (rc)
		return rc;
	p.done.text[sizeof(p.done.text) - 1] = 0;
	rc = rfl_errno(p.done.code);
	rfl_fail(r, rc, "%s", p.done.text);
	return rc;
}

int rfl_ask(struct ringfence *r, struct rf_ctl_request *q, const struct rfl_question *question)
{
	uint64_t until = rfl_now_ns() + RFL_ANSWER_NS + q->timeout_ms * 1000000ull;
	int fd = rfl_dial(r), rc;

	if (fd < 0)
		return fd;
	rc = rfl_send(r, fd, q, question->data, question->bytes);
	if (!rc)
		rc = rfl_hear(r, fd, question->until_ns ? question->until_ns : until,
			      question->row, question->arg);
	close(fd);
	return rc;
}

/* ---- the lease ---- */

static void arm(struct ringfence *r, uint64_t at_ns)
{
	struct itimerspec t = {
		.it_value = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)}};

	timerfd_settime(r->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void until(struct ringfence *r, uint64_t deadline_ns)
{
	uint64_t now = rfl_now_ns();
	uint64_t half = deadline_ns > now ? (deadline_ns - now) / 2 : 0;

	r->deadline_ns = deadline_ns;
	r->ask_ns = now + (half > ASK_LEAST_NS ? half : ASK_LEAST_NS);
	arm(r, r->ask_ns);
}

static int lose(struct ringfence *r, const char *why)
{
	if (!r->lost)
		rfl_fail(r, 0, "%s: %s", r->volume, why);
	r->lost = true;
	r->deadline_ns = 0;
	arm(r, 1); /* readable from now on */
	return 0;
}

struct look {
	const struct ringfence *r;
	uint64_t asked_ns, deadline_ns;
	bool leads;
};

static void look_row(void *arg, const union rfl_packet *p)
{
	struct look *l = arg;

	if (p->h.kind != RF_CTL_ROW_VOLUME)
		return;
	l->leads = p->volume.role == RF_ROLE_ACTIVE && p->volume.epoch == l->r->epoch;
	l->deadline_ns = l->asked_ns + (uint64_t)(p->volume.lease_left_ms * 1000000);
}

/* A stopped daemon says no END, and renews nothing: asked now and then, it is out when
 * the lease has passed without an answer. */
static int look(struct ringfence *r)
{
	struct rf_ctl_request q = {.verb = RF_CTL_VOLUME};
	struct look l = {.r = r, .asked_ns = rfl_now_ns()};
	struct rfl_question question = {.row = look_row, .arg = &l};
	int rc = rfl_ask(r, &q, &question);

	if (!rc && !l.leads)
		return lose(r, "this host does not lead any more");
	if (rc && rfl_now_ns() >= r->deadline_ns)
		return lose(r, "the daemon does not answer and the lease has run out");
	if (rc)
		until(r, r->deadline_ns);
	else
		until(r, l.deadline_ns);
	*r->error = 0;
	return 1;
}

int ringfence_check(struct ringfence *r)
{
	union rfl_packet p;
	int rc = 0;

	if (!r->held || r->lost)
		return 0;
	for (int i = 0; i < EVENTS_A_CHECK; i++) {
		rc = rfl_receive(r, r->run, &p, 0);
		if (rc)
			break;
		if (p.h.kind == RF_CTL_EVENT && p.event.event == RF_CTL_EV_END)
			return lose(r, "the leadership ended");
	}
	if (rc && rc != -ETIMEDOUT)
		return lose(r, "the connection to the daemon is lost");
	*r->error = 0;
	return rfl_now_ns() < r->ask_ns ? 1 : look(r);
}

/* ---- acquire, release ---- */

static int join(struct ringfence *r)
{
	struct rf_ctl_request q = {.verb = RF_CTL_RUN};
	struct epoll_event e = {.events = EPOLLIN};
	int rc;

	r->run = rfl_dial(r);
	if (r->run < 0)
		return r->run;
	rc = rfl_send(r, r->run, &q, NULL, 0);
	if (!rc)
		rc = rfl_hear(r, r->run, rfl_now_ns() + RFL_ANSWER_NS, NULL, NULL);
	if (!rc && epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->run, &e) < 0)
		rc = rfl_fail(r, -errno, "epoll: %s", strerror(errno));
	if (rc) {
		close(r->run);
		r->run = -1;
	}
	return rc;
}

static void begin(struct ringfence *r, const struct rf_ctl_event *e)
{
	r->held = true;
	r->lost = false;
	r->epoch = e->epoch;
	r->incarnation = e->incarnation;
	*r->error = 0;
	until(r, e->deadline_ns);
}

int ringfence_acquire(struct ringfence *r, int timeout_ms)
{
	uint64_t end =
		timeout_ms < 0 ? UINT64_MAX : rfl_now_ns() + (uint64_t)timeout_ms * 1000000u;
	union rfl_packet p;
	int rc = 0;

	if (r->held)
		return rfl_fail(r, -EALREADY, "%s: is held; release it first", r->volume);
	if (r->run < 0)
		rc = join(r);
	while (!rc) {
		rc = rfl_receive(r, r->run, &p, end);
		if (!rc && p.h.kind == RF_CTL_EVENT && p.event.event == RF_CTL_EV_BEGIN) {
			begin(r, &p.event);
			return 0;
		}
		if (!rc && rfl_now_ns() >= end)
			rc = -ETIMEDOUT;
	}
	if (rc != -ETIMEDOUT && r->run >= 0) { /* joined anew by the next call */
		close(r->run);
		r->run = -1;
	} else if (rc == -ETIMEDOUT && r->run >= 0) {
		rfl_fail(r, rc, "%s: this host does not lead", r->volume);
	}
	return rc;
}

int ringfence_release(struct ringfence *r)
{
	struct rf_ctl_request q = {.verb = RF_CTL_QUIET, .epoch = r->epoch};
	int rc;

	if (!r->held)
		return rfl_fail(r, -EINVAL, "%s: nothing is held", r->volume);
	r->held = r->lost = false;
	r->deadline_ns = 0;
	arm(r, 0);
	rc = rfl_send(r, r->run, &q, NULL, 0);
	if (!rc)
		rc = rfl_hear(r, r->run, rfl_now_ns() + RFL_ANSWER_NS, NULL, NULL);
	if (rc) { /* closing says the same */
		close(r->run);
		r->run = -1;
	}
	return 0;
}

/* ---- the handle ---- */

int ringfence_open(struct ringfence **handle, const char *volume, const char *path)
{
	struct ringfence *r = calloc(1, sizeof(*r));
	struct epoll_event e = {.events = EPOLLIN};

	*handle = r;
	if (!r)
		return -ENOMEM;
	r->run = r->timer = -1;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	path = path ? path : RF_CTL_PATH;
	if (strlen(volume) >= sizeof(r->volume))
		return rfl_fail(r, -EINVAL, "a volume name has at most %zu characters",
				sizeof(r->volume) - 1);
	if (strlen(path) >= sizeof(r->address.sun_path))
		return rfl_fail(r, -EINVAL, "%s: the path of a socket is shorter", path);
	memcpy(r->volume, volume, strlen(volume));
	r->address.sun_family = AF_UNIX;
	memcpy(r->address.sun_path, path, strlen(path));
	r->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->epoll < 0 || r->timer < 0 ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->timer, &e) < 0)
		return rfl_fail(r, -errno, "no descriptors: %s", strerror(errno));
	return join(r);
}

void ringfence_close(struct ringfence *r)
{
	if (!r)
		return;
	if (r->run >= 0)
		close(r->run);
	if (r->timer >= 0)
		close(r->timer);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r);
}

const char *ringfence_error(const struct ringfence *r)
{
	return r ? r->error : "out of memory";
}

int ringfence_fd(const struct ringfence *r)
{
	return r->epoll;
}

uint64_t ringfence_epoch(const struct ringfence *r)
{
	return r->epoch;
}

uint64_t ringfence_incarnation(const struct ringfence *r)
{
	return r->incarnation;
}

uint64_t ringfence_deadline_ns(const struct ringfence *r)
{
	return r->deadline_ns;
}
