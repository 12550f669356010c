/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reached the medium, in its order: a log in the format of dm-log-writes, as
 * QEMU's blklogwrites keeps of a disk. The strongest witness there is: it needs no
 * clock, and a write that was later written over is still in it.
 */
#ifndef RF_TEST_MEDIUM_H
#define RF_TEST_MEDIUM_H

#include <stddef.h>
#include <stdint.h>

typedef void medium_write_fn(uint64_t offset, const uint8_t *data, size_t bytes);

/* Calls fn for each write with data, oldest first. 0, or -1 with errno. */
int medium_replay(const char *path, medium_write_fn *fn);

#endif
