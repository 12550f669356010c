/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfenced: parse, load, build (start.c), lock memory, take priority, run until the
 * last node has left, end.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon.h"
#include "fencers.h"
#include "format/assert.h"
#include "format/timing.h"
#include "io/notify.h"
#include "log.h"
#include "pause.h"
#include "reload.h"
#include "reopen.h"
#include "service.h"

#define RR_PRIORITY 1

static struct daemon daemon_;

/* A failed assertion is safe: renewals end, the gate shuts at its deadline. */
void rf_assert_failed(const char *what, const char *file, int line)
{
	rf_log_async(NULL, NULL);
	rf_log(RF_LOG_ERR,
	       "assertion failed: %s (%s:%d): ending; gates shut at their deadlines. Please "
	       "report this line",
	       what, file, line);
	abort();
}

/* ---- command line ---- */

struct options {
	const char *config, *socket;
	bool check;
};

static void usage(FILE *f)
{
	fputs("Usage: ringfenced [-c FILE] [--socket PATH] [--check-config]\n"
	      "Protects shared block devices: elects one leader a volume and fences the rest.\n"
	      "\n"
	      "  -c, --config FILE   configuration (default " RF_CONFIG_PATH ")\n"
	      "  -s, --socket PATH   control socket (default " RF_CTL_PATH ")\n"
	      "  -t, --check-config  read the configuration, say what is wrong, exit\n"
	      "  -h, --help          this text\n"
	      "  -V, --version       version\n"
	      "\n"
	      "It stays in the foreground. SIGTERM leaves all volumes cleanly, SIGHUP reads "
	      "the\n"
	      "configuration again, as `ringfence reload` does. See ringfenced(8).\n",
	      f);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"socket", required_argument, NULL, 's'},
		{"check-config", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*o = (struct options){.config = RF_CONFIG_PATH, .socket = RF_CTL_PATH};
	while ((c = getopt_long(argc, argv, "c:s:thV", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 't':
			o->check = true;
			break;
		case 'h':
			usage(stdout);
			exit(RF_EXIT_YES);
		case 'V':
			puts("ringfenced " RF_VERSION);
			exit(RF_EXIT_YES);
		default:
			usage(stderr);
			exit(RF_EXIT_USAGE);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(RF_EXIT_USAGE);
	}
}

static void warn_config(void *arg, const char *line)
{
	(void)arg;
	rf_log(RF_LOG_WARNING, "%s", line);
}

/* ---- configuration, keys ---- */

static int load(struct daemon *d, const struct options *o)
{
	char err[512];

	if (rf_config_load(&d->config, o->config, warn_config, NULL, err, sizeof(err)) != 0)
		return rf_give_up(RF_EXIT_CONFIG, err);
	if (rf_log_open(d->config.log_file, d->config.log_level) != 0)
		return rf_give_up(RF_EXIT_CONFIG, "the log file cannot be opened");
	if (rf_keys_load(&d->keys, d->config.key_file, err, sizeof(err)) != 0)
		return rf_give_up(RF_EXIT_CONFIG, err);
	return RF_EXIT_YES;
}

/* ---- control socket, hooks, signals ---- */

static void ready(struct rf_op *op, int res, bool more)
{
	struct daemon *d = op->owner;
	bool control = op == &d->control_op;

	if (res >= 0) {
		if (control)
			rf_control_ready(d->control);
		else
			rf_hooks_ready(d->hooks);
	}
	if (!more)
		rf_loop_poll(d->loop, op,
			     control ? rf_control_fd(d->control) : rf_hooks_fd(d->hooks));
}

/* A gate that does not drain, or work that does not end, must not hold the host up. */
static void leave_anyway(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	(void)now_ns;
	rf_log(RF_LOG_ERR,
	       "leaving without having closed every volume (see above): this "
	       "node's slot says that its gate may be open, peers wait for the lease");
	rf_loop_stop(d->loop);
}

/* What a clean end may take: a gate to expire, then every hook with its limits. */
static uint64_t leave_limit_ms(const struct daemon *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->parts; i++) {
		const struct rf_timing *t = &d->part[i]->area.super.timing;
		uint64_t ms = (uint64_t)t->lease_ms + t->hold_ms + t->grace_ms;

		most = ms > most ? ms : most;
	}
	return most + 2ull * d->config.hooks_timeout_ms + d->config.hooks_kill_ms + 5000;
}

static void leave(struct daemon *d)
{
	struct rf_event e = {.kind = RF_EV_ADMIN};

	if (d->leaving) { /* asked twice: now */
		rf_loop_stop(d->loop);
		return;
	}
	d->leaving = true;
	d->leave = (struct rf_timer){.fire = leave_anyway, .owner = d};
	rf_loop_timer(d->loop, &d->leave, rf_loop_clock_ns() + leave_limit_ms(d) * RF_MS_NS);
	rf_notify_stopping();
	rf_notify_extend(leave_limit_ms(d) + 5000);
	rf_service_tell(d);
	e.admin.verb = RF_ADMIN_SHUTDOWN;
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
}

static void signalled(struct rf_op *op, int res, bool more)
{
	struct daemon *d = op->owner;
	struct signalfd_siginfo info;

	while (res >= 0 && read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			rf_reload_signalled(d);
		else
			leave(d);
	}
	if (!more)
		rf_loop_poll(d->loop, op, d->signal_fd);
}

static int open_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signal_fd < 0 ? rf_give_up(RF_EXIT_AGAIN, strerror(errno)) : RF_EXIT_YES;
}

/* ---- the machine: memory, priority, out-of-memory killer ---- */

/* All of it, code too: the disk it would be read from may be the one that hangs. */
static void take_memory(struct daemon *d)
{
	d->memory_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	if (!d->memory_locked)
		rf_log(RF_LOG_WARNING,
		       "memory cannot be locked (%s): under memory pressure a renewal may come "
		       "late; raise LimitMEMLOCK",
		       strerror(errno));
}

static void take_priority(struct daemon *d)
{
	struct sched_param p = {.sched_priority = RR_PRIORITY};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "-1000", 5) != 5)
		rf_log(RF_LOG_WARNING, "the out-of-memory killer may choose this process: %s",
		       strerror(errno));
	if (fd >= 0)
		close(fd);
	d->realtime = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) == 0;
	if (!d->realtime)
		rf_log(RF_LOG_WARNING,
		       "no real-time priority (%s): on a busy host a renewal may come late; "
		       "raise "
		       "LimitRTPRIO or move the daemon out of its cgroup",
		       strerror(errno));
}

/* ---- running ---- */

static int log_start(void *arg, int fd, const void *data, size_t len)
{
	struct daemon *d = arg;

	rf_loop_write(d->loop, &d->log_op, fd, data, len);
	return 0;
}

static void log_done(struct rf_op *op, int res, bool more)
{
	(void)op;
	(void)more;
	rf_log_written(res);
}

static void pet(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	rf_notify_watchdog();
	rf_loop_timer(d->loop, t, now_ns + d->watchdog_ns);
}

static void attach(struct daemon *d)
{
	d->control_op = (struct rf_op){.done = ready, .owner = d};
	d->hooks_op = (struct rf_op){.done = ready, .owner = d};
	d->signal_op = (struct rf_op){.done = signalled, .owner = d};
	d->log_op = (struct rf_op){.done = log_done, .owner = d};
	rf_loop_poll(d->loop, &d->control_op, rf_control_fd(d->control));
	rf_loop_poll(d->loop, &d->hooks_op, rf_hooks_fd(d->hooks));
	rf_loop_poll(d->loop, &d->signal_op, d->signal_fd);
	rf_fencers_attach(d);
	rf_reopen_attach(d);
	rf_reload_attach(d);
	d->counters = (struct rf_timer){.fire = rf_bind_counters, .owner = d};
	rf_loop_timer(d->loop, &d->counters, rf_loop_clock_ns());
	rf_guard_attach(d);
	rf_service_attach(d);
	d->watchdog = (struct rf_timer){.fire = pet, .owner = d};
	d->watchdog_ns = rf_notify_watchdog_ns();
	if (d->watchdog_ns)
		rf_loop_timer(d->loop, &d->watchdog, rf_loop_clock_ns() + d->watchdog_ns);
}

/* Everything is there; from here on nothing is allocated. */
static int run(struct daemon *d)
{
	struct rf_event e = {.kind = RF_EV_TICK};
	int rc, code = RF_EXIT_YES;

	attach(d);
	take_memory(d);
	take_priority(d);
	rf_log(RF_LOG_INFO, "ringfenced %s node=%u cluster=%s areas=%u volumes=%u", RF_VERSION,
	       d->config.node, d->config.cluster, d->parts, d->config.volumes);
	rf_log_async(log_start, d);
	rf_tell_start(d);
	rf_pause_start(d);
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
	rc = rf_loop_run(d->loop);
	rf_log_async(NULL, NULL);
	if (rc < 0)
		return rf_give_up(RF_EXIT_IO, "the event loop failed: io_uring gave an error");
	for (uint32_t i = 0; i < d->parts; i++)
		if (d->part[i]->reason != RF_CAUSE_SHUTDOWN)
			code = RF_EXIT_UNSAFE;
	return code;
}

/* The marks of lives that left cleanly, or did not even begin. */
static void end_lives(struct daemon *d)
{
	for (uint32_t i = 0; i < d->parts; i++)
		if (d->part[i]->left)
			rf_life_end(d->part[i]->life);
}

static void end(struct daemon *d)
{
	rf_control_close(d->control);
	rf_hooks_stop(d->hooks);
	rf_reopen_stop(d);
	rf_reload_stop(d);
	rf_fencers_stop(d);
	rf_loop_close(d->loop);
	rf_notify_close();
}

int main(int argc, char **argv)
{
	struct daemon *d = &daemon_;
	struct options o;
	int code;

	parse(argc, argv, &o);
	rf_log_open("", RF_LOG_INFO);
	code = load(d, &o);
	if (code || o.check) {
		if (!code)
			printf("%s: good\n", o.config);
		return code;
	}
	d->started_ns = rf_loop_clock_ns();
	rf_pause_open(d, o.socket);
	rf_notify_open();
	code = open_signals(d);
	if (!code)
		code = rf_start(d, o.config, o.socket);
	if (code) {
		end_lives(d);
		return code;
	}
	code = run(d);
	rf_guard_stop(d);
	end_lives(d);
	end(d);
	return code;
}
