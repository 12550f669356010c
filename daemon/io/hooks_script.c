/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of one event: who may be run, with what, in which order. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/hooks_wire.h"

#define REFUSED 126

/* ---- whom we obey ---- */

__attribute__((format(printf, 3, 4))) static int refuse(char *err, size_t bytes,
							const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(err, bytes, format, ap);
	va_end(ap);
	return -EPERM;
}

static int trusted_one(const char *path, bool is_parent, char *err, size_t bytes)
{
	struct stat st;
	mode_t sticky;

	if (stat(path, &st) < 0)
		return refuse(err, bytes, "%s: %s", path, strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return refuse(err, bytes, "%s: owned by uid %u: must be owned by root", path,
			      (unsigned)st.st_uid);
	/* In a sticky directory nobody can replace what root owns there. */
	sticky = is_parent && S_ISDIR(st.st_mode) ? st.st_mode & S_ISVTX : 0;
	if (st.st_mode & S_IWGRP && !sticky && st.st_gid != 0)
		return refuse(err, bytes, "%s: writable by its group (mode %04o, bit 0020)",
			      path, (unsigned)st.st_mode & 07777);
	if (st.st_mode & S_IWGRP && !is_parent)
		return refuse(err, bytes, "%s: writable by its group (mode %04o, bit 0020)",
			      path, (unsigned)st.st_mode & 07777);
	if (st.st_mode & S_IWOTH && !sticky)
		return refuse(err, bytes, "%s: writable by everybody (mode %04o, bit 0002)",
			      path, (unsigned)st.st_mode & 07777);
	return 0;
}

int rf_hooks_trusted(const char *path, char *err, size_t bytes)
{
	char real[PATH_MAX];
	int r;

	if (!realpath(path, real))
		return refuse(err, bytes, "%s: %s", path, strerror(errno));
	r = trusted_one(real, false, err, bytes);
	while (!r && real[1]) {
		char *slash = strrchr(real, '/');

		slash[slash == real] = 0;
		r = trusted_one(real, true, err, bytes);
	}
	return r;
}

/* ---- what a script gets ---- */

static void env_text(const char *name, const char *value)
{
	char full[48];

	snprintf(full, sizeof(full), "RINGFENCE_%s", name);
	setenv(full, value, 1);
}

static void env_number(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	env_text(name, text);
}

/* A file without a name: there is none to be cleaned up, or to be found by others. */
static void env_path(const char *name, int fd)
{
	char text[32];

	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	env_text(name, text);
}

static void env_time(const char *name, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000u);
	char text[40];
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	env_text(name, text);
}

static void environment(const struct rf_hooks_setup *setup, const struct rf_hooks_call *c)
{
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	env_number("HOOK_API", 1);
	if (!c)
		return;
	env_text("EVENT", c->event);
	env_text("CLUSTER", c->cluster);
	env_text("VOLUME", c->volume_name);
	env_text("DEVICE", c->device);
	env_text("NODE", c->host);
	env_number("NODE_ID", c->node);
	env_text("ROLE", c->role);
	env_text("PREV_ROLE", c->prev_role);
	env_number("EPOCH", c->epoch);
	env_number("PREV_EPOCH", c->prev_epoch);
	env_number("LEADER", c->leader);
	env_number("PREV_LEADER", c->prev_leader);
	env_text("REASON", c->reason);
	env_text("DESC", c->desc);
	env_number("DEADLINE_MS", setup->config.timeout_ms);
	env_number("LEASE_FD", RF_HOOKS_LEASE_FD);
	env_path("STATE_FILE", RF_HOOKS_STATE_FD);
	env_path("WORK_FILE", RF_HOOKS_WORK_FD);
	env_number("SEQUENCE", c->sequence);
	env_time("TIMESTAMP", c->unix_ns);
}

static void become_user(const struct rf_hooks_setup *s)
{
	if (!s->change_user)
		return;
	if (setgroups((size_t)s->groups, s->group) < 0 || setgid(s->gid) < 0 ||
	    setuid(s->uid) < 0) {
		fprintf(stderr, "cannot become user %s: %s\n", s->config.user, strerror(errno));
		_exit(REFUSED);
	}
}

/* ---- one after the other ---- */

/* Exit code of a command; one that a signal ended counts as 128 + signal. */
static int run(char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGHUP, SIG_DFL);
		execv(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(REFUSED);
	}
	if (pid < 0)
		return REFUSED;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return REFUSED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Left-overs of editors and package managers are no scripts. */
static int is_name(const struct dirent *e)
{
	const char *n = e->d_name;
	size_t len = strlen(n);

	return *n != '.' && n[len - 1] != '~' && !strstr(n, ".dpkg-") && !strstr(n, ".rpm");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int run_script(const char *path, const struct rf_hooks_call *c)
{
	char err[PATH_MAX + 128], epoch[24];
	char *argv[] = {
		(char *)path, (char *)c->event, (char *)c->volume_name, (char *)c->role, epoch,
		NULL};
	struct stat st;
	int status;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return 0; /* not meant to run, as with run-parts(8) */
	if (rf_hooks_trusted(path, err, sizeof(err)) < 0) {
		fprintf(stderr, "refused: %s\n", err);
		return REFUSED;
	}
	snprintf(epoch, sizeof(epoch), "%" PRIu64, c->epoch);
	status = run(argv);
	if (status)
		fprintf(stderr, "%s ended with status %d\n", path, status);
	return status;
}

/* A reconcile that failed is not gone on with: the leadership is given up. */
static bool stops(const struct rf_hooks_call *c, int status)
{
	return status && !strcmp(c->event, "reconcile");
}

/* False also for what cannot be read: that is for the event to complain of. */
static bool empty_dir(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool empty = d || errno == ENOENT || errno == ENOTDIR;

	while (d && empty && (e = readdir(d)))
		empty = !is_name(e);
	if (d)
		closedir(d);
	return empty;
}

bool rf_hooks_none(const struct rf_hooks_setup *setup, const struct rf_hooks_call *c)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/%s", setup->config.dir, c->volume_name);
	return empty_dir(setup->config.dir) && empty_dir(dir);
}

static int run_dir(const char *dir, const struct rf_hooks_call *c)
{
	char err[PATH_MAX + 128], path[PATH_MAX];
	struct dirent **list;
	int n, first = 0;

	n = scandir(dir, &list, is_name, by_name);
	if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (n < 0 || rf_hooks_trusted(dir, err, sizeof(err)) < 0) {
		fprintf(stderr, "refused: %s\n", n < 0 ? strerror(errno) : err);
		return REFUSED;
	}
	for (int i = 0; i < n && !stops(c, first); i++) {
		int status;

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		status = run_script(path, c);
		if (!first)
			first = status;
	}
	return first; /* the list dies with the process */
}

static void end_group(int sig)
{
	(void)sig;
	kill(0, SIGKILL);
}

void rf_hooks_event(const struct rf_hooks_setup *setup, const struct rf_hooks_call *c)
{
	char dir[PATH_MAX];
	char *health[] = {"/bin/sh", "-c", (char *)setup->config.health_command, NULL};
	int first;

	/* A runner that was killed must not leave its scripts behind. */
	signal(SIGHUP, end_group);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	if (chdir("/") < 0)
		_exit(REFUSED);
	environment(setup, c);
	become_user(setup);
	prctl(PR_SET_PDEATHSIG, SIGHUP); /* a change of user clears it */
	if (!c)
		_exit(run(health));
	first = run_dir(setup->config.dir, c);
	if (!stops(c, first)) {
		int status;

		snprintf(dir, sizeof(dir), "%s/%s", setup->config.dir, c->volume_name);
		status = run_dir(dir, c);
		if (!first)
			first = status;
	}
	_exit(first);
}
