/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quorum disks that come back: a device that was missing at the start, or that the
 * kernel removed, is opened again when it is there again.
 *
 * Opening can block for minutes, so a helper process does it, forked at the start.
 * It finds and checks the area as the start did (area.h: cluster, area, device,
 * geometry) and hands the descriptor over. Nothing else about the disk is assumed:
 * what is on it, the core reads.
 */
#ifndef RF_REOPEN_H
#define RF_REOPEN_H

#include <stddef.h>
#include <stdint.h>

struct daemon;
struct part;

/* Areas are open, the disks are not handed to the loop yet. Forks. 0 or -errno. */
int rf_reopen_start(struct daemon *daemon);
/* From now on the loop looks after it: what is missing is tried at once. */
void rf_reopen_attach(struct daemon *daemon);
/* How an operation ended; a disk that only fails is opened again. */
void rf_reopen_note(struct part *part, uint32_t disk, int status);
void rf_reopen_stop(struct daemon *daemon);

#endif
