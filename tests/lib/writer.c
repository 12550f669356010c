/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-writer: an application under leadership, and then the worst kind of it.
 *
 * It asks its node's daemon (RUN) to be told when the node leads. Then it opens
 * an outlet for that epoch (outlet.h) and writes stamped blocks as fast as it may.
 * When the leadership ends it says so to the daemon (QUIET), as a good application
 * does; with --stale it goes on all the same: on what it has open, and, where that
 * is possible, by opening it again with the old name, as a process does that was
 * stopped and knows of nothing. Everything is noted in a log for rf-check.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "outlet.h"
#include "ringfence/control.h"

#define RETRY_MS 5

struct work { /* of one epoch; of an ended one it is kept to try on */
	struct outlet *outlet;
	uint64_t epoch, incarnation, seq;
};

static struct {
	const char *socket, *volume, *to, *key_file, *log;
	uint64_t blocks, pause_us;
	bool stale;
	uint8_t area[RF_UUID_BYTES];
	uint32_t volume_number, node;
	int control, log_fd;
	struct work now, old;
	uint8_t *block;
} w;

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "rf-writer: %s: %s\n", what, why);
	exit(1);
}

static void note(const struct entry *e)
{
	if (write(w.log_fd, e, sizeof(*e)) != sizeof(*e))
		die(w.log, strerror(errno));
}

/* ---- control socket ---- */

static bool ask(uint16_t verb, uint64_t epoch)
{
	struct rf_ctl_request r = {
		.magic = RF_CTL_MAGIC, .version = RF_CTL_VERSION, .verb = verb, .epoch = epoch};

	snprintf(r.volume, sizeof(r.volume), "%s", w.volume);
	return send(w.control, &r, sizeof(r), MSG_NOSIGNAL) == (ssize_t)sizeof(r);
}

static int dial(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", w.socket);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Node, area and number of the volume stand in the status rows. */
static bool learn(void)
{
	union {
		struct rf_ctl_head h;
		struct rf_ctl_area area;
		struct rf_ctl_volume volume;
		uint8_t bytes[4096];
	} u;
	struct rf_ctl_area areas[RF_AREAS_MAX] = {0};
	uint32_t n = 0;
	bool found = false;

	if (!ask(RF_CTL_STATUS, 0))
		return false;
	while (recv(w.control, &u, sizeof(u), 0) > 0 && u.h.kind != RF_CTL_DONE) {
		if (u.h.kind == RF_CTL_ROW_AREA && n < RF_AREAS_MAX)
			areas[n++] = u.area;
		if (u.h.kind != RF_CTL_ROW_VOLUME || strcmp(u.volume.name, w.volume) != 0 ||
		    u.volume.area >= n)
			continue;
		memcpy(w.area, areas[u.volume.area].area_uuid, RF_UUID_BYTES);
		w.node = areas[u.volume.area].node;
		w.volume_number = u.volume.volume;
		found = true;
	}
	return found;
}

static void attach(void)
{
	while (!stop) {
		w.control = dial();
		if (w.control >= 0 && learn() && ask(RF_CTL_RUN, 0))
			return;
		if (w.control >= 0)
			close(w.control);
		w.control = -1;
		poll(NULL, 0, RETRY_MS);
		return;
	}
}

/* ---- writing ---- */

static struct outlet *open_for(const struct work *c)
{
	struct outlet_spec spec = {.to = w.to,
				   .key_file = w.key_file,
				   .conn = {.kind = RF_CONN_DATA,
					    .volume = w.volume_number,
					    .node = w.node,
					    .incarnation = c->incarnation,
					    .epoch = c->epoch}};

	memcpy(spec.conn.area, w.area, RF_UUID_BYTES);
	return outlet_open(&spec);
}

/* One stamped block. */
static enum outcome write_block(struct work *c)
{
	struct entry e = {.begun_ns = clock_ns(),
			  .epoch = c->epoch,
			  .seq = ++c->seq,
			  .offset = c->seq % w.blocks * BLOCK_BYTES,
			  .node = w.node,
			  .outcome = UNKNOWN};
	struct stamp *s = (struct stamp *)w.block;

	*s = (struct stamp){.magic = STAMP_MAGIC,
			    .epoch = c->epoch,
			    .incarnation = c->incarnation,
			    .seq = e.seq,
			    .offset = e.offset,
			    .node = w.node};
	s->crc = stamp_crc(s);
	note(&e);
	e.outcome = outlet_write(c->outlet, w.block, e.offset);
	e.ended_ns = clock_ns();
	note(&e);
	return e.outcome;
}

static void turned_away(const struct work *c)
{
	struct entry e = {.begun_ns = clock_ns(),
			  .epoch = c->epoch,
			  .node = w.node,
			  .outcome = TURNED_AWAY};

	e.ended_ns = e.begun_ns;
	note(&e);
}

static void hang_up(struct work *c)
{
	if (c->outlet)
		outlet_close(c->outlet);
	c->outlet = NULL;
}

/* At a gate an error may only mean that the write was late: tries on until refused. */
static bool gives_up(enum outcome o)
{
	return o == REFUSED || (o == UNKNOWN && outlet_lets_return);
}

/* The stale process: tries where it was connected, then tries to come back. */
static void try_stale(void)
{
	struct work *c = &w.old;

	if (!c->outlet && outlet_lets_return) {
		c->outlet = open_for(c);
		if (!c->outlet)
			turned_away(c);
	} else if (c->outlet && gives_up(write_block(c))) {
		hang_up(c);
	}
}

/* ---- events ---- */

static void begin(const struct rf_ctl_event *ev)
{
	hang_up(&w.now);
	w.now = (struct work){.epoch = ev->epoch, .incarnation = ev->incarnation};
	w.now.outlet = open_for(&w.now);
}

static void end(void)
{
	if (w.stale && w.now.epoch) {
		hang_up(&w.old);
		w.old = w.now;
		w.now = (struct work){0};
	}
	hang_up(&w.now);
	w.now.epoch = 0;
}

static void lost_daemon(void)
{
	close(w.control);
	w.control = -1;
	end(); /* a lost daemon is a lost lease */
}

static void hear(int timeout_ms)
{
	struct pollfd p = {.fd = w.control, .events = POLLIN};
	union {
		struct rf_ctl_head h;
		struct rf_ctl_event ev;
		uint8_t bytes[4096];
	} u;

	if (w.control < 0) {
		attach();
		return;
	}
	if (poll(&p, 1, timeout_ms) <= 0)
		return;
	if (recv(w.control, &u, sizeof(u), 0) <= 0) {
		lost_daemon();
	} else if (u.h.kind == RF_CTL_EVENT && u.ev.event == RF_CTL_EV_BEGIN) {
		begin(&u.ev);
	} else if (u.h.kind == RF_CTL_EVENT && u.ev.event == RF_CTL_EV_END) {
		end();
		ask(RF_CTL_QUIET, u.ev.epoch);
	}
}

static void work(void)
{
	if (w.now.epoch && !w.now.outlet)
		w.now.outlet = open_for(&w.now);
	if (w.now.outlet) {
		enum outcome o = write_block(&w.now);

		if (outlet_lets_return && (o == UNKNOWN || (o == REFUSED && !w.stale)))
			hang_up(&w.now);
		/* refused while the daemon still says "leader": superseded, it will hear */
	}
	if (w.stale)
		try_stale();
}

static void usage(int code)
{
	fprintf(code ? stderr : stdout,
		"rf-writer --socket PATH --volume NAME --to URI-OR-GATE --log PATH\n"
		"          [--key-file PATH] [--blocks N] [--pause-us N] [--stale]\n"
		"Writes stamped blocks while its node leads; see tests/lib/writer.c.\n");
	exit(code);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"socket", 1, NULL, 's'},   {"volume", 1, NULL, 'v'}, {"to", 1, NULL, 't'},
		{"key-file", 1, NULL, 'k'}, {"log", 1, NULL, 'l'},    {"blocks", 1, NULL, 'b'},
		{"pause-us", 1, NULL, 'p'}, {"stale", 0, NULL, 'S'},  {"help", 0, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int o;

	w.blocks = 64;
	w.pause_us = 2000;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 's':
			w.socket = optarg;
			break;
		case 'v':
			w.volume = optarg;
			break;
		case 't':
			w.to = optarg;
			break;
		case 'k':
			w.key_file = optarg;
			break;
		case 'l':
			w.log = optarg;
			break;
		case 'b':
			w.blocks = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			w.pause_us = strtoull(optarg, NULL, 10);
			break;
		case 'S':
			w.stale = true;
			break;
		case 'h':
			usage(0);
			break;
		default:
			usage(64);
		}
	}
	if (!w.socket || !w.volume || !w.to || !w.log || !w.blocks)
		usage(64);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};

	parse(argc, argv);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	w.log_fd = open(w.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	w.block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	if (w.log_fd < 0 || !w.block)
		die(w.log, strerror(errno));
	memset(w.block, 0, BLOCK_BYTES);
	w.control = -1;
	while (!stop) {
		bool busy = w.now.epoch || (w.stale && w.old.epoch);

		hear(busy ? 0 : 20);
		work();
		if (busy && w.pause_us)
			usleep((useconds_t)w.pause_us);
	}
	return 0;
}
