/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict of guard.h, and what is written down before a reset. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard.h"

#define MS 1000000u

bool rf_guard_safe(const struct rf_guard_volume *v, uint64_t now_ns,
		   char text[RF_GUARD_TEXT_BYTES])
{
	if (v->target_side)
		return true;
	if (v->draining_ns && now_ns - v->draining_ns > v->grace_ns) {
		snprintf(text, RF_GUARD_TEXT_BYTES, "%s did not drain within %" PRIu64 " ms",
			 v->name, v->grace_ns / MS);
		return false;
	}
	if (v->lease_ns && now_ns > v->lease_ns + v->hold_ns + v->grace_ns) {
		snprintf(text, RF_GUARD_TEXT_BYTES,
			 "%s is held without a lease for %" PRIu64 " ms", v->name,
			 (now_ns - v->lease_ns) / MS);
		return false;
	}
	return true;
}

uint32_t rf_guard_timeout_s(uint32_t lease_ms, uint32_t grace_ms)
{
	uint32_t s = (lease_ms + grace_ms + 999) / 1000;

	return s < 2 ? 2 : s; /* 1 s is a hiccup */
}

/* ---- the record: boot id and one line ---- */

static int write_all(int fd, const char *boot, const char *text)
{
	char line[64 + RF_GUARD_TEXT_BYTES];
	int n = snprintf(line, sizeof(line), "%s %s\n", boot, text);

	if (n < 0 || n >= (int)sizeof(line))
		return -EOVERFLOW;
	if (write(fd, line, (size_t)n) != n)
		return errno ? -errno : -EIO;
	return fsync(fd) ? -errno : 0;
}

static int sync_dir(const char *path)
{
	char dir[256];
	char *slash;
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash)
		return -EINVAL;
	*slash = 0;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}

static int make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	char dir[256];

	if (fd >= 0)
		return fd;
	if (errno != ENOENT)
		return -errno;
	snprintf(dir, sizeof(dir), "%s", path);
	if (strrchr(dir, '/'))
		*strrchr(dir, '/') = 0;
	if (mkdir(dir, 0755) != 0)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	return fd;
}

int rf_guard_record(const char *path, const char *boot, const char *text)
{
	int fd = make(path), rc;

	if (fd < 0)
		return fd;
	rc = write_all(fd, boot, text);
	close(fd);
	return rc ? rc : sync_dir(path);
}

/* Root's file, but a torn or edited one must not end up in a terminal. */
static void printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

bool rf_guard_recall(const char *path, const char *boot, char text[RF_GUARD_TEXT_BYTES],
		     uint64_t *unix_ns)
{
	char line[64 + RF_GUARD_TEXT_BYTES];
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;
	char *space;

	text[0] = 0;
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	fstat(fd, &st);
	close(fd);
	*unix_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	if (n <= 0)
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	space = strchr(line, ' ');
	if (!space || !space[1])
		return false;
	*space = 0;
	if (!strcmp(line, boot)) /* this boot: there was no reset */
		return false;
	snprintf(text, RF_GUARD_TEXT_BYTES, "%.*s", (int)RF_GUARD_TEXT_BYTES - 1, space + 1);
	printable(text);
	return true;
}
