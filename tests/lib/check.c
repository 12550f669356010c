/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-check: reads the volume back and the writers' logs, and proves from them
 *
 *   1. no refused write is on the disk,
 *   2. every acknowledged write is there, or one that came later over it,
 *   3. no write was accepted that was begun after a newer epoch's first
 *      acknowledged write had ended,
 *   4. whatever is on the disk was written by somebody, whole,
 *   5. all writes of an epoch are of one node.
 *
 *   rf-check --device PATH --offset BYTES --blocks N [--svg FILE]
 *            [--medium LOG [--mark TEXT]] LOG...
 *
 * With --medium, all of it from what reached the medium, in its order (medium.h), and
 * without any clock: epochs never go back there, no refused write ever was there, every
 * acknowledged one was. From the last block on that begins with TEXT.
 *
 * Prints counts as key=value; exit 0 when all five hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "medium.h"
#include "stamp.h"

#define EPOCHS_MAX 4096u

static struct {
	const char *device, *svg, *medium, *mark;
	uint64_t offset, blocks;
	struct entry *entry;
	size_t count;
	bool *seen;           /* on the medium */
	uint64_t newest;      /* epoch there */
	uint64_t write, from; /* writes to it: which one this is, the first that counts */
	uint64_t wrote, refused, unknown, turned_away, landed, lost, corrupt, split;
	uint64_t first_ns[EPOCHS_MAX]; /* first acknowledged write of an epoch, its end */
} c;

static void die(const char *what)
{
	fprintf(stderr, "rf-check: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		die(path);
	n = (size_t)st.st_size / sizeof(struct entry);
	c.entry = realloc(c.entry, (c.count + n + 1) * sizeof(struct entry));
	if (!c.entry || read(fd, c.entry + c.count, n * sizeof(struct entry)) < 0)
		die(path);
	c.count += n;
	close(fd);
}

/* Each node counts its writes of an epoch for itself. */
static int by_key(const struct entry *a, const struct entry *b)
{
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return 0;
}

static int by_write(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int r = by_key(a, b);

	return r ? r : (b->ended_ns != 0) - (a->ended_ns != 0); /* with outcome first */
}

/* One entry a write: its outcome if there is one, else unknown. */
static void settle(void)
{
	size_t kept = 0;

	qsort(c.entry, c.count, sizeof(*c.entry), by_write);
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entry[i];
		const struct entry *last = kept ? &c.entry[kept - 1] : NULL;

		if (e->outcome == TURNED_AWAY) {
			c.turned_away++;
			continue;
		}
		if (last && !by_key(last, e))
			continue;
		c.wrote += e->outcome == WROTE;
		c.refused += e->outcome == REFUSED;
		c.unknown += e->outcome == UNKNOWN;
		c.entry[kept++] = *e;
	}
	c.count = kept;
}

static const struct entry *find(const struct stamp *s)
{
	struct entry key = {.epoch = s->epoch, .node = s->node, .seq = s->seq};
	size_t low = 0, high = c.count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int r = by_key(&c.entry[mid], &key);

		if (!r)
			return &c.entry[mid];
		if (r < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* 5. An epoch belongs to one node: two that write in it, and be it refused, are a split
 * brain which no order of epochs shows. */
static void check_owners(void)
{
	for (size_t i = 1; i < c.count; i++) {
		const struct entry *a = &c.entry[i - 1], *b = &c.entry[i];

		if (a->epoch != b->epoch || a->node == b->node)
			continue;
		c.split++;
		printf("split: node=%u and node=%u both wrote in epoch=%" PRIu64 "\n", a->node,
		       b->node, a->epoch);
	}
}

/* 3. Nothing of an old epoch was accepted after a newer one had been written. */
static void check_order(void)
{
	uint64_t newer_ns = UINT64_MAX;
	size_t i = c.count;

	for (size_t k = 0; k < c.count; k++) {
		const struct entry *e = &c.entry[k];

		if (e->epoch >= EPOCHS_MAX || e->outcome != WROTE)
			continue;
		if (!c.first_ns[e->epoch] || e->ended_ns < c.first_ns[e->epoch])
			c.first_ns[e->epoch] = e->ended_ns;
	}
	while (i-- > 0) { /* from the newest epoch down */
		const struct entry *e = &c.entry[i];

		if (i + 1 < c.count && c.entry[i + 1].epoch != e->epoch) {
			uint64_t first = c.entry[i + 1].epoch < EPOCHS_MAX
						 ? c.first_ns[c.entry[i + 1].epoch]
						 : 0;

			if (first && first < newer_ns)
				newer_ns = first;
		}
		if (e->outcome == WROTE && e->begun_ns > newer_ns) {
			c.landed++;
			printf("stale: node=%u epoch=%" PRIu64 " seq=%" PRIu64
			       " accepted %.3f ms after a newer epoch wrote\n",
			       e->node, e->epoch, e->seq,
			       (double)(e->begun_ns - newer_ns) / 1e6);
		}
	}
}

/* ---- the medium's own order ---- */

static void on_medium(const struct stamp *s)
{
	const struct entry *e = find(s);

	if (!e || e->offset != s->offset) {
		c.corrupt++;
		printf("unknown: epoch=%" PRIu64 " seq=%" PRIu64 " is in no log\n", s->epoch,
		       s->seq);
		return;
	}
	c.seen[e - c.entry] = true;
	if (e->outcome == REFUSED || s->epoch < c.newest) {
		c.landed++;
		printf("%s: node=%u epoch=%" PRIu64 " seq=%" PRIu64
		       " reached the medium, where epoch %" PRIu64 " had been\n",
		       e->outcome == REFUSED ? "landed" : "stale", s->node, s->epoch, s->seq,
		       c.newest);
	}
	c.newest = s->epoch > c.newest ? s->epoch : c.newest;
}

/* Finds the last mark. */
static void look_for_mark(uint64_t offset, const uint8_t *data, size_t bytes)
{
	(void)offset;
	c.write++;
	if (bytes >= BLOCK_BYTES && !strncmp((const char *)data, c.mark, strlen(c.mark)))
		c.from = c.write;
}

static void reached(uint64_t offset, const uint8_t *data, size_t bytes)
{
	uint64_t end = c.offset + c.blocks * BLOCK_BYTES;

	if (c.write++ < c.from)
		return;
	for (; bytes >= BLOCK_BYTES; offset += BLOCK_BYTES, data += BLOCK_BYTES) {
		struct stamp s;

		bytes -= BLOCK_BYTES;
		memcpy(&s, data, sizeof(s));
		if (offset >= c.offset && offset < end && s.magic == STAMP_MAGIC &&
		    s.crc == stamp_crc(&s) && s.offset == offset - c.offset)
			on_medium(&s);
	}
}

static void check_medium(void)
{
	c.seen = calloc(c.count + 1, sizeof(*c.seen));
	if (!c.seen || (c.mark && medium_replay(c.medium, look_for_mark) != 0))
		die(c.medium);
	c.write = 0;
	if (medium_replay(c.medium, reached) != 0)
		die(c.medium);
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entry[i];

		if (e->outcome != WROTE || c.seen[i])
			continue;
		c.lost++;
		printf("lost: node=%u epoch=%" PRIu64 " seq=%" PRIu64
		       " was acknowledged and never reached the medium\n",
		       e->node, e->epoch, e->seq);
	}
	free(c.seen);
}

static bool newer(const struct entry *a, const struct entry *b)
{
	return a->epoch > b->epoch || (a->epoch == b->epoch && a->seq > b->seq);
}

/* 1, 2, 4: one block of the volume against what should be there at least. */
static void check_block(uint64_t offset, const struct stamp *s, const struct entry *must)
{
	const struct entry *e;

	if (s->magic != STAMP_MAGIC || s->crc != stamp_crc(s) || s->offset != offset) {
		if (must) {
			c.corrupt++;
			printf("corrupt: offset=%" PRIu64 " holds no whole stamp\n", offset);
		}
		return;
	}
	e = find(s);
	if (!e || e->offset != offset) {
		c.corrupt++;
		printf("unknown: offset=%" PRIu64 " epoch=%" PRIu64 " seq=%" PRIu64
		       " is in no log\n",
		       offset, s->epoch, s->seq);
		return;
	}
	if (e->outcome == REFUSED) {
		c.landed++;
		printf("landed: offset=%" PRIu64 " node=%u epoch=%" PRIu64 " seq=%" PRIu64
		       " was refused\n",
		       offset, s->node, s->epoch, s->seq);
	}
	if (must && newer(must, e)) {
		c.lost++;
		printf("lost: offset=%" PRIu64 " epoch=%" PRIu64 " seq=%" PRIu64
		       " was acknowledged, epoch=%" PRIu64 " seq=%" PRIu64 " stands there\n",
		       offset, must->epoch, must->seq, e->epoch, e->seq);
	}
}

static void check_blocks(void)
{
	const struct entry **must = calloc(c.blocks, sizeof(*must));
	uint8_t *block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	int fd = open(c.device, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !must || !block)
		die(c.device);
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entry[i];
		uint64_t b = e->offset / BLOCK_BYTES;

		if (e->outcome == WROTE && b < c.blocks && (!must[b] || newer(e, must[b])))
			must[b] = e;
	}
	for (uint64_t b = 0; b < c.blocks; b++) {
		if (pread(fd, block, BLOCK_BYTES, (off_t)(c.offset + b * BLOCK_BYTES)) !=
		    (ssize_t)BLOCK_BYTES)
			die(c.device);
		check_block(b * BLOCK_BYTES, (struct stamp *)block, must[b]);
	}
	free(must);
	free(block);
	close(fd);
}

/* ---- who wrote when, as a picture ---- */

#define LEFT 70
#define WIDTH 900
#define ROW 34

static double x_of(uint64_t ns, uint64_t from, uint64_t to)
{
	return LEFT + (double)(ns - from) * WIDTH / (double)(to - from + 1);
}

static void bar(FILE *f, const struct entry *first, const struct entry *last, uint64_t from,
		uint64_t to)
{
	static const char *const colour[] = {"#4c78a8", "#f58518", "#54a24b",
					     "#b279a2", "#e45756", "#72b7b2"};
	double x = x_of(first->begun_ns, from, to), end = x_of(last->ended_ns, from, to);

	fprintf(f,
		"<rect x='%.1f' y='%u' width='%.1f' height='20' fill='%s'/>"
		"<text x='%.1f' y='%u' fill='#fff' font-size='11'>%" PRIu64 "</text>\n",
		x, 30 + (first->node - 1) * ROW, end - x < 1.5 ? 1.5 : end - x,
		colour[first->epoch % 6], x + 4, 44 + (first->node - 1) * ROW, first->epoch);
}

static void draw_refused(FILE *f, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entry[i];

		if (e->outcome == REFUSED)
			fprintf(f,
				"<line x1='%.1f' x2='%.1f' y1='%u' y2='%u' stroke='#c00' "
				"stroke-width='1'/>\n",
				x_of(e->begun_ns, from, to), x_of(e->begun_ns, from, to),
				26 + (e->node - 1) * ROW, 54 + (e->node - 1) * ROW);
	}
}

static void draw_bars(FILE *f, uint64_t from, uint64_t to)
{
	const struct entry *first = NULL, *last = NULL;

	for (size_t i = 0; i < c.count; i++) {
		const struct entry *e = &c.entry[i];

		if (e->outcome != WROTE)
			continue;
		if (first && (first->epoch != e->epoch || first->node != e->node)) {
			bar(f, first, last, from, to);
			first = NULL;
		}
		if (!first)
			first = e;
		last = e;
	}
	if (first)
		bar(f, first, last, from, to);
}

static void draw(void)
{
	FILE *f = fopen(c.svg, "w");
	uint64_t from = UINT64_MAX, to = 0;
	uint32_t nodes = 1, height;

	if (!f)
		die(c.svg);
	for (size_t i = 0; i < c.count; i++) {
		if (c.entry[i].begun_ns < from)
			from = c.entry[i].begun_ns;
		if (c.entry[i].ended_ns > to)
			to = c.entry[i].ended_ns;
		if (c.entry[i].node > nodes)
			nodes = c.entry[i].node;
	}
	height = 30 + nodes * ROW + 40;
	fprintf(f,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' "
		"font-family='sans-serif'>\n<rect width='100%%' height='100%%' fill='#fff'/>\n"
		"<text x='%u' y='18' font-size='13'>Who wrote when: bars are accepted writes, "
		"with their epoch; red marks are refused ones</text>\n",
		LEFT + WIDTH + 50, height, LEFT);
	for (uint32_t n = 1; n <= nodes; n++)
		fprintf(f,
			"<text x='8' y='%u' font-size='13'>node %u</text>"
			"<line x1='%u' x2='%u' y1='%u' y2='%u' stroke='#ddd'/>\n",
			45 + (n - 1) * ROW, n, LEFT, LEFT + WIDTH, 40 + (n - 1) * ROW,
			40 + (n - 1) * ROW);
	draw_bars(f, from, to);
	draw_refused(f, from, to);
	for (uint32_t s = 0; to > from && s <= 5; s++)
		fprintf(f, "<text x='%u' y='%u' font-size='11' fill='#555'>%.1f s</text>\n",
			LEFT + s * WIDTH / 5, height - 14, (double)(to - from) / 5e9 * s);
	fputs("</svg>\n", f);
	if (fclose(f) != 0)
		die(c.svg);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", 1, NULL, 'd'}, {"offset", 1, NULL, 'o'}, {"blocks", 1, NULL, 'b'},
		{"svg", 1, NULL, 's'},    {"medium", 1, NULL, 'm'}, {"mark", 1, NULL, 'M'},
		{NULL, 0, NULL, 0}};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'd':
			c.device = optarg;
			break;
		case 'o':
			c.offset = strtoull(optarg, NULL, 10);
			break;
		case 'b':
			c.blocks = strtoull(optarg, NULL, 10);
			break;
		case 's':
			c.svg = optarg;
			break;
		case 'm':
			c.medium = optarg;
			break;
		case 'M':
			c.mark = optarg;
			break;
		default:
			exit(64);
		}
	}
	if (!c.device || !c.blocks || optind == argc) {
		fprintf(stderr, "rf-check --device PATH --offset BYTES --blocks N [--svg FILE] "
				"[--medium LOG [--mark TEXT]] LOG...\n");
		exit(64);
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	for (int i = optind; i < argc; i++)
		load(argv[i]);
	settle();
	check_owners();
	if (c.medium)
		check_medium();
	else
		check_order();
	check_blocks();
	if (c.svg)
		draw();
	printf("acknowledged=%" PRIu64 " refused=%" PRIu64 " turned_away=%" PRIu64
	       " unknown=%" PRIu64 " stale_landed=%" PRIu64 " acknowledged_lost=%" PRIu64
	       " corrupt=%" PRIu64 " split=%" PRIu64 "\n",
	       c.wrote, c.refused, c.turned_away, c.unknown, c.landed, c.lost, c.corrupt,
	       c.split);
	return c.landed || c.lost || c.corrupt || c.split || !c.wrote;
}
