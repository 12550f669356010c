/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A control socket with a daemon of two volumes ("a", "b") behind it, and clients. */
#ifndef RF_TESTS_CONTROL_SUPPORT_H
#define RF_TESTS_CONTROL_SUPPORT_H

#include "io/control.h"

#define LIMIT_MS 5000

extern char control_dir[64], control_path[96], control_err[256];
extern struct rf_control *control;
extern const struct rf_control_ops control_ops;

/* What the daemon is, and what it was asked. */
struct control_world {
	enum rf_role role[2];
	uint64_t epoch[2];
	uint32_t verb, verb_volume, verb_node;
	int refuse;
	unsigned quiet;
	uint32_t quiet_volume;
	uint64_t quiet_epoch;
	unsigned rows;
	unsigned reads;
	bool read_pends;
	unsigned changes;
	uint32_t change_says; /* of the next change */
	size_t change_bytes;
	uint8_t change_first;
};
extern struct control_world world;

/* The last packet that a client got. */
union control_got {
	struct rf_ctl_metric metric;
	struct rf_ctl_head h;
	struct rf_ctl_done done;
	struct rf_ctl_event event;
	struct rf_ctl_volume volume;
	struct rf_ctl_data data;
	char bytes[8192];
};
extern union control_got got;

int control_setup(void **state);
int control_teardown(void **state);
int control_dial(void);
/* Kind of the next packet, 0 = the server closed. */
unsigned control_next(int fd);
struct rf_ctl_request control_request(uint32_t verb, const char *volume);
void control_ask(int fd, const struct rf_ctl_request *q);
unsigned control_code_of(int fd, uint32_t verb, const char *volume);
/* The server is at rest, and the client has nothing to read. */
void control_expect_nothing(int fd);

#endif
