/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence state: the committed blob of a leader. put is acknowledged when every
 * later leader will find it; get asks the daemon, which reads the disks when it does not
 * lead, or reads a disk itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "keep.h"
#include "tool.h"

#define WAIT_MS 10000

static uint32_t wait_ms = WAIT_MS;
static uint64_t epoch;
static struct opt_list devices;

static const struct opt opts[] = {
	{"device", "DEVICE", "get: read this quorum disk, no daemon needed; may be repeated",
	 OPT_LIST, &devices, NULL},
	{"epoch", "EPOCH", "only while this host leads in this epoch (else exit 110)", OPT_U64,
	 &epoch, NULL},
	{"wait", "TIME", "put: answer at the latest then (exit 124); default 10s", OPT_SEC,
	 &wait_ms, NULL},
	{0},
};

/* ---- get ---- */

struct got {
	uint8_t bytes[RF_BLOB_USER_MAX];
	uint32_t length;
	bool broken;
};

static void data_row(void *arg, const union ctl_packet *p)
{
	const struct rf_ctl_data *d = &p->data;
	struct got *g = arg;

	if (p->h.kind != RF_CTL_ROW_DATA)
		return;
	if (d->offset != g->length || d->length > RF_CTL_DATA_BYTES ||
	    d->length > sizeof(g->bytes) - g->length) {
		g->broken = true;
		return;
	}
	memcpy(g->bytes + g->length, d->bytes, d->length);
	g->length += d->length;
}

static int print(const void *bytes, size_t length)
{
	if (fwrite(bytes, 1, length, stdout) != length || fflush(stdout))
		return fail(RF_EXIT_IO, "the state cannot be written: %m");
	return 0;
}

static int get_from_daemon(const char *volume)
{
	static struct got got;
	struct rf_ctl_request request;
	int rc = ctl_request(&request, RF_CTL_STATE_GET, volume);

	request.epoch = epoch;
	if (!rc)
		rc = ctl_ask(&request, data_row, &got);
	if (!rc && got.broken)
		rc = ctl_lost(-EPROTO);
	return rc ? rc : print(got.bytes, got.length);
}

static int get_from_disk(const char *volume)
{
	struct disk_set set;
	struct keep k = {.newest.payload = NULL};
	int rc = keep_open(&set, &devices);

	if (!rc)
		rc = keep_load(&k, &set, volume);
	if (!rc)
		note("%s: epoch %" PRIu64 ", version %" PRIu64
		     ", written by node %u; its leader "
		     "may not have acknowledged it",
		     volume, k.newest.epoch, k.newest.version, k.newest.node);
	if (!rc)
		rc = print(k.blob.user, k.blob.user_bytes);
	keep_free(&k);
	disk_set_close(&set);
	return rc;
}

/* ---- put ---- */

static int read_all(int fd, const char *name, uint8_t *bytes, size_t room, size_t *length)
{
	ssize_t n = 1;

	while (n > 0 && *length < room) {
		n = read(fd, bytes + *length, room - *length);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return fail(RF_EXIT_IO, "%s: %m", name);
		else
			*length += (size_t)n;
	}
	return *length < room ? 0
			      : fail(RF_EXIT_BAD_VALUE, "%s: a state has at most %u bytes",
				     name, RF_BLOB_USER_MAX);
}

static int put(const char *volume, const char *file)
{
	static uint8_t bytes[RF_BLOB_USER_MAX + 1];
	bool input = !file || !strcmp(file, "-");
	int fd = input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	char text[RF_CTL_TEXT_BYTES];
	struct rf_ctl_request request;
	size_t length = 0;
	int rc;

	if (fd < 0)
		return fail(RF_EXIT_IO, "%s: %m", file);
	rc = read_all(fd, input ? "standard input" : file, bytes, sizeof(bytes), &length);
	if (!input)
		close(fd);
	if (!rc)
		rc = ctl_request(&request, RF_CTL_STATE_PUT, volume);
	if (rc)
		return rc;
	request.epoch = epoch;
	request.timeout_ms = wait_ms;
	return ctl_ask_data(&request, bytes, length, text);
}

static int run(int argc, char **argv)
{
	if (!strcmp(argv[0], "get") && argc == 2)
		return devices.count ? get_from_disk(argv[1]) : get_from_daemon(argv[1]);
	if (!strcmp(argv[0], "put") && !devices.count)
		return put(argv[1], argv[2]);
	return fail(RF_EXIT_USAGE, "get VOLUME [--device DEVICE], or put VOLUME [FILE]");
}

const struct command cmd_state = {
	.name = "state",
	.args = "get VOLUME | put VOLUME [FILE]",
	.brief = "the blob that a leader leaves to the next one",
	.opts = opts,
	.min_args = 2,
	.max_args = 3,
	.run = run,
};
