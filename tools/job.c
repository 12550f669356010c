/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command and everything it starts. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "tool.h"

int job_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) ? -errno : 0;
}

static void become(char **argv, void (*setup)(void *arg), void *arg)
{
	sigset_t none;
	int error;

	setpgid(0, 0);
	/* killed -9, `run` cannot end us any more; the kernel does */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setup(arg);
	execvp(argv[0], argv);
	error = errno;
	fprintf(stderr, "ringfence run: %s: %s\n", argv[0], strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

int job_start(struct job *j, char **argv, void (*setup)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		become(argv, setup, arg);
	setpgid(pid, pid);
	*j = (struct job){.leader = pid};
	return 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	/* "PID (name) STATE PPID": a name may hold anything, so from its end */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)atoi(end + 4) : -1;
}

/* Calls `each` for our children but the leader, adopted ones among them. How many
 * of them are left, as `each` says. */
static unsigned for_children(bool (*each)(const struct job *j, pid_t pid, int arg),
			     const struct job *j, int arg)
{
	DIR *dir = opendir("/proc");
	unsigned count = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid <= 1 || pid == j->leader || parent_of(pid) != getpid())
			continue;
		count += each(j, pid, arg);
	}
	if (dir)
		closedir(dir);
	return count;
}

static bool reap_one(const struct job *j, pid_t pid, int arg)
{
	(void)j;
	(void)arg;
	return waitpid(pid, NULL, WNOHANG) != pid;
}

/* Its status, but it stays a zombie: as long as it is one, its number, which is
 * also that of the group, cannot be used again, and signalling it is safe. */
static void look_at_leader(struct job *j)
{
	siginfo_t info = {.si_pid = 0};

	if (j->leader_done ||
	    waitid(P_PID, (id_t)j->leader, &info, WEXITED | WNOHANG | WNOWAIT))
		return;
	if (info.si_pid != j->leader)
		return;
	j->leader_done = true;
	j->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void job_reap(struct job *j)
{
	look_at_leader(j);
	if (for_children(reap_one, j, 0) || !j->leader_done)
		return;
	waitpid(j->leader, NULL, WNOHANG);
	/* the list may have missed one that was being adopted: this cannot */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	j->leader_reaped = true;
	j->gone = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static bool signal_stray(const struct job *j, pid_t pid, int sig)
{
	if (getpgid(pid) != j->leader)
		kill(pid, sig);
	return true;
}

void job_signal(const struct job *j, int sig)
{
	if (!j->leader_reaped)
		kill(-j->leader, sig);
	for_children(signal_stray, j, sig);
}

int job_exit_code(const struct job *j)
{
	return j->leader_done ? j->exit_code : RF_EXIT_CANNOT_TELL;
}
