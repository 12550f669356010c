/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network: loses, repeats, reorders, delays, cuts one way or both, replays. */
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "sim.h"

void net_reset(struct world *w)
{
	w->packet_free = NULL;
	for (uint32_t i = w->packets; i-- > 0;) {
		w->packet[i]->uses = 0;
		w->packet[i]->next = w->packet_free;
		w->packet_free = w->packet[i];
	}
	w->replays = 0;
	w->cut = realloc(w->cut, (size_t)w->hosts * w->hosts);
	if (!w->cut)
		abort();
	memset(w->cut, 0, (size_t)w->hosts * w->hosts);
}

static struct packet *take(struct world *w)
{
	struct packet *p = w->packet_free;

	if (p) {
		w->packet_free = p->next;
		return p;
	}
	w->packet = realloc(w->packet, (w->packets + 1) * sizeof(*w->packet));
	p = calloc(1, sizeof(*p));
	if (!w->packet || !p)
		abort();
	p->index = w->packets;
	w->packet[w->packets++] = p;
	return p;
}

static void give(struct world *w, struct packet *p)
{
	if (--p->uses)
		return;
	p->next = w->packet_free;
	w->packet_free = p;
}

static void deliver_later(struct world *w, struct packet *p, uint32_t host)
{
	const struct atlas *a = &w->atlas;
	uint64_t delay = a->scripted ? a->net_ns : rng_range(&w->rng, a->net_ns / 4, a->net_ns);

	if (w->phase == PHASE_FAULTS && rng_ppm(&w->rng, a->reorder_ppm))
		delay += rng_scale(&w->rng, 1000, a->net_late_ns);
	p->uses++;
	after(w, w->now + delay, EV_PACKET, host, p->index, 0, 0);
}

static void transmit(struct world *w, struct packet *p, uint32_t from, uint32_t to)
{
	const struct atlas *a = &w->atlas;
	bool faults = w->phase == PHASE_FAULTS;

	if (w->cut[from * w->hosts + to] || w->host[to].absent ||
	    (faults && rng_ppm(&w->rng, a->loss_ppm)))
		return;
	deliver_later(w, p, to);
	if (faults && rng_ppm(&w->rng, a->duplicate_ppm))
		deliver_later(w, p, to);
}

void net_send(struct world *w, struct host *h, const struct rf_effect *e)
{
	struct packet *p = take(w);

	w->tally.datagrams++;
	p->from = h->id;
	p->incarnation = h->incarnation;
	p->counter = ++h->counter;
	p->len = (uint32_t)e->send.len;
	p->uses = 1;
	if (p->len <= sizeof(p->data))
		memcpy(p->data, e->send.data, p->len);
	else
		p->len = 0;
	oracle_sent(w, h, e);
	for (uint32_t i = 0; i < w->hosts && p->len; i++)
		if (i != h->index && (!e->send.to || w->host[i].id == e->send.to))
			transmit(w, p, h->index, i);
	if (w->atlas.weight[F_REPLAY] && rng_below(&w->rng, 16) == 0)
		w->replay[w->replays++ % REPLAYS] = *p;
	give(w, p);
}

static bool fresh(struct window *win, uint64_t counter)
{
	uint64_t back;

	if (counter > win->highest) {
		back = counter - win->highest;
		win->seen = back < 64 ? win->seen << back | 1 : 1;
		win->highest = counter;
		return true;
	}
	back = win->highest - counter;
	if (back >= 64 || win->seen >> back & 1)
		return false;
	win->seen |= 1ull << back;
	return true;
}

/* What the seal does: 64 counters back, none twice; a window for the life that the
 * core takes for the present one, another for whatever else comes. */
static bool unsealed(struct host *h, const struct packet *p, uint64_t present)
{
	struct window *now = &h->window[p->from][0], *other = &h->window[p->from][1];

	if (now->incarnation != present) {
		struct window was = *now;

		*now = other->incarnation == present ? *other
						     : (struct window){.incarnation = present};
		*other = was;
	}
	if (p->incarnation == present)
		return fresh(now, p->counter);
	if (other->incarnation != p->incarnation)
		*other = (struct window){.incarnation = p->incarnation};
	return fresh(other, p->counter);
}

static void hand_over(struct world *w, struct host *h, const struct packet *p)
{
	struct rf_event ev = {.kind = RF_EV_MESSAGE};
	struct rf_core_peer before = {0};

	if (p->from != h->id)
		rf_core_peer(rf_node_core(h->node), p->from, &before);
	if (!unsealed(h, p, before.incarnation))
		return;
	ev.message.from = p->from;
	ev.message.incarnation = p->incarnation;
	ev.message.data = p->data;
	ev.message.len = p->len;
	host_event(w, h, &ev);
	if (p->from != h->id)
		oracle_heard(w, h, p->from, p->incarnation, &before);
}

void net_event(struct world *w, const struct happening *e)
{
	struct packet *p = w->packet[e->a];
	struct host *h = &w->host[e->host];
	struct packet copy;

	if (h->alive && h->paused_until > w->now && w->phase == PHASE_FAULTS &&
	    rng_below(&w->rng, 4)) {
		after(w, h->paused_until, EV_PACKET, e->host, e->a, 0, 0);
		return; /* it waits in the socket; or there is no room */
	}
	copy = *p;
	give(w, p);
	if (h->alive && h->paused_until <= w->now)
		hand_over(w, h, &copy);
}

/* Somebody who recorded the network plays it again: to everybody. */
void net_replay(struct world *w)
{
	uint32_t known = w->replays < REPLAYS ? w->replays : REPLAYS;
	uint32_t first = (uint32_t)rng_below(&w->rng, known ? known : 1);

	for (uint32_t n = 0; n < 8 && n < known; n++) {
		struct packet *p = take(w);
		struct packet *next = p->next;
		uint32_t index = p->index;

		*p = w->replay[(first + n) % known];
		p->next = next;
		p->index = index;
		p->uses = 1;
		for (uint32_t i = 0; i < w->hosts; i++)
			if (w->host[i].alive && w->host[i].id != p->from)
				deliver_later(w, p, i);
		give(w, p);
	}
}

void net_cut(struct world *w, uint32_t from, uint32_t to, bool on)
{
	trace(w, "net: %u -> %u %s", w->host[from].id, w->host[to].id, on ? "cut" : "whole");
	w->cut[from * w->hosts + to] = on;
}

void net_heal(struct world *w)
{
	memset(w->cut, 0, (size_t)w->hosts * w->hosts);
}
