/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the daemon, its hook runner, and the process of one event. */
#ifndef RF_IO_HOOKS_WIRE_H
#define RF_IO_HOOKS_WIRE_H

#include "io/hooks.h"

/* One struct per packet of the SOCK_SEQPACKET pair. */
enum hook_verb { HOOK_RUN = 1, HOOK_CANCEL = 2, HOOK_KEEP = 3, HOOK_SETUP = 4 };

struct hook_request {
	uint32_t verb;
	struct rf_hooks_call call; /* CANCEL: volume and epoch only */
};

/* KEEP: what the leader of a volume keeps now, for the events that begin from here on. */
struct hook_keep {
	uint32_t verb, volume;
	uint32_t state_bytes, work_bytes; /* what follows, the state first */
};

/* SETUP: for the events and health checks that begin from here on. */
struct hook_change {
	uint32_t verb;
	struct rf_hooks_setup setup;
};

enum hook_kind { HOOK_DONE = 1, HOOK_QUIET = 2, HOOK_LINE = 3, HOOK_HEALTH = 4 };

struct hook_reply {
	uint32_t kind, volume, hook;
	int32_t status; /* DONE; HEALTH: 1 = good; LINE: 1 = a warning */
	uint64_t epoch;
	char from[RF_NAME_BYTES + 24];
	char text[RF_HOOKS_LINE_BYTES];
};

/*
 * What the scripts of an event inherit. The runner puts them there; RF_HOOKS_LEASE_FD
 * is a single digit, or a POSIX shell could not read it.
 */
#define RF_HOOKS_LEASE_FD 3
#define RF_HOOKS_STATE_FD 20
#define RF_HOOKS_WORK_FD 21
#define RF_HOOKS_STATUS_FD 22 /* the keeper's only */

/*
 * The keeper of one event: a process between the runner and the event's own. It
 * adopts all that the scripts start (PR_SET_CHILD_SUBREAPER) and ends only when
 * nothing of it is left. It writes the event's wait status to RF_HOOKS_STATUS_FD as
 * soon as that ended. When the runner dies it kills all, tidies up, and ends. `event`
 * never returns.
 */
struct rf_tree;
__attribute__((noreturn)) void rf_hooks_keeper(pid_t runner, struct rf_tree *tree,
					       void (*event)(void *arg), void *arg);

/* The runner: serves fd until its other end closes, then ends everything. */
__attribute__((noreturn)) void rf_hooks_runner(const struct rf_hooks_setup *setup, int fd);

/*
 * In the process of one event (leader of its group, output already in place): runs
 * the scripts in order. call NULL: the health command. Exits with the first
 * non-zero status, 126 when a script or directory was refused.
 */
__attribute__((noreturn)) void rf_hooks_event(const struct rf_hooks_setup *setup,
					      const struct rf_hooks_call *call);

/* There is no script for this call: nothing needs to be started. */
bool rf_hooks_none(const struct rf_hooks_setup *setup, const struct rf_hooks_call *call);

/*
 * A script, or directory of scripts, is obeyed only when it and every directory
 * above it belong to root (or to this process's user) and nobody else can write
 * there. 0, or -errno and one line in err that names path and bit.
 */
int rf_hooks_trusted(const char *path, char *err, size_t err_bytes);

#endif
