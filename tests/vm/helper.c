/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfvm: what the scripts in the test VMs cannot say in shell.
 *
 *   rfvm clock                              boot clock, ns
 *   rfvm format DEV OFFSET                  claim region: nothing owned yet
 *   rfvm epoch DEV OFFSET EPOCH OWNER LIFE [released]
 *   rfvm ballot DEV OFFSET NODE INSTANCE BAL
 *   rfvm spoil DEV OFFSET INDEX             make a record unreadable
 *   rfvm io DEV KIND OFFSET [BYTE]          one request: write nowait flush zero discard
 *                                           read sgio; prints ok or the errno
 *   rfvm sectors LOOP BYTES                 of a loop device, from now on
 *   rfvm area DEV LEASE_MS                  a whole area at the head, data from 1 MiB on; its
 *                                           claim region at 32 KiB
 *   rfvm fence PROGRAM ARG...               starts a fencer and asks it what stdin says,
 *                                           lines `grant EPOCH MS LIFE`, `revoke EPOCH`,
 *                                           `verify EPOCH`, `wait`; a line for each answer
 *   rfvm uevents                            says `listening`, then a line for each uevent of
 *                                           a gate, for five minutes at most
 *   rfvm pace DEV COUNT                     ns for one 4 KiB direct write, the least of 9 runs
 *                                           of COUNT writes each
 *   rfvm renew NAME EPOCH LIFE MS EVERY_MS SECONDS
 *                                           asks the gate for MS more again and again,
 *                                           whatever it is told, until TERM, the end of
 *                                           who started it, or for SECONDS; a line each
 *                                           time: boot clock in 1/100 s, ok or why not
 *   rfvm storm DEV SECONDS                  writes as fast as it can; prints the boot
 *                                           clock of the last success and the first failure
 *
 * The region is that of cluster and area ..01 and ..02, volume 0, 3 nodes, stride 4096.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/netlink.h>
#include <scsi/sg.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dm.h"
#include "format/codec.h"
#include "ringfence/fence.h"

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
	struct rf_ballot b = {.seq = clock_ns(),
			      .instance = instance,
			      .mbal = bal        ? bal
				      : instance ? 256 + node
						 : 0,
			      .bal = bal};

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
	else if (!strcmp(kind, "nowait"))
		ok = pwritev2(fd, &(struct iovec){block, BLOCK}, 1, (off_t)at, RWF_NOWAIT) ==
		     BLOCK;
	else if (!strcmp(kind, "read"))
		ok = pread(fd, block, BLOCK, (off_t)at) == BLOCK &&
		     (byte < 0 || block[7] == byte);
	else if (!strcmp(kind, "flush"))
		ok = fsync(fd) == 0;
	else if (!strcmp(kind, "zero"))
		ok = ioctl(fd, BLKZEROOUT, range) == 0;
	else if (!strcmp(kind, "discard"))
		ok = ioctl(fd, BLKDISCARD, range) == 0;
	else if (!strcmp(kind, "sgio"))
		ok = sgio(fd) == 0;
	else
		errno = EINVAL;
	return answer(ok);
}

static int sectors(const char *dev, uint64_t bytes)
{
	int fd = open(dev, O_RDWR);

	return answer(fd >= 0 && ioctl(fd, LOOP_SET_BLOCK_SIZE, bytes) == 0);
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

/* A daemon in little. One process, which a busy machine does not have to start anew for
 * each renewal. */
static int renew(char **word)
{
	struct timespec every = {.tv_nsec = (long)number(word[4]) * 1000000};
	uint64_t end = clock_ns() + number(word[5]) * 1000000000u;
	struct dm gate;
	int r = dm_open(&gate, word[0]);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; !r && clock_ns() < end; nanosleep(&every, NULL)) {
		char text[96];
		int said;

		snprintf(text, sizeof(text), "grant %s %llu %s", word[1],
			 (unsigned long long)(clock_ns() + number(word[3]) * 1000000u),
			 word[2]);
		said = dm_message(&gate, text, NULL);
		printf("%llu %s\n", (unsigned long long)(clock_ns() / 10000000u),
		       said ? strerror(-said) : "ok");
	}
	return r != 0;
}

static const char *word_of(const char *text, const char *end, const char *key)
{
	for (; text < end; text += strlen(text) + 1)
		if (!strncmp(text, key, strlen(key)))
			return text;
	return NULL;
}

static int uevents(void)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT);
	char text[8192];
	ssize_t n;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)))
		return answer(false);
	alarm(300);
	puts("listening");
	fflush(stdout);
	while ((n = recv(fd, text, sizeof(text) - 1, 0)) > 0) {
		const char *state, *epoch, *why;

		text[n] = 0;
		state = word_of(text, text + n, "RINGFENCE_STATE=");
		epoch = word_of(text, text + n, "RINGFENCE_EPOCH=");
		why = word_of(text, text + n, "RINGFENCE_WHY=");
		if (state && epoch && why && !strncmp(text, "change@", 7))
			printf("change %s %s %s\n", state, epoch, why);
		fflush(stdout);
	}
	return answer(n == 0);
}

static int pace(const char *dev, uint64_t count)
{
	uint64_t best = UINT64_MAX;
	int fd = open(dev, O_WRONLY | O_DIRECT);

	if (fd < 0)
		return answer(false);
	for (int run = 0; run < 9; run++) {
		uint64_t begin = clock_ns(), took;

		for (uint64_t i = 0; i < count; i++)
			if (pwrite(fd, block, BLOCK, (off_t)(i % 1024 * BLOCK)) != BLOCK)
				return answer(false);
		took = (clock_ns() - begin) / count;
		best = took < best ? took : best;
	}
	printf("%llu\n", (unsigned long long)best);
	return 0;
}

static int put_area(const char *dev, uint32_t lease_ms)
{
	struct rf_super super = {
		.id = id,
		.cluster_name = "vm",
		.seq = 1,
		.sector_bytes = 512,
		.volumes = 1,
		.history = RF_HISTORY_MIN,
		.state_strides = 2,
		.disk_count = 1,
		.place = RF_PLACE_START,
		.quorum = RF_QUORUM_MAJORITY,
		.created_unix_s = 1,
		.timing = {.heartbeat_ms = lease_ms / 10,
			   .suspect_ms = lease_ms / 3,
			   .lease_ms = lease_ms,
			   .grace_ms = lease_ms / 10,
			   .hold_ms = lease_ms / 4,
			   .isolation_ms = lease_ms / 3 + lease_ms / 10,
			   .slot_timeout_ms = lease_ms,
			   .inflight_ms = lease_ms,
			   .epsilon_ppm = 10000},
	};
	struct rf_volume_desc volume = {.seq = 1, .data_offset_bytes = 1048576, .name = "vol"};
	int r;

	super.voters[0] = 7;
	super.area_strides = rf_geo_strides(&super);
	memset(block, 0, sizeof(block));
	rf_super_encode(block, &super, 0);
	r = put(dev, 0);
	memset(block, 0, sizeof(block));
	rf_volume_encode(block, &id, 0, &volume);
	r |= put(dev, rf_geo_volume(&super, 0));
	return r | format_region(dev, rf_geo_region(&super, 0));
}

static bool ask(int fd, const char *line, struct rf_fence_request *q)
{
	unsigned long long epoch = 0, ms = 0, life = 77;
	char verb[16];

	(void)fd;
	if (sscanf(line, "%15s %llu %llu %llu", verb, &epoch, &ms, &life) < 1)
		return false;
	*q = (struct rf_fence_request){.magic = RF_FENCE_MAGIC,
				       .id = 9,
				       .node = 2,
				       .epoch = epoch,
				       .incarnation = life};
	q->deadline_ns = clock_ns() + ms * 1000000u;
	q->verb = !strcmp(verb, "grant")    ? RF_FENCE_GRANT
		  : !strcmp(verb, "revoke") ? RF_FENCE_REVOKE
		  : !strcmp(verb, "evict")  ? RF_FENCE_EVICT
		  : !strcmp(verb, "status") ? RF_FENCE_STATUS
					    : RF_FENCE_VERIFY;
	return strcmp(verb, "wait");
}

static int talk(int fd)
{
	static const char *const words[] = {"ok",    "failed",      "uncertain",
					    "stale", "unsupported", "busy"};
	struct rf_fence_request q;
	struct rf_fence_reply r;
	char line[128] = "wait";

	do {
		if (ask(fd, line, &q) && send(fd, &q, sizeof(q), 0) != sizeof(q))
			return answer(false);
		if (recv(fd, &r, sizeof(r), 0) != sizeof(r) || r.result > RF_FENCE_BUSY)
			return answer(false);
		printf("%s%s %llu: %s\n", r.id == RF_FENCE_SHUT_ID ? "shut " : "",
		       words[r.result], (unsigned long long)r.epoch, r.text);
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}

static int fence(char **argv)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return answer(false);
	if (!fork()) {
		dup2(pair[1], RF_FENCE_FD);
		if (pair[0] != RF_FENCE_FD)
			close(pair[0]);
		if (pair[1] != RF_FENCE_FD)
			close(pair[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(pair[1]);
	talk(pair[0]);
	close(pair[0]);
	wait(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	const char *dev = argc > 2 ? argv[2] : "";
	uint64_t at = argc > 3 ? number(argv[3]) : 0;

	if (!strcmp(verb, "clock"))
		return printf("%llu\n", (unsigned long long)clock_ns()) < 0;
	if (!strcmp(verb, "uevents"))
		return uevents();
	if (!strcmp(verb, "area") && argc == 4)
		return put_area(dev, (uint32_t)at);
	if (!strcmp(verb, "fence") && argc > 3)
		return fence(argv + 2);
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
	if (!strcmp(verb, "sectors") && argc == 4)
		return sectors(dev, at);
	if (!strcmp(verb, "pace") && argc == 4)
		return pace(dev, at);
	if (!strcmp(verb, "renew") && argc == 8)
		return renew(argv + 2);
	if (!strcmp(verb, "storm") && argc == 4)
		return storm(dev, at);
	fprintf(stderr, "rfvm: see the head of tests/vm/helper.c\n");
	return 64;
}
