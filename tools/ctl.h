/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client of the control socket. A daemon that does not answer within
 * CTL_ANSWER_MS is unreachable: commands say so and exit 69.
 */
#ifndef RF_TOOLS_CTL_H
#define RF_TOOLS_CTL_H

#include <stdbool.h>
#include <stddef.h>

#include "ringfence/control.h"

#define CTL_ANSWER_MS 800 /* "within a second", with what else a busy host does */

union ctl_packet {
	struct rf_ctl_head h;
	struct rf_ctl_done done;
	struct rf_ctl_daemon daemon;
	struct rf_ctl_area area;
	struct rf_ctl_volume volume;
	struct rf_ctl_node node;
	struct rf_ctl_event event;
	struct rf_ctl_data data;
	struct rf_ctl_work work;
	struct rf_ctl_metric metric;
	struct rf_ctl_change change;
};

/* A descriptor, or minus an exit code; says why unless quiet. */
int ctl_connect(bool quiet);
/* 0 or -errno. Fills in magic and version. */
int ctl_send(int fd, struct rf_ctl_request *request);
/* 1: *p is a whole packet of its kind; 0: nothing within timeout_ms (< 0: no
 * limit); -errno: the connection is of no use any more (-EPIPE: closed). */
int ctl_receive(int fd, union ctl_packet *p, int timeout_ms);
/* The common message for an error of the two above. Returns RF_EXIT_UNREACHABLE. */
int ctl_lost(int error);

typedef void (*ctl_row)(void *arg, const union ctl_packet *row);
/*
 * Send on an open connection and take rows until DONE, which may come as late as
 * request->timeout_ms + CTL_ANSWER_MS. The exit code of the daemon; its text goes
 * to stderr when that is not 0 (unless quiet).
 */
int ctl_ask_on(int fd, struct rf_ctl_request *request, ctl_row row, void *arg, bool quiet);
/* The same on a connection of its own. */
int ctl_ask(struct rf_ctl_request *request, ctl_row row, void *arg);
/* The same, with data behind the request, and the daemon's text when it is done. */
int ctl_ask_data(struct rf_ctl_request *request, const void *data, size_t bytes,
		 char text[RF_CTL_TEXT_BYTES]);

/* verb about a volume ("" = none). 0 or RF_EXIT_BAD_VALUE: the name is too long. */
int ctl_request(struct rf_ctl_request *request, unsigned verb, const char *volume);
/* The one row of a volume. Exit code. */
int ctl_volume(const char *name, struct rf_ctl_volume *row);

/* All that STATUS says. Free with ctl_status_free(). */
struct ctl_status {
	struct rf_ctl_daemon daemon;
	unsigned areas, volumes, nodes;
	struct rf_ctl_area *area;
	struct rf_ctl_volume *volume;
	struct rf_ctl_node *node;
};
int ctl_status(struct ctl_status *s);
void ctl_status_free(struct ctl_status *s);

#endif
