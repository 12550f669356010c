/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a driver gives to the fencer. The fencer owns the socket (fence.h) and
 * serves one request at a time; a driver may take its time, but never for ever.
 */
#ifndef RF_DRIVER_H
#define RF_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/fence.h"

struct rf_driver {
	const char *name;
	const char *help; /* its parameters, one a line */
	uint32_t can;     /* RF_FENCE_CAN_* */
	/* params: KEY=VALUE strings, NULL at the end; they outlive the driver. An
	 * unknown key is an error. Returns 0 and *state, or -errno and one line in
	 * err. Opens nothing that can block. */
	int (*start)(void **state, char *const *params, char *err, size_t err_bytes);
	/* Optional. Once, after HELLO and before the first request; may block. */
	void (*begin)(void *state);
	/* Optional. After begin: what it can do here after all. Less than `can`, and
	 * why: the daemon hears it in a second HELLO. */
	uint32_t (*able)(void *state, char *text, size_t bytes);
	/* Fill result, error, epoch, text (and what else is known). All other
	 * fields are set; result starts as FAILED and epoch as the request's. */
	void (*serve)(void *state, const struct rf_fence_request *request,
		      struct rf_fence_reply *reply);
	/* Optional. A descriptor that becomes readable when the enforcement point
	 * may have changed by itself, and what to say then: true, and epoch and text
	 * filled in, when it shut (the SHUT packet of fence.h). */
	int (*event_fd)(void *state);
	bool (*event)(void *state, struct rf_fence_reply *reply);
	/* The daemon is gone: revoke what can be revoked within a few seconds. */
	void (*stop)(void *state);
	/* Optional. For people, with no daemon behind it: make the volume's device, or
	 * take it away. 0 or -errno (-EBUSY: in use), and one line in reply->text. */
	int (*attach)(char *const *params, struct rf_fence_reply *reply);
	int (*detach)(char *const *params, struct rf_fence_reply *reply);
	/* Optional. For `ringfence doctor`: what the device really does, one finding a
	 * line on stdout: PASS, WARN, FAIL or SKIP, text, advice, with tabs between. 0 or
	 * -errno and one line in reply->text. */
	int (*examine)(char *const *params, struct rf_fence_reply *reply);
};

extern const struct rf_driver rf_driver_gate;
extern const struct rf_driver rf_driver_none;
extern const struct rf_driver rf_driver_reservation;
extern const struct rf_driver rf_driver_target;

/* For drivers, while they serve: true when a REVOKE or the end of the daemon
 * waits behind the request being served. A driver that waits polls
 * RF_FENCE_FD for input as well, asks this, and gives up a GRANT or VERIFY. */
bool rf_fencer_urgent(void);

/* Monotonic clock, for bounds. */
uint64_t rf_fencer_now_ms(void);

/* Text of a reply, cut to fit. */
void rf_reply_text(struct rf_fence_reply *reply, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
