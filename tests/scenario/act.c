/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands: what happens to nodes, disks, networks, gates; and what people do. */
#include <string.h>

#include "scenario.h"

void pass_until(struct script *s, uint64_t at)
{
	struct world *w = s->w;

	while (!s->failed) {
		world_until(w, at);
		if (!w->violated)
			return;
		if (s->oracles || strstr(w->violation, "assertion")) {
			s->broken = s->broken || !s->failed;
			fail(s, "%s", w->violation);
		}
		w->violated = false; /* the script wrote records that nobody may write */
	}
}

static uint64_t left(struct script *s)
{
	uint64_t ns = option_time(s, "for", 1800000 * RF_MS_NS);

	return s->w->now + ns;
}

/* ---- the world ---- */

/* cluster nodes= disks= volumes= quorum= fence= writes= seed= no-vote=NODE bystander=NODE,
 * and timings */
static void cluster(struct script *s)
{
	const char *quorum = option(s, "quorum"), *fence = option(s, "fence");
	const char *writes = option(s, "writes"), *profile = option(s, "profile");
	struct rf_timing *t;
	uint32_t no_vote, bystander;
	struct atlas a;

	atlas_calm(&a, (uint32_t)option_number(s, "nodes", 3),
		   (uint32_t)option_number(s, "disks", 1),
		   (uint32_t)option_number(s, "volumes", 1));
	a.scripted = true;
	a.quorum = !quorum                       ? a.quorum
		   : !strcmp(quorum, "majority") ? (uint32_t)RF_QUORUM_MAJORITY
						 : (uint32_t)RF_QUORUM_SURVIVORS;
	t = &a.timing;
	if (profile && !rf_timing_profile(profile, t))
		fail(s, "no such profile: %s", profile);
	t->grace_ms = (uint32_t)option_number(s, "grace", t->grace_ms);
	t->hold_ms = (uint32_t)option_number(s, "hold", t->hold_ms);
	t->inflight_ms = (uint32_t)option_number(s, "inflight", t->inflight_ms);
	t->epsilon_ppm = (uint32_t)option_number(s, "epsilon", t->epsilon_ppm);
	for (uint32_t v = 0; v < a.volumes; v++)
		a.fence[v] = fence && !strcmp(fence, "target") ? FENCE_TARGET : FENCE_GATE;
	if (!writes || strcmp(writes, "on"))
		a.write_every_ns = 1ull << 60;
	a.weight[F_IMPOSTOR] = 1; /* room for a twin */
	world_reset(s->w, option_number(s, "seed", 1), &a);
	no_vote = (uint32_t)option_number(s, "no-vote", 0);
	if (no_vote)
		rf_bit_set(s->w->super.voters, no_vote - 1, false);
	bystander = (uint32_t)option_number(s, "bystander", 0);
	if (bystander)
		s->w->host[bystander - 1].bystander = true;
	for (uint32_t i = 0; i < s->w->hosts; i++)
		s->w->host[i].shown = 3600000 * RF_MS_NS;
	s->made = true;
}

/* Nodes start a moment apart: the first one campaigns first. */
static void start_one(struct script *s, struct host *h)
{
	host_start(s->w, h);
	pass_until(s, s->w->now + RF_MS_NS);
}

static void start(struct script *s)
{
	if (s->words > 1)
		for (uint32_t i = 1; i < s->words; i++)
			start_one(s, host_of(s, next_word(s, "a node")));
	else
		for (uint32_t i = 0; i < s->w->atlas.nodes; i++)
			start_one(s, &s->w->host[i]);
}

static void start_at_once(struct script *s)
{
	for (uint32_t i = 0; i < s->w->atlas.nodes; i++)
		host_start(s->w, &s->w->host[i]);
}

/* twin N: a second host with the id of N */
static void twin(struct script *s)
{
	struct host *h = &s->w->host[s->w->hosts - 1];

	h->id = host_of(s, next_word(s, "a node"))->id;
	h->absent = false;
	host_start(s->w, h);
}

/* Living daemons are not asked, nor started anew. */
static void format(struct script *s)
{
	operator_format(s->w);
}

static void buried(struct script *s, struct host *h)
{
	if (!h->impostor)
		s->past[h->id] = h->incarnation;
}

static void kill(struct script *s)
{
	for (uint32_t i = 1; i < s->words; i++) {
		struct host *h = host_of(s, next_word(s, "a node"));

		buried(s, h);
		host_kill(s->w, h);
	}
}

static void reboot(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	buried(s, h);
	host_reboot(s->w, h);
}

static void stand(struct script *s, bool vm)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	host_pause(s->w, h, time_of(s, next_word(s, "a time")), vm);
}

static void pause(struct script *s)
{
	stand(s, false);
}

static void freeze(struct script *s)
{
	stand(s, true);
}

/* mark: expectations look at what is said from here on */
static void mark(struct script *s)
{
	s->expecting = true;
}

static void advance(struct script *s)
{
	pass_until(s, s->w->now + time_of(s, next_word(s, "a time")));
}

static void drift(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	h->shown = host_clock(s->w, h);
	h->base = s->w->now;
	h->drift_ppm = -(int64_t)number_of(s, next_word(s, "ppm"));
}

static void priority(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	h->priority = (uint32_t)number_of(s, next_word(s, "a priority"));
}

/* ---- network ---- */

static void cut_one(struct script *s, struct host *h)
{
	for (uint32_t i = 0; i < s->w->hosts; i++) {
		net_cut(s->w, h->index, i, true);
		net_cut(s->w, i, h->index, true);
	}
}

/* cut 1, cut 1>2, cut 1-2, cut all */
static void cut(struct script *s)
{
	for (uint32_t i = 1; i < s->words; i++) {
		char *from = (char *)next_word(s, "a node"), *sign = strpbrk(from, ">-"), way;
		struct host *a, *b;

		if (!strcmp(from, "all")) {
			memset(s->w->cut, 1, (size_t)s->w->hosts * s->w->hosts);
			continue;
		}
		if (!sign) {
			cut_one(s, host_of(s, from));
			continue;
		}
		way = *sign;
		*sign = 0;
		a = host_of(s, from);
		b = host_of(s, sign + 1);
		net_cut(s->w, a->index, b->index, true);
		if (way == '-')
			net_cut(s->w, b->index, a->index, true);
	}
}

static void heal(struct script *s)
{
	net_heal(s->w);
}

/* ---- disks ---- */

static struct path *path_of(struct script *s)
{
	const char *who = next_word(s, "a node, or all");
	uint32_t disk = (uint32_t)option_number(s, "disk", 0);

	if (disk >= s->w->super.disk_count) {
		fail(s, "no such disk");
		disk = 0;
	}
	return !strcmp(who, "all") ? &s->w->disk[disk].path : &host_of(s, who)->path[disk];
}

/* slow N disk= by=TIME for=TIME: each operation takes that much longer; stale=1: and a
 * read brings what was true when it began; only=reads: what writes
 * nothing; only=own: looks into the own slot and mailbox */
static void slow(struct script *s)
{
	const char *only = option(s, "only");
	struct path *p = path_of(s);

	p->stale = option_number(s, "stale", 0);
	p->only = !only ? SLOW_ALL : !strcmp(only, "reads") ? SLOW_READS : SLOW_OWN;
	if (p->only == SLOW_OWN && strcmp(only, "own"))
		fail(s, "only=reads or only=own");
	p->slow_ns = option_time(s, "by", 0);
	p->slow_until = left(s);
}

static void stick(struct script *s)
{
	struct path *p = path_of(s);

	p->stuck_until = left(s);
}

/* fail N disk= for= only=writes */
static void lose(struct script *s)
{
	struct path *p = path_of(s);
	const char *only = option(s, "only");

	if (only && strcmp(only, "writes"))
		fail(s, "only=writes");
	p->reads = only != NULL;
	p->lost_until = left(s);
}

static void mend(struct script *s)
{
	struct path *p = path_of(s);

	memset(p, 0, sizeof(*p));
}

/* What a dying process has in the kernel: gone, or landing some time later. */
static void ghosts(struct script *s)
{
	s->w->atlas.ghost_ppm = strcmp(next_word(s, "on or off"), "on") ? 0 : 1000000;
}

/* ---- people, hooks, fences ---- */

static void operate(struct script *s, uint32_t verb)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s), to = (uint32_t)option_number(s, "to", 0);

	operator_admin(s->w, h, verb, volume, to);
}

static void put(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	operator_put(s->w, h, volume_of(s));
}

static void order(struct script *s)
{
	operator_stop(s->w, host_of(s, next_word(s, "a node"))->id);
}

static void health(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	struct rf_event e = {.kind = RF_EV_HEALTH};

	e.health.good = strcmp(next_word(s, "good or bad"), "good") == 0;
	host_event(s->w, h, &e);
}

/* abstain N on|off: what its fencer and its user let it lead */
static void abstain(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	struct rf_event e = {.kind = RF_EV_CAN};

	e.can.abstains = strcmp(next_word(s, "on or off"), "off") != 0;
	e.can.volume = volume_of(s);
	e.can.can = RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN;
	host_event(s->w, h, &e);
}

/* fence N: as `ringfence fence --wait` does */
static void fence(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));

	operator_stop(s->w, h->id);
	fence_begin(s, h);
}

static uint32_t fails(struct script *s)
{
	return strcmp(next_word(s, "fail or work"), "fail") ? 0 : 1000000;
}

static void hooks(struct script *s)
{
	s->w->atlas.hook_fail_ppm = fails(s);
}

/* Those that fail may carry a revoke out all the same; mute ones never do. */
static void fences(struct script *s)
{
	const char *how = next_word(s, "fail, mute or work");

	s->w->atlas.mute_fences = !strcmp(how, "mute");
	s->w->atlas.fence_fail_ppm = strcmp(how, "work") ? 1000000 : 0;
	if (strcmp(how, "fail") && strcmp(how, "mute") && strcmp(how, "work"))
		fail(s, "fences fail, are mute or work");
}

/* A gate that finds out by itself that it must shut. */
static void gate_shuts(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s);
	struct gate *g = &h->gate[volume];

	g->shut = true;
	g->latched = g->epoch;
	fence_answer(s->w, h, h->life, volume, 0, g->epoch, RF_FENCE_FAILED);
}

/* write-through N delay=TIME: the application writes; the disk takes that long */
static void write_through(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s);
	uint64_t delay = option_time(s, "delay", RF_MS_NS);

	if (gate_admits(s->w, h, volume))
		gate_write(s->w, h, volume, delay);
	else
		fail(s, "the gate of n%u is shut", h->id);
}

/* opener N on: somebody has the device of its gate open */
static void opener(struct script *s)
{
	struct host *h = host_of(s, next_word(s, "a node"));
	uint32_t volume = volume_of(s);

	h->gate[volume].opener = strcmp(next_word(s, "on or off"), "off") != 0;
}

/* oracles off: the script writes records that no node would write */
static void oracles(struct script *s)
{
	s->oracles = strcmp(next_word(s, "on or off"), "off") != 0;
}

static const struct {
	const char *name;
	uint32_t verb;
} operations[] = {
	{"resign", RF_ADMIN_RESIGN},     {"handover", RF_ADMIN_HANDOVER},
	{"stand-down", RF_ADMIN_PAUSE},  {"stand-up", RF_ADMIN_RESUME},
	{"shutdown", RF_ADMIN_SHUTDOWN},
};

static const struct {
	const char *name;
	void (*run)(struct script *s);
} verbs[] = {
	{"cluster", cluster},
	{"start", start},
	{"start-at-once", start_at_once},
	{"twin", twin},
	{"format", format},
	{"kill", kill},
	{"reboot", reboot},
	{"pause", pause},
	{"freeze", freeze},
	{"advance", advance},
	{"mark", mark},
	{"drift", drift},
	{"priority", priority},
	{"cut", cut},
	{"heal", heal},
	{"slow", slow},
	{"stick", stick},
	{"fail", lose},
	{"mend-path", mend},
	{"ghosts", ghosts},
	{"put", put},
	{"order-stop", order},
	{"health", health},
	{"abstain", abstain},
	{"fence", fence},
	{"hooks", hooks},
	{"fences", fences},
	{"gate-shuts", gate_shuts},
	{"oracles", oracles},
	{"write-through", write_through},
	{"opener", opener},
};

bool act(struct script *s, const char *verb)
{
	for (uint32_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(operations[i].name, verb)) {
			operate(s, operations[i].verb);
			return true;
		}
	for (uint32_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, verb)) {
			verbs[i].run(s);
			return true;
		}
	return false;
}
