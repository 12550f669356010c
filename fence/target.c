/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Driver `target`: the fence stands at the target, an nbdkit with the plugin
 * of fence/nbd. All proofs are the target's: an open data connection says that
 * no older write can land (EVICT), an open shut connection that none of that
 * epoch can (REVOKE). A refused handshake carries no reason, so the stat
 * export is read after it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "link.h"
#include "params.h"
#include "ringfence/key.h"

#define TIMEOUT_MS 5000u
#define STOP_MS 2000u
#define STAT_BYTES 4096u

struct target {
	const char *uri, *key_path;
	struct rf_keys keys;
	__u8 area[RF_UUID_BYTES];
	uint32_t volume, node, timeout_ms;
	struct rf_link data;  /* kept open while our epoch rules */
	struct rf_conn bound; /* what it is bound to */
};

/* What the stat export says. */
struct report {
	char state[16];
	uint64_t epoch, incarnation, disk_epoch, disk_incarnation;
	uint32_t node, disk_node;
	uint64_t admitted, refused, refused_by[RF_FENCE_REFUSED_COUNT];
};

/* ---- parameters ---- */

static int parse_params(struct target *t, char *const *params, char *err, size_t err_bytes)
{
	struct rf_param table[] = {
		{.key = "uri", .text = &t->uri, .needed = true},
		{.key = "key-file", .text = &t->key_path, .needed = true},
		{.key = "area", .uuid = t->area, .needed = true},
		{.key = "volume",
		 .number = &t->volume,
		 .max = RF_VOLUMES_MAX - 1,
		 .needed = true},
		{.key = "node",
		 .number = &t->node,
		 .min = 1,
		 .max = RF_NODES_MAX,
		 .needed = true},
		{.key = "timeout-ms", .number = &t->timeout_ms, .min = 10, .max = 600000},
		{.key = NULL},
	};

	return rf_params_take("target", table, t, params, err, err_bytes);
}

static int target_start(void **state, char *const *params, char *err, size_t err_bytes)
{
	struct target *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	t->timeout_ms = TIMEOUT_MS;
	rc = parse_params(t, params, err, err_bytes);
	if (!rc)
		rc = rf_keys_load(&t->keys, t->key_path, err, err_bytes);
	if (rc)
		free(t);
	else
		*state = t;
	return rc;
}

/* ---- asking the target ---- */

/* Keys may have been rotated since; a file in trouble leaves the old ones. */
static void make_name(struct target *t, const struct rf_conn *c, char name[RF_CONN_NAME_BYTES])
{
	struct rf_keys fresh;
	char err[256];

	if (!rf_keys_load(&fresh, t->key_path, err, sizeof(err)))
		t->keys = fresh;
	rf_conn_name(name, c, &t->keys);
}

static struct rf_conn make_conn(const struct target *t, enum rf_conn_kind kind,
				uint64_t incarnation, uint64_t epoch)
{
	struct rf_conn c = {.kind = kind,
			    .volume = t->volume,
			    .node = t->node,
			    .incarnation = incarnation,
			    .epoch = epoch};

	memcpy(c.area, t->area, RF_UUID_BYTES);
	return c;
}

/* The words of fence/nbd/refuse.c. What is asked on a connection that was cut off came
 * under an older epoch. */
static void parse_refused(struct report *r, const char *line)
{
	static const struct {
		const char *word;
		enum rf_fence_refusal as;
	} words[] = {
		{"refused_stale=", RF_FENCE_REFUSED_STALE},
		{"refused_write=", RF_FENCE_REFUSED_STALE},
		{"refused_zero=", RF_FENCE_REFUSED_STALE},
		{"refused_trim=", RF_FENCE_REFUSED_STALE},
		{"refused_flush=", RF_FENCE_REFUSED_STALE},
		{"refused_read=", RF_FENCE_REFUSED_STALE},
		{"refused_superseded=", RF_FENCE_REFUSED_SUPERSEDED},
		{"refused_ended=", RF_FENCE_REFUSED_REVOKED},
		{"refused_released=", RF_FENCE_REFUSED_REVOKED},
		{"refused_closed=", RF_FENCE_REFUSED_CLOSED},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(line, words[i].word, strlen(words[i].word)))
			r->refused_by[words[i].as] +=
				strtoull(line + strlen(words[i].word), NULL, 10);
}

static void parse_line(struct report *r, const char *line)
{
	parse_refused(r, line);
	sscanf(line, "state=%15[a-z]", r->state);
	sscanf(line, "epoch=%" SCNu64, &r->epoch);
	sscanf(line, "node=%" SCNu32, &r->node);
	sscanf(line, "incarnation=%" SCNx64, &r->incarnation);
	sscanf(line, "disk_epoch=%" SCNu64, &r->disk_epoch);
	sscanf(line, "disk_node=%" SCNu32, &r->disk_node);
	sscanf(line, "disk_incarnation=%" SCNx64, &r->disk_incarnation);
	sscanf(line, "admitted=%" SCNu64, &r->admitted);
	sscanf(line, "refused=%" SCNu64, &r->refused);
}

static bool parse_report(struct report *r, char *text)
{
	char *line, *save = NULL;

	memset(r, 0, sizeof(*r));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		parse_line(r, line);
	return *r->state;
}

/* l: in negotiation; it is used up by this. */
static enum rf_link_result read_report(struct target *t, struct rf_link *l, struct report *r)
{
	struct rf_conn c = make_conn(t, RF_CONN_STAT, 0, 0);
	/* Static: an answer that comes late must not find a dead stack. */
	static char text[STAT_BYTES + 1];
	char name[RF_CONN_NAME_BYTES];
	enum rf_link_result rc;

	make_name(t, &c, name);
	rc = rf_link_go(l, name);
	if (rc == RF_LINK_OK)
		rc = rf_link_read(l, text, STAT_BYTES, 0);
	if (rc == RF_LINK_OK && !parse_report(r, text)) {
		snprintf(l->text, sizeof(l->text), "target's stat export makes no sense");
		l->error = EPROTO;
		rc = RF_LINK_LOST;
	}
	rf_link_drop(l);
	return rc;
}

static void link_begin(const struct target *t, struct rf_link *l, bool yield)
{
	memset(l, 0, sizeof(*l));
	l->yield = yield;
	l->until_ms = rf_fencer_now_ms() + t->timeout_ms;
}

static enum rf_link_result ask_report(struct target *t, bool yield, struct report *r,
				      struct rf_link *l)
{
	enum rf_link_result rc;

	link_begin(t, l, yield);
	rc = rf_link_dial(l, t->uri);
	return rc == RF_LINK_OK ? read_report(t, l, r) : rc;
}

static void fail(struct rf_fence_reply *reply, const struct rf_link *l, enum rf_link_result rc)
{
	reply->result = rc == RF_LINK_LOST ? RF_FENCE_UNCERTAIN : RF_FENCE_FAILED;
	reply->error = l->error;
	rf_reply_text(reply, "%s", l->text);
}

/* The handshake was refused: what rules there instead? */
static void explain(struct target *t, struct rf_link *l, const struct rf_conn *c,
		    struct rf_fence_reply *reply)
{
	struct report r;
	enum rf_link_result rc = read_report(t, l, &r);

	reply->result = RF_FENCE_FAILED;
	reply->error = EACCES;
	if (rc != RF_LINK_OK) {
		rf_reply_text(reply,
			      "target refused epoch %" PRIu64
			      " and its stat export: key, area or volume differ there?",
			      (uint64_t)c->epoch);
		return;
	}
	if (r.epoch > c->epoch || (r.disk_epoch > c->epoch)) {
		reply->result = RF_FENCE_STALE;
		reply->epoch = r.epoch > r.disk_epoch ? r.epoch : r.disk_epoch;
		reply->error = ESTALE;
		rf_reply_text(reply, "target: epoch %" PRIu64 " rules, not %" PRIu64,
			      (uint64_t)reply->epoch, (uint64_t)c->epoch);
		return;
	}
	rf_reply_text(reply,
		      "target refused epoch %" PRIu64 ": it is %s at epoch %" PRIu64
		      " of node %" PRIu32 "; its log names the reason",
		      (uint64_t)c->epoch, r.state, r.epoch, r.node);
}

/* ---- verbs ---- */

static bool bound_to(const struct target *t, const struct rf_fence_request *q)
{
	return t->bound.epoch == q->epoch && t->bound.incarnation == q->incarnation;
}

/* GRANT and EVICT: our epoch is switched in, and the connection that proves it
 * is kept. A renewal finds it alive and asks the target nothing. */
static void take(struct target *t, const struct rf_fence_request *q,
		 struct rf_fence_reply *reply)
{
	struct rf_conn c = make_conn(t, RF_CONN_DATA, q->incarnation, q->epoch);
	char name[RF_CONN_NAME_BYTES];
	enum rf_link_result rc;

	if (bound_to(t, q) && rf_link_alive(&t->data)) {
		reply->result = RF_FENCE_OK;
		return;
	}
	rf_link_drop(&t->data);
	link_begin(t, &t->data, true);
	rc = rf_link_dial(&t->data, t->uri);
	if (rc == RF_LINK_OK) {
		make_name(t, &c, name);
		t->bound = c; /* from here on it may happen */
		rc = rf_link_go(&t->data, name);
	}
	if (rc == RF_LINK_REFUSED)
		explain(t, &t->data, &c, reply);
	else if (rc != RF_LINK_OK)
		fail(reply, &t->data, rc);
	if (rc != RF_LINK_OK)
		return;
	reply->result = RF_FENCE_OK;
	rf_reply_text(reply, "target serves epoch %" PRIu64, (uint64_t)q->epoch);
}

static void shut(struct target *t, const struct rf_conn *c, struct rf_fence_reply *reply)
{
	char name[RF_CONN_NAME_BYTES];
	struct rf_link l;
	enum rf_link_result rc;

	if (t->data.nbd && t->bound.epoch <= c->epoch)
		rf_link_drop(&t->data);
	link_begin(t, &l, false);
	rc = rf_link_dial(&l, t->uri);
	if (rc == RF_LINK_OK) {
		make_name(t, c, name);
		rc = rf_link_go(&l, name);
	}
	if (rc == RF_LINK_OK) {
		if (t->bound.epoch <= c->epoch)
			memset(&t->bound, 0, sizeof(t->bound));
		reply->result = RF_FENCE_OK;
		rf_reply_text(reply, "target drained and shut epoch %" PRIu64,
			      (uint64_t)c->epoch);
	} else if (rc == RF_LINK_REFUSED) {
		explain(t, &l, c, reply);
	} else {
		fail(reply, &l, rc);
	}
	rf_link_drop(&l);
}

/* At join: whatever an earlier life of this node may still have open there, or
 * could open again if the target has just started. */
static void shut_all(struct target *t, struct rf_fence_reply *reply)
{
	struct rf_link l;
	struct report r;
	struct rf_conn c;
	enum rf_link_result rc = ask_report(t, false, &r, &l);

	if (rc != RF_LINK_OK) {
		fail(reply, &l, rc);
		return;
	}
	c = make_conn(t, RF_CONN_SHUT, r.incarnation, r.epoch);
	if (!strcmp(r.state, "idle")) {
		r.node = r.disk_node;
		c = make_conn(t, RF_CONN_SHUT, r.disk_incarnation, r.disk_epoch);
	}
	reply->epoch = c.epoch;
	if (r.node == t->node && c.epoch && strcmp(r.state, "ended")) {
		shut(t, &c, reply);
		return;
	}
	reply->result = RF_FENCE_OK;
	rf_reply_text(reply, "target serves nothing of node %" PRIu32, t->node);
}

static void revoke(struct target *t, const struct rf_fence_request *q,
		   struct rf_fence_reply *reply)
{
	struct rf_conn c = make_conn(t, RF_CONN_SHUT, q->incarnation, q->epoch);

	if (q->epoch)
		shut(t, &c, reply);
	else
		shut_all(t, reply);
}

static void verify(struct target *t, const struct rf_fence_request *q,
		   struct rf_fence_reply *reply)
{
	struct rf_link l;
	struct report r;
	enum rf_link_result rc = ask_report(t, true, &r, &l);

	if (rc != RF_LINK_OK) {
		fail(reply, &l, rc);
		return;
	}
	reply->admitted = r.admitted;
	reply->refused = r.refused;
	memcpy(reply->refused_by, r.refused_by, sizeof(reply->refused_by));
	reply->epoch = r.epoch;
	rf_reply_text(reply, "target %s epoch %" PRIu64 " of node %" PRIu32, r.state, r.epoch,
		      r.node);
	if (q->verb == RF_FENCE_STATUS) {
		reply->result = RF_FENCE_OK;
	} else if (r.epoch > q->epoch) {
		reply->result = RF_FENCE_STALE;
		reply->error = ESTALE;
	} else if (r.epoch == q->epoch && r.node == t->node &&
		   r.incarnation == q->incarnation && !strcmp(r.state, "serving")) {
		reply->result = RF_FENCE_OK;
	} else {
		reply->error = ENOENT;
	}
}

static void target_serve(void *state, const struct rf_fence_request *q,
			 struct rf_fence_reply *reply)
{
	struct target *t = state;

	if (q->node != t->node || q->volume != t->volume) {
		reply->error = EINVAL;
		rf_reply_text(reply, "request for node %u volume %u, started for %u, %u",
			      q->node, q->volume, t->node, t->volume);
		return;
	}
	switch (q->verb) {
	case RF_FENCE_GRANT:
	case RF_FENCE_EVICT:
		take(t, q, reply);
		break;
	case RF_FENCE_REVOKE:
		revoke(t, q, reply);
		break;
	case RF_FENCE_VERIFY:
	case RF_FENCE_STATUS:
		verify(t, q, reply);
		break;
	}
}

static void target_stop(void *state)
{
	struct target *t = state;
	struct rf_fence_reply reply = {0};
	struct rf_conn c = t->bound;

	t->timeout_ms = t->timeout_ms < STOP_MS ? t->timeout_ms : STOP_MS;
	if (c.epoch) {
		c.kind = RF_CONN_SHUT;
		shut(t, &c, &reply);
	}
	rf_link_drop(&t->data);
	free(t);
}

const struct rf_driver rf_driver_target = {
	.name = "target",
	.help = "  target               nbdkit with the ringfence plugin\n"
		"    uri=URI            of the server, without an export name\n"
		"    key-file=PATH      cluster keys\n"
		"    area=HEX           area id, 32 digits\n"
		"    volume=N node=N    numbers of the volume and of this node\n"
		"    timeout-ms=N       of each request (default 5000)\n",
	.can = RF_FENCE_CAN_EVICT | RF_FENCE_CAN_DRAIN,
	.start = target_start,
	.serve = target_serve,
	.stop = target_stop,
};
