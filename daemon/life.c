/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mark of a life that has not left yet (life.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "life.h"

static bool mark_path(char path[RF_LIFE_PATH_BYTES], const char *socket,
		      const uint8_t area[RF_UUID_BYTES], uint32_t node)
{
	const char *slash = strrchr(socket, '/');
	int dir = slash ? (int)(slash - socket) : 1;
	char id[2 * RF_UUID_BYTES + 1];
	int n;

	for (unsigned b = 0; b < RF_UUID_BYTES; b++)
		snprintf(id + 2 * b, 3, "%02x", area[b]);
	n = snprintf(path, RF_LIFE_PATH_BYTES, "%.*s/life-%s-%u", dir, slash ? socket : ".", id,
		     node);
	return n > 0 && n < (int)RF_LIFE_PATH_BYTES;
}

/* -EEXIST: the mark is there. The directory is the control socket's, which may be
 * made later than this. */
static int make_mark(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	char dir[RF_LIFE_PATH_BYTES];

	if (fd < 0 && errno == ENOENT) {
		snprintf(dir, sizeof(dir), "%s", path);
		*strrchr(dir, '/') = 0;
		/* whatever the mask: who may open the socket must be able to reach it */
		if (mkdir(dir, 0755) == 0 && chmod(dir, 0755) == 0)
			return make_mark(path);
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool rf_life_begin(char path[RF_LIFE_PATH_BYTES], const char *socket,
		   const uint8_t area[RF_UUID_BYTES], uint32_t node, char *err, size_t err_len)
{
	int rc;

	err[0] = 0;
	if (!mark_path(path, socket, area, node)) {
		snprintf(err, err_len, "the path of the control socket is too long: %s",
			 socket);
		path[0] = 0;
		return true;
	}
	rc = make_mark(path);
	if (rc == 0 || rc == -EEXIST)
		return rc != 0;
	snprintf(err, err_len, "%s cannot be made: %s", path, strerror(-rc));
	path[0] = 0;
	return true;
}

void rf_life_end(const char *path)
{
	if (path[0])
		unlink(path);
}
