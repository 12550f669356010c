/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where core meets the world: events in, effects out, in the order of duty.
 *
 * node.c knows no system call. What it needs is a struct of ports, supplied by
 * bind.c in the daemon and by the world in the simulator: both run this same
 * ordering code.
 */
#ifndef RF_NODE_H
#define RF_NODE_H

#include "core/core.h"

/*
 * Each port starts what it is told and returns 0, or -errno if it could not
 * even start (then node.c feeds the core the failed event). Completion comes
 * later through rf_node_event(); a port never calls it from inside itself.
 */
struct rf_ports {
	void *world;
	int (*io)(void *world, const struct rf_effect *e);
	int (*fence)(void *world, uint32_t verb, const struct rf_effect *e);
	int (*cancel)(void *world, const struct rf_effect *e);
	int (*hook)(void *world, const struct rf_effect *e);
	int (*send)(void *world, const struct rf_effect *e);
	void (*say)(void *world, const struct rf_decision *d);
	void (*halt)(void *world, uint32_t reason);
	/* Called once after the effects of an event, when the wake-up changed. */
	void (*wake)(void *world, uint64_t at_ns);
};

struct rf_node;

size_t rf_node_bytes(const struct rf_core_config *config);
/* memory: rf_node_bytes() bytes. ports is copied. */
struct rf_node *rf_node_init(void *memory, const struct rf_core_config *config,
			     const struct rf_ports *ports);
void rf_node_event(struct rf_node *node, const struct rf_event *event);
const struct rf_core *rf_node_core(const struct rf_node *node);

#endif
