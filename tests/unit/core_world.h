/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core, alone in a small world: one node, one disk in memory, a fence and hooks
 * that obey.
 */
#ifndef RF_UNIT_CORE_WORLD_H
#define RF_UNIT_CORE_WORLD_H

#include "core/state.h"
#include "support.h"

#define PENDING_MAX 64u
#define STEPS_MAX 20000

struct world {
	struct rf_core_config cfg;
	struct rf_core *core;
	struct rf_effects effects;
	uint64_t now_ns;
	uint8_t *disk, *read;
	struct rf_effect pending[PENDING_MAX], fence[PENDING_MAX], hook[PENDING_MAX];
	uint32_t pendings, fences, hooks;
	bool cancelled; /* QUIET is due */
	uint64_t cancel_epoch;
	uint32_t grant_result, revoke_result;
	int write_status; /* of the next write; such a write does not reach the disk */
	/* heard since forget() */
	uint32_t grants, revokes, cancels, halts, writes, halt_reason, lost_hooks;
	bool said[RF_SAY_COUNT];
};

/* It leads when a test begins. */
int world_begin(void **state);
int world_end(void **state);
void forget(struct world *w); /* what was heard */
void step(struct world *w, struct rf_event *e);
void answer_io(struct world *w); /* the operation that began last */
void go_on(struct world *w);     /* the next thing that happens, if all obey */
enum rf_role role(const struct world *w);
void until_role(struct world *w, enum rf_role want);
void until_said(struct world *w, enum rf_say code);
void put(struct world *w, const void *data, uint32_t len);

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_begin, world_end)

#endif
