/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disk requests: real direct I/O on a file; and a socket pair in the place of a
 * device, whose other end answers when the test wants it to: the one way to make the
 * kernel keep a request for as long as we like.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "io/disk.h"
#include "io_support.h"

#define SECTOR 4096u

struct answer {
	uint32_t op;
	int status;
	bool wrote, late;
	size_t len;
	uint8_t first, last;
};

struct box {
	struct rf_loop *loop;
	struct rf_disks *disks;
	struct answer answer[32];
	int count, wanted;
	uint64_t at_ns;
	int peer; /* other end of the socket pair */
};

static void done(void *owner, uint32_t op, uint32_t disk, int status, bool wrote,
		 const uint8_t *data, size_t len, bool late)
{
	struct box *b = owner;
	struct answer *a = &b->answer[b->count++];

	assert_int_equal(disk, 0);
	*a = (struct answer){.op = op, .status = status, .wrote = wrote, .late = late};
	a->len = len;
	if (data && len) {
		a->first = data[0];
		a->last = data[len - 1];
	}
	b->at_ns = rf_loop_clock_ns();
}

static bool enough(void *arg)
{
	struct box *b = arg;

	return b->count >= b->wanted;
}

static bool answers(struct box *b, int count)
{
	b->wanted = count;
	return io_run(b->loop, enough, b, LIMIT_NS);
}

static void open_box(struct box *b, int fd, uint64_t offset, uint32_t small)
{
	struct rf_disks_shape s = {.disks = 1,
				   .fd = {fd},
				   .offset = {offset},
				   .small_bytes = 4 * SECTOR,
				   .small = small,
				   .large_bytes = 16 * SECTOR,
				   .large = 1,
				   .write_bytes = 2 * SECTOR};
	struct iovec memory;

	memset(b, 0, sizeof(*b));
	b->peer = -1;
	b->loop = io_loop();
	assert_int_equal(rf_disks_open(&b->disks, b->loop, &s, 0, done, b, &memory), 0);
	assert_int_equal(rf_loop_register(b->loop, &memory, 1), 0);
}

static void close_box(struct box *b)
{
	rf_loop_close(b->loop);
	rf_disks_close(b->disks);
	if (b->peer >= 0)
		close(b->peer);
}

static int file_of(size_t bytes)
{
	char path[] = "/var/tmp/ringfence-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), direct;

	if (fd < 0) {
		perror(path);
		exit(77);
	}
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	unlink(path);
	close(fd);
	if (direct < 0) {
		printf("no direct I/O in /var/tmp\n");
		exit(77);
	}
	return direct;
}

static struct rf_disk_request chain(uint32_t op, const uint8_t *data, uint32_t data_len)
{
	return (struct rf_disk_request){.op = op,
					.write_offset = SECTOR,
					.write_len = SECTOR,
					.data = data,
					.data_len = data_len,
					.read_offset = SECTOR,
					.read_len = 2 * SECTOR,
					.deadline_ns = rf_loop_clock_ns() + LIMIT_NS};
}

/* ---- a real file ---- */

static void a_chain_reads_what_it_wrote(void **state)
{
	static _Alignas(4096) uint8_t back[SECTOR];
	uint8_t data[512];
	struct rf_disk_request q;
	struct box b;
	int fd = file_of(1 << 20);

	(void)state;
	memset(data, 0xa5, sizeof(data));
	open_box(&b, fd, 8 * SECTOR, 4);
	q = chain(7, data, sizeof(data));
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	memset(data, 0, sizeof(data)); /* it was copied */
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].op, 7);
	assert_int_equal(b.answer[0].status, 0);
	assert_true(b.answer[0].wrote);
	assert_false(b.answer[0].late);
	assert_int_equal(b.answer[0].len, 2 * SECTOR);
	assert_int_equal(b.answer[0].first, 0xa5);
	assert_int_equal(b.answer[0].last, 0);
	/* at the offset of the area, and the rest of the sector is zero */
	assert_int_equal(pread(fd, back, SECTOR, 9 * SECTOR), SECTOR);
	assert_int_equal(back[511], 0xa5);
	assert_int_equal(back[512], 0);
	assert_int_equal(rf_disks_count(b.disks), 2);
	assert_int_equal(rf_disks_busy(b.disks), 0);
	close_box(&b);
}

static void beyond_the_end_is_an_error(void **state)
{
	struct rf_disk_request q = {.op = 1,
				    .read_offset = (1 << 20) - SECTOR,
				    .read_len = 2 * SECTOR,
				    .deadline_ns = rf_loop_clock_ns() + LIMIT_NS};
	struct box b;

	(void)state;
	open_box(&b, file_of(1 << 20), 0, 4);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].status, -EIO); /* short */
	assert_int_equal(b.answer[0].len, 0);
	close_box(&b);
}

/* §2.3: no read when the write failed. */
static void a_failed_write_breaks_the_chain(void **state)
{
	uint8_t data[512] = {1};
	struct rf_disk_request q = chain(1, data, sizeof(data));
	struct box b;
	int rw = file_of(1 << 20), ro;
	char self[64];

	(void)state;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", rw);
	ro = open(self, O_RDONLY | O_DIRECT | O_CLOEXEC);
	assert_true(ro >= 0);
	open_box(&b, ro, 0, 4);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].status, -EBADF);
	assert_false(b.answer[0].wrote);
	assert_int_equal(b.answer[0].len, 0);
	close_box(&b);
	close(rw);
}

static void what_does_not_fit_is_refused(void **state)
{
	uint8_t data[512] = {1};
	struct rf_disk_request q = chain(1, data, sizeof(data)), bad;
	struct box b;

	(void)state;
	open_box(&b, file_of(1 << 20), 0, 1);
	bad = q;
	bad.write_len = 3 * SECTOR;
	assert_int_equal(rf_disks_submit(b.disks, &bad), -EINVAL);
	bad = q;
	bad.disk = 1;
	assert_int_equal(rf_disks_submit(b.disks, &bad), -EINVAL);
	bad = q;
	bad.data_len = SECTOR + 1;
	assert_int_equal(rf_disks_submit(b.disks, &bad), -EINVAL);
	bad = q;
	bad.op = 9;
	bad.read_len = 17 * SECTOR; /* no request is that large */
	assert_int_equal(rf_disks_submit(b.disks, &bad), 0);
	assert_int_equal(b.count, 0); /* never from inside */
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].op, 9);
	assert_int_equal(b.answer[0].status, -EBUSY);
	assert_false(b.answer[0].wrote);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0); /* small */
	assert_int_equal(rf_disks_submit(b.disks, &q), 0); /* large one lends itself */
	bad = q;
	bad.op = 8;
	assert_int_equal(rf_disks_submit(b.disks, &bad), 0);
	assert_int_equal(rf_disks_busy(b.disks), 2);
	assert_true(answers(&b, 4));
	for (int i = 1; i < 4; i++)
		assert_int_equal(b.answer[i].status, b.answer[i].op == 8 ? -EBUSY : 0);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 5));
	assert_int_equal(b.answer[4].status, 0);
	close_box(&b);
}

/* A device that is missing is refused, and used as soon as it is there. */
static void a_missing_device_can_come_back(void **state)
{
	uint8_t data[512] = {0x77};
	struct rf_disk_request q = chain(1, data, sizeof(data));
	struct box b;

	(void)state;
	open_box(&b, -1, 0, 4);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].status, -ENODEV);
	b.count = 0;
	assert_int_equal(rf_disks_replace(b.disks, 0, file_of(1 << 20), 4 * SECTOR), 0);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	/* while that is under way */
	assert_int_equal(rf_disks_replace(b.disks, 0, file_of(1 << 20), 0), 0);
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].status, 0);
	assert_int_equal(b.answer[0].first, 0x77);
	q.write_len = q.data_len = 0;
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 2));
	assert_int_equal(b.answer[1].status, 0);
	assert_int_equal(b.answer[1].first, 0); /* another device */
	close_box(&b);
}

/* Old descriptors are closed, and too many that are stuck are refused. */
static void descriptors_do_not_pile_up(void **state)
{
	struct rf_disk_request q = {.op = 1, .read_len = SECTOR};
	int pair[2], rc = 0, replaced = 0;
	struct box b;

	(void)state;
	open_box(&b, file_of(1 << 20), 0, 32);
	q.deadline_ns = rf_loop_clock_ns() + LIMIT_NS;
	for (int i = 0; i < 20; i++)
		assert_int_equal(rf_disks_replace(b.disks, 0, file_of(1 << 20), 0), 0);
	while (rc == 0 && replaced < 30) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		rc = rf_disks_replace(b.disks, 0, pair[0], 0);
		if (rc == 0)
			assert_int_equal(rf_disks_submit(b.disks, &q), 0);
		else
			close(pair[0]);
		if (rc == 0 && replaced++ == 0)
			b.peer = pair[1]; /* this one never answers */
		else
			close(pair[1]); /* the others end at once, when the loop runs */
	}
	assert_int_equal(rc, -EBUSY);
	assert_true(answers(&b, replaced - 1));
	assert_int_equal(rf_disks_replace(b.disks, 0, file_of(1 << 20), 0), 0);
	close_box(&b);
}

/* ---- a device that does not answer ---- */

/* A socket takes no other offset than 0. */
static struct rf_disk_request stuck_chain(uint32_t op, const uint8_t *data)
{
	struct rf_disk_request q = chain(op, data, 512);

	q.write_offset = q.read_offset = 0;
	return q;
}

static void open_stuck(struct box *b, uint32_t small)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	open_box(b, pair[0], 0, small);
	b->peer = pair[1];
}

/* §2.2: told at the deadline, owned until the kernel lets go, then told as late. */
static void late_is_told_twice(void **state)
{
	static uint8_t bytes[2 * SECTOR];
	uint8_t data[512] = {9};
	struct rf_disk_request q = stuck_chain(3, data), other;
	struct box b;
	uint64_t began = rf_loop_clock_ns();

	(void)state;
	open_stuck(&b, 1);
	q.deadline_ns = began + 50 * MS;
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_true(answers(&b, 1));
	assert_true(b.at_ns >= q.deadline_ns);
	assert_int_equal(b.answer[0].op, 3);
	assert_int_equal(b.answer[0].status, -ETIME);
	assert_true(b.answer[0].wrote); /* only the read is stuck */
	assert_false(b.answer[0].late);
	assert_int_equal(rf_disks_busy(b.disks), 1);

	other = q; /* its buffer is not given to another: only the large one is left */
	other.op = 4;
	other.deadline_ns = rf_loop_clock_ns() + LIMIT_NS;
	assert_int_equal(rf_disks_submit(b.disks, &other), 0);
	assert_int_equal(rf_disks_busy(b.disks), 2);

	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(write(b.peer, bytes, sizeof(bytes)), sizeof(bytes));
	assert_true(answers(&b, 2));
	assert_int_equal(b.answer[1].op, 3);
	assert_int_equal(b.answer[1].status, 0);
	assert_true(b.answer[1].late);
	assert_int_equal(rf_disks_busy(b.disks), 1);
	assert_int_equal(write(b.peer, bytes, sizeof(bytes)), sizeof(bytes));
	assert_true(answers(&b, 3));
	assert_int_equal(b.answer[2].op, 4);
	assert_int_equal(b.answer[2].first, 0x5a);
	assert_false(b.answer[2].late);
	close_box(&b);
}

/* §2.3: what the peer sends before it saw the write must not satisfy the read early:
 * the read is not even submitted while the write is stuck. */
static void the_read_waits_for_the_write(void **state)
{
	static uint8_t bytes[256 * 1024];
	uint8_t data[512] = {9};
	struct rf_disk_request q = stuck_chain(5, data);
	struct box b;
	ssize_t filled = 0, n;
	int fd[2], have = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	open_box(&b, fd[0], 0, 1);
	b.peer = fd[1];
	while ((n = send(fd[0], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		filled += n; /* now a write has to wait */
	assert_int_equal(write(b.peer, bytes, 2 * SECTOR), 2 * SECTOR);
	assert_int_equal(rf_disks_submit(b.disks, &q), 0);
	assert_false(io_run(b.loop, io_never, NULL, 50 * MS));
	assert_int_equal(b.count, 0);
	assert_int_equal(ioctl(fd[0], FIONREAD, &have), 0);
	assert_int_equal(have, 2 * SECTOR); /* nobody read yet */
	while (filled > 0 && (n = read(b.peer, bytes, sizeof(bytes))) > 0)
		filled -= n;
	assert_true(answers(&b, 1));
	assert_int_equal(b.answer[0].status, 0);
	assert_true(b.answer[0].wrote);
	close_box(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_reads_what_it_wrote),
		cmocka_unit_test(beyond_the_end_is_an_error),
		cmocka_unit_test(a_failed_write_breaks_the_chain),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(a_missing_device_can_come_back),
		cmocka_unit_test(descriptors_do_not_pile_up),
		cmocka_unit_test(late_is_told_twice),
		cmocka_unit_test(the_read_waits_for_the_write),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
