/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sd_notify(3): one datagram a message to the socket of the environment. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/notify.h"

#define DAY_US 86400000000ull
#define LEAST_US 20000ull

static int fd = -1;

int rf_notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int err = 0;

	if (!len)
		return 0;
	if ((*path != '/' && *path != '@') || len >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = 0; /* abstract */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
		err = -errno;
		rf_notify_close();
	}
	unsetenv("NOTIFY_SOCKET"); /* hooks must not speak for us */
	return err;
}

void rf_notify_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

bool rf_notify_wanted(void)
{
	return fd >= 0;
}

/* A manager that does not read loses our messages; it may never delay us. */
static void tell(const char *text)
{
	if (fd >= 0)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint64_t rf_notify_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long usec = text ? strtoull(text, NULL, 10) : 0;

	if (fd < 0 || !usec || usec > DAY_US || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return (usec > LEAST_US ? usec : LEAST_US) * 1000 / 2;
}

void rf_notify_ready(void)
{
	tell("READY=1");
}

void rf_notify_stopping(void)
{
	tell("STOPPING=1");
}

void rf_notify_watchdog(void)
{
	tell("WATCHDOG=1");
}

void rf_notify_status(const char *format, ...)
{
	char text[256] = "STATUS=";
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + 7, sizeof(text) - 7, format, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' '; /* a newline would begin another assignment */
	tell(text);
}

void rf_notify_extend(uint64_t ms)
{
	char text[64];

	snprintf(text, sizeof(text), "EXTEND_TIMEOUT_USEC=%" PRIu64, ms * 1000);
	tell(text);
}
