/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libringfence against a daemon that does what it is told: serves, ends a leadership,
 * hangs, dies, and answers with nonsense. What it is told lies in shared memory.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ringfence/control.h"
#include "ringfence/ringfence.h"

#define MS 1000000ull
#define CONNECTIONS 8

enum act { NOTHING, BEGIN, END, FLOOD, GARBAGE, DROP };
enum answer { GOOD, HOLE, TOO_LONG, NO_END, OTHER_VERSION, SHORT };

static struct orders {
	volatile enum act act; /* to the connection that runs; done when NOTHING again */
	volatile enum answer answer;
	volatile bool hangs, leads;
	volatile uint32_t code; /* of DONE */
	char text[64];
	volatile uint64_t epoch;
	volatile int64_t left_ms;
	volatile uint64_t epoch_asked; /* of the last STATE_GET or WORK_LIST */
	volatile unsigned quiet;
} * told;

static char dir[64], path[96];
static int listening;
static pid_t daemon_pid;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

/* ---- the daemon ---- */

static void give(int fd, void *packet, uint16_t kind, size_t bytes)
{
	struct rf_ctl_head *h = packet;

	h->magic = RF_CTL_MAGIC;
	h->version = RF_CTL_VERSION + (told->answer == OTHER_VERSION);
	h->kind = kind;
	(void)!send(fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void done(int fd, uint32_t code)
{
	struct rf_ctl_done d = {.code = code};

	memset(d.text, 'x', sizeof(d.text)); /* no end of its own */
	memcpy(d.text, told->text, strlen(told->text) + 1);
	give(fd, &d, RF_CTL_DONE, sizeof(d) - (told->answer == SHORT));
}

static void give_volume(int fd)
{
	struct rf_ctl_volume v = {.epoch = told->epoch,
				  .role = told->leads ? RF_ROLE_ACTIVE : RF_ROLE_FOLLOWER,
				  .lease_left_ms = told->left_ms};

	give(fd, &v, RF_CTL_ROW_VOLUME, sizeof(v));
}

static void give_state(int fd)
{
	struct rf_ctl_data d = {.length = 4000};

	memset(d.bytes, 's', sizeof(d.bytes));
	give(fd, &d, RF_CTL_ROW_DATA, sizeof(d));
	d.offset = told->answer == HOLE ? 4096 : 4000;
	d.length = told->answer == TOO_LONG ? 0xffffffff : 100;
	give(fd, &d, RF_CTL_ROW_DATA, sizeof(d));
}

static void give_work(int fd)
{
	struct rf_ctl_work w = {.epoch = 3, .node = 2, .times = 4};

	memset(w.id, 'i', sizeof(w.id)); /* no end */
	memset(w.text, 't', sizeof(w.text));
	for (int i = 0; i < (told->answer == TOO_LONG ? 100 : 3); i++)
		give(fd, &w, RF_CTL_ROW_WORK, sizeof(w));
}

static void answer(int fd, const struct rf_ctl_request *q)
{
	if (told->answer == NO_END)
		for (int i = 0; i < 64; i++)
			give_volume(fd);
	if (q->verb == RF_CTL_STATE_GET || q->verb == RF_CTL_WORK_LIST)
		told->epoch_asked = q->epoch;
	if (q->verb == RF_CTL_VOLUME)
		give_volume(fd);
	if (q->verb == RF_CTL_STATE_GET && !told->code)
		give_state(fd);
	if (q->verb == RF_CTL_WORK_LIST && !told->code)
		give_work(fd);
	if (q->verb == RF_CTL_QUIET)
		told->quiet++;
	if (told->answer != NO_END)
		done(fd, strcmp(q->volume, "vol0") ? RF_EXIT_NO_SUCH
			 : q->verb == RF_CTL_RUN   ? RF_EXIT_YES
						   : told->code);
}

static void act(int fd)
{
	struct rf_ctl_event e = {.event = told->act == END ? RF_CTL_EV_END : RF_CTL_EV_BEGIN,
				 .epoch = told->epoch,
				 .incarnation = 77,
				 .deadline_ns = now_ns() + (uint64_t)told->left_ms * MS};

	if (told->act == BEGIN || told->act == END)
		give(fd, &e, RF_CTL_EVENT, sizeof(e));
	e.event = RF_CTL_EV_ROLE;
	for (int i = 0; told->act == FLOOD && i < 200; i++)
		give(fd, &e, RF_CTL_EVENT, sizeof(e));
	if (told->act == GARBAGE)
		(void)!send(fd, "garbage", 7, MSG_NOSIGNAL);
	if (told->act == DROP)
		shutdown(fd, SHUT_RDWR);
	told->act = NOTHING;
}

__attribute__((noreturn)) static void serve(void)
{
	struct pollfd f[CONNECTIONS] = {{.fd = listening, .events = POLLIN}};
	int runs = -1, n = 1;

	for (;;) {
		static struct {
			struct rf_ctl_request q;
			char data[66000];
		} in;

		poll(f, (nfds_t)n, 2);
		if (told->hangs)
			continue;
		if (told->act && runs >= 0)
			act(runs);
		for (int i = 1; i < n; i++) {
			if (!(f[i].revents & (POLLIN | POLLHUP)))
				continue;
			memset(&in, 0, sizeof(in));
			if (recv(f[i].fd, &in, sizeof(in), MSG_DONTWAIT) <= 0) {
				runs = runs == f[i].fd ? -1 : runs;
				close(f[i].fd);
				f[i--] = f[--n];
				continue;
			}
			runs = in.q.verb == RF_CTL_RUN ? f[i].fd : runs;
			answer(f[i].fd, &in.q);
		}
		if (f[0].revents && n < CONNECTIONS)
			f[n++] = (struct pollfd){.fd = accept(listening, NULL, NULL),
						 .events = POLLIN};
	}
}

static void start(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listening, 8), 0);
	memset(told, 0, sizeof(*told));
	told->leads = true;
	told->left_ms = 5000;
	daemon_pid = fork();
	if (!daemon_pid)
		serve();
	close(listening);
}

static void stop(void)
{
	if (daemon_pid) {
		kill(daemon_pid, SIGKILL);
		waitpid(daemon_pid, NULL, 0);
	}
	daemon_pid = 0;
}

static int setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/rf-library-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	start();
	return ringfence_open((struct ringfence **)state, "vol0", path);
}

static int teardown(void **state)
{
	ringfence_close(*state);
	stop();
	unlink(path);
	return rmdir(dir);
}

static void tell(enum act what)
{
	told->act = what;
	for (int i = 0; i < 2000 && told->act; i++)
		poll(NULL, 0, 2);
	assert_int_equal(told->act, NOTHING);
}

static bool readable(struct ringfence *r)
{
	struct pollfd f = {.fd = ringfence_fd(r), .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

static void lead(struct ringfence *r, uint64_t epoch)
{
	told->epoch = epoch;
	tell(BEGIN);
	assert_int_equal(ringfence_acquire(r, 5000), 0);
	assert_int_equal(ringfence_epoch(r), epoch);
}

/* What a program that asks all the time sees; false: it still leads after the limit. */
static bool loses(struct ringfence *r, uint64_t limit_ms)
{
	uint64_t until = now_ns() + limit_ms * MS;

	while (now_ns() < until) {
		if (ringfence_check(r) == 0)
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

static void says(struct ringfence *r, const char *words)
{
	if (!strstr(ringfence_error(r), words))
		fail_msg("\"%s\" does not say \"%s\"", ringfence_error(r), words);
}

/* ---- tests ---- */

static void open_names_what_is_wrong(void **state)
{
	struct ringfence *r;
	char longer[300];

	(void)state;
	assert_int_equal(ringfence_open(&r, "other", path), -ENOENT);
	assert_non_null(r);
	ringfence_close(r);
	assert_int_equal(ringfence_open(&r, "vol0", "/no/such/socket"), -ENOENT);
	says(r, "/no/such/socket");
	ringfence_close(r);
	assert_int_equal(ringfence_open(&r, "vol0", dir), -ENOENT); /* no socket at all */
	ringfence_close(r);
	memset(longer, 'v', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(ringfence_open(&r, longer, path), -EINVAL);
	says(r, "volume name");
	ringfence_close(r);
	assert_int_equal(ringfence_open(&r, "vol0", longer), -EINVAL);
	ringfence_close(r);
	told->answer = OTHER_VERSION;
	assert_int_equal(ringfence_open(&r, "vol0", path), -EPROTO);
	says(r, "another version");
	ringfence_close(r);
	told->answer = SHORT;
	assert_int_equal(ringfence_open(&r, "vol0", path), -EPROTO);
	ringfence_close(r);
	told->answer = NO_END;
	assert_int_equal(ringfence_open(&r, "vol0", path), -ETIMEDOUT);
	ringfence_close(r);
	told->answer = GOOD;
	told->hangs = true;
	assert_int_equal(ringfence_open(&r, "vol0", path), -ETIMEDOUT);
	ringfence_close(r);
	told->hangs = false;
	stop();
	assert_int_equal(ringfence_open(&r, "vol0", path), -ENOENT); /* its socket is left */
	says(r, "is ringfenced running");
	ringfence_close(r);
	ringfence_close(NULL);
	assert_string_equal(ringfence_error(NULL), "out of memory");
}

static void acquire_waits_and_holds(void **state)
{
	struct ringfence *r = *state;

	assert_int_equal(ringfence_check(r), 0);
	assert_int_equal(ringfence_epoch(r), 0);
	assert_int_equal(ringfence_deadline_ns(r), 0);
	assert_int_equal(ringfence_acquire(r, 0), -ETIMEDOUT);
	assert_int_equal(ringfence_acquire(r, 30), -ETIMEDOUT);
	says(r, "does not lead");
	assert_int_equal(ringfence_release(r), -EINVAL);
	assert_false(readable(r));
	tell(FLOOD); /* of events that are none of ours */
	assert_int_equal(ringfence_acquire(r, 30), -ETIMEDOUT);
	lead(r, 7);
	assert_int_equal(ringfence_incarnation(r), 77);
	assert_true(ringfence_deadline_ns(r) > now_ns());
	assert_int_equal(ringfence_acquire(r, 0), -EALREADY);
	assert_int_equal(ringfence_check(r), 1);
	tell(FLOOD);
	assert_int_equal(ringfence_check(r), 1);
	assert_true(readable(r)); /* what is left of the flood */
	while (readable(r))
		assert_int_equal(ringfence_check(r), 1);
	assert_int_equal(ringfence_release(r), 0);
	assert_int_equal(told->quiet, 1);
	assert_int_equal(ringfence_check(r), 0);
	assert_int_equal(ringfence_deadline_ns(r), 0);
	assert_int_equal(ringfence_epoch(r), 7); /* of the last one */
	lead(r, 8);
}

static void a_loss_stays_readable_until_released(void **state)
{
	struct ringfence *r = *state;

	lead(r, 7);
	assert_false(readable(r));
	tell(END);
	assert_true(readable(r));
	assert_int_equal(ringfence_check(r), 0);
	says(r, "the leadership ended");
	assert_true(readable(r));
	assert_int_equal(ringfence_check(r), 0);
	assert_int_equal(ringfence_deadline_ns(r), 0);
	assert_int_equal(ringfence_acquire(r, 0), -EALREADY); /* stop everything first */
	assert_int_equal(ringfence_release(r), 0);
	assert_false(readable(r));
	lead(r, 9);
}

static void every_way_to_lose(void **state)
{
	static const struct {
		enum act act;
		const char *words;
	} ways[] = {{GARBAGE, "connection to the daemon is lost"},
		    {DROP, "connection to the daemon is lost"}};
	struct ringfence *r = *state;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		lead(r, 7 + i);
		tell(ways[i].act);
		assert_true(loses(r, 1000));
		says(r, ways[i].words);
		assert_true(readable(r));
		assert_int_equal(ringfence_release(r), 0);
		assert_int_equal(ringfence_acquire(r, 0), -ETIMEDOUT); /* joined anew */
	}
	told->left_ms = 100; /* another node leads: found out by asking */
	lead(r, 20);
	told->leads = false;
	assert_true(loses(r, 2000));
	says(r, "does not lead any more");
	ringfence_release(r);
	told->leads = true;
	lead(r, 21); /* the same node, in another epoch */
	told->epoch = 22;
	assert_true(loses(r, 2000));
	ringfence_release(r);
	lead(r, 23);
	assert_false(loses(r, 500)); /* renewed again and again */
	stop();
	assert_true(loses(r, 1000)); /* it died */
	says(r, "connection to the daemon is lost");
}

static void a_daemon_that_hangs_is_lost_with_its_lease(void **state)
{
	struct ringfence *r = *state;
	uint64_t deadline;

	told->left_ms = 600;
	lead(r, 7);
	told->hangs = true;
	deadline = ringfence_deadline_ns(r);
	while (ringfence_check(r) == 1)
		poll(NULL, 0, 5);
	assert_true(now_ns() >= deadline);
	assert_true(now_ns() < deadline + 1500 * MS);
	says(r, "does not answer");
	assert_true(readable(r));
	told->hangs = false;
	assert_int_equal(ringfence_release(r), 0);
	lead(r, 8);
}

static void state_is_whole_or_refused(void **state)
{
	struct ringfence *r = *state;
	char bytes[5000];
	size_t length = 1;

	assert_int_equal(ringfence_state_get(r, bytes, sizeof(bytes), &length), 0);
	assert_int_equal(length, 4100);
	assert_int_equal(told->epoch_asked, 0); /* from the disks, if need be */
	assert_int_equal(bytes[4099], 's');
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ringfence_state_get(r, bytes, 10, &length), 0);
	assert_int_equal(length, 4100);
	assert_int_equal(bytes[10], 0);
	lead(r, 7);
	assert_int_equal(ringfence_state_get(r, NULL, 0, &length), 0);
	assert_int_equal(told->epoch_asked, 7); /* the leader's, or nobody's */
	told->answer = HOLE;
	assert_int_equal(ringfence_state_get(r, bytes, sizeof(bytes), &length), -EPROTO);
	assert_int_equal(length, 0);
	told->answer = TOO_LONG;
	assert_int_equal(ringfence_state_get(r, bytes, sizeof(bytes), &length), -EPROTO);
	told->answer = NO_END;
	assert_int_equal(ringfence_state_get(r, bytes, sizeof(bytes), &length), -ETIMEDOUT);
}

static void changes_need_the_leadership(void **state)
{
	static const struct {
		uint32_t code;
		int error;
	} codes[] = {{RF_EXIT_LEASE_LOST, -ESTALE},
		     {RF_EXIT_IO, -EIO},
		     {RF_EXIT_TIMED_OUT, -ETIMEDOUT},
		     {RF_EXIT_AGAIN, -EAGAIN},
		     {RF_EXIT_BAD_VALUE, -EINVAL},
		     {RF_EXIT_BAD_DATA, -EBADMSG},
		     {RF_EXIT_PERMISSION, -EACCES},
		     {RF_EXIT_NO, -ENOENT},
		     {4711, -EIO}};
	static char big[RINGFENCE_STATE_MAX + 1];
	struct ringfence *r = *state;
	size_t length;

	assert_int_equal(ringfence_state_put(r, "x", 1, 100), -ESTALE);
	assert_int_equal(ringfence_work_begin(r, "id", "", 100), -ESTALE);
	assert_int_equal(ringfence_work_end(r, "id", 100), -ESTALE);
	lead(r, 7);
	assert_int_equal(ringfence_state_put(r, big, sizeof(big), 100), -EINVAL);
	assert_int_equal(ringfence_state_put(r, big, RINGFENCE_STATE_MAX, 1000), 0);
	assert_int_equal(ringfence_state_put(r, "", 0, -1), 0);
	strcpy(told->text, "why not");
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		told->code = codes[i].code;
		assert_int_equal(ringfence_state_put(r, "x", 1, 100), codes[i].error);
		assert_string_equal(ringfence_error(r), "why not");
		assert_int_equal(ringfence_state_get(r, NULL, 0, &length), codes[i].error);
		assert_int_equal(ringfence_work_end(r, "id", 0), codes[i].error);
	}
	told->code = 0;
	told->hangs = true;
	assert_int_equal(ringfence_state_put(r, "x", 1, 50), -ETIMEDOUT);
	told->hangs = false;
	tell(END);
	assert_int_equal(ringfence_check(r), 0);
	assert_int_equal(ringfence_state_put(r, "x", 1, 100), -ESTALE);
}

static void work_is_told_apart(void **state)
{
	struct ringfence_work work[4];
	struct ringfence *r = *state;
	char longer[200];

	lead(r, 7);
	memset(longer, 'w', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(ringfence_work_begin(r, longer, "", 100), -EINVAL);
	assert_int_equal(ringfence_work_begin(r, "id", longer, 100), -EINVAL);
	strcpy(told->text, "begun");
	assert_int_equal(ringfence_work_begin(r, "id", "text", 100), RINGFENCE_BEGUN);
	assert_string_equal(ringfence_error(r), "");
	strcpy(told->text, "begun before");
	assert_int_equal(ringfence_work_begin(r, "id", "", 100), RINGFENCE_BEGUN_BEFORE);
	strcpy(told->text, "repeated");
	assert_int_equal(ringfence_work_begin(r, "id", "", 100), RINGFENCE_REPEATED);
	strcpy(told->text, "");
	assert_int_equal(ringfence_work_end(r, "id", 100), 0);
	assert_int_equal(ringfence_work_list(r, work, 4), 3);
	assert_int_equal(work[2].times, 4);
	assert_int_equal(strlen(work[2].id), sizeof(work[2].id) - 1);
	assert_int_equal(strlen(work[2].text), sizeof(work[2].text) - 1);
	memset(work, 0, sizeof(work));
	assert_int_equal(ringfence_work_list(r, work, 2), 3);
	assert_int_equal(work[2].times, 0);
	assert_int_equal(ringfence_work_list(r, NULL, 0), 3);
	told->answer = TOO_LONG; /* more than there can be */
	assert_int_equal(ringfence_work_list(r, work, 4), RINGFENCE_WORK_MAX);
}

int main(void)
{
#define SERVED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		SERVED(open_names_what_is_wrong),
		SERVED(acquire_waits_and_holds),
		SERVED(a_loss_stays_readable_until_released),
		SERVED(every_way_to_lose),
		SERVED(a_daemon_that_hangs_is_lost_with_its_lease),
		SERVED(state_is_whole_or_refused),
		SERVED(changes_need_the_leadership),
		SERVED(work_is_told_apart),
	};

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (told == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
