/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One value of a key: text to a bounded field, or one error that says what is wrong. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"

/* ---- values ---- */

static int set_text(struct parse *p, const char *key, const char *value, char *to, size_t bytes)
{
	if (!*value)
		return bad(p, "%s is empty", key);
	if (strlen(value) >= bytes)
		return bad(p, "%s is longer than %zu bytes", key, bytes - 1);
	snprintf(to, bytes, "%s", value);
	return 0;
}

/* Cluster, volume and gate names: they become file names and arguments. */
int rf_value_name(struct parse *p, const char *key, const char *value, char *to, size_t bytes)
{
	if (strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			  "_.-") != strlen(value) ||
	    *value == '.' || *value == '-')
		return bad(p,
			   "%s \"%s\": letters, digits, '_', '-' and '.' only, "
			   "beginning with a letter, digit or '_'",
			   key, value);
	return set_text(p, key, value, to, bytes);
}

static int set_path(struct parse *p, const char *key, const char *value, char *to)
{
	if (*value && *value != '/')
		return bad(p, "%s \"%s\": must be an absolute path", key, value);
	return set_text(p, key, value, to, RF_CONFIG_PATH_BYTES);
}

static int set_number(struct parse *p, const char *key, const char *value, uint32_t least,
		      uint32_t most, uint32_t *to)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end)
		return bad(p, "%s \"%s\": not a number", key, value);
	if (errno || n < least || n > most)
		return bad(p, "%s %s: must be from %u to %u", key, value, least, most);
	*to = (uint32_t)n;
	return 0;
}

static int set_duration(struct parse *p, const char *key, const char *value, uint32_t least_ms,
			uint32_t most_ms, uint32_t *to_ms)
{
	static const struct {
		const char *unit;
		unsigned ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}};
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || errno)
		return bad(p, "%s \"%s\": not a duration (such as 500 ms, 10 s, 2 min)", key,
			   value);
	end += strspn(end, " ");
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(end, units[i].unit))
			continue;
		if (n > most_ms / units[i].ms || n * units[i].ms < least_ms)
			return bad(p, "%s %s: must be from %u ms to %u ms", key, value,
				   least_ms, most_ms);
		*to_ms = (uint32_t)n * units[i].ms;
		return 0;
	}
	return bad(p, "%s \"%s\": needs a unit: ms, s or min", key, value);
}

static int set_word(struct parse *p, const char *key, const char *value,
		    const char *const *words, uint32_t *to)
{
	char all[128] = "";

	for (uint32_t i = 0; words[i]; i++) {
		if (!strcmp(value, words[i])) {
			*to = i;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			 words[i]);
	}
	return bad(p, "%s \"%s\": must be one of %s", key, value, all);
}

/* "A", "A:PORT", "[A6]", "[A6]:PORT"; numeric only: a name server must never be
 * able to delay or change who is asked. */
static int set_addr(struct parse *p, const char *key, const char *value,
		    union rf_config_addr *to)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_DGRAM},
			*found;
	char host[128];
	const char *port = NULL, *end;
	size_t len = strlen(value);

	if (*value == '[' && (end = strchr(value, ']'))) {
		len = (size_t)(end - value) - 1;
		if (end[1] == ':')
			port = end + 2;
		else if (end[1])
			len = sizeof(host);
		value++;
	} else if ((end = strchr(value, ':')) && !strchr(end + 1, ':')) {
		len = (size_t)(end - value);
		port = end + 1;
	}
	if (len < sizeof(host)) {
		memcpy(host, value, len);
		host[len] = 0;
	}
	if (len >= sizeof(host) || getaddrinfo(host, port, &hints, &found))
		return bad(p,
			   "%s \"%s\": not a numeric address (such as 192.0.2.7, "
			   "192.0.2.7:7411, [2001:db8::7]:7411)",
			   key, value);
	memset(to, 0, sizeof(*to));
	memcpy(to, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

/* ---- lists: words, separated by blanks or commas ---- */

static int each(struct parse *p, const char *key, const char *value, each_word take)
{
	char word[RF_CONFIG_VALUE_BYTES];
	bool any = false;

	while (*(value += strspn(value, " \t,"))) {
		size_t n = strcspn(value, " \t,");
		int r;

		if (n >= sizeof(word))
			return bad(p, "%s: an entry is longer than %zu bytes", key,
				   sizeof(word) - 1);
		memcpy(word, value, n);
		word[n] = 0;
		r = take(p, key, word);
		if (r < 0)
			return r;
		value += n;
		any = true;
	}
	return any ? 0 : bad(p, "%s is empty", key);
}

static bool is_multicast(const union rf_config_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return IN_MULTICAST(ntohl(a->in.sin_addr.s_addr));
	return IN6_IS_ADDR_MULTICAST(&a->in6.sin6_addr);
}

int rf_value_group(struct parse *p, const char *key, const char *word)
{
	struct rf_config *c = p->c;
	union rf_config_addr a;
	int r = set_addr(p, key, word, &a);

	if (r < 0)
		return r;
	if (!is_multicast(&a))
		return bad(p, "%s %s: not a multicast address (such as 239.255.74.11)", key,
			   word);
	for (uint32_t i = 0; i < c->groups; i++)
		if (c->group[i].sa.sa_family == a.sa.sa_family)
			return bad(p, "%s %s: only one group per address family", key, word);
	c->group[c->groups++] = a; /* two families, so never more than GROUPS_MAX */
	return 0;
}

int rf_value_peer(struct parse *p, const char *key, const char *word)
{
	struct rf_config *c = p->c;
	union rf_config_addr a;
	int r = set_addr(p, key, word, &a);

	if (r < 0)
		return r;
	if (is_multicast(&a))
		return bad(p, "%s %s: a multicast address (use multicast = %s)", key, word,
			   word);
	if (c->peers == RF_CONFIG_PEERS_MAX)
		return bad(p, "%s: more than %u", key, RF_CONFIG_PEERS_MAX);
	c->peer[c->peers++] = a;
	return 0;
}

int rf_value_interface(struct parse *p, const char *key, const char *word)
{
	struct rf_config *c = p->c;

	if (strchr(word, '/'))
		return bad(p, "%s \"%s\": not the name of an interface", key, word);
	if (c->interfaces == RF_CONFIG_INTERFACES_MAX)
		return bad(p, "%s: more than %u", key, RF_CONFIG_INTERFACES_MAX);
	return set_text(p, key, word, c->interface[c->interfaces++], sizeof(c->interface[0]));
}

void rf_value_warn_unstable(struct parse *p, const char *key, const char *path)
{
	static const char *const kernel_names[] = {"/dev/sd", "/dev/vd", "/dev/xvd",
						   "/dev/nvme", "/dev/dm-"};

	for (size_t i = 0; i < sizeof(kernel_names) / sizeof(*kernel_names); i++)
		if (!strncmp(path, kernel_names[i], strlen(kernel_names[i])))
			rf_parse_warn(
				p, p->at,
				"%s %s: this name can change at the next boot: use one of "
				"/dev/disk/by-id or /dev/mapper",
				key, path);
}

int rf_value_area(struct parse *p, const char *key, const char *word)
{
	size_t v = (size_t)(p->volume - p->c->volume);
	int r;

	if (p->volume_areas[v] == RF_DISKS_MAX)
		return bad(p, "%s: more than %u quorum disks", key, RF_DISKS_MAX);
	r = set_path(p, key, word, p->volume_area[v][p->volume_areas[v]++]);
	if (!r)
		rf_value_warn_unstable(p, key, word);
	return r;
}

/* ---- by kind ---- */

static int set_fact(struct parse *p, const struct key *k, const char *value)
{
	uint32_t n = 0;
	int r;

	if (k->kind == FACT_MS)
		r = set_duration(p, k->name, value, k->least, k->most, &n);
	else if (k->kind == FACT_NUMBER)
		r = set_number(p, k->name, value, k->least, k->most, &n);
	else
		r = set_word(p, k->name, value, k->words, &n);
	if (k->kind == FACT_WORD)
		n++; /* RF_QUORUM_* begin at 1 */
	p->c->fact[k->offset].value = n;
	p->c->fact[k->offset].where = p->at;
	return r;
}

static int set_setting(struct parse *p, const struct key *k, const char *value)
{
	struct rf_config_volume *v = p->volume;
	struct rf_config_setting *s = &v->setting[v->settings];
	uint32_t word;

	if (v->settings == RF_CONFIG_SETTINGS_MAX)
		return bad(p, "%s: more than %u settings of a fence", k->name,
			   RF_CONFIG_SETTINGS_MAX);
	if (k->words && set_word(p, k->name, value, k->words, &word) < 0)
		return -EINVAL;
	v->settings++;
	/* the driver knows the part behind its prefix: uri of nbd-uri */
	snprintf(s->key, sizeof(s->key), "%s", strchr(k->name, '-') + 1);
	return set_text(p, k->name, value, s->value, sizeof(s->value));
}

static void store(void *to, size_t bytes, uint32_t value)
{
	uint8_t b = (uint8_t)value;
	uint16_t h = (uint16_t)value;

	memcpy(to, bytes == 1 ? (void *)&b : bytes == 2 ? (void *)&h : (void *)&value, bytes);
}

int rf_value_set(struct parse *p, const struct key *k, const char *value)
{
	char *to = (k->section == IN_VOLUME ? (char *)p->volume : (char *)p->c) + k->offset;
	uint32_t n = 0;
	int r;

	switch (k->kind) {
	case TEXT:
		return set_text(p, k->name, value, to, k->bytes);
	case NAME:
		return rf_value_name(p, k->name, value, to, k->bytes);
	case PATH:
		return set_path(p, k->name, value, to);
	case LIST:
		return each(p, k->name, value, k->take);
	case SETTING:
		return set_setting(p, k, value);
	case NUMBER:
		r = set_number(p, k->name, value, k->least, k->most, &n);
		break;
	case DURATION:
		r = set_duration(p, k->name, value, k->least, k->most, &n);
		break;
	case WORD8:
		r = set_word(p, k->name, value, k->words, &n);
		break;
	default:
		return set_fact(p, k, value);
	}
	if (!r)
		store(to, k->bytes, n);
	return r;
}
