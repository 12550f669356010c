/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drawing the mix of a seed; the rules are in atlas.h. */
#include "atlas.h"

#include <string.h>

#include "format/timing.h"
#include "random.h"

#define MS RF_MS_NS

static const char *const names[F_COUNT] = {
	[F_KILL] = "kill",
	[F_KILL_STEP] = "kill-step",
	[F_REBOOT] = "reboot",
	[F_PAUSE] = "pause",
	[F_VM_PAUSE] = "vm-pause",
	[F_PATH_SLOW] = "path-slow",
	[F_PATH_STUCK] = "path-stuck",
	[F_PATH_LOST] = "path-lost",
	[F_DISK_SLOW] = "disk-slow",
	[F_DISK_STUCK] = "disk-stuck",
	[F_DISK_LOST] = "disk-lost",
	[F_ROT] = "rot",
	[F_CUT] = "cut",
	[F_PARTITION] = "partition",
	[F_NET_HEAL] = "net-heal",
	[F_RESIGN] = "resign",
	[F_HANDOVER] = "handover",
	[F_OP_PAUSE] = "operator-pause",
	[F_SHUTDOWN] = "shutdown",
	[F_STOP_ORDER] = "stop-order",
	[F_PUT] = "put",
	[F_IMPOSTOR] = "impostor",
	[F_GATE_SHUT] = "gate-shut",
	[F_REPLAY] = "replay",
	[F_FORGE] = "forge",
	[F_FORMAT] = "format",
};

const char *fault_name(enum fault f)
{
	return f < F_COUNT ? names[f] : "none";
}

/* ---- shapes ---- */

/* The fast profile, stretched; everything in it moves a little. */
static void timing(struct atlas *a, struct rng *r, uint32_t percent)
{
	struct rf_timing *t = &a->timing;

	rf_timing_profile("fast", t);
	t->heartbeat_ms = t->heartbeat_ms * percent / 100;
	t->suspect_ms = (uint32_t)rng_range(r, 3 * t->heartbeat_ms, 5 * t->heartbeat_ms);
	t->lease_ms = (uint32_t)rng_range(r, 6 * t->heartbeat_ms, 14 * t->heartbeat_ms);
	t->grace_ms = (uint32_t)rng_range(r, t->heartbeat_ms / 2, 4 * t->heartbeat_ms);
	t->hold_ms = (uint32_t)rng_range(r, t->heartbeat_ms, t->lease_ms);
	t->isolation_ms = (uint32_t)rng_range(r, t->suspect_ms, 2 * t->suspect_ms);
	t->slot_timeout_ms = (uint32_t)rng_range(r, 4 * t->heartbeat_ms, 12 * t->heartbeat_ms);
	t->inflight_ms = (uint32_t)rng_range(r, t->lease_ms, 3 * t->lease_ms);
}

static uint32_t one_of(struct rng *r, const uint32_t *from, uint32_t count)
{
	return from[rng_below(r, count)];
}

static void shape(struct atlas *a, struct rng *r)
{
	static const uint32_t nodes[] = {2, 2, 3, 3, 3, 3, 3, 4, 5, 9};
	static const uint32_t disks[] = {1, 1, 1, 1, 3, 3, 5};
	static const uint32_t volumes[] = {1, 1, 1, 1, 2, 4};
	uint32_t work;

	a->nodes = one_of(r, nodes, 10);
	a->disks = one_of(r, disks, 7);
	a->volumes = one_of(r, volumes, 6);
	a->quorum = rng_below(r, 2) ? RF_QUORUM_MAJORITY : RF_QUORUM_SURVIVORS;
	/* larger clusters beat more slowly, so that every seed costs about the same */
	work = a->nodes * a->disks * (2 + a->volumes);
	timing(a, r, work <= 9 ? 100 : work <= 30 ? 200 : work <= 90 ? 300 : 500);
}

void atlas_calm(struct atlas *a, uint32_t nodes, uint32_t disks, uint32_t volumes)
{
	memset(a, 0, sizeof(*a));
	a->profile = "calm";
	a->nodes = nodes;
	a->disks = disks;
	a->volumes = volumes;
	a->quorum = nodes == 2 ? RF_QUORUM_SURVIVORS : RF_QUORUM_MAJORITY;
	rf_timing_profile("fast", &a->timing);
	a->net_ns = MS / 5;
	a->io_ns = MS / 2;
	a->io_slow_ns = MS;
	a->write_every_ns = 50 * MS;
	a->target_delay_ns = MS;
	a->restart_min_ns = 1;
	a->restart_max_ns = 1;
	a->pause_max_ns = MS;
}

/* ---- the swarm ---- */

static void weigh(struct atlas *a, struct rng *r, enum fault f, uint32_t chance_percent,
		  uint32_t most)
{
	if (rng_below(r, 100) < chance_percent)
		a->weight[f] = 1 + (uint32_t)rng_below(r, most);
}

static void swarm_faults(struct atlas *a, struct rng *r)
{
	weigh(a, r, F_KILL, 50, 8);
	weigh(a, r, F_KILL_STEP, 40, 8);
	weigh(a, r, F_REBOOT, 30, 4);
	weigh(a, r, F_PAUSE, 50, 8);
	weigh(a, r, F_PATH_SLOW, 40, 8);
	weigh(a, r, F_PATH_STUCK, 40, 8);
	weigh(a, r, F_PATH_LOST, 25, 4);
	weigh(a, r, F_DISK_SLOW, 25, 4);
	weigh(a, r, F_DISK_STUCK, 20, 3);
	weigh(a, r, F_DISK_LOST, 20, 3);
	weigh(a, r, F_ROT, 20, 8);
	weigh(a, r, F_CUT, 30, 8);
	weigh(a, r, F_PARTITION, 25, 4);
	weigh(a, r, F_NET_HEAL, 80, 6);
	weigh(a, r, F_RESIGN, 25, 4);
	weigh(a, r, F_HANDOVER, 25, 4);
	weigh(a, r, F_OP_PAUSE, 10, 2);
	weigh(a, r, F_SHUTDOWN, 20, 3);
	weigh(a, r, F_STOP_ORDER, 10, 2);
	weigh(a, r, F_PUT, 50, 12);
	weigh(a, r, F_GATE_SHUT, 10, 3);
	weigh(a, r, F_REPLAY, 25, 8);
	weigh(a, r, F_FORGE, 15, 6);
	weigh(a, r, F_FORMAT, 4, 2);
}

static uint32_t sometimes(struct rng *r, uint32_t percent, uint32_t most_ppm)
{
	return rng_below(r, 100) < percent ? (uint32_t)rng_scale(r, 100, most_ppm) : 0;
}

static void swarm_latency(struct atlas *a, struct rng *r)
{
	uint64_t lease = a->timing.lease_ms * MS;

	a->net_ns = rng_scale(r, MS / 20, a->timing.heartbeat_ms * MS / 20);
	a->net_late_ns = 2 * lease;
	a->loss_ppm = sometimes(r, 40, 300000);
	a->duplicate_ppm = sometimes(r, 30, 200000);
	a->reorder_ppm = sometimes(r, 30, 200000);
	a->io_ns = rng_scale(r, MS / 5, a->timing.heartbeat_ms * MS / 20);
	a->io_slow_ppm = sometimes(r, 40, 50000);
	a->io_slow_ns = rng_scale(r, 20 * MS, 3 * lease);
	a->io_error_ppm = sometimes(r, 20, 20000);
	a->io_lost_ppm = sometimes(r, 20, 1000);
	a->port_error_ppm = sometimes(r, 15, 5000);
	a->ghost_ppm = (uint32_t)rng_below(r, 1000000);
	a->torn_ppm = sometimes(r, 30, 300000);
	a->sector_slow_ppm = sometimes(r, 20, 500000);
	a->restart_min_ns = MS / 10;
	a->restart_max_ns = rng_scale(r, 10 * MS, 4 * lease);
	a->pause_max_ns = rng_scale(r, lease / 4, 4 * lease);
}

static void swarm_hosts(struct atlas *a, struct rng *r)
{
	bool all = true;

	a->write_every_ns = a->timing.heartbeat_ms * MS;
	a->target_delay_ns = 2ull * a->timing.lease_ms * MS;
	a->fence_fail_ppm = sometimes(r, 20, 200000);
	a->fence_slow_ppm = sometimes(r, 30, 100000);
	a->hook_fail_ppm = sometimes(r, 15, 200000);
	a->hook_slow_ppm = sometimes(r, 20, 300000);
	for (uint32_t v = 0; v < a->volumes; v++) {
		uint64_t kind = rng_below(r, 10);

		a->fence[v] = kind < 3 ? FENCE_TARGET : kind < 4 ? FENCE_NONE : FENCE_GATE;
		all &= a->fence[v] == FENCE_TARGET;
	}
	if (all) /* A4 */
		weigh(a, r, F_VM_PAUSE, 60, 8);
	a->drift_ppm = a->timing.epsilon_ppm - 200;
	if (rng_below(r, 50) == 0) { /* A3 */
		a->drift_beyond = true;
		a->drift_ppm = 5 * a->timing.epsilon_ppm;
	}
}

static void swarm_end(struct atlas *a, struct rng *r)
{
	uint32_t spare = a->quorum == RF_QUORUM_SURVIVORS ? a->nodes - 1 : (a->nodes - 1) / 2;

	if (rng_below(r, 3) == 0)
		a->absent = (uint32_t)rng_below(r, spare + 1);
	a->follower_cut = rng_below(r, 2);
	a->replay_quiet = a->weight[F_REPLAY] && rng_below(r, 2);
	/* A1: on a minority of the disks a torn ballot may stay */
	for (uint32_t d = 0; d < (a->disks - 1) / 2; d++)
		a->torn_disk[d] = true;
	a->leader_ppm = (uint32_t)rng_range(r, 200000, 900000);
	a->fault_every_ns = rng_scale(r, 200 * MS, 3000 * MS) * a->timing.heartbeat_ms / 100;
	a->faults_ns = 45000 * MS;
}

static void swarm(struct atlas *a, struct rng *r)
{
	memset(a, 0, sizeof(*a));
	a->profile = "swarm";
	shape(a, r);
	swarm_faults(a, r);
	swarm_latency(a, r);
	swarm_hosts(a, r);
	swarm_end(a, r);
}

/* ---- profiles: schedules that are steered towards one corner ---- */

static void quiet_faults(struct atlas *a)
{
	memset(a->weight, 0, sizeof(a->weight));
	a->loss_ppm = a->duplicate_ppm = a->reorder_ppm = 0;
	a->io_slow_ppm = a->io_error_ppm = a->io_lost_ppm = a->port_error_ppm = 0;
	a->fence_fail_ppm = a->fence_slow_ppm = a->hook_fail_ppm = a->hook_slow_ppm = 0;
	a->sector_slow_ppm = a->torn_ppm = 0;
	a->drift_beyond = false;
	a->drift_ppm = a->timing.epsilon_ppm - 200;
}

/* Nothing goes wrong: nobody may lose anything. */
static void profile_calm(struct atlas *a, struct rng *r)
{
	(void)r;
	quiet_faults(a);
	a->absent = 0;
	a->faults_ns = 8000 * MS;
}

/* Two hosts, one id. */
static void profile_twins(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->weight[F_IMPOSTOR] = 4;
	a->weight[F_SHUTDOWN] = (uint32_t)rng_below(r, 3);
	a->weight[F_KILL] = (uint32_t)rng_below(r, 2);
	a->ghost_ppm = 0; /* of another host's first write no record and no file tells */
	a->restart_max_ns = 50 * MS;
	a->fault_every_ns = 400 * MS;
}

/* Long ghosts and fast restarts. */
static void profile_ghosts(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->weight[F_KILL] = 6;
	a->weight[F_KILL_STEP] = 6;
	a->weight[F_PATH_SLOW] = 6;
	a->weight[F_PATH_STUCK] = 3;
	a->weight[F_SHUTDOWN] = 5;
	a->weight[F_PAUSE] = 2;
	a->ghost_ppm = 900000;
	a->kill_join_ppm = 200000;
	a->forgetful = rng_below(r, 4) == 0;
	a->io_error_ppm = (uint32_t)rng_below(r, 30000);
	a->io_slow_ppm = 100000;
	a->io_slow_ns = 2ull * a->timing.lease_ms * MS;
	a->restart_min_ns = MS / 10;
	a->restart_max_ns = 20 * MS;
	a->leader_ppm = 600000;
	a->fault_every_ns = rng_scale(r, 100 * MS, 600 * MS);
}

/* A host stood still so long that another one was given its id. */
static void profile_theft(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->weight[F_IMPOSTOR] = 4;
	a->weight[F_PAUSE] = 4;
	a->ghost_ppm = 0;
	a->theft = true;
	a->restart_max_ns = 50 * MS;
	a->pause_max_ns = 8ull * a->timing.inflight_ms * MS;
	a->fault_every_ns = rng_scale(r, 400 * MS, 2000 * MS);
}

/* Daemons that die while they join, on slots that were left free. */
static void profile_births(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->nodes = 2;
	a->disks = 1;
	a->volumes = 1;
	a->absent = 0;
	a->quorum = RF_QUORUM_SURVIVORS;
	timing(a, r, 100);
	a->timing.inflight_ms = 3 * a->timing.lease_ms;
	a->fence[0] = FENCE_GATE;
	a->weight[F_SHUTDOWN] = 8;
	a->weight[F_PAUSE] = 1;
	a->ghost_ppm = 900000;
	a->kill_join_ppm = 700000;
	a->forgetful = rng_below(r, 2);
	a->io_ns = 10 * MS;
	a->restart_min_ns = MS / 10;
	a->restart_max_ns = MS;
	a->fault_every_ns = rng_scale(r, 500 * MS, 3000 * MS);
}

/* Contended ballots: every node claims, everything is slow. */
static void profile_ballots(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->nodes = (uint32_t)rng_range(r, 2, 3);
	a->volumes = 1;
	a->absent = 0;
	a->quorum = RF_QUORUM_SURVIVORS;
	a->disks = rng_below(r, 2) ? 1 : 3;
	timing(a, r, 100);
	a->weight[F_PAUSE] = 8;
	a->weight[F_PATH_SLOW] = 4;
	a->weight[F_RESIGN] = 4;
	a->weight[F_KILL] = (uint32_t)rng_below(r, 4);
	a->weight[F_CUT] = 3;
	a->weight[F_NET_HEAL] = 1;
	a->weight[F_ROT] = rng_below(r, 2) ? 4 : 0;
	a->io_slow_ppm = (uint32_t)rng_scale(r, 20000, 400000);
	a->io_slow_ns = rng_scale(r, 50 * MS, 3ull * a->timing.lease_ms * MS);
	a->sector_slow_ppm = (uint32_t)rng_below(r, 500000);
	a->pause_max_ns = 3ull * a->timing.lease_ms * MS;
	a->leader_ppm = 500000;
	a->fault_every_ns = rng_scale(r, 100 * MS, 600 * MS);
	a->fence[0] = FENCE_GATE;
}

/* Winners that announce themselves late. */
static void profile_late(struct atlas *a, struct rng *r)
{
	profile_ballots(a, r);
	a->disks = 1;
	a->nodes = 3;
	a->weight[F_KILL] = 6;
	a->weight[F_KILL_STEP] = 6;
	a->weight[F_ROT] = 0;
	a->restart_max_ns = 20 * MS;
	a->ghost_ppm = 300000;
	a->io_slow_ppm = (uint32_t)rng_below(r, 100000);
	a->sector_slow_ppm = 900000;
	a->timing.inflight_ms = a->timing.lease_ms;
	a->timing.slot_timeout_ms = 2 * a->timing.heartbeat_ms;
}

/* Three disks, each on its own path and clock. */
static void profile_disks(struct atlas *a, struct rng *r)
{
	profile_ballots(a, r);
	a->disks = 3;
	a->nodes = 3;
	a->weight[F_PATH_SLOW] = 8;
	a->weight[F_PATH_STUCK] = 12;
	a->weight[F_PATH_LOST] = 8;
	a->weight[F_ROT] = 0;
}

/* Disks that lag by part of a beat, and no slack in lease or grace to hide it. */
static void profile_lags(struct atlas *a, struct rng *r)
{
	profile_disks(a, r);
	a->timing.grace_ms = a->timing.heartbeat_ms / 8;
	a->timing.epsilon_ppm = 1000;
	a->drift_ppm = 0;
	a->weight[F_KILL] = 4;
	a->weight[F_PAUSE] = 12;
	a->weight[F_PATH_LOST] = 2;
	a->weight[F_PATH_STUCK] = 2;
	a->sector_slow_ppm = 0;
	a->weight[F_PATH_SLOW] = 30; /* two lag, or one lags and one is stuck */
	a->io_slow_ppm = 50000;
	a->io_slow_ns = 3ull * a->timing.heartbeat_ms * MS;
	a->leader_ppm = 900000;
}

/* Records that cannot be read for a while. */
static void profile_rot(struct atlas *a, struct rng *r)
{
	profile_ballots(a, r);
	a->weight[F_ROT] = 24;
	a->io_slow_ppm = (uint32_t)rng_below(r, 50000);
}

/* State is put all the time, under leaders that come and go. */
static void profile_state(struct atlas *a, struct rng *r)
{
	profile_ballots(a, r);
	a->weight[F_PUT] = 200;
	a->disks = 3;
	a->nodes = 3;
	a->io_slow_ppm = (uint32_t)rng_range(r, 50000, 300000);
	a->weight[F_ROT] = 0;
	a->weight[F_PATH_LOST] = 10;
	a->fault_every_ns = rng_scale(r, 10 * MS, 60 * MS);
}

/* Old datagrams for ever. */
static void profile_replay(struct atlas *a, struct rng *r)
{
	quiet_faults(a);
	a->weight[F_REPLAY] = 20;
	a->weight[F_FORGE] = 10;
	a->weight[F_KILL] = 1;
	a->weight[F_REBOOT] = 1;
	a->replay_quiet = true;
	a->fault_every_ns = 50 * MS;
	a->restart_max_ns = rng_scale(r, 10 * MS, 3000 * MS);
}

/* Areas that are formatted under their daemons. */
static void profile_format(struct atlas *a, struct rng *r)
{
	a->weight[F_FORMAT] = 6;
	a->weight[F_KILL] = 4;
	a->weight[F_PAUSE] = 6;
	a->weight[F_SHUTDOWN] = 2;
	a->fault_every_ns = rng_scale(r, 400 * MS, 3000 * MS);
}

/* Nothing stands between a stale node and the volume but its lease. */
static void profile_advisory(struct atlas *a, struct rng *r)
{
	profile_ballots(a, r);
	a->weight[F_KILL] = 3;
	a->weight[F_ROT] = 0;
	a->fence[0] = FENCE_NONE;
}

/* Where more was found, more is looked for. */
static const struct {
	const char *name;
	void (*draw)(struct atlas *a, struct rng *r);
	uint32_t weight;
} profiles[] = {
	{"calm", profile_calm, 2},     {"twins", profile_twins, 3},
	{"ghosts", profile_ghosts, 6}, {"ballots", profile_ballots, 6},
	{"disks", profile_disks, 6},   {"rot", profile_rot, 3},
	{"births", profile_births, 4}, {"lags", profile_lags, 4},
	{"late", profile_late, 6},     {"theft", profile_theft, 4},
	{"state", profile_state, 2},   {"replay", profile_replay, 2},
	{"format", profile_format, 3}, {"advisory", profile_advisory, 3},
};

#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

static uint32_t draw_profile(struct rng *r)
{
	uint64_t sum = 0, at;
	uint32_t i = 0;

	for (uint32_t n = 0; n < PROFILES; n++)
		sum += profiles[n].weight;
	at = rng_below(r, sum);
	while (at >= profiles[i].weight)
		at -= profiles[i++].weight;
	return i;
}

int atlas_draw(struct atlas *a, uint64_t seed, const char *profile)
{
	struct rng r;

	rng_seed(&r, seed ^ 0x61746c6173ull);
	swarm(a, &r);
	if (!profile && rng_below(&r, 3) == 0) { /* a third of the seeds is steered */
		uint32_t i = draw_profile(&r);

		a->profile = profiles[i].name;
		profiles[i].draw(a, &r);
		return 0;
	}
	for (uint32_t i = 0; profile && i < PROFILES; i++)
		if (!strcmp(profile, profiles[i].name)) {
			a->profile = profiles[i].name;
			profiles[i].draw(a, &r);
			return 0;
		}
	return profile && strcmp(profile, "swarm") ? -1 : 0;
}
