/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latch of one volume: which epoch may write, and the lock that proves it.
 *
 * Every write, zero, trim and flush holds the reader side from before it looks
 * at the epoch until its system call has completed, and takes nothing else.
 * A change of epoch holds the writer side: when it has it, no older write is
 * in flight, and none that comes later finds its epoch (PROTOCOL §8b).
 *
 *   IDLE     nothing was served since the start; `epoch` is the floor from disk
 *   SERVING  owner may write
 *   ENDED    owner may not write any more, and never again
 *
 * Epochs only grow. An epoch that ended here is not served here again.
 */
#ifndef RF_NBD_LATCH_H
#define RF_NBD_LATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rf_owner {
	uint64_t epoch, incarnation;
	uint32_t node;
};

enum rf_latch_state {
	RF_LATCH_IDLE = 0,
	RF_LATCH_SERVING,
	RF_LATCH_ENDED,
};

struct rf_latch_view {
	enum rf_latch_state state;
	struct rf_owner owner;
};

struct rf_latch {
	pthread_rwlock_t lock;
	struct rf_latch_view now; /* changed on the writer side only */
	pthread_mutex_t view_lock;
	struct rf_latch_view view; /* copy for those who must not wait for writes */
	atomic_uint waiting;       /* changes of epoch that wait for writes */
};

enum rf_latch_verdict {
	RF_LATCH_SAME,  /* exactly this owner is being served */
	RF_LATCH_NEWER, /* newer than what is served: the disk must decide */
	RF_LATCH_STALE, /* a newer epoch rules */
	RF_LATCH_OTHER, /* this epoch belongs to another node or another life */
	RF_LATCH_OVER,  /* this epoch of this owner has ended */
};

int rf_latch_init(struct rf_latch *l);
void rf_latch_destroy(struct rf_latch *l);
/* At start only, before anybody connects. */
void rf_latch_set(struct rf_latch *l, const struct rf_latch_view *v);

bool rf_owner_equal(const struct rf_owner *a, const struct rf_owner *b);
enum rf_latch_verdict rf_latch_judge(const struct rf_latch_view *v, const struct rf_owner *o);

/* The write path. true: admitted, and no change of epoch until rf_latch_leave. */
bool rf_latch_enter(struct rf_latch *l, const struct rf_owner *o);
void rf_latch_leave(struct rf_latch *l);

/* Never waits for a write. */
struct rf_latch_view rf_latch_look(struct rf_latch *l);

/*
 * Change to (o, SERVING) or (o, ENDED): waits for all writes in flight, syncs
 * fd, then changes. SAME: changed, or already so, or (ENDED, and a newer epoch
 * rules) nothing to do: in each case nothing older than promised can land.
 * STALE, OTHER, OVER: refused, nothing changed. *error: the sync failed; what
 * was served has ended then, but o was not taken.
 * The caller has checked the disk for o when it is newer.
 */
enum rf_latch_verdict rf_latch_move(struct rf_latch *l, const struct rf_owner *o,
				    enum rf_latch_state to, int fd, int *error);

#endif
