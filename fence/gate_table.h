/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table line of a gate, from what the quorum area says. */
#ifndef RF_GATE_TABLE_H
#define RF_GATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nbd/area.h"
#include "ringfence/gate.h"

#define RF_GATE_PARAMS_BYTES 4096u

struct rf_gate_table {
	/* given */
	const char *device; /* the data lies on it */
	uint32_t node, volume;
	uint32_t check_ms; /* 0: a quarter of the lease */
	bool gate_reads, conflict;
	/* found */
	uint64_t sectors;
	uint32_t lease_ms, hold_ms;
	char uuid[64]; /* of the dm device */
	char params[RF_GATE_PARAMS_BYTES];
};

/* Opens the area's disks (already added) and fills in what is found. May block as
 * long as a disk does. 0, or -errno and one line in err. */
int rf_gate_table_make(struct rf_gate_table *t, struct rf_area *area, char *err,
		       size_t err_bytes);

#endif
