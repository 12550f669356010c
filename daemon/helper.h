/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs and processes that help the daemon. What can block (opening a device, reading
 * a file, asking a name service) is done by a process of its own, forked at the start:
 * packets go over a SOCK_SEQPACKET pair, and it dies with the daemon.
 */
#ifndef RF_HELPER_H
#define RF_HELPER_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Where a program of ours lies: beside the running one (a build tree), or in libexec;
 * else its bare name. The result is good until the next call. */
const char *rf_helper_path(const char *name);

/* 0 in the helper, its pid in the daemon, or -errno; *fd is the end of the pair. The
 * helper has no other descriptor beyond the standard ones. */
pid_t rf_helper_fork(const char *name, int *fd);
/* Does not wait for it: it may hang. fd may be -1. */
void rf_helper_end(pid_t pid, int fd);

/* A descriptor that travels with a message. */
union rf_helper_fd {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};
void rf_helper_put_fd(struct msghdr *message, union rf_helper_fd *room, int fd);
/* Without waiting: recv()'s result, and the descriptor that came along, or -1. */
ssize_t rf_helper_receive(int socket, void *packet, size_t bytes, int *fd);

#endif
