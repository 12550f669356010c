/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Driver `gate`: the fence stands in this host's kernel, a device-mapper target
 * that reads the claim region itself (ringfence/gate.h). The driver loads its
 * table and passes grants on; all proofs are the target's.
 *
 * One instance, one epoch (§8): a new epoch needs a new table, and that is
 * loaded only when nobody has the device open. The driver says who has.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "gate_dm.h"
#include "gate_table.h"
#include "params.h"

#define REVOKE_MS 2000u
#define NAME_BYTES 128u

struct gate {
	char name[NAME_BYTES]; /* of the dm device */
	struct rf_gate_table table;
	struct rf_area area;
	uint8_t area_uuid[RF_UUID_BYTES];
	uint64_t epoch, incarnation; /* what was granted last; 0 = nothing */
	int events_fd;
};

/* ---- parameters ---- */

static bool take_name(void *owner, const char *value)
{
	struct gate *g = owner;

	return snprintf(g->name, sizeof(g->name), "%s", value) < (int)sizeof(g->name) &&
	       *value && !strchr(value, '/');
}

static bool take_disk(void *owner, const char *value)
{
	char err[256];

	return !rf_area_add(&((struct gate *)owner)->area, value, err, sizeof(err));
}

static bool take_word(bool *is, const char *value, const char *yes, const char *no)
{
	*is = !strcmp(value, yes);
	return *is || !strcmp(value, no);
}

static bool take_reads(void *owner, const char *value)
{
	return take_word(&((struct gate *)owner)->table.gate_reads, value, "refuse", "pass");
}

static bool take_refusal(void *owner, const char *value)
{
	return take_word(&((struct gate *)owner)->table.conflict, value, "conflict", "offline");
}

static int take_params(struct gate *g, char *const *params, char *err, size_t err_bytes)
{
	struct rf_gate_table *t = &g->table;
	struct rf_param table[] = {
		{.key = "name", .take = take_name, .needed = true},
		{.key = "device", .path = &t->device, .needed = true},
		{.key = "disk", .take = take_disk, .needed = true},
		{.key = "area", .uuid = g->area_uuid, .needed = true},
		{.key = "volume",
		 .number = &t->volume,
		 .max = RF_VOLUMES_MAX - 1,
		 .needed = true},
		{.key = "node",
		 .number = &t->node,
		 .min = 1,
		 .max = RF_NODES_MAX,
		 .needed = true},
		{.key = "check-ms",
		 .number = &t->check_ms,
		 .min = RF_GATE_CHECK_MS_MIN,
		 .max = RF_GATE_LEASE_MS_MAX},
		{.key = "reads", .take = take_reads},
		{.key = "refuse-as", .take = take_refusal},
		{.key = "key-file"}, /* for drivers that talk over a network */
		{.key = NULL},
	};

	return rf_params_take("gate", table, g, params, err, err_bytes);
}

static int gate_start(void **state, char *const *params, char *err, size_t err_bytes)
{
	struct gate *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	rc = take_params(g, params, err, err_bytes);
	if (rc) {
		free(g);
		return rc;
	}
	rc = rf_dm_events_open(&g->events_fd);
	if (rc) {
		snprintf(err, err_bytes,
			 "driver gate: /dev/mapper/control: %s; is dm_mod loaded?",
			 strerror(-rc));
		free(g);
		return rc;
	}
	rf_dm_events_arm(g->events_fd);
	*state = g;
	return 0;
}

/* ---- answers ---- */

static void say(struct rf_fence_reply *reply, int r, const char *text)
{
	reply->error = r < 0 ? -r : 0;
	reply->result = RF_FENCE_FAILED;
	rf_reply_text(reply, "%s", text);
}

static bool ask_status(struct gate *g, struct rf_dm_status *s, struct rf_fence_reply *reply)
{
	char err[RF_FENCE_TEXT_BYTES];
	int r = rf_dm_status(g->name, s, err, sizeof(err));

	if (r) {
		say(reply, r, err);
		return false;
	}
	reply->in_flight = (uint32_t)s->in_flight;
	reply->admitted = s->admitted;
	reply->refused = s->refused;
	memcpy(reply->refused_by, s->refused_by, sizeof(reply->refused_by));
	return true;
}

static bool is_over(const struct rf_dm_status *s)
{
	return s->state == RF_GATE_SHUTTING || s->state == RF_GATE_SHUT;
}

/* ---- revoke ---- */

/* True when the target says drained: no write is in flight, and none will be. */
static bool drain(struct gate *g, unsigned wait_ms, struct rf_fence_reply *reply)
{
	char message[32], answer[64];
	int r;

	snprintf(message, sizeof(message), RF_GATE_REVOKE " %u", wait_ms);
	r = rf_dm_message(g->name, message, answer, sizeof(answer));
	if (!r && !strcmp(answer, RF_GATE_DRAINED)) {
		reply->result = RF_FENCE_OK;
		rf_reply_text(reply, "gate %.60s shut and drained", g->name);
		return true;
	}
	if (r) {
		say(reply, r, "");
		rf_reply_text(reply, "gate %.60s: cannot revoke: %s", g->name, strerror(-r));
		return false;
	}
	say(reply, -ETIMEDOUT, "");
	sscanf(answer, RF_GATE_DRAINING " %u", &reply->in_flight);
	rf_reply_text(reply,
		      "gate %.60s admits nothing more, but %u writes are still below it: is "
		      "the device stuck?",
		      g->name, reply->in_flight);
	return false;
}

static void shut(struct gate *g, const struct rf_fence_request *q, struct rf_fence_reply *reply)
{
	struct rf_dm_status s;

	if (!ask_status(g, &s, reply))
		return;
	g->epoch = 0;
	/* Nothing of that epoch is here: no gate; one that was never open; or an
	 * instance of a later epoch, loaded when the older one had drained. */
	if (!s.ours || (s.state == RF_GATE_CLOSED && !s.epoch) ||
	    (q->epoch && s.epoch > q->epoch)) {
		reply->result = RF_FENCE_OK;
		rf_reply_text(reply, "gate %.60s has nothing open", g->name);
		return;
	}
	drain(g, REVOKE_MS,
	      reply); /* an older instance may be there: it has nothing of q->epoch */
}

/* ---- grant ---- */

/* Fresh each time: disks come and go, an area may have been made anew. */
static bool make_table(struct gate *g, struct rf_fence_reply *reply)
{
	char err[RF_FENCE_TEXT_BYTES] = "";
	struct rf_area area = {0};
	unsigned i;
	int r = 0;

	for (i = 0; i < g->area.disks && !r; i++)
		r = rf_area_add(&area, g->area.disk[i].path, err, sizeof(err));
	r = r ? r : rf_gate_table_make(&g->table, &area, err, sizeof(err));
	if (!r && memcmp(area.id.area, g->area_uuid, RF_UUID_BYTES)) {
		snprintf(err, sizeof(err), "gate: %.80s carries another area than the daemon's",
			 area.disk[0].path);
		r = -EINVAL;
	}
	rf_area_close(&area);
	if (r)
		say(reply, r, err);
	return !r;
}

static bool same_table(struct gate *g)
{
	char live[RF_GATE_PARAMS_BYTES];

	return !rf_dm_table(g->name, live, sizeof(live)) && !strcmp(live, g->table.params);
}

static void busy(struct gate *g, const struct rf_dm_status *s, struct rf_fence_reply *reply)
{
	char who[100];

	rf_dm_openers(s, who, sizeof(who));
	reply->result = RF_FENCE_BUSY;
	reply->error = EBUSY;
	rf_reply_text(reply, "gate %.30s is still open since an older epoch:%s", g->name, who);
}

/* An instance that was never open, and that nobody has open from before it. */
static bool attach(struct gate *g, struct rf_fence_reply *reply)
{
	char err[RF_FENCE_TEXT_BYTES] = "";
	struct rf_dm_status s;
	int r;

	if (!ask_status(g, &s, reply) || !make_table(g, reply))
		return false;
	if (s.exists && !s.ours) {
		say(reply, -EEXIST, "");
		rf_reply_text(reply, "device %.60s exists and is no gate: left alone", g->name);
		return false;
	}
	if (s.ours && s.state == RF_GATE_CLOSED && !s.epoch && same_table(g))
		return true;
	if (s.ours && s.open_count > 0) {
		busy(g, &s, reply);
		return false;
	}
	if (s.ours && !drain(g, REVOKE_MS, reply))
		return false;
	r = rf_dm_load(g->name, g->table.uuid, g->table.sectors, g->table.params, s.exists, err,
		       sizeof(err));
	say(reply, r, err);
	return !r;
}

static void explain_grant(struct gate *g, int r, struct rf_fence_reply *reply)
{
	struct rf_dm_status s;

	say(reply, r, "");
	rf_reply_text(reply, "gate %.60s refused epoch %" PRIu64 ": %s", g->name,
		      (uint64_t)reply->epoch, strerror(-r));
	if (!ask_status(g, &s, reply))
		return;
	if (r == -ESTALE) {
		reply->result = RF_FENCE_STALE;
		reply->epoch = s.seen;
		rf_reply_text(reply,
			      "gate %.60s refused a stale grant: epoch %" PRIu64 " rules",
			      g->name, s.seen);
	} else if (r == -EBUSY && s.open_count > 0) {
		busy(g, &s, reply);
	} else if (r == -EIO) {
		rf_reply_text(reply,
			      "gate %.60s cannot read the claim region: see `ringfence verify`",
			      g->name);
	} else if (r == -ESHUTDOWN) {
		rf_reply_text(reply, "gate %.60s has shut by itself: %s", g->name, s.why);
	}
}

static void grant(struct gate *g, const struct rf_fence_request *q,
		  struct rf_fence_reply *reply)
{
	bool renewal = q->epoch == g->epoch && q->incarnation == g->incarnation;
	char message[96];
	int r;

	if (!renewal && !attach(g, reply))
		return;
	snprintf(message, sizeof(message), RF_GATE_GRANT " %" PRIu64 " %" PRIu64 " %" PRIu64,
		 (uint64_t)q->epoch, (uint64_t)q->deadline_ns, (uint64_t)q->incarnation);
	r = rf_dm_message(g->name, message, NULL, 0);
	if (r) {
		explain_grant(g, r, reply);
		return;
	}
	g->epoch = q->epoch;
	g->incarnation = q->incarnation;
	reply->result = RF_FENCE_OK;
}

/* An earlier life may have left the gate open: it is shut first of all. Then the
 * volume's device is there, closed, before anybody leads; if it cannot be made yet,
 * a grant tries again, and says why not. */
static void gate_begin(void *state)
{
	struct gate *g = state;
	struct rf_fence_reply reply;
	struct rf_dm_status s;

	memset(&reply, 0, sizeof(reply));
	if (ask_status(g, &s, &reply) && s.ours && s.state != RF_GATE_CLOSED)
		drain(g, REVOKE_MS, &reply);
	if (!attach(g, &reply))
		fprintf(stderr, "ringfence-fencer: %s\n", reply.text);
}

/* ---- by hand: ringfence attach, ringfence detach ---- */

static bool serves(const struct rf_dm_status *s)
{
	return s->ours && (s->state == RF_GATE_OPENING || s->state == RF_GATE_OPEN ||
			   s->state == RF_GATE_HOLDING);
}

/* Nothing here takes a leadership away: a gate that serves an epoch is left alone. */
static int hand_attach(char *const *params, struct rf_fence_reply *reply)
{
	struct rf_dm_status s;
	struct gate g = {0};

	reply->error = -take_params(&g, params, reply->text, sizeof(reply->text));
	if (reply->error || !ask_status(&g, &s, reply))
		return -(int)reply->error;
	if (serves(&s)) {
		rf_reply_text(reply, "/dev/mapper/%.60s is there already, for epoch %" PRIu64,
			      g.name, s.epoch);
		return 0;
	}
	if (!attach(&g, reply))
		return -(int)reply->error;
	rf_reply_text(reply, "/dev/mapper/%.60s is there, closed until this host leads",
		      g.name);
	return 0;
}

static int remove_gate(struct gate *g, struct rf_dm_status *s, struct rf_fence_reply *reply)
{
	char err[RF_FENCE_TEXT_BYTES] = "", who[100];
	int r = s->open_count > 0 ? -EBUSY : 0;

	if (!r && s->state == RF_GATE_SHUTTING && !drain(g, REVOKE_MS, reply))
		return -(int)reply->error;
	if (!r)
		r = rf_dm_remove(g->name, err, sizeof(err));
	if (r == -EBUSY) {
		rf_dm_openers(s, who, sizeof(who));
		rf_reply_text(reply, "gate %.30s is open:%s", g->name, who);
	} else if (r) {
		rf_reply_text(reply, "%s", err);
	} else {
		rf_reply_text(reply, "/dev/mapper/%.60s is gone", g->name);
	}
	return r;
}

/* Looks at no disk: they may be the reason. */
static int hand_detach(char *const *params, struct rf_fence_reply *reply)
{
	struct rf_dm_status s;
	struct gate g = {0};

	if (!*params || strncmp(*params, "name=", 5) || !take_name(&g, *params + 5))
		return rf_reply_text(reply, "driver gate: detach needs name="), -EINVAL;
	if (!ask_status(&g, &s, reply))
		return -(int)reply->error;
	if (!s.exists)
		return rf_reply_text(reply, "/dev/mapper/%.60s is not there", g.name), 0;
	if (!s.ours)
		return rf_reply_text(reply, "device %.60s is no gate: left alone", g.name),
		       -EEXIST;
	if (serves(&s) && s.open_count <= 0)
		return rf_reply_text(reply,
				     "gate %.60s serves epoch %" PRIu64
				     ": first give the leadership up (ringfence resign)",
				     g.name, s.epoch),
		       -EBUSY;
	return remove_gate(&g, &s, reply);
}

/* ---- the rest ---- */

static void verify(struct gate *g, const struct rf_fence_request *q,
		   struct rf_fence_reply *reply)
{
	static const char *const words[] = {RF_GATE_STATE_WORDS};
	struct rf_dm_status s;

	if (!ask_status(g, &s, reply))
		return;
	rf_reply_text(reply, "gate %.60s %s epoch %" PRIu64 ", %" PRIu64 " in flight", g->name,
		      s.ours ? words[s.state] : "absent", s.epoch, s.in_flight);
	if (q->verb == RF_FENCE_STATUS) {
		reply->epoch = s.epoch;
		reply->result = RF_FENCE_OK;
	} else if (s.seen > q->epoch) {
		reply->epoch = s.seen;
		reply->result = RF_FENCE_STALE;
		reply->error = ESTALE;
	} else if (s.ours && s.state == RF_GATE_OPEN && s.epoch == q->epoch) {
		reply->result = RF_FENCE_OK;
	} else {
		reply->error = ENOENT;
	}
}

static void gate_serve(void *state, const struct rf_fence_request *q,
		       struct rf_fence_reply *reply)
{
	struct gate *g = state;

	if (q->node != g->table.node || q->volume != g->table.volume) {
		say(reply, -EINVAL, "request for another node or volume than started for");
		return;
	}
	switch (q->verb) {
	case RF_FENCE_GRANT:
		grant(g, q, reply);
		break;
	case RF_FENCE_REVOKE:
		shut(g, q, reply);
		break;
	case RF_FENCE_EVICT:
		reply->result = RF_FENCE_UNSUPPORTED;
		reply->error = EOPNOTSUPP;
		rf_reply_text(reply, "driver gate stands at this host: it cannot stop others");
		break;
	default:
		verify(g, q, reply);
	}
}

static int gate_event_fd(void *state)
{
	return ((struct gate *)state)->events_fd;
}

/* Some dm device changed. Ours, and it shut while we thought it open? */
static bool gate_event(void *state, struct rf_fence_reply *reply)
{
	struct gate *g = state;
	struct rf_dm_status s;

	rf_dm_events_arm(g->events_fd);
	if (!g->epoch || !ask_status(g, &s, reply))
		return false;
	if (s.ours && s.epoch == g->epoch && !is_over(&s))
		return false;
	reply->epoch = g->epoch;
	/* §6: its owner must not release what it has lost */
	reply->result = s.ours && !strcmp(s.why, "superseded") ? RF_FENCE_STALE : RF_FENCE_OK;
	rf_reply_text(reply, "gate %.60s shut by itself: %s", g->name,
		      s.ours ? s.why : "its table is gone");
	g->epoch = 0;
	return true;
}

static void gate_stop(void *state)
{
	struct gate *g = state;
	struct rf_fence_reply reply;
	struct rf_dm_status s;

	memset(&reply, 0, sizeof(reply));
	if (ask_status(g, &s, &reply) && s.ours && s.state != RF_GATE_CLOSED && !is_over(&s))
		drain(g, REVOKE_MS, &reply);
	close(g->events_fd);
	free(g);
}

const struct rf_driver rf_driver_gate = {
	.name = "gate",
	.help = "  gate                 a device-mapper gate in this host's kernel\n"
		"    name=NAME          of the device under /dev/mapper\n"
		"    device=PATH        where the volume's data lies\n"
		"    disk=PATH          a disk of the area; once for each\n"
		"    area=HEX node=N volume=N\n"
		"    check-ms=N         interval of its own claim reads (a quarter of the "
		"lease)\n"
		"    reads=refuse|pass  when shut (pass)\n"
		"    refuse-as=offline|conflict  (offline)\n",
	.can = RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN,
	.start = gate_start,
	.begin = gate_begin,
	.serve = gate_serve,
	.event_fd = gate_event_fd,
	.event = gate_event,
	.stop = gate_stop,
	.attach = hand_attach,
	.detach = hand_detach,
};
