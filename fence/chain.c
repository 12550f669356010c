/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several fences for one volume: `ringfence-fencer chain [evict-ms=N] [grant-ms=N]
 * driver=NAME KEY=VALUE… driver=NAME KEY=VALUE…`, in the order tried. Each driver runs in a
 * fencer of its own, so that one which is stuck in a device holds up no other; the chain passes
 * requests on and answers for all of them. It never blocks.
 *
 *   EVICT   in order, until one has verified it.
 *   GRANT   in order; good when all that the data passes through granted (they can
 *           drain), and at least one did. What is granted for an epoch without a
 *           deadline is not asked again. One that did not grant is offered each later
 *           grant of the epoch, and not waited for.
 *   REVOKE  all at once; good when each that can drain has drained.
 *   STALE from anyone is the answer: a newer epoch rules there.
 * EVICT and GRANT before all ways have said what they can are refused: or the last of the
 * order would do for a leadership because the first takes its time to start (§9).
 *
 * A way counts only when verified: one that failed, died or does not answer in time
 * is taken out of what this fence can do, and the daemon hears it (HELLO again); tried
 * again it is after a while, or when it is verified by what it answered too late. One
 * that died is started again, later each time, and nothing of before is believed of it:
 * in a leadership that goes on it is in force when it has granted that epoch itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "chain_way.h"
#include "driver.h"

#define WAYS_MAX 4u
#define JOBS_MAX 16u
#define WAYS_MS 3000u /* unless told otherwise: what all of them together may take */
#define LOOK_MS 1500u /* verify, status */
/* A late "drained" still counts (PROTOCOL 8): longer than any driver takes. */
#define DRAIN_MS 6000u

enum answer { WAITING, GOOD, BAD, OUT };

struct job {
	struct rf_fence_request request; /* verb 0 = free */
	struct rf_fence_reply reply;     /* as it stands */
	enum answer answer[WAYS_MAX];
	unsigned at; /* in order: whose turn it is */
	uint64_t until_ms;
};

static struct {
	struct way way[WAYS_MAX];
	unsigned ways;
	struct job job[JOBS_MAX];
	uint32_t evict_ms, grant_ms; /* the daemon waits so long; each way gets its part */
	uint64_t epoch;              /* granted, until it is revoked or shuts */
	uint32_t said_can;
	const char *said_name;
	bool hello, said_alive, ended;
	char failure[RF_FENCE_TEXT_BYTES]; /* the last one */
} chain;

/* ---- what it can do as a whole ---- */

static uint32_t can_now(void)
{
	uint32_t can = 0;

	for (unsigned i = 0; i < chain.ways; i++)
		if (rf_way_alive(&chain.way[i]) && !chain.way[i].weak)
			can |= chain.way[i].can;
	return can;
}

/* The first that enforces anything gives its name, one at the storage before a gate: of
 * what is led, if something is. */
static const char *name_now(void)
{
	const struct way *best = NULL;

	for (unsigned i = 0; i < chain.ways; i++) {
		const struct way *w = &chain.way[i];

		if (!rf_way_alive(w) || w->weak || !w->can ||
		    (chain.epoch && w->granted != chain.epoch))
			continue;
		if (!best || (w->can & ~best->can & RF_FENCE_CAN_EVICT))
			best = w;
	}
	return best ? best->name : "none";
}

static void send_daemon(struct rf_fence_reply *r)
{
	r->magic = RF_FENCE_MAGIC;
	r->can = can_now();
	snprintf(r->driver, sizeof(r->driver), "%s", name_now());
	if (send(RF_FENCE_FD, r, sizeof(*r), MSG_NOSIGNAL) != (ssize_t)sizeof(*r))
		chain.ended = true;
}

__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(chain.failure, sizeof(chain.failure), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ringfence-fencer: chain: %s\n", chain.failure);
}

static void say_failed(int error)
{
	struct rf_fence_reply r = {
		.id = RF_FENCE_HELLO_ID, .result = RF_FENCE_FAILED, .error = error};

	rf_reply_text(&r, "%s", chain.failure);
	send_daemon(&r);
}

static void say_can(void)
{
	struct rf_fence_reply r = {.id = RF_FENCE_HELLO_ID, .result = RF_FENCE_OK};

	rf_reply_text(&r, "in force: %s", name_now());
	send_daemon(&r);
}

/* Once all have said what they can, and again whenever that changes. */
static void hello(void)
{
	bool any = false;

	for (unsigned i = 0; i < chain.ways; i++) {
		if (chain.way[i].fd >= 0 && !chain.way[i].hello)
			return;
		any |= rf_way_alive(&chain.way[i]);
	}
	if (chain.hello && chain.said_can == can_now() && chain.said_alive == any &&
	    chain.said_name == name_now())
		return;
	chain.hello = true;
	chain.said_can = can_now();
	chain.said_name = name_now();
	chain.said_alive = any;
	if (any)
		say_can();
	else
		say_failed(EPIPE);
}

/* ---- passing on ---- */

static bool pass_on(struct job *j, unsigned i)
{
	struct way *w = &chain.way[i];

	j->answer[i] = WAITING;
	if (rf_way_send(w, &j->request))
		return true;
	j->answer[i] = BAD;
	j->reply.error = EPIPE;
	rf_reply_text(&j->reply, "%s: its fencer %s", w->name,
		      rf_way_alive(w) ? "takes no request" : "has failed or died");
	return false;
}

static void finish(struct job *j, enum rf_fence_result result)
{
	j->reply.verb = j->request.verb;
	j->reply.id = j->request.id;
	j->reply.result = result;
	if (result == RF_FENCE_OK)
		j->reply.error = 0; /* of a way before the one that did it */
	else if (!*j->reply.text)
		rf_reply_text(&j->reply, "no fence of this volume can do that");
	if (j->request.verb == RF_FENCE_GRANT && result == RF_FENCE_OK)
		chain.epoch = j->request.epoch;
	hello();
	send_daemon(&j->reply);
	j->request.verb = 0;
}

static bool concerns(const struct job *j, const struct way *w)
{
	if (j->request.verb == RF_FENCE_EVICT)
		return w->can & RF_FENCE_CAN_EVICT;
	if (j->request.verb == RF_FENCE_GRANT)
		return (w->can & RF_FENCE_CAN_DEADLINE) || w->granted != j->request.epoch;
	return true;
}

/* Without those that the data passes through there is no leading; the others had their
 * turn when the epoch was granted first, and must not hold up its renewals. */
static bool waits_for(const struct job *j, const struct way *w)
{
	return j->request.verb != RF_FENCE_GRANT || j->request.epoch != chain.epoch ||
	       w->can & (RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN);
}

static void offer(const struct job *j, struct way *w)
{
	if (!w->offered)
		w->offered = rf_way_send(w, &j->request);
}

/* Verified just now. */
static void in_force(struct way *w, uint32_t verb, uint64_t epoch)
{
	w->weak = false;
	w->weak_ms = 0;
	if (verb == RF_FENCE_GRANT)
		w->granted = epoch;
}

/* The data passes through those that can drain: without them there is no leading. Of
 * the others one must have granted; `none` always does. */
static bool granted(const struct job *j)
{
	bool any = false;

	for (unsigned i = 0; i < chain.ways; i++) {
		const struct way *w = &chain.way[i];
		bool good = j->answer[i] == GOOD ||
			    (rf_way_alive(w) && !(w->can & RF_FENCE_CAN_DEADLINE) &&
			     w->granted == j->request.epoch);

		if (!good && w->can & RF_FENCE_CAN_DRAIN)
			return false;
		any |= good;
	}
	return any;
}

/* After which the next way is tried. */
static uint64_t patience(const struct job *j)
{
	bool evict = j->request.verb == RF_FENCE_EVICT;
	unsigned n = 0;

	for (unsigned i = 0; i < chain.ways; i++)
		n += concerns(j, &chain.way[i]);
	return (evict ? chain.evict_ms : chain.grant_ms) / (n ? n : 1);
}

/* One after the other: EVICT, GRANT. */
static void go_on(struct job *j)
{
	bool evict = j->request.verb == RF_FENCE_EVICT;

	for (; j->at < chain.ways; j->at++) {
		if (!concerns(j, &chain.way[j->at]))
			continue;
		if (!waits_for(j, &chain.way[j->at])) {
			offer(j, &chain.way[j->at]);
			continue;
		}
		if (j->answer[j->at] == GOOD && evict)
			break;
		if (j->answer[j->at] == OUT && pass_on(j, j->at)) {
			j->until_ms = rf_fencer_now_ms() + patience(j);
			return;
		}
		if (j->answer[j->at] == WAITING)
			return;
		if (j->answer[j->at] == BAD)
			rf_way_weaken(&chain.way[j->at]);
	}
	if (evict)
		finish(j, j->at < chain.ways ? RF_FENCE_OK : RF_FENCE_FAILED);
	else
		finish(j, granted(j) ? RF_FENCE_OK : RF_FENCE_FAILED);
}

/* What drained is proved by all that the data passes through (§3: also of an earlier life),
 * also by one that fails or has not said yet what it is. Where nothing can drain, who is of
 * no use has nothing to say. */
static bool must_answer(const struct job *j, const struct way *w)
{
	bool drains = false;

	if (j->request.verb != RF_FENCE_REVOKE)
		return true;
	for (unsigned i = 0; i < chain.ways; i++)
		drains |= chain.way[i].drains;
	return drains ? w->drains : rf_way_alive(w) && !w->weak;
}

/* All at once: REVOKE, VERIFY, STATUS. */
static void all_answered(struct job *j)
{
	bool good = true, any = false;

	for (unsigned i = 0; i < chain.ways; i++) {
		bool needed = must_answer(j, &chain.way[i]);

		if (j->answer[i] == WAITING && needed)
			return;
		any |= j->answer[i] == GOOD;
		good &= j->answer[i] == GOOD || !needed;
	}
	if (j->request.verb == RF_FENCE_STATUS)
		good = any;
	finish(j, good && any ? RF_FENCE_OK : RF_FENCE_FAILED);
}

static bool in_order(const struct job *j)
{
	return j->request.verb == RF_FENCE_EVICT || j->request.verb == RF_FENCE_GRANT;
}

static void advance(struct job *j)
{
	if (in_order(j))
		go_on(j);
	else
		all_answered(j);
}

/* ---- from the daemon ---- */

/* A grant that is still on its way to somebody is over, too. */
static void forget_grants(void)
{
	for (unsigned k = 0; k < JOBS_MAX; k++)
		if (chain.job[k].request.verb == RF_FENCE_GRANT) {
			rf_reply_text(&chain.job[k].reply, "revoked meanwhile");
			finish(&chain.job[k], RF_FENCE_FAILED);
		}
	chain.epoch = 0;
	for (unsigned i = 0; i < chain.ways; i++) {
		chain.way[i].granted = 0;
		chain.way[i].offered = false;
	}
	hello();
}

static void begin(const struct rf_fence_request *q)
{
	struct job *j = NULL;

	for (unsigned i = 0; i < JOBS_MAX && !j; i++)
		if (!chain.job[i].request.verb)
			j = &chain.job[i];
	if (!j)
		return; /* the daemon counts what is not answered as failed */
	memset(j, 0, sizeof(*j));
	j->request = *q;
	j->reply.epoch = q->epoch;
	j->until_ms = rf_fencer_now_ms() + (q->verb == RF_FENCE_REVOKE ? DRAIN_MS : LOOK_MS);
	for (unsigned i = 0; i < WAYS_MAX; i++)
		j->answer[i] = OUT;
	if (q->verb == RF_FENCE_REVOKE)
		forget_grants();
	for (unsigned i = 0; i < chain.ways && !in_order(j); i++)
		pass_on(j, i);
	if (in_order(j) && !chain.hello) {
		rf_reply_text(&j->reply, "its fences have not all started yet: claim again");
		finish(j, RF_FENCE_FAILED);
		return;
	}
	advance(j);
}

static void from_daemon(void)
{
	struct rf_fence_request q;
	ssize_t n = recv(RF_FENCE_FD, &q, sizeof(q), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		chain.ended = true;
	else if (n == (ssize_t)sizeof(q) && q.magic == RF_FENCE_MAGIC &&
		 q.verb >= RF_FENCE_GRANT && q.verb <= RF_FENCE_VERB_LAST)
		begin(&q);
}

/* ---- from the ways ---- */

/* What people read: of the first that has something to say, or of who failed; of an
 * evict, who was asked last. */
static void merge(struct job *j, const struct way *w, const struct rf_fence_reply *r)
{
	if (r->result != RF_FENCE_OK || !*j->reply.text || r->verb == RF_FENCE_EVICT)
		rf_reply_text(&j->reply, "%s: %.130s", w->name, r->text);
	if (r->result != RF_FENCE_OK)
		j->reply.error = r->error;
	j->reply.in_flight += r->in_flight;
	j->reply.admitted += r->admitted;
	j->reply.refused += r->refused;
	for (unsigned i = 0; i < RF_FENCE_REFUSED_COUNT; i++)
		j->reply.refused_by[i] += r->refused_by[i];
}

static void answered(struct job *j, unsigned i, const struct rf_fence_reply *r)
{
	struct way *w = &chain.way[i];

	merge(j, w, r);
	if (r->result == RF_FENCE_STALE) {
		j->reply.epoch = r->epoch;
		finish(j, RF_FENCE_STALE);
		return;
	}
	j->answer[i] = r->result == RF_FENCE_OK ? GOOD : BAD;
	if (in_order(j) && r->result == RF_FENCE_OK)
		in_force(w, r->verb, r->epoch);
	advance(j);
}

/* To a grant that was only offered, or too late. A newer epoch there ends what is led. */
static void answered_late(struct way *w, struct rf_fence_reply *r)
{
	if (r->verb != RF_FENCE_GRANT && r->verb != RF_FENCE_EVICT)
		return;
	if (r->verb == RF_FENCE_GRANT)
		w->offered = false;
	if (r->result == RF_FENCE_OK)
		in_force(w, r->verb, r->epoch);
	else
		rf_way_weaken(w);
	hello();
	if (r->result == RF_FENCE_STALE && chain.epoch) {
		r->verb = 0;
		r->id = RF_FENCE_SHUT_ID;
		r->epoch = chain.epoch;
		send_daemon(r);
	}
}

/* Who comes back is said anew, even if that changes nothing of what all of them can: a
 * daemon that leads grants its epoch again then. */
static void take_hello(struct way *w, const struct rf_fence_reply *r)
{
	if (!w->hello) /* its first word is what its kind can, also when it fails */
		w->drains = r->can & RF_FENCE_CAN_DRAIN;
	w->hello = true;
	chain.said_name = NULL;
	w->failed = r->result != RF_FENCE_OK;
	w->can = w->failed ? 0 : r->can;
	if (w->failed)
		fail("%s: %.130s", w->name, r->text);
	hello();
}

/* Its part of everything open has failed. */
static void way_died(unsigned i)
{
	struct way *w = &chain.way[i];

	if (!w->failed) /* else it has said why */
		fail("the fencer of %s died", w->name);
	close(w->fd);
	w->fd = -1;
	w->granted = 0;
	w->offered = false;
	rf_way_again_later(w);
	hello();
	for (unsigned k = 0; k < JOBS_MAX; k++) {
		struct job *j = &chain.job[k];

		if (!j->request.verb || j->answer[i] != WAITING)
			continue;
		j->answer[i] = BAD;
		rf_reply_text(&j->reply, "%s: its fencer died", w->name);
		advance(j);
	}
}

static struct job *waiting_for(unsigned i, const struct rf_fence_reply *r)
{
	for (unsigned k = 0; k < JOBS_MAX; k++) {
		struct job *j = &chain.job[k];

		if (j->request.verb && j->request.verb == r->verb && j->request.id == r->id &&
		    j->answer[i] == WAITING)
			return j;
	}
	return NULL;
}

static void from_way(unsigned i)
{
	struct way *w = &chain.way[i];
	struct rf_fence_reply r;
	struct job *j;
	ssize_t n = recv(w->fd, &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		way_died(i);
		return;
	}
	if (n != (ssize_t)sizeof(r) || r.magic != RF_FENCE_MAGIC)
		return;
	r.text[sizeof(r.text) - 1] = 0;
	if (r.verb == 0 && r.id == RF_FENCE_HELLO_ID) {
		take_hello(w, &r);
	} else if (r.verb == 0) {
		w->granted = 0;
		send_daemon(&r); /* shut by itself */
	} else {
		j = waiting_for(i, &r);
		if (j)
			answered(j, i, &r);
		else
			answered_late(w, &r);
	}
}

/* ---- time ---- */

/* In order: who does not answer is passed over. All at once: what is there counts. */
static void late(struct job *j)
{
	for (unsigned i = 0; i < chain.ways; i++) {
		if (j->answer[i] != WAITING)
			continue;
		j->answer[i] = BAD;
		rf_reply_text(&j->reply, "%s does not answer", chain.way[i].name);
		j->reply.error = ETIMEDOUT;
	}
	advance(j);
}

/* It may have another try: at the next claim, or, said now, in what is led. */
static void try_weak_again(struct way *w)
{
	w->weak = false;
	chain.said_name = NULL;
	hello();
}

static int next_ms(void)
{
	uint64_t now = rf_fencer_now_ms(), least = UINT64_MAX;

	for (unsigned k = 0; k < JOBS_MAX; k++)
		if (chain.job[k].request.verb && chain.job[k].until_ms < least)
			least = chain.job[k].until_ms;
	for (unsigned i = 0; i < chain.ways; i++)
		if (rf_way_next_ms(&chain.way[i]) < least)
			least = rf_way_next_ms(&chain.way[i]);
	if (least == UINT64_MAX)
		return -1;
	return least > now ? (int)(least - now) : 0;
}

static void tick(void)
{
	uint64_t now = rf_fencer_now_ms();

	for (unsigned k = 0; k < JOBS_MAX; k++)
		if (chain.job[k].request.verb && chain.job[k].until_ms <= now)
			late(&chain.job[k]);
	for (unsigned i = 0; i < chain.ways; i++)
		if (chain.way[i].again_ms && chain.way[i].again_ms <= now)
			rf_way_start_again(&chain.way[i]);
	for (unsigned i = 0; i < chain.ways; i++)
		if (chain.way[i].weak && chain.way[i].weak_until_ms <= now)
			try_weak_again(&chain.way[i]);
}

/* ---- start and end ---- */

static bool number(const char *param, const char *key, uint32_t *to)
{
	size_t n = strlen(key);

	return !strncmp(param, key, n) && sscanf(param + n, "%" SCNu32, to) == 1 && *to;
}

static int parse(char *const *params)
{
	struct way *w = NULL;

	chain.evict_ms = chain.grant_ms = WAYS_MS;
	for (; *params; params++) {
		if (!strncmp(*params, "driver=", 7)) {
			if (chain.ways == WAYS_MAX)
				return -E2BIG;
			w = &chain.way[chain.ways++];
			w->fd = -1;
			w->drains = true; /* until it says otherwise */
			w->argv[0] = "ringfence-fencer";
			w->argv[1] = *params + 7;
			snprintf(w->name, sizeof(w->name), "%s", *params + 7);
		} else if (!w && (number(*params, "evict-ms=", &chain.evict_ms) ||
				  number(*params, "grant-ms=", &chain.grant_ms))) {
			continue;
		} else if (!w || w->args == RF_WAY_ARGS_MAX) {
			return -EINVAL;
		} else {
			w->argv[2 + w->args++] = *params;
		}
	}
	return chain.ways ? 0 : -EINVAL;
}

static void wait_events(void)
{
	struct pollfd p[WAYS_MAX + 1];
	unsigned i;

	for (i = 0; i < chain.ways; i++)
		p[i] = (struct pollfd){.fd = chain.way[i].fd, .events = POLLIN};
	p[i] = (struct pollfd){.fd = RF_FENCE_FD, .events = POLLIN};
	if (poll(p, chain.ways + 1, next_ms()) > 0) {
		for (i = 0; i < chain.ways; i++)
			if (p[i].revents)
				from_way(i);
		if (p[i].revents)
			from_daemon();
	}
	tick();
}

int rf_chain_run(char *const *params)
{
	int rc = parse(params);

	if (fcntl(RF_FENCE_FD, F_SETFD, FD_CLOEXEC))
		rc = -errno;
	for (unsigned i = 0; i < chain.ways && !rc; i++)
		rc = rf_way_start(&chain.way[i]);
	if (rc) {
		fail("driver chain cannot start: %s", strerror(-rc));
		say_failed(-rc);
		return 1;
	}
	while (!chain.ended)
		wait_events();
	rf_ways_stop(chain.way, chain.ways);
	return 0;
}
