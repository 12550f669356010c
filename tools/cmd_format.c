/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence format: make a quorum area. The only command that makes one. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "format/timing.h"
#include "tool.h"

#define HISTORY_DEFAULT 64u

static struct {
	const char *cluster, *volumes, *reserve, *profile, *quorum, *epsilon, *voters;
	struct opt_list names;
	struct rf_timing timing;
	bool seen_heartbeat, seen_suspect, seen_lease, seen_grace, seen_hold, seen_isolation,
		seen_slot, seen_inflight;
	uint32_t nodes, history, state_bytes;
	bool dry_run, force, yes;
} o = {.reserve = "start",
       .profile = "san",
       .quorum = "majority",
       .history = HISTORY_DEFAULT,
       .state_bytes = RF_STATE_PAYLOAD_MIN};

static const struct opt opts[] = {
	{"cluster", "NAME", "name of the cluster (required)", OPT_TEXT, &o.cluster, NULL},
	{"nodes", "N", "node ids 1..N may take part (required, at most 128)", OPT_U32, &o.nodes,
	 NULL},
	{"volumes", "V[:NAMES]", "number of volumes, and their names joined by commas",
	 OPT_TEXT, &o.volumes, NULL},
	{"volume", "NAME", "one volume of that name; may be repeated", OPT_LIST, &o.names,
	 NULL},
	{"reserve", "PLACE", "start, end (of a volume) or whole (own device); default start",
	 OPT_TEXT, &o.reserve, NULL},
	{"profile", "NAME", "timings: fast, san or multipath; default san", OPT_TEXT,
	 &o.profile, NULL},
	{"heartbeat", "TIME", "between two slot writes", OPT_MS, &o.timing.heartbeat_ms,
	 &o.seen_heartbeat},
	{"suspect", "TIME", "silence after which a leader is suspected", OPT_MS,
	 &o.timing.suspect_ms, &o.seen_suspect},
	{"lease", "TIME", "right to write after a renewal", OPT_MS, &o.timing.lease_ms,
	 &o.seen_lease},
	{"grace", "TIME", "longest flight of a write below a gate", OPT_MS, &o.timing.grace_ms,
	 &o.seen_grace},
	{"hold", "TIME", "how long writes wait after the deadline", OPT_MS, &o.timing.hold_ms,
	 &o.seen_hold},
	{"isolation", "TIME", "how long a cut-off leader waits before it resigns", OPT_MS,
	 &o.timing.isolation_ms, &o.seen_isolation},
	{"slot-timeout", "TIME", "how long a slot not left cleanly is watched", OPT_MS,
	 &o.timing.slot_timeout_ms, &o.seen_slot},
	{"inflight", "TIME", "longest flight of a write of a dead daemon", OPT_MS,
	 &o.timing.inflight_ms, &o.seen_inflight},
	{"epsilon", "DRIFT", "largest difference of clock rates, as 1% or 10000ppm", OPT_TEXT,
	 &o.epsilon, NULL},
	{"quorum", "RULE", "majority or survivors; default majority", OPT_TEXT, &o.quorum,
	 NULL},
	{"voters", "IDS", "node ids that vote, as 1-3,5; default all of them", OPT_TEXT,
	 &o.voters, NULL},
	{"history", "K", "leaderships remembered per volume (8 to 1024, default 64)", OPT_U32,
	 &o.history, NULL},
	{"state-bytes", "BYTES", "largest state a leader commits (default 4096)", OPT_U32,
	 &o.state_bytes, NULL},
	{"dry-run", NULL, "show the plan, write nothing", OPT_FLAG, &o.dry_run, NULL},
	{"force", NULL, "overwrite what is there, even if it is in use", OPT_FLAG, &o.force,
	 NULL},
	{"yes", NULL, "do not ask on a terminal", OPT_FLAG, &o.yes, NULL},
	{0},
};

/* ---- names ---- */

static bool name_ok(const char *name)
{
	const char *c;

	if (!*name || *name == '-' || *name == '.' || strlen(name) >= RF_NAME_BYTES)
		return false;
	for (c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return true;
}

static int add_name(struct plan *p, const char *name)
{
	uint32_t v;

	if (!name_ok(name))
		return fail(RF_EXIT_BAD_VALUE,
			    "volume name '%s': wants 1 to %u of letters, digits, . _ -", name,
			    RF_NAME_BYTES - 1);
	for (v = 0; v < p->super.volumes; v++)
		if (!strcmp(p->names[v], name))
			return fail(RF_EXIT_BAD_VALUE, "volume name '%s' is given twice", name);
	if (p->super.volumes == RF_VOLUMES_MAX)
		return fail(RF_EXIT_BAD_VALUE, "at most %u volumes", RF_VOLUMES_MAX);
	memcpy(p->names[p->super.volumes++], name, strlen(name) + 1);
	return 0;
}

static int add_listed(struct plan *p, char *names, uint32_t count)
{
	char *save = NULL, *name;
	int rc = 0;

	for (name = strtok_r(names, ",", &save); name && !rc; name = strtok_r(NULL, ",", &save))
		rc = add_name(p, name);
	if (!rc && p->super.volumes != count)
		return fail(RF_EXIT_BAD_VALUE, "--volumes: says %u volumes and names %u", count,
			    p->super.volumes);
	return rc;
}

static int add_counted(struct plan *p, uint32_t count)
{
	char name[RF_NAME_BYTES];
	uint32_t v;
	int rc = 0;

	for (v = 0; v < count && !rc; v++) {
		snprintf(name, sizeof(name), "vol%u", v);
		rc = add_name(p, name);
	}
	return rc;
}

static int take_volumes(struct plan *p)
{
	char text[4096], *names;
	uint64_t count;

	if (!o.volumes || strlen(o.volumes) >= sizeof(text))
		return fail(RF_EXIT_USAGE,
			    "which volumes? --volume NAME, or --volumes V[:NAMES]");
	memcpy(text, o.volumes, strlen(o.volumes) + 1);
	names = strchr(text, ':');
	if (names)
		*names++ = 0;
	if (!parse_u64(text, 10, &count) || !count || count > RF_VOLUMES_MAX)
		return fail(RF_EXIT_BAD_VALUE, "--volumes %s: wants 1 to %u[:NAME,NAME...]",
			    o.volumes, RF_VOLUMES_MAX);
	return names ? add_listed(p, names, (uint32_t)count) : add_counted(p, (uint32_t)count);
}

static int take_names(struct plan *p)
{
	unsigned i;
	int rc = 0;

	if (!o.names.count)
		return take_volumes(p);
	if (o.volumes)
		return fail(RF_EXIT_USAGE, "--volume and --volumes exclude each other");
	for (i = 0; i < o.names.count && !rc; i++)
		rc = add_name(p, o.names.item[i]);
	return rc;
}

/* ---- timings ---- */

static int take_epsilon(struct rf_timing *t)
{
	char *end;
	double v;

	if (!o.epsilon)
		return 0;
	v = strtod(o.epsilon, &end);
	if (!strcmp(end, "%"))
		v *= 10000;
	else if (strcmp(end, "ppm"))
		v = -1;
	if (!(v >= 1 && v <= 100000))
		return fail(RF_EXIT_BAD_VALUE,
			    "--epsilon %s: wants 1ppm to 10%%, as 1%% or 10000ppm", o.epsilon);
	t->epsilon_ppm = (uint32_t)(v + 0.5);
	return 0;
}

static int take_timing(struct rf_timing *t)
{
	const struct {
		bool seen;
		uint32_t from, *to;
	} over[] = {
		{o.seen_heartbeat, o.timing.heartbeat_ms, &t->heartbeat_ms},
		{o.seen_suspect, o.timing.suspect_ms, &t->suspect_ms},
		{o.seen_lease, o.timing.lease_ms, &t->lease_ms},
		{o.seen_grace, o.timing.grace_ms, &t->grace_ms},
		{o.seen_hold, o.timing.hold_ms, &t->hold_ms},
		{o.seen_isolation, o.timing.isolation_ms, &t->isolation_ms},
		{o.seen_slot, o.timing.slot_timeout_ms, &t->slot_timeout_ms},
		{o.seen_inflight, o.timing.inflight_ms, &t->inflight_ms},
	};
	size_t i;

	if (!rf_timing_profile(o.profile, t))
		return fail(RF_EXIT_BAD_VALUE, "--profile %s: wants fast, san or multipath",
			    o.profile);
	for (i = 0; i < sizeof(over) / sizeof(over[0]); i++)
		if (over[i].seen)
			*over[i].to = over[i].from;
	return take_epsilon(t);
}

/* ---- the rest of the superblock ---- */

static int take_words(struct rf_super *s)
{
	if (!strcmp(o.reserve, "start"))
		s->place = RF_PLACE_START;
	else if (!strcmp(o.reserve, "end"))
		s->place = RF_PLACE_END;
	else if (!strcmp(o.reserve, "whole"))
		s->place = RF_PLACE_WHOLE;
	else
		return fail(RF_EXIT_BAD_VALUE, "--reserve %s: wants start, end or whole",
			    o.reserve);
	if (!strcmp(o.quorum, "majority"))
		s->quorum = RF_QUORUM_MAJORITY;
	else if (!strcmp(o.quorum, "survivors"))
		s->quorum = RF_QUORUM_SURVIVORS;
	else
		return fail(RF_EXIT_BAD_VALUE, "--quorum %s: wants majority or survivors",
			    o.quorum);
	return 0;
}

/* One item of --voters: N or N-M. */
static bool add_voters(struct rf_super *s, char *item)
{
	char *dash = strchr(item, '-');
	uint64_t from, to;

	if (dash)
		*dash++ = 0;
	if (!parse_u64(item, 10, &from) || !parse_u64(dash ? dash : item, 10, &to) || !from ||
	    from > to || to > s->id.nodes)
		return false;
	for (; from <= to; from++)
		rf_bit_set(s->voters, (uint32_t)from - 1, true);
	return true;
}

/* A majority is one of the voters: ids kept for later must not be among them. */
static int take_voters(struct rf_super *s)
{
	char text[1024], *save = NULL, *item;
	bool good;

	snprintf(text, sizeof(text), "1-%u", s->id.nodes);
	if (o.voters)
		snprintf(text, sizeof(text), "%s", o.voters);
	item = strtok_r(text, ",", &save);
	good = item != NULL;
	for (; item && good; item = strtok_r(NULL, ",", &save))
		good = add_voters(s, item);
	return good ? 0
		    : fail(RF_EXIT_BAD_VALUE, "--voters %s: wants node ids up to %u, as 1-3,5",
			   o.voters ? o.voters : "", s->id.nodes);
}

static int take_counts(struct rf_super *s)
{
	if (!o.cluster || !name_ok(o.cluster))
		return fail(o.cluster ? RF_EXIT_BAD_VALUE : RF_EXIT_USAGE,
			    "--cluster NAME is required: 1 to %u of letters, digits, . _ -",
			    RF_NAME_BYTES - 1);
	if (!o.nodes || o.nodes > RF_NODES_MAX)
		return fail(o.nodes ? RF_EXIT_BAD_VALUE : RF_EXIT_USAGE,
			    "--nodes N is required: 1 to %u", RF_NODES_MAX);
	if (o.history < RF_HISTORY_MIN || o.history > RF_HISTORY_MAX)
		return fail(RF_EXIT_BAD_VALUE, "--history %u: wants %u to %u", o.history,
			    RF_HISTORY_MIN, RF_HISTORY_MAX);
	memcpy(s->cluster_name, o.cluster, strlen(o.cluster) + 1);
	s->id.nodes = o.nodes;
	s->history = o.history;
	s->state_strides = o.state_bytes; /* bytes until format_layout() */
	return take_voters(s);
}

/* Version 4, so that other tools take it for what it is. */
static int make_uuid(uint8_t uuid[RF_UUID_BYTES])
{
	if (getrandom(uuid, RF_UUID_BYTES, 0) != RF_UUID_BYTES)
		return fail(RF_EXIT_AGAIN, "no random numbers: %m");
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

static int make_identity(struct plan *p)
{
	uint32_t v;
	int rc = make_uuid(p->super.id.cluster);

	if (!rc)
		rc = make_uuid(p->super.id.area);
	for (v = 0; v < p->super.volumes && !rc; v++)
		rc = make_uuid(p->uuids[v]);
	p->super.created_unix_s = (uint64_t)time(NULL);
	p->super.seq = 1;
	return rc;
}

static int take_options(struct plan *p)
{
	int rc = take_counts(&p->super);

	if (!rc)
		rc = take_names(p);
	if (!rc)
		rc = take_words(&p->super);
	if (!rc)
		rc = take_timing(&p->super.timing);
	if (!rc)
		rc = format_timing_judge(&p->super.timing, 0);
	return rc ? rc : make_identity(p);
}

/* ---- devices ---- */

static int distinct(const struct plan *p, const struct disk *d)
{
	unsigned i;

	for (i = 0; i < p->disks; i++)
		if (!strcmp(p->disk[i].path, d->path) ||
		    (d->device_id[0] && !strcmp(p->disk[i].device_id, d->device_id)))
			return fail(RF_EXIT_BAD_VALUE, "%s and %s are the same device",
				    p->disk[i].path, d->path);
	return 0;
}

/* Looked at read-only first: a refusal must not even open it for writing. */
static int examine(struct plan *p, const char *path)
{
	struct disk *d = &p->disk[p->disks];
	int rc = disk_open(d, path, O_RDONLY);

	if (rc)
		return rc;
	rc = distinct(p, d);
	if (!rc)
		rc = disk_locate(d, true);
	if (!rc)
		rc = format_refuse(d, p->force, &p->in_use[p->disks]);
	if (!rc)
		rc = format_alive(d);
	p->disks++;
	return rc;
}

static int may_go_on(const struct plan *p)
{
	char answer[8] = "";

	if (o.yes || tool.json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return 0;
	format_show(p);
	fprintf(stderr, "\nWrite this? All that is in the area is lost. Type yes: ");
	if (fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n"))
		return 0;
	return fail(RF_EXIT_NO, "nothing was written");
}

static int write_all(struct plan *p)
{
	unsigned i;
	int rc = may_go_on(p);

	for (i = 0; i < p->disks && !rc; i++)
		rc = disk_writable(&p->disk[i], !p->in_use[i]); /* unless --force was given */
	if (!rc)
		rc = format_write(p);
	if (rc)
		return rc;
	if (tool.json || tool.verbose)
		format_show(p);
	else
		printf("cluster '%s': area of %u nodes and %u volumes written on %u disk%s and "
		       "read back\n",
		       p->super.cluster_name, p->super.id.nodes, p->super.volumes, p->disks,
		       p->disks == 1 ? "" : "s");
	return 0;
}

static int format_all(struct plan *p, int argc, char **argv)
{
	int rc = 0;

	while ((int)p->disks < argc && !rc)
		rc = examine(p, argv[p->disks]);
	if (!rc)
		rc = format_layout(p);
	if (!rc)
		rc = format_timing(p);
	if (rc)
		return rc;
	if (!o.dry_run)
		return write_all(p);
	format_show(p);
	return 0;
}

static int run(int argc, char **argv)
{
	struct plan *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return fail(RF_EXIT_AGAIN, "out of memory");
	if (argc != 1 && argc != 3 && argc != 5) {
		free(p);
		return fail(RF_EXIT_USAGE, "wants 1, 3 or 5 devices, not %d", argc);
	}
	p->super.disk_count = (uint8_t)argc;
	p->force = o.force;
	p->dry_run = o.dry_run;
	rc = take_options(p);
	if (!rc)
		rc = format_all(p, argc, argv);
	while (p->disks)
		disk_close(&p->disk[--p->disks]);
	free(p);
	return rc;
}

const struct command cmd_format = {
	.name = "format",
	.args = "DEVICE [DEVICE DEVICE [DEVICE DEVICE]]",
	.brief = "make a quorum area on one, three or five devices",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
