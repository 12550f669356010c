/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pr_target.h"

struct target t;

static unsigned nexus_of(uint64_t id)
{
	return (unsigned)(id & 0xff);
}

static void drop(unsigned nexus)
{
	t.key[nexus] = 0;
	t.attention[nexus]++;
}

static enum rf_pr_status do_register(unsigned n, uint64_t old, uint64_t new)
{
	if (t.key[n] != old && !t.careless)
		return RF_PR_CONFLICT;
	if (!new &&t.holder == (int)n)
		t.holder = -1; /* everybody can write now */
	t.key[n] = t.deaf ? t.key[n] : new;
	t.generation++;
	return RF_PR_OK;
}

static enum rf_pr_status do_reserve(unsigned n, uint64_t own)
{
	if (!own || t.key[n] != own || (t.holder >= 0 && t.holder != (int)n))
		return RF_PR_CONFLICT;
	t.holder = (int)n;
	t.type = RF_PR_REGISTRANTS_ONLY;
	return RF_PR_OK;
}

static enum rf_pr_status do_preempt(unsigned n, uint64_t own, uint64_t victim, bool abort)
{
	bool found = false, holder = false;

	if (!own || !victim || t.key[n] != own)
		return RF_PR_CONFLICT;
	for (unsigned i = 0; i < NEXUS_MAX; i++) {
		if (t.key[i] != victim)
			continue;
		found = true;
		holder |= t.holder == (int)i;
		if (abort)
			t.in_flight[i] = false;
		if (i != n)
			drop(i);
	}
	if (holder) {
		t.holder = (int)n;
		t.type = RF_PR_REGISTRANTS_ONLY;
	}
	return found ? RF_PR_OK : RF_PR_CONFLICT;
}

static void happen(void)
{
	void (*what)(void) = t.happens;

	if (!what || --t.before)
		return;
	t.happens = NULL;
	what();
}

static enum rf_pr_status reach(unsigned n)
{
	happen();
	if (t.no_pr)
		return RF_PR_UNSUPPORTED;
	if (t.dead[n])
		return RF_PR_FAILED;
	if (t.attention[n]) {
		t.attention[n]--;
		return RF_PR_ATTENTION;
	}
	return RF_PR_OK;
}

static enum rf_pr_status sim_command(void *dev, uint64_t id, enum rf_pr_verb verb, uint64_t own,
				     uint64_t other)
{
	unsigned n = nexus_of(id);
	enum rf_pr_status s = reach(n);

	(void)dev;
	if (s != RF_PR_OK)
		return s;
	switch (verb) {
	case RF_PR_REGISTER:
		s = do_register(n, own, other);
		break;
	case RF_PR_RESERVE:
		s = do_reserve(n, own);
		break;
	case RF_PR_PREEMPT:
		s = do_preempt(n, own, other, false);
		break;
	case RF_PR_PREEMPT_ABORT:
		if (t.no_abort_illegal || t.no_abort_check)
			return t.no_abort_illegal ? RF_PR_UNSUPPORTED : RF_PR_ATTENTION;
		s = do_preempt(n, own, other, true);
		break;
	}
	if (t.lies && t.lie_verb == verb) {
		t.lies--;
		return t.lie;
	}
	return t.vague && s == RF_PR_CONFLICT ? RF_PR_ATTENTION : s;
}

static enum rf_pr_status sim_look(void *dev, uint64_t id, struct rf_pr_look *look,
				  unsigned *commands)
{
	enum rf_pr_status s = reach(nexus_of(id));

	(void)dev;
	*commands += t.no_full ? 2 : 1;
	if (s != RF_PR_OK)
		return s;
	memset(look, 0, sizeof(*look));
	look->counted = !t.no_full;
	look->generation = t.generation;
	for (unsigned i = 0; i < NEXUS_MAX; i++)
		if (t.key[i])
			look->key[look->count++] = t.key[i];
	if (t.holder >= 0) {
		look->held = true;
		look->holder = t.key[t.holder];
		look->type = t.type;
	}
	return RF_PR_OK;
}

static enum rf_pr_status sim_able(void *dev, uint64_t id, struct rf_pr_able *able)
{
	enum rf_pr_status s = t.no_able ? RF_PR_UNSUPPORTED : reach(nexus_of(id));

	(void)dev;
	*able = (struct rf_pr_able){.types = true, .type = !t.no_type, .aptpl = !t.no_aptpl};
	return s;
}

static int sim_paths(void *dev, uint64_t id[RF_PR_PATHS_MAX], char *err, size_t err_bytes)
{
	struct host *h = dev;

	if (!h->paths)
		snprintf(err, err_bytes, "no path");
	for (unsigned i = 0; i < h->paths; i++)
		id[i] = h->born << 8 | (h->first + i);
	return h->paths ? (int)h->paths : -ENODEV;
}

static uint64_t sim_now(void *dev)
{
	(void)dev;
	return t.now_ms;
}

static void sim_rest(void *dev, unsigned ms)
{
	(void)dev;
	t.now_ms += ms;
}

static bool sim_urgent(void *dev)
{
	(void)dev;
	return t.urgent;
}

const struct rf_pr_ops sim_ops = {.paths = sim_paths,
				  .command = sim_command,
				  .look = sim_look,
				  .able = sim_able,
				  .now_ms = sim_now,
				  .rest = sim_rest,
				  .urgent = sim_urgent};

void sim_begin(void)
{
	memset(&t, 0, sizeof(t));
	t.holder = -1;
	t.now_ms = 1000000;
}
