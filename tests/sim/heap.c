/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap of things to come: by time, then by the order in which they were said. */
#include <stdlib.h>

#include "sim.h"

static bool before(const struct happening *a, const struct happening *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void grow(struct heap *h)
{
	h->capacity = h->capacity ? 2 * h->capacity : 1024;
	h->item = realloc(h->item, h->capacity * sizeof(*h->item));
	if (!h->item)
		abort();
}

/* Up from place i, to where it belongs. */
static void rise(struct heap *h, uint32_t i, struct happening moving)
{
	while (i && before(&moving, &h->item[(i - 1) / 4])) {
		h->item[i] = h->item[(i - 1) / 4];
		i = (i - 1) / 4;
	}
	h->item[i] = moving;
}

void heap_push(struct heap *h, const struct happening *e)
{
	struct happening moving = *e;

	if (h->count == h->capacity)
		grow(h);
	moving.order = ++h->order;
	rise(h, h->count++, moving);
}

/* A parent comes before its children in the array: one walk does. */
void heap_sooner(struct heap *h, uint32_t host, uint64_t then, uint64_t now)
{
	for (uint32_t i = 0; i < h->count; i++) {
		struct happening e = h->item[i];

		if (e.host != host || e.at != then || e.kind == EV_RESUME)
			continue;
		e.at = now;
		rise(h, i, e);
	}
}

static uint32_t least_child(const struct heap *h, uint32_t i)
{
	uint32_t first = 4 * i + 1, least = first;

	for (uint32_t c = first + 1; c < first + 4 && c < h->count; c++)
		if (before(&h->item[c], &h->item[least]))
			least = c;
	return least;
}

bool heap_pop(struct heap *h, struct happening *out)
{
	struct happening *last;
	uint32_t i = 0, child;

	if (!h->count)
		return false;
	*out = h->item[0];
	last = &h->item[--h->count];
	while (4 * i + 1 < h->count) {
		child = least_child(h, i);
		if (!before(&h->item[child], last))
			break;
		h->item[i] = h->item[child];
		i = child;
	}
	h->item[i] = *last;
	return true;
}
