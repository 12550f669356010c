/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path devices below a device. A reservation command never goes through
 * device-mapper: it drops the abort of PREEMPT AND ABORT, and nobody can say on which
 * path a registration was made. So dm devices are followed down through sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pr.h"

#define DEPTH_MAX 6u
#define TEXT_BYTES 512u

struct finding {
	const char *sysfs;
	struct rf_pr_node *node;
	int count;
	char *err;
	size_t err_bytes;
};

static int refuse(struct finding *f, int error, const char *what, const char *name)
{
	snprintf(f->err, f->err_bytes, "%s: %s", name, what);
	return error;
}

static bool read_text(char *text, size_t bytes, const char *dir, const char *name)
{
	char path[TEXT_BYTES];
	FILE *file;
	size_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, bytes - 1, file);
	fclose(file);
	text[n] = 0;
	return true;
}

static bool there(const char *dir, const char *name)
{
	char text[TEXT_BYTES];

	return read_text(text, sizeof(text), dir, name);
}

static int below(struct finding *f, const char *dir, unsigned depth);

static int follow(struct finding *f, const char *slaves, const char *name, unsigned depth)
{
	char dir[TEXT_BYTES];

	if (snprintf(dir, sizeof(dir), "%s/%s", slaves, name) >= (int)sizeof(dir))
		return refuse(f, -ENAMETOOLONG, "path too long", slaves);
	return below(f, dir, depth + 1);
}

/* dm: all below must be paths to one LU (multipath), or it must be one device. */
static int below_dm(struct finding *f, const char *dir, unsigned depth)
{
	char slaves[TEXT_BYTES + 16], uuid[TEXT_BYTES] = "";
	struct dirent *e;
	unsigned n = 0;
	int r = 0;
	DIR *d;

	read_text(uuid, sizeof(uuid), dir, "dm/uuid");
	snprintf(slaves, sizeof(slaves), "%s/slaves", dir);
	d = opendir(slaves);
	if (!d)
		return refuse(f, -errno, "cannot list the devices below", slaves);
	while (!r && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		n++;
		r = follow(f, slaves, e->d_name, depth);
	}
	closedir(d);
	if (!r && n > 1 && strncmp(uuid, "mpath-", 6))
		return refuse(f, -EINVAL,
			      "lies on several devices and is no multipath device: a "
			      "reservation covers one LU",
			      dir);
	return r;
}

/* Where the kernel says how a path is. A disk that lost its session keeps what is sent to
 * it for as long as the transport has patience, which may be minutes. */
static bool is_away(const char *dir)
{
	char state[TEXT_BYTES];

	return read_text(state, sizeof(state), dir, "device/state") &&
	       strcmp(state, "running\n") != 0 && strcmp(state, "live\n") != 0;
}

static int add(struct finding *f, const char *dir)
{
	struct rf_pr_node *node = &f->node[f->count];
	char text[TEXT_BYTES];
	char *name;

	if (f->count == (int)RF_PR_PATHS_MAX)
		return refuse(f, -E2BIG, "too many paths", dir);
	memset(node, 0, sizeof(*node));
	if (!read_text(text, sizeof(text), dir, "dev") ||
	    sscanf(text, "%u:%u", &node->major, &node->minor) != 2)
		return refuse(f, -ENODEV, "no device number in sysfs", dir);
	if (read_text(text, sizeof(text), dir, "diskseq"))
		node->seq = strtoull(text, NULL, 10);
	if (!read_text(text, sizeof(text), dir, "uevent") || !(name = strstr(text, "DEVNAME=")))
		return refuse(f, -ENODEV, "no device name in sysfs", dir);
	name += 8;
	name[strcspn(name, "\n")] = 0;
	if (!*name || strlen(name) >= sizeof(node->name) || strstr(name, ".."))
		return refuse(f, -ENODEV, "odd device name in sysfs", dir);
	strcpy(node->name, name);
	node->nvme = !strncmp(name, "nvme", 4);
	node->away = is_away(dir);
	f->count++;
	return 0;
}

static int below(struct finding *f, const char *dir, unsigned depth)
{
	if (depth > DEPTH_MAX)
		return refuse(f, -ELOOP, "device-mapper stacked too deep", dir);
	if (there(dir, "partition"))
		return refuse(f, -EINVAL,
			      "is a partition: a reservation covers the whole device, name "
			      "that one",
			      dir);
	return there(dir, "dm/uuid") ? below_dm(f, dir, depth) : add(f, dir);
}

int rf_pr_find(const char *sysfs, uint32_t major, uint32_t minor,
	       struct rf_pr_node node[RF_PR_PATHS_MAX], char *err, size_t err_bytes)
{
	struct finding f = {.sysfs = sysfs, .node = node, .err = err, .err_bytes = err_bytes};
	char dir[TEXT_BYTES];
	int r;

	snprintf(dir, sizeof(dir), "%s/dev/block/%u:%u", sysfs, major, minor);
	r = below(&f, dir, 0);
	if (!r && !f.count)
		r = refuse(&f, -ENODEV, "no path is left below it", dir);
	return r ? r : f.count;
}
