/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Driver `reservation`: the fence stands at the array, as a persistent reservation
 * whose key carries the epoch (ringfence/reservation.h). It also stops what already
 * left a host, and a host whose clock stood still. The work is in pr_take.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "driver.h"
#include "params.h"
#include "pr.h"

#define CHECK_MS 1000u
#define GRACE_MS 2000u
#define SOON 10u       /* checks in the time of one, while something is to be done */
#define LOOKS_FRESH 5u /* a look is relied on for so many checks */

struct reservation {
	struct rf_pr pr;
	const char *device;
	uint8_t area[RF_UUID_BYTES];
	uint32_t volume, check_ms;
	int timer;
	char unfit[RF_FENCE_TEXT_BYTES]; /* why the device cannot carry a reservation */
};

/* ---- parameters ---- */

static int parse_params(struct reservation *r, char *const *params, char *err, size_t err_bytes)
{
	struct rf_param table[] = {
		{.key = "device", .path = &r->device, .needed = true},
		{.key = "area", .uuid = r->area, .needed = true},
		{.key = "volume",
		 .number = &r->volume,
		 .max = RF_VOLUMES_MAX - 1,
		 .needed = true},
		{.key = "node",
		 .number = &r->pr.node,
		 .min = 1,
		 .max = RF_NODES_MAX,
		 .needed = true},
		{.key = "grace-ms", .number = &r->pr.grace_ms, .min = 1, .max = 3600000},
		{.key = "check-ms", .number = &r->check_ms, .min = 50, .max = 60000},
		{.key = NULL},
	};

	return rf_params_take("reservation", table, r, params, err, err_bytes);
}

/* Soon, when the key is to be settled or a path lacks it: a path that comes back is to
 * have it before anybody sends data there. */
static void arm(struct reservation *r)
{
	bool soon = r->pr.held && (r->pr.gaps || r->pr.held & RF_PR_UNSETTLED);
	uint32_t ms = soon ? r->check_ms / SOON : r->check_ms;
	struct itimerspec t = {
		.it_value = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}};

	timerfd_settime(r->timer, 0, &t, NULL);
}

static int finish_start(struct reservation *r, char *const *params, char *err, size_t err_bytes)
{
	int rc = parse_params(r, params, err, err_bytes);

	if (rc)
		return rc;
	r->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	r->pr.dev = rf_pr_dev_make(r->device, rf_fencer_urgent);
	if (r->timer >= 0 && r->pr.dev)
		return 0;
	snprintf(err, err_bytes, "driver reservation: out of memory or descriptors");
	return -ENOMEM;
}

static int pr_start(void **state, char *const *params, char *err, size_t err_bytes)
{
	struct reservation *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->timer = -1;
	r->check_ms = CHECK_MS;
	r->pr.ops = &rf_pr_dev_ops;
	r->pr.grace_ms = GRACE_MS;
	rc = finish_start(r, params, err, err_bytes);
	if (rc) {
		if (r->timer >= 0)
			close(r->timer);
		free(r);
		return rc;
	}
	r->pr.fresh_ms = LOOKS_FRESH * r->check_ms;
	r->pr.tag = rf_pr_tag(r->area, r->volume);
	*state = r;
	return 0;
}

/* ---- the first look, and one from time to time ---- */

static void pr_begin(void *state)
{
	struct reservation *r = state;
	struct rf_pr_answer a = {0};

	rf_pr_check(&r->pr, &a);
	if (r->pr.no_pr)
		snprintf(r->unfit, sizeof(r->unfit), "%.64s knows no persistent reservations",
			 r->device);
	else if (a.error == ENOTBLK || a.error == EINVAL) /* others may pass */
		snprintf(r->unfit, sizeof(r->unfit), "%.100s", a.text);
	arm(r);
}

static uint32_t pr_able(void *state, char *text, size_t bytes)
{
	struct reservation *r = state;

	if (!*r->unfit)
		return RF_FENCE_CAN_EVICT;
	snprintf(text, bytes, "%.100s: use another device or fence for this volume", r->unfit);
	return 0;
}

static void fill(struct rf_fence_reply *reply, const struct rf_pr_answer *a)
{
	reply->result = a->result;
	reply->error = a->error;
	reply->epoch = a->epoch;
	rf_reply_text(reply, "%s", a->text);
}

static int pr_event_fd(void *state)
{
	return ((struct reservation *)state)->timer;
}

static bool pr_event(void *state, struct rf_fence_reply *reply)
{
	struct reservation *r = state;
	struct rf_pr_answer a = {.result = RF_FENCE_FAILED};
	uint64_t times;
	bool lost = false;

	if (read(r->timer, &times, sizeof(times)) == (ssize_t)sizeof(times))
		lost = rf_pr_check(&r->pr, &a);
	arm(r);
	if (lost)
		fill(reply, &a);
	return lost;
}

/* ---- verbs ---- */

/* One line for each takeover: what it cost. */
static void take(struct reservation *r, uint64_t epoch, struct rf_pr_answer *a)
{
	uint64_t held = r->pr.held, since = rf_fencer_now_ms();

	rf_pr_take(&r->pr, epoch, a);
	if (r->pr.held & RF_PR_UNSETTLED)
		arm(r);
	if (a->result != RF_FENCE_OK || r->pr.held != held)
		fprintf(stderr,
			"ringfence-fencer: reservation epoch=%" PRIu64 " ms=%" PRIu64 ": %s\n",
			epoch, rf_fencer_now_ms() - since, a->text);
}

static void status(struct reservation *r, struct rf_fence_reply *reply)
{
	const struct rf_pr *p = &r->pr;

	reply->result = RF_FENCE_OK;
	if (!p->seen_good)
		rf_reply_text(reply, "no path answers reservation commands");
	else if (!p->seen.held)
		rf_reply_text(reply, "%u paths, nothing is reserved", p->paths);
	else
		rf_reply_text(reply,
			      "%u paths, reserved by node %u epoch %" PRIu64
			      ", %u registrations, last takeover commands=%u%s",
			      p->paths, rf_pr_key_node(p->seen.holder),
			      (uint64_t)rf_pr_key_epoch(p->seen.holder), p->seen.count, p->cost,
			      p->no_abort ? ", no abort: grace instead" : "");
}

static void pr_serve(void *state, const struct rf_fence_request *q,
		     struct rf_fence_reply *reply)
{
	struct reservation *r = state;
	struct rf_pr_answer a = {.result = RF_FENCE_FAILED, .error = EIO, .epoch = q->epoch};

	if (q->node != r->pr.node || q->volume != r->volume) {
		reply->error = EINVAL;
		rf_reply_text(reply, "request for node %u volume %u, started for %u, %u",
			      q->node, q->volume, r->pr.node, r->volume);
		return;
	}
	switch (q->verb) {
	case RF_FENCE_STATUS:
		status(r, reply);
		return;
	case RF_FENCE_GRANT:
	case RF_FENCE_EVICT:
		take(r, q->epoch, &a);
		break;
	case RF_FENCE_REVOKE:
		rf_pr_leave(&r->pr, q->epoch, &a);
		break;
	case RF_FENCE_VERIFY:
		rf_pr_verify(&r->pr, q->epoch, &a);
		break;
	}
	fill(reply, &a);
}

/* The reservation stays: whoever leads next preempts it. */
static void pr_stop(void *state)
{
	struct reservation *r = state;

	rf_pr_dev_free(r->pr.dev);
	close(r->timer);
	free(r);
}

/* ---- ringfence doctor ---- */

static void print_finding(enum rf_pr_finding finding, const char *text, const char *advice)
{
	static const char *const words[] = {[RF_PR_GOOD] = "PASS",
					    [RF_PR_WEAK] = "WARN",
					    [RF_PR_BAD] = "FAIL",
					    [RF_PR_UNTOLD] = "SKIP"};

	printf("%s\t%s\t%s\n", words[finding], text, advice ? advice : "");
	fflush(stdout);
}

static bool take_when(void *owner, const char *value)
{
	struct rf_pr_try *t = owner;

	t->in_use = !strcmp(value, "always");
	t->active = t->in_use || !strcmp(value, "idle");
	return t->active || !strcmp(value, "no");
}

static int pr_examine(char *const *params, struct rf_fence_reply *reply)
{
	struct rf_pr_try t = {.ops = &rf_pr_dev_ops, .say = print_finding};
	struct rf_param table[] = {
		{.key = "device", .path = &t.name, .needed = true},
		{.key = "try", .take = take_when, .needed = true},
		{.key = NULL},
	};
	int rc = rf_params_take("reservation", table, &t, params, reply->text,
				sizeof(reply->text));

	if (rc)
		return rc;
	if (getrandom(&t.key, sizeof(t.key), 0) != (ssize_t)sizeof(t.key))
		return -errno;
	t.key = rf_pr_key_for_test(t.key);
	t.dev = rf_pr_dev_make(t.name, rf_fencer_urgent);
	if (!t.dev)
		return -ENOMEM;
	rf_pr_try(&t);
	rf_pr_dev_free(t.dev);
	return 0;
}

const struct rf_driver rf_driver_reservation = {
	.name = "reservation",
	.help = "  reservation          persistent reservation of a SCSI or NVMe device\n"
		"    device=PATH        the volume's device, also a multipath device\n"
		"    area=HEX           area id, 32 digits\n"
		"    volume=N node=N    numbers of the volume and of this node\n"
		"    grace-ms=N         waited where the target lacks abort (default 2000)\n"
		"    check-ms=N         between two looks at the reservation (default 1000)\n",
	.can = RF_FENCE_CAN_EVICT,
	.start = pr_start,
	.begin = pr_begin,
	.able = pr_able,
	.serve = pr_serve,
	.event_fd = pr_event_fd,
	.event = pr_event,
	.stop = pr_stop,
	.examine = pr_examine,
};
