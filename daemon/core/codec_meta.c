/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records around the protocol: superblock, volume, state, history. */
#include <string.h>

#include "assert.h"
#include "record.h"
#include "timing.h"

/* ---- superblock ---- */

static void encode_timing(struct rf_disk_superblock *r, const struct rf_timing *t)
{
	r->heartbeat_ms = rf_put32(t->heartbeat_ms);
	r->suspect_ms = rf_put32(t->suspect_ms);
	r->lease_ms = rf_put32(t->lease_ms);
	r->grace_ms = rf_put32(t->grace_ms);
	r->hold_ms = rf_put32(t->hold_ms);
	r->isolation_ms = rf_put32(t->isolation_ms);
	r->slot_timeout_ms = rf_put32(t->slot_timeout_ms);
	r->inflight_ms = rf_put32(t->inflight_ms);
	r->epsilon_ppm = rf_put32(t->epsilon_ppm);
}

static void decode_timing(const struct rf_disk_superblock *r, struct rf_timing *t)
{
	t->heartbeat_ms = rf_get32(r->heartbeat_ms);
	t->suspect_ms = rf_get32(r->suspect_ms);
	t->lease_ms = rf_get32(r->lease_ms);
	t->grace_ms = rf_get32(r->grace_ms);
	t->hold_ms = rf_get32(r->hold_ms);
	t->isolation_ms = rf_get32(r->isolation_ms);
	t->slot_timeout_ms = rf_get32(r->slot_timeout_ms);
	t->inflight_ms = rf_get32(r->inflight_ms);
	t->epsilon_ppm = rf_get32(r->epsilon_ppm);
}

void rf_super_encode(void *record, const struct rf_super *in, uint32_t part)
{
	struct rf_disk_superblock *r = record;

	rf_assert(part < 2);
	rf_record_begin(record, &in->id, RF_KIND_SUPERBLOCK, 0, 0, part, in->seq);
	memcpy(r->cluster_name, in->cluster_name, sizeof(r->cluster_name));
	memcpy(r->device_id, in->device_id, sizeof(r->device_id));
	r->compat = rf_put64(in->compat);
	r->ro_compat = rf_put64(in->ro_compat);
	r->incompat = rf_put64(in->incompat);
	r->area_offset_bytes = rf_put64(in->area_offset_bytes);
	r->area_strides = rf_put64(in->area_strides);
	r->created_unix_s = rf_put64(in->created_unix_s);
	r->stride_bytes = rf_put32(in->id.stride_bytes);
	r->sector_bytes = rf_put32(in->sector_bytes);
	r->nodes = rf_put16((uint16_t)in->id.nodes);
	r->volumes = rf_put16((uint16_t)in->volumes);
	r->history = rf_put16((uint16_t)in->history);
	r->state_strides = rf_put16((uint16_t)in->state_strides);
	r->disk_index = in->disk_index;
	r->disk_count = in->disk_count;
	r->place = in->place;
	r->quorum = in->quorum;
	encode_timing(r, &in->timing);
	memcpy(r->voters, in->voters, sizeof(r->voters));
	rf_record_end(record);
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool shape_sound(const struct rf_super *s)
{
	return s->id.nodes >= 1 && s->id.nodes <= RF_NODES_MAX && s->volumes >= 1 &&
	       s->volumes <= RF_VOLUMES_MAX && s->history >= RF_HISTORY_MIN &&
	       s->history <= RF_HISTORY_MAX && s->state_strides >= 1 &&
	       s->state_strides <= RF_STATE_STRIDES_MAX && power_of_two(s->id.stride_bytes) &&
	       s->id.stride_bytes >= RF_STRIDE_MIN && s->id.stride_bytes <= RF_STRIDE_MAX &&
	       power_of_two(s->sector_bytes) && s->sector_bytes >= RF_RECORD_BYTES &&
	       s->sector_bytes <= s->id.stride_bytes &&
	       s->area_offset_bytes % s->id.stride_bytes == 0 &&
	       s->area_strides == rf_geo_strides(s) && s->area_offset_bytes < (1ull << 62);
}

static bool rules_sound(const struct rf_super *s)
{
	uint32_t voters = 0;

	for (uint32_t i = 0; i < RF_NODES_MAX; i++) {
		if (!rf_bit_get(s->voters, i))
			continue;
		if (i >= s->id.nodes)
			return false;
		voters++;
	}
	return voters && (s->disk_count == 1 || s->disk_count == 3 || s->disk_count == 5) &&
	       s->disk_index < s->disk_count && s->place >= RF_PLACE_START &&
	       s->place <= RF_PLACE_WHOLE &&
	       (s->quorum == RF_QUORUM_MAJORITY || s->quorum == RF_QUORUM_SURVIVORS) &&
	       rf_timing_check(&s->timing, 0) == RF_TIMING_OK;
}

static void decode_super(const struct rf_disk_superblock *r, struct rf_super *s)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->id.cluster, r->h.cluster, RF_UUID_BYTES);
	memcpy(s->id.area, r->h.area, RF_UUID_BYTES);
	s->id.nodes = rf_get16(r->nodes);
	s->id.stride_bytes = rf_get32(r->stride_bytes);
	memcpy(s->cluster_name, r->cluster_name, sizeof(s->cluster_name));
	memcpy(s->device_id, r->device_id, sizeof(s->device_id));
	s->seq = rf_get64(r->h.seq);
	s->compat = rf_get64(r->compat);
	s->ro_compat = rf_get64(r->ro_compat);
	s->incompat = rf_get64(r->incompat);
	s->area_offset_bytes = rf_get64(r->area_offset_bytes);
	s->area_strides = rf_get64(r->area_strides);
	s->created_unix_s = rf_get64(r->created_unix_s);
	s->sector_bytes = rf_get32(r->sector_bytes);
	s->volumes = rf_get16(r->volumes);
	s->history = rf_get16(r->history);
	s->state_strides = rf_get16(r->state_strides);
	s->disk_index = r->disk_index;
	s->disk_count = r->disk_count;
	s->place = r->place;
	s->quorum = r->quorum;
	decode_timing(r, &s->timing);
	memcpy(s->voters, r->voters, sizeof(s->voters));
}

enum rf_record_verdict rf_super_decode(const void *record, struct rf_super *out)
{
	const struct rf_disk_superblock *r = record;
	enum rf_record_verdict verdict;
	struct rf_area_id self = {0};
	struct rf_super s;

	/* its own identity: checked against the configuration by whoever opens it */
	memcpy(self.cluster, r->h.cluster, RF_UUID_BYTES);
	memcpy(self.area, r->h.area, RF_UUID_BYTES);
	verdict = rf_record_check(record, &self, RF_KIND_SUPERBLOCK, 0, 0);
	if (verdict != RF_RECORD_OK)
		return verdict;
	if (rf_get32(r->h.part) > 1)
		return RF_RECORD_MISPLACED;
	decode_super(r, &s);
	if (s.incompat != 0 || !shape_sound(&s) || !rules_sound(&s) ||
	    rf_zero(s.id.area, RF_UUID_BYTES) || rf_zero(s.id.cluster, RF_UUID_BYTES) ||
	    !rf_text_ok(r->cluster_name, sizeof(r->cluster_name)) ||
	    !rf_text_ok(r->device_id, sizeof(r->device_id)) || rf_get32(r->h.zero) ||
	    !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	*out = s;
	return RF_RECORD_OK;
}

/* ---- volume descriptor ---- */

void rf_volume_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		      const struct rf_volume_desc *in)
{
	struct rf_disk_volume *r = record;

	rf_record_begin(record, id, RF_KIND_VOLUME, volume, 0, 0, in->seq);
	memcpy(r->name, in->name, sizeof(r->name));
	memcpy(r->device_id, in->device_id, sizeof(r->device_id));
	memcpy(r->uuid, in->uuid, sizeof(r->uuid));
	r->data_offset_bytes = rf_put64(in->data_offset_bytes);
	r->data_bytes = rf_put64(in->data_bytes);
	rf_record_end(record);
}

enum rf_record_verdict rf_volume_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, struct rf_volume_desc *out)
{
	const struct rf_disk_volume *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_VOLUME, volume, 0, 0);

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (!rf_text_ok(r->name, sizeof(r->name)) || r->name[0] == 0 ||
	    !rf_text_ok(r->device_id, sizeof(r->device_id)) ||
	    !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	memset(out, 0, sizeof(*out));
	out->seq = rf_get64(r->h.seq);
	memcpy(out->name, r->name, sizeof(out->name));
	memcpy(out->device_id, r->device_id, sizeof(out->device_id));
	memcpy(out->uuid, r->uuid, sizeof(out->uuid));
	out->data_offset_bytes = rf_get64(r->data_offset_bytes);
	out->data_bytes = rf_get64(r->data_bytes);
	return RF_RECORD_OK;
}

/* ---- state ---- */

void rf_state_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		     uint32_t half, const struct rf_state *in)
{
	struct rf_disk_state *r = record;

	rf_assert(half < 2);
	rf_record_begin(record, id, RF_KIND_STATE, volume, node, half, in->seq);
	r->epoch = rf_put64(in->epoch);
	r->version = rf_put64(in->version);
	r->length_bytes = rf_put32(in->length_bytes);
	r->payload_crc = rf_put32(in->payload_crc);
	rf_record_end(record);
}

enum rf_record_verdict rf_state_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, uint32_t node, uint32_t half,
				       struct rf_state *out)
{
	const struct rf_disk_state *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_STATE, volume, node, half);

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (rf_get32(r->length_bytes) > RF_STATE_STRIDES_MAX * RF_STRIDE_MAX ||
	    !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	*out = (struct rf_state){
		.seq = rf_get64(r->h.seq),
		.epoch = rf_get64(r->epoch),
		.version = rf_get64(r->version),
		.length_bytes = rf_get32(r->length_bytes),
		.payload_crc = rf_get32(r->payload_crc),
	};
	return RF_RECORD_OK;
}

bool rf_state_payload_ok(const void *half, size_t half_bytes, const struct rf_state *s)
{
	const uint8_t *payload = (const uint8_t *)half + RF_RECORD_BYTES;

	if (half_bytes < RF_RECORD_BYTES || s->length_bytes > half_bytes - RF_RECORD_BYTES)
		return false;
	return rf_crc32c(payload, s->length_bytes) == s->payload_crc;
}

/* ---- history ---- */

void rf_history_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		       uint32_t index, const struct rf_history *in)
{
	struct rf_disk_history *r = record;

	rf_record_begin(record, id, RF_KIND_HISTORY, volume, index, 0, in->seq);
	r->epoch = rf_put64(in->epoch);
	r->incarnation = rf_put64(in->incarnation);
	r->owner = rf_put32(in->owner);
	r->cause = rf_put32(in->cause);
	r->start_unix_ns = rf_put64(in->start_unix_ns);
	r->end_unix_ns = rf_put64(in->end_unix_ns);
	r->end_cause = rf_put32(in->end_cause);
	r->prev_owner = rf_put32(in->prev_owner);
	r->prev_epoch = rf_put64(in->prev_epoch);
	r->suspect_us = rf_put32(in->suspect_us);
	r->prevote_us = rf_put32(in->prevote_us);
	r->claim_us = rf_put32(in->claim_us);
	r->exclude_us = rf_put32(in->exclude_us);
	r->open_us = rf_put32(in->open_us);
	r->reconcile_us = rf_put32(in->reconcile_us);
	r->excluded_by = rf_put32(in->excluded_by);
	memcpy(r->host, in->host, sizeof(r->host));
	r->host[sizeof(r->host) - 1] = 0;
	rf_record_end(record);
}

enum rf_record_verdict rf_history_decode(const void *record, const struct rf_area_id *id,
					 uint32_t volume, uint32_t index,
					 struct rf_history *out)
{
	const struct rf_disk_history *r = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, RF_KIND_HISTORY, volume, index, 0);

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (rf_get32(r->cause) > RF_CAUSE_LAST || rf_get32(r->end_cause) > RF_CAUSE_LAST ||
	    rf_get32(r->owner) > id->nodes || rf_get32(r->prev_owner) > id->nodes ||
	    !rf_text_ok(r->host, sizeof(r->host)) || !rf_zero(r->reserved, sizeof(r->reserved)))
		return RF_RECORD_BAD_VERSION;
	memset(out, 0, sizeof(*out));
	out->seq = rf_get64(r->h.seq);
	out->epoch = rf_get64(r->epoch);
	out->incarnation = rf_get64(r->incarnation);
	out->owner = rf_get32(r->owner);
	out->cause = rf_get32(r->cause);
	out->start_unix_ns = rf_get64(r->start_unix_ns);
	out->end_unix_ns = rf_get64(r->end_unix_ns);
	out->end_cause = rf_get32(r->end_cause);
	out->prev_owner = rf_get32(r->prev_owner);
	out->prev_epoch = rf_get64(r->prev_epoch);
	out->suspect_us = rf_get32(r->suspect_us);
	out->prevote_us = rf_get32(r->prevote_us);
	out->claim_us = rf_get32(r->claim_us);
	out->exclude_us = rf_get32(r->exclude_us);
	out->open_us = rf_get32(r->open_us);
	out->reconcile_us = rf_get32(r->reconcile_us);
	out->excluded_by = rf_get32(r->excluded_by);
	memcpy(out->host, r->host, sizeof(out->host));
	return RF_RECORD_OK;
}
