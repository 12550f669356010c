/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the area, and making one set of several disks.
 *
 * At the start its superblock is in stride 0; at the end the copy is the last
 * stride of the device, whatever the stride (4 KiB to 64 KiB). When neither is
 * readable, both ends are searched for any superblock: the copy of an area in
 * the head lies where only the lost superblock could tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "tool.h"

#define SEARCH_BYTES (64ull << 20) /* at each end of the device */

static void damaged(struct disk *d, enum rf_record_verdict v, uint64_t at)
{
	if (d->found != FOUND_NOTHING)
		return;
	d->found = FOUND_DAMAGED;
	d->verdict = v;
	d->verdict_at_bytes = at;
}

static bool looks_like_super(const void *raw)
{
	const struct rf_disk_header *h = raw;

	return rf_get32(h->magic) == RF_DISK_MAGIC && rf_get16(h->kind) == RF_KIND_SUPERBLOCK;
}

/* A readable superblock at `at` tells where stride 0 is. Reading what it says
 * about its part and geometry only; the device may have grown or been copied. */
static bool accept_super(struct disk *d, const void *raw, uint64_t at)
{
	uint32_t part = rf_get32(((const struct rf_disk_header *)raw)->part);
	struct rf_super s;
	enum rf_record_verdict v;

	if (!looks_like_super(raw))
		return false;
	v = rf_super_decode(raw, &s);
	if (v == RF_RECORD_OK && part && rf_geo_copy(&s) > at)
		v = RF_RECORD_MISPLACED;
	if (v != RF_RECORD_OK) {
		damaged(d, v, at);
		return false;
	}
	d->super = s;
	d->base_bytes = part ? at - rf_geo_copy(&s) : at;
	d->found = part ? FOUND_COPY : FOUND_GOOD;
	return true;
}

static int try_at(struct disk *d, void *buf, uint64_t at, bool *found)
{
	int rc;

	if (at + RF_RECORD_BYTES > d->size_bytes)
		return 0;
	rc = disk_read(d, buf, RF_RECORD_BYTES, at);
	*found = !rc && accept_super(d, buf, at);
	return rc;
}

static int try_end(struct disk *d, void *buf, bool *found)
{
	uint32_t stride;
	int rc = 0;

	for (stride = RF_STRIDE_MIN; stride <= RF_STRIDE_MAX && !rc && !*found; stride *= 2)
		if (d->size_bytes >= 2 * stride)
			rc = try_at(d, buf, d->size_bytes / stride * stride - stride, found);
	return rc;
}

static bool search_chunk(struct disk *d, const char *chunk, size_t bytes, uint64_t at)
{
	size_t i;

	for (i = 0; i + RF_RECORD_BYTES <= bytes; i += RF_STRIDE_MIN)
		if (accept_super(d, chunk + i, at + i))
			return true;
	return false;
}

static int search(struct disk *d, uint64_t from, uint64_t to, bool *found)
{
	char *chunk = disk_buffer(DISK_READ_MAX);
	uint64_t at;
	int rc = 0;

	for (at = from; at < to && !rc && !*found; at += DISK_READ_MAX) {
		size_t bytes = to - at < DISK_READ_MAX ? to - at : DISK_READ_MAX;

		bytes -= bytes % RF_RECORD_BYTES;
		if (!bytes)
			break;
		rc = disk_read(d, chunk, bytes, at);
		if (!rc)
			*found = search_chunk(d, chunk, bytes, at);
	}
	free(chunk);
	return rc;
}

static int search_ends(struct disk *d, bool *found)
{
	uint64_t size = d->size_bytes, tail = 0;
	int rc = search(d, 0, size < SEARCH_BYTES ? size : SEARCH_BYTES, found);

	if (rc || *found || size <= SEARCH_BYTES)
		return rc;
	if (size > 2 * SEARCH_BYTES)
		tail = size - SEARCH_BYTES;
	else
		tail = SEARCH_BYTES;
	return search(d, tail / RF_STRIDE_MAX * RF_STRIDE_MAX, size, found);
}

/* Only the copy was found at first: is the superblock itself good too? */
static void confirm_start(struct disk *d, void *buf)
{
	struct rf_super s;

	if (d->found != FOUND_COPY || disk_read(d, buf, RF_RECORD_BYTES, d->base_bytes) ||
	    !looks_like_super(buf) || rf_super_decode(buf, &s) != RF_RECORD_OK ||
	    memcmp(s.id.area, d->super.id.area, RF_UUID_BYTES))
		return;
	d->super = s;
	d->found = FOUND_GOOD;
}

int disk_locate(struct disk *d, bool deep)
{
	void *buf = disk_buffer(RF_STRIDE_MIN);
	bool found = false;
	int rc = try_at(d, buf, 0, &found);

	if (!rc && !found)
		rc = try_end(d, buf, &found);
	if (!rc && !found && deep)
		rc = search_ends(d, &found);
	if (!rc)
		confirm_start(d, buf);
	free(buf);
	if (rc)
		return fail(RF_EXIT_IO, "%s: read error while looking for the quorum area: %s",
			    d->path, strerror(-rc));
	return 0;
}

/* ---- sets ---- */

bool disk_same_area(const struct disk_set *set, const struct disk *d)
{
	const struct rf_super *a = &set->super, *b = &d->super;

	return !memcmp(a->id.cluster, b->id.cluster, RF_UUID_BYTES) &&
	       !memcmp(a->id.area, b->id.area, RF_UUID_BYTES) && a->id.nodes == b->id.nodes &&
	       a->id.stride_bytes == b->id.stride_bytes && a->volumes == b->volumes &&
	       a->history == b->history && a->state_strides == b->state_strides;
}

static int set_judge(struct disk_set *set, const struct disk *d)
{
	if (d->found == FOUND_NOTHING)
		return fail(RF_EXIT_BAD_VALUE,
			    "%s: not ours: no ringfence area at its start or end", d->path);
	if (d->found == FOUND_DAMAGED)
		return fail(RF_EXIT_BAD_DATA,
			    "%s: superblock at byte %llu is %s, and no readable copy was found",
			    d->path, (unsigned long long)d->verdict_at_bytes,
			    record_verdict_words(d->verdict));
	if (d == set->disk)
		set->super = d->super;
	if (!disk_same_area(set, d))
		return fail(RF_EXIT_BAD_DATA,
			    "%s and %s hold different areas (clusters '%s' and '%s'): "
			    "look at one at a time",
			    set->disk[0].path, d->path, set->super.cluster_name,
			    d->super.cluster_name);
	return 0;
}

/* One more disk. Exit code; it said why. */
static int set_add(struct disk_set *set, const char *path)
{
	struct disk *d = &set->disk[set->count];
	int rc = disk_open(d, path, O_RDONLY);

	if (rc)
		return rc;
	rc = disk_locate(d, true);
	if (!rc)
		rc = set_judge(set, d);
	if (rc)
		disk_close(d);
	else
		set->count++;
	return rc;
}

int disk_set_open(struct disk_set *set, int argc, char **argv)
{
	int i, rc = 0;

	*set = (struct disk_set){.count = 0};
	for (i = 0; i < argc && !rc; i++)
		rc = set_add(set, argv[i]);
	if (rc)
		disk_set_close(set);
	return rc;
}

/* What counted is on a majority of the disks: fewer may all have missed it. */
void disk_set_note(const struct disk_set *set)
{
	unsigned disks = set->super.disk_count;

	if (set->count && set->count < disks / 2 + 1)
		note("the area has %u disks and this is %u of them: the newest may lie on the "
		     "others",
		     disks, set->count);
}

int disk_set_open_some(struct disk_set *set, int argc, char **argv)
{
	int i, rc, first = 0;

	*set = (struct disk_set){.count = 0};
	for (i = 0; i < argc; i++) {
		rc = set_add(set, argv[i]);
		first = first ? first : rc;
		/* one of another area is not missing: it was not meant */
		if (rc == RF_EXIT_BAD_DATA && set->disk[set->count].found != FOUND_DAMAGED) {
			disk_set_close(set);
			return rc;
		}
	}
	if (!set->count)
		return first;
	if (first)
		note("going on without it: %u of the %d disks given", set->count, argc);
	disk_set_note(set);
	return 0;
}

void disk_set_close(struct disk_set *set)
{
	while (set->count)
		disk_close(&set->disk[--set->count]);
}

/* ---- one record of all disks ---- */

void merge_init(struct merge *g, const struct disk_set *set)
{
	unsigned i;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < set->count; i++)
		g->buf[i] = disk_buffer(RF_STRIDE_MIN);
}

void merge_free(struct merge *g)
{
	unsigned i;

	for (i = 0; i < RF_DISKS_MAX; i++) {
		free(g->buf[i]);
		free(g->run[i].buf);
	}
}

static size_t run_bytes(uint64_t left)
{
	return left < DISK_READ_MAX ? (size_t)left : DISK_READ_MAX;
}

void merge_ahead(struct merge *g, uint64_t from_bytes, uint64_t to_bytes)
{
	unsigned i;

	g->ahead_from = from_bytes;
	g->ahead_to = to_bytes;
	for (i = 0; i < RF_DISKS_MAX && g->buf[i]; i++) {
		free(g->run[i].buf);
		g->run[i] = (struct run){.buf = disk_buffer(run_bytes(to_bytes - from_bytes))};
	}
}

static void read_run(const struct merge *g, const struct disk *d, struct run *run, uint64_t at)
{
	run->at_bytes = at;
	run->bytes = run_bytes(g->ahead_to - at);
	run->good = !disk_read(d, run->buf, run->bytes, d->base_bytes + at);
}

/* A run with a sector that cannot be read is read record by record: so the others are
 * found, and the bad one is known. */
static int read_record(struct merge *g, const struct disk *d, const struct record *r,
		       unsigned i)
{
	struct run *run = &g->run[i];
	uint64_t at = r->offset_bytes;

	if (at < g->ahead_from || at >= g->ahead_to)
		return disk_record(d, r, g->buf[i]);
	if (at < run->at_bytes || at - run->at_bytes >= run->bytes)
		read_run(g, d, run, at);
	if (!run->good)
		return disk_record(d, r, g->buf[i]);
	memcpy(g->buf[i], run->buf + (at - run->at_bytes), RF_RECORD_BYTES);
	return 0;
}

/* Sequences of records that change their writer begin anew with each epoch: there
 * the epoch counts first (format.h). Others: 0. */
uint64_t record_epoch(const struct record *r, const void *raw)
{
	if (r->kind == RF_KIND_EPOCH)
		return rf_get64(((const struct rf_disk_epoch *)raw)->epoch);
	if (r->kind == RF_KIND_HISTORY)
		return rf_get64(((const struct rf_disk_history *)raw)->epoch);
	return 0;
}

static bool newer(const struct record *r, const void *a, const void *b)
{
	uint64_t ea = record_epoch(r, a), eb = record_epoch(r, b);

	return ea != eb ? ea > eb : record_seq(a) > record_seq(b);
}

static void merge_one(struct merge *g, const struct disk_set *set, const struct record *r,
		      struct merged *m, unsigned i)
{
	m->error[i] = read_record(g, &set->disk[i], r, i);
	m->verdict[i] =
		m->error[i] ? RECORD_IO_ERROR : record_verdict(g->buf[i], &set->super, r);
	if (m->verdict[i] != RF_RECORD_OK)
		return;
	m->seq[i] = record_seq(g->buf[i]);
	if (m->newest < 0 || newer(r, g->buf[i], g->buf[m->newest]))
		m->newest = (int)i;
}

/* Superblocks name their own disk: only the newer-or-not question is theirs. */
static bool same_bytes(const struct record *r, const void *a, const void *b)
{
	if (r->kind == RF_KIND_SUPERBLOCK)
		return record_seq(a) == record_seq(b);
	return !memcmp(a, b, RF_RECORD_BYTES);
}

void merge_read(struct merge *g, const struct disk_set *set, const struct record *r,
		struct merged *m)
{
	unsigned i;

	memset(m, 0, sizeof(*m));
	m->newest = -1;
	for (i = 0; i < set->count; i++)
		merge_one(g, set, r, m, i);
	m->raw = g->buf[m->newest < 0 ? 0 : m->newest];
	for (i = 0; i < set->count; i++)
		if (m->verdict[i] != m->verdict[0] || !same_bytes(r, g->buf[i], g->buf[0]))
			m->differ = true;
}

const char *merge_words(unsigned verdict, int error)
{
	if (verdict != RECORD_IO_ERROR)
		return record_verdict_words(verdict);
	return error == -ENODATA ? "beyond the end of the device (truncated?)"
				 : strerror(-error);
}
