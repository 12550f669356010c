/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KEY=VALUE parameters of drivers, by table. */
#ifndef RF_PARAMS_H
#define RF_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind is by where the value goes; nowhere: it is accepted and left alone. */
struct rf_param {
	const char *key; /* NULL ends a table */
	bool needed;
	const char **text; /* not empty */
	const char **path; /* absolute */
	uint8_t *uuid;     /* RF_UUID_BYTES, from twice as many hexadecimal digits */
	uint32_t *number, min, max;
	bool (*take)(void *owner, const char *value); /* what else there is */
	bool given;                                   /* filled in */
};

/* params: NULL at the end; texts and paths point into it. 0, or -EINVAL and a line that
 * names the bad parameter, or all that are needed. */
int rf_params_take(const char *driver, struct rf_param *table, void *owner, char *const *params,
		   char *err, size_t err_bytes);

#endif
