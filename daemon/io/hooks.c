/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the hook runner. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/hooks_wire.h"

#define ROOM_BYTES (4 << 20)

struct rf_hooks {
	struct rf_hooks_ops ops;
	int fd;
	pid_t pid;
	bool died;
};

static int find_user(struct rf_hooks_setup *s, char *err, size_t bytes)
{
	const struct passwd *p;

	if (!*s->config.user)
		return 0;
	errno = 0;
	p = getpwnam(s->config.user);
	if (!p) {
		snprintf(err, bytes, "[hooks] user = %s: no such user", s->config.user);
		return -EINVAL;
	}
	s->change_user = p->pw_uid != geteuid();
	s->uid = p->pw_uid;
	s->gid = p->pw_gid;
	s->groups = RF_HOOKS_GROUPS_MAX;
	if (getgrouplist(p->pw_name, p->pw_gid, s->group, &s->groups) < 0)
		s->groups = RF_HOOKS_GROUPS_MAX; /* the first ones */
	return 0;
}

static void set_room(int fd)
{
	int bytes = ROOM_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

__attribute__((noreturn)) static void become_runner(const struct rf_hooks_setup *setup, int fd)
{
	if (fd != 3)
		dup2(fd, 3);
	close_range(4, ~0u, 0);
	rf_hooks_runner(setup, 3);
}

static int start(struct rf_hooks *h, const struct rf_hooks_setup *setup)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	set_room(pair[0]);
	set_room(pair[1]);
	h->pid = fork();
	if (h->pid == 0)
		become_runner(setup, pair[1]);
	close(pair[1]);
	if (h->pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	h->fd = pair[0];
	return 0;
}

int rf_hooks_prepare(struct rf_hooks_setup *setup, const struct rf_hooks_config *config,
		     char *err, size_t bytes)
{
	*setup = (struct rf_hooks_setup){.config = *config};
	return find_user(setup, err, bytes);
}

int rf_hooks_start(struct rf_hooks **hooks, const struct rf_hooks_config *config,
		   const struct rf_hooks_ops *ops, char *err, size_t bytes)
{
	struct rf_hooks_setup setup;
	struct rf_hooks *h = NULL;
	int r = rf_hooks_prepare(&setup, config, err, bytes);

	*hooks = NULL;
	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	r = h ? start(h, &setup) : -ENOMEM;
	if (r < 0) {
		snprintf(err, bytes, "cannot start the hook runner: %s", strerror(-r));
		free(h);
		return r;
	}
	h->ops = *ops;
	*hooks = h;
	return 0;
}

void rf_hooks_stop(struct rf_hooks *h)
{
	if (!h)
		return;
	shutdown(h->fd, SHUT_RDWR); /* the ring may hold the file a while longer */
	close(h->fd);               /* the runner ends all groups, then itself */
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(h);
}

int rf_hooks_fd(const struct rf_hooks *h)
{
	return h->fd;
}

static int ask(struct rf_hooks *h, const void *packet, size_t bytes)
{
	if (h->died)
		return -EPIPE;
	if (send(h->fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes)
		return 0;
	return -errno;
}

int rf_hooks_configure(struct rf_hooks *h, const struct rf_hooks_setup *setup)
{
	struct hook_change q = {.verb = HOOK_SETUP, .setup = *setup};

	return ask(h, &q, sizeof(q));
}

int rf_hooks_run(struct rf_hooks *h, const struct rf_hooks_call *call)
{
	struct hook_request q = {.verb = HOOK_RUN, .call = *call};

	return ask(h, &q, sizeof(q));
}

int rf_hooks_keep(struct rf_hooks *h, uint32_t volume, const void *state, uint32_t state_bytes,
		  const void *work, uint32_t work_bytes)
{
	struct hook_keep k = {HOOK_KEEP, volume, state_bytes, work_bytes};
	struct iovec part[3] = {
		{&k, sizeof(k)}, {(void *)state, state_bytes}, {(void *)work, work_bytes}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = 3};

	if (h->died)
		return -EPIPE;
	if (state_bytes > RF_HOOKS_KEEP_MAX || work_bytes > RF_HOOKS_KEEP_MAX - state_bytes)
		return -EMSGSIZE;
	return sendmsg(h->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int rf_hooks_cancel(struct rf_hooks *h, uint32_t volume, uint64_t epoch)
{
	struct hook_request q = {.verb = HOOK_CANCEL};

	q.call.volume = volume;
	q.call.epoch = epoch;
	return ask(h, &q, sizeof(q));
}

static void take(struct rf_hooks *h, const struct hook_reply *r)
{
	const struct rf_hooks_ops *o = &h->ops;

	switch (r->kind) {
	case HOOK_DONE:
		o->done(o->world, r->volume, r->hook, r->epoch, r->status);
		break;
	case HOOK_QUIET:
		o->quiet(o->world, r->volume, r->epoch);
		break;
	case HOOK_LINE:
		o->line(o->world, r->status != 0, r->from, r->text);
		break;
	case HOOK_HEALTH:
		o->health(o->world, r->status != 0);
		break;
	}
}

/* A dead end is readable for ever: nobody shall be woken by it again. */
static void silence(struct rf_hooks *h)
{
	int never = eventfd(0, EFD_CLOEXEC);

	if (never < 0)
		return;
	dup3(never, h->fd, O_CLOEXEC);
	close(never);
}

void rf_hooks_ready(struct rf_hooks *h)
{
	struct hook_reply r;
	ssize_t n;

	if (h->died)
		return;
	while ((n = recv(h->fd, &r, sizeof(r), MSG_DONTWAIT)) > 0)
		if (n == sizeof(r))
			take(h, &r);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	h->died = true;
	silence(h);
	h->ops.died(h->ops.world);
}
