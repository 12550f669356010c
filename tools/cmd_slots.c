/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence slots: who uses which node id, as the disk says; no daemon needed. */
#include <inttypes.h>
#include <stdio.h>

#include "disk.h"
#include "out.h"
#include "tool.h"
#include "words.h"

static bool all;

static const struct opt opts[] = {
	{"all", NULL, "also slots that were never used", OPT_FLAG, &all, NULL},
	{0},
};

static const struct out_col cols[] = {
	{"NODE", "node", 0, true},
	{"HOST", "host", 0, 0},
	{"STATE", "state", 0, 0},
	{"GENERATION", "generation", 0, true},
	{"INCARNATION", "incarnation_hex", 0, 0},
	{"SEQUENCE", "sequence", 0, true},
	{"WRITTEN", "written_unix_ms", OUT_TIME, 0},
	{"GATES-OPEN", "gates_open", OUT_LIST, 0},
	{"LEADS", "leads", OUT_LIST, 0},
	{"HEARS", "hears", OUT_LIST, 0},
	{"WORST-IO", "worst_us", OUT_US, true},
	{"HEALTH", "health", 0, 0},
	{"ORDER", "order", 0, 0},
};

/* Every key, also for a slot that cannot be read. */
static void unreadable_row(struct json_object *o, const char *why)
{
	static const char *const keys[] = {
		"host",  "incarnation_hex", "written_unix_ms", "gates_open", "leads",
		"hears", "write_us",        "read_us",         "worst_us",   "priority"};
	size_t i;

	out_text(o, "state", "unreadable");
	out_text(o, "health", why);
	out_u64_null(o, "generation");
	out_u64_null(o, "incarnation");
	out_u64_null(o, "sequence");
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		out_null(o, keys[i]);
}

static void slot_row(struct json_object *o, const struct rf_slot *s,
		     const struct rf_super *area)
{
	char buf[WORDS_BYTES];

	out_text(o, "host", s->host[0] ? s->host : NULL);
	out_text(o, "state", words_slot_state(s->state));
	out_u64(o, "generation", s->generation);
	out_u64(o, "incarnation", s->incarnation);
	out_format(o, "incarnation_hex", "%016" PRIx64, s->incarnation);
	out_u64(o, "sequence", s->seq);
	if (s->unix_ns)
		out_int(o, "written_unix_ms", (int64_t)(s->unix_ns / 1000000));
	else
		out_null(o, "written_unix_ms");
	words_add_bits(o, "gates_open", s->gate_open, area->volumes, 0);
	words_add_bits(o, "leads", s->leads, area->volumes, 0);
	words_add_bits(o, "hears", s->hears, area->id.nodes, 1);
	out_int(o, "write_us", s->write_us);
	out_int(o, "read_us", s->read_us);
	out_int(o, "worst_us", s->worst_us);
	out_int(o, "priority", s->priority);
	out_text(o, "health", words_health(buf, s->health));
}

static void order_of(struct json_object *o, struct merge *g, const struct disk_set *set,
		     uint32_t node)
{
	struct record r = {.kind = RF_KIND_MAILBOX,
			   .index = node,
			   .offset_bytes = rf_geo_mailbox(&set->super, node)};
	struct rf_mailbox box;
	struct merged m;

	merge_read(g, set, &r, &m);
	if (m.newest < 0 || rf_mailbox_decode(m.raw, &set->super.id, node, &box))
		out_text(o, "order", "unreadable");
	else
		out_text(o, "order", words_order(box.order));
}

static unsigned add(struct json_object *a, struct merge *g, const struct disk_set *set,
		    uint32_t node)
{
	struct record r = {.kind = RF_KIND_SLOT,
			   .index = node,
			   .offset_bytes = rf_geo_slot(&set->super, node)};
	struct json_object *o;
	struct rf_slot slot;
	struct merged m;
	bool good;

	merge_read(g, set, &r, &m);
	good = m.newest >= 0 && !rf_slot_decode(m.raw, &set->super.id, node, &slot);
	if (good && !all && slot.state == RF_SLOT_FREE && !slot.generation)
		return 0;
	o = out_row(a);
	out_int(o, "node", node);
	out_bool(o, "disks_differ", m.differ);
	if (good)
		slot_row(o, &slot, &set->super);
	else
		unreadable_row(o, merge_words(m.verdict[0], m.error[0]));
	order_of(o, g, set, node);
	return !good;
}

static int list(const struct disk_set *set)
{
	struct json_object *doc = out_doc(), *a;
	unsigned bad = 0;
	struct merge g;
	uint32_t node;

	out_text(doc, "cluster", set->super.cluster_name);
	out_uuid(doc, "area_uuid", set->super.id.area);
	a = out_array(doc, "slots");
	merge_init(&g, set);
	merge_ahead(&g, rf_geo_slot(&set->super, 1), rf_geo_volume(&set->super, 0));
	for (node = 1; node <= set->super.id.nodes; node++)
		bad += add(a, &g, set, node);
	merge_free(&g);
	if (tool.json) {
		out_print(doc);
	} else {
		out_table(a, cols, OUT_N(cols));
		json_object_put(doc);
	}
	return bad ? fail(RF_EXIT_BAD_DATA, "%u slots are unreadable", bad) : 0;
}

static int run(int argc, char **argv)
{
	struct disk_set set;
	int rc = disk_set_open_some(&set, argc, argv);

	if (!rc)
		rc = list(&set);
	disk_set_close(&set);
	return rc;
}

const struct command cmd_slots = {
	.name = "slots",
	.args = "DEVICE...",
	.brief = "who uses which node id, as the disk says",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
