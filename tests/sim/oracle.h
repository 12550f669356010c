/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracles: what must be true of every run (PROTOCOL §10), one file each.
 *
 *   oracle_write.c   1  epochs on the medium never go back, one owner each
 *   oracle_fence.c   2  a takeover is reported after the victim's last write
 *   oracle_epoch.c   3  an epoch is handed out once; promises are kept
 *   oracle_state.c   4  acknowledged state is read by every later leader
 *   oracle_live.c    5  a leader is found in time; a healthy one stays
 *
 * They look at what the world sees (records, writes, datagrams, decisions), not
 * at what the core believes, except through the views that status uses too.
 */
#ifndef RF_SIM_ORACLE_H
#define RF_SIM_ORACLE_H

#include "sim.h"

#define EPOCHS_MAX 8192u

struct owner { /* of one epoch of one volume */
	uint64_t incarnation;
	uint32_t node;
	bool loaded;
	uint64_t loaded_version, loaded_value, written;
	uint64_t acked_version, acked_value;
};

struct put_seen { /* the last state write of a host on a volume */
	uint64_t epoch, version, value;
};

struct vote_seen { /* the last vote a node gave on a volume */
	uint64_t epoch, at;
	uint32_t candidate, life;
};

struct ballot_seen { /* the last ballot a host entered on a volume */
	uint64_t instance, mbal;
	bool lost; /* what it read behind phase 1 told it to stop */
	bool entered;
};

struct claim_seen { /* what a host read under the epoch it claims or leads */
	uint64_t epoch;
	uint8_t fresh;   /* disks read that show its own phase 2 */
	uint8_t states;  /* disks whose states were read, with its phase 2 on them */
	uint64_t put;    /* version of a state whose region read supersedes the epoch */
	bool superseded; /* by the letter of §6 */
};

struct waits { /* of a host whose gate refused on a volume, again and again */
	uint32_t fruitless;
	uint64_t extra_until; /* lets others campaign first for longer than usual */
};

struct oracles {
	uint64_t *landed;    /* by volume: highest epoch on the medium */
	uint64_t *highest;   /* by volume: highest epoch decided */
	struct owner *owner; /* [volume * EPOCHS_MAX + epoch] */
	uint32_t volumes, hosts;
	struct put_seen *put;       /* [host * volumes + volume] */
	struct vote_seen *vote;     /* the same */
	struct ballot_seen *ballot; /* the same */
	struct claim_seen *claim;   /* the same */
	uint64_t *paused;           /* by host: last time it stood still */
	uint64_t *twice_since;      /* by host: two lives of one id since */
	uint64_t *resumed;          /* by host: last time it was paused */
	struct waits *waits;        /* [host * volumes + volume] */
	uint64_t *outlived;         /* [host * volumes + volume]: another leads later, since */
	uint32_t *leader;           /* by volume, when faults are over: host + 1 */
	uint64_t *leader_epoch;
	uint64_t stable_since;
};

void oracle_formatted(struct world *w); /* epochs begin anew */
void oracle_admitted(struct world *w, struct host *h, uint32_t volume);

/* oracle.c: hands what happens to those whom it concerns */
void oracle_reset(struct world *w);
void oracle_free(struct world *w);
struct owner *oracle_owner(struct world *w, uint32_t volume, uint64_t epoch);
/* Do safety oracles judge this volume in this run (atlas.h, A3)? */
bool oracle_judges(const struct world *w, uint32_t volume);

void oracle_born(struct world *w, struct host *h);
void oracle_died(struct world *w, struct host *h);
void oracle_stepped(struct world *w, struct host *h);
void oracle_said(struct world *w, struct host *h, const struct rf_decision *d);
void oracle_sent(struct world *w, struct host *h, const struct rf_effect *e);
void oracle_hook(struct world *w, struct host *h, const struct rf_effect *e);
void oracle_submit(struct world *w, struct host *h, const struct disk_op *op);
/* op is about to land on cell, which still holds the old record */
void oracle_disk(struct world *w, const struct disk_op *op, const uint8_t *cell);
/* op is over, and its core is about to hear what was read (in its cells) */
void oracle_read(struct world *w, struct host *h, const struct disk_op *op);
/* a datagram was handed to the core; net_ns: when it last believed that sender, before */
void oracle_heard(struct world *w, struct host *h, uint32_t from, uint64_t incarnation,
		  const struct rf_core_peer *before);
void oracle_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch,
		    uint64_t incarnation);
void oracle_landed(struct world *w, uint32_t volume, uint32_t node, uint64_t incarnation,
		   uint64_t epoch);

/* what a stride holds */
enum stride_kind { STRIDE_OTHER, STRIDE_SLOT, STRIDE_EPOCH, STRIDE_BALLOT, STRIDE_STATE };
enum stride_kind oracle_stride(const struct world *w, uint32_t stride, uint32_t *volume,
			       uint32_t *node, uint32_t *half);

/* 1 */
void oracle_write_landed(struct world *w, uint32_t volume, uint32_t node, uint64_t incarnation,
			 uint64_t epoch);
void oracle_write_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch);
/* 2 */
void oracle_fence_said(struct world *w, struct host *h, const struct rf_decision *d);
void oracle_fence_slot(struct world *w, const struct disk_op *op, uint32_t node);
void oracle_fence_granted(struct world *w, struct host *h, uint32_t volume, uint64_t epoch,
			  uint64_t incarnation);
void oracle_fence_stepped(struct world *w, struct host *h);
void oracle_fence_read(struct world *w, struct host *h, const struct disk_op *op);
/* 3 */
void oracle_epoch_said(struct world *w, struct host *h, const struct rf_decision *d);
void oracle_epoch_owned(struct world *w, uint32_t volume, uint64_t epoch, uint32_t node,
			uint64_t incarnation, const char *how);
void oracle_epoch_disk(struct world *w, const struct disk_op *op, const uint8_t *cell);
void oracle_epoch_read(struct world *w, struct host *h, const struct disk_op *op);
/* 4 */
void oracle_state_submit(struct world *w, struct host *h, const struct disk_op *op);
void oracle_state_said(struct world *w, struct host *h, const struct rf_decision *d);
/* 5 */
void oracle_live_said(struct world *w, struct host *h, const struct rf_decision *d);
void oracle_live_sent(struct world *w, struct host *h, const struct rf_effect *e);
void oracle_live_audit(struct world *w);
uint64_t oracle_live_bound(const struct world *w);

#endif
