/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State and work of a leader, between control socket and core. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "keep.h"
#include "log.h"

__attribute__((format(printf, 3, 4))) static uint32_t answer(char text[RF_CTL_TEXT_BYTES],
							     uint32_t code, const char *format,
							     ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, RF_CTL_TEXT_BYTES, format, ap);
	va_end(ap);
	return code;
}

int rf_keep_open(struct rf_keep *k, uint32_t payload_bytes)
{
	k->room = payload_bytes < RF_BLOB_MAX ? payload_bytes : (uint32_t)RF_BLOB_MAX;
	k->now = calloc(1, k->room);
	k->next = calloc(1, k->room);
	k->seen = calloc(1, payload_bytes); /* whatever lies there */
	return k->now && k->next && k->seen ? 0 : -ENOMEM;
}

/* ---- what is committed ---- */

static void take(struct daemon *d, uint32_t volume, uint32_t bytes)
{
	struct rf_keep *k = &d->managed[volume].keep;

	k->bad = bytes > k->room ? -EBADMSG : rf_blob_decode(&k->blob, k->now, bytes);
	if (k->bad)
		memset(&k->blob, 0, sizeof(k->blob));
	k->untold = true;
	rf_keep_tell(d, volume); /* if not now, before the next hook */
}

int rf_keep_tell(struct daemon *d, uint32_t volume)
{
	struct rf_keep *k = &d->managed[volume].keep;
	char lines[RF_WORK_LINES_BYTES];
	int rc;

	if (!k->untold)
		return 0;
	rc = rf_hooks_keep(d->hooks, volume, k->blob.user, k->blob.user_bytes, lines,
			   (uint32_t)rf_work_lines(&k->blob, lines, sizeof(lines)));
	k->untold = rc != 0;
	return rc;
}

void rf_keep_load(struct daemon *d, uint32_t volume, uint64_t epoch)
{
	struct managed *m = &d->managed[volume];
	struct rf_keep *k = &m->keep;
	struct rf_core_volume v;

	rf_core_volume(rf_node_core(m->part->node), m->number, &v);
	if (v.state_bytes <= k->room)
		memcpy(k->now, v.state, v.state_bytes);
	take(d, volume, v.state_bytes);
	k->epoch = epoch;
	if (k->bad)
		rf_log(RF_LOG_ERR,
		       "state volume=%s epoch=%" PRIu64
		       ": %u bytes that %s: hooks see an empty "
		       "state, and it is not written over; upgrade this node, or look at "
		       "`ringfence dump --record state`",
		       d->config.volume[volume].name, epoch, v.state_bytes,
		       k->bad == -EPROTONOSUPPORT ? "a newer version wrote"
						  : "are no state of ringfence");
}

static bool leads(struct daemon *d, uint32_t volume, struct rf_core_volume *v)
{
	struct managed *m = &d->managed[volume];

	rf_core_volume(rf_node_core(m->part->node), m->number, v);
	return v->role >= RF_ROLE_RECONCILING && v->role <= RF_ROLE_ACTIVE &&
	       m->keep.epoch == v->epoch;
}

/* Whether this node may speak for the leader now, in the epoch asked for. */
static uint32_t may(struct daemon *d, uint32_t volume, uint64_t epoch,
		    char text[RF_CTL_TEXT_BYTES])
{
	struct managed *m = &d->managed[volume];
	const char *name = d->config.volume[volume].name;
	struct rf_core_volume v;

	if (!leads(d, volume, &v))
		return answer(text, RF_EXIT_LEASE_LOST,
			      "this node does not lead %s: ask the leader (`ringfence leader "
			      "%s`), or read the disk with --device",
			      name, name);
	if (epoch && epoch != v.epoch)
		return answer(text, RF_EXIT_LEASE_LOST,
			      "epoch %" PRIu64 " of %s is over: this node leads in epoch "
			      "%" PRIu64 " now",
			      epoch, name, v.epoch);
	if (v.lease_ns <= rf_loop_clock_ns())
		return answer(text, RF_EXIT_LEASE_LOST,
			      "the lease of %s has run out and is not renewed yet: the quorum "
			      "disk is slow",
			      name);
	if (m->keep.bad)
		return answer(text, RF_EXIT_BAD_DATA,
			      "the committed state of %s is not understood by this version: "
			      "see the log",
			      name);
	return RF_EXIT_YES;
}

void rf_keep_status(struct daemon *d, uint32_t volume, struct rf_ctl_volume *row)
{
	const struct rf_keep *k = &d->managed[volume].keep;
	bool known = row->role >= RF_ROLE_RECONCILING && row->role <= RF_ROLE_ACTIVE &&
		     k->epoch == row->epoch && !k->bad;

	row->work_unfinished = known ? k->blob.works : RF_CTL_UNKNOWN;
	row->state_bytes = known ? k->blob.user_bytes : RF_CTL_UNKNOWN;
	row->work_repeated = known ? k->blob.repeated : 0;
}

/* ---- reading ---- */

static void give_state(const struct rf_blob *b, rf_control_row row, void *client)
{
	struct rf_ctl_data r = {.h.kind = RF_CTL_ROW_DATA};

	while (r.offset < b->user_bytes) {
		uint32_t left = b->user_bytes - r.offset;

		r.length = left < RF_CTL_DATA_BYTES ? left : RF_CTL_DATA_BYTES;
		memcpy(r.bytes, b->user + r.offset, r.length);
		memset(r.bytes + r.length, 0, RF_CTL_DATA_BYTES - r.length);
		if (!row(client, &r, sizeof(r)))
			return;
		r.offset += r.length;
	}
}

static void give_work(const struct rf_blob *b, rf_control_row row, void *client)
{
	for (uint32_t i = 0; i < b->works; i++) {
		const struct rf_work *w = &b->work[i];
		struct rf_ctl_work r = {.h.kind = RF_CTL_ROW_WORK,
					.epoch = w->epoch,
					.unix_ns = w->unix_ns,
					.node = w->node,
					.times = w->times};

		memcpy(r.id, w->id, sizeof(r.id));
		memcpy(r.text, w->text, sizeof(r.text));
		if (!row(client, &r, sizeof(r)))
			return;
	}
}

/* What lies on the disks, for a node that does not lead. */
static uint32_t read_seen(struct daemon *d, uint32_t volume, char text[RF_CTL_TEXT_BYTES])
{
	const struct rf_keep *k = &d->managed[volume].keep;
	const char *name = d->config.volume[volume].name;

	if (!k->fresh) {
		rf_keep_look(d, volume);
		return RF_CONTROL_PENDING;
	}
	if (k->seen_bad == -EIO)
		return answer(text, RF_EXIT_IO,
			      "%s: this node does not lead, and most quorum disks cannot be "
			      "read, or not in time",
			      name);
	if (k->seen_bad)
		return answer(text, RF_EXIT_BAD_DATA,
			      "%s: the state on the quorum disks is not understood by this "
			      "version",
			      name);
	return answer(text, RF_EXIT_YES,
		      "this node does not lead %s: read from the quorum disks; its leader may "
		      "not have acknowledged it",
		      name);
}

uint32_t rf_keep_read(void *world, const struct rf_ctl_request *q, uint32_t volume,
		      rf_control_row row, void *client, char text[RF_CTL_TEXT_BYTES])
{
	struct daemon *d = world;
	struct rf_keep *k = &d->managed[volume].keep;
	struct rf_core_volume v;
	bool mine = q->epoch || leads(d, volume, &v);
	const struct rf_blob *b = mine ? &k->blob : &k->seen_blob;
	uint32_t code = mine ? may(d, volume, q->epoch, text) : read_seen(d, volume, text);

	if (code)
		return code;
	if (q->verb == RF_CTL_STATE_GET)
		give_state(b, row, client);
	else
		give_work(b, row, client);
	return RF_EXIT_YES;
}

/* ---- changing ---- */

static uint32_t commit(struct daemon *d, uint32_t volume, const struct rf_blob *b,
		       char text[RF_CTL_TEXT_BYTES])
{
	struct managed *m = &d->managed[volume];
	struct rf_keep *k = &m->keep;
	struct rf_event e = {.kind = RF_EV_ADMIN};

	k->next_bytes = (uint32_t)rf_blob_encode(k->next, k->room, b);
	if (!k->next_bytes) /* cannot be: checked before */
		return answer(text, RF_EXIT_BAD_VALUE, "does not fit into the state record");
	k->busy = true;
	e.admin.verb = RF_ADMIN_STATE_PUT;
	e.admin.volume = m->number;
	e.admin.data = k->next;
	e.admin.len = k->next_bytes;
	rf_bind_event(m->part, &e); /* rf_keep_settled() may come from within */
	return RF_CONTROL_PENDING;
}

static uint32_t put(struct daemon *d, uint32_t volume, const void *data, size_t bytes,
		    char text[RF_CTL_TEXT_BYTES])
{
	struct managed *m = &d->managed[volume];
	struct rf_blob b = m->keep.blob;
	uint32_t most = rf_blob_user_max(rf_geo_payload_bytes(&m->part->area.super));

	if (bytes > most)
		return answer(text, RF_EXIT_BAD_VALUE,
			      "%zu bytes: this area has room for a state of %u bytes (see "
			      "`ringfence format --state-bytes`)",
			      bytes, most);
	b.user = data;
	b.user_bytes = (uint32_t)bytes;
	return commit(d, volume, &b, text);
}

static uint32_t begin(struct daemon *d, uint32_t volume, const struct rf_ctl_work_arg *arg,
		      char text[RF_CTL_TEXT_BYTES])
{
	struct rf_keep *k = &d->managed[volume].keep;
	const char *wrong = rf_work_text_wrong(arg->text, sizeof(arg->text));
	struct rf_work w = {.epoch = k->epoch, .unix_ns = rf_unix_ns(), .node = d->config.node};
	struct rf_blob b = k->blob;

	if (wrong)
		return answer(text, RF_EXIT_BAD_VALUE, "%s", wrong);
	memcpy(w.id, arg->id, sizeof(w.id));
	memcpy(w.text, arg->text, sizeof(w.text));
	switch (rf_work_begin(&b, &w)) {
	case RF_WORK_FULL:
		return answer(text, RF_EXIT_AGAIN,
			      "%u works are unfinished, more cannot be kept: end some first "
			      "(`ringfence work list`)",
			      RF_WORK_MAX);
	case RF_WORK_AGAIN:
		return answer(text, RF_EXIT_YES, "begun before");
	case RF_WORK_NEW:
		snprintf(k->said, sizeof(k->said), "begun");
		break;
	case RF_WORK_REPEATED:
		snprintf(k->said, sizeof(k->said), "repeated");
		rf_log(RF_LOG_WARNING,
		       "work-repeated volume=%s epoch=%" PRIu64
		       " id=%s: begun again, a former leader "
		       "left it unfinished",
		       d->config.volume[volume].name, k->epoch, w.id);
		break;
	}
	return commit(d, volume, &b, text);
}

static uint32_t finish(struct daemon *d, uint32_t volume, const struct rf_ctl_work_arg *arg,
		       char text[RF_CTL_TEXT_BYTES])
{
	struct rf_blob b = d->managed[volume].keep.blob;

	if (!rf_work_end(&b, arg->id))
		return answer(text, RF_EXIT_NO, "no unfinished work \"%s\" on %s", arg->id,
			      d->config.volume[volume].name);
	return commit(d, volume, &b, text);
}

uint32_t rf_keep_change(void *world, const struct rf_ctl_request *q, uint32_t volume,
			const void *data, size_t bytes, char text[RF_CTL_TEXT_BYTES])
{
	const struct rf_ctl_work_arg *arg = data;
	struct daemon *d = world;
	const char *wrong = NULL;
	uint32_t code = may(d, volume, q->epoch, text);

	if (code)
		return code;
	*d->managed[volume].keep.said = 0;
	if (q->verb == RF_CTL_STATE_PUT)
		return put(d, volume, data, bytes, text);
	wrong = rf_work_id_wrong(arg->id, sizeof(arg->id));
	if (wrong)
		return answer(text, RF_EXIT_BAD_VALUE, "%s", wrong);
	return q->verb == RF_CTL_WORK_BEGIN ? begin(d, volume, arg, text)
					    : finish(d, volume, arg, text);
}

/* Acknowledged only under a valid lease: nobody else may have begun to lead. */
static uint32_t verdict(struct daemon *d, uint32_t volume, bool committed,
			char text[RF_CTL_TEXT_BYTES])
{
	struct rf_keep *k = &d->managed[volume].keep;
	uint32_t code = may(d, volume, k->epoch, text);

	if (committed && !code)
		return answer(text, RF_EXIT_YES, "%s", k->said);
	if (code)
		return answer(text, RF_EXIT_LEASE_LOST,
			      "the leadership ended before this was acknowledged: the next "
			      "leader may or may not find it");
	return answer(text, RF_EXIT_IO,
		      "the quorum disks did not take it in time: it is not committed, a later "
		      "leader may still find it; try again");
}

void rf_keep_settled(struct daemon *d, uint32_t volume, bool committed)
{
	struct rf_keep *k = &d->managed[volume].keep;
	char text[RF_CTL_TEXT_BYTES];
	uint32_t code;

	if (!k->busy)
		return;
	k->busy = false;
	if (committed) {
		uint8_t *old = k->now;

		k->now = k->next;
		k->next = old;
		take(d, volume, k->next_bytes);
	}
	code = verdict(d, volume, committed, text);
	rf_control_committed(d->control, volume, code, text);
}
