/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slow disk: loaded into the server before the plugin, it keeps every
 * pwritev2 inside the call for as long as the file $RF_SLOW_GATE exists, and
 * makes $RF_SLOW_GATE.held so that the test knows one is there. Reads of a file
 * whose name ends as $RF_SLOW_GATE.reads says hang as long as that file exists.
 * What is tested is the plugin as it ships.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t pread_fn(int, void *, size_t, off_t);
typedef ssize_t pwritev2_fn(int, const struct iovec *, int, off_t, int);

static void say_held(const char *gate)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s.held", gate);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

__attribute__((visibility("default"))) ssize_t pwritev2(int fd, const struct iovec *iov,
							int count, off_t offset, int flags)
{
	const char *gate = getenv("RF_SLOW_GATE");
	pwritev2_fn *real = (pwritev2_fn *)dlsym(RTLD_NEXT, "pwritev2");
	struct timespec nap = {.tv_nsec = 1000000};

	if (gate && !access(gate, F_OK)) {
		say_held(gate);
		while (!access(gate, F_OK))
			nanosleep(&nap, NULL);
	}
	return real(fd, iov, count, offset, flags);
}

/* One letter: the last one of the names of files that hang. */
static bool hangs(int fd, const char *path)
{
	char link[64], name[512], letter = 0;
	FILE *f = fopen(path, "re");
	ssize_t n;

	if (!f)
		return false;
	letter = (char)fgetc(f);
	fclose(f);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	return n > 0 && name[n - 1] == letter;
}

/* Named in the object only: the header's own pread is an inline function. */
__attribute__((visibility("default"))) ssize_t shim_pread(int fd, void *buf, size_t bytes,
							  off_t offset) __asm__("pread");

ssize_t shim_pread(int fd, void *buf, size_t bytes, off_t offset)
{
	const char *gate = getenv("RF_SLOW_GATE");
	pread_fn *real = (pread_fn *)dlsym(RTLD_NEXT, "pread");
	struct timespec nap = {.tv_nsec = 1000000};
	char path[512];

	snprintf(path, sizeof(path), "%s.reads", gate ? gate : "");
	while (gate && hangs(fd, path))
		nanosleep(&nap, NULL);
	return real(fd, buf, bytes, offset);
}
