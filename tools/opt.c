/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options: one table line makes parser and --help, so they cannot disagree. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define OPTS_MAX 48
#define OPT_FIRST 256 /* getopt values of the table, above any character */

static bool help_wanted, version_wanted;

static const struct opt global_opts[] = {
	{"socket", "PATH", "control socket of the daemon", OPT_TEXT, &tool.socket, NULL},
	{"json", NULL, "JSON instead of text", OPT_FLAG, &tool.json, NULL},
	{"color", "WHEN", "auto, always or never", OPT_TEXT, &tool.color, NULL},
	{"quiet", NULL, "(-q) no notes on stderr", OPT_FLAG, &tool.quiet, NULL},
	{"verbose", NULL, "(-v) more notes on stderr", OPT_FLAG, &tool.verbose, NULL},
	{"help", NULL, "(-h) this text", OPT_FLAG, &help_wanted, NULL},
	{"version", NULL, "(-V) version of the tool", OPT_FLAG, &version_wanted, NULL},
	{0},
};

bool parse_u64(const char *text, int base, uint64_t *value)
{
	char *end;

	if (!*text || strchr(text, '-') || strchr(text, ' '))
		return false;
	errno = 0;
	*value = strtoull(text, &end, base);
	return !errno && !*end;
}

static bool unit_ms(const char *unit, bool bare_seconds, uint64_t *factor)
{
	static const struct {
		const char *name;
		uint32_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}};
	size_t i;

	if (!*unit) {
		*factor = 1000;
		return bare_seconds;
	}
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name)) {
			*factor = units[i].ms;
			return true;
		}
	return false;
}

bool parse_ms(const char *text, bool bare_seconds, uint32_t *ms)
{
	uint64_t factor;
	double value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	/* digits and a point only: no 0x10, no 1e3 */
	if (end != text + strspn(text, "0123456789."))
		return false;
	if (!unit_ms(end, bare_seconds, &factor))
		return false;
	value *= (double)factor;
	if (!(value <= 86400000.0))
		return false;
	*ms = (uint32_t)(value + 0.5);
	return true;
}

static bool list_add(struct opt_list *list, const char *text)
{
	if (list->count == RF_VOLUMES_MAX)
		return false;
	list->item[list->count++] = text;
	return true;
}

static bool u32_store(uint32_t *to, const char *text)
{
	uint64_t v;

	if (!parse_u64(text, 10, &v) || v > UINT32_MAX)
		return false;
	*to = (uint32_t)v;
	return true;
}

static bool opt_store(const struct opt *o, const char *text)
{
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		return true;
	case OPT_TEXT:
		*(const char **)o->to = text;
		return true;
	case OPT_LIST:
		return list_add(o->to, text);
	case OPT_U32:
		return u32_store(o->to, text);
	case OPT_U64:
		return parse_u64(text, 0, o->to);
	case OPT_HEX64:
		return parse_u64(text, 16, o->to);
	case OPT_MS:
		return parse_ms(text, false, o->to);
	case OPT_SEC:
		return parse_ms(text, true, o->to);
	}
	return false;
}

static const char *opt_wants(enum opt_kind kind)
{
	switch (kind) {
	case OPT_MS:
		return "a duration with its unit, as 100ms, 1.5s or 2min";
	case OPT_SEC:
		return "a duration: seconds, or with a unit as 500ms or 2min";
	case OPT_HEX64:
		return "a hexadecimal number of 64 bits";
	case OPT_LIST:
		return "no more than 256 of them";
	default:
		return "a number without sign";
	}
}

/* ---- help ---- */

static void opts_print(const struct opt *o)
{
	char left[64];

	for (; o && o->name; o++) {
		snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
}

static void command_help(const struct command *c)
{
	printf("Usage: ringfence [GLOBAL OPTION...] %s%s%s%s\n\n%s\n", c->name,
	       c->opts ? " [OPTION...]" : "", *c->args ? " " : "", c->args, c->brief);
	if (c->opts) {
		puts("\nOptions:");
		opts_print(c->opts);
	}
	puts("\nGlobal options:");
	opts_print(global_opts);
}

/* ---- parsing ---- */

struct opt_set {
	const struct opt *opt[OPTS_MAX];
	struct option longs[OPTS_MAX + 1];
	unsigned count;
};

static void set_add(struct opt_set *s, const struct opt *o)
{
	for (; o && o->name && s->count < OPTS_MAX; o++, s->count++) {
		s->opt[s->count] = o;
		s->longs[s->count] =
			(struct option){o->name, o->arg ? required_argument : no_argument, NULL,
					OPT_FIRST + (int)s->count};
	}
}

static int short_opt(const struct opt_set *s, int c)
{
	unsigned i;

	switch (c) {
	case 'q':
		tool.quiet = true;
		return -1;
	case 'v':
		tool.verbose = true;
		return -1;
	case 'h':
		help_wanted = true;
		return -1;
	case 'V':
		version_wanted = true;
		return -1;
	case 'w':
		for (i = 0; i < s->count; i++)
			if (!strcmp(s->opt[i]->name, "watch"))
				return opt_store(s->opt[i], NULL) ? -1 : RF_EXIT_USAGE;
		return fail(RF_EXIT_USAGE, "no option -w here: see --help");
	default:
		return RF_EXIT_USAGE;
	}
}

static int set_take(const struct opt_set *s, int c, const char *value)
{
	const struct opt *o;

	if (c < OPT_FIRST)
		return short_opt(s, c);
	o = s->opt[c - OPT_FIRST];
	if (!opt_store(o, value))
		return fail(RF_EXIT_BAD_VALUE, "--%s %s: wants %s", o->name, value,
			    opt_wants(o->kind));
	if (o->seen)
		*o->seen = true;
	return -1;
}

static int color_check(void)
{
	if (!strcmp(tool.color, "auto") || !strcmp(tool.color, "always") ||
	    !strcmp(tool.color, "never"))
		return -1;
	return fail(RF_EXIT_BAD_VALUE, "--color %s: wants auto, always or never", tool.color);
}

static int set_parse(const struct opt_set *s, const char *shorts, int argc, char **argv)
{
	char name[40], *first = argv[0];
	int c, rc = -1;

	/* it begins its complaints with this */
	snprintf(name, sizeof(name), "ringfence%s%s", tool.command ? " " : "",
		 tool.command ? tool.command : "");
	argv[0] = name;
	optind = 0;
	opterr = 1;
	while (rc < 0 && (c = getopt_long(argc, argv, shorts, s->longs, NULL)) != -1)
		rc = set_take(s, c, optarg);
	argv[0] = first;
	return rc >= 0 ? rc : color_check();
}

static int version_print(void)
{
	printf("ringfence %s (format %u)\n", RF_VERSION, RF_FORMAT_VERSION);
	return 0;
}

int opt_parse_global(int *argc, char ***argv, void (*usage)(void))
{
	struct opt_set s = {.count = 0};
	int rc;

	set_add(&s, global_opts);
	rc = set_parse(&s, "+qvhV", *argc, *argv);
	if (rc >= 0)
		return rc;
	if (version_wanted)
		return version_print();
	if (help_wanted) {
		usage();
		puts("\nGlobal options:");
		opts_print(global_opts);
		return 0;
	}
	*argc -= optind;
	*argv += optind;
	return -1;
}

int opt_parse(const struct command *c, int *argc, char ***argv)
{
	struct opt_set s = {.count = 0};
	int rc;

	set_add(&s, c->opts);
	set_add(&s, global_opts);
	rc = set_parse(&s, "qvwhV", *argc, *argv);
	if (rc >= 0)
		return rc;
	if (version_wanted)
		return version_print();
	if (help_wanted) {
		command_help(c);
		return 0;
	}
	*argc -= optind;
	*argv += optind;
	if ((unsigned)*argc < c->min_args || (unsigned)*argc > c->max_args)
		return fail(RF_EXIT_USAGE, "usage: ringfence %s%s %s", c->name,
			    c->opts ? " [OPTION...]" : "", c->args);
	return -1;
}
