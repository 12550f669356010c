/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the timings of an area still fit what is measured? Said when it changes. */
#ifndef RF_FIT_H
#define RF_FIT_H

#include <stdbool.h>
#include <stdint.h>

struct part;

struct rf_fit {
	uint32_t worst_us; /* since the last look */
	uint32_t good;     /* looks in a row that were good */
	bool misfit;
};

void rf_fit_note(struct part *part);  /* an operation of its disks ended */
void rf_fit_judge(struct part *part); /* every now and then */

#endif
