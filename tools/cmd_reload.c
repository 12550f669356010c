/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence reload: the daemon reads its configuration and keys again. What differs is
 * told one by one: taken over, or waiting for a restart.
 */
#include "ctl.h"
#include "out.h"
#include "tool.h"

#define WAIT_MS 10000

static uint32_t wait_ms = WAIT_MS;

static const struct opt opts[] = {
	{"wait", "TIME", "wait so long for the answer; default 10s", OPT_SEC, &wait_ms, NULL},
	{0},
};

static const struct out_col cols[] = {
	{"KEY", "key", 0, 0},
	{"FROM", "from", 0, 0},
	{"TO", "to", 0, 0},
	{"APPLIED", "applied", OUT_YESNO, 0},
};

struct told {
	struct json_object *changes;
	unsigned restart;
};

static void change_row(void *arg, const union ctl_packet *p)
{
	struct told *t = arg;
	struct json_object *o;

	if (p->h.kind != RF_CTL_ROW_CHANGE)
		return;
	o = out_row(t->changes);
	out_text(o, "key", p->change.key);
	out_text(o, "from", p->change.from);
	out_text(o, "to", p->change.to);
	out_bool(o, "applied", p->change.applied);
	t->restart += !p->change.applied;
}

static int run(int argc, char **argv)
{
	struct json_object *doc = out_doc();
	struct told t = {.changes = out_array(doc, "changes")};
	struct rf_ctl_request request;
	int rc = ctl_request(&request, RF_CTL_RELOAD, "");

	(void)argc;
	(void)argv;
	request.timeout_ms = wait_ms ? wait_ms : 1; /* 0 would be: for ever */
	if (!rc)
		rc = ctl_ask(&request, change_row, &t);
	out_bool(doc, "restart_needed", t.restart != 0);
	if (!rc && tool.json) {
		out_print(doc);
		return rc;
	}
	if (!rc && json_object_array_length(t.changes))
		out_table(t.changes, cols, OUT_N(cols));
	if (!rc && t.restart)
		note("what is not applied needs a restart of ringfenced");
	json_object_put(doc);
	return rc;
}

const struct command cmd_reload = {
	.name = "reload",
	.args = "",
	.brief = "the daemon reads its configuration and keys again",
	.opts = opts,
	.max_args = 0,
	.run = run,
};
