/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfhammer DEVICE LOG: an application that never gives up.
 *
 * Writes through DEVICE as often as it is let; refused, it closes the device, waits
 * a little and opens it again. Appends a line to LOG for each run of writes that
 * succeeded one after the other: boot clock when the first was submitted, when the
 * last was submitted, when the last completed, how many. Ends at SIGTERM.
 *
 * In one machine with one clock, the runs of different nodes must not overlap.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void rest(void)
{
	const struct timespec some = { .tv_nsec = 10000000 };

	nanosleep(&some, NULL);
}

static void one_run(int fd, void *block, FILE *log)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	uint64_t first = 0, last = 0, done = 0, count = 0, now;

	for (; !stop; nanosleep(&pause, NULL)) {
		now = clock_ns();
		if (pwrite(fd, block, 4096, (off_t)(count % 256 * 4096)) != 4096)
			break;
		first = first ? first : now;
		last = now;
		done = clock_ns();
		count++;
	}
	if (!count)
		return;
	fprintf(log, "%llu %llu %llu %llu\n", (unsigned long long)first,
		(unsigned long long)last, (unsigned long long)done, (unsigned long long)count);
	fflush(log);
}

int main(int argc, char **argv)
{
	void *block = aligned_alloc(4096, 4096);
	FILE *log = argc == 3 ? fopen(argv[2], "ae") : NULL;

	if (!log || !block)
		return 64;
	memset(block, 7, 4096);
	signal(SIGTERM, on_term);
	while (!stop) {
		int fd = open(argv[1], O_WRONLY | O_DIRECT | O_CLOEXEC);

		if (fd >= 0) {
			one_run(fd, block, log);
			close(fd);
		}
		rest();
	}
	return 0;
}
