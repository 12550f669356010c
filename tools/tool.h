/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every subcommand shares: the table entry, options, messages.
 *
 * A command returns its exit code (RF_EXIT_* of ringfence/control.h). Results
 * go to stdout, everything else to stderr, so that output can be piped.
 */
#ifndef RF_TOOLS_TOOL_H
#define RF_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/control.h"

enum opt_kind {
	OPT_FLAG,  /* bool */
	OPT_TEXT,  /* const char * */
	OPT_LIST,  /* struct opt_list: may be repeated */
	OPT_U32,   /* uint32_t */
	OPT_U64,   /* uint64_t, decimal or 0x */
	OPT_HEX64, /* uint64_t, hexadecimal */
	OPT_MS,    /* uint32_t milliseconds, a unit is required */
	OPT_SEC,   /* uint32_t milliseconds, a bare number is seconds */
};

struct opt_list {
	unsigned count;
	const char *item[RF_VOLUMES_MAX];
};

/* One option: the same line makes the parser and --help. */
struct opt {
	const char *name;
	const char *arg; /* NULL for a flag */
	const char *help;
	enum opt_kind kind;
	void *to;
	bool *seen; /* set when given; may be NULL */
};

struct command {
	const char *name;
	const char *args;  /* what follows the options, for --help */
	const char *brief; /* one line in the list of commands */
	const struct opt *opts;
	unsigned min_args, max_args;
	int (*run)(int argc, char **argv); /* what is left after the options */
};

struct tool {
	const char *command;
	const char *socket;
	const char *color; /* auto, always, never */
	bool json;
	bool quiet, verbose;
};
extern struct tool tool;

/* Message on stderr, prefixed with the command. Returns code. */
__attribute__((format(printf, 2, 3))) int fail(int code, const char *fmt, ...);
/* The same without ending anything; nothing with -q. */
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);
/* Only with -v. */
__attribute__((format(printf, 1, 2))) void chat(const char *fmt, ...);

/*
 * Parse argv[0] = command name and its options, global ones included. Leaves
 * the arguments in *argc and *argv. -1 = go on, else the exit code (--help: 0).
 */
int opt_parse(const struct command *c, int *argc, char ***argv);
/* The global options, in front of the command. Same return; stops at it. */
int opt_parse_global(int *argc, char ***argv, void (*usage)(void));

/* Duration with unit ms, s, m(in) or h into ms. false: not one, or > 1 day. */
bool parse_ms(const char *text, bool bare_seconds, uint32_t *ms);
bool parse_u64(const char *text, int base, uint64_t *value);

#define COMMANDS(X)       \
	X(format)         \
	X(probe)          \
	X(dump)           \
	X(verify)         \
	X(slots)          \
	X(history)        \
	X(watch)          \
	X(timeline)       \
	X(image)          \
	X(repair)         \
	X(wipe)           \
	X(timing)         \
	X(tune)           \
	X(keygen)         \
	X(reload)         \
	X(status)         \
	X(nodes)          \
	X(leader)         \
	X(is_leader)      \
	X(wait)           \
	X(events)         \
	X(metrics)        \
	X(resign)         \
	X(handover)       \
	X(pause)          \
	X(resume)         \
	X(run)            \
	X(attach)         \
	X(detach)         \
	X(fence)          \
	X(unfence)        \
	X(confirm_fenced) \
	X(doctor)         \
	X(state)          \
	X(work)           \
	X(nbd_name)

#define X(name) extern const struct command cmd_##name;
COMMANDS(X)
#undef X

#endif
