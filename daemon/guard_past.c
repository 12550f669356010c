/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reset by watchdog, for those who have only the disk: the life after it writes into
 * the history what ended the leadership of the one before. Nobody else writes that
 * record, and nothing but people reads it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon.h"
#include "log.h"

struct ring {
	const struct rf_area *area;
	uint32_t disk, volume, node;
	uint8_t *buffer;
};

static bool read_entry(const struct ring *r, uint32_t index, struct rf_history *h)
{
	const struct rf_area *a = r->area;
	off_t at = (off_t)(a->offset[r->disk] + rf_geo_history(&a->super, r->volume, index));

	return pread(a->fd[r->disk], r->buffer, RF_STRIDE_MIN, at) == (ssize_t)RF_STRIDE_MIN &&
	       rf_history_decode(r->buffer, &a->super.id, r->volume, index, h) ==
		       RF_RECORD_OK &&
	       h->epoch;
}

static bool write_entry(const struct ring *r, const struct rf_history *h)
{
	const struct rf_area *a = r->area;
	uint32_t index = (uint32_t)(h->epoch % a->super.history);
	off_t at = (off_t)(a->offset[r->disk] + rf_geo_history(&a->super, r->volume, index));
	struct iovec iov = {r->buffer, RF_STRIDE_MIN};

	memset(r->buffer, 0, RF_STRIDE_MIN);
	rf_history_encode(r->buffer, &a->super.id, r->volume, index, h);
	return pwritev2(a->fd[r->disk], &iov, 1, at, RWF_DSYNC) == (ssize_t)RF_STRIDE_MIN;
}

/* The newest leadership of this node, if it is without an end and began before the
 * reset: a life after that may have crashed, too. */
static bool open_end(const struct ring *r, uint64_t unix_ns, struct rf_history *newest)
{
	struct rf_history h;

	newest->epoch = 0;
	for (uint32_t i = 0; i < r->area->super.history; i++)
		if (read_entry(r, i, &h) && h.owner == r->node && h.epoch > newest->epoch)
			*newest = h;
	return newest->epoch && !newest->end_unix_ns && newest->start_unix_ns <= unix_ns;
}

static void end_volume(struct ring *r, const char *name, uint64_t unix_ns)
{
	const struct rf_area *a = r->area;
	uint64_t epoch = 0;
	struct rf_history h;

	for (r->disk = 0; r->disk < a->super.disk_count; r->disk++) {
		if (a->fd[r->disk] < 0 || !open_end(r, unix_ns, &h))
			continue;
		h.end_cause = RF_CAUSE_WATCHDOG;
		h.end_unix_ns = unix_ns;
		h.seq++;
		if (write_entry(r, &h))
			epoch = h.epoch;
	}
	if (epoch)
		rf_log(RF_LOG_INFO, "history: volume=%s epoch=%llu ended by the watchdog", name,
		       (unsigned long long)epoch);
}

void rf_guard_past(struct daemon *d, const char *why, uint64_t unix_ns)
{
	uint8_t *buffer = aligned_alloc(RF_STRIDE_MIN, RF_STRIDE_MIN);

	for (uint32_t i = 0; i < d->config.volumes && buffer; i++) {
		const char *name = d->config.volume[i].name;
		struct managed *m = &d->managed[i];
		struct ring r = {.area = &m->part->area,
				 .volume = m->number,
				 .node = d->config.node,
				 .buffer = buffer};
		size_t n = strlen(name);

		/* the reason begins with the volume that was stuck */
		if (!strncmp(why, name, n) && why[n] == ' ')
			end_volume(&r, name, unix_ns);
	}
	free(buffer);
}
