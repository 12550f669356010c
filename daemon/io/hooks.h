/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user's hooks and health command, run by a process of their own.
 *
 * The runner is forked at start, before real-time priority and memory lock, and
 * keeps normal scheduling: nothing the user wrote is ever in the timing path.
 * Per volume the events of a leadership run one after the other in the order asked,
 * so do those that only tell; volumes in parallel. An event is over when every
 * process that came of it is gone. rf_hooks_cancel() ends what was asked before it:
 * SIGTERM to all of them, SIGKILL after kill_ms, and `quiet` when they are gone.
 *
 * If the runner dies, no quiet is ever said: the slot stays open and peers wait
 * for the lease. If the daemon dies, the runner ends all events and exits.
 */
#ifndef RF_IO_HOOKS_H
#define RF_IO_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ringfence/limits.h"

#define RF_HOOKS_PATH_BYTES 256u
#define RF_HOOKS_LINE_BYTES 400u
#define RF_HOOKS_GROUPS_MAX 32

struct rf_hooks;

struct rf_hooks_config {
	char dir[RF_HOOKS_PATH_BYTES]; /* DIR/NAME, then DIR/VOLUME/NAME, sorted */
	char user[32];                 /* "" = as the daemon */
	uint32_t timeout_ms, kill_ms;
	char health_command[RF_HOOKS_PATH_BYTES]; /* "" = none; for /bin/sh -c */
	uint32_t health_interval_ms, health_timeout_ms;
};

/* The same with the user looked up, which may take its time. */
struct rf_hooks_setup {
	struct rf_hooks_config config;
	bool change_user;
	uid_t uid;
	gid_t gid;
	int groups;
	gid_t group[RF_HOOKS_GROUPS_MAX];
};

/* One event. Text fields are NUL-terminated; they become RINGFENCE_*. */
struct rf_hooks_call {
	uint32_t volume; /* index of the owner's choice */
	uint32_t hook;   /* the owner's number, given back */
	bool tells;      /* only tells: beside the events of a leadership, never cancelled */
	uint32_t node, leader, prev_leader; /* ids, 0 = none */
	uint64_t epoch, prev_epoch, sequence, unix_ns;
	uint64_t deadline_ns; /* lease deadline on the boot clock, 0 = none */
	char event[20], role[20], prev_role[20], reason[24];
	char cluster[RF_NAME_BYTES], volume_name[RF_NAME_BYTES], host[RF_HOST_BYTES];
	char device[RF_HOOKS_PATH_BYTES];
	char desc[200];
};

struct rf_hooks_ops {
	void *world;
	/* status: exit code of the first script that failed, 0 = all well;
	 * < 0: -ETIME killed at its limit, -ECANCELED, -EIO not run. */
	void (*done)(void *world, uint32_t volume, uint32_t hook, uint64_t epoch,
		     int32_t status);
	/* All that was asked before rf_hooks_cancel() is gone. */
	void (*quiet)(void *world, uint32_t volume, uint64_t epoch);
	/* One line of output or complaint; `from`: "EVENT VOLUME". */
	void (*line)(void *world, bool warning, const char *from, const char *text);
	void (*health)(void *world, bool good);
	void (*died)(void *world);
};

/* 0, or -errno and one line in err: there is no such user. */
int rf_hooks_prepare(struct rf_hooks_setup *setup, const struct rf_hooks_config *config,
		     char *err, size_t err_bytes);
/* Forks the runner. 0, or -errno and one line in err. Allocates once. */
int rf_hooks_start(struct rf_hooks **hooks, const struct rf_hooks_config *config,
		   const struct rf_hooks_ops *ops, char *err, size_t err_bytes);
/* For what begins from here on. 0 or -errno: the old one stays. */
int rf_hooks_configure(struct rf_hooks *hooks, const struct rf_hooks_setup *setup);
/* Ends the runner (and with it all groups) and waits for it. */
void rf_hooks_stop(struct rf_hooks *hooks);
/* Readable: call rf_hooks_ready(), which calls ops. */
int rf_hooks_fd(const struct rf_hooks *hooks);
void rf_hooks_ready(struct rf_hooks *hooks);
/* Never call ops from inside. 0, or -errno: not started. */
int rf_hooks_run(struct rf_hooks *hooks, const struct rf_hooks_call *call);
/* State and unfinished work for the events that are asked from here on. 0 or -errno. */
int rf_hooks_keep(struct rf_hooks *hooks, uint32_t volume, const void *state,
		  uint32_t state_bytes, const void *work, uint32_t work_bytes);
#define RF_HOOKS_KEEP_MAX 131072u /* of both together */
int rf_hooks_cancel(struct rf_hooks *hooks, uint32_t volume, uint64_t epoch);

#endif
