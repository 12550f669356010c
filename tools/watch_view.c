/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of the disks, one after the other, and what follows from their differences. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "out.h"
#include "tool.h"
#include "watch.h"
#include "words.h"

/* ---- reading ---- */

static void read_order(struct watch_node *n, struct merge *g, const struct disk_set *set,
		       uint32_t id)
{
	struct record r = {.kind = RF_KIND_MAILBOX,
			   .index = id,
			   .offset_bytes = rf_geo_mailbox(&set->super, id)};
	struct rf_mailbox box;
	struct merged m;

	merge_read(g, set, &r, &m);
	n->order_good = m.newest >= 0 && !rf_mailbox_decode(m.raw, &set->super.id, id, &box);
	n->order = n->order_good ? box.order : 0;
}

static void read_node(struct watch_node *n, struct merge *g, const struct disk_set *set,
		      uint32_t id, bool first)
{
	struct record r = {.kind = RF_KIND_SLOT,
			   .index = id,
			   .offset_bytes = rf_geo_slot(&set->super, id)};
	struct rf_slot before = n->slot;
	uint64_t now;
	struct merged m;
	bool was = n->good;

	merge_read(g, set, &r, &m);
	now = rf_boot_ns(); /* what counts about others is taken after the read (2.4) */
	n->good = m.newest >= 0 && !rf_slot_decode(m.raw, &set->super.id, id, &n->slot);
	n->bad = n->good ? NULL : merge_words(m.verdict[0], m.error[0]);
	if (n->good && was && !first &&
	    (n->slot.seq != before.seq || n->slot.incarnation != before.incarnation)) {
		n->beat_ns = n->moved ? now - n->seen_ns : 0;
		n->moved = true;
		n->seen_ns = now;
	} else if (!n->seen_ns) {
		n->seen_ns = now;
	}
	read_order(n, g, set, id);
}

static void read_ballots(struct watch_volume *v, struct merge *g, const struct disk_set *set,
			 uint32_t volume)
{
	struct rf_ballot b;
	struct merged m;
	uint32_t i;

	v->highest = 0;
	v->bidder = 0;
	v->voted = false;
	v->unreadable = 0;
	for (i = 1; i <= set->super.id.nodes; i++) {
		struct record r = {.kind = RF_KIND_BALLOT,
				   .volume = volume,
				   .index = i,
				   .offset_bytes = rf_geo_ballot(&set->super, volume, i)};

		merge_read(g, set, &r, &m);
		if (m.newest < 0 || rf_ballot_decode(m.raw, &set->super.id, volume, i, &b)) {
			v->unreadable++;
			continue;
		}
		v->fingerprint += b.seq;
		if (b.instance > v->highest) {
			v->highest = b.instance;
			v->bidder = i;
			v->voted = false;
		}
		if (b.instance == v->highest && b.bal) {
			v->voted = true;
			v->bidder = i;
		}
	}
}

static void read_volume(struct watch_volume *v, struct merge *g, const struct disk_set *set,
			uint32_t volume, bool first)
{
	struct record r = {.kind = RF_KIND_EPOCH,
			   .volume = volume,
			   .offset_bytes = rf_geo_region(&set->super, volume)};
	uint64_t before = v->fingerprint;
	struct merged m;

	merge_read(g, set, &r, &m);
	v->good = m.newest >= 0 && !rf_epoch_decode(m.raw, &set->super.id, volume, &v->epoch);
	v->fingerprint = v->good ? v->epoch.seq + v->epoch.epoch + v->epoch.state : 0;
	read_ballots(v, g, set, volume);
	if (!first && before != v->fingerprint)
		v->changed_ns = rf_boot_ns();
}

static void read_name(struct watch_volume *v, struct merge *g, const struct disk_set *set,
		      uint32_t volume)
{
	struct record r = {.kind = RF_KIND_VOLUME,
			   .volume = volume,
			   .offset_bytes = rf_geo_volume(&set->super, volume)};
	struct rf_volume_desc d;
	struct merged m;

	merge_read(g, set, &r, &m);
	if (m.newest >= 0 && !rf_volume_decode(m.raw, &set->super.id, volume, &d))
		memcpy(v->name, d.name, sizeof(v->name));
	else
		snprintf(v->name, sizeof(v->name), "volume %u", volume);
}

/* Into a copy, which is then published: whoever shows it never waits for a disk. */
static void read_all(struct watch *c)
{
	const struct disk_set *set = c->set;
	bool first = !c->readings;
	struct merge g;
	uint32_t i;

	merge_init(&g, set);
	for (i = 1; i <= set->super.id.nodes; i++)
		read_node(&c->node[i], &g, set, i, first);
	for (i = 0; i < set->super.volumes; i++) {
		if (first)
			read_name(&c->volume[i], &g, set, i);
		read_volume(&c->volume[i], &g, set, i, first);
	}
	merge_free(&g);
}

void watch_read(struct watch *w)
{
	struct watch *c = malloc(sizeof(*c));
	uint64_t began = rf_boot_ns(), now;

	if (!c)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	pthread_mutex_lock(&w->lock);
	w->busy = 1;
	w->busy_ns = began;
	*c = *w;
	pthread_mutex_unlock(&w->lock);
	read_all(c);
	now = rf_boot_ns();
	pthread_mutex_lock(&w->lock);
	memcpy(w->node, c->node, sizeof(w->node));
	memcpy(w->volume, c->volume, sizeof(w->volume));
	w->readings++;
	if (!w->began_ns)
		w->began_ns = began;
	w->read_ns = now;
	w->took_us = (uint32_t)((now - began) / 1000);
	if (w->took_us > w->worst_us)
		w->worst_us = w->took_us;
	w->busy = 0;
	pthread_mutex_unlock(&w->lock);
	free(c);
}

/* ---- as a document ---- */

static const char *life_of(const struct watch *w, const struct watch_node *n, uint64_t now)
{
	uint64_t silent_ms = (now - n->seen_ns) / 1000000;

	if (!n->good)
		return "unreadable";
	if (n->slot.state == RF_SLOT_FREE)
		return "free";
	if (silent_ms > w->set->super.timing.suspect_ms)
		return "silent";
	return n->moved ? "alive" : "unknown";
}

static void node_row(struct json_object *a, const struct watch *w, uint32_t id, uint64_t now)
{
	const struct watch_node *n = &w->node[id];
	const struct rf_super *s = &w->set->super;
	struct json_object *o = out_row(a);
	static const struct rf_slot none;
	const struct rf_slot *slot = n->good ? &n->slot : &none;
	bool used = n->good && slot->state != RF_SLOT_FREE;
	char buf[WORDS_BYTES];

	out_int(o, "node", id);
	out_text(o, "host", slot->host[0] ? slot->host : NULL);
	out_text(o, "state", life_of(w, n, now));
	if (used)
		out_int(o, "age_ms", (int64_t)((now - n->seen_ns) / 1000000));
	else
		out_null(o, "age_ms");
	/* before it moved, the age is only how long we look */
	out_bool(o, "age_is_lower_bound", used && !n->moved);
	if (used && n->beat_ns)
		out_int(o, "beat_ms", (int64_t)(n->beat_ns / 1000000));
	else
		out_null(o, "beat_ms");
	if (n->good)
		out_u64(o, "sequence", slot->seq);
	else
		out_u64_null(o, "sequence");
	words_add_bits(o, "gates_open", slot->gate_open, s->volumes, 0);
	words_add_bits(o, "leads", slot->leads, s->volumes, 0);
	words_add_bits(o, "hears", slot->hears, s->id.nodes, 1);
	out_int(o, "write_us", slot->write_us);
	out_int(o, "read_us", slot->read_us);
	out_int(o, "worst_us", slot->worst_us);
	out_text(o, "health", n->good ? words_health(buf, slot->health) : n->bad);
	out_text(o, "order", n->order_good ? words_order(n->order) : "unreadable");
}

static void claim_words(struct json_object *o, const struct watch_volume *v)
{
	uint64_t epoch = v->good ? v->epoch.epoch : 0;

	if (v->unreadable)
		out_format(o, "claim", "%u ballots unreadable", v->unreadable);
	else if (v->highest <= epoch)
		out_text(o, "claim", "settled");
	else
		out_format(o, "claim", "node %u %s %" PRIu64, v->bidder,
			   v->voted ? "votes in" : "tries", v->highest);
}

static void volume_row(struct json_object *a, const struct watch *w, uint32_t id, uint64_t now)
{
	const struct watch_volume *v = &w->volume[id];
	uint8_t open[RF_NODES_MAX / 8] = {0};
	struct json_object *o = out_row(a);
	uint32_t i;

	for (i = 1; i <= w->set->super.id.nodes; i++)
		if (w->node[i].good && w->node[i].slot.state != RF_SLOT_FREE)
			rf_bit_set(open, i - 1, rf_bit_get(w->node[i].slot.gate_open, id));
	out_text(o, "volume", v->name);
	out_text(o, "state", v->good ? words_epoch_state(v->epoch.state) : "unreadable");
	if (v->good && v->epoch.epoch) {
		out_u64(o, "epoch", v->epoch.epoch);
		out_int(o, "owner", v->epoch.owner);
		out_text(o, "host",
			 w->node[v->epoch.owner].good ? w->node[v->epoch.owner].slot.host
						      : NULL);
		out_int(o, "written_unix_ms", (int64_t)(v->epoch.unix_ns / 1000000));
	} else {
		out_u64_null(o, "epoch");
		out_null(o, "owner");
		out_null(o, "host");
		out_null(o, "written_unix_ms");
	}
	words_add_bits(o, "gates_open_on", open, w->set->super.id.nodes, 1);
	claim_words(o, v);
	if (v->changed_ns)
		out_int(o, "changed_ms", (int64_t)((now - v->changed_ns) / 1000000));
	else
		out_null(o, "changed_ms");
}

/* ---- order of the rows ---- */

static const struct watch *sorted; /* qsort() has no argument for it */
static enum watch_sort sort_by;

static int compare(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct watch_node *x = &sorted->node[i], *y = &sorted->node[j];
	int64_t d = 0;

	if (sort_by == SORT_AGE)
		d = (int64_t)(x->seen_ns - y->seen_ns); /* oldest first */
	else if (sort_by == SORT_WORST)
		d = (int64_t)y->slot.worst_us - (int64_t)x->slot.worst_us;
	else if (sort_by == SORT_HOST)
		d = strncmp(x->slot.host, y->slot.host, RF_HOST_BYTES);
	if (!d)
		d = (int64_t)i - (int64_t)j;
	return d < 0 ? -1 : d > 0;
}

/* Slots that never were used say nothing. */
static bool shown(const struct watch_node *n)
{
	return !n->good || n->slot.generation || n->slot.state != RF_SLOT_FREE;
}

static void add_nodes(struct json_object *doc, const struct watch *w, bool reverse,
		      uint64_t now)
{
	struct json_object *a = out_array(doc, "nodes");
	uint32_t ids[RF_NODES_MAX] = {0}, count = 0, i;

	for (i = 1; i <= w->set->super.id.nodes; i++)
		if (shown(&w->node[i]))
			ids[count++] = i;
	sorted = w;
	qsort(ids, count, sizeof(ids[0]), compare);
	for (i = 0; i < count; i++)
		node_row(a, w, ids[reverse ? count - 1 - i : i], now);
}

struct json_object *watch_doc(const struct watch *w, enum watch_sort sort, bool reverse)
{
	struct json_object *doc = out_doc(), *a;
	uint64_t now = rf_boot_ns();
	uint32_t i;

	sort_by = sort;
	out_text(doc, "cluster", w->set->super.cluster_name);
	out_int(doc, "unix_ms", (int64_t)(rf_unix_ns() / 1000000));
	out_u64(doc, "readings", w->readings);
	out_int(doc, "reading_us", w->took_us);
	out_int(doc, "worst_reading_us", w->worst_us);
	if (w->busy)
		out_int(doc, "waiting_ms", (int64_t)((now - w->busy_ns) / 1000000));
	else
		out_null(doc, "waiting_ms");
	a = out_array(doc, "volumes");
	for (i = 0; i < w->set->super.volumes; i++)
		volume_row(a, w, i, now);
	add_nodes(doc, w, reverse, now);
	return doc;
}

static const struct out_col volume_cols[] = {
	{"VOLUME", "volume", 0, 0},
	{"EPOCH", "epoch", 0, true},
	{"STATE", "state", 0, 0},
	{"OWNER", "owner", 0, true},
	{"HOST", "host", 0, 0},
	{"SINCE", "written_unix_ms", OUT_TIME, 0},
	{"GATE-OPEN-ON", "gates_open_on", OUT_LIST, 0},
	{"CLAIM", "claim", 0, 0},
	{"CHANGED", "changed_ms", OUT_MS, true},
};

static const struct out_col node_cols[] = {
	{"NODE", "node", 0, true},
	{"HOST", "host", 0, 0},
	{"STATE", "state", 0, 0},
	{"AGE", "age_ms", OUT_MS, true},
	{"BEAT", "beat_ms", OUT_MS, true},
	{"GATES", "gates_open", OUT_LIST, 0},
	{"LEADS", "leads", OUT_LIST, 0},
	{"HEARS", "hears", OUT_LIST, 0},
	{"WRITE", "write_us", OUT_US, true},
	{"READ", "read_us", OUT_US, true},
	{"WORST", "worst_us", OUT_US, true},
	{"HEALTH", "health", 0, 0},
	{"ORDER", "order", 0, 0},
};

void watch_print(struct json_object *doc)
{
	out_table(json_object_object_get(doc, "volumes"), volume_cols, OUT_N(volume_cols));
	putchar('\n');
	out_table(json_object_object_get(doc, "nodes"), node_cols, OUT_N(node_cols));
}
