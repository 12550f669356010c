/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watchdog device: what resets this host when nobody pets it any more.
 *
 * Opening it arms it, and only the magic close disarms it: so it is looked at in
 * sysfs first, and one that was running before is never disarmed because something
 * about it does not suit. The calls to the kernel go through a table, for tests.
 */
#ifndef RF_IO_WATCHDOG_H
#define RF_IO_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rf_watchdog_ops {
	int (*open)(const char *device); /* descriptor or -errno */
	int (*ioctl)(int fd, unsigned long request, void *arg);
	ssize_t (*write)(int fd, const void *data, size_t len);
	int (*close)(int fd);
	/* One line of the device's directory in sysfs; false: there is none. */
	bool (*attribute)(const char *device, const char *name, char *out, size_t bytes);
};
extern const struct rf_watchdog_ops rf_watchdog_kernel;

struct rf_watchdog {
	const struct rf_watchdog_ops *ops;
	int fd; /* -1: none */
	uint32_t timeout_s;
	bool soft;       /* a timer of the kernel that it is to guard against */
	bool was_active; /* running before it was opened, or that is not known */
	bool stays;      /* cannot be disarmed (nowayout, no magic close) */
	char identity[33];
};

/*
 * Opens and arms it, to fire when it was not petted for timeout_s (or what the device
 * makes of that). 0, or -errno and one line in err: then it is as it was before, and
 * w->fd is -1. hard: a soft one will not do.
 */
int rf_watchdog_open(struct rf_watchdog *w, const struct rf_watchdog_ops *ops,
		     const char *device, uint32_t timeout_s, bool hard, char *err,
		     size_t err_bytes);
int rf_watchdog_pet(struct rf_watchdog *w); /* 0 or -errno */
/* disarm: the magic close; otherwise it goes on running and fires. */
void rf_watchdog_close(struct rf_watchdog *w, bool disarm);

#endif
