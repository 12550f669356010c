/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What targets send of reservations, whole, cut off and hostile; and the paths of a
 * device, in a sysfs made of files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../fence/pr.h"

/* ---- what targets send ---- */

static void full_status(void **state)
{
	uint8_t d[256] = {0, 0, 0, 9, 0, 0, 0, 24 + 8 + 24};
	struct rf_pr_look look;

	(void)state;
	d[8 + 7] = 0x11;
	d[8 + 12] = 1;
	d[8 + 13] = 5;
	d[8 + 23] = 8;
	d[8 + 32 + 7] = 0x22;
	assert_int_equal(rf_pr_parse_full(d, sizeof(d), &look), 0);
	assert_int_equal(look.count, 2);
	assert_true(look.held);
	assert_int_equal(look.holder, 0x11);
	assert_int_equal(look.key[1], 0x22);
	assert_int_equal(look.type, 5);
	for (size_t n = 0; n < 64; n++)
		assert_int_equal(rf_pr_parse_full(d, n, &look), -EPROTO);
	d[8 + 20] = 0xff; /* a transport id of 4 GiB */
	assert_int_equal(rf_pr_parse_full(d, sizeof(d), &look), -EPROTO);
}

static void keys_and_holder(void **state)
{
	uint8_t k[24] = {0, 0, 0, 1, 0, 0, 0, 16}, h[24] = {0, 0, 0, 1, 0, 0, 0, 16};
	struct rf_pr_look look;

	(void)state;
	k[15] = 1;
	k[23] = 2;
	h[15] = 2;
	h[21] = 5;
	assert_int_equal(rf_pr_parse_keys(k, sizeof(k), &look), 0);
	assert_int_equal(rf_pr_parse_holder(h, sizeof(h), &look), 0);
	assert_int_equal(look.count, 2);
	assert_int_equal(look.holder, 2);
	assert_int_equal(look.type, 5);
	assert_int_equal(rf_pr_parse_keys(k, 23, &look), -EPROTO);
	assert_int_equal(rf_pr_parse_holder(h, 23, &look), -EPROTO);
	k[4] = 0xff; /* a list of 4 GiB */
	assert_int_equal(rf_pr_parse_keys(k, sizeof(k), &look), -EPROTO);
	h[4] = 0xff;
	assert_int_equal(rf_pr_parse_holder(h, sizeof(h), &look), -EPROTO);
	h[4] = 0;
	h[7] = 0;
	assert_int_equal(rf_pr_parse_holder(h, 8, &look), 0);
	assert_false(look.held);
	h[7] = 8;
	assert_int_equal(rf_pr_parse_holder(h, sizeof(h), &look), -EPROTO);
}

static void nvme_report(void **state)
{
	uint8_t d[72] = {7, 0, 0, 0, 3, 2, 0};
	struct rf_pr_look look;

	(void)state;
	d[24 + 2] = 1;
	d[24 + 16] = 0x11;
	d[48 + 16] = 0x22;
	assert_int_equal(rf_pr_parse_nvme(d, sizeof(d), false, &look), 0);
	assert_int_equal(look.count, 2);
	assert_int_equal(look.holder, 0x11);
	assert_int_equal(look.type, RF_PR_REGISTRANTS_ONLY);
	assert_int_equal(rf_pr_parse_nvme(d, 71, false, &look), -EPROTO);
	assert_int_equal(rf_pr_parse_nvme(d, 8, false, &look), -EPROTO);
	d[6] = 0xff;
	assert_int_equal(rf_pr_parse_nvme(d, sizeof(d), false, &look), -EPROTO);
}

static void nvme_extended_report(void **state)
{
	uint8_t d[3 * 64] = {7, 0, 0, 0, 3, 2, 0};
	struct rf_pr_look look;

	(void)state;
	d[64 + 8] = 0x11;
	d[128 + 2] = 1;
	d[128 + 8] = 0x22;
	memset(d + 128 + 16, 0xee, 16); /* the host's identifier */
	assert_int_equal(rf_pr_parse_nvme(d, sizeof(d), true, &look), 0);
	assert_int_equal(look.count, 2);
	assert_int_equal(look.key[0], 0x11);
	assert_int_equal(look.holder, 0x22);
	for (size_t n = 0; n < sizeof(d); n++)
		assert_int_equal(rf_pr_parse_nvme(d, n, true, &look), -EPROTO);
}

/* ---- what the kernel returns ---- */

static void status_of_ioctls(void **state)
{
	static const struct {
		int r, error;
		bool nvme;
		enum rf_pr_status status;
	} seen[] = {
		{0, 0, false, RF_PR_OK},
		{0x118, 0, false, RF_PR_CONFLICT},
		{0x18, 0, false, RF_PR_CONFLICT},
		{2, 0, false, RF_PR_ATTENTION},
		{0x102, 0, false, RF_PR_ATTENTION},
		{0xe0000, 0, false, RF_PR_FAILED},
		{0x10018, 0, false, RF_PR_FAILED},
		{-1, EOPNOTSUPP, false, RF_PR_UNSUPPORTED},
		{-1, EIO, false, RF_PR_FAILED},
		{0x83, 0, true, RF_PR_CONFLICT}, /* 6.1 */
		{0x4083, 0, true, RF_PR_CONFLICT},
		{0x18, 0, true, RF_PR_CONFLICT},
		{0x4001, 0, true, RF_PR_UNSUPPORTED},
		{0x4002, 0, true, RF_PR_UNSUPPORTED},
		{2, 0, true, RF_PR_ATTENTION}, /* any error, may have happened */
		{0x371, 0, true, RF_PR_FAILED},
		{0x10000, 0, true, RF_PR_FAILED},
		{-1, EINVAL, true, RF_PR_UNSUPPORTED},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		assert_int_equal(rf_pr_status_of(seen[i].r, seen[i].error, seen[i].nvme),
				 seen[i].status);
}

/* ---- paths, in a sysfs made of files ---- */

static char sysfs[64];

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *fmt, ...)
{
	char path[256], *p;
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/", sysfs);
	va_start(ap, fmt);
	vsnprintf(path + strlen(path), sizeof(path) - strlen(path), fmt, ap);
	va_end(ap);
	for (p = path + strlen(sysfs) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_disk(const char *dir, const char *name, unsigned minor)
{
	char text[64];

	snprintf(text, sizeof(text), "MAJOR=8\nMINOR=%u\nDEVNAME=%s\nDEVTYPE=disk\n", minor,
		 name);
	put(text, "%s/uevent", dir);
	snprintf(text, sizeof(text), "8:%u\n", minor);
	put(text, "%s/dev", dir);
	put("42\n", "%s/diskseq", dir);
}

static int find(unsigned major, unsigned minor, struct rf_pr_node *node)
{
	char err[160] = "";
	int n = rf_pr_find(sysfs, major, minor, node, err, sizeof(err));

	assert_true(n > 0 || *err);
	return n;
}

static void paths_of_a_device(void **state)
{
	struct rf_pr_node node[RF_PR_PATHS_MAX];
	char command[96];

	(void)state;
	snprintf(sysfs, sizeof(sysfs), "/tmp/rf-sysfs-XXXXXX");
	assert_non_null(mkdtemp(sysfs));
	put_disk("dev/block/8:0", "sda", 0);
	put("1\n", "dev/block/8:1/partition");
	put_disk("dev/block/253:0/slaves/sdb", "sdb", 16);
	put_disk("dev/block/253:0/slaves/sdc", "sdc", 32);
	put("mpath-360014\n", "dev/block/253:0/dm/uuid");
	put("LVM-abc\n", "dev/block/253:1/dm/uuid");
	put("mpath-360014\n", "dev/block/253:1/slaves/dm-0/dm/uuid");
	put_disk("dev/block/253:1/slaves/dm-0/slaves/sdb", "sdb", 16);
	put("LVM-two\n", "dev/block/253:2/dm/uuid");
	put_disk("dev/block/253:2/slaves/sdb", "sdb", 16);
	put_disk("dev/block/253:2/slaves/sdd", "sdd", 48);
	put_disk("dev/block/8:64", "../../etc", 64);
	put_disk("dev/block/259:0", "nvme0n1", 0);
	put_disk("dev/block/253:3/slaves/sdb", "sdb", 16);
	put("running\n", "dev/block/253:3/slaves/sdb/device/state");
	put_disk("dev/block/253:4/slaves/sdc", "sdc", 32);
	put("blocked\n", "dev/block/253:4/slaves/sdc/device/state");
	put("mpath-1\n", "dev/block/253:3/dm/uuid");
	put("mpath-1\n", "dev/block/253:4/dm/uuid");

	assert_int_equal(find(8, 0, node), 1);
	assert_string_equal(node[0].name, "sda");
	assert_int_equal(node[0].seq, 42);
	assert_int_equal(find(8, 1, node), -EINVAL);
	assert_int_equal(find(253, 0, node), 2);
	assert_int_equal(node[0].minor + node[1].minor, 48);
	assert_int_equal(find(253, 1, node), 1);
	assert_string_equal(node[0].name, "sdb");
	assert_int_equal(find(253, 2, node), -EINVAL);
	assert_int_equal(find(8, 64, node), -ENODEV);
	assert_int_equal(find(8, 99, node), -ENODEV);
	assert_int_equal(find(259, 0, node), 1);
	assert_true(node[0].nvme);
	assert_int_equal(find(253, 3, node), 1);
	assert_false(node[0].away);
	assert_int_equal(find(253, 4, node), 1); /* a path it is */
	assert_true(node[0].away);
	snprintf(command, sizeof(command), "rm -r %s", sysfs);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_status),      cmocka_unit_test(keys_and_holder),
		cmocka_unit_test(nvme_report),      cmocka_unit_test(nvme_extended_report),
		cmocka_unit_test(status_of_ioctls), cmocka_unit_test(paths_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
