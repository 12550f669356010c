/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper of one event: adopts what the scripts leave behind, ends last. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/hooks_wire.h"
#include "io/tree.h"

#define KILL_AGAIN_NS 20000000

/* Takes in everybody who ended. False: nobody is left. */
static bool reap(pid_t event)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == event)
			(void)!write(RF_HOOKS_STATUS_FD, &status, sizeof(status));
	return pid == 0 || errno != ECHILD;
}

__attribute__((noreturn)) static void keep(pid_t event, struct rf_tree *tree,
					   const sigset_t *heard)
{
	const struct timespec again = {.tv_nsec = KILL_AGAIN_NS};
	bool runner_gone = false;

	while (reap(event)) {
		if (runner_gone)
			rf_tree_signal(tree, getpid(), 0, SIGKILL);
		if (runner_gone)
			sigtimedwait(heard, NULL, &again);
		else
			runner_gone = sigwaitinfo(heard, NULL) == SIGHUP;
	}
	if (runner_gone)
		rf_tree_end(tree);
	_exit(0);
}

void rf_hooks_keeper(pid_t runner, struct rf_tree *tree, void (*event)(void *arg), void *arg)
{
	sigset_t heard, before;
	pid_t pid;

	sigemptyset(&heard);
	sigaddset(&heard, SIGCHLD);
	sigaddset(&heard, SIGHUP);
	sigprocmask(SIG_SETMASK, &heard, &before);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	if (getppid() != runner)
		_exit(1); /* it died before the line above */
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		event(arg);
		_exit(1);
	}
	if (pid < 0)
		_exit(1);
	close_range(3, RF_HOOKS_STATUS_FD - 1, 0);
	close_range(RF_HOOKS_STATUS_FD + 1, ~0u, 0);
	setpgid(0, 0); /* what is sent to the runner's group is not for us */
	keep(pid, tree, &heard);
}
