/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the stat export: key=value lines. Never waits for a write. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

struct text {
	char *at;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static void line(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->room)
		n = (int)t->room - 1;
	t->at += n;
	t->room -= (size_t)n;
}

static void put_area(struct text *t, const struct rf_area *a)
{
	unsigned i;

	line(t, "stat=1\narea=");
	for (i = 0; i < RF_UUID_BYTES; i++)
		line(t, "%02x", a->id.area[i]);
	line(t, "\n");
}

static void put_owner(struct text *t, struct rf_volume *v)
{
	static const char *const states[] = {"idle", "serving", "ended"};
	struct rf_latch_view view = rf_latch_look(&v->latch);

	line(t, "volume=%u\nname=%s\nstate=%s\n", v->number, v->name, states[view.state]);
	line(t, "epoch=%" PRIu64 "\nnode=%u\nincarnation=%016" PRIx64 "\n", view.owner.epoch,
	     view.owner.node, view.owner.incarnation);
	line(t, "switching=%u\n", atomic_load(&v->latch.waiting));
}

static void put_disk(struct text *t, struct rf_target *target, struct rf_volume *v)
{
	struct rf_claim_read r;

	/* Only when nothing is served is the disk's word worth a read: a joining
	 * node then asks who could still come back (fence.h, REVOKE of epoch 0). */
	if (rf_latch_look(&v->latch).state != RF_LATCH_IDLE)
		return;
	rf_claim_look(&target->area, v->number, &r);
	if (!r.disks_read)
		return;
	line(t, "disk_epoch=%" PRIu64 "\ndisk_node=%u\ndisk_incarnation=%016" PRIx64 "\n",
	     r.sector.epoch, r.sector.node, r.sector.incarnation);
	line(t, "disk_decided=%" PRIu64 "\n", r.highest_decided);
}

static void put_refused(struct text *t, const char *prefix, const struct rf_tally *tally)
{
	unsigned i;

	line(t, "%s=%llu\n", prefix, rf_refused_total(tally));
	for (i = 1; i < RF_REFUSE_COUNT; i++) {
		unsigned long long n = atomic_load(&tally->count[i]);

		if (n)
			line(t, "%s_%s=%llu\n", prefix, rf_refusal_name(i), n);
	}
}

void rf_stat_text(struct rf_target *target, struct rf_volume *v, char text[RF_STAT_BYTES])
{
	struct text t = {text, RF_STAT_BYTES};

	put_area(&t, &target->area);
	put_owner(&t, v);
	put_disk(&t, target, v);
	line(&t, "connections=%u\nadmitted=%llu\n", atomic_load(&v->connections),
	     atomic_load(&v->admitted));
	line(&t, "switches=%llu\nshuts=%llu\nlast_switch_us=%llu\n", atomic_load(&v->switches),
	     atomic_load(&v->shuts), atomic_load(&v->last_switch_us));
	put_refused(&t, "refused", &v->refused);
	put_refused(&t, "target_refused", &target->refused);
	memset(t.at, '\n', t.room);
}
