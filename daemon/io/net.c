/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams, see net.h. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"

#include "ringfence/limits.h"

#define SENDS 96u /* datagrams under way */
#define CONTROL_BYTES 64u

struct out {
	struct rf_net *net;
	struct rf_op op;
	bool used;
	struct msghdr msg;
	struct iovec iov;
	union rf_net_addr to;
	uint8_t control[CONTROL_BYTES];
	uint8_t data[RF_DATAGRAM_BYTES];
};

struct rf_net {
	struct rf_loop *loop;
	struct rf_net_config config;
	struct rf_net_ops ops;
	int fd4, fd6, watch_fd; /* -1 = not used */
	struct rf_op watch_op;
	unsigned index[RF_NET_INTERFACES_MAX]; /* interface numbers, 0 = missing */
	bool joined[RF_NET_INTERFACES_MAX];
	struct rf_net_counts counts;
	struct out out[SENDS];
};

static void say(struct rf_net *n, bool warning, const char *format, const char *a,
		const char *b)
{
	char line[200];

	snprintf(line, sizeof(line), format, a, b);
	n->ops.said(n->ops.owner, warning, line);
}

/* ---- sending ---- */

static void sent(struct rf_op *op, int res, bool more)
{
	struct out *o = op->owner;

	(void)more;
	o->used = false;
	if (res < 0)
		o->net->counts.failed++;
	else
		o->net->counts.sent++;
}

/* Which interface a multicast datagram leaves by. */
static void set_interface(struct out *o, unsigned index)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)o->control;

	memset(o->control, 0, sizeof(o->control));
	o->msg.msg_control = o->control;
	if (o->to.sa.sa_family == AF_INET) {
		struct in_pktinfo info = {.ipi_ifindex = (int)index};

		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		o->msg.msg_controllen = CMSG_SPACE(sizeof(info));
	} else {
		struct in6_pktinfo info = {.ipi6_ifindex = index};

		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		o->msg.msg_controllen = CMSG_SPACE(sizeof(info));
	}
}

static void send_to(struct rf_net *n, const union rf_net_addr *to, unsigned index,
		    const uint8_t *data, size_t len)
{
	int fd = to->sa.sa_family == AF_INET ? n->fd4 : n->fd6;
	struct out *o = NULL;

	for (uint32_t i = 0; i < SENDS && !o; i++)
		if (!n->out[i].used)
			o = &n->out[i];
	if (!o || fd < 0 || len > sizeof(o->data)) {
		n->counts.dropped++;
		return;
	}
	o->used = true;
	o->to = *to;
	memcpy(o->data, data, len);
	o->iov = (struct iovec){o->data, len};
	o->msg = (struct msghdr){.msg_name = &o->to,
				 .msg_namelen = to->sa.sa_family == AF_INET ? sizeof(to->in)
									    : sizeof(to->in6),
				 .msg_iov = &o->iov,
				 .msg_iovlen = 1};
	if (index)
		set_interface(o, index);
	rf_loop_sendmsg(n->loop, &o->op, fd, &o->msg);
}

void rf_net_send(struct rf_net *n, const uint8_t *data, size_t len)
{
	const struct rf_net_config *c = &n->config;

	for (uint32_t g = 0; g < c->groups; g++) {
		if (!c->interfaces)
			send_to(n, &c->group[g], 0, data, len);
		for (uint32_t i = 0; i < c->interfaces; i++)
			if (n->index[i])
				send_to(n, &c->group[g], n->index[i], data, len);
	}
	for (uint32_t p = 0; p < c->peers; p++)
		send_to(n, &c->peer[p], 0, data, len);
}

/* ---- groups ---- */

static int membership(struct rf_net *n, const union rf_net_addr *group, unsigned index,
		      bool join)
{
	if (group->sa.sa_family == AF_INET) {
		struct ip_mreqn m = {.imr_multiaddr = group->in.sin_addr,
				     .imr_ifindex = (int)index};

		return setsockopt(n->fd4, IPPROTO_IP,
				  join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &m, sizeof(m));
	}
	struct ipv6_mreq m = {.ipv6mr_multiaddr = group->in6.sin6_addr,
			      .ipv6mr_interface = index};

	return setsockopt(n->fd6, IPPROTO_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &m,
			  sizeof(m));
}

/* Leave and join: the kernel sends the membership report again, and a switch that
 * forgot us while the link was down learns of us. */
static bool join_on(struct rf_net *n, unsigned index)
{
	bool all = true;

	for (uint32_t g = 0; g < n->config.groups; g++) {
		membership(n, &n->config.group[g], index, false);
		all &= membership(n, &n->config.group[g], index, true) == 0 ||
		       errno == EADDRINUSE;
	}
	return all;
}

static void join_all(struct rf_net *n)
{
	if (!n->config.interfaces && !join_on(n, 0))
		say(n, true, "multicast group cannot be joined: %s%s", strerror(errno), "");
	for (uint32_t i = 0; i < n->config.interfaces; i++) {
		const char *name = n->config.interface[i];
		bool was = n->joined[i];

		n->index[i] = if_nametoindex(name);
		n->joined[i] = n->index[i] && join_on(n, n->index[i]);
		if (n->joined[i] && !was)
			say(n, false, "multicast joined on %s%s", name, "");
		else if (!n->index[i])
			say(n, true, "interface %s is missing: joined when it appears%s", name,
			    "");
		else if (!n->joined[i] && was)
			say(n, true, "multicast on %s cannot be joined: %s", name,
			    strerror(errno));
	}
}

/* ---- interfaces that come and go ---- */

static void watched(struct rf_op *op, int res, bool more)
{
	struct rf_net *n = op->owner;
	char buffer[8192];

	while (recv(n->watch_fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		;
	if (res >= 0)
		join_all(n);
	if (!more)
		rf_loop_poll(n->loop, &n->watch_op, n->watch_fd);
}

static void watch_interfaces(struct rf_net *n)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK,
				.nl_groups =
					RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};

	n->watch_fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (n->watch_fd < 0 || bind(n->watch_fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		say(n, true,
		    "interfaces cannot be watched (%s): a group lost with its "
		    "interface is not joined again%s",
		    strerror(errno), "");
		return;
	}
	n->watch_op = (struct rf_op){.done = watched, .owner = n};
	rf_loop_poll(n->loop, &n->watch_op, n->watch_fd);
}

/* ---- sockets ---- */

static int open_socket(const struct rf_net_config *c, int family)
{
	union rf_net_addr any = {0};
	int one = 1, hops = c->ttl, fd;
	socklen_t len = family == AF_INET ? sizeof(any.in) : sizeof(any.in6);

	fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	any.sa.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		any.in.sin_port = htons(c->port);
	else
		any.in6.sin6_port = htons(c->port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET) {
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops));
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &(int){0}, sizeof(int));
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	}
	if (bind(fd, &any.sa, len) != 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static bool wanted(const struct rf_net_config *c, int family)
{
	for (uint32_t g = 0; g < c->groups; g++)
		if (c->group[g].sa.sa_family == family)
			return true;
	for (uint32_t p = 0; p < c->peers; p++)
		if (c->peer[p].sa.sa_family == family)
			return true;
	return false;
}

static int open_family(struct rf_net *n, int family, int *fd, char *err, size_t err_bytes)
{
	*fd = -1;
	if (!wanted(&n->config, family))
		return 0;
	*fd = open_socket(&n->config, family);
	if (*fd >= 0)
		return 0;
	snprintf(err, err_bytes, "UDP port %u on %s: %s (is another ringfenced running?)",
		 n->config.port, family == AF_INET ? "IPv4" : "IPv6", strerror(-*fd));
	return *fd;
}

int rf_net_open(struct rf_net **net, struct rf_loop *loop, const struct rf_net_config *c,
		const struct rf_net_ops *ops, char *err, size_t err_bytes)
{
	struct rf_net *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return -ENOMEM;
	n->loop = loop;
	n->config = *c;
	n->ops = *ops;
	for (uint32_t i = 0; i < SENDS; i++) {
		n->out[i].net = n;
		n->out[i].op = (struct rf_op){.done = sent, .owner = &n->out[i]};
	}
	rc = open_family(n, AF_INET, &n->fd4, err, err_bytes);
	if (!rc)
		rc = open_family(n, AF_INET6, &n->fd6, err, err_bytes);
	if (rc) {
		free(n);
		return rc;
	}
	join_all(n);
	watch_interfaces(n);
	if (n->fd4 >= 0)
		rc = rf_loop_receive(loop, n->fd4, ops->got, ops->owner);
	if (!rc && n->fd6 >= 0)
		rc = rf_loop_receive(loop, n->fd6, ops->got, ops->owner);
	*net = n;
	return rc;
}

void rf_net_counts(const struct rf_net *n, struct rf_net_counts *out)
{
	*out = n->counts;
}
