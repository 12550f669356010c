/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configuration text: refused with a line that says why, or inside all its bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "format/assert.h"
#include "fuzz.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}

static void warned(void *arg, const char *line)
{
	(void)arg;
	if (!line[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rf_config config;
	char err[512] = "";

	if (size > 8192)
		return 0;
	if (rf_config_parse(&config, "fuzz.conf", (const char *)data, size, warned, NULL, err,
			    sizeof(err)) != 0) {
		if (!err[0] || strlen(err) >= sizeof(err))
			abort(); /* a refusal says why */
		return 0;
	}
	if (config.node < 1 || config.node > RF_NODES_MAX || config.volumes == 0 ||
	    config.volumes > RF_CONFIG_VOLUMES_MAX || config.areas > RF_AREAS_MAX)
		abort();
	for (uint32_t i = 0; i < config.volumes; i++)
		if (config.volume[i].area >= config.areas || !config.volume[i].name[0])
			abort();
	return 0;
}
