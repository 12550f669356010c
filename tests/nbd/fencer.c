/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fencer process and its drivers, as the daemon talks to them (fence.h). */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ringfence/fence.h"

#define A 0x1111111111111111ull
#define B 0x2222222222222222ull

#define AREA "area=a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"

static struct lab lab;
static char block[4096];

struct fencer {
	pid_t pid;
	int fd;
	uint64_t id;
};

/* ---- a daemon's side ---- */

static void run_fencer(int fd, const char *const *argv)
{
	char path[400];
	const char *dir = getenv("RF_BUILD");

	snprintf(path, sizeof(path), "%s/bin/ringfence-fencer", dir ? dir : "build");
	if (fd == RF_FENCE_FD)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, RF_FENCE_FD);
	execv(path, (char **)argv);
	_exit(127);
}

static struct rf_fence_reply receive(struct fencer *f)
{
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	struct rf_fence_reply r = {0};

	assert_int_equal(poll(&p, 1, (int)LAB_LIMIT_MS), 1);
	assert_int_equal(recv(f->fd, &r, sizeof(r), 0), sizeof(r));
	assert_int_equal(r.magic, RF_FENCE_MAGIC);
	return r;
}

static struct fencer start(const char *const *argv, struct rf_fence_reply *hello)
{
	struct fencer f = {.id = 10};
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	f.pid = fork();
	assert_true(f.pid >= 0);
	if (!f.pid)
		run_fencer(fds[1], argv);
	close(fds[1]);
	f.fd = fds[0];
	*hello = receive(&f);
	assert_int_equal(hello->id, RF_FENCE_HELLO_ID);
	return f;
}

static int finish(struct fencer *f)
{
	int status;

	close(f->fd);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	return status;
}

static void ask(struct fencer *f, uint32_t verb, uint32_t node, uint64_t incarnation,
		uint64_t epoch)
{
	struct rf_fence_request q = {.magic = RF_FENCE_MAGIC,
				     .verb = verb,
				     .id = ++f->id,
				     .epoch = epoch,
				     .incarnation = incarnation,
				     .node = node};

	assert_int_equal(send(f->fd, &q, sizeof(q), 0), sizeof(q));
}

static struct rf_fence_reply call(struct fencer *f, uint32_t verb, uint32_t node,
				  uint64_t incarnation, uint64_t epoch)
{
	struct rf_fence_reply r;

	ask(f, verb, node, incarnation, epoch);
	r = receive(f);
	assert_int_equal(r.id, f->id);
	assert_int_equal(r.verb, verb);
	return r;
}

static struct fencer start_target(uint32_t node, const char *timeout)
{
	char uri[400], key[400], number[16], limit[32];
	const char *argv[] = {"ringfence-fencer", "target", uri,   key, AREA,
			      "volume=0",         number,   limit, NULL};
	struct rf_fence_reply hello;
	struct fencer f;

	snprintf(uri, sizeof(uri), "uri=nbd+unix:///?socket=%s", lab.sock);
	snprintf(key, sizeof(key), "key-file=%s", lab.key);
	snprintf(number, sizeof(number), "node=%u", node);
	snprintf(limit, sizeof(limit), "timeout-ms=%s", timeout);
	f = start(argv, &hello);
	assert_int_equal(hello.result, RF_FENCE_OK);
	assert_int_equal(hello.can, RF_FENCE_CAN_EVICT | RF_FENCE_CAN_DRAIN);
	assert_string_equal(hello.driver, "target");
	return f;
}

static int setup(void **state)
{
	(void)state;
	lab_make(&lab, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lab_remove(&lab);
	return 0;
}

/* ---- tests ---- */

static void test_none(void **state)
{
	const char *argv[] = {"ringfence-fencer", "none", NULL};
	const char *bad[] = {"ringfence-fencer", "none", "x=1", NULL};
	struct rf_fence_reply r;
	struct fencer f = start(argv, &r);

	(void)state;
	assert_int_equal(r.can, 0);
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(call(&f, RF_FENCE_REVOKE, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(call(&f, RF_FENCE_EVICT, 1, A, 1).result, RF_FENCE_UNSUPPORTED);
	assert_int_equal(send(f.fd, "rubbish", 7, 0), 7); /* ignored */
	assert_int_equal(call(&f, RF_FENCE_STATUS, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(finish(&f), 0);
	f = start(bad, &r);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_non_null(strstr(r.text, "x=1"));
	assert_int_not_equal(finish(&f), 0);
}

static void test_parameters(void **state)
{
	const char *argv[] = {"ringfence-fencer", "target", "uri=nbd://h", "area=12", NULL};
	const char *less[] = {"ringfence-fencer", "target", "uri=nbd://h", NULL};
	struct rf_fence_reply r;
	struct fencer f = start(argv, &r);

	(void)state;
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_non_null(strstr(r.text, "area=12"));
	finish(&f);
	f = start(less, &r);
	assert_non_null(strstr(r.text, "key-file="));
	finish(&f);
}

/* Known only when the device is looked at: a second HELLO. Nothing is granted then. */
static void unfit(const char *device, const char *why)
{
	const char *argv[] = {"ringfence-fencer", "reservation", device, AREA,
			      "volume=0",         "node=1",      NULL};
	struct rf_fence_reply r;
	struct fencer f = start(argv, &r);

	assert_int_equal(r.result, RF_FENCE_OK);
	r = receive(&f);
	assert_int_equal(r.id, RF_FENCE_HELLO_ID);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_int_equal(r.can, 0);
	assert_non_null(strstr(r.text, why));
	assert_int_not_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	assert_int_not_equal(call(&f, RF_FENCE_EVICT, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(finish(&f), 0);
}

static void test_unfit_device(void **state)
{
	(void)state;
	unfit("device=/dev/null", "/dev/null: Block device required: use another device");
}

static void test_evict(void **state)
{
	struct fencer one, two;
	struct rf_fence_reply r;
	struct nbd_handle *w;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	one = start_target(1, "10000");
	two = start_target(2, "10000");
	r = call(&one, RF_FENCE_GRANT, 1, A, 1);
	assert_int_equal(r.result, RF_FENCE_FAILED); /* not on disk */
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	assert_int_equal(call(&one, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(call(&one, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(lab_stat(&lab, "connections"), 1); /* one, and kept */
	assert_int_equal(call(&one, RF_FENCE_VERIFY, 1, A, 1).result, RF_FENCE_OK);
	w = lab_open(&lab, RF_CONN_DATA, 1, A, 1);
	assert_non_null(w);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	r = call(&two, RF_FENCE_EVICT, 2, B, 2);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), -1);
	r = call(&one, RF_FENCE_VERIFY, 1, A, 1);
	assert_int_equal(r.result, RF_FENCE_STALE);
	assert_int_equal(r.epoch, 2);
	r = call(&one, RF_FENCE_EVICT, 1, B, 1); /* another life: not the kept one */
	assert_int_equal(r.result, RF_FENCE_STALE);
	assert_int_equal(r.epoch, 2);
	assert_int_equal(call(&one, RF_FENCE_REVOKE, 1, A, 1).result, RF_FENCE_OK);
	r = call(&two, RF_FENCE_STATUS, 2, B, 2);
	assert_true(r.refused >= 2);
	/* wrongly addressed */
	assert_int_equal(call(&two, RF_FENCE_GRANT, 3, B, 2).result, RF_FENCE_FAILED);
	nbd_close(w);
	finish(&one);
	finish(&two);
}

static void test_revoke(void **state)
{
	struct fencer f;
	struct nbd_handle *w;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	f = start_target(1, "10000");
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	w = lab_open(&lab, RF_CONN_DATA, 1, A, 1);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), 0);
	assert_int_equal(call(&f, RF_FENCE_REVOKE, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), -1);
	assert_int_equal(call(&f, RF_FENCE_REVOKE, 1, A, 1).result, RF_FENCE_OK);
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_FAILED);
	assert_int_equal(call(&f, RF_FENCE_VERIFY, 1, A, 1).result, RF_FENCE_FAILED);
	nbd_close(w);
	finish(&f);
}

/* At join the fencer does not know the earlier life; the target does. */
static void test_revoke_all(void **state)
{
	struct fencer f;
	struct rf_fence_reply r;
	struct nbd_handle *w;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 4, 1, A, RF_EPOCH_CLAIMED);
	w = lab_open(&lab, RF_CONN_DATA, 1, A, 4);
	f = start_target(2, "10000");
	r = call(&f, RF_FENCE_REVOKE, 2, 0, 0); /* not this node's: left alone */
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), 0);
	finish(&f);
	f = start_target(1, "10000");
	r = call(&f, RF_FENCE_REVOKE, 1, 0, 0);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.epoch, 4);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), -1);
	nbd_close(w);
	/* a target that has just started serves nothing, but could serve it again */
	lab_stop(&lab);
	lab_slot(&lab, -1, 1, A, true);
	assert_true(lab_serve(&lab, NULL, false));
	assert_int_equal(call(&f, RF_FENCE_REVOKE, 1, 0, 0).result, RF_FENCE_OK);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 4));
	finish(&f);
}

/* The daemon dies: its fencer shuts what it had opened, then ends. */
static void test_daemon_gone(void **state)
{
	struct fencer f;
	struct nbd_handle *w;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	f = start_target(1, "10000");
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	w = lab_open(&lab, RF_CONN_DATA, 1, A, 1);
	assert_int_equal(finish(&f), 0);
	assert_int_equal(nbd_pwrite(w, block, 512, 0, 0), -1);
	assert_true(lab_stat_is(&lab, "state", "ended"));
	nbd_close(w);
}

/* A kept connection that broke is made again by the next renewal. */
static void test_target_restart(void **state)
{
	struct fencer f;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	f = start_target(1, "10000");
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	lab_stop(&lab);
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_FAILED);
	lab_slot(&lab, -1, 1, A, true);
	assert_true(lab_serve(&lab, NULL, false));
	assert_int_equal(call(&f, RF_FENCE_GRANT, 1, A, 1).result, RF_FENCE_OK);
	assert_true(lab_stat_is(&lab, "state", "serving"));
	finish(&f);
}

/* A switch that a stuck write holds up is not reported as done, nor for ever. */
static void test_stuck(void **state)
{
	struct fencer f;
	struct rf_fence_reply r;
	struct nbd_handle *w;
	int done = 0;

	(void)state;
	assert_true(lab_serve(&lab, NULL, true));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	w = lab_open(&lab, RF_CONN_DATA, 1, A, 1);
	lab_hold(&lab);
	assert_true(nbd_aio_pwrite(w, block, 512, 0, NBD_NULL_COMPLETION, 0) >= 0);
	lab_held(&lab);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	f = start_target(2, "200");
	r = call(&f, RF_FENCE_EVICT, 2, B, 2);
	assert_int_equal(r.result, RF_FENCE_UNCERTAIN);
	assert_int_equal(r.error, ETIMEDOUT);
	lab_let(&lab);
	LAB_WAIT(call(&f, RF_FENCE_VERIFY, 2, B, 2).result == RF_FENCE_OK);
	assert_int_equal(call(&f, RF_FENCE_EVICT, 2, B, 2).result, RF_FENCE_OK);
	while (!done)
		done = nbd_aio_in_flight(w) == 0 || nbd_poll(w, 100) < 0;
	nbd_close(w);
	finish(&f);
}

/* A revoke does not wait for a grant that gets no answer. */
static void test_revoke_overtakes(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct rf_fence_reply r;
	struct fencer f;
	int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t begin;

	(void)state;
	snprintf(a.sun_path, sizeof(a.sun_path), "%.107s", lab.sock);
	assert_int_equal(bind(silent, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(silent, 8), 0); /* accepts, and says nothing */
	f = start_target(1, "1500");
	begin = lab_now_ms();
	ask(&f, RF_FENCE_GRANT, 1, A, 1);
	ask(&f, RF_FENCE_REVOKE, 1, A, 1);
	r = receive(&f);
	assert_int_equal(r.verb, RF_FENCE_GRANT);
	assert_int_equal(r.error, EINTR);
	assert_true(lab_now_ms() - begin < 1500);
	r = receive(&f);
	assert_int_equal(r.verb, RF_FENCE_REVOKE);
	assert_int_equal(r.result, RF_FENCE_FAILED); /* no proof, no OK */
	close(silent);
	finish(&f);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_unfit_device),
		T(test_evict),
		T(test_revoke),
		T(test_revoke_all),
		T(test_daemon_gone),
		T(test_target_restart),
		T(test_stuck),
		T(test_revoke_overtakes),
	};

	if (!lab_can_run())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
