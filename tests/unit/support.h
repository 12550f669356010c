/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the unit tests share: cmocka with its includes, and a sample area. */
#ifndef TESTS_UNIT_SUPPORT_H
#define TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/assert.h"
#include "format/codec.h"
#include "format/timing.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Fills memory with bytes that no field has, to see whether *out was touched. */
#define UNTOUCHED 0x5a

/* Three nodes, two volumes, 4096-byte strides. */
extern const struct rf_area_id sample_id;
void sample_super(struct rf_super *s);

/* Puts a good checksum on a record whose bytes a test has changed. */
void reseal(void *record);

/* Compares with tests/unit/golden/NAME.hex. RF_GOLDEN=write makes the file anew:
 * only when the format version changes. */
void assert_golden(const char *name, const void *bytes, size_t len);

#endif
