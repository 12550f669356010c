/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of daemon/io: a loop that runs until something is true, or too long. */
#ifndef IO_SUPPORT_H
#define IO_SUPPORT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/loop.h"

#define MS 1000000ull
#define LIMIT_NS (10000 * MS)

/* A loop, or the program ends as skipped: nothing here works without io_uring. */
static inline struct rf_loop *io_loop(void)
{
	struct rf_loop *l = NULL;
	char err[256] = "";

	if (rf_loop_open(&l, 32, err, sizeof(err)) != 0) {
		printf("%s\n", err);
		exit(77);
	}
	return l;
}

struct io_until {
	struct rf_timer poll, limit;
	struct rf_loop *loop;
	bool (*is)(void *arg);
	void *arg;
	bool over;
};

static inline void io_until_poll(struct rf_timer *t, uint64_t now_ns)
{
	struct io_until *u = t->owner;

	if (u->is(u->arg))
		rf_loop_stop(u->loop);
	else
		rf_loop_timer(u->loop, t, now_ns + MS);
}

static inline void io_until_limit(struct rf_timer *t, uint64_t now_ns)
{
	struct io_until *u = t->owner;

	(void)now_ns;
	u->over = true;
	rf_loop_stop(u->loop);
}

/* Runs the loop until is(arg); false: not within limit_ns. */
static inline bool io_run(struct rf_loop *loop, bool (*is)(void *arg), void *arg,
			  uint64_t limit_ns)
{
	struct io_until u = {.loop = loop, .is = is, .arg = arg};
	uint64_t now = rf_loop_clock_ns();

	u.poll = (struct rf_timer){.fire = io_until_poll, .owner = &u};
	u.limit = (struct rf_timer){.fire = io_until_limit, .owner = &u};
	rf_loop_timer(loop, &u.poll, now);
	rf_loop_timer(loop, &u.limit, now + limit_ns);
	assert_int_equal(rf_loop_run(loop), 0);
	rf_loop_timer(loop, &u.poll, 0);
	rf_loop_timer(loop, &u.limit, 0);
	return !u.over;
}

static inline bool io_never(void *arg)
{
	(void)arg;
	return false;
}

#endif
