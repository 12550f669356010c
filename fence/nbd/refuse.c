/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals: counted by reason without a lock, logged at a bounded rate. */
#include <inttypes.h>
#include <time.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "plugin.h"

#define LOG_INTERVAL_NS 1000000000ll

static const char *const names[RF_REFUSE_COUNT] = {
	[RF_REFUSE_NAME] = "name",
	[RF_REFUSE_KEY] = "key",
	[RF_REFUSE_MAC] = "mac",
	[RF_REFUSE_AREA] = "area",
	[RF_REFUSE_VOLUME] = "volume",
	[RF_REFUSE_NODE] = "node",
	[RF_REFUSE_STALE] = "stale",
	[RF_REFUSE_OTHER] = "other",
	[RF_REFUSE_ENDED] = "ended",
	[RF_REFUSE_SUPERSEDED] = "superseded",
	[RF_REFUSE_RELEASED] = "released",
	[RF_REFUSE_NOT_OWNER] = "not_owner",
	[RF_REFUSE_CLOSED] = "closed",
	[RF_REFUSE_UNREADABLE] = "unreadable",
	[RF_REFUSE_SYNC] = "sync",
	[RF_REFUSE_WRITE] = "write",
	[RF_REFUSE_ZERO] = "zero",
	[RF_REFUSE_TRIM] = "trim",
	[RF_REFUSE_FLUSH] = "flush",
	[RF_REFUSE_READ] = "read",
	[RF_REFUSE_Q_SHAPE] = "quorum_shape",
	[RF_REFUSE_Q_READONLY] = "quorum_readonly",
	[RF_REFUSE_Q_NOT_OWN] = "quorum_not_own",
	[RF_REFUSE_Q_BAD] = "quorum_bad",
	[RF_REFUSE_Q_LOWER] = "quorum_lower",
};

const char *rf_refusal_name(enum rf_refusal why)
{
	return why < RF_REFUSE_COUNT && names[why] ? names[why] : "none";
}

/* Of all threads that are refused in one interval, one gets to log. */
static bool may_log(struct rf_tally *t, enum rf_refusal why)
{
	struct timespec ts;
	long long now, last = atomic_load_explicit(&t->logged_ns[why], memory_order_relaxed);

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	if (last && now - last < LOG_INTERVAL_NS)
		return false;
	return atomic_compare_exchange_strong(&t->logged_ns[why], &last, now);
}

void rf_refuse(struct rf_tally *t, enum rf_refusal why, const char *volume,
	       const struct rf_conn *conn, uint64_t current)
{
	unsigned long long n =
		atomic_fetch_add_explicit(&t->count[why], 1, memory_order_relaxed) + 1;

	if (!may_log(t, why))
		return;
	/* Never the name as it came: only what its signature vouches for. */
	if (conn)
		nbdkit_error("refused reason=%s volume=%s node=%u epoch=%" PRIu64
			     " incarnation=%016" PRIx64 " current=%" PRIu64 " count=%llu",
			     names[why], volume ? volume : "-", conn->node,
			     (uint64_t)conn->epoch, (uint64_t)conn->incarnation, current, n);
	else
		nbdkit_error("refused reason=%s count=%llu", names[why], n);
}

unsigned long long rf_refused_total(const struct rf_tally *t)
{
	unsigned long long sum = 0;
	unsigned i;

	for (i = 0; i < RF_REFUSE_COUNT; i++)
		sum += atomic_load_explicit(&t->count[i], memory_order_relaxed);
	return sum;
}
