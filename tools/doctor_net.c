/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor: interfaces, and who hears whom. Nothing is sent: every living node says in
 * its slot on the disk whom it hears, so both directions can be read there.
 */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor.h"
#include "line.h"
#include "mailbox.h"
#include "tool.h"

#define UDP4_BYTES 28u /* headers of IP and UDP */
#define UDP6_BYTES 48u

/* ---- interfaces ---- */

static void mtu(const char *name)
{
	unsigned need = RF_DATAGRAM_BYTES + UDP6_BYTES, have;
	char text[32];

	if (!rf_line(text, sizeof(text), "/sys/class/net/%s/mtu", name))
		return;
	have = (unsigned)strtoul(text, NULL, 10);
	if (have < need)
		doctor_say(DOCTOR_WARN, "mtu", name, "raise it on every node and switch",
			   "%u bytes; datagrams of up to %u are fragmented, and one lost piece "
			   "loses all",
			   have, RF_DATAGRAM_BYTES + UDP4_BYTES);
	else
		doctor_say(DOCTOR_PASS, "mtu", name, NULL, "%u bytes, %u needed", have, need);
}

static void interface(const struct doctor *d, const char *name)
{
	char text[32];
	unsigned flags;

	if (!rf_line(text, sizeof(text), "/sys/class/net/%s/flags", name)) {
		doctor_say(DOCTOR_FAIL, "interface", name, "correct [network] interface",
			   "there is none of this name");
		return;
	}
	flags = (unsigned)strtoul(text, NULL, 16);
	if (!(flags & IFF_UP))
		doctor_say(DOCTOR_FAIL, "interface", name, "ip link set up", "is down");
	else if (d->config.groups && !(flags & IFF_MULTICAST))
		doctor_say(DOCTOR_FAIL, "interface", name, "another one, or peers = ADDRESS...",
			   "does no multicast");
	else if (rf_line(text, sizeof(text), "/sys/class/net/%s/carrier", name) &&
		 !strcmp(text, "0"))
		doctor_say(DOCTOR_FAIL, "interface", name, "look at the cable and the switch",
			   "has no carrier");
	else
		doctor_say(DOCTOR_PASS, "interface", name, NULL, "up");
	mtu(name);
}

static void interfaces(const struct doctor *d)
{
	for (uint32_t i = 0; i < d->config.interfaces; i++)
		interface(d, d->config.interface[i]);
	if (!d->config.interfaces)
		doctor_say(DOCTOR_WARN, "interface", NULL, "[network] interface = NAME",
			   "none is named: the routing table chooses where multicast goes");
}

/* ---- who hears whom ---- */

#define READ_TRIES 3u

struct hearing {
	struct rf_slot me, first[RF_NODES_MAX + 1];
	bool known[RF_NODES_MAX + 1];
};

static bool alive(const struct rf_slot *before, const struct rf_slot *now)
{
	return now->state == RF_SLOT_JOINED && now->seq != before->seq;
}

static void pair(const struct doctor *d, uint32_t j, const struct rf_slot *me,
		 const struct rf_slot *peer)
{
	const char *advice =
		"a bridge or switch that snoops IGMP without a querier, a firewall "
		"for UDP, another key, or [network] peers";
	uint32_t i = d->config.node;
	bool here = rf_bit_get(me->hears, j - 1), there = rf_bit_get(peer->hears, i - 1);
	char subject[RF_HOST_BYTES + 24];

	snprintf(subject, sizeof(subject), "node %u (%s)", j, peer->host);
	if (here && there)
		doctor_say(DOCTOR_PASS, "multicast", subject, NULL, "heard both ways");
	else if (here)
		doctor_say(DOCTOR_FAIL, "multicast", subject, advice,
			   "from here to there nothing arrives: node %u does not hear node %u, "
			   "which hears it",
			   j, i);
	else if (there)
		doctor_say(DOCTOR_FAIL, "multicast", subject, advice,
			   "from there to here nothing arrives: node %u does not hear node %u, "
			   "which hears it",
			   i, j);
	else
		doctor_say(DOCTOR_FAIL, "multicast", subject, advice,
			   "nothing arrives in either direction, and both are alive");
}

static void rest(uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static bool slot(const struct disk_set *set, uint32_t node, struct rf_slot *s)
{
	for (unsigned n = 0; n < READ_TRIES; n++)
		if (mailbox_slot(set, node, s))
			return true;
	return false;
}

static void peers(const struct doctor *d, const struct disk_set *set, struct hearing *h)
{
	const struct rf_super *s = &set->super;
	uint32_t me = d->config.node, living = 0;
	struct rf_slot now;

	for (uint32_t j = 1; j <= s->id.nodes; j++)
		h->known[j] = slot(set, j, &h->first[j]);
	/* long enough for every living slot to move, and for what is not heard to show */
	rest(s->timing.suspect_ms + 2 * s->timing.heartbeat_ms);
	if (!h->known[me] || !slot(set, me, &h->me) || !alive(&h->first[me], &h->me)) {
		doctor_say(DOCTOR_SKIP, "multicast", NULL, NULL,
			   "this node does not beat on the disk: start ringfenced to have it "
			   "tested");
		return;
	}
	for (uint32_t j = 1; j <= s->id.nodes; j++)
		if (j != me && h->known[j] && slot(set, j, &now) && alive(&h->first[j], &now)) {
			living++;
			pair(d, j, &h->me, &now);
		}
	if (!living)
		doctor_say(DOCTOR_SKIP, "multicast", NULL, NULL, "no other node is alive");
}

void doctor_network(struct doctor *d)
{
	static struct hearing h; /* too large for the stack */

	interfaces(d);
	for (uint32_t a = 0; a < d->config.areas; a++)
		if (d->area[a].good && d->config.node <= d->area[a].set.super.id.nodes)
			peers(d, &d->area[a].set, &h);
}
