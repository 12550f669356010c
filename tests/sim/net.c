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

/* Every life has its own seal, all have one key. */
void net_born(struct world *w, struct host *h)
{
	const struct rf_keys keys = {.count = 1, .key = {{.id = 7, .bytes = "the cluster's"}}};

	if (h->seal)
		rf_seal_free(h->seal);
	h->seal = NULL;
	if (rf_seal_open(&h->seal, h->incarnation, rng_next(&w->rng)) < 0)
		abort();
	rf_seal_keys(h->seal, &keys);
	rf_seal_copies(h->seal, false);
	if (rf_seal_area(h->seal, w->super.id.area, h->id, w->super.id.nodes) < 0)
		abort();
}

/* Somebody records the network: its first hours for ever, and the last minutes. */
static void record(struct world *w, const struct packet *p)
{
	uint32_t half = REPLAYS / 2;

	if (rng_below(&w->rng, 16))
		return;
	w->replay[w->replays < REPLAYS ? w->replays : half + w->replays % half] = *p;
	w->replays++;
}

void net_send(struct world *w, struct host *h, const struct rf_effect *e)
{
	struct packet *p = take(w);

	w->tally.datagrams++;
	p->from = h->id;
	p->forged = false;
	p->uses = 1;
	p->len = (uint32_t)rf_seal_close(h->seal, 0, p->data, e->send.data, e->send.len);
	oracle_sent(w, h, e);
	for (uint32_t i = 0; i < w->hosts && p->len; i++)
		if (i != h->index && (!e->send.to || w->host[i].id == e->send.to))
			transmit(w, p, h->index, i);
	if (w->atlas.weight[F_REPLAY] || w->atlas.weight[F_FORGE])
		record(w, p);
	give(w, p);
}

/* As bind.c does. */
static void hand_over(struct world *w, struct host *h, const struct packet *p)
{
	struct rf_event ev = {.kind = RF_EV_MESSAGE};
	struct rf_core_peer before = {0}, now;
	uint8_t message[RF_MESSAGE_BYTES];
	struct rf_unsealed u;
	enum rf_reject why;

	if (rf_seal_unseal(h->seal, p->data, p->len, message, &u, &why) != 0)
		return;
	if (p->forged)
		violate(w, "live", "n%u opens a forged datagram, as one of n%u", h->id, u.from);
	rf_core_peer(rf_node_core(h->node), u.from, &before);
	ev.message.from = u.from;
	ev.message.incarnation = u.incarnation;
	ev.message.data = message;
	ev.message.len = u.len;
	host_event(w, h, &ev);
	oracle_heard(w, h, u.from, u.incarnation, &before);
	if (!h->alive)
		return;
	rf_core_peer(rf_node_core(h->node), u.from, &now);
	rf_seal_life(h->seal, 0, u.from, now.incarnation);
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

/* ---- people without a key ---- */

/* The n-th after `first` of what was recorded, to be sent again. */
static struct packet *recorded(struct world *w, uint32_t at)
{
	struct packet *p = take(w);
	struct packet *next = p->next;
	uint32_t index = p->index;

	*p = w->replay[at];
	p->next = next;
	p->index = index;
	p->uses = 1;
	return p;
}

static void to_everybody(struct world *w, struct packet *p)
{
	for (uint32_t i = 0; i < w->hosts; i++)
		if (w->host[i].alive)
			deliver_later(w, p, i);
	give(w, p);
}

/* Somebody who recorded the network plays it again. */
void net_replay(struct world *w)
{
	uint32_t known = w->replays < REPLAYS ? w->replays : REPLAYS;
	uint32_t first = (uint32_t)rng_below(&w->rng, known ? known : 1);

	for (uint32_t n = 0; n < 8 && n < known; n++)
		to_everybody(w, recorded(w, (first + n) % known));
}

/* The envelope says who, of which life, and how new; all of it is sealed. */
static void forge_envelope(struct world *w, struct packet *p)
{
	struct rf_wire_envelope e;
	uint32_t nodes = w->super.id.nodes;

	memcpy(&e, p->data, sizeof(e));
	switch (rng_below(&w->rng, 4)) {
	case 0:
		e.sender = (uint16_t)(1 + (e.sender + rng_below(&w->rng, nodes - 1)) % nodes);
		break;
	case 1:
		e.incarnation ^= 1ull << rng_below(&w->rng, 64);
		break;
	case 2: /* newer than all: who believes it hears nothing else any more */
		e.counter |= 1ull << 63;
		break;
	default:
		e.key_id ^= 1;
	}
	memcpy(p->data, &e, sizeof(e));
}

/* A datagram of somebody who has read the source, and not the key. */
static void forge_whole(struct world *w, struct packet *p)
{
	const struct rf_keys keys = {.count = 1, .key = {{.id = 7, .bytes = "a guess"}}};
	struct rf_wire_envelope e;
	uint8_t message[RF_MESSAGE_BYTES] = {RF_WIRE_VOTE};
	struct rf_seal *seal = NULL;

	memcpy(&e, p->data, sizeof(e));
	if (rf_seal_open(&seal, e.incarnation, rng_next(&w->rng)) < 0)
		abort();
	rf_seal_keys(seal, &keys);
	if (rf_seal_area(seal, w->super.id.area, e.sender, w->super.id.nodes) < 0)
		abort();
	p->len = (uint32_t)rf_seal_close(seal, 0, p->data, message,
					 rng_range(&w->rng, 1, sizeof(message)));
	rf_seal_free(seal);
}

void net_forge(struct world *w)
{
	uint32_t known = w->replays < REPLAYS ? w->replays : REPLAYS;

	for (uint32_t n = 0; n < 8 && known; n++) {
		struct packet *p = recorded(w, (uint32_t)rng_below(&w->rng, known));

		p->forged = true;
		switch (rng_below(&w->rng, 4)) {
		case 0:
			p->data[rng_below(&w->rng, p->len)] ^= 1u << rng_below(&w->rng, 8);
			break;
		case 1:
			p->len = (uint32_t)rng_below(&w->rng, p->len);
			break;
		case 2:
			forge_envelope(w, p);
			break;
		default:
			forge_whole(w, p);
		}
		to_everybody(w, p);
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
