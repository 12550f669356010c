/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core: one node's part in one area, as a pure state machine.
 *
 *     rf_core_step(core, event, effects)
 *
 * Events are facts in the past, effects are orders. Time arrives inside events
 * (boot clock, never going back), randomness comes from a generator seeded at
 * init, memory is given once and never grows. No I/O, no clock, no logging: the
 * daemon, the simulator and the fuzzers link the same objects.
 *
 * Order of effects. They are listed in the order in which they must be applied:
 * what takes rights away (revoke, halt), then what makes durable (io), then what
 * gives rights (grant), then what tells others (send, hook, say). When one
 * cannot be applied, those after it that give or tell must not be applied
 * either; node.c carries that duty and turns each into a failed event.
 */
#ifndef RF_CORE_CORE_H
#define RF_CORE_CORE_H

#include "format/codec.h"
#include "ringfence/control.h"
#include "ringfence/fence.h"

struct rf_core;

struct rf_core_config {
	struct rf_super super; /* of disk 0; disks agree on all but disk_index */
	uint32_t node;         /* my id */
	uint64_t incarnation;  /* fresh random, not 0 */
	uint64_t seed;         /* of the generator: back-off only, no secrets */
	uint64_t unix_ns;      /* wall clock at start: floor for a lost sequence */
	uint64_t now_ns;       /* boot clock at start */
	/* An earlier life of this boot did not end with RF_SAY_LEFT. It may have died
	 * in its very first write: then the slot still says free, but is not. */
	bool crashed;
	uint8_t boot_id[RF_UUID_BYTES];
	char host[RF_HOST_BYTES];
	uint32_t priority; /* of this node; higher campaigns first */
	/* Volumes this node may lead (others it only watches). */
	uint8_t candidate[RF_VOLUMES_MAX / 8];
	uint32_t can[RF_VOLUMES_MAX]; /* RF_FENCE_CAN_* known at start, by volume */
};

/* ---- events ---- */

enum rf_event_kind {
	RF_EV_TICK = 1, /* the time asked for by rf_core_wake_ns() has come */
	RF_EV_IO,       /* an io effect ended, or its deadline passed */
	RF_EV_IO_LATE,  /* an io that had passed its deadline is off the kernel now */
	RF_EV_MESSAGE,  /* an authenticated message arrived */
	RF_EV_FENCE,    /* a fence effect was answered, or SHUT came unasked */
	RF_EV_HOOK,     /* a hook effect ended */
	RF_EV_QUIET,    /* all that ran under the leadership is gone (cancel effect) */
	RF_EV_ADMIN,    /* an operator or the daemon's end */
	RF_EV_HEALTH,   /* verdict of the user's health check */
	RF_EV_CAN,      /* what fencer and user let this node do */
	RF_EV_LAST = RF_EV_CAN,
};

enum rf_admin {
	RF_ADMIN_RESIGN = 1,   /* volume */
	RF_ADMIN_HANDOVER = 2, /* volume, node */
	RF_ADMIN_PAUSE = 3,
	RF_ADMIN_RESUME = 4,
	RF_ADMIN_SHUTDOWN = 5,  /* leave all volumes, free the slot, then HALT */
	RF_ADMIN_STATE_PUT = 6, /* volume, data, len: commit a state blob; answered by
				 * RF_SAY_STATE_COMMITTED or RF_SAY_STATE_REFUSED */
	RF_ADMIN_PRIORITY = 7,  /* node: this node's priority from now on */
	RF_ADMIN_LAST = 7,
};

struct rf_event {
	enum rf_event_kind kind;
	uint64_t now_ns;  /* boot clock; for RF_EV_IO taken after the completion */
	uint64_t unix_ns; /* wall clock, for records that people read; may be 0 */
	union {
		struct {
			uint32_t op;         /* of the effect */
			int32_t status;      /* 0, or the first -errno of the chain; -ETIME at
					      * the deadline: the record is busy until IO_LATE */
			bool wrote;          /* the write part completed durably */
			const uint8_t *data; /* what was read, len bytes; valid in the step */
			size_t len;
		} io;
		struct {
			uint32_t from;
			uint64_t incarnation;
			const uint8_t *data;
			size_t len;
		} message;
		struct {
			uint32_t volume;
			uint32_t verb; /* RF_FENCE_*; 0 = SHUT by itself */
			uint64_t epoch;
			uint32_t result; /* enum rf_fence_result */
		} fence;
		struct {
			uint32_t volume, hook; /* enum rf_hook */
			uint64_t epoch;
			int32_t status; /* exit code; < 0: killed at its limit, or not run */
		} hook;
		struct {
			uint32_t volume;
			uint64_t epoch;
		} quiet;
		struct {
			uint32_t verb, volume, node;
			const uint8_t *data;
			uint32_t len;
		} admin;
		struct {
			bool good;
		} health;
		struct {
			uint32_t volume, can;
			bool abstains; /* this node does not campaign for it now */
		} can;
	};
};

/* ---- effects ---- */

enum rf_effect_kind {
	RF_DO_REVOKE = 1, /* fence: shut and drain; answered by RF_EV_FENCE */
	RF_DO_HALT,       /* this life is over: all gates were told to shut */
	RF_DO_IO,         /* disk: write, read, or write then read as a linked chain */
	RF_DO_EVICT,      /* fence: abort everything older at the target */
	RF_DO_GRANT,      /* fence: open or extend; answered by RF_EV_FENCE */
	RF_DO_CANCEL,     /* end all that runs under this leadership; RF_EV_QUIET */
	RF_DO_HOOK,       /* run the user's hooks of one kind; RF_EV_HOOK */
	RF_DO_SEND,       /* datagram */
	RF_DO_SAY,        /* one decision, for log, events and tests */
	RF_DO_LAST = RF_DO_SAY,
};

enum rf_hook {
	RF_HOOK_RECONCILE = 1, /* non-zero: give the leadership up */
	RF_HOOK_PROMOTE = 2,
	RF_HOOK_DEMOTE = 3,
	RF_HOOK_LOST = 4,
	RF_HOOK_LAST = 4,
};

struct rf_effect {
	enum rf_effect_kind kind;
	union {
		struct {
			uint32_t op; /* names it in RF_EV_IO and RF_EV_IO_LATE */
			uint32_t disk;
			/* Offsets from stride 0 of the area. Lengths are multiples of the
			 * sector size, 0 = no such part. The read is submitted only after
			 * the write completed (§2.3). The write is durable when it
			 * completes. data is valid until the next step: copy it. */
			uint64_t write_offset, read_offset;
			uint32_t write_len, read_len;
			const uint8_t *data; /* the first data_len bytes of write_len; the
					      * rest is zero */
			uint32_t data_len;
			uint64_t deadline_ns; /* RF_EV_IO with -ETIME at the latest then */
		} io;
		struct {
			uint32_t volume;
			uint64_t epoch, incarnation, deadline_ns;
		} fence; /* REVOKE, EVICT, GRANT: as in ringfence/fence.h */
		struct {
			uint32_t volume;
			uint64_t epoch;
		} cancel;
		struct {
			uint32_t volume, hook;
			uint64_t epoch, prev_epoch, deadline_ns;
			uint32_t prev_owner, cause;
		} hook;
		struct {
			uint32_t to;         /* node id, 0 = everybody */
			const uint8_t *data; /* valid until the next step */
			size_t len;
		} send;
		struct {
			uint32_t reason; /* RF_CAUSE_* */
		} halt;
		struct rf_decision {
			uint32_t code;   /* enum rf_say */
			uint32_t volume; /* RF_NO_VOLUME: about the node or the area */
			uint32_t node;   /* whom it is about, 0 = nobody */
			uint64_t epoch;
			uint64_t a, b; /* meaning by code, see decision.def */
		} say;
	};
};

#define RF_NO_VOLUME 0xffffffffu

/* Decisions: decision.def names each with its fields. */
enum rf_say {
#define RF_DECISION(code, name, level, a, b, words) RF_SAY_##code,
#include "decision.def"
#undef RF_DECISION
	RF_SAY_COUNT
};

struct rf_effects {
	uint32_t count;
	struct rf_effect *effect; /* capacity rf_core_effects_max() */
};

/* ---- the machine ---- */

/* Bytes of memory a core needs, and the most effects one step can give. */
size_t rf_core_bytes(const struct rf_core_config *config);
uint32_t rf_core_effects_max(const struct rf_core_config *config);

/* The longest read an io effect can ask for. The longest write is one half of a
 * state, rf_geo_half_bytes(). */
size_t rf_core_io_max(const struct rf_core_config *config);

/* memory: rf_core_bytes() bytes, aligned as for any type. The config must be
 * valid (rf_timing_check, ids in range): asserted. */
struct rf_core *rf_core_init(void *memory, const struct rf_core_config *config);

/* effects->count is set, its array is overwritten. Unknown ops, stale answers
 * and messages that make no sense are ignored (and said): an event never breaks
 * the core. Two exceptions are asserted: time going back, an unknown kind. */
void rf_core_step(struct rf_core *core, const struct rf_event *event,
		  struct rf_effects *effects);

/* When the core wants RF_EV_TICK at the latest. Never 0; may be in the past. */
uint64_t rf_core_wake_ns(const struct rf_core *core);

/* ---- looking inside (status, metrics, tests) ---- */

struct rf_core_self {
	bool joined, halted, paused;
	uint64_t incarnation, generation, seq;
	uint32_t health, disks, disks_good, write_us, read_us, worst_us;
	uint64_t join_until_ns; /* while joining: when the present wait ends, 0 = on I/O */
	uint32_t join_stage;    /* enum join_stage (state.h), 0 = begin */
};

struct rf_core_volume {
	enum rf_role role;
	uint64_t epoch, owner_incarnation; /* highest known */
	uint32_t owner;
	bool has_leader, suspected, unreadable;
	uint64_t lease_ns; /* deadline of my lease; 0 = none */
	int64_t margin_min_ns;
	uint64_t silent_since_ns;
	uint64_t since_unix_ns;
	uint32_t cause, excluded_by, can;
	/* The state blob as this leader has it: what it loaded, from its reconcile hook
	 * on, or what it put last, committed or not. */
	uint32_t state_bytes;
	const uint8_t *state;
};

struct rf_core_peer {
	uint32_t state; /* RF_SLOT_*, 0 = never read, 1 = unreadable */
	uint32_t health, priority, rtt_us;
	uint64_t incarnation, seq;
	uint64_t net_ns, disk_ns; /* last heard, last seen moving; 0 = never */
	const uint8_t *gate_open; /* bitmaps inside the core */
	const uint8_t *hears;
	const char *host;
};

void rf_core_self(const struct rf_core *core, struct rf_core_self *out);
void rf_core_volume(const struct rf_core *core, uint32_t volume, struct rf_core_volume *out);
void rf_core_peer(const struct rf_core *core, uint32_t node, struct rf_core_peer *out);
/* Host that this node's slot named when it was last read while joining. */
const char *rf_core_holder(const struct rf_core *core);

#endif
