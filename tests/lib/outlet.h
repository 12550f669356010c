/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the writer writes to: an export of the target plugin (outlet-nbd.c), or a
 * gate of the kernel (outlet-gate.c). A program is linked with one of them.
 */
#ifndef RF_TEST_OUTLET_H
#define RF_TEST_OUTLET_H

#include <stdbool.h>
#include <stdint.h>

#include "ringfence/key.h"
#include "stamp.h"

/* A leadership, and the place that its writes go to. */
struct outlet_spec {
	const char *to;       /* URI of the target, or path of the gate */
	const char *key_file; /* of the cluster; a gate needs none */
	struct rf_conn conn;  /* volume, node and epoch */
};

struct outlet;

/* Whether a process that lost its leadership may come back to the same outlet. It may
 * not at a gate: what it opens there belongs to the leadership of that moment, and a
 * host's gate does not tell processes apart. */
extern const bool outlet_lets_return;

/* NULL: not now; stderr says why. */
struct outlet *outlet_open(const struct outlet_spec *spec);
/* One block. REFUSED only if it is certain that it is not on the disk. */
enum outcome outlet_write(struct outlet *o, const void *block, uint64_t offset);
void outlet_close(struct outlet *o);

#endif
