/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hook runner: a process with normal priority that starts, watches and ends
 * what the user wrote. One queue, in order; per volume one event at a time. A
 * cancel is an entry of the same queue: when its turn comes, nothing that was
 * asked before it is alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/hooks_wire.h"

#define JOBS_MAX 65 /* the last one is for the health command */
#define HEALTH (JOBS_MAX - 1)
#define QUEUE_MAX 1024
#define QUEUE_RUNS_MAX 512 /* the rest is for cancels, which are never refused */
#define LINES_A_SECOND 200
#define CHECK_MS 20 /* how often a group without a leader is looked at */

struct job {
	pid_t group; /* 0 = free */
	uint32_t volume, hook;
	uint64_t epoch;
	int out; /* its output, -1 = closed */
	int32_t status;
	bool exited;   /* its leader did */
	bool gone;     /* the whole group is; only the report is missing */
	int32_t ended; /* why we ended it: 0, -ETIME, -ECANCELED */
	bool killed;
	uint64_t limit_ns, kill_ns;
	uint64_t second_ns;
	uint32_t lines, dropped;
	size_t len;
	char from[RF_NAME_BYTES + 24];
	char line[RF_HOOKS_LINE_BYTES];
};

static struct {
	const struct hook_setup *setup;
	int fd, signals;
	bool daemon_gone;
	struct job job[JOBS_MAX];
	uint32_t count;
	uint16_t order[QUEUE_MAX]; /* entries in use, oldest first */
	bool used[QUEUE_MAX];
	struct hook_request entry[QUEUE_MAX];
	uint64_t health_ns; /* when to run it next */
	bool health_said;
} me;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t after_ms(uint32_t ms)
{
	return now_ns() + ms * 1000000ull;
}

/* False: no room now. What must not be lost is tried again. */
static bool reply(const struct hook_reply *r)
{
	if (me.daemon_gone)
		return true;
	if (send(me.fd, r, sizeof(*r), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*r))
		return true;
	if (errno == EAGAIN || errno == ENOBUFS)
		return false;
	me.daemon_gone = true;
	return true;
}

/* ---- output ---- */

static void say(struct job *j, bool warning, const char *text)
{
	struct hook_reply r = {.kind = HOOK_LINE, .status = warning};

	snprintf(r.from, sizeof(r.from), "%s", j->from);
	snprintf(r.text, sizeof(r.text), "%s", text);
	if (!reply(&r))
		j->dropped++;
}

static void line_end(struct job *j)
{
	uint64_t now = now_ns();

	j->line[j->len] = 0;
	if (now >= j->second_ns) {
		char text[64];

		snprintf(text, sizeof(text), "%u lines of output dropped", j->dropped);
		if (j->dropped) {
			j->dropped = 0;
			say(j, true, text);
		}
		j->second_ns = now + 1000000000u;
		j->lines = 0;
	}
	if (j->len && j->lines++ < LINES_A_SECOND)
		say(j, false, j->line);
	else if (j->len)
		j->dropped++;
	j->len = 0;
}

static void take_output(struct job *j, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (data[i] == '\n')
			line_end(j);
		else
			j->line[j->len++] = data[i];
		if (j->len == sizeof(j->line) - 1)
			line_end(j);
	}
}

/* At most a few pipes full a turn: a hook that never stops writing must not keep
 * us from its limit. */
static void read_output(struct job *j)
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

__attribute__((noreturn)) static void child(int out, const struct rf_hooks_call *call)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	setpgid(0, 0);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	close_range(3, ~0u, 0);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rf_hooks_event(me.setup, call);
}

/* call NULL: the health command. */
static int start(struct job *j, const struct rf_hooks_call *call)
{
	const struct rf_hooks_config *c = &me.setup->config;
	int out[2], err;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	memset(j, 0, sizeof(*j));
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child(out[1], call);
	err = errno;
	close(out[1]);
	if (pid < 0) {
		close(out[0]);
		return -err;
	}
	setpgid(pid, pid); /* also here: the group must exist before we may end it */
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	j->group = pid;
	j->out = out[0];
	j->limit_ns = after_ms(call ? c->timeout_ms : c->health_timeout_ms);
	if (call) {
		j->volume = call->volume;
		j->hook = call->hook;
		j->epoch = call->epoch;
		snprintf(j->from, sizeof(j->from), "%s %s", call->event, call->volume_name);
	} else {
		snprintf(j->from, sizeof(j->from), "health");
	}
	return 0;
}

/* ---- end ---- */

static bool group_alive(const struct job *j)
{
	return kill(-j->group, 0) == 0 || errno != ESRCH;
}

static void end(struct job *j, int32_t why)
{
	if (j->ended || j->gone)
		return;
	j->ended = why;
	j->kill_ns = after_ms(me.setup->config.kill_ms);
	kill(-j->group, SIGTERM);
}

static bool report(struct job *j, int32_t status)
{
	struct hook_reply r = {
		.kind = HOOK_DONE,
		.volume = j->volume,
		.hook = j->hook,
		.epoch = j->epoch,
		.status = status,
	};

	return reply(&r);
}

static bool report_health(bool good)
{
	struct hook_reply r = {.kind = HOOK_HEALTH, .status = good};

	return reply(&r);
}

static void check_limits(struct job *j, bool health)
{
	uint64_t now = now_ns();

	if (!j->ended && now >= j->limit_ns) {
		say(j, true,
		    j->exited ? "left processes behind: ending them"
			      : "took longer than its limit: ending it");
		if (health)
			me.health_said = report_health(false); /* also if it never ends */
		end(j, -ETIME);
	}
	if (j->ended && !j->killed && now >= j->kill_ns) {
		say(j, true, "did not end at SIGTERM: SIGKILL");
		j->killed = true;
	}
	if (j->killed) /* again and again: it may have forked in between */
		kill(-j->group, SIGKILL);
}

static void finish(struct job *j, bool health)
{
	int32_t status = j->ended ? j->ended : j->status;

	if (!j->gone) {
		if (!j->exited || group_alive(j))
			return;
		j->gone = true;
		read_output(j);
		line_end(j);
		if (j->out >= 0)
			close(j->out);
		j->out = -1;
	}
	if (health ? !me.health_said && !report_health(status == 0) : !report(j, status))
		return;
	j->group = 0;
}

static void reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(me.signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < JOBS_MAX; i++) {
			struct job *j = &me.job[i];

			if (j->group != pid || j->exited)
				continue;
			j->exited = true;
			j->status = WIFEXITED(status) ? WEXITSTATUS(status)
						      : 128 + WTERMSIG(status);
		}
	}
}

static void tend(void)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *j = &me.job[i];

		if (!j->group)
			continue;
		read_output(j);
		if (!j->gone)
			check_limits(j, i == HEALTH);
		finish(j, i == HEALTH);
	}
}

/* ---- the queue ---- */

static struct hook_request *at(uint32_t i)
{
	return &me.entry[me.order[i]];
}

static void drop(uint32_t i)
{
	me.used[me.order[i]] = false;
	me.count--;
	memmove(&me.order[i], &me.order[i + 1], (me.count - i) * sizeof(me.order[0]));
}

static void put(const struct hook_request *q)
{
	uint16_t slot = 0;

	while (me.used[slot])
		slot++;
	me.used[slot] = true;
	me.entry[slot] = *q;
	me.order[me.count++] = slot;
}

static struct job *running(uint32_t volume)
{
	for (int i = 0; i < HEALTH; i++)
		if (me.job[i].group && me.job[i].volume == volume)
			return &me.job[i];
	return NULL;
}

static bool not_run(const struct rf_hooks_call *c, int32_t why)
{
	struct job j = {.volume = c->volume, .hook = c->hook, .epoch = c->epoch};

	return report(&j, why);
}

static void cancel(const struct hook_request *q)
{
	struct job *j = running(q->call.volume);

	if (j)
		end(j, -ECANCELED);
	for (uint32_t i = 0; i < me.count;) {
		struct hook_request *e = at(i);

		if (e->call.volume != q->call.volume) {
			i++;
		} else if (e->verb == HOOK_CANCEL) { /* this one answers for it too */
			drop(i);
		} else {
			not_run(&e->call, -ECANCELED);
			drop(i);
		}
	}
	put(q);
}

static void take(const struct hook_request *q)
{
	if (q->verb == HOOK_CANCEL)
		cancel(q);
	else if (me.count < QUEUE_RUNS_MAX)
		put(q);
	else
		not_run(&q->call, -EIO);
}

static bool earlier_waits(uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (at(k)->call.volume == at(i)->call.volume)
			return true;
	return false;
}

/* True when entry i is through. */
static bool serve(uint32_t i)
{
	struct hook_request *e = at(i);
	struct hook_reply quiet = {
		.kind = HOOK_QUIET, .volume = e->call.volume, .epoch = e->call.epoch};
	int free = 0;

	if (running(e->call.volume) || earlier_waits(i))
		return false;
	if (e->verb == HOOK_CANCEL)
		return reply(&quiet);
	while (free < HEALTH && me.job[free].group)
		free++;
	if (free == HEALTH)
		return false;
	return start(&me.job[free], &e->call) == 0 || not_run(&e->call, -EIO);
}

static void advance(void)
{
	for (uint32_t i = 0; i < me.count;) {
		if (serve(i))
			drop(i);
		else
			i++;
	}
}

static void hear(void)
{
	struct hook_request q;
	ssize_t n;

	while ((n = recv(me.fd, &q, sizeof(q), MSG_DONTWAIT)) > 0)
		if (n == sizeof(q))
			take(&q);
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		me.daemon_gone = true;
}

/* ---- health ---- */

static void advance_health(void)
{
	const struct rf_hooks_config *c = &me.setup->config;
	struct job *j = &me.job[HEALTH];

	if (!*c->health_command || j->group || now_ns() < me.health_ns)
		return;
	me.health_ns = after_ms(c->health_interval_ms);
	me.health_said = false;
	if (start(j, NULL) < 0) {
		memset(j, 0, sizeof(*j));
		report_health(false);
	}
}

/* ---- the loop ---- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int wait_ms(void)
{
	uint64_t at_ns = UINT64_MAX, now = now_ns();

	if (*me.setup->config.health_command && !me.job[HEALTH].group)
		at_ns = me.health_ns;
	for (int i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &me.job[i];

		if (!j->group)
			continue;
		at_ns = sooner(at_ns, j->ended ? j->kill_ns : j->limit_ns);
		if (j->exited || j->killed)
			at_ns = sooner(at_ns, now + CHECK_MS * 1000000ull);
	}
	for (uint32_t i = 0; i < me.count; i++) /* an answer that found no room */
		if (!running(at(i)->call.volume))
			at_ns = sooner(at_ns, now + CHECK_MS * 1000000ull);
	if (at_ns == UINT64_MAX)
		return -1;
	return at_ns <= now ? 0 : (int)((at_ns - now) / 1000000u) + 1;
}

static void wait_for_something(void)
{
	struct pollfd p[JOBS_MAX + 2] = {
		{.fd = me.daemon_gone ? -1 : me.fd, .events = POLLIN},
		{.fd = me.signals, .events = POLLIN},
	};

	for (int i = 0; i < JOBS_MAX; i++)
		p[i + 2] = (struct pollfd){.fd = me.job[i].group ? me.job[i].out : -1,
					   .events = POLLIN};
	if (poll(p, JOBS_MAX + 2, wait_ms()) < 0)
		return;
	if (p[0].revents)
		hear();
	reap();
}

/* The daemon is gone: nothing it asked for may live on. */
__attribute__((noreturn)) static void end_all(void)
{
	bool alive = true;

	me.count = 0;
	for (int i = 0; i < JOBS_MAX; i++)
		if (me.job[i].group)
			end(&me.job[i], -ECANCELED);
	while (alive) {
		alive = false;
		tend();
		for (int i = 0; i < JOBS_MAX; i++)
			alive = alive || me.job[i].group;
		if (alive)
			wait_for_something();
	}
	_exit(0);
}

static void become_ordinary(void)
{
	struct sched_param none = {0};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	sched_setscheduler(0, SCHED_OTHER, &none);
	if (fd >= 0) {
		(void)!write(fd, "0", 1);
		close(fd);
	}
	prctl(PR_SET_NAME, "ringfence-hooks");
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans of a script stay ours to wait for */
}

void rf_hooks_runner(const struct hook_setup *setup, int fd)
{
	sigset_t chld;

	me.setup = setup;
	me.fd = fd;
	become_ordinary();
	signal(SIGTERM, SIG_IGN); /* the end of the daemon ends us, and only that */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	me.signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (me.signals < 0)
		_exit(1);
	while (!me.daemon_gone) {
		tend();
		advance();
		advance_health();
		wait_for_something();
	}
	end_all();
}
