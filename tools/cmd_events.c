/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence events: what happens, one JSON object a line. */
#include <stdio.h>
#include <unistd.h>

#include "out.h"
#include "rows.h"
#include "tool.h"

static bool follow;

static const struct opt opts[] = {
	{"follow", NULL, "go on until interrupted; else end after the next event", OPT_FLAG,
	 &follow, NULL},
	{0},
};

static int print(const struct rf_ctl_event *e)
{
	struct json_object *doc = out_doc();

	rows_event(doc, e);
	out_line(doc);
	/* a reader on a pipe sees each line at once */
	return fflush(stdout) ? fail(RF_EXIT_IO, "output could not be written: %m") : 0;
}

static int loop(int fd)
{
	union ctl_packet p;
	int rc, got;

	do {
		got = ctl_receive(fd, &p, -1);
		if (got < 0)
			return ctl_lost(got);
		rc = p.h.kind == RF_CTL_EVENT ? print(&p.event) : 0;
	} while (!rc && follow);
	return rc;
}

static int run(int argc, char **argv)
{
	struct rf_ctl_request request;
	int fd, rc = ctl_request(&request, RF_CTL_WATCH, argc ? argv[0] : "");

	if (rc)
		return rc;
	fd = ctl_connect(false);
	if (fd < 0)
		return -fd;
	rc = ctl_ask_on(fd, &request, NULL, NULL, false);
	if (!rc)
		rc = loop(fd);
	close(fd);
	return rc;
}

const struct command cmd_events = {
	.name = "events",
	.args = "[VOLUME]",
	.brief = "what happens, as one JSON object a line",
	.opts = opts,
	.max_args = 1,
	.run = run,
};
