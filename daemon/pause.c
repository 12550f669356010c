/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pause that outlives the daemon, see pause.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "log.h"
#include "pause.h"

/* Since when: the mark's own time. */
static uint64_t read_mark(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return 0;
	/* never 0, which would be "not paused", whatever somebody did to its time */
	return ((uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec) | 1;
}

/* One that is there keeps its time: paused twice is paused since the first time. */
static int make_mark(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	close(fd);
	return 0;
}

static int remove_mark(const char *path)
{
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

void rf_pause_open(struct daemon *d, const char *socket)
{
	int n = snprintf(d->pause.path, sizeof(d->pause.path), "%s.paused", socket);

	if (n < 0 || (size_t)n >= sizeof(d->pause.path))
		d->pause.path[0] = 0; /* open() and unlink() say so when it is needed */
	d->pause.since_unix_ns = read_mark(d->pause.path);
}

static void tell(struct daemon *d, bool paused)
{
	struct rf_event e = {.kind = RF_EV_ADMIN};

	e.admin.verb = paused ? RF_ADMIN_PAUSE : RF_ADMIN_RESUME;
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
}

int rf_pause_set(struct daemon *d, bool paused)
{
	int rc = paused ? make_mark(d->pause.path) : remove_mark(d->pause.path);

	if (!paused)
		d->pause.since_unix_ns = 0;
	else if (!d->pause.since_unix_ns)
		d->pause.since_unix_ns = rf_unix_ns();
	tell(d, paused);
	return rc;
}

void rf_pause_start(struct daemon *d)
{
	if (!d->pause.since_unix_ns)
		return;
	rf_log(RF_LOG_WARNING,
	       "this node is still paused: it does not campaign until `ringfence resume`");
	tell(d, true);
}
