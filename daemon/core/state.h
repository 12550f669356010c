/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rooms of the core share: the state of one node in one area.
 *
 * Style of the machine. Handlers of events only note facts; advance_*()
 * functions look at the facts and go as far as they can, and may be called at
 * any time, twice too. A record is "pushed": its wanted content has a version,
 * each disk remembers which version it was last given, and a disk whose record
 * is busy gets the newest content when it is free again (§2.2).
 */
#ifndef RF_CORE_STATE_H
#define RF_CORE_STATE_H

#include "core.h"
#include "format/assert.h"
#include "format/timing.h"

#define DISK_BIT(d) ((uint8_t)(1u << (d)))

/* ---- operations in flight ---- */

enum purpose {
	OP_NONE = 0,
	OP_OWN,     /* read own slot and mailbox */
	OP_PEER,    /* read the slot of one node */
	OP_REGION,  /* read a claim region: to learn, or to prepare a campaign */
	OP_RENEW,   /* read a claim region after a slot write: a renewal (§8) */
	OP_SLOT,    /* write own slot, then read the region of one led volume */
	OP_SLOTS,   /* read all slots: at join, and afresh after a ballot (§7) */
	OP_FRESH,   /* read a claim region afresh after phase 2 (§7) */
	OP_BALLOT,  /* write own ballot, then read the claim region (§5) */
	OP_EPOCH,   /* write the epoch sector */
	OP_HISTORY, /* write a history entry */
	OP_STATES,  /* read all committed states of a volume */
	OP_COMMIT,  /* write own state, then read the claim region */
	OP_LAST = OP_COMMIT,
};

struct op {
	uint8_t purpose;
	uint8_t disk;
	bool late;          /* deadline passed, the kernel still owns it */
	bool writes, wrote; /* is to write; has written, durably */
	uint16_t generation;
	uint32_t volume, index; /* see struct io */
	uint32_t read_len;      /* less is a failure */
	struct push *push;      /* that this writes, or NULL */
	uint64_t begun_ns;      /* before it was submitted (§2.4) */
	uint64_t counts_ns;     /* a renewal's: what its lease counts from */
	uint64_t until_ns;      /* failed: no ghost of it can land after this; 0 = not failed */
	uint64_t tag;
};

/* A record that is pushed to every disk. */
struct push {
	enum purpose purpose; /* of the operations that write it */
	uint32_t volume, index;
	uint64_t since_ns;            /* when this content was made; 0 = does not matter */
	uint64_t version;             /* of the wanted content, 0 = nothing yet */
	uint64_t given[RF_DISKS_MAX]; /* version last submitted to a disk */
	uint64_t done[RF_DISKS_MAX];  /* version durable on a disk */
	uint8_t retry;                /* disks whose last write failed: again at a beat */
	uint8_t bytes[RF_RECORD_BYTES];
};

/* ---- another node, as seen ---- */

struct peer {
	uint32_t state; /* RF_SLOT_*, 0 never read, 1 unreadable */
	uint32_t health, priority, rtt_us;
	uint64_t incarnation, generation;
	uint64_t disk_seq;              /* newest sequence read from a disk, */
	uint8_t seq_disk;               /* the disk that showed it */
	uint64_t disk_seq_ns;           /* and when it was first read: t_r of §7 */
	uint64_t seq;                   /* newest sequence known from disk or network, */
	uint64_t moved_ns;              /* and when it was last seen to move; 0 = never */
	uint64_t first_ns;              /* first reading of this life */
	uint64_t net_ns;                /* last accepted datagram of this life; 0 = never */
	uint64_t asked_ns;              /* last slot read issued, */
	uint64_t read_ns;               /* and answered */
	uint64_t clock_ns, clock_at_ns; /* to be echoed */
	uint64_t want_round_seen;       /* (volume, round) of the last prevote from its slot */
	uint8_t gate_open[RF_VOLUMES_MAX / 8];
	uint8_t hears[RF_NODES_MAX / 8];
	char host[RF_HOST_BYTES];
	bool lost_said;
	uint8_t busy; /* disks with a read of its slot in flight */
};

/* ---- exclusion of one node from one volume ---- */

struct exclusion {
	uint64_t seq, incarnation; /* newest of the fresh read */
	uint8_t readable;          /* disks of the fresh read that had it readable */
	bool open;
	uint32_t way;      /* RF_WAY_*, 0 = not yet out */
	uint64_t until_ns; /* expiry, when open */
};

struct excluding {
	uint8_t fresh_slots, fresh_region; /* disks of the fresh read that count */
	bool evicting, evicted;
	uint32_t excluded_by; /* RF_WAY_*, of all nodes */
	uint64_t phase2_ns, poll_ns, evict_retry_ns;
};

/* ---- a volume ---- */

enum phase { PHASE_NONE = 0, PHASE_ONE, PHASE_TWO };

struct ballot_step {
	enum phase phase;
	uint64_t id;           /* push version of the ballot of this phase */
	uint64_t number;       /* b */
	uint8_t done, failed;  /* disks */
	struct rf_ballot best; /* phase 1: of the largest bal, the value to adopt */
	uint64_t highest_mbal; /* of others, in this instance */
	uint64_t began_ns;
};

struct campaign {
	uint64_t at_ns;    /* when to begin, 0 = not planned */
	uint64_t until_ns; /* this round gives up */
	uint64_t epoch;    /* wanted */
	uint32_t round;
	uint8_t read_done; /* disks of the region read before the ballot */
	uint8_t votes[RF_NODES_MAX / 8];
	bool mandate; /* the leader handed over to me: no prevotes needed */
};

struct vote {
	uint32_t candidate; /* 0 = none */
	uint64_t epoch, until_ns;
	uint32_t round;
};

struct request { /* a prevote not yet answered */
	uint32_t candidate;
	uint64_t epoch, until_ns;
	uint32_t round, hears;
	bool by_slot;
};

struct lease {
	uint64_t open_seq;                 /* slot sequence that first said OPEN */
	uint64_t renewed_ns[RF_DISKS_MAX]; /* time before the last good renewal */
	uint64_t deadline_ns;              /* 0 = none yet */
	uint64_t sent_ns;                  /* deadline last granted to the fence */
	uint64_t fenced_ns;                /* how long what it took lasts; 0 = for ever */
	bool granting, opened, held_said;
	bool again; /* also a fence without deadlines must be told */
	int64_t margin_min_ns;
};

struct closing {
	uint32_t cause, to;
	bool revoking, drained, cancelled, quiet, undrained_said;
	bool worked;        /* hooks or users may have run under it */
	uint8_t hooks;      /* demote and lost hooks still running */
	uint64_t close_seq; /* slot sequence that says CLOSED, 0 = not yet */
	uint64_t since_ns, retry_ns;
	uint64_t by_epoch; /* superseded by, 0 = clean */
};

struct commit {
	bool loading, writing, is_put;
	uint8_t done, failed; /* disks */
	uint64_t id;          /* of the pending write */
	uint64_t version;     /* last tried; never used twice under one epoch */
	uint32_t half;        /* that the pending write goes to */
	struct stamp {
		uint64_t epoch, version;
	} best, own[2];  /* newest found while loading; of my own halves */
	uint32_t length; /* of the blob in `payload` */
};

struct volume {
	uint32_t number;
	bool candidate, abstains, own_unreadable, suspected;
	uint8_t unreadable; /* disks whose claim region has unreadable records */
	uint32_t can;
	enum rf_role role;

	/* what the disk said: highest epoch decided, and its owner; 0 = not known whose */
	uint64_t epoch, owner_incarnation;
	uint32_t owner, epoch_state;
	uint64_t instance;               /* largest instance in any ballot */
	uint64_t seen_ns;                /* last life sign of the owner on this volume */
	uint64_t hint_epoch, hint_ns;    /* epoch a heartbeat named, not yet seen on disk */
	uint64_t look_ns;                /* a region read is wanted, since */
	uint8_t busy[OP_LAST + 1];       /* by purpose: disks where the kernel owns one */
	uint8_t look_done;               /* disks that answered the wanted read */
	uint8_t join_done, own_readable; /* joining: disks whose region, own ballot was read */
	uint64_t read_retry_ns;          /* a read that failed is not repeated before */
	uint64_t holdoff_ns;
	uint8_t fruitless; /* leaderships in a row that ended before they were active */
	bool slot_open;    /* what my slot says, or is about to say, of this gate */
	uint32_t leader_said;
	uint64_t leader_epoch_said;
	uint32_t last_cause; /* why the predecessor ended, as far as known */

	/* a hand-over to me, of an epoch that I have yet to see on the disk */
	uint64_t promised_epoch;
	uint32_t promised_by;

	struct campaign campaign;
	struct vote vote;
	struct request request;

	/* my ballot, as last pushed */
	struct rf_ballot mine;
	struct push ballot;
	struct ballot_step step;
	uint8_t phase2; /* disks on which my phase 2 write is durable */

	/* my epoch */
	uint64_t my_epoch;
	struct push sector;
	struct rf_epoch sector_record;
	struct exclusion *exclusion; /* by node, index 0 unused */
	struct excluding exclude;
	struct lease lease;
	struct closing closing;
	struct commit commit;
	uint8_t *payload; /* of the committed state, room for rf_geo_payload_bytes */
	uint8_t *half;    /* record and payload being written */
	struct rf_history history;
	struct push history_push;
	uint64_t mark_ns; /* when the present stage of the leadership began */
	uint64_t campaign_ns;
};

/* ---- joining ---- */

enum join_stage {
	JOIN_READ = 0, /* slots being read */
	JOIN_WATCH,    /* slot not cleanly closed: watching, and waiting for ghosts */
	JOIN_REVOKE,   /* gates of an earlier life being shut and drained */
	JOIN_BALLOTS,  /* own promises being read */
	JOIN_WRITE,    /* new life being written */
	JOIN_SETTLE,   /* two I/O times before the last look */
	JOIN_CHECK,    /* still mine? */
	JOIN_DONE,
};

struct join {
	enum join_stage stage;
	uint8_t done, failed; /* disks of the present stage */
	bool unclean, unreadable;
	uint8_t moved; /* disks whose copy changed while this node watched */
	struct watched {
		uint64_t seq, incarnation; /* seq 0 = not read yet */
	} watched[RF_DISKS_MAX];
	uint64_t old_incarnation, old_seq, old_generation;
	uint64_t until_ns, began_ns, retry_ns, look_ns;
	uint8_t own_found; /* disks that showed a readable own slot */
	uint8_t agree;     /* disks that showed the newest of them */
};

struct rf_core {
	struct rf_core_config cfg;
	struct rf_super super;
	uint32_t nodes, volumes, disks, me;
	uint64_t hb_ns, suspect_ns, lease_ns, grace_ns, hold_ns, isolation_ns, expiry_ns;
	uint64_t now, unix_ns;
	uint64_t random;

	bool halted, leaving, stopped, paused, barred;
	uint32_t health;
	uint64_t incarnation, generation;
	uint64_t seq; /* of the slot as last encoded; the version of its push is the next */
	struct join join;
	uint64_t joined_ns;
	uint64_t awake_ns;                 /* when this node last went on after a standstill */
	uint64_t doubt_ns;                 /* is my slot still mine? asked since, 0 = it is */
	uint8_t doubt_seen;                /* disks that said so */
	uint8_t foreign;                   /* disks that hold another area now */
	uint64_t beat_ns;                  /* next heartbeat */
	uint8_t busy[OP_LAST + 1];         /* by purpose: disks, of what concerns no volume */
	bool beat_unsent;                  /* heartbeat of this beat not yet multicast */
	uint32_t scan;                     /* round robin over unheard nodes and echo targets */
	uint64_t order_seq, order_pending; /* last obeyed, being obeyed */
	uint64_t isolated_ns;              /* since, 0 = not */
	struct push slot;
	struct rf_slot slot_record;
	uint32_t write_us, read_us, worst_us;

	uint8_t failing;   /* disks whose last operation failed or passed its deadline */
	struct peer *peer; /* by node id, index 0 unused */
	struct volume *volume;
	uint32_t ops;
	struct op *op;
	uint32_t op_hint;

	/* effects of the present step */
	uint32_t count, count_max, say_max, says;
	struct rf_effect *queue;
	uint8_t *arena;
	size_t arena_used, arena_max;
};

/* ---- walks: all volumes; all nodes but this one, by id ---- */
#define rf_each_volume(c, v) \
	for (struct volume *v = (c)->volume; v < (c)->volume + (c)->volumes; v++)
#define rf_each_other(c, j) for (uint32_t j = rf_other((c), 0); j; j = rf_other((c), j))
static inline uint32_t rf_other(const struct rf_core *c, uint32_t after)
{
	uint32_t j = after + 1 == c->me ? after + 2 : after + 1;

	return j <= c->nodes ? j : 0;
}

/* For records: an hour and more is an hour and a bit. */
static inline uint32_t rf_us(uint64_t ns)
{
	return ns / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 1000);
}

static inline uint64_t rf_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- core.c: effects ---- */
struct rf_effect *rf_emit(struct rf_core *c, enum rf_effect_kind kind);
void rf_emit_say(struct rf_core *c, const struct volume *v, enum rf_say code, uint32_t node,
		 uint64_t epoch, uint64_t a, uint64_t b);
/* About this node, and its epoch when it is about a volume. */
void rf_say_own(struct rf_core *c, const struct volume *v, enum rf_say code, uint64_t a,
		uint64_t b);
void rf_emit_send(struct rf_core *c, uint32_t to, const struct rf_msg *m);
/* For my epoch; for what an earlier life left (epoch 0) while I have none. */
void rf_emit_fence(struct rf_core *c, enum rf_effect_kind kind, const struct volume *v,
		   uint64_t deadline_ns);
void rf_emit_hook(struct rf_core *c, struct volume *v, enum rf_hook hook);
void rf_halt(struct rf_core *c, uint32_t reason);
/* The slot, or the whole area, is not this life's (any more): say why, and halt. */
void rf_over(struct rf_core *c, enum rf_say why, uint64_t a, uint64_t b);
uint32_t rf_random(struct rf_core *c, uint32_t below);

/* ---- quorum.c ---- */
static inline uint32_t rf_majority(uint32_t n) /* never reached by an empty set */
{
	return RF_RULE(MAJORITY, true) ? n / 2 + 1 : 1;
}
uint32_t rf_count(uint8_t disks);
enum rf_verdict { RF_LOST = -1, RF_PENDING = 0, RF_WON = 1 };
/* Is a majority done, out of reach, still open? One that failed may be done later. */
enum rf_verdict rf_disks_verdict(const struct rf_core *c, uint8_t done, uint8_t failed);
bool rf_most(const struct rf_core *c, uint8_t disks); /* are these a majority? */
/* The largest value that a majority of n reaches: sequences, versions, times. */
uint64_t rf_majority_reaches(const uint64_t *of, uint32_t n);

/* ---- op.c ---- */
/* What an operation is to do; where follows from it (op.c). Handlers get what was
 * read, or NULL when the operation failed; and the volume, NULL when it concerns none. */
struct io {
	enum purpose purpose;
	uint32_t volume;     /* or RF_NO_VOLUME */
	uint32_t index;      /* node, half of a state, entry of the history */
	uint64_t tag;        /* push version, epoch, number of a commit: comes back in op */
	uint64_t begun_ns;   /* 0 = now; a renewal counts from its slot write (§8) */
	struct push *push;   /* what is pushed, or */
	const uint8_t *data; /* what else is written, */
	uint32_t data_len;   /* 0 = nothing */
};
/* Start an operation; false when the record is busy or the same read already runs
 * on that disk (the caller tries again later). */
bool rf_op_start(struct rf_core *c, uint32_t disk, const struct io *io);
/* Read from every disk that is not among those done. */
void rf_read(struct rf_core *c, enum purpose purpose, uint32_t volume, uint32_t index,
	     uint8_t done);
void rf_op_event(struct rf_core *c, const struct rf_event *e);
/* Give the record to every disk that is free and does not have it yet. */
void rf_push(struct rf_core *c, struct push *p);
bool rf_push_wanted(struct rf_core *c, const struct push *p); /* by any disk */
void rf_push_retry(struct rf_core *c);                        /* once a beat: all that failed */
/* The present version is durable on a majority. */
bool rf_push_settled(const struct rf_core *c, const struct push *p);

/* ---- join.c ---- */
void rf_join_advance(struct rf_core *c);
void rf_join_slots(struct rf_core *c, uint32_t disk, const uint8_t *slots);
void rf_join_own(struct rf_core *c, const struct op *op, const uint8_t *record);
void rf_join_region(struct rf_core *c, struct volume *v, uint32_t disk, const uint8_t *region);
void rf_join_revoked(struct rf_core *c, uint32_t volume, uint32_t result);

/* ---- beat.c: heartbeat, own slot ---- */
void rf_beat_advance(struct rf_core *c);
void rf_slot_change(struct rf_core *c); /* content changed: write as soon as possible */
void rf_slot_push(struct rf_core *c);
void rf_slot_wrote(struct rf_core *c, struct volume *v, const struct op *op,
		   const uint8_t *region);
void rf_own_read(struct rf_core *c, struct volume *v, const struct op *op, const uint8_t *read);
void rf_beat_send(struct rf_core *c);
uint64_t rf_slot_majority(const struct rf_core *c); /* sequence durable on a majority */

/* ---- peers.c ---- */
void rf_peer_slot(struct rf_core *c, uint32_t node, uint32_t disk, const uint8_t *record);
void rf_peer_read(struct rf_core *c, uint32_t node); /* issue reads of its slot */
void rf_peer_message(struct rf_core *c, const struct rf_event *e);
bool rf_peer_hears(const struct rf_core *c, uint32_t node); /* heard on the network */
bool rf_peer_beats(const struct rf_core *c, uint32_t node); /* slot beats, or unknown */
bool rf_peer_moves(const struct rf_core *c, uint32_t node); /* beats, and did so of late */
void rf_peers_scan(struct rf_core *c);
void rf_peers_fill(struct rf_core *c, uint8_t *hears);
uint32_t rf_peers_rank(const struct rf_core *c);
void rf_peers_isolation(struct rf_core *c);

/* ---- claim.c: what claim regions teach ---- */
/* Judge one copy (NULL: it could not be read) for my epoch, or 0, and learn from it. */
enum rf_claim_verdict rf_region_judge(struct rf_core *c, struct volume *v, uint32_t disk,
				      const uint8_t *region, uint64_t epoch);
void rf_region_read(struct rf_core *c, struct volume *v, const struct op *op,
		    const uint8_t *region);
void rf_region_look(struct rf_core *c, struct volume *v); /* ask for a read */
void rf_region_look_advance(struct rf_core *c, struct volume *v);
bool rf_leaderless(const struct rf_core *c, const struct volume *v);
void rf_leader_say(struct rf_core *c, struct volume *v);
void rf_decided_learn(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t owner,
		      uint64_t incarnation);

/* ---- campaign.c ---- */
void rf_campaign_advance(struct rf_core *c, struct volume *v);
void rf_campaign_prevote(struct rf_core *c, struct volume *v, uint32_t from, uint64_t epoch,
			 uint32_t round, uint32_t hears, bool by_slot);
void rf_campaign_vote(struct rf_core *c, struct volume *v, uint32_t from, bool granted,
		      uint64_t epoch, uint32_t round, uint64_t known);
void rf_campaign_abandon(struct rf_core *c, struct volume *v, uint64_t wait_ns);
void rf_campaign_mandate(struct rf_core *c, struct volume *v);

/* ---- ballot.c ---- */
void rf_ballot_begin(struct rf_core *c, struct volume *v);
void rf_ballot_done(struct rf_core *c, struct volume *v, const struct op *op,
		    const uint8_t *region);
void rf_ballot_advance(struct rf_core *c, struct volume *v);

/* ---- exclusion.c ---- */
void rf_exclusion_begin(struct rf_core *c, struct volume *v);
void rf_exclusion_advance(struct rf_core *c, struct volume *v);
void rf_exclusion_slots(struct rf_core *c, struct volume *v, const struct op *op,
			const uint8_t *slots);
void rf_exclusion_region(struct rf_core *c, struct volume *v, const struct op *op,
			 const uint8_t *region);
void rf_exclusion_seen(struct rf_core *c, uint32_t node, const struct rf_slot *s);
void rf_exclusion_closed(struct rf_core *c, struct volume *v, uint32_t node, uint64_t epoch);
void rf_exclusion_evicted(struct rf_core *c, struct volume *v, uint32_t result);
void rf_sector_set(struct rf_core *c, struct volume *v, uint32_t state);

/* ---- lease.c ---- */
bool rf_renewing(const struct volume *v);            /* my slot says OPEN and renewals run */
static inline bool rf_owning(const struct volume *v) /* the epoch is mine, and not lost */
{
	return v->role >= RF_ROLE_EXCLUDING && v->role <= RF_ROLE_ACTIVE;
}
void rf_lease_open(struct rf_core *c, struct volume *v);
void rf_lease_observe(struct rf_core *c, struct volume *v, const struct op *op,
		      const uint8_t *region);
void rf_lease_fence_said(struct rf_core *c, struct volume *v);
void rf_lease_granted(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t result);
void rf_lease_advance(struct rf_core *c, struct volume *v);

/* ---- lead.c: from the open gate to the closed one ---- */
void rf_lead_loaded(struct rf_core *c, struct volume *v);
void rf_lead_hook(struct rf_core *c, struct volume *v, uint32_t hook, uint64_t epoch,
		  int32_t status);
void rf_role_set(struct volume *v, enum rf_role role); /* only along the life of §8 */
void rf_lead_check(struct rf_core *c, struct volume *v);
void rf_lead_superseded(struct rf_core *c, struct volume *v);
void rf_lead_lose(struct rf_core *c, struct volume *v, enum rf_cause cause, uint32_t to);
/* Left in peace: it goes on being announced until its slot says closed. */
bool rf_lead_voluntary(enum rf_cause cause);
void rf_lead_revoked(struct rf_core *c, struct volume *v, uint64_t epoch, uint32_t result);
void rf_lead_advance(struct rf_core *c, struct volume *v);

/* ---- commit.c: the committed state blob ---- */
void rf_commit_load(struct rf_core *c, struct volume *v);
void rf_commit_states(struct rf_core *c, struct volume *v, const struct op *op,
		      const uint8_t *states);
void rf_commit_put(struct rf_core *c, struct volume *v, const uint8_t *data, uint32_t len);
void rf_commit_wrote(struct rf_core *c, struct volume *v, const struct op *op,
		     const uint8_t *region);
void rf_commit_lost(struct rf_core *c, struct volume *v); /* the leadership is */
void rf_commit_advance(struct rf_core *c, struct volume *v);

#endif
