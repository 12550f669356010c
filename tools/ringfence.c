/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence: one tool for disks (no daemon needed) and for the cluster. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/assert.h"
#include "tool.h"

struct tool tool = {.socket = RF_CTL_PATH, .color = "auto"};

static const struct command *const commands[] = {
#define X(name) &cmd_##name,
	COMMANDS(X)
#undef X
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "ringfence%s%s: ", tool.command ? " " : "",
		tool.command ? tool.command : "");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int fail(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return code;
}

void note(const char *fmt, ...)
{
	va_list ap;

	if (tool.quiet)
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void chat(const char *fmt, ...)
{
	va_list ap;

	if (!tool.verbose || tool.quiet)
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

/* The codec's assertions end here: a bug of this tool, never bad input. */
void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "ringfence: bug: %s at %s:%d\n", what, file, line);
	abort();
}

static void usage(void)
{
	size_t i;

	puts("Usage: ringfence [GLOBAL OPTION...] COMMAND [OPTION...] "
	     "[ARGUMENT...]\n\nCommands:");
	for (i = 0; i < COMMAND_COUNT; i++)
		printf("  %-14s %s\n", commands[i]->name, commands[i]->brief);
	puts("\n`ringfence COMMAND --help` explains one. Exit codes: see ringfence(8).");
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* A full disk or a closed pipe must not look like success. */
static int finish(int rc)
{
	if (fflush(stdout) || ferror(stdout))
		return rc ? rc : fail(RF_EXIT_IO, "output could not be written: %m");
	return rc;
}

int main(int argc, char **argv)
{
	const struct command *c;
	int rc = opt_parse_global(&argc, &argv, usage);

	if (rc >= 0)
		return finish(rc);
	if (!argc) {
		usage();
		return RF_EXIT_USAGE;
	}
	c = find(argv[0]);
	if (!c)
		return fail(RF_EXIT_USAGE, "no command '%s': `ringfence --help` lists them",
			    argv[0]);
	tool.command = c->name;
	rc = opt_parse(c, &argc, &argv);
	if (rc < 0)
		rc = c->run(argc, argv);
	return finish(rc);
}
