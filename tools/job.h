/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command and everything it starts, as one thing that can be ended.
 *
 * The command gets a process group of its own, and this process adopts whoever
 * loses his parent (PR_SET_CHILD_SUBREAPER): so also what left the group with
 * setsid() ends up below us, is found there, and is ended before `gone` says so.
 * Where a cgroup can be made it is one more net, see io/tree.h.
 */
#ifndef RF_TOOLS_JOB_H
#define RF_TOOLS_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "io/tree.h"

struct job {
	struct rf_tree tree;
	pid_t leader;     /* also the process group */
	bool leader_done; /* exit_code is known */
	int exit_code;    /* as a shell shows it: 128 + signal for a killed one */
	bool gone;        /* nothing is left of it */
};

/* Once, before job_start(). 0 or -errno. */
int job_adopt(void);
/* Ready to exec: in the child `setup` runs before exec (environment, descriptors).
 * 0 or -errno of fork. A command that cannot be executed ends with 126 or 127. */
int job_start(struct job *j, char **argv, void (*setup)(void *arg), void *arg);
/* Take in everybody who ended. */
void job_reap(struct job *j);
/* To all of it: the group, and what left the group. */
void job_signal(const struct job *j, int sig);
int job_exit_code(const struct job *j);

#endif
