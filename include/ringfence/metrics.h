/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every figure the daemon keeps, once: its number on the control socket, its name
 * and labels in Prometheus' text. Times are nanoseconds on the socket, seconds there.
 */
#ifndef RINGFENCE_METRICS_H
#define RINGFENCE_METRICS_H

#include <linux/types.h>

/* Of every histogram: upper bounds in microseconds; one more bucket is above them. */
#define RF_METRIC_BOUNDS_US                                                               \
	50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, \
		1000000, 2500000, 5000000, 10000000, 30000000, 60000000
#define RF_METRIC_BOUNDS 19u

/*
 * X(ID, name, kind, of, label, label2, help)
 * kind: c counter, g gauge, t gauge of a time, h histogram of times.
 * of: d the daemon, a an area (label area), p a peer (labels area and node),
 *     v a volume (label volume). label, label2: further labels, "" = none.
 */
#define RF_METRICS(X)                                                                  \
	X(HAS_LEADER, "has_leader", g, v, "", "", "A leader of the volume is known.")  \
	X(IS_LEADER, "is_leader", g, v, "", "", "This node leads the volume.")         \
	X(EPOCH, "epoch", g, v, "", "", "Highest epoch of the volume known.")          \
	X(LEADER_CHANGES, "leader_changes_seen_total", c, v, "", "",                   \
	  "Leaders seen since the daemon started.")                                    \
	X(ELECTIONS, "elections_total", c, v, "result", "",                            \
	  "Campaigns of this node by how they ended.")                                 \
	X(ELECTION_DURATION, "election_duration_seconds", h, v, "", "",                \
	  "From the campaign to the epoch decided for this node.")                     \
	X(LEASE_REMAINING, "lease_remaining_seconds", t, v, "", "",                    \
	  "What is left of this node's lease; negative: writes are held.")             \
	X(LEASE_RENEWALS, "lease_renewals_total", c, v, "result", "",                  \
	  "Renewals in time, after the deadline, and leases that ran out.")            \
	X(RENEWAL_DURATION, "lease_renewal_duration_seconds", h, v, "", "",            \
	  "From submitting the slot write to the renewed lease.")                      \
	X(LEASE_MARGIN_MIN, "lease_margin_min_seconds", t, v, "", "",                  \
	  "Least that was left at a renewal of this epoch.")                           \
	X(SEND_FAILURES, "heartbeat_send_failures_total", c, d, "", "",                \
	  "Datagrams that could not be sent.")                                         \
	X(PEER_RTT, "peer_rtt_seconds", h, p, "", "", "Network round trip to a peer.") \
	X(PEER_LAST_SEEN, "peer_last_seen_seconds", t, p, "source", "",                \
	  "Since a peer was last heard, or its slot last seen moving.")                \
	X(MESSAGES_REJECTED, "messages_rejected_total", c, d, "reason", "",            \
	  "Datagrams that were not believed.")                                         \
	X(QUORUM, "quorum", g, a, "of", "what",                                        \
	  "Voting nodes and quorum disks: how many there are, are good, are needed.")  \
	X(DISK_ERRORS, "disk_errors_total", c, a, "kind", "disk",                      \
	  "Operations on quorum disks that failed or passed their deadline.")          \
	X(GATE_OPEN, "gate_open", g, v, "", "",                                        \
	  "This node was granted to write and was not told to stop.")                  \
	X(GATE_REQUESTS, "gate_requests_total", c, v, "verdict", "",                   \
	  "Writes that the enforcement point let through or refused.")                 \
	X(GATE_REFUSED, "gate_refused_total", c, v, "reason", "",                      \
	  "Requests that the enforcement point refused.")                              \
	X(FENCE_OPERATIONS, "fence_operations_total", c, v, "way", "result",           \
	  "Answers of the fencer.")                                                    \
	X(FAILOVER_DURATION, "failover_duration_seconds", h, v, "", "",                \
	  "From the last sign of the leader before to this node leading.")             \
	X(WORK_UNFINISHED, "work_unfinished", g, v, "", "",                            \
	  "Work begun and not ended, as the leader keeps it.")                         \
	X(WORK_REPEATED, "work_repeated_total", c, v, "", "",                          \
	  "Work that was begun again after its leader was gone.")                      \
	X(WATCHDOG_ARMED, "watchdog_armed", g, d, "", "",                              \
	  "A watchdog resets this host when the daemon or a drain hangs.")             \
	X(LOOP_DELAY, "loop_delay_seconds", h, d, "", "",                              \
	  "How late the daemon came to what it had planned.")                          \
	X(HOOK_RUNS, "hook_runs_total", c, v, "event", "result", "Hooks that were run.")

enum rf_metric {
#define RF_METRIC_ID(id, ...) RF_METRIC_##id,
	RF_METRICS(RF_METRIC_ID)
#undef RF_METRIC_ID
		RF_METRIC_COUNT
};

#define RF_METRIC_LABEL_BYTES 24u

#endif
