/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate at the host: device-mapper target "ringfence".
 *
 * A gate maps a device like dm-linear does, but lets a write through only
 * while this node owns an epoch and a deadline has not passed. It is the spec
 * of the kernel module (fence/dm) and the contract with its driver
 * (fence/gate.c). The gate trusts no daemon: it reads the claim region itself.
 *
 * Table line (all on one line; numbers decimal; sectors of 512 bytes):
 *
 *   START LENGTH ringfence DEVICE OFFSET_SECTORS
 *	NODE VOLUME NODES STRIDE_BYTES CLUSTER_UUID AREA_UUID
 *	LEASE_MS CHECK_MS HOLD_MS
 *	DISKS {REGION_DEVICE REGION_OFFSET_SECTORS} x DISKS
 *	[FEATURES {FEATURE} x FEATURES]
 *
 *   DEVICE OFFSET_SECTORS   where the data lies
 *   NODE VOLUME             who I am (1..NODES) and which volume this is
 *   NODES STRIDE_BYTES      shape of the area, CLUSTER_UUID AREA_UUID its identity
 *   LEASE_MS                no grant may reach further ahead, and the gate is never
 *                           open longer than this after the start of the last claim
 *                           read that found this node's epoch alive
 *   CHECK_MS                interval of the gate's own claim reads, at most LEASE_MS
 *   HOLD_MS                 how long writes wait after expiry for a renewal; 0: not
 *   DISKS                   1, 3 or 5 claim regions; a majority counts. A region may
 *                           lie on DEVICE itself, outside the data
 *   features: gate_reads    reads are refused (and held) like writes
 *             conflict      refuse with "reservation conflict" (EBADE) instead of
 *                           "device offline" (ENODEV): for multipath above the gate
 *
 * The target is a singleton: the only one of its table.
 *
 * Life of an instance (= one loaded table). One instance, one epoch (PROTOCOL
 * §8): an instance that was open for e is never open for another epoch.
 *
 *   closed   nothing was granted yet
 *   opening  a grant waits for the claim region to be read
 *   open     writes pass until the deadline
 *   holding  the deadline has passed: writes wait for a renewal, HOLD_MS at most
 *   draining shut for ever, writes are still in flight below the gate
 *   shut     shut for ever, none is in flight
 *
 * In any state but open everything but a read fails or waits: writes, flushes
 * (empty ones too), discards, write-zeroes, secure erases. A write that was
 * admitted and completes after the deadline, or after the gate was shut, fails.
 * Passthrough ioctls never pass. Suspending the device shuts an open gate once
 * everything has drained, and fails what was held.
 *
 * Messages (`dmsetup message DEVICE 0 …`)
 *
 *   grant EPOCH DEADLINE_NS INCARNATION
 *	Open, or extend: DEADLINE_NS is absolute on CLOCK_BOOTTIME. A first grant, and
 *	one after expiry, returns when the claim region has been read: afresh, on a
 *	majority of the disks, and owned by (NODE, INCARNATION) on one of them.
 *	A grant never shortens a deadline. Errors:
 *	EINVAL    not three numbers, or epoch, incarnation or deadline 0
 *	ETIME     the deadline has passed (also while the region was being read)
 *	ERANGE    the deadline is more than LEASE_MS ahead
 *	ESTALE    the epoch is superseded, or was released; so was the instance, if it is shut
 *	EPERM     another node or another life of this node owns the epoch
 *	EIO       the claim region is unreadable on too many disks
 *	EBUSY     the instance belongs to another epoch, another grant is being checked,
 *	          or the device is still open from before this table was loaded
 *	EAGAIN    the device is suspended
 *	ESHUTDOWN the instance is shut for another reason: load a new table
 *   revoke [WAIT_MS]
 *	Admit nothing more, for ever; fail what is held; wait up to WAIT_MS (default
 *	1000, at most 10000) for writes in flight. Answers "drained", or "draining N"
 *	with how many are left. Only "drained" is a proof.
 *   check
 *	Read the claim region now, in any state. Returns at once; see `checks`.
 *
 * Status (`dmsetup status`), words KEY=VALUE in this order; more may follow:
 *
 *   state=WORD       as above
 *   why=WORD         why it is shut, or "-": revoked superseded expired suspended removed
 *   epoch=N          the epoch of the instance, 0 before the first grant
 *   left_ms=N        until the deadline (open) or the end of the hold (holding), else 0
 *   seen=N           highest epoch known to be decided
 *   in_flight=N      writes admitted and not completed
 *   held=N           writes waiting for a renewal
 *   admitted=N       writes let through since the instance exists
 *   refused_closed=N refused_expired=N refused_superseded=N refused_revoked=N
 *   late=N           admitted, but completed too late and failed for it
 *   drain_us=N       how long the drain took, 0 = has not drained
 *   checks=N         claim reads finished
 *   check_errors=N   claim reads that failed, were unreadable, or got stuck
 *   inherited=0|1    the device is open since before this table: no first grant
 *
 * Events: each change of state raises a dm event (`dmsetup wait`) and a uevent
 * "change" with RINGFENCE_STATE, RINGFENCE_WHY and RINGFENCE_EPOCH.
 */
#ifndef RINGFENCE_GATE_H
#define RINGFENCE_GATE_H

#include "limits.h"

#define RF_GATE_TARGET "ringfence"
#define RF_GATE_MODULE "dm-ringfence"
#define RF_GATE_VERSION_MAJOR 1
#define RF_GATE_VERSION_MINOR 0
#define RF_GATE_VERSION_PATCH 0

/* Words before the regions: DEVICE … HOLD_MS, DISKS. */
#define RF_GATE_FIXED_WORDS 12
#define RF_GATE_WORDS_MIN (RF_GATE_FIXED_WORDS + 2)

#define RF_GATE_LEASE_MS_MIN 100u
#define RF_GATE_LEASE_MS_MAX 600000u
#define RF_GATE_CHECK_MS_MIN 10u
#define RF_GATE_HOLD_MS_MAX 600000u

#define RF_GATE_FEATURE_READS "gate_reads"
#define RF_GATE_FEATURE_CONFLICT "conflict"

#define RF_GATE_GRANT "grant"
#define RF_GATE_REVOKE "revoke"
#define RF_GATE_CHECK "check"
#define RF_GATE_REVOKE_WAIT_MS 1000u
#define RF_GATE_REVOKE_WAIT_MS_MAX 10000u
#define RF_GATE_DRAINED "drained"
#define RF_GATE_DRAINING "draining"

enum rf_gate_state {
	RF_GATE_CLOSED = 0,
	RF_GATE_OPENING,
	RF_GATE_OPEN,
	RF_GATE_HOLDING,
	RF_GATE_SHUTTING, /* "draining" */
	RF_GATE_SHUT,
	RF_GATE_STATES,
};
#define RF_GATE_STATE_WORDS "closed", "opening", "open", "holding", "draining", "shut"

enum rf_gate_why {
	RF_GATE_WHY_NONE = 0,
	RF_GATE_WHY_REVOKED,
	RF_GATE_WHY_SUPERSEDED,
	RF_GATE_WHY_EXPIRED,
	RF_GATE_WHY_SUSPENDED,
	RF_GATE_WHY_REMOVED,
	RF_GATE_WHYS,
};
#define RF_GATE_WHY_WORDS "-", "revoked", "superseded", "expired", "suspended", "removed"

#define RF_GATE_UEVENT_STATE "RINGFENCE_STATE"
#define RF_GATE_UEVENT_WHY "RINGFENCE_WHY"
#define RF_GATE_UEVENT_EPOCH "RINGFENCE_EPOCH"

#endif
