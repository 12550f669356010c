/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One reading proves nothing (CASES 19): a slot that a crashed node left looks like one
 * that is in use. A sequence that grows between two readings does. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alive.h"
#include "tool.h"

#define POLL_MS 50u

struct reading {
	bool good[RF_NODES_MAX + 1];
	uint64_t seq[RF_NODES_MAX + 1], incarnation[RF_NODES_MAX + 1];
};

static void read_slots(struct reading *r, struct alive *a, struct merge *g,
		       const struct disk_set *set)
{
	struct rf_slot slot;
	struct merged m;
	uint32_t i;

	for (i = 1; i <= a->nodes; i++) {
		struct record rec = {.kind = RF_KIND_SLOT,
				     .index = i,
				     .offset_bytes = rf_geo_slot(&set->super, i)};

		merge_read(g, set, &rec, &m);
		r->good[i] = m.newest >= 0 && !rf_slot_decode(m.raw, &set->super.id, i, &slot);
		if (!r->good[i])
			continue;
		r->seq[i] = slot.seq;
		r->incarnation[i] = slot.incarnation;
		memcpy(a->host[i], slot.host, RF_HOST_BYTES);
		a->life[i] = slot.state == RF_SLOT_JOINED ? LIFE_SILENT : LIFE_FREE;
	}
}

/* True when somebody moved. */
static bool compare(struct alive *a, const struct reading *before, const struct reading *now)
{
	bool moved = false;
	uint32_t i;

	for (i = 1; i <= a->nodes; i++) {
		if (!now->good[i]) {
			a->life[i] = LIFE_UNREADABLE;
		} else if (before->good[i] && (before->seq[i] != now->seq[i] ||
					       before->incarnation[i] != now->incarnation[i])) {
			/* a clean end between the readings is one, too */
			moved |= a->life[i] != LIFE_FREE;
			if (a->life[i] != LIFE_FREE)
				a->life[i] = LIFE_ALIVE;
		}
	}
	return moved;
}

void alive_watch(const struct disk_set *set, struct alive *out)
{
	uint32_t limit_ms = 4 * set->super.timing.heartbeat_ms;
	struct timespec pause = {.tv_nsec = POLL_MS * 1000000l};
	struct reading first = {.good = {0}}, now = {.good = {0}};
	struct merge g;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	out->nodes = set->super.id.nodes;
	merge_init(&g, set);
	read_slots(&first, out, &g, set);
	note("watching the slots for %u ms", limit_ms);
	do {
		nanosleep(&pause, NULL);
		out->watched_ms += POLL_MS;
		read_slots(&now, out, &g, set);
	} while (!compare(out, &first, &now) && out->watched_ms < limit_ms);
	merge_free(&g);
	for (i = 1; i <= out->nodes; i++)
		out->count[out->life[i]]++;
}

void alive_words(const struct alive *a, enum life life, char *text, size_t bytes)
{
	size_t used = 0;
	uint32_t i;

	*text = 0;
	for (i = 1; i <= a->nodes && used < bytes; i++)
		if (a->life[i] == life)
			used += (size_t)snprintf(text + used, bytes - used,
						 a->host[i][0] ? "%snode %u (%s)" : "%snode %u",
						 used ? ", " : "", i, a->host[i]);
}
