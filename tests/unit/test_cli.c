/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tool's parts that need neither a disk nor a cluster: values on the command
 * line, the walk over the records, inequalities, and the client of the control
 * socket against daemons that hang, close, or talk nonsense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* the tool has a function of that name */

#include "../../tools/ctl.h"
#include "../../tools/inequality.h"
#include "../../tools/proposal.h"
#include "../../tools/record.h"
#include "../../tools/tool.h"
#include "format/assert.h"

struct tool tool = {.color = "auto", .quiet = true};

static char said[512];

int fail(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return code;
}

void note(const char *fmt, ...)
{
	(void)fmt;
}

void chat(const char *fmt, ...)
{
	(void)fmt;
}

void rf_assert_failed(const char *what, const char *file, int line)
{
	printf("%s at %s:%d\n", what, file, line);
	abort();
}

/* ---- values ---- */

static void durations(void **state)
{
	static const struct {
		const char *text;
		bool bare, good;
		uint32_t ms;
	} t[] = {
		{"100ms", false, true, 100},  {"1.5s", false, true, 1500},
		{"2m", false, true, 120000},  {"2min", true, true, 120000},
		{"1h", false, true, 3600000}, {"5", true, true, 5000},
		{"0.25", true, true, 250},    {"0", true, true, 0},
		{"5", false, false, 0},       {"", true, false, 0},
		{"s", true, false, 0},        {"-1s", true, false, 0},
		{"1 s", true, false, 0},      {"1d", true, false, 0},
		{"25h", true, false, 0},      {"nan", true, false, 0},
		{"inf", true, false, 0},      {"1e99s", true, false, 0},
		{"0x10s", true, false, 0},
	};
	uint32_t ms;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ms = 77;
		assert_int_equal(parse_ms(t[i].text, t[i].bare, &ms), t[i].good);
		assert_int_equal(ms, t[i].good ? t[i].ms : 77);
	}
}

static void numbers(void **state)
{
	uint64_t v;

	(void)state;
	assert_true(parse_u64("18446744073709551615", 10, &v) && v == UINT64_MAX);
	assert_true(parse_u64("ffffffffffffffff", 16, &v) && v == UINT64_MAX);
	assert_false(parse_u64("18446744073709551616", 10, &v));
	assert_false(parse_u64("-1", 10, &v));
	assert_false(parse_u64("", 10, &v));
	assert_false(parse_u64(" 1", 10, &v));
	assert_false(parse_u64("1x", 10, &v));
}

/* ---- records ---- */

static void walk_covers_the_area(void **state)
{
	struct rf_super s = {.id = {.nodes = 3, .stride_bytes = 8192},
			     .volumes = 2,
			     .history = 8,
			     .state_strides = 3};
	uint64_t n, at = 0;

	(void)state;
	for (n = 0; n < record_count(&s); n++) {
		struct record r = record_at(&s, n);

		assert_int_equal(r.offset_bytes, at);
		at += r.room_bytes;
	}
	assert_int_equal(at, rf_geo_strides(&s) * s.id.stride_bytes);
}

/* ---- inequalities ---- */

/* The first one that does not hold is the one rf_timing_check() names. */
static void inequalities_agree(void **state)
{
	static const uint32_t v[] = {0, 1, 99, 100, 200, 350, 1000, 3600001};
	char text[INEQUALITY_BYTES];
	struct rf_timing t;
	uint32_t i;
	int rule;

	(void)state;
	for (i = 0; i < 8 * 8 * 8 * 8; i++) {
		assert_true(rf_timing_profile("fast", &t));
		t.heartbeat_ms = v[i % 8];
		t.suspect_ms = v[i / 8 % 8];
		t.lease_ms = v[i / 64 % 8];
		t.hold_ms = v[i / 512];
		for (rule = RF_TIMING_ZERO; rule <= RF_TIMING_EPSILON; rule++) {
			inequality_text(text, rule, &t, 5000);
			assert_true(text[0]);
			if (!inequality_holds(rule, &t, 5000))
				break;
		}
		assert_int_equal(rf_timing_check(&t, 5000),
				 rule > RF_TIMING_EPSILON ? RF_TIMING_OK : rule);
	}
}

/* ---- the control socket ---- */

enum daemon { SILENT, CLOSES, NOISE, SHORT, NEWER, NO_ROWS, ENDLESS_TEXT, ENDLESS_ROW };

static void answer(int fd, enum daemon kind)
{
	struct rf_ctl_done done = {.h = {RF_CTL_MAGIC, RF_CTL_VERSION, RF_CTL_DONE}};
	struct rf_ctl_daemon row;
	char noise[100];

	memset(noise, 0x5a, sizeof(noise));
	switch (kind) {
	case SILENT:
	case CLOSES:
		return;
	case NOISE:
		assert_true(send(fd, noise, sizeof(noise), MSG_NOSIGNAL) > 0);
		return;
	case SHORT:
		assert_true(send(fd, &done, sizeof(done) - 1, MSG_NOSIGNAL) > 0);
		return;
	case NEWER:
		done.h.version++;
		break;
	case NO_ROWS:
		break;
	case ENDLESS_ROW:
		memset(&row, 'x', sizeof(row));
		row.h = (struct rf_ctl_head){RF_CTL_MAGIC, RF_CTL_VERSION, RF_CTL_ROW_DAEMON};
		assert_true(send(fd, &row, sizeof(row), MSG_NOSIGNAL) > 0);
		break;
	case ENDLESS_TEXT:
		done.code = RF_EXIT_NO;
		memset(done.text, 'x', sizeof(done.text));
		break;
	}
	assert_true(send(fd, &done, sizeof(done), MSG_NOSIGNAL) > 0);
}

/* A daemon of one client, in a process of its own. */
static pid_t serve(char path[64], enum daemon kind)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char request[256];
	int fd, client;
	pid_t pid;

	snprintf(path, 64, "/tmp/ringfence-cli.%d", (int)getpid());
	unlink(path);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		client = accept(fd, NULL, NULL);
		if (recv(client, request, sizeof(request), 0) > 0)
			answer(client, kind);
		/* until the client has gone */
		if (kind != CLOSES)
			(void)!recv(client, request, sizeof(request), 0);
		_exit(0);
	}
	close(fd);
	tool.socket = path;
	return pid;
}

static void control_socket(void **state)
{
	static const struct {
		enum daemon kind;
		int code;
		const char *words;
	} t[] = {
		{SILENT, RF_EXIT_UNREACHABLE, "did not answer"},
		{CLOSES, RF_EXIT_UNREACHABLE, "closed the connection"},
		{NOISE, RF_EXIT_UNREACHABLE, "another version"},
		{SHORT, RF_EXIT_UNREACHABLE, "another version"},
		{NEWER, RF_EXIT_UNREACHABLE, "another version"},
		{NO_ROWS, RF_EXIT_NO_SUCH, "no volume"},
		{ENDLESS_TEXT, RF_EXIT_NO, "xxx"},
	};
	struct rf_ctl_volume v;
	char path[64];
	size_t i;
	pid_t pid;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		pid = serve(path, t[i].kind);
		said[0] = 0;
		assert_int_equal(ctl_volume("vol0", &v), t[i].code);
		assert_non_null(strstr(said, t[i].words));
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		unlink(path);
	}
	assert_int_equal(ctl_volume("vol0", &v), RF_EXIT_UNREACHABLE);
	assert_non_null(strstr(said, "is ringfenced running"));
}

/* Every text of a row ends, whatever was sent. */
static void rows_end(void **state)
{
	struct ctl_status s;
	char path[64];
	pid_t pid = serve(path, ENDLESS_ROW);

	(void)state;
	assert_int_equal(ctl_status(&s), 0);
	assert_int_equal(strnlen(s.daemon.release, sizeof(s.daemon.release)),
			 sizeof(s.daemon.release) - 1);
	assert_int_equal(strnlen(s.daemon.watchdog_text, RF_CTL_TEXT_BYTES),
			 RF_CTL_TEXT_BYTES - 1);
	assert_int_equal(strnlen(s.daemon.watchdog_last, RF_CTL_TEXT_BYTES),
			 RF_CTL_TEXT_BYTES - 1);
	ctl_status_free(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	unlink(path);
}

static void long_names(void **state)
{
	struct rf_ctl_request request;
	char name[RF_NAME_BYTES + 1];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[RF_NAME_BYTES] = 0;
	assert_int_equal(ctl_request(&request, RF_CTL_VOLUME, name), RF_EXIT_BAD_VALUE);
	name[RF_NAME_BYTES - 1] = 0;
	assert_int_equal(ctl_request(&request, RF_CTL_VOLUME, name), 0);
}

/* A fast disk gets the profile fast; every disk up to a limit gets what fits it. */
static void proposals_fit(void **state)
{
	struct rf_timing fast, to;
	uint32_t r_us;

	(void)state;
	assert_true(rf_timing_profile("fast", &fast));
	assert_true(proposal_make(&to, &fast, proposal_r_us(1000), 500));
	assert_memory_equal(&to, &fast, sizeof(to));
	for (r_us = 1; r_us < 60000000; r_us = r_us * 3 / 2 + 1) {
		assert_true(proposal_make(&to, &fast, r_us, 100000));
		assert_true(to.heartbeat_ms * 1000ull >= 4ull * r_us);
		assert_int_equal(to.grace_ms, fast.grace_ms);
		assert_int_equal(rf_timing_check(&to, r_us), RF_TIMING_OK);
	}
	assert_false(proposal_make(&to, &fast, 2000000000, 1000));
	assert_int_equal(proposal_r_us(UINT32_MAX), UINT32_MAX);
	assert_int_equal(proposal_r_us(7), 7 * PROPOSAL_HEADROOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(numbers),
		cmocka_unit_test(walk_covers_the_area),
		cmocka_unit_test(inequalities_agree),
		cmocka_unit_test(proposals_fit),
		cmocka_unit_test(control_socket),
		cmocka_unit_test(rows_end),
		cmocka_unit_test(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
