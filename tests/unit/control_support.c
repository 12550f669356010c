/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A control socket with a daemon of two volumes behind it, and clients. */
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

char control_dir[64], control_path[96], control_err[256];
struct rf_control *control;
struct control_world world;
union control_got got;

/* ---- a daemon of two volumes ---- */

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

static uint32_t heir(void *w, uint32_t volume, uint32_t n, char text[RF_CTL_TEXT_BYTES])
{
	(void)w;
	(void)volume;
	strcpy(text, "not that one");
	return n == 2 ? RF_EXIT_YES : n == 3 ? RF_EXIT_AGAIN : RF_EXIT_NO_SUCH;
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

static uint32_t read_kept(void *w, const struct rf_ctl_request *q, uint32_t volume,
			  rf_control_row row, void *client, char text[RF_CTL_TEXT_BYTES])
{
	struct rf_ctl_data d = {.h.kind = RF_CTL_ROW_DATA, .length = 3, .bytes = "abc"};

	(void)w;
	world.reads++;
	if (world.read_pends)
		return RF_CONTROL_PENDING;
	if (q->verb == RF_CTL_STATE_GET && volume == 0) {
		row(client, &d, sizeof(d));
		return RF_EXIT_YES;
	}
	strcpy(text, "elsewhere");
	return RF_EXIT_LEASE_LOST;
}

static uint32_t change_kept(void *w, const struct rf_ctl_request *q, uint32_t volume,
			    const void *data, size_t bytes, char text[RF_CTL_TEXT_BYTES])
{
	(void)w;
	(void)volume;
	world.changes++;
	world.verb = q->verb;
	world.change_bytes = bytes;
	world.change_first = bytes ? *(const uint8_t *)data : 0;
	strcpy(text, "said at once");
	return world.change_says;
}

static int reload(void *w)
{
	(void)w;
	return world.refuse;
}

static void metrics(void *w, rf_control_row row, void *client)
{
	struct rf_ctl_metric m = {.h.kind = RF_CTL_ROW_METRIC, .metric = RF_METRIC_EPOCH};

	(void)w;
	for (m.value = 7; m.value < 9; m.value++)
		if (!row(client, &m, sizeof(m)))
			return;
}

const struct rf_control_ops control_ops = {NULL,      find,        name,   now,
					   heir,      status,      admin,  quiet,
					   read_kept, change_kept, reload, metrics};

int control_setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.role[0] = world.role[1] = RF_ROLE_FOLLOWER;
	snprintf(control_dir, sizeof(control_dir), "/tmp/rf-control-XXXXXX");
	if (!mkdtemp(control_dir))
		return -1;
	snprintf(control_path, sizeof(control_path), "%s/run/sock", control_dir);
	return rf_control_open(&control, control_path, (gid_t)-1, &control_ops, control_err,
			       sizeof(control_err));
}

int control_teardown(void **state)
{
	char run[96];

	(void)state;
	rf_control_close(control);
	control = NULL;
	snprintf(run, sizeof(run), "%s/run", control_dir);
	return rmdir(run) || rmdir(control_dir);
}

/* ---- a client ---- */

int control_dial(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strcpy(to.sun_path, control_path);
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
unsigned control_next(int fd)
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

struct rf_ctl_request control_request(uint32_t verb, const char *volume)
{
	struct rf_ctl_request q = {
		.magic = RF_CTL_MAGIC, .version = RF_CTL_VERSION, .verb = (uint16_t)verb};

	strcpy(q.volume, volume);
	return q;
}

void control_ask(int fd, const struct rf_ctl_request *q)
{
	assert_int_equal(send(fd, q, sizeof(*q), 0), sizeof(*q));
}

unsigned control_code_of(int fd, uint32_t verb, const char *volume)
{
	struct rf_ctl_request q = control_request(verb, volume);

	control_ask(fd, &q);
	assert_int_equal(control_next(fd), RF_CTL_DONE);
	return got.done.code;
}

void control_expect_nothing(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&(struct pollfd){.fd = rf_control_fd(control), .events = POLLIN}, 1, 0) > 0)
		rf_control_ready(control);
	assert_int_equal(poll(&p, 1, 0), 0);
}
