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
	/* RESIGN, HANDOVER: waiting for the role to leave; STATE_PUT, WORK_*: for the
	 * commit, or for what the disks say; RELOAD: for the configuration */
	uint32_t waiting; /* verb, 0 = not */
	uint32_t wait_volume;
	uint64_t wait_until_ns; /* 0 = no limit */
	/* Its next request changes a volume while another change is pending there, or
	 * reads one that is being read: it stays unread in the socket until that is
	 * over. */
	bool held;
	uint32_t held_volume;
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
	struct { /* the request at work */
		struct rf_ctl_request q;
		uint8_t data[RF_BLOB_USER_MAX];
	} in;
	struct {
		bool pending; /* a change is being committed */
		bool reading; /* the disks are, for who asked */
		bool cancelled;
		uint64_t epoch;
	} volume[RF_CONTROL_VOLUMES_MAX];
};

/* Calls of the owner happen only from rf_control_ready(): this makes it readable. */
void rf_control_wake(struct rf_control *control);

/* Volume of a request, or -1 and the client was told. */
int rf_client_find(struct rf_control *c, struct client *k, const struct rf_ctl_request *q);
/* Waits for the end of what it asked for; timeout_ms 0 = for ever. */
void rf_client_wait(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		    int volume);
void rf_control_arm(struct rf_control *c);
/* What the leader keeps (control_keep.c). */
bool rf_verb_keeps(uint32_t verb);
bool rf_verb_changes(uint32_t verb);
void rf_client_keep(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		    size_t data_bytes);
/* The request that waits in the client's socket must wait there. */
bool rf_client_held(struct rf_control *c, struct client *k);

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
