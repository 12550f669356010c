/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says in one line of a file: sysfs, procfs. */
#ifndef RF_LINE_H
#define RF_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line of the file named by format; false: it cannot be read. Waits for nobody. */
__attribute__((format(printf, 3, 4))) bool rf_line(char *out, size_t bytes, const char *format,
						   ...);

#endif
