/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Talking to device-mapper about one gate. The only file that knows
 * libdevmapper is gate_dm.c; ringfence/gate.h is what is said.
 */
#ifndef RF_GATE_DM_H
#define RF_GATE_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/fence.h"
#include "ringfence/gate.h"

struct rf_dm_status {
	bool exists; /* a device of that name, */
	bool ours;   /* with one target, a gate */
	int open_count;
	uint32_t major, minor;
	enum rf_gate_state state;
	char why[16];
	uint64_t epoch, left_ms, seen, in_flight, held, admitted, refused;
	uint64_t refused_by[RF_FENCE_REFUSED_COUNT];
};

/* 0 also when there is no such device; -errno and a line when one cannot tell. */
int rf_dm_status(const char *name, struct rf_dm_status *s, char *err, size_t err_bytes);
/* Creates the device, or gives it another table; loaded and resumed. */
int rf_dm_load(const char *name, const char *uuid, uint64_t sectors, const char *params,
	       bool exists, char *err, size_t err_bytes);
/* The table of the gate as it would be given to rf_dm_load(). */
int rf_dm_table(const char *name, char *params, size_t bytes);
int rf_dm_remove(const char *name, char *err, size_t err_bytes);
/* 0 and the answer ("" if none), or -errno of the target. */
int rf_dm_message(const char *name, const char *message, char *answer, size_t bytes);
/* Who has the device open: mounts, devices on top, processes. Cut to fit. */
void rf_dm_openers(const struct rf_dm_status *s, char *text, size_t bytes);
/* A descriptor that polls readable after any dm event; arm it again each time. */
int rf_dm_events_open(int *fd);
int rf_dm_events_arm(int fd);

#endif
