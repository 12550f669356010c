/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures devices and network for a while, see measure.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "measure.h"
#include "tool.h"

#define READ_EVERY_MS 5 /* a heartbeat is slower; we are a guest on this device */
#define LOOK_EVERY_MS 100
#define BAR_EVERY_MS 200

static void add(struct samples *s, uint32_t us)
{
	if (!s->us)
		s->us = malloc(SAMPLES_MAX * sizeof(*s->us));
	if (!s->us)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	if (s->count < SAMPLES_MAX)
		s->us[s->count++] = us;
	if (us > s->worst_us)
		s->worst_us = us;
}

static int less(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t samples_quantile(struct samples *s, uint32_t per_mille)
{
	if (!s->count)
		return 0;
	qsort(s->us, s->count, sizeof(*s->us), less);
	return s->us[(uint64_t)(s->count - 1) * per_mille / 1000];
}

/* ---- one of each ---- */

static int read_one(struct measured *m, const struct disk *d)
{
	uint32_t us;
	int rc = disk_measure(d, d->base_bytes, 1, &us);

	if (rc)
		return fail(RF_EXIT_IO, "%s: %s", d->path, strerror(-rc));
	add(&m->reads, us);
	return 0;
}

static void look_row(void *arg, const union ctl_packet *row)
{
	struct measured *m = arg;

	if (row->h.kind == RF_CTL_ROW_AREA && row->area.joined) {
		if (row->area.write_us)
			add(&m->disk, row->area.write_us);
		if (row->area.read_us)
			add(&m->disk, row->area.read_us);
	}
	if (row->h.kind == RF_CTL_ROW_NODE && row->node.rtt_us && row->node.net_age_ms >= 0 &&
	    row->node.net_age_ms < 2 * LOOK_EVERY_MS)
		add(&m->rtt, row->node.rtt_us);
}

static int look(struct measured *m)
{
	struct rf_ctl_request request = {.verb = RF_CTL_STATUS};
	int fd = ctl_connect(true), rc;

	if (fd < 0)
		return -fd;
	rc = ctl_ask_on(fd, &request, look_row, m, true);
	close(fd);
	m->daemon |= !rc;
	return rc;
}

/* ---- for a while ---- */

static void bar(const struct measured *m, long long done_ms, uint32_t for_ms)
{
	char cells[31] = "";
	int full = for_ms ? (int)(30 * done_ms / for_ms) : 30;

	for (int i = 0; i < 30; i++)
		cells[i] = i < full ? '#' : '.';
	fprintf(stderr,
		"\r[%s] %lld of %u s  worst read %.3f ms  disk %.3f ms  network %.3f ms ",
		cells, done_ms / 1000, for_ms / 1000, (double)m->reads.worst_us / 1000,
		(double)m->disk.worst_us / 1000, (double)m->rtt.worst_us / 1000);
}

int measure(struct measured *m, const struct disk *disk, unsigned disks, uint32_t for_ms)
{
	bool show = isatty(STDERR_FILENO) && !tool.quiet;
	long long begin = rf_boot_ms(), now = begin, looked = 0, drawn = 0;
	unsigned next = 0;
	int rc = 0;

	*m = (struct measured){.daemon = false};
	while (!rc && (now = rf_boot_ms()) - begin < for_ms) {
		if (now - looked >= LOOK_EVERY_MS) {
			looked = now;
			if (look(m) && !disks) /* nothing else to measure */
				rc = ctl_lost(0);
		}
		if (disks && !rc)
			rc = read_one(m, &disk[next++ % disks]);
		if (show && now - drawn >= BAR_EVERY_MS) {
			drawn = now;
			bar(m, now - begin, for_ms);
		}
		poll(NULL, 0, disks ? READ_EVERY_MS : LOOK_EVERY_MS / 4);
	}
	if (show)
		fputs("\r\033[K", stderr);
	return rc;
}

void measure_free(struct measured *m)
{
	free(m->reads.us);
	free(m->disk.us);
	free(m->rtt.us);
	*m = (struct measured){.daemon = false};
}
