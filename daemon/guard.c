/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who pets the watchdog, see guard.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "format/timing.h"
#include "log.h"

#define DEVICE_DEFAULT "/dev/watchdog0"
#define PETS 8u /* in the time of the watchdog */
#define PET_MAX_NS 1000000000ull

/* ---- when is it petted ---- */

static void view(const struct managed *m, const char *name, struct rf_guard_volume *v)
{
	const struct rf_timing *t = &m->part->area.super.timing;
	struct rf_core_volume now;

	rf_core_volume(rf_node_core(m->part->node), m->number, &now);
	*v = (struct rf_guard_volume){.name = name,
				      .target_side = m->target_side,
				      .draining_ns = m->draining_ns,
				      .lease_ns = now.lease_ns,
				      .grace_ns = t->grace_ms * RF_MS_NS,
				      .hold_ns = t->hold_ms * RF_MS_NS};
}

static bool safe(const struct daemon *d, uint64_t now_ns, char text[RF_GUARD_TEXT_BYTES])
{
	struct rf_guard_volume v;

	for (uint32_t i = 0; i < d->config.volumes; i++) {
		view(&d->managed[i], d->config.volume[i].name, &v);
		if (!rf_guard_safe(&v, now_ns, text))
			return false;
	}
	return true;
}

/* The last thing this host may be able to do: it may take as long as it likes. */
static void give_up(struct rf_guard *g, const char *why)
{
	int rc;

	snprintf(g->text, sizeof(g->text), "%s", why);
	rc = rf_guard_record(RF_GUARD_RECORD, g->boot, why);
	rf_log(RF_LOG_ERR,
	       "watchdog: %s: not petted any more, this host is reset within %u s unless it "
	       "drains%s%s",
	       why, g->dog.timeout_s, rc ? "; cannot be written down: " : "",
	       rc ? strerror(-rc) : "");
	g->unsafe = true;
}

static void go_on(struct rf_guard *g)
{
	rf_log(RF_LOG_WARNING, "watchdog: petted again: every volume is led or drained");
	unlink(RF_GUARD_RECORD);
	g->text[0] = 0;
	g->unsafe = false;
}

/* CASES 16: `required` leads with a watchdog behind it, or not at all. Asked at each
 * failure: somebody may have resumed meanwhile. */
static void lead_no_more(struct daemon *d)
{
	const struct rf_control_ops *order = &rf_show_control_ops;
	struct rf_core_self self;
	bool paused = true;

	for (uint32_t i = 0; i < d->parts; i++) {
		rf_core_self(rf_node_core(d->part[i]->node), &self);
		paused &= self.paused;
	}
	if (paused)
		return;
	rf_log(RF_LOG_ERR, "watchdog: [watchdog] mode = required: every leadership is given up "
			   "and this node is paused; see to it, then `ringfence resume`");
	order->admin(d, RF_CTL_PAUSE, 0, 0); /* first, or it campaigns again */
	for (uint32_t i = 0; i < d->config.volumes; i++)
		order->admin(d, RF_CTL_RESIGN, i, 0);
}

/* rc: of the last petting. */
static void judge(struct daemon *d, int rc)
{
	struct rf_guard *g = &d->guard;

	if (rc && !g->said) {
		snprintf(g->text, sizeof(g->text), "cannot be petted: %s", strerror(-rc));
		rf_log(RF_LOG_ERR, "watchdog: %s: it may reset this host", g->text);
	} else if (!rc && g->said && !g->unsafe) {
		rf_log(RF_LOG_WARNING, "watchdog: petted again");
		g->text[0] = 0;
	}
	g->said = rc != 0;
	if (rc && d->config.watchdog == RF_WATCHDOG_REQUIRED)
		lead_no_more(d);
}

static void pet(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;
	struct rf_guard *g = &d->guard;
	char why[RF_GUARD_TEXT_BYTES];
	bool good = safe(d, now_ns, why);

	if (!good && !g->unsafe)
		give_up(g, why);
	else if (good && g->unsafe)
		go_on(g);
	judge(d, good ? rf_watchdog_pet(&g->dog) : 0);
	rf_loop_timer(d->loop, t, now_ns + g->every_ns);
}

/* ---- what is asked of the fences ---- */

void rf_guard_asked(struct managed *m, uint32_t verb, uint64_t now_ns)
{
	if (verb == RF_FENCE_GRANT)
		m->maybe_open = true;
	/* a driver that never came up has let nothing through: no reason for a reset */
	if (verb == RF_FENCE_REVOKE && !m->draining_ns && (m->can || m->maybe_open)) {
		m->maybe_open = true;
		m->draining_ns = now_ns;
	}
}

void rf_guard_answered(struct managed *m, uint32_t verb, uint32_t result)
{
	if (verb != RF_FENCE_REVOKE || (result != RF_FENCE_OK && result != RF_FENCE_STALE))
		return;
	m->draining_ns = 0;
	m->maybe_open = false;
}

/* ---- beginning and end ---- */

static void read_boot(char boot[40])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || fscanf(f, "%39s", boot) != 1)
		strcpy(boot, "unknown");
	if (f)
		fclose(f);
}

static uint32_t timeout_s(const struct daemon *d)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < d->parts; i++) {
		const struct rf_timing *t = &d->part[i]->area.super.timing;
		uint32_t s = rf_guard_timeout_s(t->lease_ms, t->grace_ms);

		most = s > most ? s : most;
	}
	return most;
}

/* `automatic` goes on without, and says what that means. */
static int none(struct daemon *d, const char *why)
{
	if (d->config.watchdog == RF_WATCHDOG_REQUIRED) {
		rf_log(RF_LOG_ERR,
		       "watchdog: %s. [watchdog] mode = required: not started. Load the "
		       "driver of this hardware, name another device, or set mode = automatic",
		       why);
		return RF_EXIT_CONFIG;
	}
	snprintf(d->guard.text, sizeof(d->guard.text), "%s", why);
	rf_log(RF_LOG_WARNING,
	       "watchdog: %s: no watchdog behind this node: a gate that does not drain, or a "
	       "kernel that hangs, is not reset",
	       why);
	return RF_EXIT_YES;
}

static void say_armed(const struct rf_guard *g, const char *device, uint32_t wanted_s)
{
	const struct rf_watchdog *w = &g->dog;

	rf_log(RF_LOG_INFO, "watchdog: %s \"%s\" resets this host when not petted for %u s",
	       device, w->identity, w->timeout_s);
	if (w->soft)
		rf_log(RF_LOG_WARNING,
		       "watchdog: \"%s\" is a timer of this kernel: it helps against a gate "
		       "that does not drain, not against a kernel that hangs",
		       w->identity);
	if (w->timeout_s > 2 * wanted_s)
		rf_log(RF_LOG_WARNING, "watchdog: it was to fire after %u s, it takes %u s",
		       wanted_s, w->timeout_s);
	if (w->stays)
		rf_log(RF_LOG_WARNING,
		       "watchdog: it cannot be disarmed: when this daemon is stopped for "
		       "longer than %u s, this host is reset",
		       w->timeout_s);
}

int rf_guard_start(struct daemon *d)
{
	const char *device =
		d->config.watchdog_device[0] ? d->config.watchdog_device : DEVICE_DEFAULT;
	bool hard = d->config.watchdog == RF_WATCHDOG_REQUIRED;
	struct rf_guard *g = &d->guard;
	uint32_t wanted_s = timeout_s(d);
	char err[RF_GUARD_TEXT_BYTES];
	uint64_t unix_ns;
	int rc;

	g->dog.fd = -1;
	read_boot(g->boot);
	if (rf_guard_recall(RF_GUARD_RECORD, g->boot, g->last, &unix_ns)) {
		rf_log(RF_LOG_WARNING, "watchdog: it has reset this host: %s", g->last);
		rf_guard_past(d, g->last, unix_ns);
	}
	if (d->config.watchdog == RF_WATCHDOG_OFF)
		return RF_EXIT_YES;
	rc = rf_watchdog_open(&g->dog, &rf_watchdog_kernel, device, wanted_s, hard, err,
			      sizeof(err));
	if (rc)
		return none(d, err);
	g->every_ns = g->dog.timeout_s * 1000 * RF_MS_NS / PETS;
	if (g->every_ns > PET_MAX_NS)
		g->every_ns = PET_MAX_NS;
	say_armed(g, device, wanted_s);
	return RF_EXIT_YES;
}

void rf_guard_attach(struct daemon *d)
{
	if (d->guard.dog.fd < 0)
		return;
	d->guard.timer = (struct rf_timer){.fire = pet, .owner = d};
	rf_loop_timer(d->loop, &d->guard.timer, rf_loop_clock_ns());
}

/* A life that did not join knows nothing of the gates of the one before it, unless
 * that one left. */
static bool all_drained(const struct daemon *d)
{
	for (uint32_t i = 0; i < d->parts; i++)
		if (!d->part[i]->joined && d->part[i]->crashed)
			return false;
	for (uint32_t i = 0; i < d->config.volumes; i++)
		if (d->managed[i].maybe_open && !d->managed[i].target_side)
			return false;
	return true;
}

void rf_guard_stop(struct daemon *d)
{
	struct rf_guard *g = &d->guard;
	bool clean = d->managed && all_drained(d);

	if (clean)
		unlink(RF_GUARD_RECORD); /* what it said was read, and is over */
	if (g->dog.fd < 0)
		return;
	if (!clean)
		rf_log(RF_LOG_ERR,
		       "watchdog: not every gate is known to be shut and drained: it stays "
		       "armed and resets this host within %u s unless ringfenced is started",
		       g->dog.timeout_s);
	rf_watchdog_close(&g->dog, clean);
}

/* ---- for people ---- */

void rf_guard_show(const struct daemon *d, struct rf_ctl_daemon *row)
{
	const struct rf_guard *g = &d->guard;

	if (d->config.watchdog == RF_WATCHDOG_OFF)
		row->watchdog = RF_CTL_WATCHDOG_OFF;
	else if (g->dog.fd < 0)
		row->watchdog = RF_CTL_WATCHDOG_NONE;
	else if (g->unsafe || g->said)
		row->watchdog = RF_CTL_WATCHDOG_FIRING;
	else
		row->watchdog = g->dog.soft ? RF_CTL_WATCHDOG_SOFT : RF_CTL_WATCHDOG_ARMED;
	row->watchdog_s = g->dog.timeout_s;
	snprintf(row->watchdog_text, sizeof(row->watchdog_text), "%s", g->text);
	snprintf(row->watchdog_last, sizeof(row->watchdog_last), "%s", g->last);
}
