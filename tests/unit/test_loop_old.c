/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop on kernels that have less, or nothing: liburing is wrapped by the linker. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io_support.h"

struct io_uring;
struct io_uring_params;
struct io_uring_buf_reg;

int __real_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
				      struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
				      struct io_uring_params *p);
int __wrap_io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg,
				      unsigned flags);

static int refusal; /* what the kernel says to io_uring_setup */

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
				      struct io_uring_params *p)
{
	return refusal ? refusal : __real_io_uring_queue_init_params(entries, ring, p);
}

/* A kernel before 5.19. */
int __wrap_io_uring_register_buf_ring(struct io_uring *ring, struct io_uring_buf_reg *reg,
				      unsigned flags)
{
	(void)ring;
	(void)reg;
	(void)flags;
	return -EINVAL;
}

static void a_refusal_says_what_to_do(void **state)
{
	struct rf_loop *l = NULL;
	char err[256] = "";

	(void)state;
	refusal = -EPERM;
	assert_int_equal(rf_loop_open(&l, 8, err, sizeof(err)), -EPERM);
	assert_non_null(strstr(err, "kernel.io_uring_disabled"));
	refusal = -ENOSYS;
	assert_int_equal(rf_loop_open(&l, 8, err, sizeof(err)), -ENOSYS);
	assert_non_null(strstr(err, "no io_uring"));
	refusal = -ENOMEM;
	assert_int_equal(rf_loop_open(&l, 8, err, sizeof(err)), -ENOMEM);
	assert_non_null(strstr(err, "memory"));
	assert_null(l);
	refusal = 0;
}

struct heard {
	int count, wrong;
};

static void got(void *owner, const uint8_t *data, size_t len)
{
	struct heard *h = owner;

	h->wrong += len && (len != 4 || memcmp(data, "data", 4));
	h->count++;
}

static bool all(void *arg)
{
	return ((struct heard *)arg)->count == 41;
}

static void receiving_goes_on_one_by_one(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	struct heard h = {0};
	struct rf_loop *l = io_loop();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(from, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(rf_loop_receive(l, fd, got, &h), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(send(from, "data", 4, 0), 4);
	assert_int_equal(send(from, "", 0, 0), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(send(from, "data", 4, 0), 4);
	assert_true(io_run(l, all, &h, LIMIT_NS));
	assert_int_equal(h.wrong, 0);
	rf_loop_close(l);
	close(fd);
	close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_says_what_to_do),
		cmocka_unit_test(receiving_goes_on_one_by_one),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
