/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and events of the control socket as JSON objects. */
#include <inttypes.h>

#include "format/names.h"
#include "out.h"
#include "ringfence/fence.h"
#include "rows.h"
#include "words.h"

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void unix_ms(struct json_object *o, const char *key, uint64_t ns)
{
	if (ns)
		out_int(o, key, (int64_t)(ns / 1000000));
	else
		out_null(o, key);
}

static void incarnation(struct json_object *o, const char *key, const char *hex_key, uint64_t v)
{
	if (v) {
		out_u64(o, key, v);
		out_format(o, hex_key, "%016" PRIx64, v);
	} else {
		out_u64_null(o, key);
		out_null(o, hex_key);
	}
}

static void node_id(struct json_object *o, const char *key, uint32_t node)
{
	if (node)
		out_int(o, key, node);
	else
		out_null(o, key);
}

void rows_daemon(struct json_object *o, const struct rf_ctl_daemon *d)
{
	static const char *const reasons[RF_REJECT_COUNT] = {
		[RF_REJECT_SHORT] = "short", [RF_REJECT_MAGIC] = "magic",
		[RF_REJECT_AREA] = "area",   [RF_REJECT_KEY] = "key",
		[RF_REJECT_SEAL] = "seal",   [RF_REJECT_REPLAY] = "replay",
		[RF_REJECT_LIFE] = "life",   [RF_REJECT_FORM] = "form"};
	struct json_object *rejected;
	unsigned i;

	out_int(o, "pid", d->pid);
	out_text(o, "release", d->release);
	out_int(o, "uptime_ms", (int64_t)((d->now_ns - d->started_ns) / 1000000));
	if (d->paused_unix_ns)
		out_int(o, "paused_unix_ms", (int64_t)(d->paused_unix_ns / 1000000));
	else
		out_null(o, "paused_unix_ms");
	out_bool(o, "memory_locked", d->memory_locked);
	out_bool(o, "realtime", d->realtime);
	out_text(o, "watchdog", words_watchdog(d->watchdog));
	out_int(o, "watchdog_timeout_s", d->watchdog_s);
	out_text(o, "watchdog_reason", or_null(d->watchdog_text));
	out_text(o, "reset_by_watchdog", or_null(d->watchdog_last));
	out_int(o, "loop_delay_max_us", d->loop_delay_max_us);
	out_u64(o, "disk_operations", d->disk_ops);
	out_u64(o, "datagrams_sent", d->datagrams_sent);
	out_u64(o, "datagrams_received", d->datagrams_received);
	out_u64(o, "datagrams_rejected", d->datagrams_rejected);
	rejected = out_object(o, "rejected_by_reason");
	for (i = 0; i < RF_REJECT_COUNT; i++)
		out_int(rejected, reasons[i], d->rejected_by_reason[i]);
	out_u64(o, "log_lines_lost", d->log_lost);
}

struct rf_timing rows_timing(const struct rf_ctl_area *a)
{
	return (struct rf_timing){.heartbeat_ms = a->heartbeat_ms,
				  .suspect_ms = a->suspect_ms,
				  .lease_ms = a->lease_ms,
				  .grace_ms = a->grace_ms,
				  .hold_ms = a->hold_ms,
				  .isolation_ms = a->isolation_ms,
				  .slot_timeout_ms = a->slot_timeout_ms,
				  .inflight_ms = a->inflight_ms,
				  .epsilon_ppm = a->epsilon_ppm};
}

void rows_area(struct json_object *o, const struct rf_ctl_area *a)
{
	const struct rf_timing t = rows_timing(a);
	char buf[WORDS_BYTES];

	out_text(o, "cluster", a->cluster);
	out_uuid(o, "cluster_uuid", a->cluster_uuid);
	out_uuid(o, "area_uuid", a->area_uuid);
	out_int(o, "node", a->node);
	out_bool(o, "joined", a->joined);
	incarnation(o, "incarnation", "incarnation_hex", a->incarnation);
	out_u64(o, "generation", a->generation);
	out_int(o, "nodes", a->nodes);
	out_int(o, "volumes", a->volumes);
	out_int(o, "disks", a->disks);
	out_int(o, "disks_good", a->disks_good);
	out_text(o, "quorum", words_quorum(a->quorum_rule));
	words_add_timing(o, &t);
	out_text(o, "health", words_health(buf, a->health));
	out_int(o, "write_us", a->write_us);
	out_int(o, "read_us", a->read_us);
	out_int(o, "worst_us", a->worst_us);
	out_text(o, "waiting", or_null(a->waiting));
}

/* Only a leader has a lease; its two values mean nothing on others. */
static void volume_lease(struct json_object *o, const struct rf_ctl_volume *v)
{
	bool leads = v->role >= RF_ROLE_LOADING && v->role <= RF_ROLE_ACTIVE;

	if (leads) {
		out_int(o, "lease_left_ms", v->lease_left_ms);
		out_int(o, "margin_min_ms", v->margin_min_ms);
		out_null(o, "silent_ms");
	} else {
		out_null(o, "lease_left_ms");
		out_null(o, "margin_min_ms");
		out_int(o, "silent_ms", (int64_t)v->silent_ms);
	}
}

void rows_volume(struct json_object *o, const struct rf_ctl_volume *v)
{
	char buf[WORDS_BYTES];

	out_text(o, "volume", v->name);
	out_int(o, "index", v->volume);
	out_int(o, "area", v->area);
	out_text(o, "role", rf_role_word(v->role));
	out_bool(o, "has_leader", v->has_leader);
	node_id(o, "leader", v->has_leader ? v->owner : 0);
	out_text(o, "leader_host", v->has_leader ? or_null(v->owner_host) : NULL);
	out_u64(o, "epoch", v->epoch);
	node_id(o, "owner", v->owner);
	out_text(o, "owner_host", or_null(v->owner_host));
	incarnation(o, "owner_incarnation", "owner_incarnation_hex", v->owner_incarnation);
	unix_ms(o, "since_unix_ms", v->since_unix_ns);
	out_text(o, "cause", rf_cause_word(v->cause));
	out_text(o, "excluded_by", words_ways(buf, v->excluded_by));
	volume_lease(o, v);
	out_bool(o, "suspected", v->suspected);
	out_bool(o, "unreadable", v->unreadable);
	out_u64(o, "writes_refused", (uint64_t)v->refused_hi << 32 | v->refused_lo);
	out_text(o, "fence", or_null(v->driver));
	out_bool(o, "fence_can_evict", v->can & RF_FENCE_CAN_EVICT);
	out_bool(o, "fence_has_deadline", v->can & RF_FENCE_CAN_DEADLINE);
	out_bool(o, "fence_drains", v->can & RF_FENCE_CAN_DRAIN);
	out_text(o, "weakest", or_null(v->weakest));
}

static void age(struct json_object *o, const char *key, int64_t ms)
{
	if (ms < 0)
		out_null(o, key);
	else
		out_int(o, key, ms);
}

void rows_node(struct json_object *o, const struct rf_ctl_node *n)
{
	char buf[WORDS_BYTES];

	out_int(o, "node", n->node);
	out_int(o, "area", n->area);
	out_text(o, "host", or_null(n->host));
	out_text(o, "state", words_slot_state(n->state));
	out_text(o, "health", words_health(buf, n->health));
	incarnation(o, "incarnation", "incarnation_hex", n->incarnation);
	out_u64(o, "slot_sequence", n->seq);
	age(o, "net_age_ms", n->net_age_ms);
	age(o, "disk_age_ms", n->disk_age_ms);
	if (n->rtt_us)
		out_int(o, "rtt_us", n->rtt_us);
	else
		out_null(o, "rtt_us");
	out_int(o, "priority", n->priority);
	out_int(o, "gates_open", n->gates_open);
	out_int(o, "hears", n->hears);
}

void rows_event(struct json_object *o, const struct rf_ctl_event *e)
{
	out_text(o, "event", words_event(e->event));
	out_u64(o, "sequence", e->sequence);
	unix_ms(o, "unix_ms", e->unix_ns);
	out_int(o, "lost", e->lost);
	out_text(o, "volume", or_null(e->volume));
	node_id(o, "node", e->node);
	node_id(o, "prev_node", e->prev_node);
	out_u64(o, "epoch", e->epoch);
	out_u64(o, "prev_epoch", e->prev_epoch);
	out_text(o, "role", rf_role_word(e->role));
	out_text(o, "prev_role", rf_role_word(e->prev_role));
	out_text(o, "cause", rf_cause_word(e->cause));
	incarnation(o, "incarnation", "incarnation_hex", e->incarnation);
	if (e->deadline_ns)
		out_u64(o, "deadline_boot_ns", e->deadline_ns);
	else
		out_u64_null(o, "deadline_boot_ns");
	out_text(o, "text", or_null(e->text));
}
