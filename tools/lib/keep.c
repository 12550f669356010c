/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libringfence: state and unfinished work. */
#include <errno.h>
#include <string.h>

#include "lib.h"

_Static_assert(RINGFENCE_STATE_MAX == RF_BLOB_USER_MAX, "one bound");
_Static_assert(RINGFENCE_WORK_MAX == RF_WORK_MAX, "one bound");

/* ---- state ---- */

struct got {
	uint8_t *bytes;
	size_t room, length;
	bool broken; /* a piece was missing, or no piece */
};

static void data_row(void *arg, const union rfl_packet *p)
{
	struct got *g = arg;
	size_t n = p->data.length;

	g->broken |= p->h.kind != RF_CTL_ROW_DATA || n > sizeof(p->data.bytes) ||
		     p->data.offset != g->length || n > RF_BLOB_USER_MAX - g->length;
	if (g->broken)
		return;
	if (g->length < g->room)
		memcpy(g->bytes + g->length, p->data.bytes,
		       n < g->room - g->length ? n : g->room - g->length);
	g->length += n;
}

/* Whoever leads reads as the leader or not at all; others what lies on the disks. */
static uint64_t epoch_held(const struct ringfence *r)
{
	return r->held ? r->epoch : 0;
}

int ringfence_state_get(struct ringfence *r, void *bytes, size_t room, size_t *length)
{
	struct rf_ctl_request q = {.verb = RF_CTL_STATE_GET, .epoch = epoch_held(r)};
	struct got g = {.bytes = bytes, .room = room};
	struct rfl_question question = {.row = data_row, .arg = &g};
	int rc = rfl_ask(r, &q, &question);

	if (!rc && g.broken)
		rc = rfl_fail(r, -EPROTO, "%s: not a whole state came from the daemon",
			      r->volume);
	*length = rc ? 0 : g.length;
	return rc;
}

/* In the epoch that is held: an older leadership must not write into a newer one. */
static int change(struct ringfence *r, uint32_t verb, const void *data, size_t bytes,
		  int timeout_ms)
{
	struct rf_ctl_request q = {.verb = (uint16_t)verb, .epoch = r->epoch};
	struct rfl_question question = {.data = data, .bytes = bytes};

	if (!r->held || r->lost)
		return rfl_fail(r, -ESTALE, "%s: this host does not lead", r->volume);
	q.timeout_ms = timeout_ms < 0 ? 0 : timeout_ms ? (uint32_t)timeout_ms : 1;
	if (timeout_ms < 0)
		question.until_ns = UINT64_MAX;
	return rfl_ask(r, &q, &question);
}

int ringfence_state_put(struct ringfence *r, const void *bytes, size_t length, int timeout_ms)
{
	if (length > RF_BLOB_USER_MAX)
		return rfl_fail(r, -EINVAL, "a state has at most %u bytes", RF_BLOB_USER_MAX);
	return change(r, RF_CTL_STATE_PUT, bytes, length, timeout_ms);
}

/* ---- work ---- */

static int change_work(struct ringfence *r, uint32_t verb, const char *id, const char *text,
		       int timeout_ms)
{
	struct rf_ctl_work_arg arg = {.id = ""};

	if (strlen(id) >= sizeof(arg.id) || strlen(text) >= sizeof(arg.text))
		return rfl_fail(r, -EINVAL,
				"the id of a work has at most %zu bytes, its text "
				"%zu",
				sizeof(arg.id) - 1, sizeof(arg.text) - 1);
	memcpy(arg.id, id, strlen(id));
	memcpy(arg.text, text, strlen(text));
	return change(r, verb, &arg, sizeof(arg), timeout_ms);
}

int ringfence_work_begin(struct ringfence *r, const char *id, const char *text, int timeout_ms)
{
	int rc = change_work(r, RF_CTL_WORK_BEGIN, id, text, timeout_ms);

	if (rc)
		return rc;
	rc = !strcmp(r->error, "repeated")       ? RINGFENCE_REPEATED
	     : !strcmp(r->error, "begun before") ? RINGFENCE_BEGUN_BEFORE
						 : RINGFENCE_BEGUN;
	*r->error = 0;
	return rc;
}

int ringfence_work_end(struct ringfence *r, const char *id, int timeout_ms)
{
	return change_work(r, RF_CTL_WORK_END, id, "", timeout_ms);
}

struct list {
	struct ringfence_work *work;
	size_t room;
	int count;
};

static void work_row(void *arg, const union rfl_packet *p)
{
	struct list *l = arg;
	struct ringfence_work *w;

	if (p->h.kind != RF_CTL_ROW_WORK || l->count == RF_WORK_MAX)
		return;
	if ((size_t)l->count++ >= l->room)
		return;
	w = &l->work[l->count - 1];
	*w = (struct ringfence_work){.epoch = p->work.epoch,
				     .unix_ns = p->work.unix_ns,
				     .node = p->work.node,
				     .times = p->work.times};
	memcpy(w->id, p->work.id, sizeof(w->id) - 1);
	memcpy(w->text, p->work.text, sizeof(w->text) - 1);
}

int ringfence_work_list(struct ringfence *r, struct ringfence_work *work, size_t room)
{
	struct rf_ctl_request q = {.verb = RF_CTL_WORK_LIST, .epoch = epoch_held(r)};
	struct list l = {.work = work, .room = room};
	struct rfl_question question = {.row = work_row, .arg = &l};
	int rc = rfl_ask(r, &q, &question);

	return rc ? rc : l.count;
}
