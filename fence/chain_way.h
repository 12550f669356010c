/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One of the fences of a chain, in a process of its own: what is known of it, its life. */
#ifndef RF_FENCE_CHAIN_WAY_H
#define RF_FENCE_CHAIN_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ringfence/fence.h"

#define RF_WAY_ARGS_MAX 32u

struct way {
	char *argv[RF_WAY_ARGS_MAX + 3];
	unsigned args;
	pid_t pid;
	int fd;             /* -1 = dead */
	bool hello, failed; /* failed: by its own word of no use here */
	bool weak;          /* not verified when asked: it does not count */
	bool drains;        /* its kind can, or it has not said yet */
	bool offered;       /* a grant that nobody waits for */
	uint32_t can;
	uint64_t granted;           /* epoch */
	uint64_t born_ms, again_ms; /* again: when to start it, 0 = it lives */
	uint64_t weak_until_ms;
	uint32_t wait_ms, weak_ms;
	char name[16];
};

static inline bool rf_way_alive(const struct way *w)
{
	return w->fd >= 0 && w->hello && !w->failed;
}

/* Negative errno, or 0: its socket and process are there. */
int rf_way_start(struct way *w);
/* Is dead: started again after a while, longer each time. */
void rf_way_again_later(struct way *w);
void rf_way_start_again(struct way *w);
/* Does not count for a while, longer each time. */
void rf_way_weaken(struct way *w);
/* When one of these whiles is over; UINT64_MAX = there is none. */
uint64_t rf_way_next_ms(const struct way *w);
/* Sends it a request without waiting. */
bool rf_way_send(struct way *w, const struct rf_fence_request *q);
/* Their sockets end: they revoke what they can, bounded. */
void rf_ways_stop(struct way *ways, unsigned count);

#endif
