/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One event in the hook runner: what its scripts get, what they say, how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/hooks_runner.h"

#define LINES_A_SECOND 200

/* ---- output ---- */

void rf_job_say(struct job *j, bool warning, const char *text)
{
	struct hook_reply r = {.kind = HOOK_LINE, .status = warning};

	snprintf(r.from, sizeof(r.from), "%s", j->from);
	snprintf(r.text, sizeof(r.text), "%s", text);
	if (!rf_runner_reply(&r))
		j->dropped++;
}

void rf_job_line_end(struct job *j)
{
	uint64_t now = rf_runner_now_ns();

	j->line[j->len] = 0;
	if (now >= j->second_ns) {
		char text[64];

		snprintf(text, sizeof(text), "%u lines of output dropped", j->dropped);
		if (j->dropped) {
			j->dropped = 0;
			rf_job_say(j, true, text);
		}
		j->second_ns = now + 1000000000u;
		j->lines = 0;
	}
	if (j->len && j->lines++ < LINES_A_SECOND)
		rf_job_say(j, false, j->line);
	else if (j->len)
		j->dropped++;
	j->len = 0;
}

static void take_output(struct job *j, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (data[i] == '\n')
			rf_job_line_end(j);
		else
			j->line[j->len++] = data[i];
		if (j->len == sizeof(j->line) - 1)
			rf_job_line_end(j);
	}
}

/* At most a few pipes full a turn: a hook that never stops writing must not keep
 * us from its limit. */
void rf_job_read_output(struct job *j)
{
	char data[4096];

	for (int i = 0; i < 32 && j->out >= 0; i++) {
		ssize_t n = read(j->out, data, sizeof(data));

		if (n < 0)
			return;
		if (n == 0) {
			close(j->out);
			j->out = -1;
			return;
		}
		take_output(j, data, (size_t)n);
	}
}

/* ---- start ---- */

/* A file without a name that nobody can change any more. -1: none could be made. */
static int sealed(const char *name, const void *bytes, uint32_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if ((n && write(fd, bytes, n) != (ssize_t)n) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) <
		    0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What the event's process gets; -1 = none. */
struct ends {
	struct rf_tree *tree;
	const struct rf_hooks_call *call;
	int out, told, lease, state, work;
};

static void place(int fd, int at)
{
	if (fd >= 0)
		dup2(fd, at);
}

static void event(void *arg)
{
	const struct ends *e = arg;
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	setpgid(0, 0);
	rf_tree_join(e->tree);
	dup2(null, 0);
	dup2(e->out, 1);
	dup2(e->out, 2);
	/* ours are all above: the numbers that scripts see are free to be taken */
	place(e->lease, RF_HOOKS_LEASE_FD);
	place(e->state, RF_HOOKS_STATE_FD);
	place(e->work, RF_HOOKS_WORK_FD);
	close_range(RF_HOOKS_LEASE_FD + 1, RF_HOOKS_STATE_FD - 1, 0);
	close_range(RF_HOOKS_WORK_FD + 1, ~0u, 0);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rf_hooks_event(rf_runner.setup, e->call);
}

/* Out of the way of the numbers that scripts see. */
static int high(int fd)
{
	int to = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RF_HOOKS_STATUS_FD + 1);

	if (fd >= 0)
		close(fd);
	return to;
}

__attribute__((noreturn)) static void child(struct ends *e, pid_t runner)
{
	e->out = high(e->out);
	e->lease = high(e->lease);
	e->state = high(e->state);
	e->work = high(e->work);
	dup2(e->told, RF_HOOKS_STATUS_FD);
	rf_hooks_keeper(runner, e->tree, event, e);
}

static void close_all(const int *fd, int n)
{
	for (int i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Pipes for output, status and lease; 0 or -errno. The scripts' ends are in e. */
static int open_ends(struct job *j, struct ends *e, const struct rf_hooks_call *call)
{
	const struct kept *k = call ? &rf_runner.keep[call->volume % RF_VOLUMES_MAX] : NULL;
	int pipes[6] = {-1, -1, -1, -1, -1, -1};

	*e = (struct ends){.out = -1, .told = -1, .lease = -1, .state = -1, .work = -1};
	if (pipe2(pipes, O_CLOEXEC) < 0 || pipe2(pipes + 2, O_CLOEXEC) < 0 ||
	    pipe2(pipes + 4, O_CLOEXEC) < 0) {
		int err = errno;

		close_all(pipes, 6);
		return -err;
	}
	j->out = pipes[0];
	j->told = pipes[2];
	j->lease = pipes[5];
	fcntl(j->out, F_SETFL, O_NONBLOCK);
	fcntl(j->told, F_SETFL, O_NONBLOCK);
	*e = (struct ends){.call = call,
			   .tree = &j->tree,
			   .out = pipes[1],
			   .told = pipes[3],
			   .lease = pipes[4],
			   .state =
				   k ? sealed("ringfence-state", k->state, k->state_bytes) : -1,
			   .work = k ? sealed("ringfence-work", k->work, k->work_bytes) : -1};
	if (k && (e->state < 0 || e->work < 0))
		return -EMFILE; /* not without what it may have to go on with */
	return 0;
}

void rf_job_close(struct job *j)
{
	close_all((int[]){j->out, j->told, j->lease}, 3);
	j->out = j->told = j->lease = -1;
	rf_tree_end(&j->tree);
}

static void lose_lease(struct job *j)
{
	if (j->lease < 0)
		return;
	(void)!write(j->lease, "", 1);
	close(j->lease); /* readable, and end of file after that byte */
	j->lease = -1;
}

static bool under_lease(const struct rf_hooks_call *c)
{
	return !strcmp(c->event, "reconcile") || !strcmp(c->event, "promote");
}

static void describe(struct job *j, const struct rf_hooks_call *call)
{
	const struct rf_hooks_config *c = &rf_runner.setup->config;

	j->limit_ns = rf_runner_after_ms(call ? c->timeout_ms : c->health_timeout_ms);
	snprintf(j->from, sizeof(j->from), "health");
	if (!call)
		return;
	j->volume = call->volume;
	j->hook = call->hook;
	j->tells = call->tells;
	j->epoch = call->epoch;
	snprintf(j->from, sizeof(j->from), "%s %s", call->event, call->volume_name);
	if (!under_lease(call))
		lose_lease(j);
}

/* call NULL: the health command. */
int rf_job_start(struct job *j, const struct rf_hooks_call *call)
{
	pid_t runner = getpid(), pid = -1;
	char name[64];
	struct ends e;
	int err;

	memset(j, 0, sizeof(*j));
	j->out = j->told = j->lease = -1;
	err = -open_ends(j, &e, call);
	if (!err) {
		snprintf(name, sizeof(name), "ringfence-hooks.%d.%d", (int)runner,
			 (int)(j - rf_runner.job));
		rf_tree_begin(&j->tree, name);
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			child(&e, runner);
		err = errno;
	}
	close_all((int[]){e.out, e.told, e.lease, e.state, e.work}, 5);
	if (pid < 0) {
		rf_job_close(j);
		return -err;
	}
	j->keeper = pid;
	describe(j, call);
	return 0;
}

/* ---- end ---- */

void rf_job_end(struct job *j, int32_t why)
{
	if (j->ended || j->gone)
		return;
	j->ended = why;
	j->kill_ns = rf_runner_after_ms(rf_runner.setup->config.kill_ms);
	lose_lease(j);
	rf_tree_signal(&j->tree, j->keeper, 0, SIGTERM);
}

void rf_job_hear_keeper(struct job *j)
{
	int status;

	if (j->told < 0 || read(j->told, &status, sizeof(status)) != sizeof(status))
		return;
	j->exited = true;
	j->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
