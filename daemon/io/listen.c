/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The listening end of the control socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/listen.h"

static int complain(char *err, size_t bytes, int error, const char *path, const char *what)
{
	snprintf(err, bytes, "control socket %s: %s: %s", path, what, strerror(error));
	return -error;
}

/* 0: nothing there any more; a live or foreign one is refused. */
static int clear_stale(const struct sockaddr_un *to, char *err, size_t bytes)
{
	struct stat st;
	int fd, r;

	if (lstat(to->sun_path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : complain(err, bytes, errno, to->sun_path, "cannot look at it");
	if (!S_ISSOCK(st.st_mode))
		return complain(err, bytes, EEXIST, to->sun_path, "something else is there");
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return complain(err, bytes, errno, to->sun_path, "socket");
	r = connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 ? errno : 0;
	close(fd);
	if (r != ECONNREFUSED)
		return complain(err, bytes, EADDRINUSE, to->sun_path,
				"another ringfenced answers there");
	if (unlink(to->sun_path) < 0)
		return complain(err, bytes, errno, to->sun_path,
				"cannot replace the stale one");
	return 0;
}

static int make_directory(const char *path, char *err, size_t bytes)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return 0;
	*slash = 0;
	/* whatever the mask: who may open the socket must be able to reach it */
	if (mkdir(dir, 0755) == 0 ? chmod(dir, 0755) < 0 : errno != EEXIST)
		return complain(err, bytes, errno, dir, "cannot make the directory");
	return 0;
}

int rf_listen(const char *path, gid_t gid, char *err, size_t bytes)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int r, fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return complain(err, bytes, ENAMETOOLONG, path, "path");
	strcpy(to.sun_path, path);
	r = make_directory(path, err, bytes);
	if (!r)
		r = clear_stale(&to, err, bytes);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return complain(err, bytes, errno, path, "socket");
	/* Nobody can connect before listen(): the modes are right by then. */
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    chown(path, (uid_t)-1, gid) < 0 || chmod(path, 0660) < 0 || listen(fd, 16) < 0) {
		r = complain(err, bytes, errno, path, "cannot set it up");
		close(fd);
		return r;
	}
	return fd;
}
