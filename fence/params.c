/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of drivers, see params.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params.h"
#include "ringfence/limits.h"

static bool take_number(const struct rf_param *p, const char *text)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || end == text || *end || strspn(text, "0123456789") != strlen(text))
		return false;
	if (v < p->min || v > p->max)
		return false;
	*p->number = (uint32_t)v;
	return true;
}

static bool take_uuid(uint8_t *uuid, const char *text)
{
	if (strlen(text) != 2 * RF_UUID_BYTES ||
	    strspn(text, "0123456789abcdefABCDEF") != 2 * RF_UUID_BYTES)
		return false;
	for (unsigned i = 0; i < RF_UUID_BYTES; i++) {
		char pair[3] = {text[2 * i], text[2 * i + 1], 0};

		uuid[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return true;
}

static bool take(const struct rf_param *p, void *owner, const char *value)
{
	if (p->text)
		return *(*p->text = value);
	if (p->path)
		return *(*p->path = value) == '/';
	if (p->uuid)
		return take_uuid(p->uuid, value);
	if (p->number)
		return take_number(p, value);
	return !p->take || p->take(owner, value);
}

static bool take_one(struct rf_param *table, void *owner, const char *param)
{
	for (struct rf_param *p = table; p->key; p++) {
		size_t n = strlen(p->key);

		if (!strncmp(param, p->key, n) && param[n] == '=')
			return p->given = take(p, owner, param + n + 1);
	}
	return false;
}

static int say_needed(const char *driver, const struct rf_param *table, char *err, size_t bytes)
{
	int n = snprintf(err, bytes, "driver %s needs", driver);

	for (; table->key; table++)
		if (table->needed && n >= 0 && (size_t)n < bytes)
			n += snprintf(err + n, bytes - (size_t)n, " %s=", table->key);
	return -EINVAL;
}

int rf_params_take(const char *driver, struct rf_param *table, void *owner, char *const *params,
		   char *err, size_t err_bytes)
{
	for (; *params; params++)
		if (!take_one(table, owner, *params)) {
			snprintf(err, err_bytes, "driver %s: bad parameter %.80s", driver,
				 *params);
			return -EINVAL;
		}
	for (const struct rf_param *p = table; p->key; p++)
		if (p->needed && !p->given)
			return say_needed(driver, table, err, err_bytes);
	return 0;
}
