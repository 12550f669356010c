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

#include "control_support.h"

static void gives_figures(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_METRICS, "");
	int fd = control_dial();

	(void)state;
	control_ask(fd, &q);
	for (int64_t value = 7; value < 9; value++) {
		assert_int_equal(control_next(fd), RF_CTL_ROW_METRIC);
		assert_int_equal(got.metric.value, value);
	}
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 2);
	close(fd);
}

/* ---- the socket ---- */

static void has_the_right_modes(void **state)
{
	struct stat st;
	char run[96];

	(void)state;
	assert_int_equal(stat(control_path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0660);
	snprintf(run, sizeof(run), "%s/run", control_dir);
	assert_int_equal(stat(run, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void replaces_a_stale_socket_only(void **state)
{
	struct rf_control *second;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	assert_int_equal(rf_control_open(&second, control_path, (gid_t)-1, &control_ops,
					 control_err, sizeof(control_err)),
			 -EADDRINUSE);
	assert_non_null(strstr(control_err, "another ringfenced answers there"));
	assert_null(second);
	assert_int_equal(access(control_path, F_OK), 0); /* and it is still there */
	rf_control_close(control);
	control = NULL;

	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	strcpy(to.sun_path, control_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(fd); /* a daemon that was killed left it */
	assert_int_equal(rf_control_open(&control, control_path, (gid_t)-1, &control_ops,
					 control_err, sizeof(control_err)),
			 0);
	rf_control_close(control);

	fd = open(control_path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(rf_control_open(&control, control_path, (gid_t)-1, &control_ops,
					 control_err, sizeof(control_err)),
			 -EEXIST);
	assert_non_null(strstr(control_err, "something else is there"));
	unlink(control_path);
}

/* ---- answers ---- */

static void answers_status(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_STATUS, "");
	int fd = control_dial();

	(void)state;
	world.rows = 256; /* all at once, before the client reads any */
	control_ask(fd, &q);
	for (unsigned i = 0; i < 256; i++) {
		assert_int_equal(control_next(fd), RF_CTL_ROW_VOLUME);
		assert_int_equal(got.volume.volume, i);
	}
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 256);
	q = control_request(RF_CTL_VOLUME, "b");
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_ROW_VOLUME);
	assert_int_equal(got.volume.volume, 1);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 1);
	assert_int_equal(control_code_of(fd, RF_CTL_VOLUME, "zz"), RF_EXIT_NO_SUCH);
	assert_string_equal(got.done.text, "no volume \"zz\" here: see `ringfence status`");
	assert_int_equal(control_code_of(fd, RF_CTL_PAUSE, ""), RF_EXIT_YES);
	assert_int_equal(world.verb, RF_CTL_PAUSE);
	assert_int_equal(control_code_of(fd, RF_CTL_RESUME, ""), RF_EXIT_YES);
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
		{control_request(1, ""), 1, "not a request"},
		{control_request(1, ""), sizeof(struct rf_ctl_request) - 1, "not a request"},
		{control_request(1, ""), sizeof(struct rf_ctl_request), "not a request"},
		{control_request(1, ""), sizeof(struct rf_ctl_request), "different versions"},
		{control_request(0, ""), sizeof(struct rf_ctl_request), "does not know"},
		{control_request(RF_CTL_VERB_LAST + 1, ""), sizeof(struct rf_ctl_request),
		 "does not know"},
		{control_request(2, ""), sizeof(struct rf_ctl_request), "without an end"},
	};
	int fd;

	(void)state;
	table[2].q.magic++;
	table[3].q.version++;
	memset(table[6].q.volume, 'x', sizeof(table[6].q.volume));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		fd = control_dial();
		assert_int_equal(send(fd, &table[i].q, table[i].len, 0), table[i].len);
		assert_int_equal(control_next(fd), RF_CTL_DONE);
		assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
		assert_non_null(strstr(got.done.text, table[i].says));
		assert_int_equal(control_next(fd), 0);
		close(fd);
	}
	fd = control_dial();
	assert_int_equal(send(fd, junk, sizeof(junk), 0), sizeof(junk));
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
	close(fd);
	assert_int_equal(world.verb, 0);
}

static void seats_are_limited(void **state)
{
	int fd[RF_CONTROL_CLIENTS_MAX], one_more;

	(void)state;
	for (unsigned i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		fd[i] = control_dial();
		assert_int_equal(control_code_of(fd[i], RF_CTL_STATUS, ""), RF_EXIT_YES);
	}
	one_more = control_dial();
	assert_int_equal(control_next(one_more), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_AGAIN);
	assert_int_equal(control_next(one_more), 0);
	close(one_more);
	close(fd[7]);
	one_more = control_dial(); /* the seat is free again */
	assert_int_equal(control_code_of(one_more, RF_CTL_STATUS, ""), RF_EXIT_YES);
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

	assert_int_equal(chmod(control_dir, 0755), 0);
	assert_int_equal(chmod(control_path, 0666), 0);
	pid = fork();
	if (pid == 0) {
		struct rf_ctl_request q = control_request(verb, volume);
		struct rf_ctl_done d = {0};
		int fd;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(99);
		fd = control_dial();
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
	int all = control_dial(), one = control_dial();
	struct rf_ctl_event e = {.event = RF_CTL_EV_DECISION};

	(void)state;
	assert_int_equal(control_code_of(all, RF_CTL_WATCH, ""), RF_EXIT_YES);
	assert_int_equal(control_code_of(one, RF_CTL_WATCH, "b"), RF_EXIT_YES);
	strcpy(e.volume, "a");
	strcpy(e.text, "quorum votes=2");
	rf_control_event(control, &e);
	change(1, RF_ROLE_CANDIDATE, 1);
	assert_int_equal(control_next(all), RF_CTL_EVENT);
	assert_string_equal(got.event.text, "quorum votes=2");
	assert_int_equal(got.event.sequence, 1);
	assert_int_equal(control_next(all), RF_CTL_EVENT);
	assert_int_equal(got.event.sequence, 2);
	assert_int_equal(control_next(one), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_ROLE);
	assert_int_equal(got.event.role, RF_ROLE_CANDIDATE);
	assert_int_equal(got.event.prev_role, RF_ROLE_FOLLOWER);
	assert_string_equal(got.event.volume, "b");
	control_expect_nothing(one);
	assert_int_equal(control_code_of(one, RF_CTL_STATUS, ""), RF_EXIT_BAD_VALUE);
	assert_int_equal(control_next(one), 0); /* a watching connection asks nothing else */
	close(all);
	close(one);
}

static void slow_readers_are_told(void **state)
{
	struct rf_ctl_event e = {.event = RF_CTL_EV_DECISION};
	unsigned seen = 0, lost = 0;
	int fd = control_dial();

	(void)state;
	assert_int_equal(control_code_of(fd, RF_CTL_WATCH, ""), RF_EXIT_YES);
	for (int i = 0; i < 30000; i++)
		rf_control_event(control, &e);
	while (recv(fd, &got, sizeof(got), MSG_DONTWAIT) > 0)
		seen++;
	assert_true(seen > 0 && seen < 30000);
	rf_control_event(control, &e);
	assert_int_equal(control_next(fd), RF_CTL_EVENT);
	lost = got.event.lost;
	assert_int_equal(seen + lost, 30000);
	assert_int_equal(got.event.sequence, 30001);
	rf_control_event(control, &e);
	assert_int_equal(control_next(fd), RF_CTL_EVENT);
	assert_int_equal(got.event.lost, 0);
	close(fd);
}

/* ---- leaving ---- */

static void resign_waits_for_the_release(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_RESIGN, "a");
	int fd = control_dial();

	(void)state;
	assert_int_equal(control_code_of(fd, RF_CTL_RESIGN, "a"), RF_EXIT_NO);
	assert_string_equal(got.done.text, "this node does not lead a");
	assert_int_equal(control_code_of(fd, RF_CTL_RESIGN, "x"), RF_EXIT_NO_SUCH);
	change(0, RF_ROLE_ACTIVE, 5);
	assert_int_equal(control_code_of(fd, RF_CTL_RESIGN, "a"), RF_EXIT_YES); /* timeout 0 */
	assert_int_equal(world.verb, RF_CTL_RESIGN);
	q.timeout_ms = LIMIT_MS;
	control_ask(fd, &q);
	control_expect_nothing(fd);
	change(0, RF_ROLE_CLOSING, 5);
	control_expect_nothing(fd);
	change(0, RF_ROLE_FOLLOWER, 5);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	assert_string_equal(got.done.text, "released epoch 5");
	close(fd);
}

static void handover_names_a_node(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_HANDOVER, "b");
	int fd = control_dial();

	(void)state;
	change(1, RF_ROLE_ACTIVE, 9);
	q.node = 4;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_NO_SUCH);
	q.node = 3;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_AGAIN);
	assert_string_equal(got.done.text, "not that one");
	assert_int_equal(world.verb, 0); /* nothing was told */
	q.node = 2;
	q.timeout_ms = 1;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_TIMED_OUT);
	assert_int_equal(world.verb, RF_CTL_HANDOVER);
	assert_int_equal(world.verb_volume, 1);
	assert_int_equal(world.verb_node, 2);
	world.refuse = -EBUSY;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
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
	struct rf_ctl_request q = control_request(RF_CTL_QUIET, "");
	int early = control_dial(), late = control_dial(), other = control_dial();

	(void)state;
	assert_int_equal(control_code_of(early, RF_CTL_RUN, "a"), RF_EXIT_YES);
	assert_int_equal(control_code_of(other, RF_CTL_RUN, "b"), RF_EXIT_YES);
	control_expect_nothing(early);
	change(0, RF_ROLE_ACTIVE, 5);
	assert_int_equal(control_next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	assert_int_equal(got.event.epoch, 5);
	assert_int_equal(got.event.incarnation, 0xdef);
	assert_int_equal(got.event.deadline_ns, 777);
	assert_string_equal(got.event.volume, "a");
	assert_int_equal(control_code_of(late, RF_CTL_RUN, "a"), RF_EXIT_YES);
	assert_int_equal(control_next(late), RF_CTL_EVENT); /* it leads already */
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	control_expect_nothing(other);

	change(0, RF_ROLE_CLOSING, 5);
	control_expect_nothing(early); /* the gate is not shut yet */
	rf_control_cancel(control, 0, 5);
	assert_int_equal(control_next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_END);
	assert_int_equal(got.event.epoch, 5);
	assert_int_equal(control_next(late), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_END);
	expect_quiet(0, 0);
	q.epoch = 4; /* of another epoch: not believed */
	control_ask(early, &q);
	assert_int_equal(control_next(early), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_BAD_VALUE);
	expect_quiet(0, 0);
	q.epoch = 5;
	control_ask(early, &q);
	assert_int_equal(control_next(early), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	expect_quiet(0, 0);
	close(late); /* counts as QUIET */
	expect_quiet(1, 5);
	rf_control_cancel(control, 1, 0); /* nobody works there */
	expect_quiet(2, 0);
	change(0, RF_ROLE_FOLLOWER, 5);
	change(0, RF_ROLE_ACTIVE, 6); /* the same client begins again */
	assert_int_equal(control_next(early), RF_CTL_EVENT);
	assert_int_equal(got.event.event, RF_CTL_EV_BEGIN);
	assert_int_equal(got.event.epoch, 6);
	close(early);
	close(other);
}

/* ---- the configuration, again ---- */

static void reload_answers_when_it_was_read(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_RELOAD, "");
	struct rf_ctl_change c = {.applied = 1, .key = "[log] level"};
	int fd = control_dial(), later = control_dial(), resigning = control_dial();

	(void)state;
	world.role[0] = RF_ROLE_ACTIVE;
	q.timeout_ms = LIMIT_MS;
	control_ask(fd, &q);
	control_expect_nothing(fd);
	world.refuse = -EBUSY;
	assert_int_equal(control_code_of(later, RF_CTL_RELOAD, ""), RF_EXIT_AGAIN);
	world.refuse = 0;
	q = control_request(RF_CTL_RESIGN, "a");
	q.timeout_ms = LIMIT_MS;
	control_ask(resigning, &q);
	rf_control_reload_row(control, &c);
	rf_control_reloaded(control, RF_EXIT_YES, "");
	assert_int_equal(control_next(fd), RF_CTL_ROW_CHANGE);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	assert_int_equal(got.done.rows, 1);
	control_expect_nothing(resigning); /* each waits for its own */
	q = control_request(RF_CTL_RELOAD, "");
	q.timeout_ms = 1;
	control_ask(fd, &q);
	change(0, RF_ROLE_FOLLOWER, 5); /* the release answers who resigned only */
	assert_int_equal(control_next(resigning), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_TIMED_OUT);
	rf_control_reloaded(control, RF_EXIT_YES, ""); /* nobody waits any more */
	control_expect_nothing(fd);
	close(fd);
	close(later);
	close(resigning);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, control_setup, control_teardown)
	const struct CMUnitTest tests[] = {
		SERVED(has_the_right_modes),
		SERVED(replaces_a_stale_socket_only),
		SERVED(answers_status),
		SERVED(gives_figures),
		SERVED(refuses_hostile_packets),
		SERVED(seats_are_limited),
		SERVED(only_root_changes_anything),
		SERVED(watchers_see_their_volume),
		SERVED(slow_readers_are_told),
		SERVED(resign_waits_for_the_release),
		SERVED(handover_names_a_node),
		SERVED(run_is_quiet_only_when_all_are),
		SERVED(reload_answers_when_it_was_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
