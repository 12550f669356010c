/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of one fence of a chain; see chain_way.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain_way.h"
#include "driver.h"
#include "ringfence/restart.h"

#define STOP_MS 2500
#define WEAK_MIN_MS 2000u /* until one that failed is tried again; doubled each time */
#define WEAK_MAX_MS 60000u

int rf_way_start(struct way *w)
{
	int fds[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (pid < 0) {
		rc = -errno;
		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	if (!pid) {
		if (dup2(fds[1], RF_FENCE_FD) < 0)
			_exit(127);
		execv("/proc/self/exe", w->argv);
		_exit(127);
	}
	close(fds[1]);
	w->pid = pid;
	w->fd = fds[0];
	w->born_ms = rf_fencer_now_ms();
	return 0;
}

void rf_way_again_later(struct way *w)
{
	uint64_t now = rf_fencer_now_ms();

	w->wait_ms = rf_restart_wait_ms(w->wait_ms, now - w->born_ms);
	w->again_ms = now + w->wait_ms;
}

void rf_way_start_again(struct way *w)
{
	int rc;

	waitpid(w->pid, NULL, WNOHANG);
	w->again_ms = 0;
	w->hello = w->failed = w->weak = false;
	rc = rf_way_start(w);
	if (rc) {
		rf_way_again_later(w);
		fprintf(stderr,
			"ringfence-fencer: chain: the fencer of %s cannot be started: %s; "
			"tried again in %u ms\n",
			w->name, strerror(-rc), w->wait_ms);
		return;
	}
	fprintf(stderr, "ringfence-fencer: chain: the fencer of %s was started again\n",
		w->name);
}

void rf_way_weaken(struct way *w)
{
	uint32_t twice = 2 * w->weak_ms;

	if (w->weak || !w->can)
		return;
	w->weak = true;
	w->weak_ms = twice < WEAK_MIN_MS   ? WEAK_MIN_MS
		     : twice > WEAK_MAX_MS ? WEAK_MAX_MS
					   : twice;
	w->weak_until_ms = rf_fencer_now_ms() + w->weak_ms;
}

uint64_t rf_way_next_ms(const struct way *w)
{
	uint64_t again = w->again_ms ? w->again_ms : UINT64_MAX;

	return w->weak && w->weak_until_ms < again ? w->weak_until_ms : again;
}

bool rf_way_send(struct way *w, const struct rf_fence_request *q)
{
	return rf_way_alive(w) &&
	       send(w->fd, q, sizeof(*q), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*q);
}

void rf_ways_stop(struct way *ways, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (ways[i].fd >= 0)
			close(ways[i].fd);
	for (int ms = 0; ms < STOP_MS; ms += 10) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return;
		poll(NULL, 0, 10);
	}
}
