/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's figures as Prometheus' text format. */
#ifndef RF_TOOLS_PROMETHEUS_H
#define RF_TOOLS_PROMETHEUS_H

#include <stdio.h>

#include "ctl.h"

struct prometheus {
	unsigned count, room;
	struct rf_ctl_metric *row;
};

/* Asks the daemon. Exit code; on one that is not 0 the rows are of no use. */
int prometheus_ask(struct prometheus *p, bool quiet);
void prometheus_print(const struct prometheus *p, FILE *out);
void prometheus_free(struct prometheus *p);

#endif
