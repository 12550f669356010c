/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence-fencer DRIVER KEY=VALUE…
 * ringfence-fencer --attach|--detach|--examine DRIVER KEY=VALUE…
 *
 * One per volume, started with the daemon, speaks fence.h on descriptor 3.
 * Requests are served in order; those that came while one was being served
 * wait in a short queue, so that a driver can learn of a REVOKE behind it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chain.h"
#include "driver.h"
#include "ringfence/control.h"

#define QUEUE_MAX 32u

static const struct rf_driver *const drivers[] = {
	&rf_driver_none,
	&rf_driver_gate,
	&rf_driver_target,
	&rf_driver_reservation,
};

static struct {
	struct rf_fence_request request[QUEUE_MAX];
	unsigned count;
	bool ended; /* no daemon any more */
} queue;

/* ---- the socket ---- */

static bool request_good(const struct rf_fence_request *r, ssize_t bytes)
{
	return bytes == (ssize_t)sizeof(*r) && r->magic == RF_FENCE_MAGIC &&
	       r->verb >= RF_FENCE_GRANT && r->verb <= RF_FENCE_VERB_LAST;
}

/* One packet into the queue. false: none was there, or no room. */
static bool receive(int flags)
{
	struct rf_fence_request r;
	ssize_t n;

	if (queue.ended || queue.count == QUEUE_MAX)
		return false;
	n = recv(RF_FENCE_FD, &r, sizeof(r), flags | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return false;
	if (n <= 0) {
		queue.ended = true;
		return false;
	}
	if (request_good(&r, n))
		queue.request[queue.count++] = r;
	else
		fprintf(stderr,
			"ringfence-fencer: packet of %zd bytes is no request; "
			"daemon and fencer of different builds?\n",
			n);
	return true;
}

bool rf_fencer_urgent(void)
{
	unsigned i;

	while (receive(MSG_DONTWAIT))
		;
	for (i = 0; i < queue.count; i++)
		if (queue.request[i].verb == RF_FENCE_REVOKE)
			return true;
	return queue.ended;
}

static void send_reply(const struct rf_fence_reply *reply)
{
	ssize_t n;

	do
		n = send(RF_FENCE_FD, reply, sizeof(*reply), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		queue.ended = true;
}

/* ---- serving ---- */

static struct rf_fence_reply reply_begin(const struct rf_driver *d)
{
	struct rf_fence_reply r;

	memset(&r, 0, sizeof(r));
	r.magic = RF_FENCE_MAGIC;
	r.can = d->can;
	snprintf(r.driver, sizeof(r.driver), "%s", d->name);
	return r;
}

static void say_hello(const struct rf_driver *d, uint32_t can, int error, const char *text)
{
	struct rf_fence_reply r = reply_begin(d);

	r.id = RF_FENCE_HELLO_ID;
	r.can = can;
	r.result = error ? RF_FENCE_FAILED : RF_FENCE_OK;
	r.error = -error;
	rf_reply_text(&r, "%s", text);
	send_reply(&r);
}

/* The enforcement point may have shut by itself: the daemon must hear of it. */
static void tell_event(const struct rf_driver *d, void *state)
{
	struct rf_fence_reply r = reply_begin(d);

	r.id = RF_FENCE_SHUT_ID;
	if (d->event(state, &r))
		send_reply(&r);
}

static void wait_input(const struct rf_driver *d, void *state)
{
	struct pollfd p[2] = {{.fd = RF_FENCE_FD, .events = POLLIN},
			      {.fd = d->event_fd ? d->event_fd(state) : -1, .events = POLLIN}};

	if (poll(p, 2, -1) > 0 && p[1].revents)
		tell_event(d, state);
	receive(MSG_DONTWAIT);
}

static bool next_request(const struct rf_driver *d, void *state, struct rf_fence_request *r)
{
	while (!queue.count && !queue.ended)
		wait_input(d, state);
	if (!queue.count)
		return false;
	*r = queue.request[0];
	queue.count--;
	memmove(queue.request, queue.request + 1, queue.count * sizeof(*r));
	return true;
}

static void serve(const struct rf_driver *d, void *state,
		  const struct rf_fence_request *request)
{
	struct rf_fence_reply r = reply_begin(d);

	r.verb = request->verb;
	r.id = request->id;
	r.epoch = request->epoch;
	r.result = RF_FENCE_FAILED;
	d->serve(state, request, &r);
	send_reply(&r);
}

/* The device may offer less than the driver could use: say so once it is known. */
static void begin(const struct rf_driver *d, void *state)
{
	char text[RF_FENCE_TEXT_BYTES] = "";
	uint32_t can;

	if (d->begin)
		d->begin(state);
	can = d->able ? d->able(state, text, sizeof(text)) : d->can;
	if (can != d->can)
		say_hello(d, can, can ? 0 : -EOPNOTSUPP, text);
}

static int run(const struct rf_driver *d, char *const *params)
{
	struct rf_fence_request request;
	char err[RF_FENCE_TEXT_BYTES] = "";
	void *state = NULL;
	int rc = d->start(&state, params, err, sizeof(err));

	say_hello(d, d->can, rc, err);
	if (rc) {
		fprintf(stderr, "ringfence-fencer: %s\n", err);
		return 1;
	}
	begin(d, state);
	while (next_request(d, state, &request))
		serve(d, state, &request);
	d->stop(state);
	return 0;
}

/* ---- start ---- */

static void usage(FILE *f)
{
	unsigned i;

	fprintf(f,
		"usage: ringfence-fencer [--attach | --detach | --examine] DRIVER "
		"[KEY=VALUE]...\n"
		"\n"
		"Started by ringfenced, one for each volume; not for people.\n"
		"Descriptor %d must be its socket, unless an option says otherwise.\n"
		"\n"
		"drivers:\n",
		RF_FENCE_FD);
	for (i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		fputs(drivers[i]->help, f);
	fputs("  chain                several of these in the order tried\n"
	      "    driver=NAME        and its parameters, for each\n",
	      f);
	fputs("\noptions:\n  --attach             make the volume's device, say how it went, "
	      "end\n"
	      "  --detach             take it away (driver gate: name= only)\n"
	      "  --examine            try what the volume's device really does (driver "
	      "reservation:\n"
	      "                       device=, try=no|idle|always)\n"
	      "  --help               this text\n"
	      "  --version            version\n",
	      f);
}

static const struct rf_driver *find_driver(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		if (!strcmp(drivers[i]->name, name))
			return drivers[i];
	return NULL;
}

static bool socket_there(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return !getsockopt(RF_FENCE_FD, SOL_SOCKET, SO_TYPE, &type, &len) &&
	       type == SOCK_SEQPACKET;
}

/* The end of descriptor 3 ends a fencer, nothing else: a signal to the whole
 * group (Ctrl-C, a service manager) must not take it away from a daemon that
 * still has something to revoke. */
static void set_signals(void)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &ignored, NULL);
	sigaction(SIGINT, &ignored, NULL);
	sigaction(SIGHUP, &ignored, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
}

/* ---- by hand: ringfence attach, detach, doctor ---- */

static int exit_code(int r)
{
	switch (-r) {
	case 0:
		return RF_EXIT_YES;
	case EBUSY:
		return RF_EXIT_NO;
	case EACCES:
	case EPERM:
		return RF_EXIT_PERMISSION;
	case EEXIST:
		return RF_EXIT_UNSAFE;
	case EINVAL:
		return RF_EXIT_CONFIG;
	default:
		return RF_EXIT_IO;
	}
}

typedef int (*order)(char *const *params, struct rf_fence_reply *reply);

static order attach_of(const struct rf_driver *d)
{
	return d->attach;
}

static order detach_of(const struct rf_driver *d)
{
	return d->detach;
}

static order examine_of(const struct rf_driver *d)
{
	return d->examine;
}

static const struct by_hand {
	const char *option;
	order (*of)(const struct rf_driver *d);
	const char *lacks;
} orders[] = {
	{"--attach", attach_of, "makes no device"},
	{"--detach", detach_of, "makes no device"},
	{"--examine", examine_of, "has nothing to try"},
};

static const struct by_hand *find_order(int argc, char **argv)
{
	for (unsigned i = 0; argc > 2 && i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(argv[1], orders[i].option))
			return &orders[i];
	return NULL;
}

static int by_hand(const struct rf_driver *d, const struct by_hand *what, char *const *params)
{
	struct rf_fence_reply r = reply_begin(d);
	int rc;

	if (!what->of(d)) {
		fprintf(stderr, "ringfence-fencer: driver %s %s\n", d->name, what->lacks);
		return RF_EXIT_CONFIG;
	}
	set_signals(); /* begun is ended: half of it would have to be undone by hand */
	rc = what->of(d)(params, &r);
	if (*r.text)
		fprintf(rc ? stderr : stdout, "%s\n", r.text);
	return exit_code(rc);
}

int main(int argc, char **argv)
{
	const struct by_hand *what = find_order(argc, argv);
	const struct rf_driver *d;
	bool chain;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("ringfence-fencer " RF_VERSION);
		return 0;
	}
	argv += what != NULL;
	argc -= what != NULL;
	chain = argc >= 2 && !strcmp(argv[1], "chain");
	d = argc >= 2 ? find_driver(argv[1]) : NULL;
	if (!d && !chain) {
		usage(stderr);
		return 2;
	}
	if (what && d)
		return by_hand(d, what, argv + 2);
	if (!socket_there()) {
		fprintf(stderr,
			"ringfence-fencer: descriptor %d is no SOCK_SEQPACKET socket; "
			"ringfenced starts this program, not people\n",
			RF_FENCE_FD);
		return 2;
	}
	set_signals();
	return chain ? rf_chain_run(argv + 2) : run(d, argv + 2);
}
