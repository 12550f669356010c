/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server of the control socket (ringfence/control.h).
 *
 * One descriptor stands for everything in here: when rf_control_fd() is
 * readable, call rf_control_ready(). Timers of its own are in it too. Volumes
 * are known by an index of the owner's choice, below RF_CONTROL_VOLUMES_MAX.
 * No call of the owner is made from inside rf_control_role(), _event() or
 * _cancel(): they may be used within a step of the core.
 */
#ifndef RF_IO_CONTROL_H
#define RF_IO_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ringfence/control.h"

#define RF_CONTROL_CLIENTS_MAX 32u
#define RF_CONTROL_VOLUMES_MAX 256u

struct rf_control;

/* Rows go out through this; false: the client is gone or does not read. */
typedef bool (*rf_control_row)(void *client, void *row, size_t bytes);

struct rf_control_now {
	enum rf_role role;
	uint32_t node, cause;                     /* of this host; why it leads, RF_CAUSE_* */
	uint64_t epoch, incarnation, deadline_ns; /* as in BEGIN; 0 unless leading */
};

struct rf_control_ops {
	void *world;
	/* Index of a volume name, or -ENOENT. */
	int (*find)(void *world, const char *volume);
	/* Name of an index. */
	const char *(*name)(void *world, uint32_t volume);
	/* What this node is on the volume now. */
	void (*now)(void *world, uint32_t volume, struct rf_control_now *now);
	/* HANDOVER: could this node take the volume now? Exit code; why not in text. */
	uint32_t (*heir)(void *world, uint32_t volume, uint32_t node,
			 char text[RF_CTL_TEXT_BYTES]);
	/* Give row() all rows of STATUS (volume = -1), or the one of a volume. */
	void (*status)(void *world, int volume, rf_control_row row, void *client);
	/* RESIGN, HANDOVER (volume, node): 0, or -errno: refused. PAUSE, RESUME: done; 0,
	 * or -errno: it cannot be remembered. */
	int (*admin)(void *world, uint32_t verb, uint32_t volume, uint32_t node);
	/* All RUN clients of this epoch are quiet, after rf_control_cancel(). */
	void (*quiet)(void *world, uint32_t volume, uint64_t epoch);
	/* STATE_GET, WORK_LIST: give row() what is committed. Exit code; why in text. Or
	 * RF_CONTROL_PENDING, and rf_control_read() follows, not from within. */
	uint32_t (*read)(void *world, const struct rf_ctl_request *request, uint32_t volume,
			 rf_control_row row, void *client, char text[RF_CTL_TEXT_BYTES]);
	/* STATE_PUT, WORK_BEGIN, WORK_END; data is what stands behind the request. An
	 * exit code and text, or RF_CONTROL_PENDING: rf_control_committed() follows,
	 * perhaps from within. Not called while a change of the volume is pending. */
	uint32_t (*change)(void *world, const struct rf_ctl_request *request, uint32_t volume,
			   const void *data, size_t bytes, char text[RF_CTL_TEXT_BYTES]);
	/* RELOAD: rf_control_reload_row() and rf_control_reloaded() follow, for all that
	 * wait. 0 or -errno: it cannot be done. */
	int (*reload)(void *world);
	/* Give row() every figure. */
	void (*metrics)(void *world, rf_control_row row, void *client);
};

#define RF_CONTROL_PENDING UINT32_MAX

/*
 * Creates the socket directory (0755) and the socket (0660, root and gid; gid -1 =
 * the process's). A stale socket is replaced, a live one refused (-EADDRINUSE).
 * 0, or -errno and one line in err. Allocates once.
 */
int rf_control_open(struct rf_control **control, const char *path, gid_t gid,
		    const struct rf_control_ops *ops, char *err, size_t err_bytes);
void rf_control_close(struct rf_control *control);
int rf_control_fd(const struct rf_control *control);
void rf_control_ready(struct rf_control *control);

/* This node's role changed: tells WATCH clients, begins RUN clients when ACTIVE
 * (incarnation, deadline_ns: for BEGIN), answers RESIGN and HANDOVER. */
struct rf_control_change {
	uint32_t volume, node, prev_node, cause;
	enum rf_role role, prev_role;
	uint64_t epoch, prev_epoch, incarnation, deadline_ns;
};
void rf_control_role(struct rf_control *control, const struct rf_control_change *change);
/* Any other event for WATCH clients; head, sequence, unix_ns and lost are filled in. */
void rf_control_event(struct rf_control *control, struct rf_ctl_event *event);
/* The change that was pending on this volume ended. */
void rf_control_committed(struct rf_control *control, uint32_t volume, uint32_t code,
			  const char *text);
/* What was asked to be read is there: ops.read is called for all who wait for it, and
 * answers them. */
void rf_control_read(struct rf_control *control, uint32_t volume);
/* To whoever waits for a RELOAD: a row, and the end. */
void rf_control_reload_row(struct rf_control *control, const struct rf_ctl_change *row);
void rf_control_reloaded(struct rf_control *control, uint32_t code, const char *text);
/* The gate of this epoch is shut: END to its RUN clients; ops.quiet follows when all
 * of them are quiet (from rf_control_ready(), also when there are none). epoch 0 =
 * whatever runs. */
void rf_control_cancel(struct rf_control *control, uint32_t volume, uint64_t epoch);

#endif
