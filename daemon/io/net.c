/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams, see net.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "ringfence/limits.h"

#define PACKETS 16u /* datagrams being sent at the same time */
#define SETTLE_NS 100000000ull
#define RETRY_NS 5000000000ull

/* Where a datagram goes. */
struct target {
	union rf_net_addr to;
	int fd;
	int interface;    /* index into config, -1: the routing table's choice */
	bool group;       /* multicast: only while joined */
	unsigned ifindex; /* joined there; 0 = not joined */
	bool joined, failing, missing_said;
	/* names the interface */
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	size_t control_bytes;
};

struct shot {
	struct rf_op op;
	struct packet *packet;
	struct target *target;
	struct msghdr msg;
};

struct packet {
	struct rf_net *net;
	uint32_t in_flight;
	struct iovec iov;
	struct shot *shot; /* one a target */
	uint8_t data[RF_DATAGRAM_BYTES];
};

struct rf_net {
	struct rf_loop *loop;
	struct rf_net_config config;
	struct rf_net_ops ops;
	struct rf_net_counts counts;
	int fd4, fd6, monitor;
	struct rf_op changed;
	struct rf_timer look;
	struct target *target;
	uint32_t targets, groups, room; /* those of groups come first */
	struct shot *shot;
	struct packet packet[PACKETS];
};

/* ---- saying ---- */

__attribute__((format(printf, 3, 4))) static void say(struct rf_net *n, bool warning,
						      const char *format, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	n->ops.said(n->ops.owner, warning, line);
}

static const char *words(const struct rf_net *n, const struct target *t, char *out,
			 size_t bytes)
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool six = t->to.sa.sa_family == AF_INET6;

	inet_ntop(t->to.sa.sa_family,
		  six ? (const void *)&t->to.in6.sin6_addr : (const void *)&t->to.in.sin_addr,
		  host, sizeof(host));
	snprintf(out, bytes, "%s%s%s", host, t->interface >= 0 ? " on " : "",
		 t->interface >= 0 ? n->config.interface[t->interface] : "");
	return out;
}

/* ---- multicast groups ---- */

static int membership(const struct target *t, unsigned ifindex, bool join)
{
	struct group_req r = {.gr_interface = ifindex};
	bool six = t->to.sa.sa_family == AF_INET6;

	memcpy(&r.gr_group, &t->to, six ? sizeof(t->to.in6) : sizeof(t->to.in));
	if (setsockopt(t->fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
		       join ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, &r, sizeof(r)) == 0)
		return 0;
	return errno == EADDRINUSE && join ? 0 : -errno;
}

/* The interface a datagram leaves by travels with it. */
static void set_control(struct target *t)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)t->control;

	memset(t->control, 0, sizeof(t->control));
	t->control_bytes = 0;
	if (!t->ifindex)
		return;
	if (t->to.sa.sa_family == AF_INET6) {
		struct in6_pktinfo info = {.ipi6_ifindex = t->ifindex};

		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		t->control_bytes = CMSG_SPACE(sizeof(info));
	} else {
		struct in_pktinfo info = {.ipi_ifindex = (int)t->ifindex};

		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		t->control_bytes = CMSG_SPACE(sizeof(info));
	}
}

static void lost(struct rf_net *n, struct target *t, int error)
{
	char name[96];

	if (t->ifindex)
		membership(t, t->ifindex, false);
	t->ifindex = 0;
	t->joined = false;
	if (t->missing_said)
		return;
	t->missing_said = true;
	say(n, true, "cannot join %s: %s; tried again when the interface changes",
	    words(n, t, name, sizeof(name)), strerror(-error));
}

/* Join, or find out that nothing changed. */
static bool refresh(struct rf_net *n, struct target *t)
{
	unsigned ifindex = 0;
	char name[96];
	int rc;

	if (t->interface >= 0) {
		ifindex = if_nametoindex(n->config.interface[t->interface]);
		if (!ifindex) {
			lost(n, t, -ENODEV);
			return false;
		}
	}
	if (t->ifindex && t->ifindex != ifindex) /* the name is another device now */
		membership(t, t->ifindex, false);
	rc = membership(t, ifindex, true);
	if (rc < 0) {
		lost(n, t, rc);
		return false;
	}
	t->ifindex = ifindex;
	set_control(t);
	if (!t->joined && t->missing_said)
		say(n, false, "joined %s", words(n, t, name, sizeof(name)));
	t->joined = true;
	t->missing_said = false;
	return true;
}

static void refresh_all(struct rf_net *n)
{
	bool good = true;

	for (uint32_t i = 0; i < n->targets; i++)
		if (n->target[i].group)
			good &= refresh(n, &n->target[i]);
	if (!good)
		rf_loop_timer(n->loop, &n->look, rf_loop_clock_ns() + RETRY_NS);
}

static void look(struct rf_timer *t, uint64_t now_ns)
{
	(void)now_ns;
	refresh_all(t->owner);
}

/* Links and addresses change in bursts: look once they have settled. */
static void changed(struct rf_op *op, int res, bool more)
{
	struct rf_net *n = op->owner;
	uint64_t at = rf_loop_clock_ns() + SETTLE_NS;
	char drain[4096];

	(void)res;
	while (recv(n->monitor, drain, sizeof(drain), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
	if (!n->look.at_ns || n->look.at_ns > at)
		rf_loop_timer(n->loop, &n->look, at);
	if (!more)
		rf_loop_poll(n->loop, &n->changed, n->monitor);
}

static int open_monitor(struct rf_net *n)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK,
				.nl_groups =
					RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};

	n->monitor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (n->monitor < 0 || bind(n->monitor, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	n->changed = (struct rf_op){.done = changed, .owner = n};
	rf_loop_poll(n->loop, &n->changed, n->monitor);
	return 0;
}

/* ---- sending ---- */

static void sent(struct rf_op *op, int res, bool more)
{
	struct shot *s = op->owner;
	struct rf_net *n = s->packet->net;
	struct target *t = s->target;
	char name[96];

	(void)more;
	s->packet->in_flight--;
	if (res >= 0)
		n->counts.sent++;
	else
		n->counts.failed++;
	if (t->failing == (res < 0))
		return;
	t->failing = res < 0;
	words(n, t, name, sizeof(name));
	if (t->failing)
		say(n, true, "sending to %s fails: %s", name, strerror(-res));
	else
		say(n, false, "sending to %s works again", name);
}

void rf_net_send(struct rf_net *n, const uint8_t *data, size_t len)
{
	struct packet *p = n->packet, *end = n->packet + PACKETS;

	while (p < end && p->in_flight)
		p++;
	if (p == end || len > sizeof(p->data)) {
		n->counts.dropped++;
		return;
	}
	memcpy(p->data, data, len);
	p->iov = (struct iovec){p->data, len};
	for (uint32_t i = 0; i < n->targets; i++) {
		struct target *t = &n->target[i];
		struct shot *s = &p->shot[i];

		if (t->group && !t->joined)
			continue;
		s->msg = (struct msghdr){
			.msg_name = &t->to,
			.msg_namelen = t->to.sa.sa_family == AF_INET6 ? sizeof(t->to.in6)
								      : sizeof(t->to.in),
			.msg_iov = &p->iov,
			.msg_iovlen = 1,
			.msg_control = t->control_bytes ? t->control : NULL,
			.msg_controllen = t->control_bytes,
		};
		p->in_flight++;
		rf_loop_sendmsg(n->loop, &s->op, t->fd, &s->msg);
	}
}

void rf_net_counts(const struct rf_net *n, struct rf_net_counts *out)
{
	*out = n->counts;
}

/* ---- opening ---- */

static int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int set_options(int fd, int family, int ttl)
{
	int rc = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (!rc && family == AF_INET)
		rc = set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, ttl);
	if (!rc && family == AF_INET)
		rc = set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	if (!rc && family == AF_INET6)
		rc = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!rc && family == AF_INET6)
		rc = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl);
	if (!rc && family == AF_INET6)
		rc = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
	return rc;
}

static int open_socket(int *fd, int family, const struct rf_net_config *c)
{
	union rf_net_addr any = {.sa.sa_family = (sa_family_t)family};
	int rc;

	*fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	rc = set_options(*fd, family, c->ttl);
	if (rc)
		return rc;
	if (family == AF_INET6)
		any.in6.sin6_port = htons(c->port);
	else
		any.in.sin_port = htons(c->port);
	return bind(*fd, &any.sa, family == AF_INET6 ? sizeof(any.in6) : sizeof(any.in)) < 0
		       ? -errno
		       : 0;
}

static void add_target(struct rf_net *n, const union rf_net_addr *to, bool group, int interface)
{
	n->target[n->targets++] = (struct target){
		.to = *to,
		.group = group,
		.interface = interface,
		.fd = to->sa.sa_family == AF_INET6 ? n->fd6 : n->fd4,
	};
}

static void add_peers(struct rf_net *n, const struct rf_net_config *c)
{
	n->targets = n->groups;
	for (uint32_t i = 0; i < c->peers; i++)
		add_target(n, &c->peer[i], false, -1);
}

static void add_targets(struct rf_net *n, const struct rf_net_config *c)
{
	for (uint32_t g = 0; g < c->groups; g++) {
		for (uint32_t i = 0; i < c->interfaces; i++)
			add_target(n, &c->group[g], true, (int)i);
		if (!c->interfaces)
			add_target(n, &c->group[g], true, -1);
	}
	n->groups = n->targets;
	add_peers(n, c);
}

static void init_packets(struct rf_net *n)
{
	for (uint32_t p = 0; p < PACKETS; p++) {
		struct packet *k = &n->packet[p];

		k->net = n;
		k->shot = n->shot + (size_t)p * n->room;
		for (uint32_t i = 0; i < n->room; i++) {
			struct shot *s = &k->shot[i];

			s->op = (struct rf_op){.done = sent, .owner = s};
			s->packet = k;
			s->target = &n->target[i];
		}
	}
}

static bool has_family(const struct rf_net_config *c, int family)
{
	for (uint32_t i = 0; i < c->groups; i++)
		if (c->group[i].sa.sa_family == family)
			return true;
	for (uint32_t i = 0; i < c->peers; i++)
		if (c->peer[i].sa.sa_family == family)
			return true;
	return false;
}

static int open_sockets(struct rf_net *n, const struct rf_net_config *c, char *err, size_t size)
{
	int rc = 0;

	if (has_family(c, AF_INET))
		rc = open_socket(&n->fd4, AF_INET, c);
	if (!rc && has_family(c, AF_INET6))
		rc = open_socket(&n->fd6, AF_INET6, c);
	if (rc)
		snprintf(err, size, "UDP port %u: %s", c->port, strerror(-rc));
	return rc;
}

static int start(struct rf_net *n)
{
	int rc = open_monitor(n);

	if (!rc && n->fd4 >= 0)
		rc = rf_loop_receive(n->loop, n->fd4, n->ops.got, n->ops.owner);
	if (!rc && n->fd6 >= 0)
		rc = rf_loop_receive(n->loop, n->fd6, n->ops.got, n->ops.owner);
	return rc;
}

int rf_net_open(struct rf_net **net, struct rf_loop *loop, const struct rf_net_config *c,
		const struct rf_net_ops *ops, char *err, size_t size)
{
	uint32_t peers = c->peers > c->peers_max ? c->peers : c->peers_max;
	uint32_t most = c->groups * (c->interfaces ? c->interfaces : 1) + peers;
	struct rf_net *n = calloc(1, sizeof(*n));
	int rc = -ENOMEM;

	if (!n)
		return rc;
	*n = (struct rf_net){.loop = loop, .config = *c, .ops = *ops, .room = most};
	n->fd4 = n->fd6 = n->monitor = -1;
	n->look = (struct rf_timer){.fire = look, .owner = n};
	n->target = calloc(most + 1, sizeof(*n->target));
	n->shot = calloc((size_t)PACKETS * (most + 1), sizeof(*n->shot));
	snprintf(err, size, "out of memory");
	if (n->target && n->shot)
		rc = open_sockets(n, c, err, size);
	if (!rc) {
		add_targets(n, c);
		init_packets(n);
		rc = start(n);
		if (rc)
			snprintf(err, size, "watching the network: %s", strerror(-rc));
	}
	if (rc) {
		rf_net_close(n);
		return rc;
	}
	refresh_all(n);
	*net = n;
	return 0;
}

bool rf_net_can(const struct rf_net_config *c, const union rf_net_addr *peer, uint32_t peers)
{
	bool can = peers <= (c->peers > c->peers_max ? c->peers : c->peers_max);

	for (uint32_t i = 0; i < peers; i++)
		can &= has_family(c, peer[i].sa.sa_family);
	return can;
}

/* What is under way to an old peer may reach the new one in its place: a hint too many,
 * and sealed like all others. */
void rf_net_peers(struct rf_net *n, const union rf_net_addr *peer, uint32_t peers)
{
	memcpy(n->config.peer, peer, peers * sizeof(*peer));
	n->config.peers = peers;
	add_peers(n, &n->config);
}

void rf_net_close(struct rf_net *n)
{
	const int fds[] = {n->fd4, n->fd6, n->monitor};

	for (unsigned i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(n->target);
	free(n->shot);
	free(n);
}
