/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log never waits, says what it lost, and one line stays one line. Also notify. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/notify.h"
#include "decision.h"
#include "journal.h"
#include "log.h"

#define MS 1000000ull

static char dir[64], path[96], content[2 * RF_LOG_RING_BYTES];

static const char *logged(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, content, sizeof(content) - 1);

	close(fd);
	content[n > 0 ? n : 0] = 0;
	return content;
}

/* A loop that writes when it is told to. */
static struct {
	int fd;
	const void *data;
	size_t len;
	unsigned started;
} pending;

static int start(void *arg, int fd, const void *data, size_t len)
{
	(void)arg;
	pending.fd = fd;
	pending.data = data;
	pending.len = len;
	pending.started++;
	return 0;
}

static void complete(size_t at_most)
{
	size_t n = pending.len < at_most ? pending.len : at_most;

	assert_true(n > 0);
	pending.len = 0;
	rf_log_written(write(pending.fd, pending.data, n));
}

static int open_log(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rf-log-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/log", dir);
	memset(&pending, 0, sizeof(pending));
	return rf_log_open(path, RF_LOG_INFO);
}

static int close_log(void **state)
{
	(void)state;
	rf_log_async(NULL, NULL);
	rf_log_open("", RF_LOG_INFO);
	unlink(path);
	return rmdir(dir);
}

static void writes_directly_before_the_loop(void **state)
{
	(void)state;
	rf_log(RF_LOG_INFO, "one a=%d", 1);
	rf_log(RF_LOG_DEBUG, "hidden");
	assert_non_null(strstr(logged(), "Z info one a=1\n"));
	assert_null(strstr(content, "hidden"));
	assert_true(rf_log_wants(RF_LOG_INFO));
	assert_false(rf_log_wants(RF_LOG_DEBUG));
}

static void one_line_stays_one(void **state)
{
	char longer[2 * RF_LOG_LINE_BYTES];

	(void)state;
	rf_log(RF_LOG_WARNING, "host=a\nb\x1b[31m%s", "\r\n");
	assert_non_null(strstr(logged(), "warning host=a b [31m  \n"));
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	rf_log(RF_LOG_INFO, "%s", longer);
	logged();
	assert_int_equal(strlen(strchr(content, '\n') + 1), RF_LOG_LINE_BYTES);
}

static void goes_through_the_loop(void **state)
{
	(void)state;
	rf_log_async(start, NULL);
	rf_log(RF_LOG_INFO, "first");
	rf_log(RF_LOG_INFO, "second");
	assert_int_equal(pending.started, 1); /* one write at a time */
	complete(10);                         /* a short write goes on where it stopped */
	while (pending.len)
		complete(SIZE_MAX);
	logged();
	assert_non_null(strstr(content, "info first\n"));
	assert_non_null(strstr(content, "info second\n"));
}

static unsigned lines(const char *s)
{
	unsigned n = 0;

	while ((s = strchr(s, '\n'))) {
		s++;
		n++;
	}
	return n;
}

static void says_what_it_lost(void **state)
{
	uint64_t before = rf_log_lost(), lost;
	char text[64];

	(void)state;
	rf_log_async(start, NULL);
	for (int i = 0; i < 5000; i++)
		rf_log(RF_LOG_INFO, "line number %d of many", i);
	lost = rf_log_lost() - before;
	assert_true(lost > 0 && lost < 5000);
	while (pending.len)
		complete(7777);
	logged();
	snprintf(text, sizeof(text), "warning log: %llu lines lost\n",
		 (unsigned long long)lost);
	assert_non_null(strstr(content, text));
	assert_int_equal(lines(content), 5000 - lost + 1);
}

static void a_failed_write_is_counted(void **state)
{
	uint64_t before = rf_log_lost();

	(void)state;
	rf_log_async(start, NULL);
	rf_log(RF_LOG_INFO, "gone");
	pending.len = 0;
	rf_log_written(-ENOSPC);
	assert_int_equal(rf_log_lost() - before, 1);
	while (pending.len)
		complete(SIZE_MAX);
	rf_log(RF_LOG_INFO, "again");
	while (pending.len)
		complete(SIZE_MAX);
	assert_non_null(strstr(logged(), "log: 1 lines lost"));
	assert_non_null(strstr(content, "info again\n"));
	assert_null(strstr(content, "gone"));
}

static void nothing_is_lost_at_the_end(void **state)
{
	(void)state;
	rf_log_async(start, NULL);
	rf_log(RF_LOG_INFO, "last words");
	rf_log_async(NULL, NULL);
	assert_non_null(strstr(logged(), "last words"));
}

/* ---- the journal ---- */

static struct {
	int fd, stderr_fd;
	char path[96];
} journal;

/* The log is standard error, and that is said to be the journal's. */
static void be_a_service(void)
{
	char text[64];
	struct stat st;

	journal.stderr_fd = dup(STDERR_FILENO);
	assert_int_equal(dup2(open(path, O_WRONLY | O_APPEND), STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	rf_log_journal(journal.path);
	assert_int_equal(rf_log_open("", RF_LOG_INFO), 0);
}

static int begin_journal(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int rc = open_log(state);

	snprintf(journal.path, sizeof(journal.path), "%s/journal", dir);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", journal.path);
	journal.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (rc || bind(journal.fd, (struct sockaddr *)&at, sizeof(at)))
		return -1;
	be_a_service();
	return 0;
}

static int end_journal(void **state)
{
	unsetenv("JOURNAL_STREAM");
	rf_log_journal(RF_JOURNAL_SOCKET);
	dup2(journal.stderr_fd, STDERR_FILENO);
	close(journal.stderr_fd);
	if (journal.fd >= 0)
		close(journal.fd);
	unlink(journal.path);
	return close_log(state);
}

static const char *entry(void)
{
	ssize_t n = recv(journal.fd, content, sizeof(content) - 1, MSG_DONTWAIT);

	content[n > 0 ? n : 0] = 0;
	return content;
}

static void the_journal_takes_fields(void **state)
{
	struct rf_decision d = {RF_SAY_SUSPECT, 0, 2, 7, 300 * MS, 0};
	char want[1024];

	(void)state;
	rf_log(RF_LOG_INFO, "excluded volume=vol0 node=2 epoch=7 ways=aborted took_ms=8.204");
	snprintf(want, sizeof(want),
		 "MESSAGE=excluded volume=vol0 node=2 epoch=7 ways=aborted took_ms=8.204\n"
		 "PRIORITY=6\nSYSLOG_IDENTIFIER=%s\nMESSAGE_ID=%s\n"
		 "RINGFENCE_EVENT=excluded\nRINGFENCE_VOLUME=vol0\nRINGFENCE_NODE=2\n"
		 "RINGFENCE_EPOCH=7\nRINGFENCE_WAYS=aborted\nRINGFENCE_TOOK_MS=8.204\n",
		 program_invocation_short_name, rf_journal_id("excluded", 8));
	assert_string_equal(entry(), want);
	rf_log_decision(&d, "vol0", NULL, NULL, 0); /* the sentence is no field */
	assert_non_null(strstr(entry(), "RINGFENCE_SILENT_MS=300\n"));
	assert_null(strstr(content, "RINGFENCE_MSG"));
	assert_non_null(strstr(content, "\nPRIORITY=4\n"));
	rf_log(RF_LOG_WARNING, "fencer volume=v: died");
	assert_non_null(strstr(entry(), "RINGFENCE_VOLUME=v\n"));
	assert_string_equal(logged(), ""); /* none of it on standard error */
}

/* What others wrote into a line makes neither fields nor entries. */
static void only_its_own_fields(void **state)
{
	(void)state;
	rf_log(RF_LOG_INFO, "hook promote vol0: epoch=9\nMESSAGE_ID=1\n\nx");
	assert_non_null(
		strstr(entry(), "MESSAGE=hook promote vol0: epoch=9 MESSAGE_ID=1  x\n"));
	assert_null(strstr(content, "\nMESSAGE_ID"));
	assert_null(strstr(content, "RINGFENCE"));
	rf_log(RF_LOG_INFO, "leaders are many");
	assert_null(strstr(entry(), "MESSAGE_ID"));
	rf_log(RF_LOG_INFO, "%s", "");
	assert_non_null(strstr(entry(), "MESSAGE=\n"));
}

/* One entry a write, also where the ring begins anew; nothing is lost at its end. */
static void entries_go_through_the_loop(void **state)
{
	char text[64];

	(void)state;
	rf_log_async(start, NULL);
	for (int i = 0; i < 2000; i++) {
		rf_log(RF_LOG_INFO, "line number=%d and some more of it to fill the ring", i);
		if (i % 10)
			continue;
		for (int k = i ? i - 9 : 0; k <= i; k++) {
			complete(SIZE_MAX);
			snprintf(text, sizeof(text), "MESSAGE=line number=%d and", k);
			assert_int_equal(strncmp(entry(), text, strlen(text)), 0);
		}
	}
	rf_log_async(NULL, NULL);
	entry(); /* nine are left */
	for (int k = 1991; k < 2000; k++) {
		snprintf(text, sizeof(text), "MESSAGE=line number=%d and", k);
		assert_int_equal(strncmp(content, text, strlen(text)), 0);
		entry();
	}
	assert_string_equal(content, "");
}

/* Who restarts the journal's socket, or has none, still reads lines with levels. */
static void lines_when_there_is_no_journal(void **state)
{
	(void)state;
	rf_log_async(start, NULL);
	close(journal.fd);
	journal.fd = -1;
	rf_log(RF_LOG_ERR, "x=1");
	pending.len = 0;
	rf_log_written(-ECONNREFUSED);
	while (pending.len)
		complete(SIZE_MAX);
	rf_log_async(NULL, NULL);
	assert_string_equal(logged(), "<3>x=1\n");
	assert_int_equal(rf_log_open("", RF_LOG_INFO), 0);
	rf_log(RF_LOG_WARNING, "y=1");
	assert_string_equal(logged(), "<3>x=1\n<4>y=1\n");
}

/* One that takes nothing: who is about to end does not wait for it, its last words
 * go to standard error. */
static void a_journal_that_hangs(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		rf_log(RF_LOG_INFO, "until its queue is full");
		if (*logged())
			break;
	}
	assert_string_equal(logged(), "<6>until its queue is full\n");
	rf_log(RF_LOG_ERR, "last words");
	assert_non_null(strstr(logged(), "<3>last words\n"));
}

/* To a file, with its own stamps, and back. */
static void leaves_the_journal_for_a_file(void **state)
{
	char second[80];
	int fd;

	(void)state;
	snprintf(second, sizeof(second), "%s/second", dir);
	fd = rf_log_file(second);
	rf_log_redirect(fd, RF_LOG_INFO);
	rf_log(RF_LOG_INFO, "in the file");
	rf_log_redirect(-1, RF_LOG_INFO);
	rf_log(RF_LOG_INFO, "back");
	assert_int_equal(strncmp(entry(), "MESSAGE=back\n", 13), 0);
	rf_log_redirect(-1, RF_LOG_DEBUG);
	rf_log(RF_LOG_DEBUG, "still");
	assert_int_equal(strncmp(entry(), "MESSAGE=still\n", 14), 0);
	rename(second, path);
	assert_non_null(strstr(logged(), "Z info in the file\n"));
	assert_null(strstr(content, "back"));
}

/* ---- decisions ---- */

static void decisions_are_lines(void **state)
{
	static const struct {
		struct rf_decision d;
		const char *volume, *text;
	} table[] = {
		{{RF_SAY_EXCLUDED, 0, 2, 7, RF_WAY_CLOSED | RF_WAY_EXPIRED, 12 * MS},
		 "vol0",
		 "excluded volume=vol0 node=2 epoch=7 ways=closed+expired took_ms=12"},
		{{RF_SAY_EXCLUDED, 3, 2, 7, 0, 12345678},
		 NULL,
		 "excluded volume=3 node=2 epoch=7 ways=none took_ms=12.345"},
		{{RF_SAY_JOINED, RF_NO_VOLUME, 0, 0, 4, 0xabc},
		 NULL,
		 "joined generation=4 incarnation=0000000000000abc"},
		{{RF_SAY_LOSING, 0, 1, 9, RF_CAUSE_RESIGNED, 0},
		 "v",
		 "losing volume=v node=1 epoch=9 cause=resigned"},
		{{RF_SAY_NO_LEADER, 0, 0, 9, 99, 0},
		 "v",
		 "no-leader volume=v epoch=9 cause=unknown"},
		{{RF_SAY_MARGIN, 0, 1, 9, (uint64_t)-3 * MS, 1000 * MS},
		 "v",
		 "margin volume=v node=1 epoch=9 left_ms=-3 lease_ms=1000"},
		{{RF_SAY_RECONCILE_FAILED, 0, 1, 9, (uint64_t)-62, 0},
		 "v",
		 "reconcile-failed volume=v node=1 epoch=9 status=-62"},
		{{RF_SAY_COUNT, 0, 0, 0, 0, 0}, NULL, NULL},
	};
	char out[RF_DECISION_BYTES], name[RF_NAME_BYTES];

	(void)state;
	for (size_t i = 0; table[i].text; i++) {
		rf_decision_format(out, sizeof(out), &table[i].d, table[i].volume);
		assert_string_equal(out, table[i].text);
	}
	assert_int_equal(rf_decision_format(out, 8, &table[0].d, "vol0"), 7);
	assert_string_equal(out, "exclude");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (uint32_t code = 0; code <= RF_SAY_COUNT; code++) {
		struct rf_decision d = {code, 1, UINT32_MAX, UINT64_MAX, UINT64_MAX, INT64_MAX};

		assert_true(rf_decision_format(out, sizeof(out), &d, name) < sizeof(out) - 1);
		assert_non_null(strchr("diwe", rf_decision_level(code)));
		assert_true(*rf_decision_words(code));
	}
}

static void a_warning_says_what_to_do(void **state)
{
	struct rf_decision d = {RF_SAY_UNREADABLE, 0, 2, 7, 0, 5};
	char text[200];

	(void)state;
	rf_log_decision(&d, "vol0", "/dev/mapper/q", text, sizeof(text));
	assert_string_equal(text, "unreadable volume=vol0 node=2 epoch=7 disk=0 record=5");
	assert_non_null(strstr(logged(), "error unreadable volume=vol0 node=2 epoch=7 disk=0 "
					 "record=5 msg=\"a record cannot be read"));
	d = (struct rf_decision){RF_SAY_LEFT, RF_NO_VOLUME, 2, 0, 3, 0};
	rf_log_decision(&d, NULL, "/dev/mapper/q", text, sizeof(text));
	assert_string_equal(text, "left node=2 generation=3 area=/dev/mapper/q");
}

/* ---- notify ---- */

static void tells_the_service_manager(void **state)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char got[256];
	ssize_t n;
	static const char *const expect[] = {"READY=1", "STATUS=a b",
					     "EXTEND_TIMEOUT_USEC=5000", "WATCHDOG=1",
					     "STOPPING=1"};

	(void)state;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/n", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	rf_notify_ready(); /* without a socket: nothing */
	assert_int_equal(rf_notify_watchdog_ns(), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(rf_notify_open(), -EINVAL);
	setenv("NOTIFY_SOCKET", to.sun_path, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	unsetenv("WATCHDOG_PID");
	assert_int_equal(rf_notify_open(), 0);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_int_equal(rf_notify_watchdog_ns(), 1500 * MS);
	rf_notify_ready();
	rf_notify_status("a\nb");
	rf_notify_extend(5);
	rf_notify_watchdog();
	rf_notify_stopping();
	for (size_t i = 0; i < 5; i++) {
		n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
		assert_true(n > 0);
		got[n] = 0;
		assert_string_equal(got, expect[i]);
	}
	for (int i = 0; i < 10000; i++) /* nobody reads: nobody waits */
		rf_notify_watchdog();
	rf_notify_close();
	close(fd);
	unlink(to.sun_path);
}

/* Another file while a write to the old one is under way; then stderr. */
static void goes_to_another_file(void **state)
{
	char second[80], old[512];
	int fd;

	(void)state;
	snprintf(second, sizeof(second), "%s/second", dir);
	rf_log_async(start, NULL);
	rf_log(RF_LOG_INFO, "one");
	assert_int_equal(pending.started, 1);
	fd = rf_log_file(second);
	assert_true(fd >= 0);
	rf_log_redirect(fd, RF_LOG_DEBUG);
	complete(SIZE_MAX); /* to the number that was given: it names the new file now */
	rf_log(RF_LOG_DEBUG, "two");
	complete(SIZE_MAX);
	assert_string_equal(logged(), "");
	rename(second, path);
	snprintf(old, sizeof(old), "%.400s", logged());
	assert_non_null(strstr(old, "info one\n"));
	assert_non_null(strstr(old, "debug two\n"));
	rf_log_redirect(-1, RF_LOG_ERR);
	rf_log(RF_LOG_INFO, "three");
	rf_log(RF_LOG_ERR, "on stderr");
	complete(SIZE_MAX);
	assert_string_equal(logged(), old);
	assert_int_equal(rf_log_file("/no/such/place"), -ENOENT);
}

int main(void)
{
#define WITH_LOG(test) cmocka_unit_test_setup_teardown(test, open_log, close_log)
#define AS_SERVICE(test) cmocka_unit_test_setup_teardown(test, begin_journal, end_journal)
	const struct CMUnitTest tests[] = {
		WITH_LOG(writes_directly_before_the_loop),
		WITH_LOG(one_line_stays_one),
		WITH_LOG(goes_through_the_loop),
		WITH_LOG(says_what_it_lost),
		WITH_LOG(a_failed_write_is_counted),
		WITH_LOG(nothing_is_lost_at_the_end),
		WITH_LOG(goes_to_another_file),
		AS_SERVICE(the_journal_takes_fields),
		AS_SERVICE(only_its_own_fields),
		AS_SERVICE(entries_go_through_the_loop),
		AS_SERVICE(lines_when_there_is_no_journal),
		AS_SERVICE(a_journal_that_hangs),
		AS_SERVICE(leaves_the_journal_for_a_file),
		cmocka_unit_test(decisions_are_lines),
		WITH_LOG(a_warning_says_what_to_do),
		WITH_LOG(tells_the_service_manager),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
