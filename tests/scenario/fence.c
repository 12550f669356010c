/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `ringfence fence --wait` in a script: the tool's own judgement (tools/victim.c) on
 * readings of the slot. What it reports must be true from then on (oracle 2).
 */
#include <string.h>

#include "../../tools/victim.h"
#include "format/timing.h"
#include "scenario.h"

#define LOOK_NS (50 * RF_MS_NS)

static struct {
	struct host *host;
	uint64_t incarnation;
	struct victim victim;
	enum victim_way way;
} fenced;

static const char *const ways[] = {
	[VICTIM_WAITING] = "waiting",
	[VICTIM_LEFT] = "left",
	[VICTIM_ANSWERED] = "answered",
	[VICTIM_EXPIRED] = "expired",
};

static bool slot_of(struct world *w, struct rf_slot *out)
{
	const uint8_t *cell = disk_cell(w, 0, rf_geo_slot(&w->super, fenced.host->id));

	return rf_slot_decode(cell, &w->super.id, fenced.host->id, out) == RF_RECORD_OK;
}

static void check(struct world *w)
{
	struct host *h = fenced.host;

	for (uint32_t v = 0; v < w->super.volumes; v++)
		if (h->incarnation == fenced.incarnation && gate_admits(w, h, v))
			violate(w, "fence",
				"n%u is reported as fenced, and its gate on vol=%u passes "
				"writes",
				h->id, v);
}

static void watch(void *listener, uint64_t arg)
{
	struct script *s = listener;
	struct world *w = s->w;
	struct rf_slot slot;

	(void)arg;
	if (fenced.way == VICTIM_WAITING && slot_of(w, &slot)) {
		fenced.way = victim_look(&fenced.victim, &slot, w->now, w->now);
		if (fenced.way != VICTIM_WAITING && s->transcript)
			fprintf(s->transcript, "  %10.3f  fenced: %s\n", (double)w->now / 1e6,
				ways[fenced.way]);
	}
	if (fenced.way != VICTIM_WAITING)
		check(w);
	after(w, w->now + LOOK_NS, EV_SCRIPT, 0, 0, 0, 0);
}

void fence_begin(struct script *s, struct host *h)
{
	struct world *w = s->w;
	struct rf_slot slot;

	fenced.host = h;
	fenced.way = VICTIM_WAITING;
	w->script = watch;
	if (!slot_of(w, &slot)) {
		fail(s, "the slot of n%u cannot be read", h->id);
		return;
	}
	fenced.incarnation = slot.incarnation;
	victim_begin(&fenced.victim, &w->super.timing, &slot, 1, w->now);
	after(w, w->now + LOOK_NS, EV_SCRIPT, 0, 0, 0, 0);
}

/* expect-fenced WAY: how far that has come */
void fence_expect(struct script *s)
{
	const char *want = next_word(s, "waiting, left, answered or expired");

	if (strcmp(ways[fenced.way], want))
		fail(s, "the fence says %s", ways[fenced.way]);
}
