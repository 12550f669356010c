/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that a process started, wherever it went: children that left group and
 * session with setsid(2) included. For the hook runner and for `ringfence run`.
 *
 * Two nets. A subreaper above the tree adopts whoever loses his parent, so that all
 * of it stays below one process and is found in /proc. And where the host lets us
 * make one, a cgroup (version 2): it names its members exactly, and cgroup.kill ends
 * them in one stroke, also those that fork faster than one can look.
 */
#ifndef RF_IO_TREE_H
#define RF_IO_TREE_H

#include <stdbool.h>
#include <sys/types.h>

#define RF_TREE_PATH_BYTES 512u

struct rf_tree {
	char cgroup[RF_TREE_PATH_BYTES]; /* "" = none can be made here */
};

/* Makes a cgroup of this name below our own, if that is possible. */
void rf_tree_begin(struct rf_tree *tree, const char *name);
/* In the process that is to be the tree's first, before it starts anything. */
void rf_tree_join(const struct rf_tree *tree);
/* To all below `root`, but not to root itself, nor to the members of process group
 * `but` (0 = none). SIGKILL goes through the cgroup, too. To be repeated until nothing
 * is left. */
void rf_tree_signal(const struct rf_tree *tree, pid_t root, pid_t but, int sig);
/* True also when there is no cgroup to ask. */
bool rf_tree_empty(const struct rf_tree *tree);
/* Removes the cgroup; it must be empty. */
void rf_tree_end(struct rf_tree *tree);

#endif
