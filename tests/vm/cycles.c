/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfcycles DM-DEVICE TABLE EPOCH LIFE COUNT GRANT_MS [THREADS]
 *
 * Runs instances of a gate one after the other while threads write through it:
 * load, grant for GRANT_MS, then let it expire or revoke it. A write that
 * succeeded although it was submitted after the deadline, or after revoke had said
 * drained, is bad; so is anything that fails or hangs. Speaks to device-mapper by its
 * ioctls, because a thousand dmsetups take an emulated machine an hour.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 8u

static union {
	struct dm_ioctl io;
	char bytes[4096];
} dm;
static const char *name;
static char path[64];
static int control;
static uint64_t grant_ns;
static unsigned bad;
static _Atomic uint64_t last_ok_ns, writes, refusals;

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

static void *dm_begin(void)
{
	memset(&dm, 0, sizeof(dm));
	dm.io.version[0] = DM_VERSION_MAJOR;
	dm.io.data_size = sizeof(dm);
	dm.io.data_start = sizeof(struct dm_ioctl);
	snprintf(dm.io.name, sizeof(dm.io.name), "%s", name);
	return dm.bytes + sizeof(struct dm_ioctl);
}

static int dm_load(const char *table)
{
	struct dm_target_spec *spec = dm_begin();
	unsigned long long start, length;
	int at = 0;

	if (sscanf(table, "%llu %llu %15s %n", &start, &length, spec->target_type, &at) < 3)
		return -EINVAL;
	spec->length = length;
	snprintf((char *)(spec + 1), 2048, "%s", table + at);
	dm.io.target_count = 1;
	if (ioctl(control, DM_TABLE_LOAD, &dm))
		return -errno;
	dm_begin();
	return ioctl(control, DM_DEV_SUSPEND, &dm) ? -errno : 0; /* no flag: resume */
}

/* 0, or -errno; the answer, if any, in out. */
static int dm_message(const char *text, char *out, size_t bytes)
{
	struct dm_target_msg *m = dm_begin();

	snprintf(m->message, 256, "%s", text);
	if (ioctl(control, DM_TARGET_MSG, &dm))
		return -errno;
	if (out)
		snprintf(out, bytes, "%s",
			 dm.io.flags & DM_DATA_OUT_FLAG ? dm.bytes + dm.io.data_start : "");
	return 0;
}

static void *writer(void *number)
{
	off_t at = (off_t)(uintptr_t)number * 1048576;
	int fd = open(path, O_WRONLY | O_DIRECT);
	void *block = aligned_alloc(4096, 4096);

	memset(block, 1, 4096);
	for (;;) {
		uint64_t now = clock_ns(), seen = last_ok_ns;

		if (pwrite(fd, block, 4096, at) != 4096)
			break;
		writes++;
		while (now > seen && !atomic_compare_exchange_weak(&last_ok_ns, &seen, now))
			;
	}
	if (errno == ENODEV)
		refusals++;
	free(block);
	close(fd);
	return NULL;
}

static void end_by_revoke(unsigned cycle)
{
	char answer[64] = "";
	struct timespec some = {.tv_nsec = 1000 * (long)(cycle * 7919 % (grant_ns / 1500))};
	uint64_t drained;

	nanosleep(&some, NULL);
	if (dm_message("revoke 5000", answer, sizeof(answer)) || strcmp(answer, "drained"))
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
	int r = dm_load(table);

	if (r) {
		complain(cycle, "load", r);
		return;
	}
	last_ok_ns = 0;
	deadline = clock_ns() + grant_ns;
	snprintf(message, sizeof(message), "grant %s %" PRIu64 " %s", epoch, deadline, life);
	r = dm_message(message, NULL, 0);
	/* an emulated machine may be too slow for that deadline: then it says so */
	if (r && r != -ETIME)
		complain(cycle, "grant", r);
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, writer, (void *)(uintptr_t)i);
	if (cycle % 2)
		end_by_revoke(cycle);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (last_ok_ns > deadline)
		complain(cycle, "a write submitted late succeeded, ns late",
			 (int64_t)(last_ok_ns - deadline));
}

int main(int argc, char **argv)
{
	unsigned count, threads, i;

	if (argc < 7)
		return 64;
	name = argv[1];
	snprintf(path, sizeof(path), "/dev/mapper/%s", name);
	count = (unsigned)atoi(argv[5]);
	grant_ns = (uint64_t)atoi(argv[6]) * 1000000u;
	threads = argc > 7 ? (unsigned)atoi(argv[7]) : 3;
	control = open("/dev/mapper/control", O_RDWR);
	if (control < 0 || threads > THREADS_MAX)
		return 1;
	for (i = 1; i <= count; i++)
		one_cycle(i, argv[2], argv[3], argv[4], threads);
	printf("cycles=%u writes=%" PRIu64 " refusals=%" PRIu64 " bad=%u\n", count,
	       (uint64_t)writes, (uint64_t)refusals, bad);
	return bad != 0;
}
