/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What control.c (requests) and control_tell.c (answers, events, work) share. */
#ifndef RF_IO_CONTROL_STATE_H
#define RF_IO_CONTROL_STATE_H

#include "io/control.h"
#include "io/listen.h"

struct client {
	int fd; /* -1 = free seat */
	bool root, watch, run;
	int volume; /* of WATCH (-1 = all) or RUN */
	uint32_t lost, rows;
	bool gone; /* a send failed for good */
	/* RESIGN, HANDOVER: waiting for the role to leave */
	uint32_t waiting; /* verb, 0 = not */
	uint32_t wait_volume;
	uint64_t wait_until_ns;
	/* RUN */
	bool begun; /* told BEGIN, not yet quiet */
	bool owes;  /* `owed` is still to be sent */
	uint64_t epoch;
	struct rf_ctl_event owed;
};

struct rf_control {
	struct rf_control_ops ops;
	int epoll, listen, timer, defer;
	char path[RF_LISTEN_PATH_BYTES]; /* "" = not ours to remove */
	uint64_t sequence;
	struct client client[RF_CONTROL_CLIENTS_MAX];
	struct {
		bool cancelled;
		uint64_t epoch;
	} volume[RF_CONTROL_VOLUMES_MAX];
};

/* Calls of the owner happen only from rf_control_ready(): this makes it readable. */
void rf_control_wake(struct rf_control *control);

/* What cannot be sent now is lost (events), kept (BEGIN, END), or ends the client. */
void rf_client_done(struct client *k, uint32_t code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool rf_client_row(void *client, void *row, size_t bytes);
/* Send what is owed, if it can be sent now. */
void rf_client_pay(struct rf_control *c, struct client *k);
void rf_client_begin(struct rf_control *c, struct client *k, const struct rf_control_now *now,
		     const char *name);
/* Owns or still uses an epoch: a resignation has something to give up. */
bool rf_role_leads(enum rf_role role);
void rf_control_report_quiet(struct rf_control *c);

#endif
