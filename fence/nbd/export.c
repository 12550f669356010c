/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may have which connection. A connection is bound to what its signed name
 * says, for ever; a client that reconnects is judged anew, by the same name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "plugin.h"

/* ---- keys: read again when the file has changed, so they can be rotated ---- */

static pthread_mutex_t keys_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rf_keys keys;
static struct stat keys_seen;

static bool keys_changed(const struct stat *st)
{
	return st->st_ino != keys_seen.st_ino || st->st_dev != keys_seen.st_dev ||
	       st->st_size != keys_seen.st_size ||
	       st->st_mtim.tv_sec != keys_seen.st_mtim.tv_sec ||
	       st->st_mtim.tv_nsec != keys_seen.st_mtim.tv_nsec ||
	       st->st_ctim.tv_sec != keys_seen.st_ctim.tv_sec ||
	       st->st_ctim.tv_nsec != keys_seen.st_ctim.tv_nsec;
}

int rf_export_keys_load(struct rf_target *t, char *err, size_t err_bytes)
{
	struct rf_keys fresh;
	struct stat st;
	int rc;

	/* stat first: a change in between is then seen the next time. */
	if (stat(t->key_path, &st))
		memset(&st, 0, sizeof(st));
	rc = rf_keys_load(&fresh, t->key_path, err, err_bytes);
	if (rc)
		return rc;
	keys = fresh;
	keys_seen = st;
	return 0;
}

/* A file that cannot be read any more leaves the old keys in force. */
static void keys_refresh(struct rf_target *t)
{
	char err[256];
	struct stat st;

	if (stat(t->key_path, &st) || !keys_changed(&st))
		return;
	if (rf_export_keys_load(t, err, sizeof(err))) {
		nbdkit_error("%s (the keys of before stay in force)", err);
		keys_seen = st;
	}
}

static int parse_name(struct rf_target *t, const char *name, struct rf_conn *conn)
{
	int rc;

	pthread_mutex_lock(&keys_lock);
	keys_refresh(t);
	rc = rf_conn_parse(conn, name, &keys);
	pthread_mutex_unlock(&keys_lock);
	return rc;
}

/* ---- switching and shutting ---- */

static enum rf_refusal refusal_of_answer(enum rf_claim_answer a)
{
	switch (a) {
	case RF_ANSWER_OWNED:
		return RF_REFUSE_NONE;
	case RF_ANSWER_SUPERSEDED:
		return RF_REFUSE_SUPERSEDED;
	case RF_ANSWER_RELEASED:
		return RF_REFUSE_RELEASED;
	case RF_ANSWER_OTHER:
		return RF_REFUSE_NOT_OWNER;
	case RF_ANSWER_CLOSED:
		return RF_REFUSE_CLOSED;
	case RF_ANSWER_UNREADABLE:
		break;
	}
	return RF_REFUSE_UNREADABLE;
}

static enum rf_refusal refusal_of_verdict(enum rf_latch_verdict v)
{
	switch (v) {
	case RF_LATCH_SAME:
	case RF_LATCH_NEWER:
		return RF_REFUSE_NONE;
	case RF_LATCH_STALE:
		return RF_REFUSE_STALE;
	case RF_LATCH_OVER:
		return RF_REFUSE_ENDED;
	case RF_LATCH_OTHER:
		break;
	}
	return RF_REFUSE_OTHER;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static enum rf_refusal move(struct rf_volume *v, const struct rf_owner *o,
			    enum rf_latch_state to)
{
	uint64_t start = now_us();
	int error;
	enum rf_latch_verdict verdict = rf_latch_move(&v->latch, o, to, v->fd, &error);

	if (error) {
		nbdkit_error("volume %s: sync of older writes failed: %s; epoch %llu not "
			     "acknowledged, check the device",
			     v->name, strerror(-error), (unsigned long long)o->epoch);
		return RF_REFUSE_SYNC;
	}
	if (verdict == RF_LATCH_SAME || verdict == RF_LATCH_NEWER)
		atomic_store(&v->last_switch_us, now_us() - start);
	return refusal_of_verdict(verdict);
}

/* §8b: the first connection of a newer epoch switches, after the disk agreed. */
static enum rf_refusal open_data(struct rf_target *t, struct rf_volume *v,
				 const struct rf_owner *o)
{
	struct rf_latch_view view = rf_latch_look(&v->latch);
	enum rf_latch_verdict verdict = rf_latch_judge(&view, o);
	struct rf_claim_read r;
	enum rf_refusal why;

	if (verdict != RF_LATCH_NEWER)
		return refusal_of_verdict(verdict);
	rf_claim_read(&t->area, v->number, o, o->epoch <= v->before_start, &r);
	if (r.answer != RF_ANSWER_OWNED)
		return refusal_of_answer(r.answer);
	why = move(v, o, RF_LATCH_SERVING);
	if (why == RF_REFUSE_NONE)
		atomic_fetch_add(&v->switches, 1);
	return why;
}

/*
 * Shut: answered when no write of that epoch can land any more. An epoch the
 * target never served is shut too, so that it is not taken up later; but only
 * one that its owner owned, or nobody could trust the latch's epoch. One that
 * the disk calls superseded can never be let in: nothing to do.
 */
static enum rf_refusal open_shut(struct rf_target *t, struct rf_volume *v,
				 const struct rf_owner *o)
{
	struct rf_latch_view view = rf_latch_look(&v->latch);
	struct rf_claim_read r;
	enum rf_refusal why;

	if (rf_latch_judge(&view, o) == RF_LATCH_NEWER) {
		rf_claim_read(&t->area, v->number, o, false, &r);
		if (r.answer == RF_ANSWER_SUPERSEDED)
			return RF_REFUSE_NONE;
		if (r.answer != RF_ANSWER_OWNED && r.answer != RF_ANSWER_RELEASED)
			return refusal_of_answer(r.answer);
	}
	why = move(v, o, RF_LATCH_ENDED);
	if (why != RF_REFUSE_NONE)
		return why;
	view = rf_latch_look(&v->latch);
	if (rf_owner_equal(&view.owner, o) && rf_volume_remember(t, v, o)) {
		nbdkit_error("volume %s: cannot remember in %s that epoch %llu ended: %m",
			     v->name, t->state_dir, (unsigned long long)o->epoch);
		return RF_REFUSE_SYNC;
	}
	atomic_fetch_add(&v->shuts, 1);
	return RF_REFUSE_NONE;
}

/* ---- opening ---- */

static struct rf_volume *find_volume(struct rf_target *t, uint32_t number)
{
	unsigned i;

	for (i = 0; i < t->volumes; i++)
		if (t->volume[i].number == number)
			return &t->volume[i];
	return NULL;
}

/* VOLUME of a quorum name is the number of the quorum disk. With one disk in
 * the area there is nothing to choose, and any number means it. */
static const struct rf_area_disk *find_disk(struct rf_target *t, uint32_t number)
{
	return rf_area_disk_by_index(&t->area, t->area.disk_count == 1 ? 0 : number);
}

static enum rf_refusal bind_export(struct rf_target *t, struct rf_export *e)
{
	const struct rf_conn *c = &e->conn;

	if (memcmp(c->area, t->area.id.area, RF_UUID_BYTES))
		return RF_REFUSE_AREA;
	if (c->node > t->area.id.nodes)
		return RF_REFUSE_NODE;
	if (c->kind == RF_CONN_QUORUM) {
		e->disk = find_disk(t, c->volume);
		return e->disk ? RF_REFUSE_NONE : RF_REFUSE_VOLUME;
	}
	e->volume = find_volume(t, c->volume);
	if (!e->volume)
		return RF_REFUSE_VOLUME;
	if (c->epoch == 0 && c->kind != RF_CONN_STAT)
		return RF_REFUSE_NODE;
	return RF_REFUSE_NONE;
}

static enum rf_refusal admit(struct rf_target *t, struct rf_export *e)
{
	enum rf_refusal why = bind_export(t, e);

	if (why != RF_REFUSE_NONE)
		return why;
	if (e->conn.kind == RF_CONN_DATA)
		return open_data(t, e->volume, &e->owner);
	if (e->conn.kind == RF_CONN_SHUT)
		return open_shut(t, e->volume, &e->owner);
	return RF_REFUSE_NONE;
}

static void refuse_open(struct rf_target *t, struct rf_export *e, enum rf_refusal why)
{
	struct rf_volume *v = e->volume;

	if (v)
		rf_refuse(&v->refused, why, v->name, &e->conn,
			  rf_latch_look(&v->latch).owner.epoch);
	else
		rf_refuse(&t->refused, why, NULL, &e->conn, 0);
}

static enum rf_refusal refusal_of_parse(int rc)
{
	if (rc == -ENOKEY)
		return RF_REFUSE_KEY;
	return rc == -EBADMSG ? RF_REFUSE_MAC : RF_REFUSE_NAME;
}

struct rf_export *rf_export_open(struct rf_target *t, const char *name)
{
	struct rf_export *e = calloc(1, sizeof(*e));
	enum rf_refusal why;
	int rc;

	if (!e) {
		nbdkit_error("out of memory for a connection");
		return NULL;
	}
	rc = parse_name(t, name ? name : "", &e->conn);
	if (rc) {
		rf_refuse(&t->refused, refusal_of_parse(rc), NULL, NULL, 0);
		free(e);
		return NULL;
	}
	e->owner = (struct rf_owner){e->conn.epoch, e->conn.incarnation, e->conn.node};
	why = admit(t, e);
	if (why != RF_REFUSE_NONE) {
		refuse_open(t, e, why);
		free(e);
		return NULL;
	}
	if (e->conn.kind == RF_CONN_DATA)
		atomic_fetch_add(&e->volume->connections, 1);
	return e;
}

void rf_export_close(struct rf_export *e)
{
	if (e->conn.kind == RF_CONN_DATA)
		atomic_fetch_sub(&e->volume->connections, 1);
	free(e);
}
