/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence wait: until this host leads a volume, somebody does, or this does not. */
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "tool.h"

#define POLL_MS 500 /* an event may be lost; a state cannot */

static bool want_leader, want_any, want_not, limited;
static uint32_t timeout_ms;

static const struct opt opts[] = {
	{"leader", NULL, "until this host leads", OPT_FLAG, &want_leader, NULL},
	{"any", NULL, "until some host leads", OPT_FLAG, &want_any, NULL},
	{"not-leader", NULL, "until this host does not lead", OPT_FLAG, &want_not, NULL},
	{"timeout", "TIME", "give up after this time (exit 124); default never", OPT_SEC,
	 &timeout_ms, &limited},
	{0},
};

static bool reached(const struct rf_ctl_volume *v)
{
	bool leads = v->role == RF_ROLE_ACTIVE && v->lease_left_ms > 0;

	if (want_leader)
		return leads;
	if (want_any)
		return v->has_leader;
	return v->role < RF_ROLE_OPENING || v->role == RF_ROLE_STOPPED;
}

static int nap_ms(long long until)
{
	long long left = until - rf_boot_ms();

	if (!limited || left > POLL_MS)
		return POLL_MS;
	return left > 0 ? (int)left : 0;
}

/* The events only wake us up: what counts is the state that is asked for then. */
static int follow(int fd, const char *volume)
{
	long long until = rf_boot_ms() + timeout_ms;
	struct rf_ctl_volume v;
	union ctl_packet p;
	int rc;

	for (;;) {
		rc = ctl_volume(volume, &v);
		if (rc || reached(&v))
			return rc;
		if (limited && rf_boot_ms() >= until)
			return fail(RF_EXIT_TIMED_OUT, "%s: not so within %u ms", volume,
				    timeout_ms);
		rc = ctl_receive(fd, &p, nap_ms(until));
		while (rc > 0)
			rc = ctl_receive(fd, &p, 0);
		if (rc < 0)
			return ctl_lost(rc);
	}
}

static int run(int argc, char **argv)
{
	struct rf_ctl_request request;
	int rc, fd;

	(void)argc;
	if (want_leader + want_any + want_not != 1)
		return fail(RF_EXIT_USAGE, "for what? one of --leader, --any, --not-leader");
	rc = ctl_request(&request, RF_CTL_WATCH, argv[0]);
	if (rc)
		return rc;
	fd = ctl_connect(false);
	if (fd < 0)
		return -fd;
	rc = ctl_ask_on(fd, &request, NULL, NULL, false);
	if (!rc)
		rc = follow(fd, argv[0]);
	close(fd);
	return rc;
}

const struct command cmd_wait = {
	.name = "wait",
	.args = "VOLUME",
	.brief = "wait until this host leads, some host leads, or this host does not",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
