/* SPDX-License-Identifier: GPL-2.0-or-later */
/* History rings, read and put in order. Times in them are wall clocks of several
 * hosts: for people only, and never trusted to be in order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/names.h"
#include "past.h"
#include "tool.h"

static void *must(void *p)
{
	if (!p)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	return p;
}

/* ---- reading ---- */

static void read_name(struct past *p, struct merge *g, const struct disk_set *set)
{
	struct record r = {.kind = RF_KIND_VOLUME,
			   .volume = p->volume,
			   .offset_bytes = rf_geo_volume(&set->super, p->volume)};
	struct rf_volume_desc d;
	struct merged m;

	merge_read(g, set, &r, &m);
	if (m.newest < 0 || rf_volume_decode(m.raw, &set->super.id, p->volume, &d))
		snprintf(p->name, sizeof(p->name), "volume %u", p->volume);
	else
		memcpy(p->name, d.name, sizeof(p->name));
}

static void read_epoch(struct past *p, struct merge *g, const struct disk_set *set)
{
	struct record r = {.kind = RF_KIND_EPOCH,
			   .volume = p->volume,
			   .offset_bytes = rf_geo_region(&set->super, p->volume)};
	struct merged m;

	merge_read(g, set, &r, &m);
	p->epoch_good =
		m.newest >= 0 && !rf_epoch_decode(m.raw, &set->super.id, p->volume, &p->epoch);
}

static int by_epoch(const void *a, const void *b)
{
	uint64_t x = ((const struct rf_history *)a)->epoch;
	uint64_t y = ((const struct rf_history *)b)->epoch;

	return (x > y) - (x < y);
}

static void read_ring(struct past *p, struct merge *g, const struct disk_set *set)
{
	uint32_t i, k = set->super.history;
	struct merged m;

	p->entry = must(calloc(k, sizeof(*p->entry)));
	merge_ahead(g, rf_geo_history(&set->super, p->volume, 0),
		    rf_geo_history(&set->super, p->volume, k - 1) + set->super.id.stride_bytes);
	for (i = 0; i < k; i++) {
		struct record r = {.kind = RF_KIND_HISTORY,
				   .volume = p->volume,
				   .index = i,
				   .offset_bytes = rf_geo_history(&set->super, p->volume, i)};
		struct rf_history *h = &p->entry[p->count];

		merge_read(g, set, &r, &m);
		if (m.newest < 0 || rf_history_decode(m.raw, &set->super.id, p->volume, i, h))
			p->unreadable++;
		else if (h->epoch)
			p->count++;
	}
	qsort(p->entry, p->count, sizeof(*p->entry), by_epoch);
}

static void count_lost(struct past *p)
{
	unsigned i;

	for (i = 1; i < p->count; i++)
		p->lost += p->entry[i].epoch - p->entry[i - 1].epoch - 1;
}

static void read_volume(struct past *p, const struct disk_set *set)
{
	struct merge g;

	merge_init(&g, set);
	read_name(p, &g, set);
	read_epoch(p, &g, set);
	read_ring(p, &g, set);
	count_lost(p);
	merge_free(&g);
}

static bool wanted(const struct disk_set *set, uint32_t v, const char *volume)
{
	struct past p = {.volume = v};
	struct merge g;
	uint64_t n;

	if (!volume || (parse_u64(volume, 10, &n) && n == v))
		return true;
	merge_init(&g, set);
	read_name(&p, &g, set);
	merge_free(&g);
	return !strcmp(p.name, volume);
}

/* ---- hosts, and the clock ---- */

static void later(struct past_set *out, uint64_t unix_ns)
{
	if (unix_ns > out->seen_ns)
		out->seen_ns = unix_ns;
}

static void read_slots(struct past_set *out, const struct disk_set *set)
{
	struct rf_slot slot;
	struct merged m;
	struct merge g;
	uint32_t i;

	out->nodes = set->super.id.nodes;
	merge_init(&g, set);
	merge_ahead(&g, rf_geo_slot(&set->super, 1), rf_geo_volume(&set->super, 0));
	for (i = 1; i <= out->nodes; i++) {
		struct record r = {.kind = RF_KIND_SLOT,
				   .index = i,
				   .offset_bytes = rf_geo_slot(&set->super, i)};

		merge_read(&g, set, &r, &m);
		if (m.newest < 0 || rf_slot_decode(m.raw, &set->super.id, i, &slot))
			continue;
		later(out, slot.unix_ns);
		memcpy(out->host[i], slot.host, RF_HOST_BYTES);
	}
	merge_free(&g);
}

/* A host that left its slot long ago is still named by what it led. */
static void read_clocks(struct past_set *out, const struct past *p)
{
	unsigned i;

	if (p->epoch_good)
		later(out, p->epoch.unix_ns);
	for (i = 0; i < p->count; i++) {
		const struct rf_history *h = &p->entry[i];

		later(out, h->start_unix_ns);
		later(out, h->end_unix_ns);
		if (!out->host[h->owner][0])
			memcpy(out->host[h->owner], h->host, RF_HOST_BYTES);
	}
}

int past_read(const struct disk_set *set, const char *volume, struct past_set *out)
{
	uint32_t v;

	*out = (struct past_set){.count = 0};
	out->list = must(calloc(set->super.volumes, sizeof(*out->list)));
	for (v = 0; v < set->super.volumes; v++) {
		if (!wanted(set, v, volume))
			continue;
		out->list[out->count].volume = v;
		read_volume(&out->list[out->count++], set);
	}
	read_slots(out, set);
	for (v = 0; v < out->count; v++)
		read_clocks(out, &out->list[v]);
	if (out->count)
		return 0;
	free(out->list);
	return fail(RF_EXIT_NO_SUCH, "no volume '%s' in the area of cluster '%s' (%u volumes)",
		    volume, set->super.cluster_name, set->super.volumes);
}

void past_free(struct past_set *p)
{
	while (p->count)
		free(p->list[--p->count].entry);
	free(p->list);
}

void past_keep(struct past_set *p, uint32_t n)
{
	unsigned i;

	for (i = 0; i < p->count; i++) {
		struct past *v = &p->list[i];

		if (v->count <= n)
			continue;
		memmove(v->entry, v->entry + v->count - n, n * sizeof(*v->entry));
		v->count = n;
		v->lost = 0;
		count_lost(v);
	}
}

/* ---- telling ---- */

const char *past_phase_name(enum past_phase p)
{
	static const char *const names[PHASES] = {"suspect", "prevote", "claim",
						  "exclude", "open",    "reconcile"};

	return names[p];
}

uint32_t past_phase_us(const struct rf_history *h, enum past_phase p)
{
	const uint32_t us[PHASES] = {h->suspect_us, h->prevote_us, h->claim_us,
				     h->exclude_us, h->open_us,    h->reconcile_us};

	return us[p];
}

uint64_t past_change_us(const struct rf_history *h)
{
	uint64_t sum = 0;
	int p;

	for (p = 0; p < PHASES; p++)
		sum += past_phase_us(h, p);
	return sum;
}

static bool successor(const struct past *p, unsigned n)
{
	return n + 1 < p->count;
}

uint64_t past_end_ns(const struct past *p, unsigned n)
{
	const struct rf_history *h = &p->entry[n], *next;
	uint64_t began;

	if (!successor(p, n))
		return h->end_unix_ns;
	next = h + 1;
	/* A frozen node writes its end when it wakes up: long after it could lead. */
	if (h->end_unix_ns && h->end_unix_ns <= next->start_unix_ns)
		return h->end_unix_ns;
	/* It died, or could not write: at the latest when the next one was under way. */
	began = past_change_us(next) * 1000;
	return next->start_unix_ns > began ? next->start_unix_ns - began : 0;
}

bool past_leads(const struct past *p, unsigned n)
{
	const struct rf_history *h = &p->entry[n];

	return !successor(p, n) && !h->end_unix_ns && p->epoch_good &&
	       p->epoch.epoch == h->epoch && p->epoch.state == RF_EPOCH_CLAIMED;
}

/* What its owner wrote of its end, or what can be said without its word. */
const char *past_ended(const struct past *p, unsigned n)
{
	const struct rf_history *h = &p->entry[n];

	if (h->end_unix_ns)
		return rf_cause_word(h->end_cause);
	if (past_leads(p, n))
		return "leads";
	return successor(p, n) ? "no-word" : "unknown";
}
