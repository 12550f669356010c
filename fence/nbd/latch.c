/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latch of one volume (latch.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "latch.h"

int rf_latch_init(struct rf_latch *l)
{
	pthread_rwlockattr_t attr;
	int rc;

	memset(l, 0, sizeof(*l));
	rc = pthread_rwlockattr_init(&attr);
	if (rc)
		return -rc;
	/* A storm of writes must not delay a change of epoch: from the moment the
	 * change asks for the lock, new writes queue behind it. Nobody takes the
	 * reader side twice, so this cannot deadlock. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	rc = pthread_rwlock_init(&l->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	if (rc)
		return -rc;
	rc = pthread_mutex_init(&l->view_lock, NULL);
	return -rc;
}

void rf_latch_destroy(struct rf_latch *l)
{
	pthread_rwlock_destroy(&l->lock);
	pthread_mutex_destroy(&l->view_lock);
}

bool rf_owner_equal(const struct rf_owner *a, const struct rf_owner *b)
{
	return a->epoch == b->epoch && a->node == b->node && a->incarnation == b->incarnation;
}

enum rf_latch_verdict rf_latch_judge(const struct rf_latch_view *v, const struct rf_owner *o)
{
	if (o->epoch < v->owner.epoch)
		return RF_LATCH_STALE;
	if (o->epoch > v->owner.epoch || v->state == RF_LATCH_IDLE)
		return RF_LATCH_NEWER;
	if (!rf_owner_equal(o, &v->owner))
		return RF_LATCH_OTHER;
	return v->state == RF_LATCH_SERVING ? RF_LATCH_SAME : RF_LATCH_OVER;
}

bool rf_latch_enter(struct rf_latch *l, const struct rf_owner *o)
{
	/* It fails only with more readers than there can be threads; then: no. */
	if (pthread_rwlock_rdlock(&l->lock))
		return false;
	if (l->now.state == RF_LATCH_SERVING && rf_owner_equal(&l->now.owner, o))
		return true;
	pthread_rwlock_unlock(&l->lock);
	return false;
}

void rf_latch_leave(struct rf_latch *l)
{
	pthread_rwlock_unlock(&l->lock);
}

struct rf_latch_view rf_latch_look(struct rf_latch *l)
{
	struct rf_latch_view v;

	pthread_mutex_lock(&l->view_lock);
	v = l->view;
	pthread_mutex_unlock(&l->view_lock);
	return v;
}

static void publish(struct rf_latch *l)
{
	pthread_mutex_lock(&l->view_lock);
	l->view = l->now;
	pthread_mutex_unlock(&l->view_lock);
}

void rf_latch_set(struct rf_latch *l, const struct rf_latch_view *v)
{
	pthread_rwlock_wrlock(&l->lock);
	l->now = *v;
	publish(l);
	pthread_rwlock_unlock(&l->lock);
}

/* Older writes are finished; make them durable before anybody is told so. */
static enum rf_latch_verdict settle(struct rf_latch *l, const struct rf_owner *o,
				    enum rf_latch_state to, int fd, int *error)
{
	if (fdatasync(fd)) {
		*error = -errno;
		/* Ended, not served on: the next one asks again and syncs again. */
		if (l->now.state == RF_LATCH_SERVING)
			l->now.state = RF_LATCH_ENDED;
	} else {
		l->now.owner = *o;
		l->now.state = to;
	}
	publish(l);
	return RF_LATCH_SAME;
}

static enum rf_latch_verdict move_locked(struct rf_latch *l, const struct rf_owner *o,
					 enum rf_latch_state to, int fd, int *error)
{
	enum rf_latch_verdict v = rf_latch_judge(&l->now, o);

	if (v == RF_LATCH_STALE && to == RF_LATCH_ENDED)
		return RF_LATCH_SAME; /* drained when the newer one was let in */
	if (v == RF_LATCH_NEWER)
		return settle(l, o, to, fd, error);
	if ((v == RF_LATCH_SAME || v == RF_LATCH_OVER) && to == RF_LATCH_ENDED)
		return settle(l, o, to, fd, error);
	return v;
}

enum rf_latch_verdict rf_latch_move(struct rf_latch *l, const struct rf_owner *o,
				    enum rf_latch_state to, int fd, int *error)
{
	enum rf_latch_verdict v;

	*error = 0;
	atomic_fetch_add(&l->waiting, 1);
	if (pthread_rwlock_wrlock(&l->lock))
		abort(); /* no lock, no proof: better no server */
	v = move_locked(l, o, to, fd, error);
	pthread_rwlock_unlock(&l->lock);
	atomic_fetch_sub(&l->waiting, 1);
	return v;
}
