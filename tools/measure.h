/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures devices and network for a while, reading only. */
#ifndef RF_TOOLS_MEASURE_H
#define RF_TOOLS_MEASURE_H

#include "ctl.h"
#include "disk.h"

struct samples {
	uint32_t *us; /* the first SAMPLES_MAX of them */
	uint32_t count, worst_us;
};
#define SAMPLES_MAX 100000u

struct measured {
	struct samples reads; /* of the devices, by this command */
	struct samples disk;  /* the daemon's latest write, read, at each look */
	struct samples rtt;   /* heartbeats of the daemon to its peers, at each look */
	bool daemon;
};

/* Reads the devices in turn and looks at the daemon, if there is one, for so long; a
 * bar on stderr if that is a terminal. Exit code; says why. */
int measure(struct measured *m, const struct disk *disk, unsigned disks, uint32_t for_ms);
void measure_free(struct measured *m);
/* Of 1000. Sorts. 0 when there is none. */
uint32_t samples_quantile(struct samples *s, uint32_t per_mille);

#endif
