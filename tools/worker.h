/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on disks that may never answer, in a process of its own: who waits in the
 * kernel for a dead device hears no signal. The watcher says what hung, and goes.
 */
#ifndef RF_TOOLS_WORKER_H
#define RF_TOOLS_WORKER_H

#include <stdint.h>

/* The exit code of work(), or RF_EXIT_TIMED_OUT after first_ms unless work() asks for
 * more time; RF_EXIT_CANNOT_TELL if the worker was killed. */
int worker_run(int (*work)(int argc, char **argv), int argc, char **argv, uint32_t first_ms);
/* In the worker: to be given up at, boot clock. */
void worker_deadline(uint64_t ns);
/* In the worker: what it does now, for the message. */
void worker_doing(const char *path, const char *what);

#endif
