/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence leader, is-leader: who leads a volume; does this host? */
#include <stdio.h>

#include "out.h"
#include "rows.h"
#include "tool.h"

/* A node that has not joined, or cannot read the claim region, does not know. */
static int leader_verdict(const struct rf_ctl_volume *v)
{
	if (v->has_leader)
		return RF_EXIT_YES;
	return v->role == RF_ROLE_JOINING || v->unreadable ? RF_EXIT_CANNOT_TELL : RF_EXIT_NO;
}

static void print_json(const struct rf_ctl_volume *v)
{
	struct json_object *doc = out_doc();

	rows_volume(doc, v);
	out_print(doc);
}

static int run_leader(int argc, char **argv)
{
	struct rf_ctl_volume v;
	int rc = ctl_volume(argv[0], &v);

	(void)argc;
	if (rc)
		return rc;
	rc = leader_verdict(&v);
	if (tool.json)
		print_json(&v);
	else if (v.has_leader)
		printf("node %u (%s) epoch %llu\n", v.owner,
		       v.owner_host[0] ? v.owner_host : "host unknown",
		       (unsigned long long)v.epoch);
	else if (rc == RF_EXIT_CANNOT_TELL)
		note("%s: cannot tell: %s", argv[0],
		     v.role == RF_ROLE_JOINING ? "this node has not joined yet"
					       : "the claim region cannot be read");
	else
		puts("no leader");
	return rc;
}

/* Active and inside its lease: between the deadline and the daemon's notice the
 * gate is shut already. A daemon always knows this of itself. */
static bool leads_now(const struct rf_ctl_volume *v)
{
	return v->role == RF_ROLE_ACTIVE && v->lease_left_ms > 0;
}

static int run_is_leader(int argc, char **argv)
{
	struct rf_ctl_volume v;
	int rc = ctl_volume(argv[0], &v);

	(void)argc;
	if (rc)
		return rc;
	if (tool.json)
		print_json(&v);
	return leads_now(&v) ? RF_EXIT_YES : RF_EXIT_NO;
}

const struct command cmd_leader = {
	.name = "leader",
	.args = "VOLUME",
	.brief = "who leads a volume",
	.min_args = 1,
	.max_args = 1,
	.run = run_leader,
};

const struct command cmd_is_leader = {
	.name = "is-leader",
	.args = "VOLUME",
	.brief = "exit 0 if this host leads the volume, 1 if not",
	.min_args = 1,
	.max_args = 1,
	.run = run_is_leader,
};
