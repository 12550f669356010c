/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * That this node is paused is remembered over a restart of the daemon, until
 * `ringfence resume` or the next boot: a restart (an upgrade, a crash) must not let a node
 * campaign that an operator took out. The mark lies beside the control socket, in memory,
 * so that making it waits for no disk; a boot that ends the pause is an operator's too,
 * and whoever wants a node out for longer gives it priority 0.
 */
#ifndef RF_PAUSE_H
#define RF_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

struct daemon;

/* Before the loop: reads the mark beside `socket`. */
void rf_pause_open(struct daemon *daemon, const char *socket);
/* Tells all nodes; makes or removes the mark. 0, or -errno of the mark: the node is
 * paused or not all the same, but the next life of the daemon does not know it. */
int rf_pause_set(struct daemon *daemon, bool paused);
/* In the first step of a life: as the last one was. */
void rf_pause_start(struct daemon *daemon);

#endif
