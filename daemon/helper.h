/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs and processes that help the daemon. What can block (opening a device, reading
 * a file, asking a name service) is done by a process of its own, forked at the start:
 * packets go over a SOCK_SEQPACKET pair, and it dies with the daemon.
 */
#ifndef RF_HELPER_H
#define RF_HELPER_H

#include <stddef.h>
#include <sys/types.h>

/* Where a program of ours lies: beside the running one (a build tree), or in libexec;
 * else its bare name. The result is good until the next call. */
const char *rf_helper_path(const char *name);

struct rf_helper {
	pid_t pid;
	int fd; /* -1: it died */
};

/* Forks one that does work(arg, socket) and ends with it; it has no other descriptor
 * beyond the standard ones. 0 or -errno. */
int rf_helper_start(struct rf_helper *h, const char *name, void (*work)(void *arg, int socket),
		    void *arg);
/* It died: it is asked for nothing more. */
void rf_helper_died(struct rf_helper *h);
/* Does not wait for it: it may hang. */
void rf_helper_end(struct rf_helper *h);

#define RF_HELPER_FDS 2u /* descriptors that travel with a packet, at most */

/* From the helper. 0 or -errno; the descriptors stay open here. */
int rf_helper_send(int socket, const void *packet, size_t bytes, const int *fd, unsigned fds);
/* In the daemon, without waiting: recv()'s result, and the descriptors that came along;
 * the rest of fd[] is -1. */
ssize_t rf_helper_receive(const struct rf_helper *h, void *packet, size_t bytes, int *fd,
			  unsigned fds);

#endif
