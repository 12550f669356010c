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
#include <unistd.h>

#include "clock.h"
#include "io/hooks_runner.h"

#define CHECK_MS 20 /* how often one that is being killed is looked at */

struct rf_runner rf_runner;

uint64_t rf_runner_now_ns(void)
{
	return rf_clock_ns(CLOCK_MONOTONIC);
}

uint64_t rf_runner_after_ms(uint32_t ms)
{
	return rf_runner_now_ns() + ms * 1000000ull;
}

bool rf_runner_reply(const struct hook_reply *r)
{
	if (rf_runner.daemon_gone)
		return true;
	if (send(rf_runner.fd, r, sizeof(*r), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*r))
		return true;
	if (errno == EAGAIN || errno == ENOBUFS)
		return false;
	rf_runner.daemon_gone = true;
	return true;
}

/* ---- end ---- */

static bool report(struct job *j, int32_t status)
{
	struct hook_reply r = {
		.kind = HOOK_DONE,
		.volume = j->volume,
		.hook = j->hook,
		.epoch = j->epoch,
		.status = status,
	};

	return rf_runner_reply(&r);
}

static bool report_health(bool good)
{
	struct hook_reply r = {.kind = HOOK_HEALTH, .status = good};

	return rf_runner_reply(&r);
}

static void check_limits(struct job *j, bool health)
{
	uint64_t now = rf_runner_now_ns();

	if (!j->ended && now >= j->limit_ns) {
		rf_job_say(j, true,
			   j->exited ? "left processes behind: ending them"
				     : "took longer than its limit: ending it");
		if (health && !rf_runner.health_said)
			rf_runner.health_said =
				report_health(false); /* also if it never ends */
		rf_job_end(j, -ETIME);
	}
	if (j->ended && !j->killed && now >= j->kill_ns) {
		rf_job_say(j, true, "did not end at SIGTERM: SIGKILL");
		j->killed = true;
	}
	/* Again and again: it may have forked in between. And a keeper that somebody
	 * killed cannot keep what the cgroup still names. */
	if (j->killed || j->kept)
		rf_tree_signal(&j->tree, j->keeper, 0, SIGKILL);
}

static void finish(struct job *j, bool health)
{
	int32_t status = j->ended ? j->ended : j->status;

	if (!j->gone) {
		if (!j->kept || !rf_tree_empty(&j->tree))
			return;
		j->gone = true;
		rf_job_read_output(j);
		rf_job_line_end(j);
		rf_job_close(j);
	}
	if (health ? !rf_runner.health_said && !report_health(status == 0) : !report(j, status))
		return;
	j->keeper = 0;
}

static void reap(void)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(rf_runner.signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		for (int i = 0; i < JOBS_MAX; i++) {
			struct job *j = &rf_runner.job[i];

			if (j->keeper != pid || j->kept)
				continue;
			j->kept = true;
			rf_job_hear_keeper(j);
			if (!j->exited)
				j->status = 128 + SIGKILL; /* whoever ended the keeper */
			j->exited = true;
		}
	}
}

static void tend(void)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *j = &rf_runner.job[i];

		if (!j->keeper)
			continue;
		rf_job_read_output(j);
		if (!j->exited)
			rf_job_hear_keeper(j);
		if (!j->gone)
			check_limits(j, i == HEALTH);
		finish(j, i == HEALTH);
	}
}

/* ---- the queue ---- */

static struct hook_request *at(uint32_t i)
{
	return &rf_runner.entry[rf_runner.order[i]];
}

static void drop(uint32_t i)
{
	rf_runner.used[rf_runner.order[i]] = false;
	rf_runner.count--;
	memmove(&rf_runner.order[i], &rf_runner.order[i + 1],
		(rf_runner.count - i) * sizeof(rf_runner.order[0]));
}

static void put(const struct hook_request *q)
{
	uint16_t slot = 0;

	while (rf_runner.used[slot])
		slot++;
	rf_runner.used[slot] = true;
	rf_runner.entry[slot] = *q;
	rf_runner.order[rf_runner.count++] = slot;
}

/* Events of a leadership are one after the other; so are, beside them, those that tell. */
static bool same_row(const struct rf_hooks_call *a, const struct rf_hooks_call *b)
{
	return a->volume == b->volume && a->tells == b->tells;
}

static struct job *running(const struct rf_hooks_call *c)
{
	int first = c->tells ? TELLS : 0, end = c->tells ? HEALTH : TELLS;

	for (int i = first; i < end; i++)
		if (rf_runner.job[i].keeper && rf_runner.job[i].volume == c->volume)
			return &rf_runner.job[i];
	return NULL;
}

static bool not_run(const struct rf_hooks_call *c, int32_t why)
{
	struct job j = {.volume = c->volume, .hook = c->hook, .epoch = c->epoch};

	return report(&j, why);
}

static void cancel(const struct hook_request *q)
{
	struct job *j = running(&q->call);

	if (j)
		rf_job_end(j, -ECANCELED);
	for (uint32_t i = 0; i < rf_runner.count;) {
		struct hook_request *e = at(i);

		if (!same_row(&e->call, &q->call)) {
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
	else if (rf_runner.count < (q->call.tells ? QUEUE_TELLS_MAX : QUEUE_RUNS_MAX))
		put(q);
	else
		not_run(&q->call, -EIO);
}

static bool earlier_waits(uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (same_row(&at(k)->call, &at(i)->call))
			return true;
	return false;
}

/* True when entry i is through. */
static bool serve(uint32_t i)
{
	struct hook_request *e = at(i);
	struct hook_reply quiet = {
		.kind = HOOK_QUIET, .volume = e->call.volume, .epoch = e->call.epoch};
	int free = e->call.tells ? TELLS : 0, end = e->call.tells ? HEALTH : TELLS;

	if (running(&e->call) || earlier_waits(i))
		return false;
	if (e->verb == HOOK_CANCEL)
		return rf_runner_reply(&quiet);
	if (rf_hooks_none(rf_runner.setup, &e->call)) /* a failover waits for nothing */
		return not_run(&e->call, 0);
	while (free < end && rf_runner.job[free].keeper)
		free++;
	if (free == end)
		return false;
	return rf_job_start(&rf_runner.job[free], &e->call) == 0 || not_run(&e->call, -EIO);
}

static void advance(void)
{
	for (uint32_t i = 0; i < rf_runner.count;) {
		if (serve(i))
			drop(i);
		else
			i++;
	}
}

/* A copy; without memory the old one is not kept either: the event does not begin. */
static void replace(void **old, uint32_t *bytes, const void *with, uint32_t n)
{
	void *copy = n ? malloc(n) : NULL;

	free(*old);
	if (copy)
		memcpy(copy, with, n);
	*old = copy;
	*bytes = n; /* without memory: makes sealed() fail */
}

static void take_keep(const struct hook_keep *k, size_t n)
{
	struct kept *to = &rf_runner.keep[k->volume % RF_VOLUMES_MAX];
	const uint8_t *bytes = (const void *)(k + 1);

	if (n < sizeof(*k) || k->state_bytes > RF_HOOKS_KEEP_MAX ||
	    n != sizeof(*k) + (size_t)k->state_bytes + k->work_bytes)
		return;
	replace(&to->state, &to->state_bytes, bytes, k->state_bytes);
	replace(&to->work, &to->work_bytes, bytes + k->state_bytes, k->work_bytes);
}

static void take_setup(const struct rf_hooks_setup *setup)
{
	static struct rf_hooks_setup now; /* an event that runs has a copy of the old one */
	const char *was = rf_runner.setup->config.health_command;
	bool gone = *was && !*setup->config.health_command;

	now = *setup;
	rf_runner.setup = &now;
	rf_runner.health_ns = rf_runner_now_ns();
	rf_runner.health_said |= gone; /* one that still runs has nothing to say any more */
	rf_runner.health_lift |= gone;
}

static void hear(void)
{
	static union {
		struct hook_request q;
		struct hook_change change;
		struct hook_keep keep;
		uint8_t room[sizeof(struct hook_keep) + RF_HOOKS_KEEP_MAX];
	} in;
	ssize_t n;

	while ((n = recv(rf_runner.fd, &in, sizeof(in), MSG_DONTWAIT)) > 0)
		if (in.keep.verb == HOOK_KEEP)
			take_keep(&in.keep, (size_t)n);
		else if (in.change.verb == HOOK_SETUP && n == sizeof(in.change))
			take_setup(&in.change.setup);
		else if (n == sizeof(in.q))
			take(&in.q);
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		rf_runner.daemon_gone = true;
}

/* ---- health ---- */

static void advance_health(void)
{
	const struct rf_hooks_config *c = &rf_runner.setup->config;
	struct job *j = &rf_runner.job[HEALTH];

	if (rf_runner.health_lift)
		rf_runner.health_lift = !report_health(true);
	if (!*c->health_command || j->keeper || rf_runner_now_ns() < rf_runner.health_ns)
		return;
	rf_runner.health_ns = rf_runner_after_ms(c->health_interval_ms);
	rf_runner.health_said = false;
	if (rf_job_start(j, NULL) < 0) {
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
	uint64_t at_ns = UINT64_MAX, now = rf_runner_now_ns();

	if (*rf_runner.setup->config.health_command && !rf_runner.job[HEALTH].keeper)
		at_ns = rf_runner.health_ns;
	for (int i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &rf_runner.job[i];

		if (!j->keeper)
			continue;
		at_ns = sooner(at_ns, j->ended ? j->kill_ns : j->limit_ns);
		if (j->kept || j->killed)
			at_ns = sooner(at_ns, now + CHECK_MS * 1000000ull);
	}
	for (uint32_t i = 0; i < rf_runner.count; i++) /* an answer that found no room */
		if (!running(&at(i)->call))
			at_ns = sooner(at_ns, now + CHECK_MS * 1000000ull);
	if (at_ns == UINT64_MAX)
		return -1;
	return at_ns <= now ? 0 : (int)((at_ns - now) / 1000000u) + 1;
}

static void wait_for_something(void)
{
	struct pollfd p[2 * JOBS_MAX + 2] = {
		{.fd = rf_runner.daemon_gone ? -1 : rf_runner.fd, .events = POLLIN},
		{.fd = rf_runner.signals, .events = POLLIN},
	};

	for (int i = 0; i < JOBS_MAX; i++) {
		const struct job *j = &rf_runner.job[i];

		p[i + 2] = (struct pollfd){.fd = j->keeper ? j->out : -1, .events = POLLIN};
		p[i + 2 + JOBS_MAX] = (struct pollfd){
			.fd = j->keeper && !j->exited ? j->told : -1, .events = POLLIN};
	}
	if (poll(p, 2 * JOBS_MAX + 2, wait_ms()) < 0)
		return;
	if (p[0].revents)
		hear();
	reap();
}

/* The daemon is gone: nothing it asked for may live on. */
__attribute__((noreturn)) static void end_all(void)
{
	bool alive = true;

	rf_runner.count = 0;
	for (int i = 0; i < JOBS_MAX; i++)
		if (rf_runner.job[i].keeper)
			rf_job_end(&rf_runner.job[i], -ECANCELED);
	while (alive) {
		alive = false;
		tend();
		for (int i = 0; i < JOBS_MAX; i++)
			alive = alive || rf_runner.job[i].keeper;
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

void rf_hooks_runner(const struct rf_hooks_setup *setup, int fd)
{
	sigset_t chld;

	rf_runner.setup = setup;
	rf_runner.fd = fd;
	become_ordinary();
	signal(SIGTERM, SIG_IGN); /* the end of the daemon ends us, and only that */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	rf_runner.signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (rf_runner.signals < 0)
		_exit(1);
	while (!rf_runner.daemon_gone) {
		tend();
		advance();
		advance_health();
		if (!rf_runner.daemon_gone) /* an answer may have found nobody */
			wait_for_something();
	}
	end_all();
}
