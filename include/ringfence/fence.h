/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The driver interface: messages between the daemon and a fencer.
 *
 * A fencer is a helper process, one per volume, started with the daemon
 * (ringfence-fencer DRIVER KEY=VALUE…), so that a driver may block for minutes
 * on a dead device while the daemon's loop does not, and so that nothing forks
 * on the critical path. File descriptor 3 of the fencer is a SOCK_SEQPACKET
 * socket: one struct rf_fence_request or rf_fence_reply per packet, native byte
 * order (both ends are one build on one host). End of file on it means the
 * daemon is gone: the fencer revokes what it can and exits.
 *
 * Rules for a driver
 *  - Requests are served in order. REVOKE is never delayed by a stuck GRANT of
 *    the same volume for longer than the driver can help.
 *  - A reply OK to EVICT or REVOKE is a proof, not a hope: it is sent only when
 *    the driver has verified that no older write (EVICT), no write of that
 *    epoch (REVOKE) can land any more. When in doubt: FAILED or UNCERTAIN.
 *  - A newer epoch found anywhere: STALE with that epoch. Never overwrite it.
 *  - A duplicate request is answered again, from the state, not from memory.
 */
#ifndef RINGFENCE_FENCE_H
#define RINGFENCE_FENCE_H

#include <linux/types.h>

#include "limits.h"

#define RF_FENCE_FD 3
#define RF_FENCE_MAGIC 0x31464652u /* "RFF1" */
#define RF_FENCE_TEXT_BYTES 160u

enum rf_fence_verb {
	/* Open, or extend to the deadline, for `epoch` of this node's `incarnation`.
	 * A renewal is a GRANT of the same epoch with a later deadline; a driver
	 * without deadlines answers it OK without doing anything. */
	RF_FENCE_GRANT = 1,
	/* Admit no new write of `epoch`, wait for those in flight, answer when none
	 * is left. epoch 0: whatever this node has open, also from an earlier life
	 * (sent at join, with the incarnation of that life, or 0 if unknown). */
	RF_FENCE_REVOKE = 2,
	/* Make every write of epochs below `epoch` impossible, at the target. */
	RF_FENCE_EVICT = 3,
	/* Check that `epoch` is still the one the enforcement point admits. */
	RF_FENCE_VERIFY = 4,
	/* Report counters and a line of text. */
	RF_FENCE_STATUS = 5,
	RF_FENCE_VERB_LAST = 5,
};

enum rf_fence_result {
	RF_FENCE_OK = 0,
	RF_FENCE_FAILED = 1,      /* did not happen; `error` says why (errno) */
	RF_FENCE_UNCERTAIN = 2,   /* may have happened; ask VERIFY */
	RF_FENCE_STALE = 3,       /* a newer epoch rules there: `epoch` says which */
	RF_FENCE_UNSUPPORTED = 4, /* this driver has no such way */
	RF_FENCE_BUSY = 5,        /* an opener of an older instance is in the way: `text` */
};

/* What a driver can do, in the HELLO reply. */
#define RF_FENCE_CAN_EVICT 0x1u    /* target-side: verified abort of older writers */
#define RF_FENCE_CAN_DEADLINE 0x2u /* shuts by itself at the deadline */
#define RF_FENCE_CAN_DRAIN 0x4u    /* REVOKE waits for writes in flight */

/* Why the enforcement point refused; what none of these names is in the total only. */
enum rf_fence_refusal {
	RF_FENCE_REFUSED_STALE = 0,      /* an older epoch than the one that rules */
	RF_FENCE_REFUSED_SUPERSEDED = 1, /* the disk says that a later epoch exists */
	RF_FENCE_REFUSED_EXPIRED = 2,    /* after the deadline */
	RF_FENCE_REFUSED_REVOKED = 3,    /* that epoch was shut, or released */
	RF_FENCE_REFUSED_CLOSED = 4,     /* never opened */
	RF_FENCE_REFUSED_COUNT = 5,
};

struct rf_fence_request {
	__u32 magic;
	__u32 verb; /* enum rf_fence_verb */
	__u64 id;   /* echoed in the reply */
	__u64 epoch;
	__u64 incarnation;
	__u64 deadline_ns; /* CLOCK_BOOTTIME, absolute; 0 = none */
	__u32 node;
	__u32 volume;
};

/* `verb` 0 = unsolicited: HELLO (first packet, id 0) or SHUT (id 1: the
 * enforcement point shut by itself; `text` says why). */
#define RF_FENCE_HELLO_ID 0u
#define RF_FENCE_SHUT_ID 1u

struct rf_fence_reply {
	__u32 magic;
	__u32 verb;
	__u64 id;
	__u64 epoch;     /* that of the request; STALE, VERIFY, STATUS: the one that rules */
	__u32 result;    /* enum rf_fence_result */
	__s32 error;     /* errno, positive; 0 = none */
	__u32 can;       /* RF_FENCE_CAN_* */
	__u32 in_flight; /* writes still in flight after a failed REVOKE */
	__u64 admitted;  /* STATUS: writes admitted, */
	__u64 refused;   /* and refused, since the fencer started */
	__u64 refused_by[RF_FENCE_REFUSED_COUNT]; /* of these, by enum rf_fence_refusal */
	char driver[16];                          /* HELLO: which one is in force, of a chain */
	char text[RF_FENCE_TEXT_BYTES];           /* for people; NUL-terminated */
};

_Static_assert(sizeof(struct rf_fence_request) == 48, "request");
_Static_assert(sizeof(struct rf_fence_reply) ==
		       56 + 8 * RF_FENCE_REFUSED_COUNT + 16 + RF_FENCE_TEXT_BYTES,
	       "reply");

#endif
