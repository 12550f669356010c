/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams: UDP multicast over IPv4 and IPv6 on several interfaces, unicast peers
 * instead or besides. Knows bytes only; sealing is seal.h's business.
 *
 * Every send goes everywhere: to each group on each interface and to each peer; whom
 * it is meant for stands inside the seal. The network is a hint, so nothing is fatal
 * after the start: errors are counted and said once, groups are joined again when an
 * interface appears or comes back. Own datagrams come back too: the seal knows them.
 */
#ifndef RF_IO_NET_H
#define RF_IO_NET_H

#include <netinet/in.h>
#include <stdbool.h>

#include "loop.h"

#define RF_NET_GROUPS_MAX 2u
#define RF_NET_INTERFACES_MAX 8u
#define RF_NET_PEERS_MAX 128u

union rf_net_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct rf_net_config {
	uint32_t groups, interfaces, peers;
	union rf_net_addr group[RF_NET_GROUPS_MAX]; /* at most one a family; port set */
	char interface[RF_NET_INTERFACES_MAX][16];  /* none: what the kernel routes to */
	union rf_net_addr peer[RF_NET_PEERS_MAX];   /* port set */
	uint32_t peers_max;                         /* rf_net_peers() may give so many */
	uint16_t port;                              /* host byte order */
	uint8_t ttl;
};

struct rf_net;

/* `got` is called for each datagram; `said` with a line when something changes that
 * an operator should know (an interface is missing, back, cannot be joined). */
struct rf_net_ops {
	void *owner;
	void (*got)(void *owner, const uint8_t *data, size_t len);
	void (*said)(void *owner, bool warning, const char *line);
};

/* 0, or -errno and one line in err. An interface that is missing is said and waited
 * for. Allocates once. */
int rf_net_open(struct rf_net **net, struct rf_loop *loop, const struct rf_net_config *config,
		const struct rf_net_ops *ops, char *err, size_t err_bytes);
/* Only when the loop is closed already. */
void rf_net_close(struct rf_net *net);
/* Other peers, while it runs. can: there is room for so many, and a socket of each family
 * was opened with this configuration. */
bool rf_net_can(const struct rf_net_config *config, const union rf_net_addr *peer,
		uint32_t peers);
void rf_net_peers(struct rf_net *net, const union rf_net_addr *peer, uint32_t peers);
/* Copies the datagram. */
void rf_net_send(struct rf_net *net, const uint8_t *data, size_t len);

struct rf_net_counts {
	uint64_t sent, failed, dropped; /* dropped: no room, too many under way */
};
void rf_net_counts(const struct rf_net *net, struct rf_net_counts *out);

#endif
