/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a block device says it is, see identity.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "identity.h"
#include "line.h"

/* A line of sysfs about the device, without trailing blanks; false: none. */
static bool attribute(char *out, size_t bytes, dev_t dev, const char *file)
{
	size_t n;

	if (!rf_line(out, bytes, "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), file))
		return false;
	n = strlen(out);
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = 0;
	return n > 0;
}

void rf_identity(char id[RF_DEVICE_ID_BYTES], int fd)
{
	/* ".." is the disk of a partition */
	static const char *const files[] = {"wwid",    "device/wwid",    "dm/uuid",
					    "md/uuid", "device/serial",  "serial",
					    "../wwid", "../device/wwid", "../device/serial"};
	char text[RF_DEVICE_ID_BYTES - 16] = "", part[8];
	struct stat st;

	id[0] = 0;
	if (fstat(fd, &st) != 0 || !S_ISBLK(st.st_mode))
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !text[0]; i++)
		if (!attribute(text, sizeof(text), st.st_rdev, files[i]))
			text[0] = 0;
	if (!text[0])
		return;
	for (char *c = text; *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			*c = '_';
	if (attribute(part, sizeof(part), st.st_rdev, "partition"))
		snprintf(id, RF_DEVICE_ID_BYTES, "%s-p%s", text, part);
	else
		snprintf(id, RF_DEVICE_ID_BYTES, "%s", text);
}
