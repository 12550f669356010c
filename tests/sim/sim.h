/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A world for the real core: one process, one clock, one generator.
 *
 * Time is virtual and moves from event to event; nothing sleeps. Every choice
 * is drawn from one generator seeded by the seed that is printed first, so a
 * seed is a schedule. Which faults may meet is the atlas' business (atlas.h);
 * what must hold whatever happens is the oracles' (oracle.h).
 */
#ifndef RF_SIM_H
#define RF_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "decision.h"
#include "format/timing.h"
#include "io/seal.h"
#include "node.h"

#include "atlas.h"
#include "random.h"

#define CELL_BYTES 544u /* kept of a stride: a record, and 32 bytes of payload */
#define PAYLOAD_BYTES 24u
#define AREAS_MAX 7u /* formats in a run; a write carries three bits of it */
#define UNIX_START_NS 1700000000000000000ull
#define NEVER UINT64_MAX

struct world;

/* ---- the heap of things to come ---- */

enum event_kind {
	EV_WAKE = 1, /* the core asked for a tick */
	EV_OP,       /* a disk operation goes on */
	EV_PACKET,   /* a datagram arrives */
	EV_FENCE,    /* a fencer serves its oldest request */
	EV_ANSWER,   /* a fencer's answer arrives */
	EV_HOOK,     /* a hook ends */
	EV_QUIET,    /* all that ran under a leadership is gone */
	EV_WRITER,   /* the application writes */
	EV_LAST,     /* the application's last write, just before the deadline */
	EV_ARRIVE,   /* a write reaches the target */
	EV_LAND,     /* a write reaches the medium */
	EV_FAULT,    /* something goes wrong */
	EV_RESUME,   /* a pause ends */
	EV_START,    /* a daemon is started */
	EV_KILL,     /* a daemon dies */
	EV_AUDIT,    /* slow oracles look around */
	EV_PHASE,    /* faults stop, or the next part of the quiet phase */
	EV_SCRIPT,   /* a scenario goes on */
};

struct happening {
	uint64_t at, order;
	uint64_t b, c;
	uint32_t a, life;
	uint16_t host;
	uint8_t kind;
};

struct heap {
	struct happening *item;
	uint32_t count, capacity;
	uint64_t order;
};

void heap_push(struct heap *h, const struct happening *e);
bool heap_pop(struct heap *h, struct happening *out);
/* What was put off for a host until `then` comes at `now`. */
void heap_sooner(struct heap *h, uint32_t host, uint64_t then, uint64_t now);

/* ---- disks ---- */

struct path {                 /* from a host to a disk, or a disk itself */
	uint64_t slow_until;  /* operations take up to slow_ns */
	uint64_t stuck_until; /* operations end only then */
	uint64_t lost_until;  /* operations fail */
	uint64_t slow_ns;
	bool reads;                                   /* lost for writes only: reads work */
	enum { SLOW_ALL, SLOW_READS, SLOW_OWN } only; /* own: slot and mailbox (scripts only) */
	bool stale; /* what a slow read brings was true when it began (scripts only) */
};

struct disk {
	uint8_t *cells;
	uint8_t *bad; /* strides that cannot be read: 1 medium error, until it is
		       * written; 2 garbage, as long; 3 medium error for ever */
	struct path path;
	uint64_t ops; /* submitted */
};

struct disk_op {
	struct disk_op *next; /* free list */
	uint32_t index, serial, host, life, core_op, disk;
	uint32_t write_stride, read_stride, read_count, data_len, read_len;
	uint64_t submit, land, wrote_at, sample, end, deadline;
	bool used, writes, reads, landed, wrote, sampled, late, orphan, torn, dropped;
	int32_t status;
	uint8_t *cells; /* what was read */
	uint32_t cells_max;
	uint8_t data[CELL_BYTES];
};

/* ---- datagrams ---- */

struct packet {
	struct packet *next;
	uint32_t index, uses, from, len;
	bool forged; /* by somebody who has no key */
	uint8_t data[RF_DATAGRAM_BYTES];
};

#define REPLAYS 64u

/* ---- fences ---- */

struct fence_request {
	uint32_t verb, life;
	uint32_t area;
	uint64_t epoch, incarnation, deadline_ns;
};

#define FENCE_QUEUE 32u

struct gate {                        /* of one host and volume */
	uint32_t area;               /* that it was made for */
	uint64_t epoch, incarnation; /* of the present instance, 0 = none */
	uint64_t deadline_ns;        /* host clock; target: unused */
	uint64_t latched;            /* the highest epoch that was shut */
	bool shut, opener, held, draining, ticking, last_armed;
	uint32_t drain_life;
	uint64_t drain_epoch;
	uint32_t in_flight;
	uint64_t connection; /* target: a closed one is refused */
	uint64_t seq, free_at;
	struct fence_request queue[FENCE_QUEUE];
	uint32_t head, count;
	struct fence_request stuck; /* a grant in a fencer that outlived its daemon */
};

struct target_wait {
	uint32_t host, life, verb;
	uint64_t epoch, incarnation;
};

struct target { /* of one volume: enforcement at the storage */
	uint64_t epoch, incarnation;
	uint32_t node, in_flight, waits;
	struct target_wait wait[16];
};

/* ---- hosts ---- */

struct host {
	struct world *world;
	uint32_t index, id;
	uint32_t life; /* counts processes: events of a dead one are dropped */
	bool alive, impostor, absent, halted, joined, stopped, crashed;
	bool bystander;              /* its configuration names no volume of the area */
	uint32_t area, crashed_area; /* of this life; of the one that crashed */
	uint32_t calls, kill_at;     /* die at this port call of a step; 0 = do not */
	uint64_t incarnation, boot;
	/* boot clock: at world time `base`, it showed `shown` */
	uint64_t base, shown, last_ns;
	int64_t drift_ppm;
	uint32_t priority;
	uint64_t paused_until; /* daemon or whole machine; 0 = runs */
	bool vm_paused;
	uint64_t wake_ns, wake_serial;
	uint64_t born, joined_at;
	struct rf_seal *seal;
	struct path path[RF_DISKS_MAX];
	struct gate *gate;
	struct rf_node *node;
	void *memory;
	bool put_pending[RF_VOLUMES_MAX];
	uint64_t put_value[RF_VOLUMES_MAX];
};

/* ---- counters ---- */

struct tally {
	uint64_t events, steps, disk_ops, disk_bytes, datagrams, landed, refused;
	uint64_t kills, pauses, leaderships, puts;
};

enum phase { PHASE_FAULTS, PHASE_FIND, PHASE_STEADY, PHASE_OVER };

struct oracles; /* oracle.h */

struct world {
	uint64_t seed, now;
	struct rng rng;
	struct atlas atlas;
	struct rf_super super;
	enum phase phase;
	uint64_t fault_end, find_by, steady_end;
	uint32_t area; /* counts formats: records of an earlier one are foreign */
	uint64_t formatted;

	struct heap heap;
	struct disk disk[RF_DISKS_MAX];
	uint32_t strides;
	struct disk_op **op;
	struct disk_op *op_free;
	uint32_t ops;
	struct packet **packet;
	struct packet *packet_free;
	uint32_t packets;
	struct packet replay[REPLAYS];
	uint32_t replays;
	struct host *host;
	uint32_t hosts;
	uint8_t *cut; /* [from * hosts + to] */
	struct target *target;
	uint8_t *scratch;
	uint64_t value; /* last state value put */

	struct oracles *oracles;
	struct tally tally;
	FILE *trace;
	bool violated;
	bool outcomes;         /* judge outcomes only */
	struct host *stepping; /* whose core is at work */
	char violation[512];
	/* a scenario listens to what is said */
	void (*listen)(void *listener, struct host *h, const struct rf_decision *d);
	void *listener;
	void (*script)(void *listener, uint64_t arg);
};

/* ---- world.c ---- */
struct world *world_new(void);
void world_free(struct world *w);
/* Everything is forgotten, then drawn anew from the atlas. */
void world_reset(struct world *w, uint64_t seed, const struct atlas *atlas);
bool world_step(struct world *w); /* false: nothing left, or over */
void world_run(struct world *w);
void world_until(struct world *w, uint64_t at);
void after(struct world *w, uint64_t at, enum event_kind kind, uint32_t host, uint32_t a,
	   uint64_t b, uint64_t c);
__attribute__((format(printf, 2, 3))) void trace(struct world *w, const char *format, ...);
__attribute__((format(printf, 3, 4))) void violate(struct world *w, const char *oracle,
						   const char *format, ...);
/* A rule is broken, by its letter: nothing bad has come of it yet. A run that asks for
 * outcomes goes on. */
#define violate_rule(w, ...) ((w)->outcomes ? (void)0 : violate(w, __VA_ARGS__))

/* ---- disk.c ---- */
void disks_reset(struct world *w);
int disk_submit(struct world *w, struct host *h, const struct rf_effect *e);
void disk_event(struct world *w, const struct happening *e);
void disks_format(struct world *w);
void disk_orphan(struct world *w, struct host *h); /* its process is dead */
void disk_hurry(struct world *w);                  /* faults are over: nothing stays stuck */
uint8_t *disk_cell(struct world *w, uint32_t disk, uint64_t offset);
void disk_copy_region(struct world *w, uint32_t disk, uint32_t volume);

/* ---- net.c ---- */
void net_reset(struct world *w);
void net_send(struct world *w, struct host *h, const struct rf_effect *e);
void net_event(struct world *w, const struct happening *e);
void net_replay(struct world *w);
void net_forge(struct world *w);
void net_born(struct world *w, struct host *h);
void net_cut(struct world *w, uint32_t from, uint32_t to, bool on);
void net_heal(struct world *w);

/* ---- gate.c, target.c ---- */
int fence_submit(struct world *w, struct host *h, uint32_t verb, const struct rf_effect *e);
void fence_event(struct world *w, const struct happening *e);
void fence_answer(struct world *w, struct host *h, uint32_t life, uint32_t volume,
		  uint32_t verb, uint64_t epoch, uint32_t result);
void gate_writer(struct world *w, const struct happening *e, bool last);
void gate_land(struct world *w, const struct happening *e);
bool gate_admits(struct world *w, const struct host *h, uint32_t volume);
void gate_drained(struct world *w, struct host *h, uint32_t volume);
uint32_t gate_adopt(struct world *w, struct host *h, uint32_t volume,
		    const struct fence_request *r);
void gate_write(struct world *w, struct host *h, uint32_t volume, uint64_t delay);
void gate_reboot(struct world *w, struct host *h);
void gate_orphan(struct world *w, struct host *h, uint32_t volume);
void target_serve(struct world *w, struct host *h, uint32_t volume,
		  const struct fence_request *r);
void target_arrive(struct world *w, const struct happening *e);
void target_landed(struct world *w, uint32_t volume);
void target_formatted(struct world *w);
void target_idle(struct world *w, uint32_t volume);
bool volume_at_target(const struct world *w, uint32_t volume);

/* ---- host.c ---- */
uint64_t host_clock(const struct world *w, const struct host *h);
uint64_t host_when(const struct world *w, const struct host *h, uint64_t clock_ns);
void host_start(struct world *w, struct host *h);
void host_kill(struct world *w, struct host *h);
void host_reboot(struct world *w, struct host *h);
void host_pause(struct world *w, struct host *h, uint64_t ns, bool vm);
void host_resume(struct world *w, struct host *h);
void host_event(struct world *w, struct host *h, struct rf_event *e);
void host_happening(struct world *w, const struct happening *e);
bool host_current(const struct world *w, const struct host *h); /* of the present area */
bool host_leads(const struct world *w, const struct host *h, uint32_t volume);
struct host *host_leader(struct world *w, uint32_t volume);

/* ---- operator.c: people, and what runs under a leadership ---- */
int hook_start(struct world *w, struct host *h, const struct rf_effect *e);
int cancel_start(struct world *w, struct host *h, const struct rf_effect *e);
void operator_admin(struct world *w, struct host *h, uint32_t verb, uint32_t volume,
		    uint32_t node);
void operator_put(struct world *w, struct host *h, uint32_t volume);
void operator_stop(struct world *w, uint32_t node);
void operator_format(struct world *w);

/* ---- faults.c ---- */
void fault_next(struct world *w);
void fault_event(struct world *w);
void faults_over(struct world *w);

/* ---- scale.c: what growth costs ---- */
int scale_run(void);

#endif
