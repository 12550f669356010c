/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and events of the control socket as JSON objects. */
#ifndef RF_TOOLS_ROWS_H
#define RF_TOOLS_ROWS_H

#include "ctl.h"
#include "format/codec.h"

struct json_object;

void rows_daemon(struct json_object *o, const struct rf_ctl_daemon *d);
void rows_area(struct json_object *o, const struct rf_ctl_area *a);
/* The timings in it, as the core has them. */
struct rf_timing rows_timing(const struct rf_ctl_area *a);
/* now: clock of the daemon row is not needed; ages come ready */
void rows_volume(struct json_object *o, const struct rf_ctl_volume *v);
void rows_node(struct json_object *o, const struct rf_ctl_node *n);
void rows_event(struct json_object *o, const struct rf_ctl_event *e);

#endif
