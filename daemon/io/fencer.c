/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of a fencer, see fencer.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fencer.h"

#define ASKED_MAX 16u
#define STOP_MS 4000

struct asked {
	uint64_t id; /* 0 = free */
	uint64_t until_ns, epoch;
	uint32_t verb;
};

struct rf_fencer {
	struct rf_fencer_ops ops;
	struct rf_loop *loop;
	struct rf_op op;
	struct rf_timer timer;
	struct asked asked[ASKED_MAX];
	uint64_t next_id;
	uint32_t volume;
	pid_t pid; /* a child; 0 = adopted, */
	int pidfd; /* then this is it */
	int fd;
};

extern char **environ;

/* ---- starting ---- */

int rf_fencer_spawn(char *const *argv, int theirs, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, theirs, RF_FENCE_FD);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

int rf_fencer_start(struct rf_fencer **fencer, char *const *argv, uint32_t volume,
		    const struct rf_fencer_ops *ops, char *err, size_t n)
{
	struct rf_fencer *f = calloc(1, sizeof(*f));
	int pair[2], rc;

	if (!f || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		rc = f ? -errno : -ENOMEM;
		snprintf(err, n, "fencer of volume %u: %s", volume, strerror(-rc));
		free(f);
		return rc;
	}
	f->ops = *ops;
	f->volume = volume;
	f->fd = pair[0];
	f->pidfd = -1;
	f->next_id = RF_FENCE_SHUT_ID + 1;
	rc = rf_fencer_spawn(argv, pair[1], &f->pid);
	close(pair[1]);
	if (rc) {
		snprintf(err, n, "%s cannot be started: %s", argv[0], strerror(-rc));
		close(f->fd);
		free(f);
		return rc;
	}
	fcntl(f->fd, F_SETFL, O_NONBLOCK);
	*fencer = f;
	return 0;
}

/* ---- requests and their limits ---- */

static void arm(struct rf_fencer *f)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (f->asked[i].id && (!at || f->asked[i].until_ns < at))
			at = f->asked[i].until_ns;
	rf_loop_timer(f->loop, &f->timer, at);
}

static void fail(struct rf_fencer *f, struct asked *a, int error, const char *text)
{
	struct rf_fence_reply r = {.magic = RF_FENCE_MAGIC,
				   .verb = a->verb,
				   .id = a->id,
				   .epoch = a->epoch,
				   .result = RF_FENCE_FAILED,
				   .error = error};

	a->id = 0;
	snprintf(r.text, sizeof(r.text), "%s", text);
	f->ops.answer(f->ops.owner, f->volume, &r);
}

static void expire(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_fencer *f = t->owner;

	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (f->asked[i].id && f->asked[i].until_ns <= now_ns)
			fail(f, &f->asked[i], ETIMEDOUT, "the fencer did not answer in time");
	arm(f);
}

int rf_fencer_ask(struct rf_fencer *f, const struct rf_fence_request *request,
		  uint64_t limit_ns)
{
	struct rf_fence_request r = *request;
	struct asked *a = NULL;

	if (f->fd < 0)
		return -EPIPE;
	for (uint32_t i = 0; i < ASKED_MAX && !a; i++)
		if (!f->asked[i].id)
			a = &f->asked[i];
	if (!a)
		return -EAGAIN;
	r.magic = RF_FENCE_MAGIC;
	r.id = f->next_id++;
	if (send(f->fd, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(r))
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	*a = (struct asked){.id = r.id,
			    .until_ns = rf_loop_clock_ns() + limit_ns,
			    .epoch = r.epoch,
			    .verb = r.verb};
	arm(f);
	return 0;
}

/* ---- answers ---- */

static void take(struct rf_fencer *f, struct rf_fence_reply *r)
{
	bool expected = false;

	r->driver[sizeof(r->driver) - 1] = 0;
	r->text[sizeof(r->text) - 1] = 0;
	if (r->verb == 0 && r->id == RF_FENCE_HELLO_ID) {
		if (r->result == RF_FENCE_OK)
			f->ops.can(f->ops.owner, f->volume, r->can, r->driver);
		else
			f->ops.failed(f->ops.owner, f->volume, r->driver, r->text);
		return;
	}
	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (f->asked[i].id == r->id && f->asked[i].verb == r->verb) {
			/* who asked waits for an answer about the epoch it named: not about
			 * the newer one of a STALE, nor one that lay there before */
			r->epoch = f->asked[i].epoch;
			f->asked[i].id = 0;
			expected = true;
		}
	/* late: only "drained" still means something */
	if (expected || r->verb == 0 ||
	    (r->verb == RF_FENCE_REVOKE && r->result == RF_FENCE_OK))
		f->ops.answer(f->ops.owner, f->volume, r);
}

static void die(struct rf_fencer *f)
{
	close(f->fd);
	f->fd = -1;
	f->ops.died(f->ops.owner, f->volume);
	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (f->asked[i].id)
			fail(f, &f->asked[i], EPIPE, "the fencer died");
	arm(f);
}

static void readable(struct rf_op *op, int res, bool more)
{
	struct rf_fencer *f = op->owner;
	struct rf_fence_reply r;
	ssize_t n = 0;

	if (f->fd < 0)
		return;
	while ((n = recv(f->fd, &r, sizeof(r), MSG_DONTWAIT)) > 0)
		if (n == (ssize_t)sizeof(r) && r.magic == RF_FENCE_MAGIC)
			take(f, &r);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || res < 0) {
		die(f);
		return;
	}
	arm(f);
	if (!more)
		rf_loop_poll(f->loop, &f->op, f->fd);
}

void rf_fencer_attach(struct rf_fencer *f, struct rf_loop *loop)
{
	f->loop = loop;
	f->op = (struct rf_op){.done = readable, .owner = f};
	f->timer = (struct rf_timer){.fire = expire, .owner = f};
	rf_loop_poll(loop, &f->op, f->fd);
}

void rf_fencer_adopt(struct rf_fencer *f, int fd, int pidfd)
{
	if (f->fd >= 0) { /* there is one */
		close(fd);
		close(pidfd);
		return;
	}
	if (f->pid)
		waitpid(f->pid, NULL, WNOHANG);
	f->pid = 0;
	if (f->pidfd >= 0)
		close(f->pidfd);
	f->pidfd = pidfd;
	f->fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	rf_loop_poll(f->loop, &f->op, fd);
}

static bool gone(const struct rf_fencer *f)
{
	struct pollfd p = {.fd = f->pidfd, .events = POLLIN};

	return f->pid ? waitpid(f->pid, NULL, WNOHANG) != 0 : poll(&p, 1, 0) != 0;
}

/* The loop has ended: a bounded wait, then the hard way. */
void rf_fencer_stop(struct rf_fencer *f)
{
	if (f->fd >= 0) {
		shutdown(f->fd, SHUT_RDWR); /* the ring may hold the file a while longer */
		close(f->fd);
	}
	for (int ms = 0; ms < STOP_MS && !gone(f); ms += 10)
		poll(NULL, 0, 10);
	if (!gone(f) && f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	} else if (!f->pid) {
		pidfd_send_signal(f->pidfd, SIGKILL, NULL, 0);
		close(f->pidfd);
	}
	free(f);
}
