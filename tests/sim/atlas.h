/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The atlas: which faults may occur together, so that oracles are fair.
 *
 * Each seed draws its own mix (a swarm): most faults are absent from most
 * seeds, so that those that are present go far. What is legal follows from the
 * assumptions of PROTOCOL.md:
 *
 *  A1  A write in flight when its host loses power may be torn: its record is
 *      then unreadable, never wrong. A write of a live host is never torn. On
 *      one disk a torn ballot or epoch sector would end the volume for ever, as
 *      it must; so these tear only on a minority of the disks of a run.
 *  A2  Reads see the latest completed write: a read takes its sample at one
 *      moment between submission and completion, a write lands at one.
 *  A3  Clock rates differ by less than epsilon. Real time in this world is the
 *      fastest legal clock: the grace G and the in-flight bound are real times,
 *      so that G on the slowest host is never longer than G. In runs marked
 *      `drift_beyond` a host gate may legally fail: oracles 1 and 2 then judge
 *      only volumes that are fenced at the target.
 *  A4  Host gate: an admitted write lands within G or dies, and the boot clock
 *      runs while the machine does. `vm_pause` stops clock and gate alike: it is
 *      drawn only when every volume of the run is fenced at the target.
 *  A5  Disks of a run never show two versions to two hosts.
 *
 *  In-flight bound: what a dead process left in the kernel lands within the
 *  in-flight time of its death, or not at all. A live one may wait half an hour.
 *  Disk loss and unreadable sectors may strike any disk while faults last: that
 *  costs leaders, never safety. When faults end, everything is readable again
 *  except what was torn.
 *  A volume without a fence (driver none) can be written by whoever is mounted:
 *  there the oracles judge leases, not writes.
 *  Forged and replayed datagrams may come at any time: they never matter.
 *  An operator who formats an area whose daemons live gives up what it held: a
 *  life of the old area may go on for the rest of its lease and not longer, and
 *  may spoil records of the new one for ever (nobody overwrites what he cannot
 *  read). When faults end, such an area is formatted once more with all daemons
 *  stopped, as the manual says. Not with two hosts of one id: only one area's
 *  slots tell them apart.
 *  Two hosts with one node id are drawn only in runs whose disks are quick and
 *  whose daemons are not paused: only then must the second be refused.
 */
#ifndef RF_SIM_ATLAS_H
#define RF_SIM_ATLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/codec.h"

enum fault {
	F_KILL,       /* the daemon's process dies between two events */
	F_KILL_STEP,  /* it dies in the middle of the effects of one step */
	F_REBOOT,     /* the host dies; new boot id, gate gone */
	F_PAUSE,      /* the daemon stands still, the host's gate does not */
	F_VM_PAUSE,   /* the whole machine stands still, clock included */
	F_PATH_SLOW,  /* one host's operations on one disk take long */
	F_PATH_STUCK, /* they do not end for a while */
	F_PATH_LOST,  /* they fail */
	F_DISK_SLOW,  /* the same for every host */
	F_DISK_STUCK,
	F_DISK_LOST,
	F_ROT,       /* one stride cannot be read for a while */
	F_CUT,       /* one direction of one link */
	F_PARTITION, /* two sides */
	F_NET_HEAL,
	F_RESIGN,
	F_HANDOVER,
	F_OP_PAUSE, /* operator: pause, resume */
	F_SHUTDOWN,
	F_STOP_ORDER,
	F_PUT,
	F_IMPOSTOR,  /* a second host with the id of a live one */
	F_GATE_SHUT, /* a gate shuts by itself */
	F_REPLAY,    /* old datagrams come again */
	F_FORGE,     /* datagrams of somebody without a key */
	F_FORMAT,    /* an operator formats the area anew while daemons live */
	F_COUNT
};

enum fence {
	FENCE_GATE,   /* at the host: no write passes after the deadline */
	FENCE_TARGET, /* at the storage: no write of an older epoch passes */
	FENCE_NONE,   /* advisory (driver none): nothing but obedience and expiry */
};

struct atlas {
	const char *profile;
	uint32_t nodes, disks, volumes, quorum;
	struct rf_timing timing;
	uint32_t weight[F_COUNT];
	uint64_t fault_every_ns, faults_ns; /* mean distance; how long they last */
	uint32_t leader_ppm;                /* chance that a fault strikes a leader */

	uint32_t loss_ppm, duplicate_ppm, reorder_ppm;
	uint64_t net_ns, net_late_ns; /* usual delay; delay of a reordered one */

	uint64_t io_ns; /* usual latency, up to */
	uint32_t io_slow_ppm, io_error_ppm, io_lost_ppm, port_error_ppm;
	uint64_t io_slow_ns;
	uint32_t ghost_ppm, torn_ppm; /* of writes in flight at a death */
	uint32_t sector_slow_ppm;     /* epoch sector writes only */

	uint64_t restart_min_ns, restart_max_ns, pause_max_ns;
	uint64_t write_every_ns, target_delay_ns;
	uint32_t fence_fail_ppm, fence_slow_ppm, hook_fail_ppm, hook_slow_ppm;
	uint32_t drift_ppm; /* clocks run up to this much slower than real time */
	bool drift_beyond;
	uint8_t fence[RF_VOLUMES_MAX]; /* enum fence */
	uint32_t absent;               /* nodes that stay dead when faults end */
	bool follower_cut, replay_quiet, torn_disk[RF_DISKS_MAX];
	uint32_t kill_join_ppm; /* chance that a daemon dies while it joins */
	/* the host does not know that an earlier life crashed (its /run is gone):
	 * records may go back, and still no stale write may land */
	bool forgetful;
	bool theft;       /* daemons stand still so long that another host takes their id */
	bool mute_fences; /* a revoke that fails was never carried out */
	bool scripted;    /* no faults of its own: a scenario drives it */
};

/* Draw the mix of a seed. profile NULL: the whole swarm. 0, or -1: no such one. */
int atlas_draw(struct atlas *a, uint64_t seed, const char *profile);
void atlas_calm(struct atlas *a, uint32_t nodes, uint32_t disks, uint32_t volumes);
const char *fault_name(enum fault f);

#endif
