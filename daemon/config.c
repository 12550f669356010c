/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration files to one struct. inih cuts the lines; what a key may hold
 * stands in one table, and so does every bound.
 */
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"

#define LINE_MAX_BYTES 198 /* inih's line buffer, newline and NUL off */

const char *const rf_section_names[IN_COUNT] = {
	[IN_CLUSTER] = "cluster", [IN_NETWORK] = "network",   [IN_AUTH] = "auth",
	[IN_VOLUME] = "volume",   [IN_WATCHDOG] = "watchdog", [IN_HOOKS] = "hooks",
	[IN_HEALTH] = "health",   [IN_LOG] = "log",           [IN_TIMING] = "timing",
};

/* ---- errors ---- */

int rf_parse_bad(struct parse *p, struct rf_config_where at, const char *format, ...)
{
	va_list ap;
	int n;

	if (p->failed)
		return -EINVAL; /* the first one is the one to mend */
	p->failed = true;
	n = at.line ? snprintf(p->err, p->err_bytes, "%s:%u: ", p->c->file[at.file], at.line)
		    : snprintf(p->err, p->err_bytes, "%s: ", p->c->file[0]);
	if (n < 0 || (size_t)n >= p->err_bytes)
		return -EINVAL;
	va_start(ap, format);
	vsnprintf(p->err + n, p->err_bytes - (size_t)n, format, ap);
	va_end(ap);
	return -EINVAL;
}

void rf_parse_warn(struct parse *p, struct rf_config_where at, const char *format, ...)
{
	char line[512];
	va_list ap;
	int n = snprintf(line, sizeof(line), "%s:%u: ", p->c->file[at.file], at.line);

	if (!p->warn || n < 0 || (size_t)n >= sizeof(line))
		return;
	va_start(ap, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n, format, ap);
	va_end(ap);
	p->warn(p->warn_arg, line);
}

/* ---- keys ---- */

const char *const rf_watchdog_words[] = {"off", "automatic", "required", NULL};
static const char *const no_yes_words[] = {"no", "yes", NULL};
static const char *const reads_words[] = {"pass", "refuse", NULL};
static const char *const refuse_words[] = {"offline", "conflict", NULL};
static const char *const level_words[] = {"error", "warning", "info", "debug", NULL};
const char *const rf_quorum_words[] = {"majority", "survivors", NULL};

#define AT(field) offsetof(struct rf_config, field), sizeof(((struct rf_config *)0)->field)
#define VAT(field) \
	offsetof(struct rf_config_volume, field), sizeof(((struct rf_config_volume *)0)->field)
#define FACT(which) RF_FACT_##which, 0
#define HOUR_MS 3600000u

const struct key rf_parse_keys[] = {
	{IN_CLUSTER, "name", NAME, AT(cluster), 0, 0, NULL, NULL},
	{IN_CLUSTER, "node-id", NUMBER, AT(node), 1, RF_NODES_MAX, NULL, NULL},
	{IN_CLUSTER, "nodes", FACT_NUMBER, FACT(NODES), 1, RF_NODES_MAX, NULL, NULL},
	{IN_CLUSTER, "quorum", FACT_WORD, FACT(QUORUM), 0, 0, NULL, rf_quorum_words},
	{IN_NETWORK, "multicast", LIST, 0, 0, 0, 0, rf_value_group, NULL},
	{IN_NETWORK, "interface", LIST, 0, 0, 0, 0, rf_value_interface, NULL},
	{IN_NETWORK, "peers", LIST, 0, 0, 0, 0, rf_value_peer, NULL},
	{IN_NETWORK, "port", NUMBER, AT(port), 1, 65535, NULL, NULL},
	{IN_NETWORK, "ttl", NUMBER, AT(ttl), 0, 255, NULL, NULL},
	{IN_AUTH, "key-file", PATH, AT(key_file), 0, 0, NULL, NULL},
	{IN_VOLUME, "device", PATH, VAT(device), 0, 0, NULL, NULL},
	{IN_VOLUME, "area", LIST, 0, 0, 0, 0, rf_value_area, NULL},
	{IN_VOLUME, "gate", NAME, VAT(gate), 0, 0, NULL, NULL},
	{IN_VOLUME, "priority", NUMBER, VAT(priority), 0, 65535, NULL, NULL},
	{IN_VOLUME, "fence", TEXT, VAT(fence), 0, 0, NULL, NULL},
	{IN_VOLUME, "nbd-uri", SETTING, 0, 0, 0, 0, NULL, NULL},
	{IN_VOLUME, "gate-reads", SETTING, 0, 0, 0, 0, NULL, reads_words},
	{IN_VOLUME, "gate-refuse-as", SETTING, 0, 0, 0, 0, NULL, refuse_words},
	{IN_WATCHDOG, "mode", WORD8, AT(watchdog), 0, 0, NULL, rf_watchdog_words},
	{IN_WATCHDOG, "device", PATH, AT(watchdog_device), 0, 0, NULL, NULL},
	{IN_HOOKS, "dir", PATH, AT(hooks_dir), 0, 0, NULL, NULL},
	{IN_HOOKS, "user", NAME, AT(hooks_user), 0, 0, NULL, NULL},
	{IN_HOOKS, "timeout", DURATION, AT(hooks_timeout_ms), 10, HOUR_MS, NULL, NULL},
	{IN_HOOKS, "kill-after", DURATION, AT(hooks_kill_ms), 10, HOUR_MS, NULL, NULL},
	{IN_HOOKS, "pre-campaign", WORD8, AT(hooks_ask), 0, 0, NULL, no_yes_words},
	{IN_HEALTH, "command", TEXT, AT(health_command), 0, 0, NULL, NULL},
	{IN_HEALTH, "interval", DURATION, AT(health_interval_ms), 100, HOUR_MS, NULL, NULL},
	{IN_HEALTH, "timeout", DURATION, AT(health_timeout_ms), 10, HOUR_MS, NULL, NULL},
	{IN_LOG, "level", WORD8, AT(log_level), 0, 0, NULL, level_words},
	{IN_LOG, "file", PATH, AT(log_file), 0, 0, NULL, NULL},
	{IN_TIMING, "heartbeat", FACT_MS, FACT(HEARTBEAT), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "suspect", FACT_MS, FACT(SUSPECT), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "lease", FACT_MS, FACT(LEASE), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "grace", FACT_MS, FACT(GRACE), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "hold", FACT_MS, FACT(HOLD), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "isolation", FACT_MS, FACT(ISOLATION), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "slot-timeout", FACT_MS, FACT(SLOT_TIMEOUT), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "in-flight", FACT_MS, FACT(INFLIGHT), 1, HOUR_MS, NULL, NULL},
	{IN_TIMING, "drift-ppm", FACT_NUMBER, FACT(EPSILON), 0, 1000000, NULL, NULL},
};
const size_t rf_parse_keys_count = sizeof(rf_parse_keys) / sizeof(*rf_parse_keys);

/* ---- nearest name ---- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

static unsigned distance(const char *a, const char *b)
{
	unsigned row[64], n = (unsigned)strlen(b);

	if (n >= 63 || strlen(a) >= 63)
		return UINT_MAX;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned up = row[j];

			row[j] =
				min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = up;
		}
	}
	return row[n];
}

struct nearest {
	const char *name;
	unsigned best;
};

static void consider(struct nearest *n, const char *given, const char *name)
{
	unsigned d = distance(given, name);

	if (d < n->best) {
		n->best = d;
		n->name = name;
	}
}

/* Near enough to be what was meant. */
static const char *meant(const struct nearest *n, const char *given)
{
	return n->name && n->best <= 2 + strlen(given) / 4 ? n->name : NULL;
}

/* ---- one key ---- */

static int unknown_key(struct parse *p, const char *name)
{
	struct nearest n = {NULL, UINT_MAX};
	const char *what = rf_section_names[p->section], *near;

	for (size_t i = 0; i < rf_parse_keys_count; i++) {
		if (rf_parse_keys[i].section != p->section &&
		    !strcmp(rf_parse_keys[i].name, name))
			return bad(p, "[%s] has no key \"%s\": it belongs into [%s]", what,
				   name, rf_section_names[rf_parse_keys[i].section]);
		if (rf_parse_keys[i].section == p->section)
			consider(&n, name, rf_parse_keys[i].name);
	}
	near = meant(&n, name);
	if (near)
		return bad(p, "[%s] has no key \"%s\": did you mean \"%s\"?", what, name, near);
	return bad(p, "[%s] has no key \"%s\"", what, name);
}

/* Where this key was given before: the global place, or the volume's. */
static struct rf_config_where *given(struct parse *p, size_t i)
{
	size_t first = 0;

	if (rf_parse_keys[i].section != IN_VOLUME)
		return &p->given[i];
	while (rf_parse_keys[first].section != IN_VOLUME)
		first++;
	return &p->volume_given[p->volume - p->c->volume][i - first];
}

static int take_key(struct parse *p, const char *name, const char *value)
{
	struct rf_config_where *before;
	size_t i = 0;

	if (p->section == IN_NONE)
		return bad(p, "\"%s\" stands before any [section]", name);
	while (i < rf_parse_keys_count &&
	       (rf_parse_keys[i].section != p->section || strcmp(rf_parse_keys[i].name, name)))
		i++;
	if (i == rf_parse_keys_count)
		return unknown_key(p, name);
	before = given(p, i);
	if (before->line && rf_parse_keys[i].kind != LIST) /* lists add up */
		return bad(p, "%s was already given at %s:%u", name, p->c->file[before->file],
			   before->line);
	*before = p->at;
	if (rf_parse_keys[i].section == IN_VOLUME && rf_parse_keys[i].kind == PATH)
		rf_value_warn_unstable(p, name, value);
	return rf_value_set(p, &rf_parse_keys[i], value);
}

/* ---- sections ---- */

static int begin_volume(struct parse *p, const char *name)
{
	struct rf_config *c = p->c;
	struct rf_config_volume *v;

	for (uint32_t i = 0; i < c->volumes; i++) {
		if (!strcmp(c->volume[i].name, name)) {
			p->volume = &c->volume[i]; /* a drop-in goes on with it */
			return 0;
		}
	}
	if (c->volumes == RF_CONFIG_VOLUMES_MAX)
		return bad(p, "more than %u volumes", RF_CONFIG_VOLUMES_MAX);
	v = &c->volume[c->volumes];
	if (rf_value_name(p, "volume", name, v->name, sizeof(v->name)) < 0)
		return -EINVAL;
	v->where = p->at;
	v->priority = 100;
	p->volume = v;
	c->volumes++;
	return 0;
}

static int unknown_section(struct parse *p, const char *name)
{
	struct nearest n = {NULL, UINT_MAX};
	const char *near;

	for (int i = IN_CLUSTER; i < IN_COUNT; i++)
		consider(&n, name, rf_section_names[i]);
	near = meant(&n, name);
	if (near)
		return bad(p, "no section [%s]: did you mean [%s]?", name, near);
	return bad(p, "no section [%s]", name);
}

/* line: "[word]" or "[volume NAME]". inih sees it too, but does not tell us of a
 * section without keys and cuts long names. */
static int begin_section(struct parse *p, const char *line)
{
	char word[LINE_MAX_BYTES + 2], *name;
	const char *end = strchr(line, ']');

	p->section = IN_NONE;
	if (!end)
		return bad(p, "section without ']'");
	snprintf(word, sizeof(word), "%.*s", (int)(end - line) - 1, line + 1);
	name = word + strcspn(word, " \t");
	if (*name)
		*name++ = 0;
	name += strspn(name, " \t\"");
	name[strcspn(name, " \t\"")] = 0;
	for (int i = IN_CLUSTER; i < IN_COUNT; i++)
		if (!strcmp(word, rf_section_names[i]))
			p->section = (enum section)i;
	if (p->section == IN_NONE)
		return unknown_section(p, word);
	if (p->section == IN_VOLUME)
		return *name ? begin_volume(p, name)
			     : bad(p, "[volume] needs a name: [volume NAME]");
	return *name ? bad(p, "[%s] takes no name", word) : 0;
}

/* ---- one text, line by line through inih ---- */

static char *next_line(char *line, int room, void *arg)
{
	struct parse *p = arg;
	const char *end = memchr(p->text, '\n', p->text_left);
	size_t whole = end ? (size_t)(end - p->text) + 1 : p->text_left;
	size_t len = end ? whole - 1 : whole;
	const char *from = p->text;

	if (!p->text_left || p->failed)
		return NULL;
	p->at.line++;
	p->text += whole;
	p->text_left -= whole;
	while (len && (*from == ' ' || *from == '\t')) { /* no continuation lines */
		from++;
		len--;
	}
	if (memchr(from, 0, len) || len > LINE_MAX_BYTES || len + 2 > (size_t)room) {
		bad(p, memchr(from, 0, len) ? "a NUL byte: not a text file"
					    : "line longer than 198 bytes (lists may be "
					      "given in several lines)");
		return NULL;
	}
	memcpy(line, from, len);
	line[len] = '\n';
	line[len + 1] = 0;
	if (*line == '[')
		begin_section(p, line);
	return line;
}

static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct parse *p = arg;

	(void)section;
	return !p->failed && !take_key(p, name, value);
}

static int parse_text(struct parse *p, const char *name, const char *text, size_t len)
{
	struct rf_config *c = p->c;
	int line;

	if (c->files == RF_CONFIG_FILES_MAX) {
		snprintf(p->err, p->err_bytes, "%s: more than %u files", name,
			 RF_CONFIG_FILES_MAX);
		return -E2BIG;
	}
	snprintf(c->file[c->files], sizeof(c->file[0]), "%s", name);
	p->at = (struct rf_config_where){(uint16_t)c->files++, 0};
	p->text = text;
	p->text_left = len;
	p->section = IN_NONE;
	line = ini_parse_stream(next_line, p, on_key, p);
	if (!p->failed && line > 0) {
		p->at.line = (uint32_t)line;
		bad(p, "neither [section] nor KEY = VALUE");
	}
	return p->failed ? -EINVAL : line < 0 ? -ENOMEM : 0;
}

/* ---- files ---- */

#define FILE_MAX_BYTES (1u << 20)

static int parse_file(struct parse *p, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t len;
	int r = -ENOMEM;

	if (!f) {
		r = -errno;
		snprintf(p->err, p->err_bytes, "%s: cannot read: %s", path, strerror(errno));
		return r;
	}
	text = malloc(FILE_MAX_BYTES + 1);
	if (text) {
		len = fread(text, 1, FILE_MAX_BYTES + 1, f);
		r = ferror(f) ? -EIO : len > FILE_MAX_BYTES ? -E2BIG : 0;
		if (r < 0)
			snprintf(p->err, p->err_bytes, "%s: %s", path,
				 r == -EIO ? "cannot read" : "larger than 1 MiB");
		else
			r = parse_text(p, path, text, len);
	}
	free(text);
	fclose(f);
	return r;
}

static int is_dropin(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && !strcmp(e->d_name + n - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* not by locale */
}

static int parse_dropins(struct parse *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[RF_CONFIG_PATH_BYTES], file[2 * RF_CONFIG_PATH_BYTES];
	struct dirent **list;
	int n, r = 0;

	snprintf(dir, sizeof(dir), "%.*sconf.d", slash ? (int)(slash - path) + 1 : 0, path);
	n = scandir(dir, &list, is_dropin, by_name);
	if (n < 0 && errno == ENOENT)
		return 0;
	if (n < 0) {
		r = -errno;
		snprintf(p->err, p->err_bytes, "%s: cannot read: %s", dir, strerror(errno));
		return r;
	}
	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", dir, list[i]->d_name);
		if (!r && strlen(file) >= RF_CONFIG_PATH_BYTES) {
			snprintf(p->err, p->err_bytes, "%s/%s: name too long", dir,
				 list[i]->d_name);
			r = -E2BIG;
		}
		if (!r)
			r = parse_file(p, file);
		free(list[i]);
	}
	free(list);
	return r;
}

static void defaults(struct rf_config *c)
{
	memset(c, 0, sizeof(*c));
	c->port = RF_CONFIG_PORT;
	c->ttl = 1;
	c->hooks_timeout_ms = 30000;
	c->hooks_kill_ms = 5000;
	c->health_interval_ms = 10000;
	c->health_timeout_ms = 5000;
	c->log_level = 2; /* index into level_words: info */
	snprintf(c->hooks_dir, sizeof(c->hooks_dir), "/etc/ringfence/hooks.d");
	snprintf(c->key_file, sizeof(c->key_file), "/etc/ringfence/key");
}

static struct parse *parse_new(struct rf_config *c, rf_config_warn warn, void *arg, char *err,
			       size_t err_bytes)
{
	struct parse *p = calloc(1, sizeof(*p));

	defaults(c);
	if (!p) {
		snprintf(err, err_bytes, "no memory");
		return NULL;
	}
	*err = 0;
	p->c = c;
	p->warn = warn;
	p->warn_arg = arg;
	p->err = err;
	p->err_bytes = err_bytes;
	return p;
}

int rf_config_load(struct rf_config *c, const char *path, rf_config_warn warn, void *arg,
		   char *err, size_t err_bytes)
{
	struct parse *p = parse_new(c, warn, arg, err, err_bytes);
	int r = p ? 0 : -ENOMEM;

	if (!r && strlen(path) >= RF_CONFIG_PATH_BYTES - 8) {
		snprintf(err, err_bytes, "%s: name too long", path);
		r = -E2BIG;
	}
	if (!r)
		r = parse_file(p, path);
	if (!r)
		r = parse_dropins(p, path);
	if (!r)
		r = rf_parse_finish(p);
	free(p);
	return r;
}

int rf_config_parse(struct rf_config *c, const char *name, const char *text, size_t len,
		    rf_config_warn warn, void *arg, char *err, size_t err_bytes)
{
	struct parse *p = parse_new(c, warn, arg, err, err_bytes);
	int r = p ? parse_text(p, name, text, len) : -ENOMEM;

	if (!r)
		r = rf_parse_finish(p);
	free(p);
	return r;
}
