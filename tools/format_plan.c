/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `format` is going to write: geometry, offsets, timings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format.h"
#include "inequality.h"
#include "out.h"
#include "tool.h"
#include "words.h"

#define DATA_ALIGN_BYTES (1ull << 20)
#define MEASURE_READS 64u

/* ---- geometry ---- */

static uint32_t largest(const struct plan *p, bool physical)
{
	uint32_t max = 0, v;
	unsigned i;

	for (i = 0; i < p->disks; i++) {
		v = p->disk[i].logical_bytes;
		if (physical && p->disk[i].physical_bytes > v)
			v = p->disk[i].physical_bytes;
		if (v > max)
			max = v;
	}
	return max;
}

static int set_sectors(struct plan *p)
{
	uint32_t stride = largest(p, true);

	if (stride < RF_STRIDE_MIN)
		stride = RF_STRIDE_MIN;
	if (stride > RF_STRIDE_MAX || (stride & (stride - 1)))
		return fail(RF_EXIT_BAD_VALUE,
			    "%s: sectors of %u bytes are not supported (at most %u)",
			    p->disk[0].path, stride, RF_STRIDE_MAX);
	p->super.id.stride_bytes = stride;
	p->super.sector_bytes = largest(p, false);
	return 0;
}

static int set_state(struct plan *p, uint32_t payload_bytes)
{
	uint32_t stride = p->super.id.stride_bytes;
	uint64_t strides = ((uint64_t)payload_bytes + RF_RECORD_BYTES + stride - 1) / stride;

	if (payload_bytes < RF_STATE_PAYLOAD_MIN || strides > RF_STATE_STRIDES_MAX)
		return fail(RF_EXIT_BAD_VALUE,
			    "--state-bytes %u: wants %u to %u (strides of %u bytes)",
			    payload_bytes, RF_STATE_PAYLOAD_MIN,
			    RF_STATE_STRIDES_MAX * stride - RF_RECORD_BYTES, stride);
	p->super.state_strides = (uint32_t)strides;
	return 0;
}

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static int place_one(struct plan *p, unsigned i)
{
	uint32_t stride = p->super.id.stride_bytes;
	uint64_t area = p->super.area_strides * stride;
	uint64_t size = p->disk[i].size_bytes / stride * stride;
	uint64_t head =
		p->super.place == RF_PLACE_START ? align_up(area, DATA_ALIGN_BYTES) : area;
	uint64_t rest = p->super.place == RF_PLACE_WHOLE ? 0 : DATA_ALIGN_BYTES;

	if (size < head + rest)
		return fail(
			RF_EXIT_BAD_VALUE,
			"%s: too small: %" PRIu64 " bytes, the area needs %" PRIu64
			"%s; fewer --nodes, --volumes, --history or --state-bytes need less",
			p->disk[i].path, p->disk[i].size_bytes, head,
			rest ? " and data 1 MiB" : "");
	p->offset_bytes[i] = p->super.place == RF_PLACE_END ? size - area : 0;
	return 0;
}

static void place_data(struct plan *p)
{
	uint64_t size =
		p->disk[0].size_bytes / p->super.id.stride_bytes * p->super.id.stride_bytes;

	if (p->super.place == RF_PLACE_END)
		p->data_bytes = p->offset_bytes[0];
	if (p->super.place != RF_PLACE_START)
		return;
	p->data_offset_bytes =
		align_up(p->super.area_strides * p->super.id.stride_bytes, DATA_ALIGN_BYTES);
	p->data_bytes = size - p->data_offset_bytes;
}

int format_layout(struct plan *p)
{
	/* the plan carries the wish in bytes until the stride is known */
	uint32_t payload_bytes = p->super.state_strides;
	int rc = set_sectors(p);
	unsigned i;

	if (!rc)
		rc = set_state(p, payload_bytes);
	if (rc)
		return rc;
	p->super.area_strides = rf_geo_strides(&p->super);
	for (i = 0; i < p->disks && !rc; i++)
		rc = place_one(p, i);
	if (!rc)
		place_data(p);
	return rc;
}

/* ---- timing ---- */

int format_timing_judge(const struct rf_timing *t, uint32_t worst_us)
{
	enum rf_timing_rule rule = rf_timing_check(t, worst_us);
	char text[INEQUALITY_BYTES];

	if (rule == RF_TIMING_OK)
		return 0;
	inequality_text(text, rule, t, worst_us);
	return fail(RF_EXIT_BAD_VALUE,
		    "timings refused: %s does not hold: %s. Choose another --profile or change "
		    "one of these",
		    rf_timing_words(rule), text);
}

int format_timing(struct plan *p)
{
	uint32_t us;
	unsigned i;
	int rc;

	for (i = 0; i < p->disks; i++) {
		rc = disk_measure(&p->disk[i], p->offset_bytes[i], MEASURE_READS, &us);
		if (rc)
			return fail(RF_EXIT_IO, "%s: read error at byte %" PRIu64 ": %s",
				    p->disk[i].path, p->offset_bytes[i], strerror(-rc));
		if (us > p->read_us)
			p->read_us = us;
	}
	return format_timing_judge(&p->super.timing, p->read_us);
}

/* ---- showing it ---- */

static void add_disks(const struct plan *p, struct json_object *doc)
{
	struct json_object *a = out_array(doc, "disks");
	uint64_t area = p->super.area_strides * p->super.id.stride_bytes;
	unsigned i;

	for (i = 0; i < p->disks; i++) {
		struct json_object *o = out_row(a);
		const struct disk *d = &p->disk[i];

		out_text(o, "device", d->path);
		out_int(o, "index", i);
		out_text(o, "identity", d->device_id[0] ? d->device_id : NULL);
		out_u64(o, "size_bytes", d->size_bytes);
		out_int(o, "logical_sector_bytes", d->logical_bytes);
		out_int(o, "physical_sector_bytes", d->physical_bytes);
		out_u64(o, "area_offset_bytes", p->offset_bytes[i]);
		out_u64(o, "area_end_bytes", p->offset_bytes[i] + area);
	}
}

static void add_volumes(const struct plan *p, struct json_object *doc)
{
	struct json_object *a = out_array(doc, "volume");
	uint32_t v;

	for (v = 0; v < p->super.volumes; v++) {
		struct json_object *o = out_row(a);
		bool here = !v && p->super.place != RF_PLACE_WHOLE;

		out_int(o, "index", v);
		out_text(o, "name", p->names[v]);
		out_uuid(o, "uuid", p->uuids[v]);
		out_text(o, "device", here ? p->disk[0].path : NULL);
		out_u64(o, "data_offset_bytes", here ? p->data_offset_bytes : 0);
		out_u64(o, "data_bytes", here ? p->data_bytes : 0);
	}
}

static void add_part(struct json_object *a, const char *name, uint64_t from, uint64_t to)
{
	struct json_object *o = out_row(a);

	out_text(o, "part", name);
	out_u64(o, "offset_bytes", from);
	out_u64(o, "bytes", to - from);
}

static void add_layout(const struct rf_super *s, struct json_object *doc)
{
	struct json_object *a = out_array(doc, "layout");
	uint64_t slots = rf_geo_slot(s, 1), volumes = rf_geo_volume(s, 0);
	uint64_t claims = rf_geo_region(s, 0), history = rf_geo_history(s, 0, 0);
	uint64_t state = rf_geo_state(s, 0, 1, 0), copy = rf_geo_copy(s);

	add_part(a, "superblock", 0, slots);
	add_part(a, "slots and mailboxes", slots, volumes);
	add_part(a, "volumes", volumes, claims);
	add_part(a, "claim regions", claims, history);
	add_part(a, "history", history, state);
	add_part(a, "state", state, copy);
	add_part(a, "superblock copy", copy, copy + s->id.stride_bytes);
}

static struct json_object *plan_doc(const struct plan *p)
{
	const struct rf_super *s = &p->super;
	struct json_object *doc = out_doc();
	uint32_t r_us = p->write_us > p->read_us ? p->write_us : p->read_us;

	out_bool(doc, "dry_run", p->dry_run);
	out_text(doc, "cluster", s->cluster_name);
	out_uuid(doc, "cluster_uuid", s->id.cluster);
	out_uuid(doc, "area_uuid", s->id.area);
	out_int(doc, "nodes", s->id.nodes);
	words_add_bits(doc, "voters", s->voters, s->id.nodes, 1);
	out_int(doc, "volumes", s->volumes);
	out_text(doc, "reserve", words_place(s->place));
	out_text(doc, "quorum", words_quorum(s->quorum));
	out_int(doc, "stride_bytes", s->id.stride_bytes);
	out_int(doc, "sector_bytes", s->sector_bytes);
	out_u64(doc, "area_bytes", s->area_strides * s->id.stride_bytes);
	out_int(doc, "history", s->history);
	out_int(doc, "state_bytes", rf_geo_payload_bytes(s));
	words_add_timing(doc, &s->timing);
	out_int(doc, "measured_read_us", p->read_us);
	if (p->write_us)
		out_int(doc, "measured_write_us", p->write_us);
	else
		out_null(doc, "measured_write_us");
	words_add_failover(doc, &s->timing, r_us, RTT_ASSUMED_US);
	add_disks(p, doc);
	add_volumes(p, doc);
	add_layout(s, doc);
	return doc;
}

static const struct out_col plan_pairs[] = {
	{"Cluster", "cluster", 0, 0},
	{"Cluster UUID", "cluster_uuid", 0, 0},
	{"Area UUID", "area_uuid", 0, 0},
	{"Nodes", "nodes", 0, 0},
	{"Voters", "voters", OUT_LIST, 0},
	{"Volumes", "volumes", 0, 0},
	{"Reserve", "reserve", 0, 0},
	{"Quorum rule", "quorum", 0, 0},
	{"Stride", "stride_bytes", OUT_BYTES, 0},
	{"Sector", "sector_bytes", OUT_BYTES, 0},
	{"Area", "area_bytes", OUT_BYTES, 0},
	{"History entries", "history", 0, 0},
	{"State payload", "state_bytes", OUT_BYTES, 0},
	{"Heartbeat", "heartbeat_ms", OUT_MS, 0},
	{"Suspect", "suspect_ms", OUT_MS, 0},
	{"Lease", "lease_ms", OUT_MS, 0},
	{"Grace", "grace_ms", OUT_MS, 0},
	{"Hold", "hold_ms", OUT_MS, 0},
	{"Isolation", "isolation_ms", OUT_MS, 0},
	{"Slot timeout", "slot_timeout_ms", OUT_MS, 0},
	{"In-flight", "inflight_ms", OUT_MS, 0},
	{"Drift (ppm)", "epsilon_ppm", 0, 0},
	{"Worst read measured", "measured_read_us", OUT_US, 0},
	{"Worst write measured", "measured_write_us", OUT_US, 0},
	{"Worst failover, expiry", "failover_expiry_ms", OUT_MS, 0},
	{"Worst failover, target", "failover_target_ms", OUT_MS, 0},
};

static const struct out_col disk_cols[] = {
	{"DISK", "index", 0, true},
	{"DEVICE", "device", 0, 0},
	{"SIZE", "size_bytes", OUT_BYTES, true},
	{"LOGICAL", "logical_sector_bytes", 0, true},
	{"PHYSICAL", "physical_sector_bytes", 0, true},
	{"AREA-FROM", "area_offset_bytes", 0, true},
	{"AREA-TO", "area_end_bytes", 0, true},
	{"IDENTITY", "identity", 0, 0},
};

static const struct out_col volume_cols[] = {
	{"VOLUME", "index", 0, true},
	{"NAME", "name", 0, 0},
	{"DEVICE", "device", 0, 0},
	{"DATA-FROM", "data_offset_bytes", 0, true},
	{"DATA-BYTES", "data_bytes", 0, true},
};

static const struct out_col layout_cols[] = {
	{"PART", "part", 0, 0},
	{"FROM", "offset_bytes", 0, true},
	{"BYTES", "bytes", 0, true},
};

void format_show(const struct plan *p)
{
	struct json_object *doc = plan_doc(p);

	if (tool.json) {
		out_print(doc);
		return;
	}
	out_pairs(doc, plan_pairs, OUT_N(plan_pairs));
	putchar('\n');
	out_table(json_object_object_get(doc, "disks"), disk_cols, OUT_N(disk_cols));
	putchar('\n');
	out_table(json_object_object_get(doc, "volume"), volume_cols, OUT_N(volume_cols));
	putchar('\n');
	out_table(json_object_object_get(doc, "layout"), layout_cols, OUT_N(layout_cols));
	json_object_put(doc);
}
