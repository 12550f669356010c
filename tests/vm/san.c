/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfsan DEVICE REGION NAME [PAUSE_MS [OTHER_REGION]]: a writer that never asks whether
 * it may.
 *
 * Writes blocks with a counter into a ring in its region, all the time and whatever
 * happened to the last one: only the storage stands between it and the data. A device
 * that refused is closed and opened anew. Says when writes begin to be accepted or
 * refused, and how many there were so far, five times a second:
 *
 *   write NAME accepted|refused ACCEPTED REFUSED LAST_SEQ_ACCEPTED STALE LOST JUDGED
 *
 * and first what the last life of it had written: write NAME found SEQ.
 *
 * With OTHER_REGION it judges: while this node leads (its promote hook makes the file
 * /tmp/lead.NAME, its demote hook or a refusal ends it) and its writes are accepted one
 * after the other, the counter in the other's ring must stand still. One that moves there
 * is STALE, if this node's writes are still accepted SURE_MS later: somebody who was fenced
 * wrote. If they are not, it was who took over: registered, and so able to write, just
 * before it preempts the old one. An accepted write that is not there, or a counter that
 * goes back, is LOST.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 8u
#define BLOCK_BYTES 4096u
#define REGION_BYTES (1 << 20)
#define SURE_MS 10000u

struct ring {
	uint64_t word[BLOCKS][BLOCK_BYTES / 8];
};

static struct {
	const char *device, *name;
	off_t own, other;
	int fd;
	bool judges;
	uint64_t seq, last, accepted, refused, stale, lost, judged;
	uint64_t seen;     /* the other's counter */
	uint64_t since_ms; /* it went on then, which is not yet judged; 0 = it did not */
	unsigned led;      /* of the next, while leading */
	unsigned run;      /* writes accepted one after the other */
} w = {.fd = -1};

static struct ring ring __attribute__((aligned(4096)));
static uint64_t block[BLOCK_BYTES / 8] __attribute__((aligned(4096)));

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool device(void)
{
	if (w.fd < 0)
		w.fd = open(w.device, O_RDWR | O_DIRECT | O_CLOEXEC);
	return w.fd >= 0;
}

static bool read_ring(off_t region, uint64_t *newest)
{
	if (!device() || pread(w.fd, &ring, sizeof(ring), region) != (ssize_t)sizeof(ring))
		return false;
	*newest = 0;
	for (unsigned i = 0; i < BLOCKS; i++)
		if (ring.word[i][0] > *newest)
			*newest = ring.word[i][0];
	return true;
}

static bool write_block(void)
{
	off_t at = w.own + (off_t)(++w.seq % BLOCKS) * BLOCK_BYTES;

	block[0] = w.seq;
	if (device() && pwrite(w.fd, block, sizeof(block), at) == (ssize_t)sizeof(block))
		return true;
	if (w.fd >= 0)
		close(w.fd);
	w.fd = -1;
	return false;
}

static void accuse(void)
{
	w.stale++;
	printf("write %s STALE: the other's counter is %" PRIu64 ", own write %" PRIu64 "\n",
	       w.name, w.seen, w.seq);
	w.since_ms = 0;
}

static void judge(void)
{
	uint64_t newest;

	if (w.since_ms && now_ms() >= w.since_ms + SURE_MS)
		accuse();
	if (!read_ring(w.own, &newest))
		return;
	w.lost += ring.word[w.last % BLOCKS][0] != w.last;
	if (!read_ring(w.other, &newest))
		return;
	w.lost += newest < w.seen;
	w.judged += w.led > 1;
	if (w.led > 1 && newest > w.seen && !w.since_ms)
		w.since_ms = now_ms();
	w.seen = newest;
}

static void attempt(void)
{
	char lead[64];

	snprintf(lead, sizeof(lead), "/tmp/lead.%s", w.name);
	if (!write_block()) {
		unlink(lead); /* of before; there is another one when it leads again */
		w.refused++;
		w.led = 0;
		w.run = 0;
		w.since_ms = 0;
		return;
	}
	w.accepted++;
	w.last = w.seq;
	w.run++;
	w.led = access(lead, F_OK) ? 0 : w.led + 1;
	if (!w.led)
		w.since_ms = 0;
	if (w.judges)
		judge();
}

static void say(void)
{
	printf("write %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 "\n",
	       w.name, w.run ? "accepted" : "refused", w.accepted, w.refused, w.last, w.stale,
	       w.lost, w.judged);
	fflush(stdout);
}

/* Where the last life came to: reading is allowed to everybody, once there is a device. */
static void find(const struct timespec *rest)
{
	while (!read_ring(w.own, &w.seq))
		nanosleep(rest, NULL);
	printf("write %s found %" PRIu64 "\n", w.name, w.seq);
}

int main(int argc, char **argv)
{
	struct timespec rest = {.tv_nsec = 5000000};
	uint64_t said_ms = 0;
	bool good = false;

	if (argc < 4 || argc > 6) {
		fprintf(stderr, "usage: rfsan DEVICE REGION NAME [PAUSE_MS [OTHER_REGION]]\n");
		return 2;
	}
	w.device = argv[1];
	w.own = (off_t)atoi(argv[2]) * REGION_BYTES;
	w.name = argv[3];
	if (argc > 4)
		rest.tv_nsec = (long)atoi(argv[4]) * 1000000;
	if (argc > 5) {
		w.judges = true;
		w.other = (off_t)atoi(argv[5]) * REGION_BYTES;
	}
	find(&rest);
	for (;;) {
		attempt();
		if (good != (w.run > 0) || now_ms() >= said_ms + 200) {
			say();
			said_ms = now_ms();
			good = w.run > 0;
		}
		nanosleep(&rest, NULL);
	}
}
