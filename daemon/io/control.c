/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server of the control socket. Nothing in here waits for a client: what
 * cannot be sent now is lost and counted (events), kept and tried again (BEGIN
 * and END of RUN), or ends the client (answers).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "io/control_state.h"

#define SEND_BYTES (4 << 20) /* a whole STATUS fits */
#define ROOT_ONLY_CLIENTS 8u /* seats that only root may take */
#define TURNS_MAX 32
#define PACKETS_A_TURN 8 /* a talkative client does not keep the loop */
#define TAG_LISTEN RF_CONTROL_CLIENTS_MAX
#define TAG_TIMER (TAG_LISTEN + 1)
#define TAG_DEFER (TAG_LISTEN + 2)

/* ---- a client's seat ---- */

static void leave(struct rf_control *c, struct client *k)
{
	if (k->begun)
		rf_control_wake(c); /* closing counts as QUIET */
	close(k->fd);
	memset(k, 0, sizeof(*k));
	k->fd = -1;
}

/* ---- time-outs of RESIGN and HANDOVER ---- */

void rf_control_arm(struct rf_control *c)
{
	struct itimerspec t = {0};
	uint64_t first = 0;

	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		const struct client *k = &c->client[i];

		if (k->fd >= 0 && k->waiting && k->wait_until_ns &&
		    (!first || k->wait_until_ns < first))
			first = k->wait_until_ns;
	}
	t.it_value.tv_sec = (time_t)(first / 1000000000u);
	t.it_value.tv_nsec = (long)(first % 1000000000u);
	timerfd_settime(c->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

void rf_client_wait(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		    int volume)
{
	k->waiting = q->verb;
	k->wait_volume = (uint32_t)volume;
	k->wait_until_ns = q->timeout_ms ? rf_boot_ns() + q->timeout_ms * 1000000ull : 0;
	rf_control_arm(c);
}

static const char *too_late(uint32_t verb)
{
	if (rf_verb_changes(verb))
		return "not committed in time; it may still be: read it before you decide";
	if (rf_verb_keeps(verb))
		return "the quorum disks could not be read in time";
	if (verb == RF_CTL_RELOAD)
		return "the configuration could not be read in time: does the file system "
		       "hang? It is taken over when it is read; the log says so";
	return "not released in time; it goes on: see `ringfence status`";
}

static void expire(struct rf_control *c)
{
	uint64_t now = rf_boot_ns(), ticks;

	(void)!read(c->timer, &ticks, sizeof(ticks));
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || !k->waiting || !k->wait_until_ns || k->wait_until_ns > now)
			continue;
		rf_client_done(k, RF_EXIT_TIMED_OUT, "%s", too_late(k->waiting));
		k->waiting = 0;
	}
	rf_control_arm(c);
}

/* ---- requests ---- */

int rf_client_find(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	int v = c->ops.find(c->ops.world, q->volume);

	if (v >= 0 && (uint32_t)v < RF_CONTROL_VOLUMES_MAX)
		return v;
	rf_client_done(k, RF_EXIT_NO_SUCH, "no volume \"%s\" here: see `ringfence status`",
		       q->volume);
	return -1;
}

static void serve_watch(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	k->volume = -1;
	if (*q->volume) {
		k->volume = rf_client_find(c, k, q);
		if (k->volume < 0)
			return;
	}
	k->watch = true;
	rf_client_done(k, RF_EXIT_YES, "%s", "");
}

static void serve_run(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	struct rf_control_now now = {0};

	k->volume = rf_client_find(c, k, q);
	if (k->volume < 0)
		return;
	k->run = true;
	rf_client_done(k, RF_EXIT_YES, "%s", "");
	c->ops.now(c->ops.world, (uint32_t)k->volume, &now);
	if (now.role == RF_ROLE_ACTIVE && !k->gone)
		rf_client_begin(c, k, &now, c->ops.name(c->ops.world, (uint32_t)k->volume));
}

static void serve_quiet(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	if (!k->run || q->epoch != k->epoch) {
		rf_client_done(k, RF_EXIT_BAD_VALUE,
			       "QUIET of epoch %llu, which was not begun here",
			       (unsigned long long)q->epoch);
		return;
	}
	k->begun = false;
	rf_client_done(k, RF_EXIT_YES, "%s", "");
	rf_control_wake(c);
}

static void serve_leave(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	struct rf_control_now now = {0};
	char text[RF_CTL_TEXT_BYTES] = "";
	int v = rf_client_find(c, k, q), r;
	uint32_t no = 0;

	if (v < 0)
		return;
	c->ops.now(c->ops.world, (uint32_t)v, &now);
	if (!rf_role_leads(now.role)) {
		rf_client_done(k, RF_EXIT_NO, "this node does not lead %s", q->volume);
		return;
	}
	if (q->verb == RF_CTL_HANDOVER)
		no = c->ops.heir(c->ops.world, (uint32_t)v, q->node, text);
	if (no) {
		rf_client_done(k, no, "%s", text);
		return;
	}
	/* Waits before asking: the answer may come from within the asking. */
	if (q->timeout_ms)
		rf_client_wait(c, k, q, v);
	r = c->ops.admin(c->ops.world, q->verb, (uint32_t)v, q->node);
	if (r < 0) {
		k->waiting = 0;
		rf_client_done(k, RF_EXIT_AGAIN, "refused: %s", strerror(-r));
	} else if (!q->timeout_ms) {
		rf_client_done(k, RF_EXIT_YES, "%s", "");
	}
	rf_control_arm(c);
}

static void serve_pause(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	int r = c->ops.admin(c->ops.world, q->verb, 0, 0);

	if (r < 0)
		rf_client_done(k, RF_EXIT_IO,
			       "this node is %s now, but a restart of the daemon will not know "
			       "it: the mark beside the control socket: %s",
			       q->verb == RF_CTL_PAUSE ? "paused" : "not paused any more",
			       strerror(-r));
	else
		rf_client_done(k, RF_EXIT_YES, "%s", "");
}

static void serve_reload(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	int r = c->ops.reload(c->ops.world);

	if (r < 0)
		rf_client_done(k, RF_EXIT_AGAIN, "%s",
			       r == -EBUSY
				       ? "the configuration is being read already: try again"
				       : "the helper that reads the configuration is gone: "
					 "restart ringfenced");
	else
		rf_client_wait(c, k, q, 0);
}

static void serve_status(struct rf_control *c, struct client *k, const struct rf_ctl_request *q)
{
	int v = -1;

	if (q->verb == RF_CTL_VOLUME) {
		v = rf_client_find(c, k, q);
		if (v < 0)
			return;
	}
	c->ops.status(c->ops.world, v, rf_client_row, k);
	if (!k->gone)
		rf_client_done(k, RF_EXIT_YES, "%s", "");
}

/* What is wrong with a packet, or NULL. */
static const char *bad_request(const struct rf_ctl_request *q, ssize_t n)
{
	bool more = n > (ssize_t)sizeof(*q) && n <= (ssize_t)(sizeof(*q) + RF_BLOB_USER_MAX) &&
		    rf_verb_changes(q->verb);

	if ((n != sizeof(*q) && !more) || q->magic != RF_CTL_MAGIC)
		return "not a request of the control protocol";
	if (q->version != RF_CTL_VERSION)
		return "tool and daemon are of different versions: restart the older one";
	if (q->verb < 1 || q->verb > RF_CTL_VERB_LAST)
		return "a request this daemon does not know";
	if (!memchr(q->volume, 0, sizeof(q->volume)))
		return "volume name without an end";
	return NULL;
}

static bool reads_only(uint32_t verb)
{
	return verb == RF_CTL_STATUS || verb == RF_CTL_VOLUME || verb == RF_CTL_WATCH ||
	       verb == RF_CTL_WORK_LIST || verb == RF_CTL_METRICS;
}

static void serve(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		  size_t data_bytes)
{
	if (!k->root && !reads_only(q->verb)) {
		rf_client_done(k, RF_EXIT_PERMISSION, "only root may do this");
		return;
	}
	if (k->waiting || ((k->watch || k->run) && q->verb != RF_CTL_QUIET)) {
		rf_client_done(k, RF_EXIT_BAD_VALUE,
			       "this connection is in use: open another one");
		k->gone = true;
		return;
	}
	if (rf_verb_keeps(q->verb)) {
		rf_client_keep(c, k, q, data_bytes);
		return;
	}
	switch (q->verb) {
	case RF_CTL_STATUS:
	case RF_CTL_VOLUME:
		serve_status(c, k, q);
		break;
	case RF_CTL_METRICS:
		c->ops.metrics(c->ops.world, rf_client_row, k);
		if (!k->gone)
			rf_client_done(k, RF_EXIT_YES, "%s", "");
		break;
	case RF_CTL_WATCH:
		serve_watch(c, k, q);
		break;
	case RF_CTL_RESIGN:
	case RF_CTL_HANDOVER:
		serve_leave(c, k, q);
		break;
	case RF_CTL_RUN:
		serve_run(c, k, q);
		break;
	case RF_CTL_QUIET:
		serve_quiet(c, k, q);
		break;
	case RF_CTL_RELOAD:
		serve_reload(c, k, q);
		break;
	default:
		serve_pause(c, k, q);
		break;
	}
}

static void hear(struct rf_control *c, struct client *k)
{
	for (int i = 0; i < PACKETS_A_TURN && !k->gone && !rf_client_held(c, k); i++) {
		struct rf_ctl_request *q = &c->in.q;
		const char *wrong;
		ssize_t n;

		memset(q, 0, sizeof(*q));
		n = recv(k->fd, &c->in, sizeof(c->in), MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			k->gone = true;
			return;
		}
		wrong = bad_request(q, n);
		if (!wrong) {
			serve(c, k, q, (size_t)n - sizeof(*q));
		} else {
			rf_client_done(k, RF_EXIT_BAD_VALUE, "%s", wrong);
			k->gone = true;
		}
	}
}

/* ---- newcomers ---- */

static struct client *free_seat(struct rf_control *c, bool root)
{
	struct client *found = NULL;
	uint32_t free = 0;

	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		if (c->client[i].fd >= 0)
			continue;
		found = &c->client[i];
		free++;
	}
	return root || free > ROOT_ONLY_CLIENTS ? found : NULL;
}

static bool is_root(int fd)
{
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return false;
	return who.uid == 0 || who.uid == geteuid();
}

static void set_room(int fd)
{
	int bytes = SEND_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void seat_one(struct rf_control *c)
{
	int fd = accept4(c->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *k, turned_away = {.fd = fd};
	struct epoll_event e = {.events = EPOLLIN};
	bool root;

	if (fd < 0)
		return;
	root = is_root(fd);
	k = free_seat(c, root);
	if (!k) {
		rf_client_done(&turned_away, RF_EXIT_AGAIN, "too many clients (%u): try again",
			       RF_CONTROL_CLIENTS_MAX);
		close(fd);
		return;
	}
	set_room(fd);
	memset(k, 0, sizeof(*k));
	k->fd = fd;
	k->root = root;
	e.data.u32 = (uint32_t)(k - c->client);
	if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		leave(c, k);
}

/* ---- the one descriptor ---- */

int rf_control_fd(const struct rf_control *c)
{
	return c->epoll;
}

static void on_client(struct rf_control *c, struct client *k, uint32_t events)
{
	if (k->fd < 0)
		return; /* left earlier in this turn */
	if (events & EPOLLOUT)
		rf_client_pay(c, k);
	if (k->held)
		k->gone |= (events & (EPOLLHUP | EPOLLERR)) != 0;
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		hear(c, k);
}

static void sweep(struct rf_control *c)
{
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		if (c->client[i].fd >= 0 && c->client[i].gone)
			leave(c, &c->client[i]);
}

/* All that epoll has to say at one time; false: nothing. */
static bool turn(struct rf_control *c)
{
	struct epoll_event e[16];
	uint64_t count;
	int n = epoll_wait(c->epoll, e, 16, 0);

	for (int i = 0; i < n; i++) {
		if (e[i].data.u32 < RF_CONTROL_CLIENTS_MAX)
			on_client(c, &c->client[e[i].data.u32], e[i].events);
		else if (e[i].data.u32 == TAG_TIMER)
			expire(c);
		else if (e[i].data.u32 == TAG_DEFER)
			(void)!read(c->defer, &count, sizeof(count));
	}
	sweep(c); /* before newcomers, so that a seat freed now is free */
	for (int i = 0; i < n; i++)
		if (e[i].data.u32 == TAG_LISTEN)
			seat_one(c);
	return n > 0;
}

/* The loop may tell us of changes only: nothing may be left readable, unless we
 * wake ourselves. */
void rf_control_ready(struct rf_control *c)
{
	int turns = TURNS_MAX;

	while (turns && turn(c))
		turns--;
	rf_control_report_quiet(c);
	if (!turns)
		rf_control_wake(c);
}

/* ---- open and close ---- */

static int add(struct rf_control *c, int fd, uint32_t tag)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = tag};

	return fd < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int rf_control_open(struct rf_control **control, const char *path, gid_t gid,
		    const struct rf_control_ops *ops, char *err, size_t bytes)
{
	struct rf_control *c = calloc(1, sizeof(*c));
	int r;

	*control = NULL;
	*err = 0;
	if (!c)
		return -ENOMEM;
	c->ops = *ops;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		c->client[i].fd = -1;
	c->listen = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	c->defer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->listen = rf_listen(path, gid, err, bytes);
	r = c->listen < 0 ? c->listen : 0;
	if (!r)
		snprintf(c->path, sizeof(c->path), "%s", path);
	if (!r && (add(c, c->timer, TAG_TIMER) < 0 || add(c, c->defer, TAG_DEFER) < 0 ||
		   add(c, c->listen, TAG_LISTEN) < 0))
		r = -errno;
	if (r < 0) {
		if (!*err)
			snprintf(err, bytes, "control socket %s: %s", path, strerror(-r));
		rf_control_close(c);
		c = NULL;
	}
	*control = c;
	return r;
}

void rf_control_close(struct rf_control *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		if (c->client[i].fd >= 0)
			close(c->client[i].fd);
	if (c->path[0])
		unlink(c->path);
	if (c->listen >= 0)
		close(c->listen);
	if (c->defer >= 0)
		close(c->defer);
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}
