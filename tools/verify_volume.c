/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the records must say together. Everything here is judged on the merged
 * view: of several disks the newest readable record.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "verify.h"

#define BALLOT_NODE(b) ((uint32_t)((b) & ((1u << RF_BALLOT_NODE_BITS) - 1)))

/* All of one volume that takes part in the rules. */
struct view {
	const struct disk_set *set;
	struct findings *out;
	struct merge g;
	uint32_t volume;
	bool epoch_good;
	struct rf_epoch epoch;
	bool ballot_good[RF_NODES_MAX + 1];
	struct rf_ballot ballot[RF_NODES_MAX + 1];
	bool slot_good[RF_NODES_MAX + 1];
	struct rf_slot slot[RF_NODES_MAX + 1];
	uint64_t highest; /* epoch that anything of the claim region names */
};

static void *fetch(struct view *w, const struct record *r)
{
	struct merged m;

	merge_read(&w->g, w->set, r, &m);
	return m.newest < 0 ? NULL : m.raw;
}

static struct record epoch_of(const struct view *w)
{
	return (struct record){.kind = RF_KIND_EPOCH,
			       .volume = w->volume,
			       .offset_bytes = rf_geo_region(&w->set->super, w->volume)};
}

static struct record ballot_of(const struct view *w, uint32_t node)
{
	return (struct record){.kind = RF_KIND_BALLOT,
			       .volume = w->volume,
			       .index = node,
			       .offset_bytes = rf_geo_ballot(&w->set->super, w->volume, node)};
}

static struct record slot_of(const struct view *w, uint32_t node)
{
	return (struct record){.kind = RF_KIND_SLOT,
			       .index = node,
			       .offset_bytes = rf_geo_slot(&w->set->super, node)};
}

static void load_claims(struct view *w)
{
	const struct rf_super *s = &w->set->super;
	struct record r = epoch_of(w);
	void *raw = fetch(w, &r);
	uint32_t i;

	w->epoch_good = raw && !rf_epoch_decode(raw, &s->id, w->volume, &w->epoch);
	w->highest = w->epoch_good ? w->epoch.epoch : 0;
	for (i = 1; i <= s->id.nodes; i++) {
		r = ballot_of(w, i);
		raw = fetch(w, &r);
		w->ballot_good[i] =
			raw && !rf_ballot_decode(raw, &s->id, w->volume, i, &w->ballot[i]);
		if (w->ballot_good[i] && w->ballot[i].instance > w->highest)
			w->highest = w->ballot[i].instance;
	}
}

static void load_slots(struct view *w)
{
	const struct rf_super *s = &w->set->super;
	uint32_t i;

	for (i = 1; i <= s->id.nodes; i++) {
		struct record r = slot_of(w, i);
		void *raw = fetch(w, &r);

		w->slot_good[i] = raw && !rf_slot_decode(raw, &s->id, i, &w->slot[i]);
	}
}

/* ---- claim region ---- */

/* §5: ballot numbers are unique to a node. */
static void check_ballot_numbers(struct view *w, uint32_t node)
{
	const struct rf_ballot *b = &w->ballot[node];
	struct record r = ballot_of(w, node);

	if (!w->ballot_good[node] || !b->instance)
		return;
	if (BALLOT_NODE(b->mbal) == node && (!b->bal || BALLOT_NODE(b->bal) == node))
		return;
	finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
		    "ballot number %" PRIu64 " or %" PRIu64 " belongs to another node", b->mbal,
		    b->bal);
	finding_todo(w->out, "two hosts used one node id, or a program that is not ringfenced "
			     "wrote here: check node-id on every host");
}

/* §5: once decided, every later ballot of the instance carries the same value. */
static void check_decision(struct view *w)
{
	const struct rf_ballot *top = NULL;
	struct record r;
	uint32_t i, at = 0;

	for (i = 1; i <= w->set->super.id.nodes; i++) {
		const struct rf_ballot *b = &w->ballot[i];

		if (w->ballot_good[i] && b->bal && b->instance == w->epoch.epoch &&
		    (!top || b->bal > top->bal)) {
			top = b;
			at = i;
		}
	}
	if (!top || !w->epoch_good || !w->epoch.epoch)
		return;
	if (top->value_node == w->epoch.owner && top->value_incarnation == w->epoch.incarnation)
		return;
	r = ballot_of(w, at);
	finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
		    "says epoch %" PRIu64 " was decided for node %u (%016" PRIx64
		    "), the epoch sector names node %u (%016" PRIx64 ")",
		    w->epoch.epoch, top->value_node, top->value_incarnation, w->epoch.owner,
		    w->epoch.incarnation);
	finding_todo(w->out,
		     "an epoch must have one owner for ever: stop all nodes, keep an image "
		     "of the area and report it");
}

/* §5: a sector is written only after its epoch was decided, by a vote in that instance or
 * a later one; when all ballots are readable one of them must know of it. */
static void check_unvoted(struct view *w)
{
	struct record r = epoch_of(w);
	uint64_t highest = 0;
	uint32_t i;

	for (i = 1; i <= w->set->super.id.nodes; i++) {
		if (!w->ballot_good[i])
			return;
		if (w->ballot[i].instance > highest)
			highest = w->ballot[i].instance;
	}
	if (!w->epoch_good || w->epoch.epoch <= highest)
		return;
	finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
		    "names epoch %" PRIu64 ", no ballot knows an epoch above %" PRIu64,
		    w->epoch.epoch, highest);
	finding_todo(w->out,
		     "ballots are older than the sector: were they restored from a copy? "
		     "Promises are lost: stop all nodes, keep an image, format anew");
}

/* §6: a slow winner may turn the sector back; its owner repairs that by itself. */
static void check_turned_back(struct view *w)
{
	struct record r = epoch_of(w);

	if (!w->epoch_good || w->highest <= w->epoch.epoch + 1)
		return;
	finding_add(w->out, w->set, SEV_NOTE, 0, &r,
		    "names epoch %" PRIu64 ", a ballot proves that epoch %" PRIu64
		    " was decided",
		    w->epoch.epoch, w->highest - 1);
	finding_todo(w->out,
		     "nothing: the owner of the later epoch, or the next one, writes it");
}

/* §8: a clean end is: gate shut, slot says closed, then RELEASED. */
static void check_released(struct view *w)
{
	uint32_t owner = w->epoch.owner;
	struct record r = epoch_of(w);

	if (!w->epoch_good || w->epoch.state != RF_EPOCH_RELEASED || !w->slot_good[owner])
		return;
	if (w->slot[owner].incarnation != w->epoch.incarnation ||
	    !rf_bit_get(w->slot[owner].gate_open, w->volume))
		return;
	finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
		    "says released, but the slot of its owner, node %u, says its gate is open",
		    owner);
	finding_todo(w->out,
		     "the next leader will not wait: stop ringfenced on that node before "
		     "anybody else leads, and report it");
}

/* ---- slots ---- */

static void check_clones(struct view *w)
{
	uint32_t i, j, n = w->set->super.id.nodes;

	for (i = 1; i <= n; i++)
		for (j = 1; j < i; j++) {
			struct record r = slot_of(w, i);

			if (!w->slot_good[i] || !w->slot_good[j] || !w->slot[i].incarnation ||
			    w->slot[i].incarnation != w->slot[j].incarnation)
				continue;
			finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
				    "has the incarnation of node %u", j);
			finding_todo(w->out, "a daemon wrote two slots, or a memory image was "
					     "cloned: restart ringfenced on both");
		}
}

/* ---- history and state ---- */

static void check_entry(struct view *w, const struct record *r, const struct rf_history *h)
{
	if (!h->epoch)
		return;
	if (h->epoch % w->set->super.history != r->index) {
		finding_add(w->out, w->set, SEV_DAMAGE, 0, r, "holds epoch %" PRIu64, h->epoch);
		finding_todo(w->out, "only the past is affected; report it");
	} else if (w->epoch_good && h->epoch > w->highest) {
		finding_add(w->out, w->set, SEV_DAMAGE, 0, r,
			    "tells of epoch %" PRIu64
			    ", the claim region knows none above %" PRIu64,
			    h->epoch, w->highest);
		finding_todo(w->out,
			     "the claim region is older than the history: was it restored "
			     "from a snapshot? Epochs would be used twice: format anew");
	} else if (w->epoch_good && h->epoch == w->epoch.epoch &&
		   (h->owner != w->epoch.owner || h->incarnation != w->epoch.incarnation)) {
		finding_add(w->out, w->set, SEV_DAMAGE, 0, r,
			    "says node %u led epoch %" PRIu64
			    ", the epoch sector names node %u",
			    h->owner, h->epoch, w->epoch.owner);
		finding_todo(w->out,
			     "an epoch must have one owner for ever: stop all nodes, keep "
			     "an image of the area and report it");
	}
}

static void check_history(struct view *w)
{
	const struct rf_super *s = &w->set->super;
	struct rf_history h;
	uint32_t i;

	merge_ahead(&w->g, rf_geo_history(s, w->volume, 0),
		    rf_geo_history(s, w->volume, s->history - 1) + s->id.stride_bytes);
	for (i = 0; i < s->history; i++) {
		struct record r = {.kind = RF_KIND_HISTORY,
				   .volume = w->volume,
				   .index = i,
				   .offset_bytes = rf_geo_history(s, w->volume, i)};
		void *raw = fetch(w, &r);

		if (raw && !rf_history_decode(raw, &s->id, w->volume, i, &h))
			check_entry(w, &r, &h);
	}
}

static void check_state(struct view *w, uint32_t node, uint32_t half)
{
	const struct rf_super *s = &w->set->super;
	struct record r = {.kind = RF_KIND_STATE,
			   .volume = w->volume,
			   .index = node,
			   .part = half,
			   .offset_bytes = rf_geo_state(s, w->volume, node, half)};
	void *raw = fetch(w, &r);
	struct rf_state st;

	if (!raw || rf_state_decode(raw, &s->id, w->volume, node, half, &st) ||
	    !w->epoch_good || st.epoch <= w->highest)
		return;
	finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
		    "was committed in epoch %" PRIu64
		    ", the claim region knows none above %" PRIu64,
		    st.epoch, w->highest);
	finding_todo(w->out, "the claim region is older than the state: was it restored from a "
			     "snapshot? Epochs would be used twice: format anew");
}

/* ---- descriptors ---- */

static void check_data(struct view *w, const struct record *r, const struct rf_volume_desc *d)
{
	const struct disk *disk = &w->set->disk[0];
	uint64_t from = disk->super.area_offset_bytes;
	uint64_t to = from + disk->super.area_strides * disk->super.id.stride_bytes;
	uint64_t end = d->data_bytes ? d->data_offset_bytes + d->data_bytes : UINT64_MAX;

	if (w->volume || disk->super.place == RF_PLACE_WHOLE)
		return;
	if (end < d->data_offset_bytes || (d->data_offset_bytes < to && end > from)) {
		finding_add(w->out, w->set, SEV_DAMAGE, 0, r,
			    "data from byte %" PRIu64 " to %" PRIu64 " overlaps the area",
			    d->data_offset_bytes, end);
		finding_todo(w->out, "do not use this volume: format anew");
	}
}

static void check_descriptor(struct view *w, char (*names)[RF_NAME_BYTES])
{
	const struct rf_super *s = &w->set->super;
	struct record r = {.kind = RF_KIND_VOLUME,
			   .volume = w->volume,
			   .offset_bytes = rf_geo_volume(s, w->volume)};
	void *raw = fetch(w, &r);
	struct rf_volume_desc d;
	uint32_t v;

	names[w->volume][0] = 0;
	if (!raw || rf_volume_decode(raw, &s->id, w->volume, &d))
		return;
	memcpy(names[w->volume], d.name, RF_NAME_BYTES);
	check_data(w, &r, &d);
	for (v = 0; v < w->volume; v++)
		if (!strcmp(names[v], d.name)) {
			finding_add(w->out, w->set, SEV_DAMAGE, 0, &r,
				    "has the name of volume %u, '%s'", v, d.name);
			finding_todo(w->out, "format anew");
		}
}

/* ---- all ---- */

static void check_volume(struct view *w)
{
	uint32_t i;

	load_claims(w);
	for (i = 1; i <= w->set->super.id.nodes; i++)
		check_ballot_numbers(w, i);
	check_unvoted(w);
	check_decision(w);
	check_turned_back(w);
	check_released(w);
	check_history(w);
	for (i = 1; i <= w->set->super.id.nodes; i++) {
		check_state(w, i, 0);
		check_state(w, i, 1);
	}
}

void verify_volumes(const struct disk_set *set, struct findings *out)
{
	struct view *w = calloc(1, sizeof(*w));
	char(*names)[RF_NAME_BYTES] = calloc(RF_VOLUMES_MAX, RF_NAME_BYTES);

	if (!w || !names)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	w->set = set;
	w->out = out;
	merge_init(&w->g, set);
	load_slots(w);
	check_clones(w);
	for (w->volume = 0; w->volume < set->super.volumes; w->volume++) {
		check_descriptor(w, names);
		check_volume(w);
	}
	merge_free(&w->g);
	free(names);
	free(w);
}
