/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must hold of a configuration as a whole, and against the disk. */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config_parse.h"
#include "log.h"

/* ---- what must hold of the whole ---- */

static void set_port(union rf_config_addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET && !a->in.sin_port)
		a->in.sin_port = htons(port);
	else if (a->sa.sa_family == AF_INET6 && !a->in6.sin6_port)
		a->in6.sin6_port = htons(port);
}

static void finish_network(struct rf_config *c)
{
	if (!c->groups && !c->peers) {
		c->group[0].in.sin_family = AF_INET;
		inet_pton(AF_INET, RF_WIRE_GROUP4_DEFAULT, &c->group[0].in.sin_addr);
		c->groups = 1;
	}
	for (uint32_t i = 0; i < c->groups; i++)
		set_port(&c->group[i], c->port);
	for (uint32_t i = 0; i < c->peers; i++)
		set_port(&c->peer[i], c->port);
}

static bool same_disks(const struct rf_config_area *a, char (*disk)[RF_CONFIG_PATH_BYTES],
		       uint32_t disks)
{
	if (a->disks != disks)
		return false;
	for (uint32_t i = 0; i < disks; i++)
		if (strcmp(a->disk[i], disk[i]))
			return false;
	return true;
}

static int add_area(struct parse *p, struct rf_config_volume *v,
		    char (*disk)[RF_CONFIG_PATH_BYTES], uint32_t disks)
{
	struct rf_config *c = p->c;

	for (uint32_t a = 0; a < c->areas; a++) {
		if (same_disks(&c->area[a], disk, disks)) {
			v->area = a;
			return 0;
		}
		for (uint32_t i = 0; i < c->area[a].disks; i++)
			for (uint32_t j = 0; j < disks; j++)
				if (!strcmp(c->area[a].disk[i], disk[j]))
					return bad_at(p, v->where,
						      "volume %s: %s is in another area too: "
						      "volumes of one area name the same "
						      "disks in the same order",
						      v->name, disk[j]);
	}
	if (c->areas == RF_AREAS_MAX)
		return bad_at(p, v->where, "volume %s: more than %u areas", v->name,
			      RF_AREAS_MAX);
	v->area = c->areas;
	c->area[c->areas].disks = disks;
	memcpy(c->area[c->areas++].disk, disk, disks * RF_CONFIG_PATH_BYTES);
	return 0;
}

static int finish_area(struct parse *p, struct rf_config_volume *v)
{
	size_t i = (size_t)(v - p->c->volume);

	if (!p->volume_areas[i] && !*v->device)
		return bad_at(p, v->where,
			      "volume %s: needs device (with the area in it) or area", v->name);
	if (!p->volume_areas[i]) {
		snprintf(p->volume_area[i][0], RF_CONFIG_PATH_BYTES, "%s", v->device);
		p->volume_areas[i] = 1;
	}
	if (p->volume_areas[i] % 2 == 0)
		return bad_at(p, v->where,
			      "volume %s: %u quorum disks: must be 1, 3 or 5 (of an even "
			      "number half is no majority)",
			      v->name, p->volume_areas[i]);
	return add_area(p, v, p->volume_area[i], p->volume_areas[i]);
}

/* Drivers of the fencer, and the settings each knows. */
static const struct fence {
	const char *name, *settings[3];
} fences[] = {
	{"expiry", {NULL}},
	{"gate", {"reads", "refuse-as"}},
	{"target", {"uri"}},
	{"reservation", {NULL}},
};

static bool knows(const struct fence *f, const char *setting)
{
	for (size_t i = 0; i < 3 && f->settings[i]; i++)
		if (!strcmp(f->settings[i], setting))
			return true;
	return false;
}

static const struct fence *fence_of(const char *name)
{
	for (size_t i = 0; i < sizeof(fences) / sizeof(*fences); i++)
		if (!strcmp(fences[i].name, name))
			return &fences[i];
	return NULL;
}

bool rf_config_fenced_by(const struct rf_config_volume *v, const char *name)
{
	for (uint32_t i = 0; i < v->fences; i++)
		if (!strcmp(v->way[i], name))
			return true;
	return false;
}

/* One word of the list. */
static int add_fence(struct parse *p, struct rf_config_volume *v, const char *word)
{
	if (!fence_of(word))
		return bad_at(p, v->where,
			      "volume %s: no fence \"%s\" in this build: use reservation, "
			      "target, gate or expiry",
			      v->name, word);
	if (rf_config_fenced_by(v, word))
		return bad_at(p, v->where, "volume %s: fence names %s twice", v->name, word);
	if (rf_config_fenced_by(v, "expiry"))
		return bad_at(p, v->where,
			      "volume %s: fence: expiry is the last resort and stands last",
			      v->name);
	snprintf(v->way[v->fences++], sizeof(v->way[0]), "%s", word);
	return 0;
}

static int split_fence(struct parse *p, struct rf_config_volume *v)
{
	char text[sizeof(v->fence)], *save = NULL;
	int r = 0;

	memcpy(text, v->fence, sizeof(text));
	for (char *word = strtok_r(text, ", \t", &save); word && !r;
	     word = strtok_r(NULL, ", \t", &save))
		r = add_fence(p, v, word);
	if (!r && !v->fences)
		r = bad_at(p, v->where, "volume %s: fence is empty", v->name);
	return r;
}

static int give_settings(struct parse *p, struct rf_config_volume *v)
{
	for (uint32_t k = 0; k < v->settings; k++) {
		struct rf_config_setting *s = &v->setting[k];

		*s->fence = 0;
		for (uint32_t i = 0; i < v->fences; i++)
			if (knows(fence_of(v->way[i]), s->key))
				memcpy(s->fence, v->way[i], sizeof(s->fence));
		if (!*s->fence)
			return bad_at(
				p, v->where,
				"volume %s: has a setting of another fence, which fence = "
				"%s does not use",
				v->name, v->fence);
	}
	return 0;
}

static int finish_gate(struct parse *p, struct rf_config_volume *v)
{
	if (!rf_config_fenced_by(v, "gate"))
		return *v->gate ? bad_at(p, v->where,
					 "volume %s: gate is not used by fence = %s", v->name,
					 v->fence)
				: 0;
	if (!*v->gate)
		memcpy(v->gate, v->name, sizeof(v->gate));
	return *v->device
		       ? 0
		       : bad_at(p, v->where, "volume %s: fence = gate needs device", v->name);
}

/* Only the leader may write a reserved device: not the place for heartbeats of all. */
static int finish_reservation(struct parse *p, struct rf_config_volume *v)
{
	const struct rf_config_area *a = &p->c->area[v->area];

	if (!rf_config_fenced_by(v, "reservation"))
		return 0;
	if (!*v->device)
		return bad_at(p, v->where, "volume %s: fence = reservation needs device",
			      v->name);
	for (uint32_t i = 0; i < a->disks; i++)
		if (!strcmp(a->disk[i], v->device))
			return bad_at(p, v->where,
				      "volume %s: fence = reservation: %s is the quorum disk "
				      "too, which all nodes must write: give the area a device "
				      "of its own",
				      v->name, v->device);
	return 0;
}

static int finish_fence(struct parse *p, struct rf_config_volume *v)
{
	if (!*v->fence) {
		snprintf(v->fence, sizeof(v->fence), "expiry");
		rf_parse_warn(p, v->where,
			      "volume %s: no fence is set: nothing refuses a stale write (say "
			      "fence = expiry if that is meant)",
			      v->name);
	}
	if (split_fence(p, v) < 0 || give_settings(p, v) < 0 || finish_gate(p, v) < 0 ||
	    finish_reservation(p, v) < 0)
		return -EINVAL;
	for (uint32_t k = 0; k < v->settings; k++)
		if (!strcmp(v->setting[k].fence, "target"))
			return 0;
	return rf_config_fenced_by(v, "target")
		       ? bad_at(p, v->where, "volume %s: fence = target needs nbd-uri", v->name)
		       : 0;
}

static const enum rf_log_level level_values[] = {RF_LOG_ERR, RF_LOG_WARNING, RF_LOG_INFO,
						 RF_LOG_DEBUG};

static const struct rf_config_where nowhere;

static const struct rf_config_where *where_of(struct parse *p, enum section s, const char *name)
{
	for (size_t i = 0; i < rf_parse_keys_count; i++)
		if (rf_parse_keys[i].section == s && !strcmp(rf_parse_keys[i].name, name))
			return &p->given[i];
	return &nowhere;
}

int rf_parse_finish(struct parse *p)
{
	struct rf_config *c = p->c;

	if (!*c->cluster)
		return bad_at(p, nowhere, "[cluster] name is missing");
	if (!c->node)
		return bad_at(p, nowhere,
			      "[cluster] node-id is missing: each host has its own, from 1");
	if (!c->volumes)
		return bad_at(p, nowhere, "no [volume NAME] section");
	if (c->watchdog == RF_WATCHDOG_OFF && *c->watchdog_device)
		return bad_at(p, *where_of(p, IN_WATCHDOG, "device"),
			      "device = %s is not used by mode = off: set mode = automatic or "
			      "required",
			      c->watchdog_device);
	if (c->health_timeout_ms > c->health_interval_ms)
		return bad_at(p, *where_of(p, IN_HEALTH, "timeout"),
			      "[health] timeout (%u ms) is longer than interval (%u ms)",
			      c->health_timeout_ms, c->health_interval_ms);
	finish_network(c);
	c->log_level = (uint8_t)level_values[c->log_level];
	for (uint32_t i = 0; i < c->volumes; i++)
		if (finish_area(p, &c->volume[i]) < 0 || finish_fence(p, &c->volume[i]) < 0)
			return -EINVAL;
	return 0;
}

/* ---- the disk counts (CASES 14, 15) ---- */

static uint32_t fact_of(const struct rf_super *s, enum rf_config_fact which)
{
	const struct rf_timing *t = &s->timing;

	switch (which) {
	case RF_FACT_HEARTBEAT:
		return t->heartbeat_ms;
	case RF_FACT_SUSPECT:
		return t->suspect_ms;
	case RF_FACT_LEASE:
		return t->lease_ms;
	case RF_FACT_GRACE:
		return t->grace_ms;
	case RF_FACT_HOLD:
		return t->hold_ms;
	case RF_FACT_ISOLATION:
		return t->isolation_ms;
	case RF_FACT_SLOT_TIMEOUT:
		return t->slot_timeout_ms;
	case RF_FACT_INFLIGHT:
		return t->inflight_ms;
	case RF_FACT_EPSILON:
		return t->epsilon_ppm;
	case RF_FACT_NODES:
		return s->id.nodes;
	default:
		return s->quorum;
	}
}

static void fact_text(char *to, size_t bytes, enum kind kind, uint32_t value)
{
	if (kind == FACT_WORD)
		snprintf(to, bytes, "%s",
			 value >= 1 && value <= 2 ? rf_quorum_words[value - 1] : "?");
	else
		snprintf(to, bytes, "%u%s", value, kind == FACT_MS ? " ms" : "");
}

static int compare_fact(const struct rf_config *c, const struct key *k,
			const struct rf_super *s, const char *disk, char *err, size_t err_bytes)
{
	struct rf_config_where at = c->fact[k->offset].where;
	uint32_t here = c->fact[k->offset].value;
	uint32_t there = fact_of(s, (enum rf_config_fact)k->offset);
	char a[32], b[32];

	if (!at.line || here == there)
		return 0;
	fact_text(a, sizeof(a), k->kind, here);
	fact_text(b, sizeof(b), k->kind, there);
	snprintf(
		err, err_bytes,
		"%s:%u: %s = %s, but the disk %s says %s, and the disk counts: remove the line",
		c->file[at.file], at.line, k->name, a, disk, b);
	return -EINVAL;
}

int rf_config_compare(const struct rf_config *c, uint32_t area, const struct rf_super *s,
		      char *err, size_t err_bytes)
{
	const char *disk = c->area[area].disk[0];
	int r = 0;

	if (strcmp(c->cluster, s->cluster_name)) {
		snprintf(err, err_bytes,
			 "%s: cluster is \"%s\", but %s belongs to cluster \"%s\": wrong disk "
			 "or wrong name",
			 c->file[0], c->cluster, disk, s->cluster_name);
		return -EINVAL;
	}
	if (c->node > s->id.nodes) {
		snprintf(err, err_bytes,
			 "%s: node-id is %u, but %s was made for nodes 1 to %u: give this host "
			 "a free id of those",
			 c->file[0], c->node, disk, s->id.nodes);
		return -EINVAL;
	}
	if (c->area[area].disks != s->disk_count) {
		snprintf(
			err, err_bytes,
			"%s: the area of %s has %u quorum disks here, but %u on the disk: name "
			"them all",
			c->file[0], disk, c->area[area].disks, s->disk_count);
		return -EINVAL;
	}
	for (size_t i = 0; i < rf_parse_keys_count && !r; i++)
		if (rf_parse_keys[i].kind == FACT_MS || rf_parse_keys[i].kind == FACT_NUMBER ||
		    rf_parse_keys[i].kind == FACT_WORD)
			r = compare_fact(c, &rf_parse_keys[i], s, disk, err, err_bytes);
	return r;
}
