/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence status: what the daemon of this host knows, once or live. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "out.h"
#include "rows.h"
#include "tool.h"

#define REDRAW_MS 1000

static bool watch;

static const struct opt opts[] = {
	{"watch", NULL, "(-w) again every second and at every event, until interrupted",
	 OPT_FLAG, &watch, NULL},
	{0},
};

static const struct out_col area_cols[] = {
	{"CLUSTER", "cluster", 0, 0},
	{"NODE", "node", 0, true},
	{"JOINED", "joined", OUT_YESNO, 0},
	{"DISKS", "disks", 0, true},
	{"GOOD", "disks_good", 0, true},
	{"QUORUM", "quorum", 0, 0},
	{"HEARTBEAT", "heartbeat_ms", OUT_MS, true},
	{"LEASE", "lease_ms", OUT_MS, true},
	{"WORST-IO", "worst_us", OUT_US, true},
	{"HEALTH", "health", 0, 0},
};

static const struct out_col volume_cols[] = {
	{"VOLUME", "volume", 0, 0},
	{"ROLE", "role", 0, 0},
	{"LEADER", "leader", 0, true},
	{"HOST", "leader_host", 0, 0},
	{"EPOCH", "epoch", 0, true},
	{"SINCE", "since_unix_ms", OUT_TIME, 0},
	{"CAUSE", "cause", 0, 0},
	{"LEASE-LEFT", "lease_left_ms", OUT_MS, true},
	{"SILENT", "silent_ms", OUT_MS, true},
	{"REFUSED", "writes_refused", 0, true},
	{"FENCE", "fence", 0, 0},
};

static struct json_object *status_doc(const struct ctl_status *s)
{
	struct json_object *doc = out_doc(), *a;
	unsigned i;

	rows_daemon(out_object(doc, "daemon"), &s->daemon);
	a = out_array(doc, "areas");
	for (i = 0; i < s->areas; i++)
		rows_area(out_row(a), &s->area[i]);
	a = out_array(doc, "volumes");
	for (i = 0; i < s->volumes; i++)
		rows_volume(out_row(a), &s->volume[i]);
	a = out_array(doc, "nodes");
	for (i = 0; i < s->nodes; i++)
		rows_node(out_row(a), &s->node[i]);
	return doc;
}

static void watchdog_remarks(const struct rf_ctl_daemon *d)
{
	if (d->watchdog == RF_CTL_WATCHDOG_NONE)
		printf("watchdog: none: %s\n", d->watchdog_text);
	if (d->watchdog == RF_CTL_WATCHDOG_SOFT)
		puts("watchdog: soft: it does not fire when the kernel hangs");
	if (d->watchdog == RF_CTL_WATCHDOG_FIRING)
		printf("watchdog: %s: this host is about to be reset\n", d->watchdog_text);
	if (d->watchdog_last[0])
		printf("reset by watchdog: %s\n", d->watchdog_last);
}

static void paused_remark(const struct rf_ctl_daemon *d)
{
	struct json_object *at = json_object_new_int64((int64_t)(d->paused_unix_ns / 1000000));
	char text[32];

	printf("paused since %s: this node does not campaign; `ringfence resume` ends it\n",
	       out_value(at, OUT_TIME, text, sizeof(text)));
	json_object_put(at);
}

/* What a table cannot say: what is waited for, and how strong the fence is. */
static void remarks(const struct ctl_status *s)
{
	unsigned i;

	for (i = 0; i < s->areas; i++)
		if (s->area[i].waiting[0])
			printf("node %u of '%s': %s\n", s->area[i].node, s->area[i].cluster,
			       s->area[i].waiting);
	for (i = 0; i < s->volumes; i++)
		if (s->volume[i].weakest[0])
			printf("%s: %s\n", s->volume[i].name, s->volume[i].weakest);
	if (s->daemon.paused_unix_ns)
		paused_remark(&s->daemon);
	watchdog_remarks(&s->daemon);
	if (s->daemon.log_lost)
		printf("log: %llu lines were lost, the log is too slow\n",
		       (unsigned long long)s->daemon.log_lost);
}

static void show(const struct ctl_status *s)
{
	struct json_object *doc = status_doc(s);

	if (tool.json) {
		if (watch)
			out_line(doc);
		else
			out_print(doc);
		return;
	}
	out_table(json_object_object_get(doc, "areas"), area_cols, OUT_N(area_cols));
	putchar('\n');
	out_table(json_object_object_get(doc, "volumes"), volume_cols, OUT_N(volume_cols));
	remarks(s);
	json_object_put(doc);
}

static int once(void)
{
	struct ctl_status s;
	int rc = ctl_status(&s);

	if (!rc)
		show(&s);
	ctl_status_free(&s);
	return rc;
}

/* Until something happens, but at most a second; events that queue up are one. */
static int pause_for_event(int fd)
{
	union ctl_packet p;
	int rc = ctl_receive(fd, &p, REDRAW_MS);

	while (rc > 0)
		rc = ctl_receive(fd, &p, 0);
	return rc < 0 ? ctl_lost(rc) : 0;
}

static int live(void)
{
	bool clear = !tool.json && isatty(STDOUT_FILENO);
	struct rf_ctl_request request;
	int rc, fd = ctl_connect(false);

	if (fd < 0)
		return -fd;
	ctl_request(&request, RF_CTL_WATCH, "");
	rc = ctl_ask_on(fd, &request, NULL, NULL, false);
	while (!rc) {
		if (clear)
			fputs("\033[H\033[2J", stdout);
		rc = once();
		fflush(stdout);
		if (!rc)
			rc = ferror(stdout) ? RF_EXIT_IO : pause_for_event(fd);
	}
	close(fd);
	return rc;
}

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return watch ? live() : once();
}

const struct command cmd_status = {
	.name = "status",
	.args = "",
	.brief = "areas and volumes as the daemon of this host sees them",
	.opts = opts,
	.max_args = 0,
	.run = run,
};
