/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command and everything it starts. */
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

static void become(const struct rf_tree *tree, char **argv, void (*setup)(void *arg), void *arg)
{
	sigset_t none;
	int error;

	setpgid(0, 0);
	rf_tree_join(tree);
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
	char name[64];
	pid_t pid;

	*j = (struct job){.leader = 0};
	snprintf(name, sizeof(name), "ringfence-run.%d", (int)getpid());
	rf_tree_begin(&j->tree, name);
	pid = fork();
	if (pid < 0) {
		int error = errno;

		rf_tree_end(&j->tree);
		return -error;
	}
	if (!pid)
		become(&j->tree, argv, setup, arg);
	setpgid(pid, pid);
	j->leader = pid;
	return 0;
}

void job_reap(struct job *j)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != j->leader)
			continue;
		j->leader_done = true;
		j->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	/* the cgroup also names what somebody else has adopted */
	j->gone = pid < 0 && errno == ECHILD && rf_tree_empty(&j->tree);
	if (j->gone)
		rf_tree_end(&j->tree);
}

void job_signal(const struct job *j, int sig)
{
	pid_t group = j->leader_done ? 0 : j->leader;

	if (group)
		kill(-group, sig); /* all at once; then who left it */
	rf_tree_signal(&j->tree, getpid(), group, sig);
}

int job_exit_code(const struct job *j)
{
	return j->leader_done ? j->exit_code : RF_EXIT_CANNOT_TELL;
}
