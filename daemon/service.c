/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service manager is told. CASES 28: whoever waits at start says for what and
 * until when, and is given the time: a start that waits is no start that hangs.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "daemon.h"
#include "format/names.h"
#include "format/timing.h"
#include "io/notify.h"
#include "service.h"
#include "status.h"

#define EVERY_NS 1000000000ull
#define PATIENCE_MS 15000ull /* for the next word, beyond what is known to be waited for */

struct words {
	char text[200];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct words *w, const char *format, ...)
{
	va_list ap;
	int n;

	if (w->used >= sizeof(w->text))
		return;
	va_start(ap, format);
	n = vsnprintf(w->text + w->used, sizeof(w->text) - w->used, format, ap);
	va_end(ap);
	if (n > 0)
		w->used += (size_t)n;
}

static void put_leader(struct words *w, const char *name, const struct rf_core_volume *v)
{
	put(w, "%sleader of %s, epoch %" PRIu64 ", margin %" PRId64 " ms", w->used ? "; " : "",
	    name, v->epoch, v->margin_min_ns / (int64_t)RF_MS_NS);
}

static void put_follower(struct words *w, const char *name, const struct rf_core_volume *v)
{
	put(w, "%s%s: ", w->used ? "; " : "", name);
	if (v->role == RF_ROLE_STOPPED)
		put(w, "stopped");
	else if (v->role > RF_ROLE_FOLLOWER)
		put(w, "%s", rf_role_word(v->role));
	else if (v->has_leader)
		put(w, "node %u leads, epoch %" PRIu64, v->owner, v->epoch);
	else
		put(w, "no leader");
}

/* What this node leads comes first: the text may end before all is said. */
static void put_volumes(struct words *w, struct daemon *d)
{
	for (int leads = 1; leads >= 0; leads--) {
		for (uint32_t i = 0; i < d->config.volumes; i++) {
			const struct managed *m = &d->managed[i];
			struct rf_core_volume v;

			rf_core_volume(rf_node_core(m->part->node), m->number, &v);
			if ((v.role == RF_ROLE_ACTIVE) != leads)
				continue;
			(leads ? put_leader : put_follower)(w, d->config.volume[i].name, &v);
		}
	}
}

/* The first area that has not joined: its words. Milliseconds it is known to wait. */
static uint64_t put_waiting(struct words *w, struct daemon *d, const struct part *p)
{
	uint64_t now = rf_loop_clock_ns();
	struct rf_core_self self;
	struct rf_ctl_area row;

	rf_core_self(rf_node_core(p->node), &self);
	rf_status_area(&row, rf_node_core(p->node), &p->area.super, d->config.node, now);
	put(w, "%s", row.waiting);
	return self.join_until_ns > now ? (self.join_until_ns - now) / RF_MS_NS : 0;
}

void rf_service_tell(struct daemon *d)
{
	struct words w = {.used = 0};

	if (!rf_notify_wanted())
		return;
	if (d->leaving)
		put(&w, "leaving");
	for (uint32_t i = 0; i < d->parts && !d->leaving; i++) {
		if (d->part[i]->joined || d->part[i]->halted)
			continue;
		rf_notify_extend(put_waiting(&w, d, d->part[i]) + PATIENCE_MS);
		rf_notify_status("%s", w.text);
		return;
	}
	put_volumes(&w, d);
	rf_notify_status("%s", w.text);
}

static void again(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	rf_service_tell(d);
	rf_loop_timer(d->loop, t, now_ns + EVERY_NS);
}

void rf_service_attach(struct daemon *d)
{
	d->service = (struct rf_timer){.fire = again, .owner = d};
	if (rf_notify_wanted())
		rf_loop_timer(d->loop, &d->service, rf_loop_clock_ns());
}
