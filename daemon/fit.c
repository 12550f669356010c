/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the timings of an area still fit what is measured (PROTOCOL §9)? Disks grow
 * slower over the years; the timings are in the superblock and do not. Nothing is
 * decided by it: people are told while leaderships are still kept.
 */
#include <stdio.h>

#include "daemon.h"
#include "format/timing.h"
#include "log.h"

#define GOOD_AGAIN 12u /* looks */

void rf_fit_note(struct part *p)
{
	struct rf_core_self self;
	uint32_t us;

	rf_core_self(rf_node_core(p->node), &self);
	us = self.write_us > self.read_us ? self.write_us : self.read_us;
	if (us > p->fit.worst_us)
		p->fit.worst_us = us;
}

static void tell(struct part *p, const char *name, const char *what)
{
	const struct rf_timing *t = &p->area.super.timing;
	const char *disk = p->daemon->config.area[p->index].disk[0];
	struct rf_ctl_event ev = {.event = RF_CTL_EV_DECISION, .node = p->daemon->config.node};

	snprintf(ev.text, sizeof(ev.text), "%s measured_ms=%u.%03u lease_ms=%u heartbeat_ms=%u",
		 name, p->fit.worst_us / 1000, p->fit.worst_us % 1000, t->lease_ms,
		 t->heartbeat_ms);
	rf_log(p->fit.misfit ? RF_LOG_WARNING : RF_LOG_INFO, "%s area=%s msg=\"%s\"", ev.text,
	       disk, what);
	rf_control_event(p->daemon->control, &ev);
}

void rf_fit_judge(struct part *p)
{
	struct rf_fit *f = &p->fit;
	bool fits = rf_timing_check(&p->area.super.timing, f->worst_us) == RF_TIMING_OK;

	f->good = fits ? f->good + 1 : 0;
	if (!fits && !f->misfit) {
		f->misfit = true;
		tell(p, "timing-misfit",
		     "the quorum disk is slower than the timings allow (lease >= 3 heartbeats "
		     "+ "
		     "2 round trips): leadership may be lost without a fault; see `ringfence "
		     "tune`");
	} else if (f->misfit && f->good >= GOOD_AGAIN) {
		f->misfit = false;
		tell(p, "timing-fits", "the quorum disk is fast enough again");
	}
	f->worst_us = 0;
}
