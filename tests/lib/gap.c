/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-gap: how long nobody could write, from the writers' logs.
 *
 *   rf-gap --after NS LOG...   the first write of a newer epoch accepted after
 *                              that moment of the boot clock: epoch=E node=N
 *                              ms=X. Exit 1: there is none yet.
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
	if (e->ended_ns <= after_ns && e->epoch > before_epoch)
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
		printf("epoch=%" PRIu64 " node=%u ms=%.1f\n", i, span[i].node,
		       (double)(span[i].first_ns - after_ns) / 1e6);
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

int main(int argc, char **argv)
{
	bool after = argc > 3 && !strcmp(argv[1], "--after");
	bool changes = argc > 2 && !strcmp(argv[1], "--changes");

	if (!after && !changes && !(argc > 2 && !strcmp(argv[1], "--last"))) {
		fprintf(stderr,
			"usage: rf-gap --after NS LOG... | --changes LOG... | --last LOG...\n");
		return 64;
	}
	if (after)
		after_ns = strtoull(argv[2], NULL, 10);
	for (int i = after ? 3 : 2; i < argc; i++)
		load(argv[i]);
	return after ? print_after() : changes ? print_changes() : print_last();
}
