/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop: nothing dropped, nothing nested, time kept. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io_support.h"

/* ---- timers ---- */

struct shots {
	struct rf_loop *loop;
	struct rf_timer timer[3];
	int order[8], count, rounds;
	uint64_t at[8];
};

static void note(struct rf_timer *t, uint64_t now_ns)
{
	struct shots *s = t->owner;

	s->at[s->count] = now_ns;
	s->order[s->count++] = (int)(t - s->timer);
}

static bool three(void *arg)
{
	return ((struct shots *)arg)->count == 3;
}

static void timers_fire_in_order(void **state)
{
	struct shots s = {.loop = io_loop()};
	uint64_t now = rf_loop_clock_ns();

	(void)state;
	for (int i = 0; i < 3; i++)
		s.timer[i] = (struct rf_timer){.fire = note, .owner = &s};
	rf_loop_timer(s.loop, &s.timer[0], now + 30 * MS);
	rf_loop_timer(s.loop, &s.timer[1], now + 500 * MS);
	rf_loop_timer(s.loop, &s.timer[2], now + 20 * MS);
	rf_loop_timer(s.loop, &s.timer[1], now + 10 * MS); /* moved */
	assert_true(io_run(s.loop, three, &s, LIMIT_NS));
	assert_int_equal(s.order[0], 1);
	assert_int_equal(s.order[1], 2);
	assert_int_equal(s.order[2], 0);
	for (int i = 0; i < 3; i++)
		assert_true(s.at[i] >= now + (uint64_t)(i + 1) * 10 * MS);
	rf_loop_close(s.loop);
}

static void a_disarmed_timer_stays_silent(void **state)
{
	struct shots s = {.loop = io_loop()};
	uint64_t now = rf_loop_clock_ns();

	(void)state;
	s.timer[0] = (struct rf_timer){.fire = note, .owner = &s};
	rf_loop_timer(s.loop, &s.timer[0], now + 5 * MS);
	rf_loop_timer(s.loop, &s.timer[0], 0);
	assert_false(io_run(s.loop, three, &s, 30 * MS));
	assert_int_equal(s.count, 0);
	rf_loop_close(s.loop);
}

static void arm_past(struct rf_timer *t, uint64_t now_ns)
{
	struct shots *s = t->owner;

	(void)now_ns;
	s->rounds++;
	rf_loop_timer(s->loop, t, 1);
}

static bool some_rounds(void *arg)
{
	return ((struct shots *)arg)->rounds >= 100;
}

/* A core may wish for a time in the past at every step. */
static void a_timer_in_the_past_starves_nobody(void **state)
{
	struct shots s = {.loop = io_loop()};

	(void)state;
	s.timer[0] = (struct rf_timer){.fire = arm_past, .owner = &s};
	rf_loop_timer(s.loop, &s.timer[0], 1);
	assert_true(io_run(s.loop, some_rounds, &s, LIMIT_NS));
	assert_true(rf_loop_delay_us(s.loop) < 5000000);
	rf_loop_close(s.loop);
}

/* ---- files ---- */

#define WRITES 300 /* far more than the submission queue holds */

struct writes {
	struct rf_op op[WRITES];
	int done, wrong, depth, nested;
};

static void wrote(struct rf_op *op, int res, bool more)
{
	struct writes *w = op->owner;

	w->nested += w->depth++ != 0;
	w->wrong += res != 1 || more;
	w->done++;
	w->depth--;
}

static bool all_written(void *arg)
{
	return ((struct writes *)arg)->done == WRITES;
}

static void a_full_queue_drops_nothing(void **state)
{
	static struct writes w;
	struct rf_loop *l = io_loop();
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < WRITES; i++) {
		w.op[i] = (struct rf_op){.done = wrote, .owner = &w};
		rf_loop_write(l, &w.op[i], fd, "x", 1);
	}
	assert_true(io_run(l, all_written, &w, LIMIT_NS));
	assert_int_equal(w.wrong, 0);
	assert_int_equal(w.nested, 0);
	rf_loop_close(l);
	close(fd);
}

/* ---- readiness ---- */

struct reader {
	struct rf_loop *loop;
	struct rf_op op;
	int fd, calls, bytes;
	bool rearm;
};

/* Takes one byte a call: what is left must be told again. */
static void take_one(struct rf_op *op, int res, bool more)
{
	struct reader *r = op->owner;
	char c;

	assert_true(res > 0);
	assert_false(more);
	r->calls++;
	r->bytes += read(r->fd, &c, 1) == 1;
	if (r->bytes < 5)
		rf_loop_poll(r->loop, op, r->fd);
}

static bool five_bytes(void *arg)
{
	return ((struct reader *)arg)->bytes == 5;
}

static void what_is_left_is_told_again(void **state)
{
	struct reader r = {.loop = io_loop()};
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	r.fd = p[0];
	r.op = (struct rf_op){.done = take_one, .owner = &r};
	rf_loop_poll(r.loop, &r.op, r.fd);
	assert_int_equal(write(p[1], "12345", 5), 5);
	assert_true(io_run(r.loop, five_bytes, &r, LIMIT_NS));
	assert_int_equal(r.calls, 5);
	rf_loop_close(r.loop);
	close(p[0]);
	close(p[1]);
}

/* ---- datagrams ---- */

struct heard {
	int count, wrong;
	size_t longest;
};

static void heard(void *owner, const uint8_t *data, size_t len)
{
	struct heard *h = owner;

	h->count++;
	if (len > h->longest)
		h->longest = len;
	if (len >= 4 && memcmp(data, "data", 4) != 0)
		h->wrong++;
}

static bool all_heard(void *arg)
{
	return ((struct heard *)arg)->count >= 203;
}

static int udp_pair(int *from)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(*from, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* More than there are buffers; empty ones and monsters among them. */
static void receiving_never_ends(void **state)
{
	struct heard h = {0};
	struct rf_loop *l = io_loop();
	static char big[9000];
	int from, fd = udp_pair(&from);

	(void)state;
	memcpy(big, "data", 4);
	assert_int_equal(rf_loop_receive(l, fd, heard, &h), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(send(from, "data", 4, 0), 4);
	assert_int_equal(send(from, "", 0, 0), 0);
	assert_int_equal(send(from, big, sizeof(big), 0), sizeof(big));
	assert_int_equal(send(from, "", 0, 0), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(send(from, "data", 4, 0), 4);
	assert_true(io_run(l, all_heard, &h, LIMIT_NS));
	assert_int_equal(h.count, 203);
	assert_int_equal(h.wrong, 0);
	assert_true(h.longest <= 2048);
	rf_loop_close(l);
	close(fd);
	close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order),
		cmocka_unit_test(a_disarmed_timer_stays_silent),
		cmocka_unit_test(a_timer_in_the_past_starves_nobody),
		cmocka_unit_test(a_full_queue_drops_nothing),
		cmocka_unit_test(what_is_left_is_told_again),
		cmocka_unit_test(receiving_never_ends),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
