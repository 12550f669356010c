/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between two configurations, key by key, and what of it can be taken over
 * while the daemon runs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "config_parse.h"
#include "log.h"

struct diff {
	const struct rf_config *was, *is;
	rf_config_change tell;
	void *arg;
};

/* Everything else is built into what was made at the start: sockets, buffers, fencers,
 * the watchdog, and this node's place on the disk. */
static bool lives(const struct key *k)
{
	return k->section == IN_HOOKS || k->section == IN_HEALTH || k->section == IN_LOG ||
	       (k->section == IN_NETWORK && !strcmp(k->name, "peers")) ||
	       (k->section == IN_VOLUME && !strcmp(k->name, "priority"));
}

static void tell(const struct diff *d, const struct key *k, const char *volume,
		 const char *from, const char *to)
{
	struct rf_config_changed c = {.live = k && lives(k)};
	const char *name = k ? k->name : "volume";

	if (volume)
		snprintf(c.key, sizeof(c.key), "[volume %s]%s%s", volume, k ? " " : "",
			 k ? name : "");
	else
		snprintf(c.key, sizeof(c.key), "[%s] %s", rf_section_names[k->section], name);
	snprintf(c.from, sizeof(c.from), "%s", *from ? from : "none");
	snprintf(c.to, sizeof(c.to), "%s", *to ? to : "none");
	d->tell(d->arg, &c);
}

/* ---- lists ---- */

struct words {
	char text[RF_CONFIG_VALUE_BYTES];
	size_t used;
};

static void add(struct words *w, const char *word)
{
	size_t room = sizeof(w->text) - w->used;
	int n = snprintf(w->text + w->used, room, "%s%s", w->used ? ", " : "", word);

	if (n > 0)
		w->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void add_addresses(struct words *w, const union rf_config_addr *a, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool six = a[i].sa.sa_family == AF_INET6;
		char host[INET6_ADDRSTRLEN] = "?", word[INET6_ADDRSTRLEN + 8];

		inet_ntop(a[i].sa.sa_family,
			  six ? (const void *)&a[i].in6.sin6_addr
			      : (const void *)&a[i].in.sin_addr,
			  host, sizeof(host));
		snprintf(word, sizeof(word), six ? "[%s]:%u" : "%s:%u", host,
			 ntohs(six ? a[i].in6.sin6_port : a[i].in.sin_port));
		add(w, word);
	}
}

static void list_text(struct words *w, const struct rf_config *c, const struct key *k,
		      const struct rf_config_volume *v)
{
	*w = (struct words){.used = 0};
	if (v)
		for (uint32_t i = 0; i < c->area[v->area].disks; i++)
			add(w, c->area[v->area].disk[i]);
	else if (!strcmp(k->name, "peers"))
		add_addresses(w, c->peer, c->peers);
	else if (!strcmp(k->name, "multicast"))
		add_addresses(w, c->group, c->groups);
	else
		for (uint32_t i = 0; i < c->interfaces; i++)
			add(w, c->interface[i]);
}

/* Longer than what can be shown of them, lists may differ all the same. */
static bool same_list(const struct rf_config *a, const struct rf_config *b, const struct key *k)
{
	if (!strcmp(k->name, "peers"))
		return a->peers == b->peers && !memcmp(a->peer, b->peer, sizeof(a->peer));
	if (!strcmp(k->name, "multicast"))
		return a->groups == b->groups && !memcmp(a->group, b->group, sizeof(a->group));
	return a->interfaces == b->interfaces &&
	       !memcmp(a->interface, b->interface, sizeof(a->interface));
}

static bool same_area(const struct rf_config_area *a, const struct rf_config_area *b)
{
	return a->disks == b->disks && !memcmp(a->disk, b->disk, sizeof(a->disk));
}

/* ---- values ---- */

static uint32_t number(const char *at, size_t bytes)
{
	uint8_t b;
	uint16_t h;
	uint32_t w;

	memcpy(&b, at, 1);
	if (bytes == 1)
		return b;
	memcpy(&h, at, 2);
	if (bytes == 2)
		return h;
	memcpy(&w, at, 4);
	return w;
}

static const char *setting(const struct rf_config_volume *v, const struct key *k)
{
	for (uint32_t i = 0; i < v->settings; i++)
		if (!strcmp(v->setting[i].key, strchr(k->name, '-') + 1))
			return v->setting[i].value;
	return "";
}

/* at: the configuration, or the volume whose key it is. */
static void value_text(char text[RF_CONFIG_PATH_BYTES], const struct key *k, const void *at)
{
	const char *from = (const char *)at + k->offset;

	if (k->kind == NUMBER)
		snprintf(text, RF_CONFIG_PATH_BYTES, "%u", number(from, k->bytes));
	else if (k->kind == DURATION)
		snprintf(text, RF_CONFIG_PATH_BYTES, "%u ms", number(from, k->bytes));
	else if (k->kind == WORD8 && k->section == IN_LOG)
		snprintf(text, RF_CONFIG_PATH_BYTES, "%s",
			 rf_log_level_word((enum rf_log_level)(uint8_t)*from));
	else if (k->kind == WORD8)
		snprintf(text, RF_CONFIG_PATH_BYTES, "%s", k->words[(uint8_t)*from]);
	else if (k->kind == SETTING)
		snprintf(text, RF_CONFIG_PATH_BYTES, "%s", setting(at, k));
	else
		snprintf(text, RF_CONFIG_PATH_BYTES, "%s", from);
}

static void compare_list(const struct diff *d, const struct key *k)
{
	struct words a, b;

	if (same_list(d->was, d->is, k))
		return;
	list_text(&a, d->was, k, NULL);
	list_text(&b, d->is, k, NULL);
	tell(d, k, NULL, a.text, b.text);
}

static void compare_key(const struct diff *d, const struct key *k)
{
	char a[RF_CONFIG_PATH_BYTES], b[RF_CONFIG_PATH_BYTES];

	if (k->kind == FACT_MS || k->kind == FACT_NUMBER || k->kind == FACT_WORD)
		return; /* the disk counts: rf_config_compare() */
	if (k->kind == LIST) {
		compare_list(d, k);
		return;
	}
	value_text(a, k, d->was);
	value_text(b, k, d->is);
	if (strcmp(a, b))
		tell(d, k, NULL, a, b);
}

static void compare_volume_key(const struct diff *d, const struct key *k,
			       const struct rf_config_volume *was,
			       const struct rf_config_volume *is)
{
	char a[RF_CONFIG_PATH_BYTES], b[RF_CONFIG_PATH_BYTES];
	struct words wa, wb;

	if (k->kind == LIST) {
		if (same_area(&d->was->area[was->area], &d->is->area[is->area]))
			return;
		list_text(&wa, d->was, k, was);
		list_text(&wb, d->is, k, is);
		tell(d, k, is->name, wa.text, wb.text);
		return;
	}
	value_text(a, k, was);
	value_text(b, k, is);
	if (strcmp(a, b))
		tell(d, k, is->name, a, b);
}

static const struct rf_config_volume *volume_of(const struct rf_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->volumes; i++)
		if (!strcmp(c->volume[i].name, name))
			return &c->volume[i];
	return NULL;
}

static void compare_volume(const struct diff *d, const struct rf_config_volume *is)
{
	const struct rf_config_volume *was = volume_of(d->was, is->name);

	if (!was) {
		tell(d, NULL, is->name, "", "added");
		return;
	}
	for (size_t i = 0; i < rf_parse_keys_count; i++)
		if (rf_parse_keys[i].section == IN_VOLUME)
			compare_volume_key(d, &rf_parse_keys[i], was, is);
}

void rf_config_diff(const struct rf_config *was, const struct rf_config *is,
		    rf_config_change change, void *arg)
{
	struct diff d = {was, is, change, arg};

	for (size_t i = 0; i < rf_parse_keys_count; i++)
		if (rf_parse_keys[i].section != IN_VOLUME)
			compare_key(&d, &rf_parse_keys[i]);
	for (uint32_t i = 0; i < is->volumes; i++)
		compare_volume(&d, &is->volume[i]);
	for (uint32_t i = 0; i < was->volumes; i++)
		if (!volume_of(is, was->volume[i].name))
			tell(&d, NULL, was->volume[i].name, "there", "removed");
}

void rf_config_take_hooks(struct rf_config *to, const struct rf_config *from)
{
	memcpy(to->hooks_dir, from->hooks_dir, sizeof(to->hooks_dir));
	memcpy(to->hooks_user, from->hooks_user, sizeof(to->hooks_user));
	memcpy(to->health_command, from->health_command, sizeof(to->health_command));
	to->hooks_timeout_ms = from->hooks_timeout_ms;
	to->hooks_kill_ms = from->hooks_kill_ms;
	to->hooks_ask = from->hooks_ask;
	to->health_interval_ms = from->health_interval_ms;
	to->health_timeout_ms = from->health_timeout_ms;
}
