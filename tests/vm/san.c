/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfsan DEVICE NODE NAME: a writer that never asks whether it may.
 *
 * Writes blocks with a counter into the region of its node, all the time and whatever
 * happened to the last one: only the storage stands between it and the data. Says when
 * writes begin to be accepted or refused, and how many there were so far, ten times a
 * second:
 *
 *   write NAME accepted|refused ACCEPTED REFUSED LAST_SEQ_ACCEPTED
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 256u
#define BLOCK_BYTES 4096u

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	uint64_t seq = 0, last = 0, accepted = 0, refused = 0, said_ms = 0;
	const struct timespec rest = {.tv_nsec = 5000000};
	static uint64_t block[BLOCK_BYTES / 8] __attribute__((aligned(4096)));
	int fd, before = -1;
	off_t region;

	if (argc != 4) {
		fprintf(stderr, "usage: rfsan DEVICE NODE NAME\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_DIRECT);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	region = (off_t)atoi(argv[2]) * BLOCKS * BLOCK_BYTES;
	for (;;) {
		int good;

		block[0] = ++seq;
		good = pwrite(fd, block, sizeof(block),
			      region + (off_t)(seq % BLOCKS) * BLOCK_BYTES) ==
		       (ssize_t)sizeof(block);
		accepted += good;
		refused += !good;
		last = good ? seq : last;
		if (good != before || now_ms() >= said_ms + 100) {
			printf("write %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", argv[3],
			       good ? "accepted" : "refused", accepted, refused, last);
			fflush(stdout);
			said_ms = now_ms();
			before = good;
		}
		nanosleep(&rest, NULL);
	}
}
