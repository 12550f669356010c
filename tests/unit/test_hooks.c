/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks: real scripts, some of which do not want to end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/hooks_wire.h"

#define LIMIT_MS 10000

static char dir[64], hooks_dir[96], err[512];
static struct rf_hooks *hooks;
static struct rf_hooks_config config;

/* ---- what came back ---- */

static struct {
	char text[65536]; /* "done 3 5 0\n", "quiet 0 5\n", "line FROM: TEXT\n" … */
	unsigned done, quiet, health, died;
} world;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t n = strlen(world.text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(world.text + n, sizeof(world.text) - n, format, ap);
	va_end(ap);
}

static void on_done(void *w, uint32_t volume, uint32_t hook, uint64_t epoch, int32_t status)
{
	(void)w;
	(void)volume;
	note("done %u %u %d\n", hook, (unsigned)epoch, status);
	world.done++;
}

static void on_quiet(void *w, uint32_t volume, uint64_t epoch)
{
	(void)w;
	note("quiet %u %u\n", volume, (unsigned)epoch);
	world.quiet++;
}

static void on_line(void *w, bool warning, const char *from, const char *text)
{
	(void)w;
	note("%s %s: %s\n", warning ? "warn" : "line", from, text);
}

static void on_health(void *w, bool good)
{
	(void)w;
	note("health %d\n", good);
	world.health++;
}

static void on_died(void *w)
{
	(void)w;
	world.died++;
}

static const struct rf_hooks_ops ops = {NULL, on_done, on_quiet, on_line, on_health, on_died};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Serves until *what reaches count, or a line holds `text`. */
static void until(const unsigned *what, unsigned count, const char *text)
{
	uint64_t limit = now_ms() + LIMIT_MS;

	while (what ? *what < count : !strstr(world.text, text)) {
		struct pollfd p = {.fd = rf_hooks_fd(hooks), .events = POLLIN};

		if (now_ms() > limit)
			fail_msg("waited too long; so far:\n%s", world.text);
		if (poll(&p, 1, 20) > 0)
			rf_hooks_ready(hooks);
	}
}

static bool saw(const char *what)
{
	return strstr(world.text, what) != NULL;
}

/* ---- scripts ---- */

static void script(const char *name, mode_t mode, const char *body)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", hooks_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void begin(void)
{
	assert_int_equal(rf_hooks_start(&hooks, &config, &ops, err, sizeof(err)), 0);
}

static void run(uint32_t volume, uint32_t hook, const char *event, uint64_t epoch)
{
	struct rf_hooks_call c = {
		.volume = volume,
		.hook = hook,
		.node = 2,
		.leader = 2,
		.prev_leader = 1,
		.epoch = epoch,
		.prev_epoch = epoch - 1,
		.sequence = 17,
		.unix_ns = 1700000000ull * 1000000000u,
		.role = "active",
		.prev_role = "reconciling",
		.reason = "silence",
		.cluster = "prod",
		.host = "hostb",
		.device = "/dev/mapper/v",
		.desc = "node 2 leads",
	};

	snprintf(c.event, sizeof(c.event), "%s", event);
	snprintf(c.volume_name, sizeof(c.volume_name), "v%u", volume);
	assert_int_equal(rf_hooks_run(hooks, &c), 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	snprintf(dir, sizeof(dir), "/tmp/rf-hooks-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	chmod(dir, 0755);
	snprintf(hooks_dir, sizeof(hooks_dir), "%s/hooks.d", dir);
	config = (struct rf_hooks_config){.timeout_ms = LIMIT_MS, .kill_ms = 100};
	snprintf(config.dir, sizeof(config.dir), "%s", hooks_dir);
	return mkdir(hooks_dir, 0755);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	rf_hooks_stop(hooks);
	hooks = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- order, arguments, environment ---- */

static void runs_in_order_with_all_it_promises(void **state)
{
	char sub[128];

	(void)state;
	snprintf(sub, sizeof(sub), "%s/v0", hooks_dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	script("20-second", 0755, "echo second");
	script("10-first", 0755,
	       "echo \"args $*\"; env | grep RINGFENCE_ | sort; echo to-stderr >&2");
	script("30-not-executable", 0644, "echo never");
	script("40-backup~", 0755, "echo never");
	script("v0/10-own", 0755, "echo own; pwd");
	begin();
	run(0, 2, "promote", 7);
	until(&world.done, 1, NULL);
	assert_string_equal(world.text,
			    "line promote v0: args promote v0 active 7\n"
			    "line promote v0: RINGFENCE_CLUSTER=prod\n"
			    "line promote v0: RINGFENCE_DEADLINE_MS=10000\n"
			    "line promote v0: RINGFENCE_DESC=node 2 leads\n"
			    "line promote v0: RINGFENCE_DEVICE=/dev/mapper/v\n"
			    "line promote v0: RINGFENCE_EPOCH=7\n"
			    "line promote v0: RINGFENCE_EVENT=promote\n"
			    "line promote v0: RINGFENCE_HOOK_API=1\n"
			    "line promote v0: RINGFENCE_LEADER=2\n"
			    "line promote v0: RINGFENCE_LEASE_FD=3\n"
			    "line promote v0: RINGFENCE_NODE=hostb\n"
			    "line promote v0: RINGFENCE_NODE_ID=2\n"
			    "line promote v0: RINGFENCE_PREV_EPOCH=6\n"
			    "line promote v0: RINGFENCE_PREV_LEADER=1\n"
			    "line promote v0: RINGFENCE_PREV_ROLE=reconciling\n"
			    "line promote v0: RINGFENCE_REASON=silence\n"
			    "line promote v0: RINGFENCE_ROLE=active\n"
			    "line promote v0: RINGFENCE_SEQUENCE=17\n"
			    "line promote v0: RINGFENCE_STATE_FILE=/proc/self/fd/20\n"
			    "line promote v0: RINGFENCE_TIMESTAMP=2023-11-14T22:13:20Z\n"
			    "line promote v0: RINGFENCE_VOLUME=v0\n"
			    "line promote v0: RINGFENCE_WORK_FILE=/proc/self/fd/21\n"
			    "line promote v0: to-stderr\n"
			    "line promote v0: second\n"
			    "line promote v0: own\n"
			    "line promote v0: /\n"
			    "done 2 7 0\n");
}

static void no_directory_is_no_hook(void **state)
{
	(void)state;
	rmdir(hooks_dir);
	begin();
	run(0, 1, "reconcile", 1);
	until(&world.done, 1, NULL);
	assert_string_equal(world.text, "done 1 1 0\n");
}

static void reports_the_first_failure(void **state)
{
	(void)state;
	script("10-bad", 0755, "exit 3");
	script("20-after", 0755, "echo after; exit 4");
	begin();
	run(0, 3, "demote", 1);
	until(&world.done, 1, NULL);
	assert_true(saw("done 3 1 3\n"));
	assert_true(saw("10-bad ended with status 3"));
	assert_true(saw("line demote v0: after"));
	world.text[0] = 0;
	run(0, 1, "reconcile", 2); /* refused: what follows is not run */
	until(&world.done, 2, NULL);
	assert_true(saw("done 1 2 3\n"));
	assert_false(saw("after"));
}

static void serial_per_volume_parallel_over_volumes(void **state)
{
	char fifo[128], body[400];

	(void)state;
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	/* On v0 a promote waits until v1's opens the other end: only in parallel. */
	snprintf(body, sizeof(body),
		 "echo begin; case $1$2 in promotev0) read x <%s;; promotev1) echo >%s;; esac; "
		 "echo "
		 "end",
		 fifo, fifo);
	script("10-x", 0755, body);
	begin();
	run(0, 2, "promote", 1);
	run(0, 3, "demote", 1);
	until(NULL, 0, "line promote v0: begin\n");
	run(1, 2, "promote", 1);
	until(&world.done, 3, NULL);
	assert_true(strstr(world.text, "promote v0: end") <
		    strstr(world.text, "demote v0: begin"));
	assert_true(strstr(world.text, "done 2 1 0") < strstr(world.text, "demote v0: begin"));
}

/* ---- who is obeyed ---- */

static void refuses_what_others_can_write(void **state)
{
	char expect[256];

	(void)state;
	script("10-open", 0757, "echo never");
	script("20-group", 0775, "echo never");
	script("30-good", 0755, "echo good");
	begin();
	run(0, 2, "promote", 1);
	until(&world.done, 1, NULL);
	snprintf(expect, sizeof(expect),
		 "refused: %s/10-open: writable by everybody (mode 0757, bit 0002)\n",
		 hooks_dir);
	assert_true(saw(expect));
	snprintf(expect, sizeof(expect),
		 "refused: %s/20-group: writable by its group (mode 0775, bit 0020)\n",
		 hooks_dir);
	assert_true(saw(expect));
	assert_true(saw("line promote v0: good"));
	assert_false(saw("never"));
	assert_true(saw("done 2 1 126\n"));
}

static void refuses_a_foreign_owner_and_an_open_directory(void **state)
{
	char path[160], expect[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	script("10-foreign", 0755, "echo never");
	snprintf(path, sizeof(path), "%s/10-foreign", hooks_dir);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(rf_hooks_trusted(path, err, sizeof(err)), -EPERM);
	snprintf(expect, sizeof(expect), "%s: owned by uid 65534: must be owned by root", path);
	assert_string_equal(err, expect);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(rf_hooks_trusted(path, err, sizeof(err)), 0);
	chmod(dir, 0777); /* a directory above it */
	assert_int_equal(rf_hooks_trusted(path, err, sizeof(err)), -EPERM);
	snprintf(expect, sizeof(expect), "%s: writable by everybody (mode 0777, bit 0002)",
		 dir);
	assert_string_equal(err, expect);
	begin();
	run(0, 1, "reconcile", 1);
	until(&world.done, 1, NULL);
	assert_true(saw("done 1 1 126\n"));
}

static void runs_as_the_user_it_is_told(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(config.user, sizeof(config.user), "no-such-user-here");
	assert_int_equal(rf_hooks_start(&hooks, &config, &ops, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "[hooks] user = no-such-user-here: no such user");
	snprintf(config.user, sizeof(config.user), "nobody");
	script("10-id", 0755, "id -un; id -u");
	begin();
	run(0, 2, "promote", 1);
	until(&world.done, 1, NULL);
	assert_true(saw("line promote v0: nobody\n"));
	assert_false(saw("line promote v0: 0\n"));
}

/* ---- those that do not end ---- */

static void ends_what_takes_too_long(void **state)
{
	(void)state;
	config.timeout_ms = 50;
	script("10-long", 0755,
	       "trap 'echo got TERM; exit 9' TERM; echo begin; while :; do sleep "
	       "0.01; done");
	begin();
	run(0, 1, "reconcile", 1);
	until(&world.done, 1, NULL);
	assert_true(saw("warn reconcile v0: took longer than its limit"));
	assert_true(saw("done 1 1 -62\n")); /* -ETIME, whatever it exits with */
}

static pid_t pid_in(const char *marker)
{
	const char *at = strstr(world.text, marker);

	assert_non_null(at);
	return (pid_t)atoi(at + strlen(marker));
}

static void cancel_ends_even_those_that_ignore_it(void **state)
{
	pid_t stubborn, grandchild;

	(void)state;
	script("10-stubborn", 0755,
	       "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo grandchild=$!; "
	       "echo pid=$$; while :; do sleep 1; done");
	begin();
	run(0, 2, "promote", 5);
	until(NULL, 0, "pid=");
	stubborn = pid_in("pid=");
	grandchild = pid_in("grandchild=");
	run(0, 9, "unstarted", 5); /* waits behind it: cancelled too */
	assert_int_equal(rf_hooks_cancel(hooks, 0, 5), 0);
	script("10-stubborn", 0755, "echo calm");
	run(0, 3, "demote", 5); /* asked after the cancel: runs */
	until(&world.quiet, 1, NULL);
	assert_int_equal(kill(stubborn, 0), -1);
	assert_int_equal(kill(grandchild, 0), -1);
	assert_true(saw("warn promote v0: did not end at SIGTERM: SIGKILL"));
	assert_true(saw("done 2 5 -125\n")); /* -ECANCELED */
	assert_true(saw("done 9 5 -125\n"));
	assert_false(saw("unstarted"));
	until(&world.done, 3, NULL);
	assert_true(saw("quiet 0 5\n"));
	assert_true(strstr(world.text, "quiet 0 5") < strstr(world.text, "demote v0: calm"));
	assert_true(saw("done 3 5 0\n"));
}

static void cancel_finds_those_that_went_away(void **state)
{
	pid_t away;

	(void)state;
	script("10-away", 0755,
	       "setsid sh -c 'trap \"\" TERM; setsid sh -c \"trap \\\"\\\" TERM; echo "
	       "away=\\$\\$; "
	       "exec sleep 1000\" & sleep 0.2' & while :; do sleep 1; done");
	begin();
	run(0, 2, "promote", 5);
	until(NULL, 0, "away=");
	away = pid_in("away=");
	assert_int_equal(rf_hooks_cancel(hooks, 0, 5), 0);
	until(&world.quiet, 1, NULL);
	assert_int_equal(kill(away, 0), -1);
}

/* Without a cgroup, too: this process does not see where they are from here on. */
static void finds_them_without_a_cgroup(void **state)
{
	char line[512], at[256], type[16];
	FILE *f;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		skip();
	do {
		*at = 0;
		f = fopen("/proc/self/mounts", "re");
		while (f && !*at && fgets(line, sizeof(line), f))
			if (sscanf(line, "%*s %255s %15s", at, type) != 2 ||
			    strcmp(type, "cgroup2") != 0)
				*at = 0;
		if (f)
			fclose(f);
	} while (*at && umount2(at, MNT_DETACH) == 0);
	assert_string_equal(at, "");
	cancel_finds_those_that_went_away(state);
}

/* What it keeps, and a descriptor that says when the lease is lost. */
static void gets_state_work_and_lease(void **state)
{
	(void)state;
	script("10-keep", 0755,
	       "trap '' TERM\n"
	       "echo state=$(cat $RINGFENCE_STATE_FILE) work=$(cat $RINGFENCE_WORK_FILE)\n"
	       "echo x 2>/dev/null >$RINGFENCE_STATE_FILE && echo could write\n"
	       "test $1 = promote && read -r x <&$RINGFENCE_LEASE_FD; echo "
	       "woken");
	begin();
	run(0, 1, "reconcile", 5);
	until(&world.done, 1, NULL);
	assert_true(saw("line reconcile v0: state= work=\n"));
	assert_int_equal(rf_hooks_keep(hooks, 0, "blob", 4, "job\t1", 5), 0);
	assert_int_equal(rf_hooks_keep(hooks, 1, "other", 5, "", 0), 0);
	run(0, 2, "promote", 5);
	until(NULL, 0, "state=blob work=job 1");
	assert_false(saw("could write"));
	assert_int_equal(rf_hooks_cancel(hooks, 0, 5), 0);
	until(NULL, 0, "promote v0: woken");
	until(&world.quiet, 1, NULL);
	assert_int_equal(rf_hooks_keep(hooks, 0, "", RF_HOOKS_KEEP_MAX, "x", 1), -EMSGSIZE);
}

/* Beside the events of a leadership, and not ended with it. */
static void tells_beside_a_leadership(void **state)
{
	struct rf_hooks_call c = {.tells = true, .event = "leader-change", .volume_name = "v0"};
	char body[256];

	(void)state;
	snprintf(body, sizeof(body),
		 "if test $1 = promote; then while :; do sleep 0.05; done; fi; "
		 "while ! test -e %s/go; do sleep 0.01; done; echo told",
		 dir);
	script("10-tell", 0755, body);
	begin();
	run(0, 2, "promote", 5);
	assert_int_equal(rf_hooks_run(hooks, &c), 0);
	assert_int_equal(rf_hooks_run(hooks, &c), 0);
	assert_int_equal(rf_hooks_cancel(hooks, 0, 5), 0);
	until(&world.quiet, 1, NULL);
	assert_int_equal(world.done, 1); /* the promote */
	snprintf(body, sizeof(body), "%s/go", dir);
	close(open(body, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	until(&world.done, 3, NULL);
	assert_true(saw("line leader-change v0: told\ndone 0 0 0\n"));
}

static void cancel_of_nothing_is_quiet_at_once(void **state)
{
	(void)state;
	begin();
	assert_int_equal(rf_hooks_cancel(hooks, 3, 8), 0);
	until(&world.quiet, 1, NULL);
	assert_string_equal(world.text, "quiet 3 8\n");
}

static void is_over_when_the_whole_group_is_gone(void **state)
{
	pid_t orphan;

	(void)state;
	config.timeout_ms = 200;
	script("10-forks", 0755, "sleep 1000 >/dev/null 2>&1 & echo orphan=$!; exit 0");
	begin();
	run(0, 2, "promote", 1);
	until(NULL, 0, "orphan=");
	orphan = pid_in("orphan=");
	assert_int_equal(kill(orphan, 0), 0);
	assert_int_equal(world.done, 0);
	until(&world.done, 1, NULL);
	assert_int_equal(kill(orphan, 0), -1);
	assert_true(saw("warn promote v0: left processes behind: ending them"));
	assert_true(saw("done 2 1 -62\n"));
}

static void endless_output_drowns_nobody(void **state)
{
	unsigned lines = 0;

	(void)state;
	config.timeout_ms = 300;
	script("10-flood", 0755, "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyy; done");
	begin();
	run(0, 2, "promote", 1);
	until(&world.done, 1, NULL);
	for (const char *p = world.text; (p = strstr(p, "yyyy\n")); p++)
		lines++;
	assert_true(lines >= 100 && lines <= 600);
}

static void nothing_survives_the_daemon(void **state)
{
	pid_t pid;

	(void)state;
	script("10-stubborn", 0755, "trap '' TERM; echo pid=$$; while :; do sleep 1; done");
	begin();
	run(0, 2, "promote", 1);
	until(NULL, 0, "pid=");
	pid = pid_in("pid=");
	assert_int_equal(kill(pid, 0), 0);
	rf_hooks_stop(hooks);
	hooks = NULL;
	assert_int_equal(kill(pid, 0), -1);
}

static pid_t child_of_me(void)
{
	char path[64], name[32];
	pid_t found = 0;
	DIR *d = opendir("/proc");
	struct dirent *e;

	while ((e = readdir(d))) {
		FILE *f;
		int ppid = 0;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", e->d_name);
		f = atoi(e->d_name) ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%*d (%30[^)]) %*c %d", name, &ppid) == 2 && ppid == getpid() &&
		    !strcmp(name, "ringfence-hooks"))
			found = atoi(e->d_name);
		fclose(f);
	}
	closedir(d);
	return found;
}

static void a_dead_runner_is_never_quiet(void **state)
{
	pid_t runner, pid;
	uint64_t limit = now_ms() + LIMIT_MS;

	(void)state;
	script("10-long", 0755, "echo pid=$$; while :; do sleep 0.1; done");
	begin();
	run(0, 2, "promote", 1);
	until(NULL, 0, "pid=");
	pid = pid_in("pid=");
	runner = child_of_me();
	assert_true(runner > 0);
	kill(runner, SIGKILL);
	until(&world.died, 1, NULL);
	assert_int_equal(world.quiet, 0);
	assert_int_equal(world.done, 0);
	assert_int_equal(rf_hooks_cancel(hooks, 0, 1), -EPIPE);
	assert_int_equal(
		poll(&(struct pollfd){.fd = rf_hooks_fd(hooks), .events = POLLIN}, 1, 0),
		0);                                   /* said once, and silent then */
	while (kill(pid, 0) == 0 && now_ms() < limit) /* its scripts go with it */
		poll(NULL, 0, 5);
	assert_int_equal(kill(pid, 0), -1);
}

/* The daemon dies between a request and its answer: nobody reads what is said. */
static void ends_when_its_answer_finds_nobody(void **state)
{
	uint64_t limit = now_ms() + LIMIT_MS;
	siginfo_t ended = {0};
	pid_t runner = 0;

	(void)state;
	begin();
	while (!runner && now_ms() < limit) /* it names itself */
		runner = child_of_me();
	assert_true(runner > 0);
	shutdown(rf_hooks_fd(hooks), SHUT_RD);
	run(0, 2, "promote", 1); /* no script: answered at once */
	while (ended.si_pid == 0 && now_ms() < limit) {
		waitid(P_PID, (id_t)runner, &ended, WEXITED | WNOHANG | WNOWAIT);
		poll(NULL, 0, 5);
	}
	if (ended.si_pid != runner)
		kill(runner, SIGKILL);
	assert_int_equal(ended.si_pid, runner);
}

/* ---- CASES 25: the user's health command ---- */

static void health_says_good_and_bad(void **state)
{
	char flag[96];

	(void)state;
	snprintf(flag, sizeof(flag), "%s/good", dir);
	snprintf(config.health_command, sizeof(config.health_command), "test -e %s", flag);
	config.health_interval_ms = 20;
	config.health_timeout_ms = LIMIT_MS;
	begin();
	until(NULL, 0, "health 0");
	close(open(flag, O_CREAT | O_WRONLY, 0600));
	until(NULL, 0, "health 1");
}

static void health_that_never_returns_is_bad(void **state)
{
	(void)state;
	snprintf(config.health_command, sizeof(config.health_command),
		 "trap '' TERM; while :; do sleep 1; done");
	config.health_interval_ms = 20;
	config.health_timeout_ms = 50;
	config.kill_ms = 60000; /* the verdict does not wait for its end */
	begin();
	until(NULL, 0, "health 0");
	assert_false(saw("health 1"));
	assert_int_equal(world.health, 1);
	kill(child_of_me(), SIGKILL);
}

int main(void)
{
#define HOOK(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		HOOK(runs_in_order_with_all_it_promises),
		HOOK(no_directory_is_no_hook),
		HOOK(reports_the_first_failure),
		HOOK(serial_per_volume_parallel_over_volumes),
		HOOK(refuses_what_others_can_write),
		HOOK(refuses_a_foreign_owner_and_an_open_directory),
		HOOK(runs_as_the_user_it_is_told),
		HOOK(ends_what_takes_too_long),
		HOOK(cancel_ends_even_those_that_ignore_it),
		HOOK(cancel_finds_those_that_went_away),
		HOOK(gets_state_work_and_lease),
		HOOK(tells_beside_a_leadership),
		HOOK(cancel_of_nothing_is_quiet_at_once),
		HOOK(is_over_when_the_whole_group_is_gone),
		HOOK(endless_output_drowns_nobody),
		HOOK(nothing_survives_the_daemon),
		HOOK(a_dead_runner_is_never_quiet),
		HOOK(ends_when_its_answer_finds_nobody),
		HOOK(health_says_good_and_bad),
		HOOK(health_that_never_returns_is_bad),
		HOOK(finds_them_without_a_cgroup), /* the last one */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
