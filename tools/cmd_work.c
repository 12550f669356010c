/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence work: what a leader has begun and not ended. It lies beside the state and
 * survives the leader; the next one gets the list in its reconcile hook.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "keep.h"
#include "out.h"
#include "tool.h"

#define WAIT_MS 10000

static uint32_t wait_ms = WAIT_MS;
static uint64_t epoch;
static struct opt_list devices;

static const struct opt opts[] = {
	{"device", "DEVICE", "list: read this quorum disk, no daemon needed; may be repeated",
	 OPT_LIST, &devices, NULL},
	{"epoch", "EPOCH", "only while this host leads in this epoch (else exit 110)", OPT_U64,
	 &epoch, NULL},
	{"wait", "TIME", "begin, end: answer at the latest then (exit 124); default 10s",
	 OPT_SEC, &wait_ms, NULL},
	{0},
};

static const struct out_col cols[] = {
	{"ID", "id", 0, 0},
	{"EPOCH", "epoch", 0, true},
	{"NODE", "node", 0, true},
	{"TIMES", "times", 0, true},
	{"BEGUN", "begun_unix_ms", OUT_TIME, 0},
	{"TEXT", "text", 0, 0},
};

/* ---- list ---- */

static void add(struct json_object *a, const struct rf_work *w)
{
	struct json_object *o = out_row(a);

	out_text(o, "id", w->id);
	out_u64(o, "epoch", w->epoch);
	out_int(o, "node", w->node);
	out_int(o, "times", w->times);
	out_int(o, "begun_unix_ms", (int64_t)(w->unix_ns / 1000000));
	out_text(o, "text", w->text);
}

static void work_row(void *arg, const union ctl_packet *p)
{
	struct rf_work w = {.epoch = p->work.epoch,
			    .unix_ns = p->work.unix_ns,
			    .node = p->work.node,
			    .times = p->work.times};

	if (p->h.kind != RF_CTL_ROW_WORK)
		return;
	memcpy(w.id, p->work.id, sizeof(w.id));
	memcpy(w.text, p->work.text, sizeof(w.text));
	add(arg, &w);
}

static int from_daemon(const char *volume, struct json_object *a)
{
	struct rf_ctl_request request;
	int rc = ctl_request(&request, RF_CTL_WORK_LIST, volume);

	request.epoch = epoch;
	return rc ? rc : ctl_ask(&request, work_row, a);
}

static int from_disk(const char *volume, struct json_object *a)
{
	struct disk_set set;
	struct keep k = {.newest.payload = NULL};
	int rc = keep_open(&set, &devices);

	if (!rc)
		rc = keep_load(&k, &set, volume);
	for (uint32_t i = 0; !rc && i < k.blob.works; i++)
		add(a, &k.blob.work[i]);
	keep_free(&k);
	disk_set_close(&set);
	return rc;
}

static int list(const char *volume)
{
	struct json_object *doc = out_doc(), *a;
	int rc;

	out_text(doc, "volume", volume);
	a = out_array(doc, "work");
	rc = devices.count ? from_disk(volume, a) : from_daemon(volume, a);
	if (rc || !tool.json) {
		if (!rc && json_object_array_length(a))
			out_table(a, cols, OUT_N(cols));
		json_object_put(doc);
		return rc;
	}
	out_print(doc);
	return 0;
}

/* ---- begin, end ---- */

static int fill(char *to, size_t room, const char *from, const char *what)
{
	if (strlen(from) >= room)
		return fail(RF_EXIT_BAD_VALUE, "%s: a work's %s has at most %zu bytes", from,
			    what, room - 1);
	memcpy(to, from, strlen(from));
	return 0;
}

static int change(unsigned verb, const char *volume, const char *id, const char *words)
{
	struct rf_ctl_work_arg arg = {.id = ""};
	char text[RF_CTL_TEXT_BYTES] = "";
	struct rf_ctl_request request;
	int rc = ctl_request(&request, verb, volume);

	if (!rc)
		rc = fill(arg.id, sizeof(arg.id), id, "id");
	if (!rc)
		rc = fill(arg.text, sizeof(arg.text), words, "text");
	if (rc)
		return rc;
	request.epoch = epoch;
	request.timeout_ms = wait_ms;
	rc = ctl_ask_data(&request, &arg, sizeof(arg), text);
	if (!rc && *text)
		puts(text);
	return rc;
}

static int run(int argc, char **argv)
{
	if (!strcmp(argv[0], "list") && argc == 2)
		return list(argv[1]);
	if (!strcmp(argv[0], "begin") && argc >= 3 && !devices.count)
		return change(RF_CTL_WORK_BEGIN, argv[1], argv[2], argc > 3 ? argv[3] : "");
	if (!strcmp(argv[0], "end") && argc == 3 && !devices.count)
		return change(RF_CTL_WORK_END, argv[1], argv[2], "");
	return fail(RF_EXIT_USAGE, "begin VOLUME ID [TEXT], end VOLUME ID, or list VOLUME");
}

const struct command cmd_work = {
	.name = "work",
	.args = "begin VOLUME ID [TEXT] | end VOLUME ID | list VOLUME",
	.brief = "what a leader has begun and not ended: it survives the leader",
	.opts = opts,
	.min_args = 2,
	.max_args = 4,
	.run = run,
};
