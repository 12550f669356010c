/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-gap: how long nobody could write, from the writers' logs.
 *
 *   rf-gap --after NS LOG...   the first write of a newer epoch accepted after
 *                              that moment of the boot clock: epoch=E node=N
 *                              ms=X. Exit 1: there is none yet.
 *   rf-gap --newer EPOCH LOG...  the same, of an epoch newer than that: where clocks
 *                              differ. No ms.
 *   rf-gap --newest LOG...     the newest epoch that wrote, 0 if none did.
 *   rf-gap --changes LOG...    one line for each epoch that wrote after another.
 *   rf-gap --last LOG...       boot clock at the end of the last accepted write.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stamp.h"

#define EPOCHS_MAX 4096u

struct span { /* accepted writes of one epoch, by their ends */
	uint64_t first_ns, last_ns;
	uint32_t node;
};

static struct span span[EPOCHS_MAX];
static uint64_t after_ns;
static uint64_t before_epoch; /* newest epoch that wrote until after_ns */

static void take(const struct entry *e)
{
	struct span *s;

	if (e->outcome != WROTE || e->epoch >= EPOCHS_MAX)
		return;
	s = &span[e->epoch];
	if (!s->first_ns || e->ended_ns < s->first_ns)
		s->first_ns = e->ended_ns;
	if (e->ended_ns > s->last_ns)
		s->last_ns = e->ended_ns;
	s->node = e->node;
	if (after_ns && e->ended_ns <= after_ns && e->epoch > before_epoch)
		before_epoch = e->epoch;
}

static void load(const char *path)
{
	struct entry e;
	FILE *f = fopen(path, "re");

	if (!f && errno == ENOENT)
		return; /* a writer that never wrote */
	if (!f) {
		fprintf(stderr, "rf-gap: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	while (fread(&e, sizeof(e), 1, f) == 1)
		take(&e);
	fclose(f);
}

static int print_after(void)
{
	for (uint64_t i = before_epoch + 1; i < EPOCHS_MAX; i++) {
		if (!span[i].first_ns)
			continue;
		printf("epoch=%" PRIu64 " node=%u", i, span[i].node);
		if (after_ns)
			printf(" ms=%.1f", (double)(span[i].first_ns - after_ns) / 1e6);
		puts("");
		return 0;
	}
	return 1;
}

static int print_changes(void)
{
	uint64_t prev = 0;

	for (uint64_t i = 1; i < EPOCHS_MAX; i++) {
		if (!span[i].first_ns)
			continue;
		if (prev)
			printf("epoch=%" PRIu64 " node=%u prev_epoch=%" PRIu64
			       " prev_node=%u ms=%.1f\n",
			       i, span[i].node, prev, span[prev].node,
			       ((double)span[i].first_ns - (double)span[prev].last_ns) / 1e6);
		prev = i;
	}
	return 0;
}

static int print_last(void)
{
	uint64_t last = 0;

	for (uint64_t i = 1; i < EPOCHS_MAX; i++)
		if (span[i].last_ns > last)
			last = span[i].last_ns;
	printf("%" PRIu64 "\n", last);
	return last == 0;
}

static int print_newest(void)
{
	uint64_t i = EPOCHS_MAX - 1;

	while (i && !span[i].first_ns)
		i--;
	printf("%" PRIu64 "\n", i);
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	bool after = argc > 3 && !strcmp(verb, "--after");
	bool newer = argc > 3 && !strcmp(verb, "--newer");
	int first = after || newer ? 3 : 2;

	if (after)
		after_ns = strtoull(argv[2], NULL, 10);
	if (newer)
		before_epoch = strtoull(argv[2], NULL, 10);
	for (int i = first; i < argc; i++)
		load(argv[i]);
	if (after || newer)
		return print_after();
	if (argc > 2 && !strcmp(verb, "--newest"))
		return print_newest();
	if (argc > 2 && !strcmp(verb, "--changes"))
		return print_changes();
	if (argc > 2 && !strcmp(verb, "--last"))
		return print_last();
	fprintf(stderr, "usage: rf-gap --after NS | --newer EPOCH | --newest | --changes | "
			"--last LOG...\n");
	return 64;
}
