/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's end of a fencer (ringfence/fence.h): one helper process a volume,
 * started before real-time priority and memory lock. It may block; requests to it
 * have a limit here, after which they count as failed. A late answer to a revoke is
 * still told: it says that nothing is in flight.
 *
 * When one dies its volume's requests fail at once, until somebody who may fork has
 * started another one, which is adopted (fencers.h). A leadership ends when what its
 * fence took last is over before that.
 */
#ifndef RF_IO_FENCER_H
#define RF_IO_FENCER_H

#include <sys/types.h>

#include "loop.h"

#include "ringfence/fence.h"

struct rf_fencer;

struct rf_fencer_ops {
	void *owner;
	/* verb 0: SHUT by itself. result: enum rf_fence_result. */
	void (*answer)(void *owner, uint32_t volume, const struct rf_fence_reply *reply);
	void (*can)(void *owner, uint32_t volume, uint32_t can, const char *driver);
	/* The driver could not start; text says why. It dies right after. */
	void (*failed)(void *owner, uint32_t volume, const char *driver, const char *text);
	void (*died)(void *owner, uint32_t volume);
};

/* argv: program, driver, KEY=VALUE…, NULL. volume: given back in ops. */
int rf_fencer_start(struct rf_fencer **fencer, char *const *argv, uint32_t volume,
		    const struct rf_fencer_ops *ops, char *err, size_t err_bytes);
/* The same, but only the process: `theirs` becomes its descriptor 3. 0 or -errno. */
int rf_fencer_spawn(char *const *argv, int theirs, pid_t *pid);
/* In the place of one that died: its socket, and a pidfd of it. Takes both. */
void rf_fencer_adopt(struct rf_fencer *fencer, int fd, int pidfd);
/* From now on answers are read by the loop. */
void rf_fencer_attach(struct rf_fencer *fencer, struct rf_loop *loop);
/* limit_ns: after that the core hears FAILED. 0, -EPIPE (dead), -EAGAIN (full). */
int rf_fencer_ask(struct rf_fencer *fencer, const struct rf_fence_request *request,
		  uint64_t limit_ns);
/* Close the socket: the fencer revokes what it can and exits; waits, bounded. */
void rf_fencer_stop(struct rf_fencer *fencer);

#endif
