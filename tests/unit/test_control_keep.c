/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: what a leader keeps, one change at a time. */
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

static void put(int fd, const char *volume, uint8_t first, size_t bytes)
{
	static struct {
		struct rf_ctl_request q;
		uint8_t data[RF_BLOB_USER_MAX + 1];
	} p;

	p.q = control_request(RF_CTL_STATE_PUT, volume);
	p.data[0] = first;
	assert_int_equal(send(fd, &p, sizeof(p.q) + bytes, 0), sizeof(p.q) + bytes);
}

static void a_change_is_answered_when_committed(void **state)
{
	int fd = control_dial(), other = control_dial(), third = control_dial();

	(void)state;
	assert_int_equal(control_code_of(fd, RF_CTL_WORK_LIST, "b"), RF_EXIT_LEASE_LOST);
	assert_string_equal(got.done.text, "elsewhere");
	world.change_says = RF_CONTROL_PENDING;
	put(fd, "a", 1, RF_BLOB_USER_MAX);
	control_expect_nothing(fd);
	assert_int_equal(world.change_bytes, RF_BLOB_USER_MAX);
	put(other, "a", 2, 5); /* waits unread, also when others talk */
	control_expect_nothing(other);
	assert_int_equal(world.changes, 1);
	world.change_says = RF_EXIT_LEASE_LOST;
	put(third, "b", 3, 0); /* another volume does not wait */
	assert_int_equal(control_next(third), RF_CTL_DONE);
	assert_string_equal(got.done.text, "said at once");
	assert_int_equal(world.changes, 2);
	world.change_says = RF_CONTROL_PENDING;
	rf_control_committed(control, 0, RF_EXIT_YES, "committed");
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_string_equal(got.done.text, "committed");
	control_expect_nothing(other);
	assert_int_equal(world.changes, 3);
	assert_int_equal(world.change_first, 2);
	close(other); /* does not wait for the end; it comes all the same */
	rf_control_committed(control, 0, RF_EXIT_YES, "");
	put(fd, "a", 4, 1);
	put(third, "a", 5, 1);
	control_expect_nothing(third);
	assert_int_equal(world.changes, 4);
	close(third); /* held, and gone: its request is not served */
	control_expect_nothing(fd);
	rf_control_committed(control, 0, RF_EXIT_IO, "failed");
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_IO);
	assert_int_equal(world.changes, 4);
	close(fd);
}

static void a_change_has_a_time_limit(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_STATE_PUT, "a");
	int fd = control_dial();

	(void)state;
	world.change_says = RF_CONTROL_PENDING;
	q.timeout_ms = 20;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_TIMED_OUT);
	assert_non_null(strstr(got.done.text, "may still be"));
	rf_control_committed(control, 0, RF_EXIT_YES, "late");
	control_expect_nothing(fd);
	assert_int_equal(control_code_of(fd, RF_CTL_STATE_GET, "b"), RF_EXIT_LEASE_LOST);
	close(fd);
}

static void a_change_of_wrong_size_is_refused(void **state)
{
	int fd = control_dial();

	(void)state;
	assert_int_equal(control_code_of(fd, RF_CTL_WORK_BEGIN, "a"), RF_EXIT_BAD_VALUE);
	assert_int_equal(world.changes, 0);
	put(fd, "a", 1, RF_BLOB_USER_MAX + 1);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_non_null(strstr(got.done.text, "not a request"));
	assert_int_equal(control_next(fd), 0);
	assert_int_equal(world.changes, 0);
	close(fd);
}

static void state_is_read_in_pieces(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_STATE_GET, "a");
	int fd = control_dial();

	(void)state;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_ROW_DATA);
	assert_int_equal(got.data.length, 3);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.rows, 1);
	close(fd);
}

/* Disks are read for it: who asks meanwhile is not given what was read for another. */
static void reading_may_take_its_time(void **state)
{
	struct rf_ctl_request q = control_request(RF_CTL_STATE_GET, "a");
	int fd = control_dial(), later = control_dial(), changing = control_dial();

	(void)state;
	world.read_pends = true;
	control_ask(fd, &q);
	control_expect_nothing(fd);
	control_ask(later, &q);
	control_expect_nothing(later);
	assert_int_equal(world.reads, 1);
	world.change_says = RF_EXIT_LEASE_LOST;
	put(changing, "a", 1, 1); /* a change does not wait for it */
	assert_int_equal(control_next(changing), RF_CTL_DONE);
	world.read_pends = false;
	rf_control_read(control, 0);
	assert_int_equal(world.reads, 2);
	assert_int_equal(control_next(fd), RF_CTL_ROW_DATA);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_YES);
	assert_int_equal(control_next(later), RF_CTL_ROW_DATA);
	assert_int_equal(world.reads, 3);
	assert_int_equal(control_next(later), RF_CTL_DONE);
	world.read_pends = true;
	q.timeout_ms = 20;
	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	assert_int_equal(got.done.code, RF_EXIT_TIMED_OUT);
	assert_non_null(strstr(got.done.text, "could not be read"));
	close(fd);
	close(later);
	close(changing);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, control_setup, control_teardown)
	const struct CMUnitTest tests[] = {
		SERVED(a_change_is_answered_when_committed), SERVED(a_change_has_a_time_limit),
		SERVED(a_change_of_wrong_size_is_refused),   SERVED(state_is_read_in_pieces),
		SERVED(reading_may_take_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
