/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the hook runner: its queue and loop (hooks_runner.c), one event (hooks_job.c). */
#ifndef RF_IO_HOOKS_RUNNER_H
#define RF_IO_HOOKS_RUNNER_H

#include "io/hooks_wire.h"
#include "io/tree.h"

/* Seats: events of leaderships, those that only tell, the health command. */
#define TELLS 64
#define HEALTH 80
#define JOBS_MAX 81
#define QUEUE_MAX 1024
#define QUEUE_RUNS_MAX 512 /* the rest is for cancels, which are never refused */
#define QUEUE_TELLS_MAX 256

struct job {
	pid_t keeper; /* 0 = free */
	struct rf_tree tree;
	int told;  /* the keeper says the status of the event here, -1 = closed */
	int lease; /* scripts hold the other end, -1 = lost */
	bool tells;
	uint32_t volume, hook;
	uint64_t epoch;
	int out; /* its output, -1 = closed */
	int32_t status;
	bool exited;   /* the event did; something of it may be left */
	bool kept;     /* its keeper ended: then there should be nothing */
	bool gone;     /* all is; only the report is missing */
	int32_t ended; /* why we ended it: 0, -ETIME, -ECANCELED */
	bool killed;
	uint64_t limit_ns, kill_ns;
	uint64_t second_ns;
	uint32_t lines, dropped;
	size_t len;
	char from[RF_NAME_BYTES + 24];
	char line[RF_HOOKS_LINE_BYTES];
};

struct rf_runner {
	const struct rf_hooks_setup *setup;
	int fd, signals;
	bool daemon_gone;
	struct job job[JOBS_MAX];
	uint32_t count;
	uint16_t order[QUEUE_MAX]; /* entries in use, oldest first */
	bool used[QUEUE_MAX];
	struct hook_request entry[QUEUE_MAX];
	struct kept {
		void *state, *work;
		uint32_t state_bytes, work_bytes;
	} keep[RF_VOLUMES_MAX];
	uint64_t health_ns; /* when to run it next */
	bool health_said;
	bool health_lift; /* there is no check any more: its last verdict is to be lifted */
};
extern struct rf_runner rf_runner;

uint64_t rf_runner_now_ns(void);
uint64_t rf_runner_after_ms(uint32_t ms);
/* False: no room now. What must not be lost is tried again. */
bool rf_runner_reply(const struct hook_reply *r);

/* call NULL: the health command. 0 or -errno. */
int rf_job_start(struct job *j, const struct rf_hooks_call *call);
/* SIGTERM to all of it; SIGKILL comes at kill_ns. */
void rf_job_end(struct job *j, int32_t why);
/* Pipes and cgroup; nothing of it is alive. */
void rf_job_close(struct job *j);
void rf_job_hear_keeper(struct job *j);
void rf_job_read_output(struct job *j);
void rf_job_line_end(struct job *j);
void rf_job_say(struct job *j, bool warning, const char *text);

#endif
