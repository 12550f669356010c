/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon counts. Fed where decisions, answers and completions pass anyway;
 * nothing is decided by it. Memory is fixed: rf_metrics_open() takes all of it.
 * Volumes are known by their index in the configuration, areas by their part.
 */
#ifndef RF_METRICS_H
#define RF_METRICS_H

#include "core/core.h"
#include "histogram.h"

enum rf_election { RF_ELECTION_WON, RF_ELECTION_LOST, RF_ELECTION_NO_QUORUM, RF_ELECTIONS };
enum rf_renewal { RF_RENEWAL_OK, RF_RENEWAL_LATE, RF_RENEWAL_EXPIRED, RF_RENEWALS };
enum rf_disk_fault {
	RF_DISK_TIMEOUT,
	RF_DISK_IO,
	RF_DISK_GONE,
	RF_DISK_BUSY,
	RF_DISK_REFUSED,
	RF_DISK_FAULTS
};
enum rf_hook_end { RF_HOOK_GOOD, RF_HOOK_BAD, RF_HOOK_KILLED, RF_HOOK_ENDS };

#define RF_METRICS_HOOKS_MAX 12u
#define RF_METRICS_VERBS (RF_FENCE_VERB_LAST + 1u) /* 0: shut by itself */
#define RF_METRICS_RESULTS (RF_FENCE_BUSY + 1u)
extern const char *const rf_metrics_verbs[RF_METRICS_VERBS]; /* words, also of the log */
extern const char *const rf_metrics_results[RF_METRICS_RESULTS];

struct rf_metrics_hook {
	char event[RF_METRIC_LABEL_BYTES];
	uint64_t end[RF_HOOK_ENDS];
};

struct rf_metrics_volume {
	uint64_t leaders, elections[RF_ELECTIONS], renewals[RF_RENEWALS];
	struct rf_histogram election, renewal, failover;
	uint64_t campaign_ns; /* 0: none under way */
	uint64_t gone_ns;     /* the leader before was last seen then; 0: not gone */
	uint64_t lease_ns;    /* deadline seen last */
	uint64_t asked_epoch, asked_ns, granted_ns; /* deadlines of the fence */
	bool granted;
	uint64_t admitted, refused, refused_by[RF_FENCE_REFUSED_COUNT];
	uint64_t fence[RF_METRICS_VERBS][RF_METRICS_RESULTS];
	struct rf_metrics_hook hook[RF_METRICS_HOOKS_MAX];
};

struct rf_metrics_area {
	uint64_t disk[RF_DISKS_MAX][RF_DISK_FAULTS];
	struct rf_histogram rtt[RF_NODES_MAX + 1];
};

struct rf_metrics {
	struct rf_metrics_volume *volume;
	struct rf_metrics_area *area;
};

int rf_metrics_open(struct rf_metrics *metrics, uint32_t volumes, uint32_t areas);

void rf_metrics_say(struct rf_metrics_volume *v, const struct rf_decision *say, uint32_t me,
		    uint64_t incarnation, uint64_t now_ns);
/* Another leader is known now; 0 = none. */
void rf_metrics_leader(struct rf_metrics_volume *v, uint32_t leader);
/* lease_ns: the deadline as it is now, 0 = none; length_ns: of a lease. */
void rf_metrics_lease(struct rf_metrics_volume *v, uint64_t lease_ns, uint64_t length_ns,
		      uint64_t now_ns);
void rf_metrics_asked(struct rf_metrics_volume *v, uint32_t verb, uint64_t epoch,
		      uint64_t deadline_ns);
void rf_metrics_answer(struct rf_metrics_volume *v, const struct rf_fence_reply *reply);
/* May this node write, as far as the fence was told? can: RF_FENCE_CAN_*. */
bool rf_metrics_gate_open(const struct rf_metrics_volume *v, uint32_t can, uint64_t now_ns);
/* status: exit code, < 0: killed at its limit, or not run. */
void rf_metrics_hook(struct rf_metrics_volume *v, const char *event, int32_t status);
void rf_metrics_disk(struct rf_metrics_area *a, uint32_t disk, int status);
/* A message was taken in: if it answers a heartbeat of this node, its round trip. */
void rf_metrics_message(struct rf_metrics_area *a, const struct rf_super *super, uint32_t me,
			uint32_t from, const uint8_t *data, size_t len, uint32_t rtt_us);

#endif
