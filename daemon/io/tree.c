/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of processes: its cgroup, and what /proc says is below a process. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/tree.h"

/* ---- cgroup ---- */

/* Where version 2 is mounted, and which of its groups is ours. */
static bool own_cgroup(char *path, size_t bytes)
{
	char line[1024], mount[256] = "", at[256] = "", type[16];
	FILE *f = fopen("/proc/self/mounts", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %255s %15s", at, type) == 2 && !*mount &&
		    !strcmp(type, "cgroup2"))
			memcpy(mount, at, sizeof(mount));
	if (f)
		fclose(f);
	f = fopen("/proc/self/cgroup", "re");
	*at = 0;
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::/", 4)) {
			line[strcspn(line, "\n")] = 0;
			snprintf(at, sizeof(at), "%.255s", line + 3);
		}
	if (f)
		fclose(f);
	return *mount && *at &&
	       snprintf(path, bytes, "%s%s", mount, at[1] ? at : "") < (int)bytes;
}

static int put(const struct rf_tree *t, const char *file, const char *text)
{
	char path[RF_TREE_PATH_BYTES + 32];
	int fd, rc = -1;

	snprintf(path, sizeof(path), "%s/%s", t->cgroup, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

void rf_tree_begin(struct rf_tree *t, const char *name)
{
	char own[RF_TREE_PATH_BYTES];

	*t->cgroup = 0;
	if (!own_cgroup(own, sizeof(own)) ||
	    snprintf(t->cgroup, sizeof(t->cgroup), "%s/%s", own, name) >=
		    (int)sizeof(t->cgroup) ||
	    mkdir(t->cgroup, 0755) < 0)
		*t->cgroup = 0;
}

void rf_tree_join(const struct rf_tree *t)
{
	if (*t->cgroup)
		(void)!put(t, "cgroup.procs", "0"); /* /proc finds us as well */
}

bool rf_tree_empty(const struct rf_tree *t)
{
	char path[RF_TREE_PATH_BYTES + 32], text[128] = "";
	ssize_t n;
	int fd;

	if (!*t->cgroup)
		return true;
	snprintf(path, sizeof(path), "%s/cgroup.events", t->cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* somebody removed it: that needs it empty */
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n <= 0 || !strstr(text, "populated 1");
}

void rf_tree_end(struct rf_tree *t)
{
	if (*t->cgroup)
		rmdir(t->cgroup);
	*t->cgroup = 0;
}

/* ---- /proc ---- */

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	/* "PID (name) STATE PPID": a name may hold anything, so from its end */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)atoi(end + 4) : -1;
}

static bool below(pid_t pid, pid_t root)
{
	for (int depth = 0; depth < 4096 && pid > 1; depth++) {
		pid = parent_of(pid);
		if (pid == root)
			return true;
	}
	return false;
}

/* By a descriptor of the process: the number may be somebody else's by now. */
static void signal_one(pid_t pid, pid_t root, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (below(pid, root))
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	close(fd);
}

void rf_tree_signal(const struct rf_tree *t, pid_t root, pid_t but, int sig)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	if (sig == SIGKILL && *t->cgroup)
		(void)!put(t, "cgroup.kill", "1");
	while (dir && (e = readdir(dir))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 1 && pid != root && below(pid, root) && (!but || getpgid(pid) != but))
			signal_one(pid, root, sig);
	}
	if (dir)
		closedir(dir);
}
