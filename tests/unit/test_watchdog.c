/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watchdog behind a table of calls: a device as the kernel would have it, which
 * says what was done to it. And the verdict whether it may be petted, and the record.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/watchdog.h>

#include "guard.h"
#include "io/watchdog.h"

/* ---- a device ---- */

static struct fake {
	bool missing, busy, sysfs, nowayout;
	const char *identity;
	uint32_t options;
	int least_s, timeout_s;
	int set_error, pet_error;
	/* what was done to it */
	bool running, open, magic;
	unsigned pets;
} dev;

static int fake_open(const char *device)
{
	assert_string_equal(device, "/dev/watchdog7");
	if (dev.missing || dev.busy)
		return dev.missing ? -ENOENT : -EBUSY;
	dev.open = dev.running = true; /* opening arms it */
	dev.magic = false;
	return 5;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct watchdog_info *info = arg;
	int *s = arg;

	assert_int_equal(fd, 5);
	assert_true(dev.open);
	switch (request) {
	case WDIOC_GETSUPPORT:
		info->options = dev.options;
		snprintf((char *)info->identity, sizeof(info->identity), "%s", dev.identity);
		return 0;
	case WDIOC_SETTIMEOUT:
		if (dev.set_error)
			return dev.set_error;
		dev.timeout_s = *s < dev.least_s ? dev.least_s : *s;
		return 0;
	case WDIOC_GETTIMEOUT:
		*s = dev.timeout_s;
		return 0;
	case WDIOC_KEEPALIVE:
		dev.pets++;
		return dev.pet_error;
	}
	return -ENOTTY;
}

static ssize_t fake_write(int fd, const void *data, size_t len)
{
	assert_int_equal(fd, 5);
	dev.magic = memchr(data, 'V', len) != NULL;
	return (ssize_t)len;
}

static int fake_close(int fd)
{
	assert_int_equal(fd, 5);
	dev.open = false;
	if (dev.magic && !dev.nowayout)
		dev.running = false;
	return 0;
}

static bool fake_attribute(const char *device, const char *name, char *out, size_t bytes)
{
	const char *v = !strcmp(name, "identity")   ? dev.identity
			: !strcmp(name, "nowayout") ? (dev.nowayout ? "1" : "0")
			: dev.running               ? "active"
						    : "inactive";

	(void)device;
	if (dev.sysfs)
		snprintf(out, bytes, "%s", v);
	return dev.sysfs;
}

static const struct rf_watchdog_ops ops = {.open = fake_open,
					   .ioctl = fake_ioctl,
					   .write = fake_write,
					   .close = fake_close,
					   .attribute = fake_attribute};

static void make(const char *identity)
{
	dev = (struct fake){.sysfs = true,
			    .identity = identity,
			    .options =
				    WDIOF_SETTIMEOUT | WDIOF_KEEPALIVEPING | WDIOF_MAGICCLOSE};
}

static int open_it(struct rf_watchdog *w, bool hard, char err[160])
{
	err[0] = 0;
	return rf_watchdog_open(w, &ops, "/dev/watchdog7", 12, hard, err, 160);
}

/* ---- the device ---- */

static void armed_petted_and_disarmed_by_a_clean_stop(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("i6300ESB timer");
	assert_int_equal(open_it(&w, true, err), 0);
	assert_int_equal(w.timeout_s, 12);
	assert_false(w.soft | w.stays | w.was_active);
	assert_int_equal(dev.pets, 1); /* the old time may be short */
	assert_int_equal(rf_watchdog_pet(&w), 0);
	assert_int_equal(dev.pets, 2);
	rf_watchdog_close(&w, true);
	assert_false(dev.running | dev.open);
	assert_int_equal(w.fd, -1);
}

static void stays_armed_otherwise(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("i6300ESB timer");
	assert_int_equal(open_it(&w, true, err), 0);
	rf_watchdog_close(&w, false);
	assert_true(dev.running);
}

static void missing_and_busy(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("i6300ESB timer");
	dev.busy = dev.running = true;
	assert_int_equal(open_it(&w, false, err), -EBUSY);
	assert_non_null(strstr(err, "/dev/watchdog7: in use by another program"));
	assert_true(dev.running);
	make("x");
	dev.missing = true;
	dev.sysfs = false;
	assert_int_equal(open_it(&w, false, err), -ENOENT);
	assert_int_equal(w.fd, -1);
	assert_int_equal(rf_watchdog_pet(&w), 0); /* nothing to do, nothing to hurt */
}

/* CASES 16: a soft one will not do for `required`; what is known without opening it
 * is known without arming it. */
static void a_soft_one(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("Software Watchdog");
	assert_int_equal(open_it(&w, true, err), -ENOTSUP);
	assert_non_null(strstr(err, "timer of this kernel"));
	assert_false(dev.running);
	assert_int_equal(open_it(&w, false, err), 0);
	assert_true(w.soft);
	rf_watchdog_close(&w, true);
	dev.sysfs = false; /* only opening it tells; then nobody knows what it was before */
	assert_int_equal(open_it(&w, true, err), -ENOTSUP);
	assert_true(dev.running);
	assert_false(dev.open);
}

static void probing_never_disarms(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("odd");
	dev.options &= ~(uint32_t)WDIOF_SETTIMEOUT;
	assert_int_equal(open_it(&w, false, err), -ENOTSUP);
	assert_non_null(strstr(err, "cannot be given another time"));
	assert_false(dev.running); /* it was off before */
	dev.running = true;        /* the firmware started it, or a daemon that died */
	assert_int_equal(open_it(&w, false, err), -ENOTSUP);
	assert_true(dev.running);
	make("odd");
	dev.running = true;
	dev.set_error = -EINVAL;
	assert_int_equal(open_it(&w, false, err), -EINVAL);
	assert_non_null(strstr(err, "does not take 12 s"));
	assert_true(dev.running);
	make("odd");
	dev.running = true;
	dev.pet_error = -EIO;
	assert_int_equal(open_it(&w, false, err), -EIO);
	assert_true(dev.running);
}

static void what_the_device_makes_of_it(void **state)
{
	struct rf_watchdog w;
	char err[160];

	(void)state;
	make("slow");
	dev.least_s = 60;
	dev.nowayout = true;
	assert_int_equal(open_it(&w, true, err), 0);
	assert_int_equal(w.timeout_s, 60);
	assert_true(w.stays);
	rf_watchdog_close(&w, true);
	assert_true(dev.running);
	make("no magic");
	dev.options &= ~(uint32_t)WDIOF_MAGICCLOSE;
	assert_int_equal(open_it(&w, true, err), 0);
	assert_true(w.stays);
}

/* ---- may it be petted? ---- */

#define MS 1000000ull

static struct rf_guard_volume volume(void)
{
	return (struct rf_guard_volume){
		.name = "vol0", .grace_ns = 200 * MS, .hold_ns = 500 * MS};
}

static void only_while_led_or_drained(void **state)
{
	struct rf_guard_volume v = volume();
	char why[RF_GUARD_TEXT_BYTES] = "";

	(void)state;
	assert_true(rf_guard_safe(&v, 5000 * MS, why)); /* neither */
	v.lease_ns = 6000 * MS;
	assert_true(rf_guard_safe(&v, 5000 * MS, why));
	assert_true(rf_guard_safe(&v, 6700 * MS, why)); /* held, and its grace */
	assert_false(rf_guard_safe(&v, 6701 * MS, why));
	assert_string_equal(why, "vol0 is held without a lease for 701 ms");
	v.lease_ns = 0;
	v.draining_ns = 5000 * MS;
	assert_true(rf_guard_safe(&v, 5200 * MS, why));
	assert_false(rf_guard_safe(&v, 5201 * MS, why));
	assert_string_equal(why, "vol0 did not drain within 200 ms");
	v.draining_ns = 0;
	assert_true(rf_guard_safe(&v, 9000 * MS, why));
}

/* CASES 20: a target that is away resets none of its hosts. */
static void not_for_what_the_target_refuses(void **state)
{
	struct rf_guard_volume v = volume();
	char why[RF_GUARD_TEXT_BYTES];

	(void)state;
	v.draining_ns = 1;
	v.target_side = true;
	assert_true(rf_guard_safe(&v, 9000 * MS, why));
}

static void fires_after_lease_and_grace(void **state)
{
	(void)state;
	assert_int_equal(rf_guard_timeout_s(1000, 200), 2);
	assert_int_equal(rf_guard_timeout_s(100, 20), 2);
	assert_int_equal(rf_guard_timeout_s(10000, 2000), 12);
	assert_int_equal(rf_guard_timeout_s(10000, 2001), 13);
}

/* ---- the record ---- */

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void the_next_boot_reads_why(void **state)
{
	char dir[] = "/tmp/rf-watchdog.XXXXXX", path[64], why[RF_GUARD_TEXT_BYTES];
	uint64_t when;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib/watchdog", dir);
	assert_false(rf_guard_recall(path, "boot-b", why, &when));
	assert_int_equal(rf_guard_record(path, "boot-a", "vol0 did not drain"), 0);
	assert_int_equal(rf_guard_record(path, "boot-a", "vol1 did not drain"), 0);
	assert_true(rf_guard_recall(path, "boot-b", why, &when));
	assert_string_equal(why, "vol1 did not drain");
	assert_true(when / 1000000000u + 60 > (uint64_t)time(NULL));
	assert_false(rf_guard_recall(path, "boot-a", why, &when)); /* no reset came */
	put_text(path, "");
	assert_false(rf_guard_recall(path, "boot-b", why, &when));
	put_text(path, "boot-a");
	assert_false(rf_guard_recall(path, "boot-b", why, &when));
	put_text(path, "boot-a \033[2Jx");
	assert_true(rf_guard_recall(path, "boot-b", why, &when));
	assert_string_equal(why, "?[2Jx");
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true(rf_guard_record(path, "boot-a", "x") < 0); /* where somebody else points */
	unlink(path);
	snprintf(path, sizeof(path), "%s/lib", dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/no/such/place", dir);
	assert_int_equal(rf_guard_record(path, "boot-a", "x"), -ENOENT);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(armed_petted_and_disarmed_by_a_clean_stop),
		cmocka_unit_test(stays_armed_otherwise),
		cmocka_unit_test(missing_and_busy),
		cmocka_unit_test(a_soft_one),
		cmocka_unit_test(probing_never_disarms),
		cmocka_unit_test(what_the_device_makes_of_it),
		cmocka_unit_test(only_while_led_or_drained),
		cmocka_unit_test(not_for_what_the_target_refuses),
		cmocka_unit_test(fires_after_lease_and_grace),
		cmocka_unit_test(the_next_boot_reads_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
