/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libringfence: leading a volume from a program of your own.
 *
 *     struct ringfence *r;
 *
 *     if (ringfence_open(&r, "vol0", NULL) || ringfence_acquire(r, -1))
 *             errx(1, "%s", ringfence_error(r));
 *     while (ringfence_check(r) == 1) {
 *             ... work, with ringfence_epoch(r) where stale requests are refused ...
 *             poll ringfence_fd(r), among your own descriptors
 *     }
 *     ... stop everything ...
 *     ringfence_release(r);
 *     ringfence_close(r);
 *
 * The daemon of this host campaigns, renews and fences; the library joins its control
 * socket and says when this host leads and when it does not any more. When the
 * leadership ends, the enforcement point is shut first; the daemon then waits until
 * this program has called ringfence_release(), or has ended, before it lets the epoch
 * go.
 *
 * Functions that return int give 0, or a negative errno, unless said otherwise; after
 * a failure ringfence_error() has one line for people. Needs root, as the socket does.
 * No threads, no signal handlers, no global state; one handle belongs to one thread at
 * a time. Descriptors are close-on-exec. A process that was forked must not use the
 * handle, and keeps the leadership from being released until it closes the descriptor
 * (exec does).
 */
#ifndef RINGFENCE_RINGFENCE_H
#define RINGFENCE_RINGFENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ringfence;

/*
 * A handle for one volume. `socket` NULL: /run/ringfence/ringfenced.sock. On failure
 * *handle still is one, for ringfence_error() and ringfence_close(), or NULL without
 * memory. -ENOENT: no daemon, or no such volume; -EACCES: not root; -ETIMEDOUT: the
 * daemon does not answer; -EPROTO: it is of another version.
 */
int ringfence_open(struct ringfence **handle, const char *volume, const char *socket);
/* NULL is allowed. Counts as ringfence_release(). Never fails. */
void ringfence_close(struct ringfence *handle);
/* The last failure, a sentence; "" when there was none. Valid until the next call. */
const char *ringfence_error(const struct ringfence *handle);

/*
 * Wait until this host is the active leader. timeout_ms < 0: for ever; 0: only look.
 * -ETIMEDOUT: not yet, it may be called again; -EALREADY: it is held; -EPIPE: the daemon
 * closed the connection, the next call joins it anew; else as in open.
 */
int ringfence_acquire(struct ringfence *handle, int timeout_ms);
/*
 * To be polled for reading. Readable: call ringfence_check(). Before acquire it is
 * readable when the leadership may have begun: acquire with timeout_ms 0 then. Once
 * the leadership is lost it stays readable until it is released.
 */
int ringfence_fd(const struct ringfence *handle);
/*
 * 1: this host leads in the epoch that was acquired. 0: it does not any more, or the
 * daemon has said nothing for longer than the lease lasts; nothing that is written
 * from now on will be accepted. Asks the daemon when half of the time that is left has
 * passed, which takes at most a second, and only when it hangs.
 */
int ringfence_check(struct ringfence *handle);
/* Of the leadership that was acquired last; 0 before that. Grows with each one. */
uint64_t ringfence_epoch(const struct ringfence *handle);
/* The life of the daemon that leads; with the epoch it names a connection to a target. */
uint64_t ringfence_incarnation(const struct ringfence *handle);
/* When the lease ends unless it is renewed, as last heard: CLOCK_BOOTTIME, ns. 0: lost. */
uint64_t ringfence_deadline_ns(const struct ringfence *handle);
/*
 * All work under the leadership has stopped: the daemon may let it go. After a loss
 * this is the way to acquire anew. While this host still leads, it says that nothing
 * here needs the leadership any more; the host goes on leading, and the same epoch
 * cannot be acquired again on this handle. -EINVAL: nothing is held. A daemon that is
 * gone or hangs is no failure: the connection is closed, which says the same.
 */
int ringfence_release(struct ringfence *handle);

/*
 * State and unfinished work of the leader, see ringfence-state(8). Changes return 0
 * only when every later leader will find them. They name the epoch that was acquired:
 * -ESTALE: this host does not lead in it (any more); -EIO, -ETIMEDOUT, -EPIPE: not
 * acknowledged, a later leader may find it or not; -EAGAIN: try again (the list of work
 * is full); -EINVAL: too long, or not a good id; -EBADMSG: written by a version that the
 * daemon does not know; -ENOENT, -EACCES: as in open; -EPROTO: the daemon's answer is
 * none. timeout_ms < 0: as long as it takes, also when the daemon hangs; the others
 * answer within a second after it.
 */
#define RINGFENCE_STATE_MAX 65536u /* what one area has room for may be less */
#define RINGFENCE_WORK_MAX 16u

/*
 * The committed state, at most `room` bytes of it; *length is its whole length, 0 after
 * an error. While a leadership is held it is the leader's: -ESTALE once that is over.
 * Otherwise it is read from a majority of the quorum disks unless this host leads: it has
 * whatever was acknowledged, and perhaps what was not; -EIO: they cannot be read. The
 * same holds for the list of work.
 */
int ringfence_state_get(struct ringfence *handle, void *bytes, size_t room, size_t *length);
int ringfence_state_put(struct ringfence *handle, const void *bytes, size_t length,
			int timeout_ms);

struct ringfence_work {
	uint64_t epoch, unix_ns; /* of the leadership that began it last, and when */
	uint32_t node, times;    /* that began it; how many times it was begun */
	char id[40], text[96];
};

enum ringfence_begun {
	RINGFENCE_BEGUN = 0,
	RINGFENCE_BEGUN_BEFORE = 1, /* by this leader */
	RINGFENCE_REPEATED = 2,     /* a former leader left it unfinished */
};
/* One of ringfence_begun, or a negative errno. */
int ringfence_work_begin(struct ringfence *handle, const char *id, const char *text,
			 int timeout_ms);
/* -ENOENT: there is no such work. */
int ringfence_work_end(struct ringfence *handle, const char *id, int timeout_ms);
/* Fills in at most `room` of them. How many there are, or a negative errno: -ESTALE, -EIO
 * and so on, as in ringfence_state_get(). */
int ringfence_work_list(struct ringfence *handle, struct ringfence_work *work, size_t room);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
