/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfcycles DM-DEVICE TABLE EPOCH LIFE COUNT GRANT_MS TAKE-OVER RESTORE
 *
 * Runs instances of a gate one after the other while threads write through it:
 * load, grant for GRANT_MS, then let it expire, or revoke it, or another node takes over:
 * for which the command TAKE-OVER is run in three times that, and RESTORE afterwards. A write
 * that succeeded although it was submitted after the deadline, or after revoke had said
 * drained, is bad, and a gate that opens again after a takeover; so is one that ends by
 * anything but a refusal, and whatever else fails. What hangs runs into the limit of the
 * machine.
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

#define THREADS 3u

static struct dm gate;
static char path[64];
static uint64_t grant_ns;
static unsigned bad, superseded;
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

/* What is to happen, as on the command line. */
struct plan {
	const char *table, *epoch, *life, *take_over, *restore;
};

static int grant(const struct plan *p, uint64_t deadline)
{
	char message[96];

	snprintf(message, sizeof(message), "grant %s %" PRIu64 " %s", p->epoch, deadline,
		 p->life);
	return dm_message(&gate, message, NULL);
}

/* The claim region names another owner; the gate finds out at its next look, or expires
 * before. */
static void end_by_takeover(unsigned cycle, const char *take_over)
{
	if (system(take_over))
		complain(cycle, "the takeover did not work", errno);
}

static void after_takeover(unsigned cycle, const struct plan *p)
{
	const char *words = "";

	if (!grant(p, clock_ns() + grant_ns))
		complain(cycle, "opened again after the takeover", 0);
	if (dm_status(&gate, &words))
		complain(cycle, "no status", errno);
	superseded += strstr(words, " why=superseded ") != NULL;
	if (system(p->restore))
		complain(cycle, "restoring did not work", errno);
}

static void one_cycle(unsigned cycle, const struct plan *p)
{
	pthread_t thread[THREADS];
	uint64_t deadline;
	unsigned i;
	int r = dm_load(&gate, p->table);

	if (r) {
		complain(cycle, "load", r);
		return;
	}
	last_ok_ns = 0;
	odd = 0;
	/* a process that takes over needs its time, too */
	deadline = clock_ns() + grant_ns * (cycle % 3 == 2 ? 3 : 1);
	r = grant(p, deadline);
	/* an emulated machine may be too slow for that deadline: then it says so */
	if (r && r != -ETIME)
		complain(cycle, "grant", r);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, writer, (void *)(uintptr_t)i);
	if (cycle % 3 == 1)
		end_by_revoke(cycle);
	if (cycle % 3 == 2)
		end_by_takeover(cycle, p->take_over);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (odd)
		complain(cycle, "a write ended by an error that is no refusal", odd);
	if (last_ok_ns > deadline)
		complain(cycle, "a write submitted late succeeded, ns late",
			 (int64_t)(last_ok_ns - deadline));
	if (cycle % 3 == 2)
		after_takeover(cycle, p);
}

int main(int argc, char **argv)
{
	unsigned count, i;
	struct plan plan;

	if (argc != 9)
		return 64;
	plan = (struct plan){argv[2], argv[3], argv[4], argv[7], argv[8]};
	snprintf(path, sizeof(path), DM_DIRECTORY "%s", argv[1]);
	count = (unsigned)atoi(argv[5]);
	grant_ns = (uint64_t)atoi(argv[6]) * 1000000u;
	if (dm_open(&gate, argv[1]))
		return 1;
	for (i = 1; i <= count; i++)
		one_cycle(i, &plan);
	printf("cycles=%u writes=%" PRIu64 " refusals=%" PRIu64 " superseded=%u bad=%u\n",
	       count, (uint64_t)writes, (uint64_t)refusals, superseded, bad);
	return bad != 0;
}
