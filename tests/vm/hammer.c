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
 *
 * Each block carries the time when its write was submitted; at the end LOG.acked says
 * for each block which time was acknowledged last.
 *
 * rfhammer --check DEVICE LOG.acked...: each block must carry the newest time that any
 * of the logs says, or a newer one. Prints how many carry an older one: something
 * acknowledged was lost, or a stale write landed over it.
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

#define BLOCKS 256u
#define BLOCK_BYTES 4096u
#define MAGIC 0x72656d6d61687266ull

struct stamp {
	uint64_t magic, time_ns;
};

static volatile sig_atomic_t stop;
static uint64_t acked[BLOCKS], written;

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
	const struct timespec some = {.tv_nsec = 10000000};

	nanosleep(&some, NULL);
}

static void one_run(int fd, void *block, FILE *log)
{
	const struct timespec pause = {.tv_nsec = 500000};
	uint64_t first = 0, last = 0, done = 0, count = 0, now;

	for (; !stop; nanosleep(&pause, NULL)) {
		unsigned at = (unsigned)(written++ % BLOCKS);

		now = clock_ns();
		*(struct stamp *)block = (struct stamp){MAGIC, now};
		if (pwrite(fd, block, BLOCK_BYTES, (off_t)at * BLOCK_BYTES) != BLOCK_BYTES)
			break;
		acked[at] = now;
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

static int write_acked(const char *log)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s.acked", log);
	f = fopen(path, "we");
	if (!f)
		return 1;
	for (unsigned i = 0; i < BLOCKS; i++)
		fprintf(f, "%llu\n", (unsigned long long)acked[i]);
	return fclose(f) != 0;
}

static int check(const char *device, char **logs)
{
	int fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	struct stamp *block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	unsigned lost = 0, known = 0;

	for (; *logs; logs++) {
		FILE *f = fopen(*logs, "re");
		unsigned long long t;

		for (unsigned i = 0; f && i < BLOCKS && fscanf(f, "%llu", &t) == 1; i++)
			acked[i] = t > acked[i] ? t : acked[i];
		if (f)
			fclose(f);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!acked[i])
			continue;
		known++;
		if (pread(fd, block, BLOCK_BYTES, (off_t)i * BLOCK_BYTES) != BLOCK_BYTES ||
		    block->magic != MAGIC || block->time_ns < acked[i])
			lost++;
	}
	printf("blocks=%u lost=%u\n", known, lost);
	return lost || !known;
}

int main(int argc, char **argv)
{
	void *block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	FILE *log = argc == 3 ? fopen(argv[2], "ae") : NULL;

	if (argc > 3 && !strcmp(argv[1], "--check"))
		return check(argv[2], argv + 3);
	if (!log || !block)
		return 64;
	memset(block, 7, BLOCK_BYTES);
	signal(SIGTERM, on_term);
	while (!stop) {
		int fd = open(argv[1], O_WRONLY | O_DIRECT | O_CLOEXEC);

		if (fd >= 0) {
			one_run(fd, block, log);
			close(fd);
		}
		rest();
	}
	return write_acked(argv[2]);
}
