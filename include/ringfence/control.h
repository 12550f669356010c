/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: daemon on one side, tool and library on the other.
 *
 * A SOCK_SEQPACKET Unix socket (RF_CTL_PATH). One struct per packet, native
 * byte order: both ends live on one host. Fixed sizes, no parsing, and so no
 * allocation in the daemon. The daemon reads the peer's credentials: root and
 * the socket's group may ask, only root may change anything.
 *
 * A client sends one rf_ctl_request. The daemon answers with rows (0 or more)
 * and one rf_ctl_done. WATCH and RUN keep the connection: events follow after
 * the done packet until either side closes. A client that does not read loses
 * events; the next one it gets says how many (`lost`).
 */
#ifndef RINGFENCE_CONTROL_H
#define RINGFENCE_CONTROL_H

#include <linux/types.h>

#include "blob.h"
#include "format.h"
#include "limits.h"
#include "metrics.h"

#define RF_CTL_PATH "/run/ringfence/ringfenced.sock"
#define RF_CTL_MAGIC 0x31434652u /* "RFC1" */
#define RF_CTL_VERSION 1u
#define RF_CTL_TEXT_BYTES 200u

enum rf_ctl_verb {
	RF_CTL_STATUS = 1,   /* rows: DAEMON, then AREA, VOLUME, NODE rows */
	RF_CTL_VOLUME = 2,   /* one VOLUME row of request.volume */
	RF_CTL_WATCH = 3,    /* events of request.volume, or of all ("") */
	RF_CTL_RESIGN = 4,   /* done when released */
	RF_CTL_HANDOVER = 5, /* to request.node; done when released towards it */
	RF_CTL_PAUSE = 6,    /* this node stops campaigning; a leadership is kept. RF_EXIT_IO:
			      * it does, but a restart of the daemon will not know of it */
	RF_CTL_RESUME = 7,
	/* Work under leadership: a BEGIN event when this node is active leader of
	 * request.volume, END when it must stop. The client answers END with a
	 * QUIET request on the same connection once all its processes are gone; the
	 * daemon does not release before that (§8). Closing counts as QUIET. */
	RF_CTL_RUN = 8,
	RF_CTL_QUIET = 9,
	/* What the leader of request.volume keeps: a blob, and its unfinished work.
	 * Reading answers DATA and WORK rows of what is committed; on a node that does not
	 * lead what lies on the quorum disks, unless request.epoch says: only as the
	 * leader in that epoch. Changing answers
	 * done once the change is committed (every later leader finds it), or with
	 * RF_EXIT_LEASE_LOST when this node does not lead, or not in request.epoch
	 * (0 = any). Behind the request, in the same packet: STATE_PUT, the blob;
	 * WORK_BEGIN and WORK_END, one rf_ctl_work_arg. */
	RF_CTL_STATE_GET = 10, /* root only */
	RF_CTL_STATE_PUT = 11,
	RF_CTL_WORK_LIST = 12,
	RF_CTL_WORK_BEGIN = 13, /* done.text says "begun", "begun before" or "repeated" */
	RF_CTL_WORK_END = 14,
	RF_CTL_METRICS = 15, /* one METRIC row a series */
	/* Read configuration and keys again. Nothing is changed unless all of it is good
	 * (else RF_EXIT_CONFIG and file:line). One CHANGE row for each key that differs
	 * from what the daemon runs with. */
	RF_CTL_RELOAD = 16,
	RF_CTL_VERB_LAST = 16,
};

struct rf_ctl_request {
	__u32 magic;
	__u16 version;
	__u16 verb;
	__u32 node; /* HANDOVER */
	/* RESIGN, HANDOVER: give up waiting; 0 = do not wait. STATE_PUT, WORK_BEGIN,
	 * WORK_END, RELOAD: answer at the latest then; 0 = as long as it takes. */
	__u32 timeout_ms;
	__u64 epoch; /* QUIET, STATE_PUT, WORK_BEGIN, WORK_END */
	char volume[RF_NAME_BYTES];
};

struct rf_ctl_work_arg {
	char id[RF_WORK_ID_BYTES];
	char text[RF_WORK_TEXT_BYTES]; /* WORK_BEGIN */
};

/* First member of every packet from the daemon. */
enum rf_ctl_kind {
	RF_CTL_DONE = 1,
	RF_CTL_ROW_DAEMON = 2,
	RF_CTL_ROW_AREA = 3,
	RF_CTL_ROW_VOLUME = 4,
	RF_CTL_ROW_NODE = 5,
	RF_CTL_EVENT = 6,
	RF_CTL_ROW_DATA = 7,
	RF_CTL_ROW_WORK = 8,
	RF_CTL_ROW_METRIC = 9,
	RF_CTL_ROW_CHANGE = 10,
};

struct rf_ctl_head {
	__u32 magic;
	__u16 version;
	__u16 kind;
};

struct rf_ctl_done {
	struct rf_ctl_head h;
	__u32 code;                   /* exit code for the tool: see OPERATORS, sysexits */
	__u32 rows;                   /* how many were sent before */
	char text[RF_CTL_TEXT_BYTES]; /* what happened and what to do, or "" */
};

struct rf_ctl_daemon {
	struct rf_ctl_head h;
	__u64 now_ns; /* boot clock of the daemon, for ages */
	__u64 started_ns;
	__u64 disk_ops; /* submitted since start */
	__u64 datagrams_sent, datagrams_received, datagrams_rejected;
	__u64 log_lost; /* lines that could not be written in time */
	__u32 pid;
	__u8 memory_locked, realtime; /* 1 = got it */
	__u8 watchdog;                /* RF_CTL_WATCHDOG_* */
	__u8 zero;
	__u32 loop_delay_max_us;     /* worst lateness of a timer since start */
	__u32 rejected_by_reason[8]; /* RF_REJECT_* */
	char release[32];
	__u32 watchdog_s;                      /* it fires after so long; 0 = none */
	char watchdog_text[RF_CTL_TEXT_BYTES]; /* NONE, FIRING: why */
	char watchdog_last[RF_CTL_TEXT_BYTES]; /* why it reset this host before, or "" */
	__u64 paused_unix_ns; /* since when it does not campaign; 0 = it does */
};

#define RF_CTL_WATCHDOG_OFF 0    /* not configured */
#define RF_CTL_WATCHDOG_ARMED 1  /* petted */
#define RF_CTL_WATCHDOG_SOFT 2   /* petted, but a timer of this kernel only */
#define RF_CTL_WATCHDOG_NONE 3   /* wanted, not there */
#define RF_CTL_WATCHDOG_FIRING 4 /* not petted any more: a reset is coming */

/* Why a datagram was refused. */
enum rf_reject {
	RF_REJECT_SHORT = 0, /* shorter than an envelope, or longer than a datagram */
	RF_REJECT_MAGIC = 1,
	RF_REJECT_AREA = 2,   /* not an area of this daemon, or no such node in it */
	RF_REJECT_KEY = 3,    /* key id not accepted here */
	RF_REJECT_SEAL = 4,   /* not sealed with that key */
	RF_REJECT_REPLAY = 5, /* counter seen, or too old */
	RF_REJECT_LIFE = 6,   /* not the incarnation that the disk names */
	RF_REJECT_FORM = 7,   /* sealed, but not a message: a bug or another version */
	RF_REJECT_COUNT = 8,
};

struct rf_ctl_area {
	struct rf_ctl_head h;
	char cluster[RF_NAME_BYTES];
	__u8 cluster_uuid[RF_UUID_BYTES];
	__u8 area_uuid[RF_UUID_BYTES];
	__u64 incarnation, generation;
	__u32 node, nodes, volumes;
	__u8 disks, disks_good, joined, quorum_rule;
	__u32 heartbeat_ms, suspect_ms, lease_ms, grace_ms, hold_ms, isolation_ms;
	__u32 slot_timeout_ms, inflight_ms, epsilon_ppm;
	__u32 health; /* RF_HEALTH_* of this node, and RF_CTL_HEALTH_* */
	__u32 write_us, read_us, worst_us;
	char waiting[RF_CTL_TEXT_BYTES]; /* joining: what for and until when */
};

/* Not on the disk: the timings do not fit what this daemon measures. */
#define RF_CTL_HEALTH_MISFIT 0x80000000u

/* What this node is on a volume, in the order of a leadership. */
enum rf_role {
	RF_ROLE_JOINING = 0,
	RF_ROLE_FOLLOWER = 1,
	RF_ROLE_CANDIDATE = 2, /* collecting prevotes */
	RF_ROLE_CLAIMING = 3,  /* ballot running */
	RF_ROLE_EXCLUDING = 4, /* epoch is mine; older owners being excluded */
	RF_ROLE_OPENING = 5,   /* slot says OPEN; first renewal, gate being granted */
	RF_ROLE_LOADING = 6,   /* committed state being read */
	RF_ROLE_RECONCILING = 7,
	RF_ROLE_ACTIVE = 8,
	RF_ROLE_CLOSING = 9,  /* gate shut; draining, cancelling, releasing */
	RF_ROLE_STOPPED = 10, /* obeyed a stop order, or slot stolen */
	RF_ROLE_LAST = 10,
};

struct rf_ctl_volume {
	struct rf_ctl_head h;
	char name[RF_NAME_BYTES];
	__u64 epoch; /* highest known */
	__u64 owner_incarnation;
	__u64 since_unix_ns; /* of this leadership, 0 = unknown */
	__s64 lease_left_ms; /* leader only; may be negative */
	__s64 margin_min_ms; /* smallest seen at a renewal of this epoch; leader only */
	__u64 silent_ms;     /* since the leader was last heard or seen, follower only */
	__u32 area;          /* index of its AREA row */
	__u32 volume;
	__u32 owner;       /* node id, 0 = none */
	__u32 cause;       /* RF_CAUSE_* of the last change */
	__u32 excluded_by; /* RF_WAY_* bits */
	__u32 can;         /* RF_FENCE_CAN_* of the fencer */
	__u8 role;         /* enum rf_role */
	__u8 suspected, unreadable, has_leader;
	__u32 refused_hi, refused_lo; /* by the enforcement point, since start */
	char owner_host[RF_HOST_BYTES];
	char driver[16];
	char weakest[RF_CTL_TEXT_BYTES]; /* weakest link of the fence, in words */
	/* Leader only: what it keeps; RF_CTL_UNKNOWN on others. */
	__u32 work_unfinished;
	__u32 state_bytes;
	__u64 work_repeated; /* since format, see rf_disk_blob */
};

#define RF_CTL_UNKNOWN 0xffffffffu

/* A piece of the committed blob, in order; the last one may be short. */
#define RF_CTL_DATA_BYTES 4096u
struct rf_ctl_data {
	struct rf_ctl_head h;
	__u32 offset, length;
	__u8 bytes[RF_CTL_DATA_BYTES];
};

struct rf_ctl_work {
	struct rf_ctl_head h;
	__u64 epoch, unix_ns; /* of the leadership that began it last, and when */
	__u32 node, times;
	char id[RF_WORK_ID_BYTES];
	char text[RF_WORK_TEXT_BYTES];
};

struct rf_ctl_node {
	struct rf_ctl_head h;
	char host[RF_HOST_BYTES];
	__u64 incarnation;
	__u64 seq;
	__u32 area, node;
	__u32 state;                   /* RF_SLOT_*, 0 = never read, 1 = unreadable */
	__u32 health;                  /* RF_HEALTH_* */
	__s64 net_age_ms, disk_age_ms; /* since last heard, seen moving; -1 = never */
	__u32 rtt_us;                  /* 0 = unknown */
	__u32 priority;
	__u32 gates_open; /* number of volumes */
	__u32 hears;      /* number of nodes it says it hears */
};

struct rf_ctl_metric {
	struct rf_ctl_head h;
	__u32 metric; /* enum rf_metric */
	__u32 node;   /* of a peer */
	__s64 value;  /* counters and gauges */
	__u64 sum_ns; /* histograms; buckets are not summed up */
	__u64 bucket[RF_METRIC_BOUNDS + 1];
	__u8 area[RF_UUID_BYTES];
	char volume[RF_NAME_BYTES];
	char label[RF_METRIC_LABEL_BYTES], label2[RF_METRIC_LABEL_BYTES];
};

struct rf_ctl_change {
	struct rf_ctl_head h;
	__u32 applied;                /* 0: only a restart of the daemon takes it over */
	char key[RF_NAME_BYTES + 40]; /* as in the file: "[log] level" */
	char from[256], to[256];
};

struct rf_ctl_event {
	struct rf_ctl_head h;
	__u64 sequence; /* of this daemon, from 1 */
	__u64 unix_ns;
	__u64 epoch, prev_epoch;
	__u64 deadline_ns; /* BEGIN: lease deadline at the event, boot clock */
	__u64 incarnation; /* BEGIN: needed for a connection name */
	__u32 lost;        /* events this client lost before this one */
	__u32 node;        /* leader the event is about, 0 = none */
	__u32 prev_node;
	__u32 cause;          /* RF_CAUSE_* */
	__u8 event;           /* enum rf_ctl_what */
	__u8 role, prev_role; /* of this node */
	__u8 zero;
	char volume[RF_NAME_BYTES];
	char text[RF_CTL_TEXT_BYTES]; /* the decision as one log line */
};

enum rf_ctl_what {
	RF_CTL_EV_DECISION = 1, /* any decision of the core, `text` says it */
	RF_CTL_EV_ROLE = 2,     /* role of this node on the volume changed */
	RF_CTL_EV_LEADER = 3,   /* another leader, or none, is known now */
	RF_CTL_EV_BEGIN = 4,    /* RUN: start working */
	RF_CTL_EV_END = 5,      /* RUN: stop, the gate is already shut */
};

/* Exit codes of the tool; also rf_ctl_done.code. */
#define RF_EXIT_YES 0
#define RF_EXIT_NO 1
#define RF_EXIT_BAD_VALUE 2
#define RF_EXIT_USAGE 64
#define RF_EXIT_BAD_DATA 65
#define RF_EXIT_UNREACHABLE 69
#define RF_EXIT_IO 74
#define RF_EXIT_AGAIN 75
#define RF_EXIT_PERMISSION 77
#define RF_EXIT_CONFIG 78
#define RF_EXIT_NO_SUCH 105
#define RF_EXIT_UNSAFE 107
#define RF_EXIT_LEASE_LOST 110
#define RF_EXIT_CANNOT_TELL 112
#define RF_EXIT_TIMED_OUT 124

_Static_assert(sizeof(struct rf_ctl_request) == 88, "request");
_Static_assert(sizeof(struct rf_ctl_done) == 16 + RF_CTL_TEXT_BYTES, "done");

#endif
