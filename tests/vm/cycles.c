/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfcycles DM-DEVICE TABLE EPOCH LIFE COUNT GRANT_MS [THREADS]
 *
 * Runs instances of a gate one after the other while threads write through it:
 * load, grant for GRANT_MS, then let it expire or revoke it. A write that
 * succeeded although it was submitted after the deadline, or after revoke had said
 * drained, is bad; so is one that ends by anything but a refusal, and whatever else fails.
 * What hangs runs into the limit of the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"

#define THREADS_MAX 8u

static struct dm gate;
static char path[64];
static uint64_t grant_ns;
static unsigned bad;
static _Atomic uint64_t last_ok_ns, writes, refusals;
static _Atomic int odd; /* errno of a write that ended otherwise than by a refusal */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void complain(unsigned cycle, const char *what, int64_t n)
{
	if (bad++ < 10)
		printf("cycle %u: %s (%" PRId64 ")\n", cycle, what, n);
}

static void *writer(void *number)
{
	off_t at = (off_t)(uintptr_t)number * 1048576;
	int fd = open(path, O_WRONLY | O_DIRECT);
	void *block = aligned_alloc(4096, 4096);
	ssize_t n;

	memset(block, 1, 4096);
	for (;;) {
		uint64_t now = clock_ns(), seen = last_ok_ns;

		n = fd < 0 ? -1 : pwrite(fd, block, 4096, at);
		if (n != 4096)
			break;
		writes++;
		while (now > seen && !atomic_compare_exchange_weak(&last_ok_ns, &seen, now))
			;
	}
	if (n < 0 && fd >= 0 && errno == ENODEV)
		refusals++;
	else
		odd = n < 0 ? errno : EIO;
	free(block);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void end_by_revoke(unsigned cycle)
{
	const char *answer;
	struct timespec some = {.tv_nsec = 1000 * (long)(cycle * 7919 % (grant_ns / 1500))};
	uint64_t drained;

	nanosleep(&some, NULL);
	if (dm_message(&gate, "revoke 5000", &answer) || strcmp(answer, "drained"))
		complain(cycle, "revoke did not drain", 0);
	drained = clock_ns();
	nanosleep(&some, NULL);
	if (last_ok_ns > drained)
		complain(cycle, "a write succeeded after drained",
			 (int64_t)(last_ok_ns - drained));
}

static void one_cycle(unsigned cycle, const char *table, const char *epoch, const char *life,
		      unsigned threads)
{
	pthread_t thread[THREADS_MAX];
	char message[96];
	uint64_t deadline;
	unsigned i;
	int r = dm_load(&gate, table);

	if (r) {
		complain(cycle, "load", r);
		return;
	}
	last_ok_ns = 0;
	odd = 0;
	deadline = clock_ns() + grant_ns;
	snprintf(message, sizeof(message), "grant %s %" PRIu64 " %s", epoch, deadline, life);
	r = dm_message(&gate, message, NULL);
	/* an emulated machine may be too slow for that deadline: then it says so */
	if (r && r != -ETIME)
		complain(cycle, "grant", r);
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, writer, (void *)(uintptr_t)i);
	if (cycle % 2)
		end_by_revoke(cycle);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (odd)
		complain(cycle, "a write ended by an error that is no refusal", odd);
	if (last_ok_ns > deadline)
		complain(cycle, "a write submitted late succeeded, ns late",
			 (int64_t)(last_ok_ns - deadline));
}

int main(int argc, char **argv)
{
	unsigned count, threads, i;

	if (argc < 7)
		return 64;
	snprintf(path, sizeof(path), DM_DIRECTORY "%s", argv[1]);
	count = (unsigned)atoi(argv[5]);
	grant_ns = (uint64_t)atoi(argv[6]) * 1000000u;
	threads = argc > 7 ? (unsigned)atoi(argv[7]) : 3;
	if (dm_open(&gate, argv[1]) || threads > THREADS_MAX)
		return 1;
	for (i = 1; i <= count; i++)
		one_cycle(i, argv[2], argv[3], argv[4], threads);
	printf("cycles=%u writes=%" PRIu64 " refusals=%" PRIu64 " bad=%u\n", count,
	       (uint64_t)writes, (uint64_t)refusals, bad);
	return bad != 0;
}
