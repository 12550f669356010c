/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated target with the odd answers that real ones were seen to give. It judges
 * writes as "write exclusive, registrants only" does, and keeps writes in flight, so
 * that an abort can be told from none.
 */
#ifndef RF_TESTS_PR_TARGET_H
#define RF_TESTS_PR_TARGET_H

#include "../../fence/pr.h"

#define NEXUS_MAX 16u

struct target {
	uint64_t key[NEXUS_MAX]; /* registered by nexus, 0 = not */
	bool in_flight[NEXUS_MAX];
	int holder; /* nexus, -1 = none */
	unsigned type;
	/* odd ways */
	unsigned attention[NEXUS_MAX]; /* unit attentions queued */
	bool dead[NEXUS_MAX];
	bool no_abort_illegal, no_abort_check, no_full, no_pr;
	bool no_able, no_type, no_aptpl;
	bool deaf;     /* registers nothing, and says that it did */
	bool careless; /* registers without comparing keys */
	uint32_t generation;
	enum rf_pr_verb lie_verb; /* done, but this is reported */
	enum rf_pr_status lie;
	unsigned lies;
	bool vague; /* conflicts are reported as any error */
	uint64_t now_ms;
	bool urgent;
	/* something that happens just before the Nth command from now */
	unsigned before;
	void (*happens)(void);
};
extern struct target t;

/* One host: nexuses first..first+paths-1. */
struct host {
	unsigned first, paths;
	uint64_t born; /* part of path ids: a path that came back is another */
	struct rf_pr pr;
	struct rf_pr_answer a;
};

/* Without paths there is no device. */
extern const struct rf_pr_ops sim_ops;
void sim_begin(void);

#endif
