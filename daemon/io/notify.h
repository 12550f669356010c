/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager: sd_notify(3) datagrams, never blocking. */
#ifndef RF_IO_NOTIFY_H
#define RF_IO_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Takes NOTIFY_SOCKET out of the environment. 0, also when there is none; -errno. */
int rf_notify_open(void);
void rf_notify_close(void);
/* Is there a service manager that listens? */
bool rf_notify_wanted(void);
/* Half of WATCHDOG_USEC if it is meant for this process, 0 = not wanted. */
uint64_t rf_notify_watchdog_ns(void);

void rf_notify_ready(void);
void rf_notify_stopping(void);
void rf_notify_watchdog(void);
/* One line; newlines in it become spaces. */
void rf_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Starting or stopping takes until so long from now. */
void rf_notify_extend(uint64_t ms);

#endif
