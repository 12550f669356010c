/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fencers of the volumes: started with the daemon, and again when one died.
 *
 * A fork from the loop would stall every volume, so a helper process starts them
 * anew; it was forked at the start and hands the socket over. What a fencer knew is
 * gone with it, so its volume counts as one whose fence can do nothing until the new
 * one has said HELLO; what the old one had open is revoked again, as the core asks for
 * until it is answered (PROTOCOL 8), and the drivers answer from what they find, not
 * from memory. One that dies again and again is tried less and less often.
 */
#ifndef RF_FENCERS_H
#define RF_FENCERS_H

#include <stdint.h>

struct daemon;

/* Areas are open. Forks. RF_EXIT_YES or the exit code; why is in the log. */
int rf_fencers_start(struct daemon *daemon);
void rf_fencers_attach(struct daemon *daemon); /* the loop looks after them */
void rf_fencers_died(struct daemon *daemon, uint32_t volume);
void rf_fencers_stop(struct daemon *daemon);

#endif
