/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside libringfence. */
#ifndef RF_TOOLS_LIB_H
#define RF_TOOLS_LIB_H

#include <stdbool.h>
#include <sys/un.h>

#include "ringfence/control.h"
#include "ringfence/ringfence.h"

#define RFL_ANSWER_NS 1000000000u

struct ringfence {
	struct sockaddr_un address;
	char volume[RF_NAME_BYTES];
	int run; /* the connection that hears BEGIN and END, -1 = none */
	int timer, epoll;
	bool held, lost;
	uint64_t epoch, incarnation, deadline_ns;
	uint64_t ask_ns; /* when to ask the daemon again */
	char error[RF_CTL_TEXT_BYTES + 128];
};

union rfl_packet {
	struct rf_ctl_head h;
	struct rf_ctl_done done;
	struct rf_ctl_volume volume;
	struct rf_ctl_event event;
	struct rf_ctl_data data;
	struct rf_ctl_work work;
};

typedef void (*rfl_row)(void *arg, const union rfl_packet *row);

struct rfl_question {
	const void *data; /* behind the request */
	size_t bytes;
	uint64_t until_ns; /* 0: its time-out and a second */
	rfl_row row;
	void *arg;
};

uint64_t rfl_now_ns(void);
/* Keeps the line, returns the error. */
__attribute__((format(printf, 3, 4))) int rfl_fail(struct ringfence *r, int error,
						   const char *format, ...);
int rfl_dial(struct ringfence *r);
int rfl_send(struct ringfence *r, int fd, struct rf_ctl_request *q, const void *data,
	     size_t bytes);
/* A whole packet of its kind, or -ETIMEDOUT, -EPIPE, -EPROTO. */
int rfl_receive(struct ringfence *r, int fd, union rfl_packet *p, uint64_t until_ns);
/* Rows until done; the daemon's verdict as an errno, its text in r->error. */
int rfl_hear(struct ringfence *r, int fd, uint64_t until_ns, rfl_row row, void *arg);
/* The same on a connection of its own. */
int rfl_ask(struct ringfence *r, struct rf_ctl_request *q, const struct rfl_question *question);
int rfl_errno(uint32_t code);

#endif
