/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence run: a command that runs exactly while this host leads a volume.
 *
 * The daemon says BEGIN; the command starts in a process group of its own. On
 * END (the gate is shut already), or when the connection to the daemon is gone,
 * the group gets SIGTERM, at the end of the grace SIGKILL. QUIET goes to the
 * daemon only when nothing of the command is left (§8): until then it does not
 * release the leadership.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "format/names.h"
#include "job.h"
#include "tool.h"

#define GRACE_MS 10000
#define KILL_AGAIN_MS 100

static uint32_t wait_ms, grace_ms = GRACE_MS;
static bool wait_limited;

static const struct opt opts[] = {
	{"wait", "TIME", "wait so long for the leadership (exit 124); default for ever",
	 OPT_SEC, &wait_ms, &wait_limited},
	{"grace", "TIME", "from SIGTERM to SIGKILL; default 10s", OPT_SEC, &grace_ms, NULL},
	{0},
};

struct run {
	const char *volume;
	int ctl;      /* -1: connection lost */
	int signals;  /* signalfd */
	int lease[2]; /* pipe: the command sees [0], readable once the lease is lost */
	struct rf_ctl_event begin;
	char cluster[RF_NAME_BYTES];
	uint32_t node, cause, lease_ms, hold_ms;
	long long lease_until_ms; /* as the daemon last said; held writes included */
	long long ask_ms;         /* when to ask it again */
	struct job job;
	bool lost;         /* the lease, or the daemon */
	bool ending;       /* SIGTERM was sent */
	long long kill_ms; /* when SIGKILL is due, while ending */
	int stopped_by;    /* signal that ended the waiting */
};

/* ---- signals ---- */

static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

static int signals_open(void)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The next signal, or 0. */
static int signals_next(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static bool ends_waiting(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT;
}

/* ---- before it leads ---- */

/* 1: there is an event in *p; 0: time is up; < 0: connection lost or a signal. */
static int wait_event(struct run *r, union ctl_packet *p, long long until)
{
	struct pollfd f[2] = {{.fd = r->ctl, .events = POLLIN},
			      {.fd = r->signals, .events = POLLIN}};
	int rc, sig;

	for (;;) {
		long long left = wait_limited ? until - rf_boot_ms() : -1;

		rc = ctl_receive(r->ctl, p, 0);
		if (rc)
			return rc;
		if (wait_limited && left <= 0)
			return 0;
		poll(f, 2, (int)left);
		while ((sig = signals_next(r->signals)))
			if (ends_waiting(sig)) {
				r->stopped_by = sig;
				return -EINTR;
			}
	}
}

static int await_begin(struct run *r)
{
	long long until = rf_boot_ms() + wait_ms;
	union ctl_packet p;
	int rc;

	for (;;) {
		rc = wait_event(r, &p, until);
		if (!rc)
			return fail(
				RF_EXIT_TIMED_OUT,
				"%s: this host did not lead within %u ms, the command was not "
				"started",
				r->volume, wait_ms);
		if (r->stopped_by)
			return 128 + r->stopped_by;
		if (rc < 0)
			return ctl_lost(rc);
		if (p.h.kind == RF_CTL_EVENT && p.event.event == RF_CTL_EV_BEGIN)
			break;
	}
	r->begin = p.event;
	return 0;
}

static int subscribe(struct run *r)
{
	struct rf_ctl_request request;
	int rc = ctl_request(&request, RF_CTL_RUN, r->volume);

	if (rc)
		return rc;
	r->ctl = ctl_connect(false);
	if (r->ctl < 0)
		return -r->ctl;
	return ctl_ask_on(r->ctl, &request, NULL, NULL, false);
}

static int learn_area(struct run *r)
{
	struct ctl_status s;
	unsigned i;
	int rc = ctl_status(&s);

	for (i = 0; i < s.volumes && !rc; i++) {
		const struct rf_ctl_area *a;

		if (strcmp(s.volume[i].name, r->volume) || s.volume[i].area >= s.areas)
			continue;
		a = &s.area[s.volume[i].area];
		memcpy(r->cluster, a->cluster, sizeof(r->cluster));
		r->node = a->node;
		r->cause = s.volume[i].cause;
		r->lease_ms = a->lease_ms;
		r->hold_ms = a->hold_ms;
	}
	ctl_status_free(&s);
	return rc;
}

/* ---- the command's surroundings ---- */

__attribute__((format(printf, 2, 3))) static void env(const char *name, const char *fmt, ...)
{
	char value[RF_CTL_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	setenv(name, value, 1);
}

static void surround(void *arg)
{
	const struct run *r = arg;
	const struct rf_ctl_event *e = &r->begin;
	char host[RF_HOST_BYTES] = "";

	fcntl(r->lease[0], F_SETFD, 0);
	env("RINGFENCE_HOOK_API", "1");
	env("RINGFENCE_EVENT", "run");
	env("RINGFENCE_VOLUME", "%s", r->volume);
	env("RINGFENCE_ROLE", "%s", rf_role_word(RF_ROLE_ACTIVE));
	env("RINGFENCE_EPOCH", "%" PRIu64, (uint64_t)e->epoch);
	env("RINGFENCE_PREV_EPOCH", "%" PRIu64, (uint64_t)e->prev_epoch);
	env("RINGFENCE_NODE_ID", "%u", r->node);
	env("RINGFENCE_NODE", "%s", gethostname(host, sizeof(host)) ? "" : host);
	env("RINGFENCE_CLUSTER", "%s", r->cluster);
	env("RINGFENCE_LEADER", "%u", r->node);
	env("RINGFENCE_PREV_LEADER", "%u", e->prev_node);
	env("RINGFENCE_INCARNATION", "%016" PRIx64, (uint64_t)e->incarnation);
	env("RINGFENCE_REASON", "%s", rf_cause_word(r->cause));
	env("RINGFENCE_DESC", "%s", e->text);
	env("RINGFENCE_SEQUENCE", "%" PRIu64, (uint64_t)e->sequence);
	env("RINGFENCE_TIMESTAMP", "%" PRIu64, (uint64_t)e->unix_ns / 1000000000);
	env("RINGFENCE_DEADLINE_MS", "%u", grace_ms);
	env("RINGFENCE_SOCKET", "%s", tool.socket);
	env("RINGFENCE_LEASE_FD", "%d", r->lease[0]);
}

static int start(struct run *r, char **argv)
{
	int rc;

	if (pipe2(r->lease, O_CLOEXEC))
		return fail(RF_EXIT_AGAIN, "pipe: %m");
	rc = job_adopt();
	if (!rc)
		rc = job_start(&r->job, argv, surround, r);
	if (rc)
		return fail(RF_EXIT_AGAIN, "%s: cannot be started: %s", argv[0], strerror(-rc));
	close(r->lease[0]);
	chat("%s: leading epoch %" PRIu64 ", started %s (pid %d)", r->volume,
	     (uint64_t)r->begin.epoch, argv[0], (int)r->job.leader);
	return 0;
}

/* ---- ending it ---- */

static void end_job(struct run *r)
{
	if (r->ending)
		return;
	r->ending = true;
	r->kill_ms = rf_boot_ms() + grace_ms;
	job_signal(&r->job, SIGTERM);
	job_signal(&r->job, SIGCONT); /* a stopped one must see it */
}

static void lose(struct run *r, const char *why)
{
	if (r->lost)
		return;
	r->lost = true;
	note("%s: %s: ending the command", r->volume, why);
	if (write(r->lease[1], "", 1) < 0)
		chat("lease pipe: %m");
	close(r->lease[1]); /* readable, and end of file after that byte */
	end_job(r);
}

/* Killing is repeated: a fork may just have happened between two looks. */
static void kill_when_due(struct run *r)
{
	if (!r->ending || rf_boot_ms() < r->kill_ms)
		return;
	job_signal(&r->job, SIGKILL);
	r->kill_ms = rf_boot_ms() + KILL_AGAIN_MS;
}

/* ---- a daemon that hangs ---- */

struct lease_row {
	struct run *r;
	long long asked_ms;
	bool leads;
};

static void lease_row(void *arg, const union ctl_packet *p)
{
	struct lease_row *l = arg;

	if (p->h.kind != RF_CTL_ROW_VOLUME)
		return;
	l->leads = p->volume.role == RF_ROLE_ACTIVE && p->volume.epoch == l->r->begin.epoch;
	if (l->leads)
		l->r->lease_until_ms =
			l->asked_ms + p->volume.lease_left_ms + (long long)l->r->hold_ms;
}

/*
 * A stopped daemon says no END, and it renews nothing. So it is asked now and
 * then how long the lease lasts, and when it has not said so for that long the
 * lease is gone, whatever the daemon may say later.
 */
static void ask_lease(struct run *r)
{
	struct lease_row l = {.r = r, .asked_ms = rf_boot_ms(), .leads = true};
	struct rf_ctl_request request;
	int fd;

	if (r->lost || l.asked_ms < r->ask_ms)
		return;
	r->ask_ms = l.asked_ms + r->lease_ms / 2;
	fd = ctl_connect(true);
	if (fd >= 0) {
		ctl_request(&request, RF_CTL_VOLUME, r->volume);
		ctl_ask_on(fd, &request, lease_row, &l, true);
		close(fd);
	}
	if (!l.leads)
		lose(r, "this host does not lead any more");
	else if (rf_boot_ms() > r->lease_until_ms)
		lose(r, "the daemon does not answer and the lease has run out");
}

static void expect_lease(struct run *r)
{
	r->lease_until_ms = rf_boot_ms() + r->lease_ms + r->hold_ms;
	r->ask_ms = rf_boot_ms() + r->lease_ms / 2;
}

/* ---- while it runs ---- */

static void hear_daemon(struct run *r)
{
	union ctl_packet p;
	int rc;

	if (r->ctl < 0)
		return;
	while ((rc = ctl_receive(r->ctl, &p, 0)) > 0)
		if (p.h.kind == RF_CTL_EVENT && p.event.event == RF_CTL_EV_END)
			lose(r, p.event.text[0] ? p.event.text : "the lease is lost");
	if (rc < 0) {
		close(r->ctl);
		r->ctl = -1;
		lose(r, "the connection to the daemon is lost");
	}
}

static void hear_signals(struct run *r)
{
	int sig;

	while ((sig = signals_next(r->signals)))
		if (sig != SIGCHLD && !r->job.gone)
			job_signal(&r->job, sig);
	job_reap(&r->job);
	/* nothing of it may outlive the command itself */
	if (r->job.leader_done && !r->job.gone)
		end_job(r);
}

static int next_look_ms(const struct run *r)
{
	long long at = r->lost ? r->kill_ms : r->ask_ms, left;

	if (r->ending && r->kill_ms < at)
		at = r->kill_ms;
	left = at - rf_boot_ms();
	return left > 0 ? (int)left : 0;
}

static void supervise(struct run *r)
{
	while (!r->job.gone) {
		struct pollfd f[2] = {{.fd = r->signals, .events = POLLIN},
				      {.fd = r->ctl, .events = POLLIN}};

		poll(f, r->ctl < 0 ? 1 : 2, next_look_ms(r));
		hear_daemon(r);
		hear_signals(r);
		if (!r->job.gone) {
			ask_lease(r);
			kill_when_due(r);
		}
	}
	hear_daemon(r);
}

static void say_quiet(struct run *r)
{
	struct rf_ctl_request request;
	union ctl_packet p;

	if (r->ctl < 0)
		return;
	ctl_request(&request, RF_CTL_QUIET, r->volume);
	request.epoch = r->begin.epoch;
	if (!ctl_send(r->ctl, &request))
		ctl_receive(r->ctl, &p, CTL_ANSWER_MS);
	close(r->ctl);
	r->ctl = -1;
}

static int run_under(struct run *r, char **argv)
{
	int rc = await_begin(r);

	if (!rc)
		rc = learn_area(r);
	if (!rc)
		rc = start(r, argv);
	if (rc)
		return rc;
	expect_lease(r);
	supervise(r);
	say_quiet(r);
	return r->lost ? RF_EXIT_LEASE_LOST : job_exit_code(&r->job);
}

static int run(int argc, char **argv)
{
	struct run r = {.volume = argv[0], .ctl = -1};
	int rc;

	if (argc < 2)
		return fail(RF_EXIT_USAGE,
			    "what? ringfence run VOLUME -- COMMAND [ARGUMENT...]");
	r.signals = signals_open();
	if (r.signals < 0)
		return fail(RF_EXIT_AGAIN, "signalfd: %m");
	rc = subscribe(&r);
	if (!rc)
		rc = run_under(&r, argv + 1);
	if (r.ctl >= 0)
		close(r.ctl);
	close(r.signals);
	return rc;
}

const struct command cmd_run = {
	.name = "run",
	.args = "VOLUME -- COMMAND [ARGUMENT...]",
	.brief = "run a command exactly while this host leads the volume",
	.opts = opts,
	.min_args = 2,
	.max_args = 4096,
	.run = run,
};
