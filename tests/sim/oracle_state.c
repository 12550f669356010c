/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Oracle 4: state that was acknowledged is read by every later leader. What a
 * leader has loaded counts as acknowledged: it acts on it.
 */
#include <string.h>

#include "oracle.h"

static struct put_seen *seen(struct world *w, const struct host *h, uint32_t volume)
{
	return &w->oracles->put[h->index * w->oracles->volumes + volume];
}

/* Every state write on its way shows which blob goes under which version. */
void oracle_state_submit(struct world *w, struct host *h, const struct disk_op *op)
{
	uint32_t volume, node, half;
	struct put_seen *p;
	struct rf_state s;

	if (!op->writes ||
	    oracle_stride(w, op->write_stride, &volume, &node, &half) != STRIDE_STATE)
		return;
	if (rf_state_decode(op->data, &w->super.id, volume, node, half, &s) != RF_RECORD_OK) {
		violate(w, "state", "n%u writes a state on vol=%u that nobody can read", h->id,
			volume);
		return;
	}
	p = seen(w, h, volume);
	p->epoch = s.epoch;
	p->version = s.version;
	p->value = 0;
	if (s.version > oracle_owner(w, volume, s.epoch)->written)
		oracle_owner(w, volume, s.epoch)->written = s.version;
	if (s.length_bytes >= sizeof(p->value))
		memcpy(&p->value, op->data + RF_RECORD_BYTES, sizeof(p->value));
}

static void check(struct world *w, uint32_t volume, uint64_t early, uint64_t version,
		  uint64_t value, uint64_t late, const struct owner *reader)
{
	bool other = reader->loaded_version == version && value && reader->loaded_value &&
		     value != reader->loaded_value;

	if (reader->loaded_version >= version && !other)
		return;
	violate(w, "state",
		"vol=%u: epoch %llu acknowledged version %llu (blob %llu), epoch %llu loaded "
		"%llu (blob %llu)",
		volume, (unsigned long long)early, (unsigned long long)version,
		(unsigned long long)value, (unsigned long long)late,
		(unsigned long long)reader->loaded_version,
		(unsigned long long)reader->loaded_value);
}

/* Newly acknowledged under `epoch`: every later load has it. */
static void acknowledged(struct world *w, uint32_t volume, uint64_t epoch, uint64_t version,
			 uint64_t value)
{
	struct owner *o = oracle_owner(w, volume, epoch);

	if (version >= o->acked_version) {
		o->acked_version = version;
		o->acked_value = value;
	}
	for (uint64_t e = epoch + 1; e <= w->oracles->highest[volume]; e++) {
		const struct owner *later = oracle_owner(w, volume, e);

		if (later->loaded)
			check(w, volume, epoch, version, value, e, later);
	}
}

/* What a leader loaded, or one after it wrote, is all that may be found later: a
 * write of an older one, never acknowledged, must not come to light (commit.c). */
static void check_light(struct world *w, const struct rf_decision *d)
{
	uint64_t e = d->epoch, most = 0;

	while (--e) {
		const struct owner *o = oracle_owner(w, d->volume, e);

		most = o->written > most ? o->written : most;
		if (!o->loaded)
			continue;
		most = o->loaded_version > most ? o->loaded_version : most;
		break;
	}
	if (d->a > most)
		violate(w, "state",
			"vol=%u: epoch %llu loaded version %llu, %llu is the newest since "
			"epoch %llu loaded",
			d->volume, (unsigned long long)d->epoch, (unsigned long long)d->a,
			(unsigned long long)most, (unsigned long long)e);
}

static void loaded(struct world *w, struct host *h, const struct rf_decision *d)
{
	const struct put_seen *p = seen(w, h, d->volume);
	struct owner *o = oracle_owner(w, d->volume, d->epoch);

	check_light(w, d);
	o->loaded = true;
	o->loaded_version = d->a;
	o->loaded_value = p->epoch == d->epoch && p->version == d->a ? p->value : 0;
	for (uint64_t e = 1; e < d->epoch; e++) {
		const struct owner *early = oracle_owner(w, d->volume, e);

		if (early->acked_version)
			check(w, d->volume, e, early->acked_version, early->acked_value,
			      d->epoch, o);
	}
	if (d->a)
		acknowledged(w, d->volume, d->epoch, d->a, o->loaded_value);
}

void oracle_state_said(struct world *w, struct host *h, const struct rf_decision *d)
{
	if (d->volume >= w->super.volumes)
		return;
	switch (d->code) {
	case RF_SAY_STATE_COMMITTED:
		acknowledged(w, d->volume, d->epoch, d->a, h->put_value[d->volume]);
		h->put_pending[d->volume] = false;
		break;
	case RF_SAY_STATE_REFUSED:
		h->put_pending[d->volume] = false;
		break;
	case RF_SAY_LOADED:
		loaded(w, h, d);
		break;
	default:
		break;
	}
}
