/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log: one line per fact, key=value, to stderr or a file.
 *
 * It never blocks the loop. Lines go into a ring; whoever owns the loop writes
 * it out (rf_log_start gives it one piece at a time and waits for
 * rf_log_written). A line that finds no room is counted, and the count is said
 * once there is room again. Before rf_log_async() lines are written directly.
 */
#ifndef RF_LOG_H
#define RF_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RF_LOG_RING_BYTES 65536u
#define RF_LOG_LINE_BYTES 1024u

struct rf_decision; /* of the core */

enum rf_log_level { /* syslog's numbers */
		    RF_LOG_ERR = 3,
		    RF_LOG_WARNING = 4,
		    RF_LOG_INFO = 6,
		    RF_LOG_DEBUG = 7,
};

/* Start writing len bytes to fd; call rf_log_written() when it ended, never
 * from inside. Data stays valid until then. 0, or -errno: tried again with the
 * next line. */
typedef int (*rf_log_writer)(void *arg, int fd, const void *data, size_t len);

/* path "" = stderr; if that is the journal, entries with fields go to its socket instead
 * (journal.h). 0, or -errno (the old destination stays). */
int rf_log_open(const char *path, enum rf_log_level level);
/* Opens a file for it: a descriptor, or -errno. */
int rf_log_file(const char *path);
/* While it runs: to a file that somebody else opened (fd is taken), -1 = stderr. */
void rf_log_redirect(int fd, enum rf_log_level level);
/* Where the journal listens, before rf_log_open(): for tests. */
void rf_log_journal(const char *path);
const char *rf_log_level_word(enum rf_log_level level);
/* From now on lines are given to start(); NULL: directly again (the loop ended). */
void rf_log_async(rf_log_writer start, void *arg);
/* A write ended: bytes written, or -errno (those bytes are dropped and counted). */
void rf_log_written(ssize_t result);
uint64_t rf_log_lost(void);
bool rf_log_wants(enum rf_log_level level);

void rf_log(enum rf_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void rf_vlog(enum rf_log_level level, const char *format, va_list ap);
/* The line of a decision; also puts it into text (may be NULL) for events. One about no
 * volume names the area when there are several (else NULL). */
void rf_log_decision(const struct rf_decision *d, const char *volume, const char *area,
		     char *text, size_t text_bytes);

#endif
