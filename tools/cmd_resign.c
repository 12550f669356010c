/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence resign, handover, pause, resume: what an operator tells the daemon. */
#include <string.h>

#include "ctl.h"
#include "tool.h"

#define WAIT_MS 10000

static uint32_t wait_ms = WAIT_MS;
static const char *target;

static const struct opt resign_opts[] = {
	{"wait", "TIME", "wait so long for the release, 0 = not at all; default 10s", OPT_SEC,
	 &wait_ms, NULL},
	{0},
};

static const struct opt handover_opts[] = {
	{"to", "NODE", "node id or host name that is to lead (required)", OPT_TEXT, &target,
	 NULL},
	{"wait", "TIME", "wait so long for the release, 0 = not at all; default 10s", OPT_SEC,
	 &wait_ms, NULL},
	{0},
};

static int tell(unsigned verb, const char *volume, uint32_t node)
{
	struct rf_ctl_request request;
	int rc = ctl_request(&request, verb, volume);

	if (rc)
		return rc;
	request.node = node;
	request.timeout_ms = wait_ms;
	return ctl_ask(&request, NULL, NULL);
}

static int run_resign(int argc, char **argv)
{
	(void)argc;
	return tell(RF_CTL_RESIGN, argv[0], 0);
}

static int area_of(const struct ctl_status *s, const char *volume)
{
	unsigned i;

	for (i = 0; i < s->volumes; i++)
		if (!strcmp(s->volume[i].name, volume))
			return (int)s->volume[i].area;
	return -1;
}

static int by_host(const struct ctl_status *s, uint32_t area, uint32_t *node)
{
	unsigned i, hits = 0;

	for (i = 0; i < s->nodes; i++)
		if (s->node[i].area == area && !strcmp(s->node[i].host, target)) {
			*node = s->node[i].node;
			hits++;
		}
	if (hits == 1)
		return 0;
	if (hits)
		return fail(RF_EXIT_BAD_VALUE,
			    "--to %s: %u nodes have this host name: give the node id", target,
			    hits);
	return fail(RF_EXIT_NO_SUCH,
		    "--to %s: no node with this host name: see ringfence nodes", target);
}

static int resolve(const char *volume, uint32_t *node)
{
	struct ctl_status s;
	uint64_t id;
	int rc, area;

	if (parse_u64(target, 10, &id)) {
		*node = (uint32_t)id;
		return id >= 1 && id <= RF_NODES_MAX
			       ? 0
			       : fail(RF_EXIT_BAD_VALUE, "--to %s: node ids are 1 to %u",
				      target, RF_NODES_MAX);
	}
	rc = ctl_status(&s);
	if (rc)
		return rc;
	area = area_of(&s, volume);
	rc = area < 0 ? fail(RF_EXIT_NO_SUCH, "no volume '%s' on this host", volume)
		      : by_host(&s, (uint32_t)area, node);
	ctl_status_free(&s);
	return rc;
}

static int run_handover(int argc, char **argv)
{
	uint32_t node = 0;
	int rc;

	(void)argc;
	if (!target)
		return fail(RF_EXIT_USAGE, "to whom? --to NODE");
	rc = resolve(argv[0], &node);
	return rc ? rc : tell(RF_CTL_HANDOVER, argv[0], node);
}

static int run_pause(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(RF_CTL_PAUSE, "", 0);
}

static int run_resume(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return tell(RF_CTL_RESUME, "", 0);
}

const struct command cmd_resign = {
	.name = "resign",
	.args = "VOLUME",
	.brief = "give the leadership of a volume up, so that another node takes it",
	.opts = resign_opts,
	.min_args = 1,
	.max_args = 1,
	.run = run_resign,
};

const struct command cmd_handover = {
	.name = "handover",
	.args = "VOLUME",
	.brief = "hand the leadership of a volume to a certain node",
	.opts = handover_opts,
	.min_args = 1,
	.max_args = 1,
	.run = run_handover,
};

const struct command cmd_pause = {
	.name = "pause",
	.args = "",
	.brief = "this node stops campaigning; what it leads it keeps",
	.max_args = 0,
	.run = run_pause,
};

const struct command cmd_resume = {
	.name = "resume",
	.args = "",
	.brief = "this node campaigns again",
	.max_args = 0,
	.run = run_resume,
};
