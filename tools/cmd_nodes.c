/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence nodes: who takes part, and when each was last heard and seen. */
#include "out.h"
#include "rows.h"
#include "tool.h"

static bool all;

static const struct opt opts[] = {
	{"all", NULL, "also ids whose slot is free and that were never heard", OPT_FLAG, &all,
	 NULL},
	{0},
};

static const struct out_col cols[] = {
	{"NODE", "node", 0, true},
	{"HOST", "host", 0, 0},
	{"STATE", "state", 0, 0},
	{"HEARD", "net_age_ms", OUT_MS, true},
	{"SEEN", "disk_age_ms", OUT_MS, true},
	{"RTT", "rtt_us", OUT_US, true},
	{"PRIORITY", "priority", 0, true},
	{"GATES-OPEN", "gates_open", 0, true},
	{"HEARS", "hears", 0, true},
	{"HEALTH", "health", 0, 0},
};

static bool worth_showing(const struct rf_ctl_node *n)
{
	return all || n->net_age_ms >= 0 || n->disk_age_ms >= 0 ||
	       (n->state && n->state != RF_SLOT_FREE);
}

static int run(int argc, char **argv)
{
	struct json_object *doc, *a;
	struct ctl_status s;
	unsigned i;
	int rc = ctl_status(&s);

	(void)argc;
	(void)argv;
	if (rc)
		return rc;
	doc = out_doc();
	a = out_array(doc, "nodes");
	for (i = 0; i < s.nodes; i++)
		if (worth_showing(&s.node[i]))
			rows_node(out_row(a), &s.node[i]);
	ctl_status_free(&s);
	if (tool.json) {
		out_print(doc);
		return 0;
	}
	out_table(a, cols, OUT_N(cols));
	json_object_put(doc);
	return 0;
}

const struct command cmd_nodes = {
	.name = "nodes",
	.args = "",
	.brief = "the nodes, when each was last heard on the network and seen on the disk",
	.opts = opts,
	.max_args = 0,
	.run = run,
};
