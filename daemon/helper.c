/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and processes that help the daemon, see helper.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper.h"

const char *rf_helper_path(const char *name)
{
	static const char *const places[] = {"", "../libexec/ringfence/"};
	static char path[512];
	char self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	for (i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		slash[1] = 0;
		snprintf(path, sizeof(path), "%s%s%.64s", self, places[i], name);
		if (!access(path, X_OK))
			return path;
	}
	return name;
}

pid_t rf_helper_fork(const char *name, int *fd)
{
	int pair[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pair[1], 3);
		close_range(4, ~0u, 0);
		*fd = 3;
		return 0;
	}
	rc = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc) {
		close(pair[0]);
		return rc;
	}
	*fd = pair[0];
	return pid;
}

void rf_helper_end(pid_t pid, int fd)
{
	if (fd >= 0) {
		shutdown(fd, SHUT_RDWR);
		close(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, WNOHANG);
}

void rf_helper_put_fd(struct msghdr *m, union rf_helper_fd *room, int fd)
{
	memset(room, 0, sizeof(*room));
	m->msg_control = room->room;
	m->msg_controllen = sizeof(room->room);
	room->align.cmsg_level = SOL_SOCKET;
	room->align.cmsg_type = SCM_RIGHTS;
	room->align.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&room->align), &fd, sizeof(fd));
}

ssize_t rf_helper_receive(int socket, void *packet, size_t bytes, int *fd)
{
	union rf_helper_fd room;
	struct iovec iov = {packet, bytes};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room.room,
			   .msg_controllen = sizeof(room.room)};
	ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(h), sizeof(*fd));
	return n;
}
