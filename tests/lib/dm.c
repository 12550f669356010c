/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int dm_open(struct dm *d, const char *name)
{
	size_t skip =
		strncmp(name, DM_DIRECTORY, strlen(DM_DIRECTORY)) ? 0 : strlen(DM_DIRECTORY);

	snprintf(d->name, sizeof(d->name), "%s", name + skip);
	d->control = open(DM_DIRECTORY "control", O_RDWR | O_CLOEXEC);
	return d->control < 0 ? -errno : 0;
}

void dm_close(struct dm *d)
{
	if (d->control >= 0)
		close(d->control);
	d->control = -1;
}

/* An empty question; where its arguments go. */
static void *begin(struct dm *d)
{
	memset(d->bytes, 0, sizeof(d->bytes));
	d->io.version[0] = DM_VERSION_MAJOR;
	d->io.data_size = sizeof(d->bytes);
	d->io.data_start = sizeof(struct dm_ioctl);
	snprintf(d->io.name, sizeof(d->io.name), "%s", d->name);
	return d->bytes + sizeof(struct dm_ioctl);
}

int dm_load(struct dm *d, const char *table)
{
	struct dm_target_spec *spec = begin(d);
	unsigned long long start, length;
	int at = 0;

	if (sscanf(table, "%llu %llu %15s %n", &start, &length, spec->target_type, &at) < 3)
		return -EINVAL;
	spec->length = length;
	snprintf((char *)(spec + 1), 2048, "%s", table + at);
	d->io.target_count = 1;
	if (ioctl(d->control, DM_TABLE_LOAD, &d->io))
		return -errno;
	begin(d);
	return ioctl(d->control, DM_DEV_SUSPEND, &d->io) ? -errno : 0; /* no flag: resume */
}

int dm_message(struct dm *d, const char *text, const char **answer)
{
	struct dm_target_msg *m = begin(d);

	snprintf(m->message, 256, "%s", text);
	if (ioctl(d->control, DM_TARGET_MSG, &d->io))
		return -errno;
	if (answer)
		*answer = d->io.flags & DM_DATA_OUT_FLAG ? d->bytes + d->io.data_start : "";
	return 0;
}

int dm_status(struct dm *d, const char **answer)
{
	begin(d);
	if (ioctl(d->control, DM_TABLE_STATUS, &d->io))
		return -errno;
	*answer = d->bytes + d->io.data_start + sizeof(struct dm_target_spec);
	return 0;
}
