/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Did the last life of this node in this area, on this boot, leave cleanly?
 *
 * §2.5: a life that dies while its very first slot write is under way leaves a slot
 * that still says FREE, and a write that may yet land. The disk cannot tell the next
 * life; this host can. A mark is made before a life begins and taken away only when
 * its slot says FREE on a majority of disks. It lies beside the control socket, in a
 * directory that is empty after a boot: lives of earlier boots are over by and by
 * (join.c, rule CRASHED).
 */
#ifndef RF_LIFE_H
#define RF_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/limits.h"

#define RF_LIFE_PATH_BYTES 256u

/* Makes the mark of (area, node) beside `socket` and stores its path. True when it was
 * there already or cannot be made (what is unknown counts as a crash; `err` is then not
 * empty and says why). */
bool rf_life_begin(char path[RF_LIFE_PATH_BYTES], const char *socket,
		   const uint8_t area[RF_UUID_BYTES], uint32_t node, char *err, size_t err_len);
/* The life left cleanly: its mark goes. */
void rf_life_end(const char *path);

#endif
