/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gate of the kernel, /dev/mapper/VOLUME.
 *
 * An error at a gate means that the write was refused, or that it was let through and
 * completed too late: it may be on the disk. Only when the gate was shut before the
 * write was submitted is it certain. An instance that is shut stays shut, and there is
 * no other one as long as this one is open here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dm.h"
#include "outlet.h"

struct outlet {
	int fd;
	struct dm dm;
	bool shut;
};

const bool outlet_lets_return = false;

static bool is_shut(struct outlet *o)
{
	const char *words;

	return dm_status(&o->dm, &words) == 0 &&
	       (!strncmp(words, "state=shut ", 11) || !strncmp(words, "state=draining ", 15));
}

struct outlet *outlet_open(const struct outlet_spec *spec)
{
	struct outlet *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return NULL;
	r = dm_open(&o->dm, spec->to);
	o->fd = open(spec->to, O_WRONLY | O_DIRECT | O_CLOEXEC);
	if (o->fd >= 0 && !r) {
		o->shut = is_shut(o);
		return o;
	}
	fprintf(stderr, "rf-writer: node %u epoch %llu: %s: %s\n", spec->conn.node,
		(unsigned long long)spec->conn.epoch, spec->to, strerror(r ? -r : errno));
	outlet_close(o);
	return NULL;
}

enum outcome outlet_write(struct outlet *o, const void *block, uint64_t offset)
{
	bool was_shut = o->shut;

	if (pwrite(o->fd, block, BLOCK_BYTES, (off_t)offset) == (ssize_t)BLOCK_BYTES)
		return WROTE;
	o->shut = was_shut || is_shut(o);
	return was_shut ? REFUSED : UNKNOWN;
}

void outlet_close(struct outlet *o)
{
	if (o->fd >= 0)
		close(o->fd);
	dm_close(&o->dm);
	free(o);
}
