/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfvm: what the scripts in the test VMs cannot say in shell.
 *
 *   rfvm clock                              boot clock, ns
 *   rfvm format DEV OFFSET                  claim region: nothing owned yet
 *   rfvm epoch DEV OFFSET EPOCH OWNER LIFE [released]
 *   rfvm ballot DEV OFFSET NODE INSTANCE BAL
 *   rfvm spoil DEV OFFSET INDEX             make a record unreadable
 *   rfvm io DEV KIND OFFSET [BYTE]          one request: write flush zero discard
 *                                           secure read sgio; prints ok or the errno
 *   rfvm storm DEV SECONDS                  writes as fast as it can; prints the boot
 *                                           clock of the last success and the first failure
 *
 * The region is that of cluster and area ..01 and ..02, volume 0, 3 nodes, stride 4096.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/codec.h"

#define BLOCK 4096u

static const struct rf_area_id id = {
	.cluster = {[15] = 1}, .area = {[15] = 2}, .nodes = 3, .stride_bytes = BLOCK};
static unsigned char block[2 * BLOCK] __attribute__((aligned(BLOCK)));

_Noreturn void rf_assert_failed(const char *what, const char *file, int line);
void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "rfvm: %s:%d: %s\n", file, line, what);
	abort();
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int answer(bool ok)
{
	int e = errno;

	printf("%s\n", ok ? "ok" : strerrorname_np(e));
	return ok ? 0 : 1;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

static int put(const char *dev, uint64_t at)
{
	int fd = open(dev, O_WRONLY | O_DIRECT | O_DSYNC);
	bool ok = fd >= 0 && pwrite(fd, block, BLOCK, (off_t)at) == BLOCK;

	if (!ok)
		return answer(ok);
	close(fd);
	return 0;
}

static int put_epoch(const char *dev, uint64_t at, const struct rf_epoch *e)
{
	memset(block, 0, sizeof(block));
	rf_epoch_encode(block, &id, 0, e);
	return put(dev, at);
}

static int put_ballot(const char *dev, uint64_t at, uint32_t node, uint64_t instance,
		      uint64_t bal)
{
	struct rf_ballot b = {.seq = clock_ns(), .instance = instance,
			       .mbal = bal ? bal : instance ? 256 + node : 0, .bal = bal};

	if (bal) {
		b.value_node = node;
		b.value_incarnation = 1;
	}
	memset(block, 0, sizeof(block));
	rf_ballot_encode(block, &id, 0, node, &b);
	return put(dev, at + (uint64_t)node * BLOCK);
}

static int format_region(const char *dev, uint64_t at)
{
	const struct rf_epoch none = {.seq = 1, .state = RF_EPOCH_NONE};
	int r = put_epoch(dev, at, &none);

	for (uint32_t i = 1; i <= id.nodes; i++)
		r |= put_ballot(dev, at, i, 0, 0);
	return r;
}

static int sgio(int fd)
{
	unsigned char cdb[6] = {0}; /* TEST UNIT READY */
	struct sg_io_hdr h = {.interface_id = 'S',
			      .cmdp = cdb,
			      .cmd_len = 6,
			      .dxfer_direction = SG_DXFER_NONE,
			      .timeout = 1000};

	return ioctl(fd, SG_IO, &h);
}

static int io(const char *dev, const char *kind, uint64_t at, int byte)
{
	uint64_t range[2] = {at, BLOCK};
	int fd = open(dev, O_RDWR | O_DIRECT);
	bool ok = false;

	if (fd < 0)
		return answer(false);
	memset(block, byte, sizeof(block));
	if (!strcmp(kind, "write"))
		ok = pwrite(fd, block, BLOCK, (off_t)at) == BLOCK;
	else if (!strcmp(kind, "read"))
		ok = pread(fd, block, BLOCK, (off_t)at) == BLOCK &&
		     (byte < 0 || block[7] == byte);
	else if (!strcmp(kind, "flush"))
		ok = fsync(fd) == 0;
	else if (!strcmp(kind, "zero"))
		ok = ioctl(fd, BLKZEROOUT, range) == 0;
	else if (!strcmp(kind, "discard"))
		ok = ioctl(fd, BLKDISCARD, range) == 0;
	else if (!strcmp(kind, "secure"))
		ok = ioctl(fd, BLKSECDISCARD, range) == 0;
	else if (!strcmp(kind, "sgio"))
		ok = sgio(fd) == 0;
	else
		errno = EINVAL;
	return answer(ok);
}

/* Prints "LAST_SUBMIT FIRST_FAIL COUNT": of the last write that succeeded. */
static int storm(const char *dev, uint64_t seconds)
{
	uint64_t end = clock_ns() + seconds * 1000000000u, last = 0, first = 0, count = 0, now;
	int fd = open(dev, O_WRONLY | O_DIRECT);

	if (fd < 0)
		return answer(false);
	while ((now = clock_ns()) < end) {
		if (pwrite(fd, block, BLOCK, (off_t)(count % 64 * BLOCK)) == BLOCK) {
			last = now;
			count++;
		} else {
			first = first ? first : clock_ns();
		}
	}
	printf("%llu %llu %llu\n", (unsigned long long)last, (unsigned long long)first,
	       (unsigned long long)count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	const char *dev = argc > 2 ? argv[2] : "";
	uint64_t at = argc > 3 ? number(argv[3]) : 0;

	if (!strcmp(verb, "clock"))
		return printf("%llu\n", (unsigned long long)clock_ns()) < 0;
	if (!strcmp(verb, "format") && argc == 4)
		return format_region(dev, at);
	if (!strcmp(verb, "epoch") && argc >= 7) {
		struct rf_epoch e = {.seq = clock_ns(),
				     .epoch = number(argv[4]),
				     .owner = (uint32_t)number(argv[5]),
				     .incarnation = number(argv[6]),
				     .state = argc > 7 ? RF_EPOCH_RELEASED : RF_EPOCH_CLAIMED};

		return put_epoch(dev, at, &e);
	}
	if (!strcmp(verb, "ballot") && argc == 7)
		return put_ballot(dev, at, (uint32_t)number(argv[4]), number(argv[5]),
				  number(argv[6]));
	if (!strcmp(verb, "spoil") && argc == 5) {
		memset(block, 0x5a, sizeof(block));
		return put(dev, at + number(argv[4]) * BLOCK);
	}
	if (!strcmp(verb, "io") && argc >= 5)
		return io(dev, argv[3], number(argv[4]), argc > 5 ? (int)number(argv[5]) : -1);
	if (!strcmp(verb, "storm") && argc == 4)
		return storm(dev, at);
	fprintf(stderr, "rfvm: see the head of tests/vm/helper.c\n");
	return 64;
}
