/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the core knows, as rows of the control socket. */
#ifndef RF_STATUS_H
#define RF_STATUS_H

#include "core/core.h"
#include "ringfence/control.h"

/* What only the daemon knows of a volume. */
struct rf_status_volume {
	const char *name, *driver; /* driver: "expiry" = none */
	uint32_t area, volume;     /* index of the AREA row, number in the area */
	uint64_t refused;          /* by the enforcement point, since start */
};

/* heads (magic, version, kind) are filled in too; the daemon row is the owner's. */
void rf_status_area(struct rf_ctl_area *row, const struct rf_core *core,
		    const struct rf_super *super, uint32_t node, uint64_t now_ns);
void rf_status_volume(struct rf_ctl_volume *row, const struct rf_core *core,
		      const struct rf_super *super, const struct rf_status_volume *about,
		      uint64_t now_ns);
void rf_status_node(struct rf_ctl_node *row, const struct rf_core *core,
		    const struct rf_super *super, uint32_t area, uint32_t node,
		    uint64_t now_ns);
/* Does the fence in force, of those that together `can`, refuse at the storage? */
bool rf_status_at_storage(const char *driver, uint32_t can);
/* The weakest link of a fence in words. */
const char *rf_status_weakest(const char *driver, uint32_t can);

#endif
