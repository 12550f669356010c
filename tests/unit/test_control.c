/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: real sockets, hostile packets, slow readers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/control.h"

#define LIMIT_MS 5000

static char dir[64], path[96], err[256];
static struct rf_control *control;

/* ---- a daemon of two volumes ---- */

static struct {
	enum rf_role role[2];
	uint64_t epoch[2];
	uint32_t verb, verb_volume, verb_node;
	int refuse;
	unsigned quiet;
	uint32_t quiet_volume;
	uint64_t quiet_epoch;
	unsigned rows;
} world;

static int find(void *w, const char *volume)
{
	(void)w;
	return !strcmp(volume, "a") ? 0 : !strcmp(volume, "b") ? 1 : -ENOENT;
}

static const char *name(void *w, uint32_t volume)
{
	(void)w;
	return volume ? "b" : "a";
}

static void now(void *w, uint32_t volume, struct rf_control_now *out)
{
	(void)w;
	*out = (struct rf_control_now){.role = world.role[volume],
				       .epoch = world.epoch[volume],
				       .incarnation = 0xabc,
				       .deadline_ns = 123};
}

static bool node(void *w, uint32_t volume, uint32_t n)
{
	(void)w;
	(void)volume;
	return n >= 1 && n <= 3;
}

static void status(void *w, int volume, rf_control_row row, void *client)
{
	struct rf_ctl_volume v = {.h.kind = RF_CTL_ROW_VOLUME};

	(void)w;
	for (unsigned i = 0; i < (volume < 0 ? world.rows : 1); i++) {
		v.volume = volume < 0 ? i : (unsigned)volume;
		if (!row(client, &v, sizeof(v)))
			return;
	}
}

static int admin(void *w, uint32_t verb, uint32_t volume, uint32_t n)
{
	(void)w;
	world.verb = verb;
	world.verb_volume = volume;
	world.verb_node = n;
	return world.refuse;
}

static void quiet(void *w, uint32_t volume, uint64_t epoch)
{
	(void)w;
	world.quiet++;
	world.quiet_volume = volume;
	world.quiet_epoch = epoch;
}

static const struct rf_control_ops ops = {NULL, find, name, now, node, status, admin, quiet};

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.role[0] = world.role[1] = RF_ROLE_FOLLOWER;
	snprintf(dir, sizeof(dir), "/tmp/rf-control-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/run/sock", dir);
	return rf_control_open(&control, path, (gid_t)-1, &ops, err, sizeof(err));
}

static int teardown(void **state)
{
	char run[96];

	(void)state;
	rf_control_close(control);
	control = NULL;
	snprintf(run, sizeof(run), "%s/run", dir);
	return rmdir(run) || rmdir(dir);
}

/* ---- a client ---- */

static union {
	struct rf_ctl_head h;
	struct rf_ctl_done done;
	struct rf_ctl_event event;
	struct rf_ctl_volume volume;
	char bytes[4096];
} got;

static int dial(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strcpy(to.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Lets the server work until fd has something to read. */
static bool serve_until_readable(int fd)
{
	for (int waited = 0; waited < LIMIT_MS; waited += 20) {
		struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
				      {.fd = rf_control_fd(control), .events = POLLIN}};

		poll(p, 2, 20);
		if (p[1].revents)
			rf_control_ready(control);
		if (p[0].revents)
			return true;
	}
	return false;
}

/* Kind of the next packet; 0 = the server closed. */
static unsigned next(int fd)
{
	ssize_t n;

	assert_true(serve_until_readable(fd));
	n = recv(fd, &got, sizeof(got), 0);
	if (n <= 0)
		return 0;
	assert_int_equal(got.h.magic, RF_CTL_MAGIC);
	assert_int_equal(got.h.version, RF_CTL_VERSION);
	return got.h.kind;
}

static struct rf_ctl_request request(uint32_t verb, const char *volume)
{
	struct rf_ctl_request q = {
		.magic = RF_CTL_MAGIC, .version = RF_CTL_VERSION, .verb = (uint16_t)verb};

	strcpy(q.volume, volume);
	return q;
}

static void ask(int fd, const struct rf_ctl_request *q)
{
	assert_int_equal(send(fd, q, sizeof(*q), 0), sizeof(*q));
}

static unsigned code_of(int fd, uint32_t verb, const char *volume)
{
	struct rf_ctl_request q = request(verb, volume);

	ask(fd, &q);
	assert_int_equal(next(fd), RF_CTL_DONE);
	return got.done.code;
}

static void expect_nothing(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&(struct pollfd){.fd = rf_control_fd(control), .events = POLLIN}, 1, 0) > 0)
		rf_control_ready(control);
	assert_int_equal(poll(&p, 1, 0), 0);
}

/* ---- the socket ---- */

static void has_the_right_modes(void **state)
{
	struct stat st;
	char run[96];

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0660);
	snprintf(run, sizeof(run), "%s/run", dir);
	assert_int_equal(stat(run, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void replaces_a_stale_socket_only(void **state)
{
	struct rf_control *second;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	assert_int_equal(rf_control_open(&second, path, (gid_t)-1, &ops, err, sizeof(err)),
			 -EADDRINUSE);
	assert_non_null(strstr(err, "another ringfenced answers there"));
	assert_null(second);
	assert_int_equal(access(path, F_OK), 0); /* and it is still there */
	rf_control_close(control);
	control = NULL;

	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	strcpy(to.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(fd); /* a daemon that was killed left it */
	assert_int_equal(rf_control_open(&control, path, (gid_t)-1, &ops, err, sizeof(err)), 0);
	rf_control_close(control);

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(rf_control_open(&control, path, (gid_t)-1, &ops, err, sizeof(err)),
			 -EEXIST);
	assert_non_null(strstr(err, "something else is there"));
	unlink(path);
}

/* ---- answers ---- */

static void answers_status(void **state)
{
	struct rf_ctl_request q = request(RF_CTL_STATUS, "");
	int fd = dial();

	(void)state;
	world.rows = 256; /* all at once, before the client reads any */
	ask(fd, &q);
	for (unsigned i = 0; i < 256; i++) {
		assert_int_equal(next(fd), RF_CTL_ROW_VOLUME);
		assert_int_equal(got.volume.volume, i);
	}
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 256);
	q = request(RF_CTL_VOLUME, "b");
	ask(fd, &q);
	assert_int_equal(next(fd), RF_CTL_ROW_VOLUME);
	assert_int_equal(got.volume.volume, 1);
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 1);
	assert_int_equal(code_of(fd, RF_CTL_VOLUME, "zz"), RF_EXIT_NO_SUCH);
	assert_string_equal(got.done.text, "no volume \"zz\" here: see `ringfence status`");
	assert_int_equal(code_of(fd, RF_CTL_PAUSE, ""), RF_EXIT_YES);
	assert_int_equal(world.verb, RF_CTL_PAUSE);
	assert_int_equal(code_of(fd, RF_CTL_RESUME, ""), RF_EXIT_YES);
	assert_int_equal(world.verb, RF_CTL_RESUME);
	close(fd);
}

static void refuses_hostile_packets(void **state)
{
	static const char junk[3000];
	struct {
		struct rf_ctl_request q;
		size_t len;
		const char *says;
	} table[] = {
		{request(1, ""), 1, "not a request"},
		{request(1, ""), sizeof(struct rf_ctl_request) - 1, "not a request"},
		{request(1, ""), sizeof(struct rf_ctl_request), "not a request"},
		{request(1, ""), sizeof(struct rf_ctl_request), "different versions"},
		{request(0, ""), sizeof(struct rf_ctl_request), "does not know"},
		{request(RF_CTL_VERB_LAST + 1, ""), sizeof(struct rf_ctl_request),
		 "does not know"},
		{request(2, ""), sizeof(struct rf_ctl_request), "without an end"},
	};
	int fd;

	(void)state;
	table[2].q.magic++;
	table[3].q.version++;
	memset(table[6].q.volume, 'x', sizeof(table[6].q.volume));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		fd = dial();
		assert_int_equal(send(fd, &table[i].q, table[i].len, 0), table[i].len);
		assert_int_equal(next(fd), RF_CTL_DONE);
		assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
		assert_non_null(strstr(got.done.text, table[i].says));
		assert_int_equal(next(fd), 0);
		close(fd);
	}
	fd = dial();
	assert_int_equal(send(fd, junk, sizeof(junk), 0), sizeof(junk));
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
	close(fd);
	assert_int_equal(world.verb, 0);
}

static void seats_are_limited(void **state)
{
	int fd[RF_CONTROL_CLIENTS_MAX], one_more;

	(void)state;
	for (unsigned i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		fd[i] = dial();
		assert_int_equal(code_of(fd[i], RF_CTL_STATUS, ""), RF_EXIT_YES);
	}
	one_more = dial();
	assert_int_equal(next(one_more), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_AGAIN);
	assert_int_equal(next(one_more), 0);
	close(one_more);
	close(fd[7]);
	one_more = dial(); /* the seat is free again */
	assert_int_equal(code_of(one_more, RF_CTL_STATUS, ""), RF_EXIT_YES);
	close(one_more);
	for (unsigned i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		if (i != 7)
			close(fd[i]);
}

/* A child that is nobody asks; its exit status is the code it got. */
static unsigned code_for_nobody(uint32_t verb, const char *volume)
{
	int status_ = 0;
	pid_t pid;

	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(path, 0666), 0);
	pid = fork();
	if (pid == 0) {
		struct rf_ctl_request q = request(verb, volume);
		struct rf_ctl_done d = {0};
		int fd;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(99);
		fd = dial();
		if (send(fd, &q, sizeof(q), 0) < 0)
			_exit(98);
		while (recv(fd, &d, sizeof(d), 0) > 0 && d.h.kind != RF_CTL_DONE)
			;
		_exit((int)d.code);
	}
	for (int waited = 0; waited < LIMIT_MS; waited += 10) {
		struct pollfd p = {.fd = rf_control_fd(control), .events = POLLIN};

		if (poll(&p, 1, 10) > 0)
			rf_control_ready(control);
		if (waitpid(pid, &status_, WNOHANG) == pid)
			return (unsigned)WEXITSTATUS(status_);
	}
	fail();
	return 0;
}

static void only_root_changes_anything(void **state)
{
	static const uint32_t changing[] = {RF_CTL_RESIGN, RF_CTL_HANDOVER, RF_CTL_PAUSE,
					    RF_CTL_RESUME, RF_CTL_RUN,      RF_CTL_QUIET};

	(void)state;
	if (geteuid() != 0)
		skip();
	world.role[0] = RF_ROLE_ACTIVE;
	for (size_t i = 0; i < sizeof(changing) / sizeof(*changing); i++)
		assert_int_equal(code_for_nobody(changing[i], "a"), RF_EXIT_PERMISSION);
	assert_int_equal(world.verb, 0);
	assert_int_equal(code_for_nobody(RF_CTL_STATUS, ""), RF_EXIT_YES);
	assert_int_equal(code_for_nobody(RF_CTL_WATCH, "a"), RF_EXIT_YES);
}

/* ---- events ---- */

static void change(uint32_t volume, enum rf_role to, uint64_t epoch)
{
	struct rf_control_change ch = {
		.volume = volume,
		.node = 1,
		.prev_node = 1,
		.cause = RF_CAUSE_FIRST,
		.role = to,
		.prev_role = world.role[volume],
		.epoch = epoch,
		.prev_epoch = world.epoch[volume],
		.incarnation = 0xdef,
		.deadline_ns = 777,
	};

	world.role[volume] = to;
	world.epoch[volume] = epoch;
	rf_control_role(control, &ch);
}

static void watchers_see_their_volume(void **state)
{
	int all = dial(), one = dial();
	struct rf_ctl_event e = {.event = RF_CTL_EV_DECISION};

	(void)state;
	assert_int_equal(code_of(all, RF_CTL_WATCH, ""), RF_EXIT_YES);
	assert_int_equal(code_of(one, RF_CTL_WATCH, "b"), RF_EXIT_YES);
	strcpy(e.volume, "a");
	strcpy(e.text, "quorum votes=2");
	rf_control_event(control, &e);
	change(1, RF_ROLE_CANDIDATE, 1);
	assert_int_equal(next(all), RF_CTL_EVENT);
	assert_string_equal(got.event.text, "quorum votes=2");
	assert_int_equal(got.event.sequence, 1);
	assert_int_equal(next(all), RF_CTL_EVENT);
	assert_int_equal(got.event.sequence, 2);
	assert_int_equal(next(one), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_ROLE);
	assert_int_equal(got.event.role, RF_ROLE_CANDIDATE);
	assert_int_equal(got.event.prev_role, RF_ROLE_FOLLOWER);
	assert_string_equal(got.event.volume, "b");
	expect_nothing(one);
	assert_int_equal(code_of(one, RF_CTL_STATUS, ""), RF_EXIT_BAD_VALUE);
	assert_int_equal(next(one), 0); /* a watching connection asks nothing else */
	close(all);
	close(one);
}

static void slow_readers_are_told(void **state)
{
	struct rf_ctl_event e = {.event = RF_CTL_EV_DECISION};
	unsigned seen = 0, lost = 0;
	int fd = dial();

	(void)state;
	assert_int_equal(code_of(fd, RF_CTL_WATCH, ""), RF_EXIT_YES);
	for (int i = 0; i < 30000; i++)
		rf_control_event(control, &e);
	while (recv(fd, &got, sizeof(got), MSG_DONTWAIT) > 0)
		seen++;
	assert_true(seen > 0 && seen < 30000);
	rf_control_event(control, &e);
	assert_int_equal(next(fd), RF_CTL_EVENT);
	lost = got.event.lost;
	assert_int_equal(seen + lost, 30000);
	assert_int_equal(got.event.sequence, 30001);
	rf_control_event(control, &e);
	assert_int_equal(next(fd), RF_CTL_EVENT);
	assert_int_equal(got.event.lost, 0);
	close(fd);
}

/* ---- leaving ---- */

static void resign_waits_for_the_release(void **state)
{
	struct rf_ctl_request q = request(RF_CTL_RESIGN, "a");
	int fd = dial();

	(void)state;
	assert_int_equal(code_of(fd, RF_CTL_RESIGN, "a"), RF_EXIT_NO);
	assert_string_equal(got.done.text, "this node does not lead a");
	assert_int_equal(code_of(fd, RF_CTL_RESIGN, "x"), RF_EXIT_NO_SUCH);
	change(0, RF_ROLE_ACTIVE, 5);
	assert_int_equal(code_of(fd, RF_CTL_RESIGN, "a"), RF_EXIT_YES); /* timeout 0 */
	assert_int_equal(world.verb, RF_CTL_RESIGN);
	q.timeout_ms = LIMIT_MS;
	ask(fd, &q);
	expect_nothing(fd);
	change(0, RF_ROLE_CLOSING, 5);
	expect_nothing(fd);
	change(0, RF_ROLE_FOLLOWER, 5);
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	assert_string_equal(got.done.text, "released epoch 5");
	close(fd);
}

static void handover_names_a_node(void **state)
{
	struct rf_ctl_request q = request(RF_CTL_HANDOVER, "b");
	int fd = dial();

	(void)state;
	change(1, RF_ROLE_ACTIVE, 9);
	q.node = 4;
	ask(fd, &q);
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_NO_SUCH);
	q.node = 2;
	q.timeout_ms = 1;
	ask(fd, &q);
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_TIMED_OUT);
	assert_int_equal(world.verb, RF_CTL_HANDOVER);
	assert_int_equal(world.verb_volume, 1);
	assert_int_equal(world.verb_node, 2);
	world.refuse = -EBUSY;
	ask(fd, &q);
	assert_int_equal(next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_AGAIN);
	close(fd);
}

/* ---- work under leadership ---- */

static void expect_quiet(unsigned count, uint64_t epoch)
{
	while (poll(&(struct pollfd){.fd = rf_control_fd(control), .events = POLLIN}, 1, 0) > 0)
		rf_control_ready(control);
	assert_int_equal(world.quiet, count);
	if (count)
		assert_int_equal(world.quiet_epoch, epoch);
}

static void run_is_quiet_only_when_all_are(void **state)
{
	struct rf_ctl_request q = request(RF_CTL_QUIET, "");
	int early = dial(), late = dial(), other = dial();

	(void)state;
	assert_int_equal(code_of(early, RF_CTL_RUN, "a"), RF_EXIT_YES);
	assert_int_equal(code_of(other, RF_CTL_RUN, "b"), RF_EXIT_YES);
	expect_nothing(early);
	change(0, RF_ROLE_ACTIVE, 5);
	assert_int_equal(next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	assert_int_equal(got.event.epoch, 5);
	assert_int_equal(got.event.incarnation, 0xdef);
	assert_int_equal(got.event.deadline_ns, 777);
	assert_string_equal(got.event.volume, "a");
	assert_int_equal(code_of(late, RF_CTL_RUN, "a"), RF_EXIT_YES);
	assert_int_equal(next(late), RF_CTL_EVENT); /* it leads already */
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	expect_nothing(other);

	change(0, RF_ROLE_CLOSING, 5);
	expect_nothing(early); /* the gate is not shut yet */
	rf_control_cancel(control, 0, 5);
	assert_int_equal(next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_END);
	assert_int_equal(got.event.epoch, 5);
	assert_int_equal(next(late), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_END);
	expect_quiet(0, 0);
	q.epoch = 4; /* of another epoch: not believed */
	ask(early, &q);
	assert_int_equal(next(early), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
	expect_quiet(0, 0);
	q.epoch = 5;
	ask(early, &q);
	assert_int_equal(next(early), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	expect_quiet(0, 0);
	close(late); /* counts as QUIET */
	expect_quiet(1, 5);
	rf_control_cancel(control, 1, 0); /* nobody works there */
	expect_quiet(2, 0);
	change(0, RF_ROLE_FOLLOWER, 5);
	change(0, RF_ROLE_ACTIVE, 6); /* the same client begins again */
	assert_int_equal(next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	assert_int_equal(got.event.epoch, 6);
	close(early);
	close(other);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		SERVED(has_the_right_modes),
		SERVED(replaces_a_stale_socket_only),
		SERVED(answers_status),
		SERVED(refuses_hostile_packets),
		SERVED(seats_are_limited),
		SERVED(only_root_changes_anything),
		SERVED(watchers_see_their_volume),
		SERVED(slow_readers_are_told),
		SERVED(resign_waits_for_the_release),
		SERVED(handover_names_a_node),
		SERVED(run_is_quiet_only_when_all_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
