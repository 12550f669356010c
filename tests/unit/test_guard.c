/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of daemon/guard.c: what follows when the watchdog cannot be petted. */
#include <errno.h>
#include <linux/watchdog.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon.h"
#include "log.h"

/* ---- a daemon of one area and two volumes, and a watchdog that may break ---- */

static struct part part;
static struct managed managed[2];
static struct daemon d;
static bool paused, disarmed;
static int pet_error, pets;
static char orders[64], said[512];

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	(void)fd;
	(void)arg;
	assert_true(request == WDIOC_KEEPALIVE);
	pets++;
	return pet_error;
}

static ssize_t fake_write(int fd, const void *data, size_t len)
{
	(void)fd;
	assert_int_equal(len, 1);
	disarmed = *(const char *)data == 'V';
	return 1;
}

static int fake_close(int fd)
{
	(void)fd;
	return 0;
}

static const struct rf_watchdog_ops fake_ops = {
	.ioctl = fake_ioctl, .write = fake_write, .close = fake_close};

/* Not that of the host this runs on. */
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	assert_string_equal(path, RF_GUARD_RECORD);
	return 0;
}

void rf_guard_past(struct daemon *daemon, const char *why, uint64_t unix_ns)
{
	(void)daemon;
	(void)why;
	(void)unix_ns;
	fail();
}

static int fake_admin(void *world, uint32_t verb, uint32_t volume, uint32_t node)
{
	size_t used = strlen(orders);

	(void)node;
	assert_ptr_equal(world, &d);
	if (verb == RF_CTL_PAUSE)
		paused = true;
	snprintf(orders + used, sizeof(orders) - used, "%s%u ",
		 verb == RF_CTL_PAUSE    ? "pause"
		 : verb == RF_CTL_RESIGN ? "resign"
					 : "?",
		 volume);
	return 0;
}

const struct rf_control_ops rf_show_control_ops = {.admin = fake_admin};

const struct rf_core *rf_node_core(const struct rf_node *node)
{
	(void)node;
	return NULL;
}

void rf_core_self(const struct rf_core *core, struct rf_core_self *out)
{
	(void)core;
	*out = (struct rf_core_self){.paused = paused};
}

void rf_core_volume(const struct rf_core *core, uint32_t volume, struct rf_core_volume *out)
{
	(void)core;
	(void)volume;
	memset(out, 0, sizeof(*out));
}

void rf_loop_timer(struct rf_loop *loop, struct rf_timer *t, uint64_t at_ns)
{
	(void)loop;
	t->at_ns = at_ns;
}

uint64_t rf_loop_clock_ns(void)
{
	return 1;
}

void rf_log(enum rf_log_level level, const char *format, ...)
{
	va_list ap;

	(void)level;
	va_start(ap, format);
	vsnprintf(said, sizeof(said), format, ap);
	va_end(ap);
}

static void make(enum rf_config_watchdog mode)
{
	memset(&d, 0, sizeof(d));
	memset(&part, 0, sizeof(part));
	memset(managed, 0, sizeof(managed));
	d.config.watchdog = mode;
	d.config.volumes = 2;
	d.managed = managed;
	d.parts = 1;
	d.part[0] = managed[0].part = managed[1].part = &part;
	d.guard.dog = (struct rf_watchdog){.ops = &fake_ops, .fd = 0, .timeout_s = 2};
	d.guard.every_ns = 1000;
	paused = disarmed = false;
	pet_error = pets = 0;
	*orders = *said = 0;
	rf_guard_attach(&d);
}

static bool shown(uint32_t watchdog, const char *text)
{
	struct rf_ctl_daemon row = {0};

	rf_guard_show(&d, &row);
	return row.watchdog == watchdog && !strcmp(row.watchdog_text, text);
}

static void turn(void)
{
	d.guard.timer.fire(&d.guard.timer, 5000);
	assert_int_equal(d.guard.timer.at_ns, 6000);
}

/* ---- the tests ---- */

static void required_leads_with_it_or_not_at_all(void **state)
{
	(void)state;
	make(RF_WATCHDOG_REQUIRED);
	turn();
	assert_int_equal(pets, 1);
	assert_string_equal(orders, "");
	pet_error = -EIO;
	turn();
	assert_string_equal(orders, "pause0 resign0 resign1 ");
	assert_non_null(strstr(said, "every leadership is given up"));
	turn(); /* it is paused: nothing to say again */
	assert_string_equal(orders, "pause0 resign0 resign1 ");
	paused = false; /* somebody resumed before it was good again */
	*orders = 0;
	turn();
	assert_string_equal(orders, "pause0 resign0 resign1 ");
	pet_error = 0;
	paused = false;
	*orders = 0;
	turn();
	assert_string_equal(orders, "");
}

static void automatic_goes_on_and_says_so_once(void **state)
{
	(void)state;
	make(RF_WATCHDOG_AUTOMATIC);
	pet_error = -ENODEV;
	turn();
	assert_non_null(strstr(said, "cannot be petted: No such device"));
	assert_true(shown(RF_CTL_WATCHDOG_FIRING, "cannot be petted: No such device"));
	*said = 0;
	turn();
	assert_string_equal(said, "");
	assert_string_equal(orders, "");
	assert_int_equal(pets, 2); /* it is tried again */
	pet_error = 0;
	turn();
	assert_string_equal(said, "watchdog: petted again");
	assert_true(shown(RF_CTL_WATCHDOG_ARMED, ""));
}

static bool stops_disarmed(bool joined, bool crashed, bool maybe_open, bool target_side)
{
	make(RF_WATCHDOG_AUTOMATIC);
	part.joined = joined;
	part.crashed = crashed;
	managed[1].maybe_open = maybe_open;
	managed[1].target_side = target_side;
	rf_guard_stop(&d);
	assert_int_equal(d.guard.dog.fd, -1);
	return disarmed;
}

static void disarmed_only_when_all_is_drained(void **state)
{
	(void)state;
	assert_true(stops_disarmed(true, false, false, false));
	assert_true(stops_disarmed(true, true, false, false)); /* joining shut its gates */
	assert_false(stops_disarmed(true, false, true, false));
	assert_true(stops_disarmed(true, false, true, true));
	assert_true(stops_disarmed(false, false, false, false)); /* refused: no gate ever */
	assert_false(stops_disarmed(false, true, false, false)); /* whose are open? */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required_leads_with_it_or_not_at_all),
		cmocka_unit_test(automatic_goes_on_and_says_so_once),
		cmocka_unit_test(disarmed_only_when_all_is_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
