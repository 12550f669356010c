/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and processes that help the daemon, see helper.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

int rf_helper_start(struct rf_helper *h, const char *name, void (*work)(void *arg, int socket),
		    void *arg)
{
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	h->pid = fork();
	if (h->pid == 0) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pair[1], 3);
		close_range(4, ~0u, 0);
		work(arg, 3);
		_exit(0);
	}
	rc = h->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc)
		close(pair[0]);
	h->fd = rc ? -1 : pair[0];
	return rc;
}

void rf_helper_died(struct rf_helper *h)
{
	close(h->fd);
	h->fd = -1;
}

void rf_helper_end(struct rf_helper *h)
{
	if (h->fd >= 0) {
		shutdown(h->fd, SHUT_RDWR);
		close(h->fd);
	}
	if (h->pid > 0) { /* anything else would mean many */
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, WNOHANG);
	}
}

/* ---- packets ---- */

union control {
	char room[CMSG_SPACE(RF_HELPER_FDS * sizeof(int))];
	struct cmsghdr align;
};

int rf_helper_send(int socket, const void *packet, size_t bytes, const int *fd, unsigned fds)
{
	struct iovec iov = {(void *)packet, bytes};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c = {.room = {0}};

	if (fds) {
		m.msg_control = c.room;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c.align.cmsg_level = SOL_SOCKET;
		c.align.cmsg_type = SCM_RIGHTS;
		c.align.cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(&c.align), fd, fds * sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t rf_helper_receive(const struct rf_helper *helper, void *packet, size_t bytes, int *fd,
			  unsigned fds)
{
	union control c;
	struct iovec iov = {packet, bytes};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = c.room,
			   .msg_controllen = CMSG_SPACE(fds * sizeof(int))};
	ssize_t n = recvmsg(helper->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	for (unsigned i = 0; i < fds; i++)
		fd[i] = -1;
	if (h && h->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	return n;
}
