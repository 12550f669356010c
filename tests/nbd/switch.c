/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fence at the target, §8b: who may write, and what a switch proves. */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define A 0x1111111111111111ull
#define B 0x2222222222222222ull
#define C 0x3333333333333333ull

static struct lab lab;
static char block[4096];

static int setup(void **state)
{
	(void)state;
	lab_make(&lab, 1);
	return 0;
}

static int setup_three(void **state)
{
	(void)state;
	lab_make(&lab, 3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lab_remove(&lab);
	return 0;
}

static struct nbd_handle *must(struct nbd_handle *h)
{
	if (!h)
		fail_msg("refused: %s", nbd_get_error());
	return h;
}

static int write_at(struct nbd_handle *h, char fill, uint64_t offset)
{
	memset(block, fill, sizeof(block));
	return nbd_pwrite(h, block, sizeof(block), offset, 0);
}

static char disk_byte(uint64_t offset)
{
	int fd = open(lab.data, O_RDONLY);
	char c = 0;

	assert_int_equal(pread(fd, &c, 1, (off_t)offset), 1);
	close(fd);
	return c;
}

static void assert_fenced(int rc)
{
	assert_int_equal(rc, -1);
	assert_int_equal(nbd_get_errno(), ESHUTDOWN);
}

static void test_switch(void **state)
{
	struct nbd_handle *a, *b;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	assert_true(lab_stat_is(&lab, "state", "idle"));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(nbd_get_size(a), LAB_DATA_BYTES);
	assert_true(nbd_can_multi_conn(a) && nbd_can_fua(a) && nbd_can_trim(a) &&
		    nbd_can_zero(a) && nbd_can_flush(a));
	assert_int_equal(write_at(a, 'a', 0), 0);
	assert_int_equal(nbd_flush(a, 0), 0);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	/* decided on disk, not presented here: the old one goes on */
	assert_int_equal(write_at(a, 'b', 4096), 0);
	b = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	assert_fenced(write_at(a, 'x', 0));
	assert_fenced(nbd_pwrite(a, block, 512, 8192, LIBNBD_CMD_FLAG_FUA));
	assert_fenced(nbd_zero(a, 4096, 0, 0));
	assert_fenced(nbd_zero(a, 4096, 0, LIBNBD_CMD_FLAG_NO_HOLE));
	assert_fenced(nbd_trim(a, 4096, 0, 0));
	assert_fenced(nbd_flush(a, 0));
	assert_int_equal(nbd_pread(a, block, 512, 0, 0), 0);
	assert_int_equal(disk_byte(0), 'a');
	assert_int_equal(disk_byte(4096), 'b');
	assert_int_equal(write_at(b, 'c', 0), 0);
	assert_int_equal(nbd_pwrite(b, block, 512, 8192, LIBNBD_CMD_FLAG_FUA), 0);
	assert_int_equal(lab_stat(&lab, "epoch"), 2);
	assert_int_equal(lab_stat(&lab, "switches"), 2);
	assert_int_equal(lab_stat(&lab, "refused_write"), 2);
	assert_int_equal(lab_stat(&lab, "refused_zero"), 2);
	assert_int_equal(lab_stat(&lab, "refused_trim"), 1);
	assert_int_equal(lab_stat(&lab, "refused_flush"), 1);
	assert_int_equal(lab_stat(&lab, "connections"), 2);
	nbd_close(a);
	nbd_close(b);
}

/* A client that reconnects presents its old name, and is refused at open. */
static void test_replay(void **state)
{
	struct nbd_handle *a, *b;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	nbd_close(a);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1)); /* still its own: welcome */
	nbd_close(a);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	b = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(lab_stat(&lab, "refused_stale"), 1);
	/* the same epoch, but another life or another node */
	assert_null(lab_open(&lab, RF_CONN_DATA, 2, C, 2));
	assert_null(lab_open(&lab, RF_CONN_DATA, 3, B, 2));
	assert_int_equal(lab_stat(&lab, "refused_other"), 2);
	assert_int_equal(write_at(b, 'b', 0), 0);
	nbd_close(b);
}

static void test_not_on_disk(void **state)
{
	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1)); /* sector: none */
	lab_epoch(&lab, -1, 5, 1, A, RF_EPOCH_CLAIMED);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 6)); /* not decided */
	assert_null(lab_open(&lab, RF_CONN_DATA, 2, B, 5)); /* another owns it */
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, B, 5)); /* another life of it */
	assert_int_equal(lab_stat(&lab, "refused_not_owner"), 4);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 4));
	/* §6: a ballot of e+1 with a vote, or of e+2 without, supersedes */
	lab_ballot(&lab, -1, 3, 6, 3u << RF_BALLOT_NODE_BITS | 3);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 5));
	lab_ballot(&lab, -1, 3, 7, 0);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 5));
	assert_int_equal(lab_stat(&lab, "refused_superseded"), 3);
	lab_ballot(&lab, -1, 3, 6, 0); /* only an attempt */
	lab_epoch(&lab, -1, 5, 1, A, RF_EPOCH_RELEASED);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 5));
	assert_int_equal(lab_stat(&lab, "refused_released"), 1);
	lab_epoch(&lab, -1, 5, 1, A, RF_EPOCH_CLAIMED);
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 1, A, 5)));
}

static void test_unreadable(void **state)
{
	uint8_t zero[RF_RECORD_BYTES] = {0};

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	lab_put(&lab, -1, rf_geo_ballot(&lab.super, 0, 4), zero);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(lab_stat(&lab, "refused_unreadable"), 1);
	assert_true(lab_stat_is(&lab, "state", "idle"));
}

static void test_names(void **state)
{
	char name[RF_CONN_NAME_BYTES], bad[600];
	size_t i, len;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	lab_name(&lab, name, RF_CONN_DATA, 1, A, 1);
	len = strlen(name);
	for (i = 0; i < len; i += 7) {
		memcpy(bad, name, len + 1);
		bad[i] = bad[i] == '1' ? '2' : '1';
		assert_null(lab_open_name(&lab, bad));
	}
	assert_null(lab_open_name(&lab, ""));
	assert_null(lab_open_name(&lab, "rf1"));
	assert_null(lab_open_name(&lab, "rf1.data.1..0.1.1.1.1"));
	assert_null(lab_open_name(&lab, "%s%n%n\x01\x1b[31m\n"));
	memset(bad, '.', sizeof(bad) - 1);
	bad[sizeof(bad) - 1] = 0;
	assert_null(lab_open_name(&lab, bad));
	snprintf(bad, sizeof(bad), "%s.", name);
	assert_null(lab_open_name(&lab, bad));
	/* another area, a volume that is not served, a node that is none */
	lab.super.id.area[0] ^= 1;
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	lab.super.id.area[0] ^= 1;
	assert_null(lab_open(&lab, RF_CONN_DATA, LAB_NODES + 1, A, 1));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 0));
	assert_int_equal(lab_stat(&lab, "target_refused_area"), 1);
	assert_true(lab_stat(&lab, "target_refused_name") >= 5);
	assert_true(lab_stat(&lab, "target_refused_mac") >= 5);
	nbd_close(must(lab_open_name(&lab, name)));
}

static void test_keys_rotate(void **state)
{
	char name[RF_CONN_NAME_BYTES];
	struct rf_keys only_new = {.count = 1};
	struct rf_conn c = {.kind = RF_CONN_STAT, .node = 1};
	FILE *f;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	memcpy(c.area, lab.super.id.area, RF_UUID_BYTES);
	only_new.key[0].id = 9;
	memset(only_new.key[0].bytes, 0xab, RF_KEY_BYTES);
	rf_conn_name(name, &c, &only_new);
	assert_null(lab_open_name(&lab, name));
	assert_int_equal(lab_stat(&lab, "target_refused_key"), 1);
	f = fopen(lab.key, "a");
	fprintf(f, "9 abababababababababababababababababababababababababababababababab\n");
	fclose(f);
	nbd_close(must(lab_open_name(&lab, name)));
	assert_int_equal(lab_stat(&lab, "target_refused_key"), 1); /* the old one, too */
}

struct opener {
	pthread_t thread;
	uint32_t node;
	uint64_t incarnation, epoch;
	enum rf_conn_kind kind;
	atomic_bool done;
	struct nbd_handle *h;
};

static void *open_thread(void *arg)
{
	struct opener *o = arg;

	o->h = lab_open(&lab, o->kind, o->node, o->incarnation, o->epoch);
	atomic_store(&o->done, true);
	return NULL;
}

static int ignore(void *data, int *error)
{
	*(int *)data = *error ? *error : -1;
	return 1;
}

/* The handshake of the newer epoch is not answered while an older write is
 * inside the system call; that write is then on the disk before it. */
static void wait_for_slow_write(enum rf_conn_kind kind)
{
	struct opener o = {.kind = kind};
	struct nbd_handle *a;
	int first = 0, second = 0;

	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	lab_hold(&lab);
	memset(block, 's', sizeof(block));
	assert_true(nbd_aio_pwrite(
			    a, block, sizeof(block), 0,
			    (nbd_completion_callback){.callback = ignore, .user_data = &first},
			    0) >= 0);
	lab_held(&lab);
	o.node = kind == RF_CONN_SHUT ? 1 : 2;
	o.incarnation = kind == RF_CONN_SHUT ? A : B;
	o.epoch = kind == RF_CONN_SHUT ? 1 : 2;
	if (kind == RF_CONN_DATA)
		lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	pthread_create(&o.thread, NULL, open_thread, &o);
	LAB_WAIT(lab_stat(&lab, "switching") == 1);
	/* a write behind the switch waits, and is refused */
	assert_true(nbd_aio_pwrite(
			    a, block, sizeof(block), 4096,
			    (nbd_completion_callback){.callback = ignore, .user_data = &second},
			    0) >= 0);
	assert_false(atomic_load(&o.done));
	assert_int_equal(disk_byte(0), 0);
	lab_let(&lab);
	pthread_join(o.thread, NULL);
	must(o.h);
	assert_int_equal(disk_byte(0), 's');
	while (!first || !second)
		assert_true(nbd_poll(a, (int)LAB_LIMIT_MS) >= 0);
	assert_int_equal(first, -1);
	assert_int_equal(second, ESHUTDOWN);
	assert_int_equal(disk_byte(4096), 0);
	nbd_close(a);
	nbd_close(o.h);
}

static void test_switch_waits(void **state)
{
	(void)state;
	assert_true(lab_serve(&lab, NULL, true));
	wait_for_slow_write(RF_CONN_DATA);
}

static void test_shut_waits(void **state)
{
	(void)state;
	assert_true(lab_serve(&lab, NULL, true));
	wait_for_slow_write(RF_CONN_SHUT);
	assert_true(lab_stat_is(&lab, "state", "ended"));
}

static void test_shut(void **state)
{
	struct nbd_handle *a, *s;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_null(lab_open(&lab, RF_CONN_SHUT, 1, B, 1)); /* not its life */
	assert_null(lab_open(&lab, RF_CONN_SHUT, 2, A, 1));
	assert_null(lab_open(&lab, RF_CONN_SHUT, 1, A, 99)); /* never owned */
	assert_int_equal(write_at(a, 'a', 0), 0);
	s = must(lab_open(&lab, RF_CONN_SHUT, 1, A, 1));
	assert_fenced(write_at(a, 'x', 0));
	assert_fenced(nbd_flush(a, 0));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(lab_stat(&lab, "refused_ended"), 1);
	nbd_close(s);
	s = must(lab_open(&lab, RF_CONN_SHUT, 1, A, 1)); /* asked again, answered again */
	nbd_close(s);
	nbd_close(a);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	s = must(lab_open(&lab, RF_CONN_SHUT, 1, A, 1)); /* long over: true */
	assert_int_equal(write_at(a, 'b', 0), 0);
	nbd_close(s);
	nbd_close(a);
}

/* An epoch that was shut before it was ever served is not served later. */
static void test_shut_first(void **state)
{
	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 3, 1, A, RF_EPOCH_CLAIMED);
	nbd_close(must(lab_open(&lab, RF_CONN_SHUT, 1, A, 3)));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 3));
	assert_int_equal(lab_stat(&lab, "refused_ended"), 1);
}

static void test_restart(void **state)
{
	struct nbd_handle *a;

	(void)state;
	lab_epoch(&lab, -1, 7, 1, A, RF_EPOCH_CLAIMED);
	assert_true(lab_serve(&lab, NULL, false));
	assert_int_equal(lab_stat(&lab, "epoch"), 7);
	assert_int_equal(lab_stat(&lab, "disk_epoch"), 7);
	assert_int_equal(lab_stat(&lab, "disk_node"), 1);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 6));
	/* served before the start? only an open slot of this life says go on */
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 7));
	lab_slot(&lab, -1, 1, A, false);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 7));
	lab_slot(&lab, -1, 1, C, true);
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 7));
	assert_int_equal(lab_stat(&lab, "refused_closed"), 3);
	lab_slot(&lab, -1, 1, A, true);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 7));
	assert_int_equal(write_at(a, 'a', 0), 0);
	nbd_close(a);
	/* a newer one than any of before the start needs no open slot: the switch
	 * comes before its gate opens */
	lab_epoch(&lab, -1, 8, 2, B, RF_EPOCH_CLAIMED);
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 2, B, 8)));
}

static void remove_state(const char *dir)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5-0.shut", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* With a state-dir a shut is remembered whatever the slot says. */
static void test_restart_shut(void **state)
{
	char dir[300], param[320];
	const char *extra[] = {param, NULL};

	(void)state;
	snprintf(dir, sizeof(dir), "%s/state", lab.dir);
	snprintf(param, sizeof(param), "state-dir=%s", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_true(lab_serve(&lab, extra, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	lab_slot(&lab, -1, 1, A, true);
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 1, A, 1)));
	nbd_close(must(lab_open(&lab, RF_CONN_SHUT, 1, A, 1)));
	lab_stop(&lab);
	assert_true(lab_serve(&lab, extra, false));
	assert_true(lab_stat_is(&lab, "state", "ended"));
	assert_null(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	lab_epoch(&lab, -1, 2, 1, A, RF_EPOCH_CLAIMED);
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 1, A, 2)));
	remove_state(dir);
}

static void test_reads_refused(void **state)
{
	const char *extra[] = {"reads=refuse", NULL};
	struct nbd_handle *a, *b;

	(void)state;
	assert_true(lab_serve(&lab, extra, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(nbd_pread(a, block, 512, 0, 0), 0);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	b = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	assert_fenced(nbd_pread(a, block, 512, 0, 0));
	assert_int_equal(nbd_pread(b, block, 512, 0, 0), 0);
	nbd_close(a);
	nbd_close(b);
}

static void test_requests(void **state)
{
	struct nbd_handle *a;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	assert_int_equal(write_at(a, 'z', 65536), 0);
	assert_int_equal(nbd_zero(a, 1000, 65536 + 10, 0), 0);
	assert_int_equal(nbd_zero(a, 100, 65536 + 2000, LIBNBD_CMD_FLAG_NO_HOLE), 0);
	assert_int_equal(disk_byte(65536 + 9), 'z');
	assert_int_equal(disk_byte(65536 + 10), 0);
	assert_int_equal(disk_byte(65536 + 1009), 0);
	assert_int_equal(disk_byte(65536 + 1010), 'z');
	assert_int_equal(disk_byte(65536 + 2000), 0);
	assert_int_equal(nbd_trim(a, 4096, 65536, LIBNBD_CMD_FLAG_FUA), 0);
	assert_int_equal(nbd_pread(a, block, 4096, 65536, 0), 0);
	assert_int_equal(block[0] | block[4095], 0);
	assert_int_equal(nbd_zero(a, 4096, 0, LIBNBD_CMD_FLAG_FUA), 0);
	assert_int_equal(nbd_pwrite(a, block, 512, LAB_DATA_BYTES, 0), -1);
	assert_int_equal(nbd_pread(a, block, 512, LAB_DATA_BYTES - 256, 0), -1);
	nbd_close(a);
}

/* Three disks: OWNED on one and a majority that does not object. */
static void test_majority(void **state)
{
	uint8_t zero[RF_RECORD_BYTES] = {0};
	struct nbd_handle *a;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, 2, 1, 1, A, RF_EPOCH_CLAIMED); /* one disk is enough for OWNED */
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	nbd_close(a);
	lab_epoch(&lab, 0, 2, 2, B, RF_EPOCH_CLAIMED);
	lab_put(&lab, 1, rf_geo_region(&lab.super, 0), zero);
	a = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2)); /* one unreadable: still two */
	nbd_close(a);
	lab_epoch(&lab, 0, 3, 3, C, RF_EPOCH_CLAIMED);
	lab_put(&lab, 2, rf_geo_ballot(&lab.super, 0, 1), zero);
	assert_null(lab_open(&lab, RF_CONN_DATA, 3, C, 3)); /* two unreadable */
	assert_int_equal(lab_stat(&lab, "refused_unreadable"), 1);
	lab_ballot(&lab, 2, 1, 0, 0);
	lab_ballot(&lab, 2, 4, 4, 1u << RF_BALLOT_NODE_BITS | 4);
	assert_null(lab_open(&lab, RF_CONN_DATA, 3, C, 3)); /* superseded on one disk */
	assert_int_equal(lab_stat(&lab, "refused_superseded"), 1);
}

static void test_disk_missing(void **state)
{
	struct nbd_handle *a;

	(void)state;
	lab_epoch(&lab, 1, 1, 1, A, RF_EPOCH_CLAIMED);
	assert_int_equal(unlink(lab.area[0]), 0);
	assert_true(lab_serve(&lab, NULL, false));
	lab_slot(&lab, -1, 1, A, true);
	a = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
	nbd_close(a);
	lab_stop(&lab);
	assert_int_equal(unlink(lab.area[1]), 0);
	assert_false(lab_serve(&lab, NULL, false)); /* one of three */
}

/* A disk that hangs costs nothing while the others decide; and it is not waited
 * for without end when they cannot. */
static void test_disk_hangs(void **state)
{
	char path[320];
	uint64_t begin;
	FILE *f;

	(void)state;
	assert_true(lab_serve(&lab, NULL, true));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	snprintf(path, sizeof(path), "%s.reads", lab.gate);
	f = fopen(path, "w");
	fputs("1", f);
	fclose(f);
	begin = lab_now_ms();
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 1, A, 1)));
	assert_true(lab_now_ms() - begin < 2500);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	lab_ballot(&lab, 0, 3, 3, 1u << RF_BALLOT_NODE_BITS | 3);
	assert_null(lab_open(&lab, RF_CONN_DATA, 2, B, 2)); /* superseded on one is enough */
	lab_ballot(&lab, 0, 3, 0, 0);
	f = fopen(path, "w");
	fputs("1", f);
	fclose(f);
	assert_int_equal(truncate(lab.area[2], 4096), 0); /* and another is gone */
	assert_null(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	assert_int_equal(lab_stat(&lab, "refused_unreadable"), 1);
	assert_int_equal(unlink(path), 0);
	nbd_close(must(lab_open(&lab, RF_CONN_DATA, 2, B, 2))); /* it is back */
}

static void test_start_refused(void **state)
{
	uint8_t record[RF_RECORD_BYTES] = {0};
	char param[320], same[320];
	const char *missing[] = {"volume=nope:/dev/null", NULL};
	const char *twice[] = {param, NULL};
	const char *overlap[] = {same, NULL};

	(void)state;
	assert_false(lab_serve(&lab, missing, false));
	/* the same file under a second name: locked by the first */
	snprintf(param, sizeof(param), "volume=v1:%s", lab.data);
	assert_false(lab_serve(&lab, twice, false));
	snprintf(same, sizeof(same), "volume=v1:%s", lab.area[0]);
	assert_false(lab_serve(&lab, overlap, false));
	lab_put(&lab, -1, 0, record);
	assert_true(lab_serve(&lab, NULL, false)); /* the copy at the tail is good */
	lab_stop(&lab);
	lab_put(&lab, -1, rf_geo_copy(&lab.super), record);
	assert_false(lab_serve(&lab, NULL, false));
}

/* ---- a storm of writes does not delay a switch ---- */

static atomic_bool storm_over;

static void *storm(void *arg)
{
	char mine[4096];

	memset(mine, 'w', sizeof(mine));
	while (!atomic_load(&storm_over))
		if (nbd_pwrite(arg, mine, sizeof(mine), 0, 0))
			return NULL;
	return NULL;
}

static void test_storm(void **state)
{
	enum { WRITERS = 6 };
	struct nbd_handle *h[WRITERS], *b;
	pthread_t t[WRITERS];
	int i;

	(void)state;
	assert_true(lab_serve(&lab, NULL, false));
	lab_epoch(&lab, -1, 1, 1, A, RF_EPOCH_CLAIMED);
	atomic_store(&storm_over, false);
	for (i = 0; i < WRITERS; i++) {
		h[i] = must(lab_open(&lab, RF_CONN_DATA, 1, A, 1));
		pthread_create(&t[i], NULL, storm, h[i]);
	}
	LAB_WAIT(lab_stat(&lab, "admitted") > 200);
	lab_epoch(&lab, -1, 2, 2, B, RF_EPOCH_CLAIMED);
	b = must(lab_open(&lab, RF_CONN_DATA, 2, B, 2));
	for (i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL); /* each ends by being refused */
	assert_int_equal(write_at(b, 'b', 0), 0);
	assert_int_equal(disk_byte(0), 'b');
	print_message("# switch under a storm took %llu us\n",
		      (unsigned long long)lab_stat(&lab, "last_switch_us"));
	for (i = 0; i < WRITERS; i++)
		nbd_close(h[i]);
	nbd_close(b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T3(f) cmocka_unit_test_setup_teardown(f, setup_three, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_switch),        T(test_replay),      T(test_not_on_disk),
		T(test_unreadable),    T(test_names),       T(test_keys_rotate),
		T(test_switch_waits),  T(test_shut_waits),  T(test_shut),
		T(test_shut_first),    T(test_restart),     T(test_restart_shut),
		T(test_reads_refused), T(test_requests),    T3(test_majority),
		T3(test_disk_missing), T3(test_disk_hangs), T(test_start_refused),
		T(test_storm),
	};

	if (!lab_can_run())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
