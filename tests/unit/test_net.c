/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams on a real network: two ends of a veth pair in a namespace of our own, so
 * that an interface can vanish and come back.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include "io/net.h"
#include "io_support.h"

#define PORT 7465

struct heard {
	struct rf_loop *loop;
	struct rf_net *net;
	int count, lines, warnings;
	size_t len;
	char last[8], line[200];
};

static void got(void *owner, const uint8_t *data, size_t len)
{
	struct heard *h = owner;

	h->count++;
	h->len = len;
	memcpy(h->last, data, len < 7 ? len : 7);
}

static void said(void *owner, bool warning, const char *line)
{
	struct heard *h = owner;

	h->lines++;
	h->warnings += warning;
	snprintf(h->line, sizeof(h->line), "%s", line);
}

static void sh(const char *command)
{
	if (system(command) != 0) {
		printf("cannot: %s\n", command);
		exit(77);
	}
}

static void make_namespace(void)
{
	if (unshare(CLONE_NEWNET) != 0) {
		printf("needs root: a network namespace of its own\n");
		exit(77);
	}
	sh("ip link set lo up && ip link add rfa type veth peer name rfb &&"
	   "ip addr add 10.88.0.1/24 dev rfa && ip link set rfa up && ip link set rfb up");
}

static struct rf_net_config config_of(int family, const char *interface)
{
	struct rf_net_config c = {.groups = 1, .port = PORT, .ttl = 1};

	if (family == AF_INET) {
		c.group[0].in.sin_family = AF_INET;
		c.group[0].in.sin_port = htons(PORT);
		inet_pton(AF_INET, "239.255.74.65", &c.group[0].in.sin_addr);
	} else {
		c.group[0].in6.sin6_family = AF_INET6;
		c.group[0].in6.sin6_port = htons(PORT);
		inet_pton(AF_INET6, "ff02::7465", &c.group[0].in6.sin6_addr);
	}
	if (interface) {
		c.interfaces = 1;
		snprintf(c.interface[0], sizeof(c.interface[0]), "%s", interface);
	}
	return c;
}

static void add_peer(struct rf_net_config *c, const char *address, uint16_t port)
{
	union rf_net_addr *a = &c->peer[c->peers++];

	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	inet_pton(AF_INET, address, &a->in.sin_addr);
}

static void open_net(struct heard *h, const struct rf_net_config *c)
{
	struct rf_net_ops ops = {.owner = h, .got = got, .said = said};
	char err[256] = "";

	memset(h, 0, sizeof(*h));
	h->loop = io_loop();
	assert_int_equal(rf_net_open(&h->net, h->loop, c, &ops, err, sizeof(err)), 0);
}

static void close_net(struct heard *h)
{
	rf_loop_close(h->loop);
	rf_net_close(h->net);
}

static void send_text(struct heard *h, const char *text)
{
	rf_net_send(h->net, (const uint8_t *)text, strlen(text));
}

static int wanted;

static bool enough(void *arg)
{
	return ((struct heard *)arg)->count >= wanted;
}

static bool arrives(struct heard *h, int count)
{
	wanted = count;
	return io_run(h->loop, enough, h, LIMIT_NS);
}

/* Own datagrams come back by the group; that is how these tests hear. */
static void multicast_of(int family)
{
	struct rf_net_config c = config_of(family, "rfa");
	struct heard h;

	open_net(&h, &c);
	send_text(&h, "hello");
	assert_true(arrives(&h, 1));
	assert_int_equal(h.len, 5);
	assert_memory_equal(h.last, "hello", 5);
	assert_int_equal(h.warnings, 0);
	close_net(&h);
}

static void a_group_of_ipv4_is_heard(void **state)
{
	(void)state;
	multicast_of(AF_INET);
}

static bool sends_six(void *arg)
{
	struct heard *h = arg;

	if (h->count)
		return true;
	send_text(h, "six"); /* until the address is no longer tentative */
	return false;
}

static void a_group_of_ipv6_is_heard(void **state)
{
	struct rf_net_config c = config_of(AF_INET6, "rfa");
	struct heard h;

	(void)state;
	open_net(&h, &c);
	assert_true(io_run(h.loop, sends_six, &h, LIMIT_NS));
	assert_memory_equal(h.last, "six", 3);
	close_net(&h);
}

static void peers_are_sent_to_as_well(void **state)
{
	struct rf_net_config c = config_of(AF_INET, "rfa");
	struct heard h;

	(void)state;
	add_peer(&c, "127.0.0.1", PORT);
	add_peer(&c, "10.88.0.1", PORT);
	open_net(&h, &c);
	send_text(&h, "hello");
	assert_true(arrives(&h, 3));
	close_net(&h);
}

static bool failed_and_heard(void *arg)
{
	struct heard *h = arg;
	struct rf_net_counts n;

	rf_net_counts(h->net, &n);
	return n.failed >= 1 && h->count >= 1;
}

/* An unreachable peer costs nothing but a count and one line. */
static void an_error_is_counted_and_said_once(void **state)
{
	struct rf_net_config c = config_of(AF_INET, NULL);
	struct rf_net_counts n;
	struct heard h;

	(void)state;
	c.groups = 0;
	add_peer(&c, "203.0.113.9", PORT); /* no route here */
	add_peer(&c, "127.0.0.1", PORT);
	open_net(&h, &c);
	for (int i = 1; i <= 3; i++) {
		send_text(&h, "hello");
		assert_true(arrives(&h, i));
		assert_true(io_run(h.loop, failed_and_heard, &h, LIMIT_NS));
	}
	rf_net_counts(h.net, &n);
	assert_int_equal(n.failed, 3);
	assert_int_equal(n.sent, 3);
	assert_int_equal(h.warnings, 1);
	assert_non_null(strstr(h.line, "203.0.113.9"));
	close_net(&h);
}

static bool said_something(void *arg)
{
	return ((struct heard *)arg)->lines >= wanted;
}

/* CASES: an interface that goes and comes back. */
static void an_interface_that_returns_is_joined_again(void **state)
{
	struct rf_net_config c = config_of(AF_INET, "rfc");
	struct heard h;

	(void)state;
	open_net(&h, &c); /* not there yet */
	assert_int_equal(h.warnings, 1);
	assert_non_null(strstr(h.line, "rfc"));
	send_text(&h, "x");
	for (int round = 0; round < 3; round++) {
		sh("ip link add rfc type veth peer name rfd && ip addr add 10.89.0.1/24 dev rfc"
		   " && ip link set rfc up && ip link set rfd up");
		wanted = 2 + 2 * round;
		assert_true(io_run(h.loop, said_something, &h, LIMIT_NS));
		assert_int_equal(h.warnings, 1 + round);
		send_text(&h, "hello");
		assert_true(arrives(&h, round + 1));
		sh("ip link del rfc");
		wanted = 3 + 2 * round;
		assert_true(io_run(h.loop, said_something, &h, LIMIT_NS));
		assert_int_equal(h.warnings, 2 + round);
	}
	close_net(&h);
}

/* Links of others that come and go must not make us deaf, nor talkative. */
static void other_interfaces_do_not_matter(void **state)
{
	struct rf_net_config c = config_of(AF_INET, "rfa");
	struct heard h;

	(void)state;
	open_net(&h, &c);
	for (int i = 1; i <= 5; i++) {
		sh("ip link add rfx type veth peer name rfy && ip link del rfx");
		send_text(&h, "hello");
		assert_true(arrives(&h, i));
	}
	assert_int_equal(h.lines, 0);
	close_net(&h);
}

static void a_busy_port_is_refused(void **state)
{
	struct rf_net_config c = config_of(AF_INET, "rfa");
	/* not the port of the other tests: the kernel ends a ring in its own time */
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT + 1)};
	struct rf_net_ops ops = {.got = got, .said = said};
	struct rf_loop *l = io_loop();
	struct rf_net *n = NULL;
	char err[256] = "";
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	c.port = PORT + 1;
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(rf_net_open(&n, l, &c, &ops, err, sizeof(err)), -EADDRINUSE);
	assert_non_null(strstr(err, "7466"));
	rf_loop_close(l);
	close(fd);
}

static void more_than_fits_is_dropped_not_waited_for(void **state)
{
	struct rf_net_config c = config_of(AF_INET, "rfa");
	struct rf_net_counts n;
	struct heard h;

	(void)state;
	open_net(&h, &c);
	for (int i = 0; i < 100; i++)
		send_text(&h, "hello");
	rf_net_counts(h.net, &n);
	assert_true(n.dropped > 0 && n.dropped < 100);
	assert_true(arrives(&h, 100 - (int)n.dropped));
	send_text(&h, "again");
	assert_true(arrives(&h, 101 - (int)n.dropped));
	close_net(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_of_ipv4_is_heard),
		cmocka_unit_test(a_group_of_ipv6_is_heard),
		cmocka_unit_test(peers_are_sent_to_as_well),
		cmocka_unit_test(an_error_is_counted_and_said_once),
		cmocka_unit_test(an_interface_that_returns_is_joined_again),
		cmocka_unit_test(other_interfaces_do_not_matter),
		cmocka_unit_test(a_busy_port_is_refused),
		cmocka_unit_test(more_than_fits_is_dropped_not_waited_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	make_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
