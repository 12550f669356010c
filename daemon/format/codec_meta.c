/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that say what an area is and was: superblock, volume, state, history. */
#include "codec_bytes.h"
#include "timing.h"

static bool node_exists(const struct rf_area_id *id, uint32_t node)
{
	return node >= 1 && node <= id->nodes;
}

/* ---- superblock ---- */

static bool power_of_two(uint32_t v, uint32_t min, uint32_t max)
{
	return v >= min && v <= max && !(v & (v - 1));
}

static bool shape_ok(const struct rf_super *s)
{
	const struct rf_area_id *id = &s->id;

	if (!power_of_two(id->stride_bytes, RF_STRIDE_MIN, RF_STRIDE_MAX) ||
	    !power_of_two(s->sector_bytes, RF_RECORD_BYTES, id->stride_bytes))
		return false;
	if (id->nodes < 1 || id->nodes > RF_NODES_MAX || s->volumes < 1 ||
	    s->volumes > RF_VOLUMES_MAX)
		return false;
	return s->history >= RF_HISTORY_MIN && s->history <= RF_HISTORY_MAX &&
	       s->state_strides >= 1 && s->state_strides <= RF_STATE_STRIDES_MAX &&
	       s->state_strides * id->stride_bytes >= RF_RECORD_BYTES + RF_STATE_PAYLOAD_MIN;
}

/* Needs shape_ok(): then no product below overflows. */
static bool extent_ok(const struct rf_super *s)
{
	uint64_t area_bytes = s->area_strides * s->id.stride_bytes;

	return s->area_strides == rf_geo_strides(s) &&
	       s->area_offset_bytes % s->id.stride_bytes == 0 &&
	       s->area_offset_bytes <= INT64_MAX - area_bytes;
}

static bool disks_ok(const struct rf_super *s)
{
	return (s->disk_count == 1 || s->disk_count == 3 || s->disk_count == 5) &&
	       s->disk_index < s->disk_count;
}

static bool place_ok(const struct rf_super *s)
{
	return s->place == RF_PLACE_START || s->place == RF_PLACE_END ||
	       s->place == RF_PLACE_WHOLE;
}

/* Somebody must be able to vote, and only nodes that exist. */
static bool quorum_ok(const struct rf_super *s)
{
	return (s->quorum == RF_QUORUM_MAJORITY || s->quorum == RF_QUORUM_SURVIVORS) &&
	       !all_zero(s->voters, sizeof(s->voters)) &&
	       map_ok(s->voters, s->id.nodes, RF_NODES_MAX);
}

static bool super_ok(const struct rf_super *s)
{
	return shape_ok(s) && extent_ok(s) && disks_ok(s) && place_ok(s) && quorum_ok(s) &&
	       text_ok(s->cluster_name, sizeof(s->cluster_name)) &&
	       text_ok(s->device_id, sizeof(s->device_id)) &&
	       rf_timing_check(&s->timing, 0) == RF_TIMING_OK;
}

static void super_timing_encode(struct rf_disk_superblock *d, const struct rf_timing *t)
{
	d->heartbeat_ms = put32(t->heartbeat_ms);
	d->suspect_ms = put32(t->suspect_ms);
	d->lease_ms = put32(t->lease_ms);
	d->grace_ms = put32(t->grace_ms);
	d->hold_ms = put32(t->hold_ms);
	d->isolation_ms = put32(t->isolation_ms);
	d->slot_timeout_ms = put32(t->slot_timeout_ms);
	d->inflight_ms = put32(t->inflight_ms);
	d->epsilon_ppm = put32(t->epsilon_ppm);
}

void rf_super_encode(void *record, const struct rf_super *in, uint32_t part)
{
	struct rf_disk_superblock *d = record;

	rf_assert(shape_ok(in) && extent_ok(in));
	rf_assert(disks_ok(in) && place_ok(in) && quorum_ok(in));
	rf_assert(rf_timing_check(&in->timing, 0) == RF_TIMING_OK);
	rf_record_begin(record, &in->id,
			(struct place){.kind = RF_KIND_SUPERBLOCK, .part = part}, in->seq);
	put_text(d->cluster_name, in->cluster_name, sizeof(d->cluster_name));
	put_text(d->device_id, in->device_id, sizeof(d->device_id));
	d->compat = put64(in->compat);
	d->ro_compat = put64(in->ro_compat);
	d->incompat = put64(in->incompat);
	d->area_offset_bytes = put64(in->area_offset_bytes);
	d->area_strides = put64(in->area_strides);
	d->created_unix_s = put64(in->created_unix_s);
	d->stride_bytes = put32(in->id.stride_bytes);
	d->sector_bytes = put32(in->sector_bytes);
	d->nodes = put16((uint16_t)in->id.nodes);
	d->volumes = put16((uint16_t)in->volumes);
	d->history = put16((uint16_t)in->history);
	d->state_strides = put16((uint16_t)in->state_strides);
	d->disk_index = in->disk_index;
	d->disk_count = in->disk_count;
	d->place = in->place;
	d->quorum = in->quorum;
	super_timing_encode(d, &in->timing);
	memcpy(d->voters, in->voters, sizeof(d->voters));
	rf_record_seal(record);
}

static void super_timing_fields(struct rf_timing *t, const struct rf_disk_superblock *d)
{
	*t = (struct rf_timing){
		.heartbeat_ms = rf_get32(d->heartbeat_ms),
		.suspect_ms = rf_get32(d->suspect_ms),
		.lease_ms = rf_get32(d->lease_ms),
		.grace_ms = rf_get32(d->grace_ms),
		.hold_ms = rf_get32(d->hold_ms),
		.isolation_ms = rf_get32(d->isolation_ms),
		.slot_timeout_ms = rf_get32(d->slot_timeout_ms),
		.inflight_ms = rf_get32(d->inflight_ms),
		.epsilon_ppm = rf_get32(d->epsilon_ppm),
	};
}

static void super_fields(struct rf_super *s, const struct rf_disk_superblock *d)
{
	*s = (struct rf_super){
		.seq = rf_get64(d->h.seq),
		.compat = rf_get64(d->compat),
		.ro_compat = rf_get64(d->ro_compat),
		.incompat = rf_get64(d->incompat),
		.area_offset_bytes = rf_get64(d->area_offset_bytes),
		.area_strides = rf_get64(d->area_strides),
		.created_unix_s = rf_get64(d->created_unix_s),
		.sector_bytes = rf_get32(d->sector_bytes),
		.volumes = rf_get16(d->volumes),
		.history = rf_get16(d->history),
		.state_strides = rf_get16(d->state_strides),
		.disk_index = d->disk_index,
		.disk_count = d->disk_count,
		.place = d->place,
		.quorum = d->quorum,
	};
	s->id.nodes = rf_get16(d->nodes);
	s->id.stride_bytes = rf_get32(d->stride_bytes);
	memcpy(s->id.cluster, d->h.cluster, RF_UUID_BYTES);
	memcpy(s->id.area, d->h.area, RF_UUID_BYTES);
	memcpy(s->cluster_name, d->cluster_name, sizeof(s->cluster_name));
	memcpy(s->device_id, d->device_id, sizeof(s->device_id));
	memcpy(s->voters, d->voters, sizeof(s->voters));
	super_timing_fields(&s->timing, d);
}

/* The reader learns the identity from the record itself, and either copy will do:
 * which of the two it is (h.part) is the reader's business. */
enum rf_record_verdict rf_super_decode(const void *record, struct rf_super *out)
{
	const struct rf_disk_superblock *d = record;
	enum rf_record_verdict verdict;
	struct rf_super s;

	super_fields(&s, d);
	verdict = rf_record_check(record, &s.id, RF_KIND_SUPERBLOCK, 0, 0);
	if (verdict != RF_RECORD_OK)
		return verdict;
	if (rf_get32(d->h.part) > 1)
		return RF_RECORD_MISPLACED;
	/* No incompat feature is known yet: any bit means "not for you". */
	if (rf_get32(d->h.zero) || s.incompat || !super_ok(&s))
		return RF_RECORD_BAD_VERSION;
	rf_assert(rf_geo_payload_bytes(&s) >= RF_STATE_PAYLOAD_MIN);
	*out = s;
	return RF_RECORD_OK;
}

/* ---- volume descriptor ---- */

static struct place volume_place(uint32_t volume)
{
	return (struct place){.kind = RF_KIND_VOLUME, .volume = volume};
}

void rf_volume_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		      const struct rf_volume_desc *in)
{
	struct rf_disk_volume *d = record;

	rf_record_begin(record, id, volume_place(volume), in->seq);
	put_text(d->name, in->name, sizeof(d->name));
	put_text(d->device_id, in->device_id, sizeof(d->device_id));
	memcpy(d->uuid, in->uuid, sizeof(d->uuid));
	d->data_offset_bytes = put64(in->data_offset_bytes);
	d->data_bytes = put64(in->data_bytes);
	rf_record_seal(record);
}

enum rf_record_verdict rf_volume_decode(const void *record, const struct rf_area_id *id,
					uint32_t volume, struct rf_volume_desc *out)
{
	const struct rf_disk_volume *d = record;
	enum rf_record_verdict verdict = rf_record_open(record, id, volume_place(volume));

	if (verdict != RF_RECORD_OK)
		return verdict;
	if (!text_ok(d->name, sizeof(d->name)) || !text_ok(d->device_id, sizeof(d->device_id)))
		return RF_RECORD_BAD_VERSION;
	*out = (struct rf_volume_desc){
		.seq = rf_get64(d->h.seq),
		.data_offset_bytes = rf_get64(d->data_offset_bytes),
		.data_bytes = rf_get64(d->data_bytes),
	};
	memcpy(out->name, d->name, sizeof(out->name));
	memcpy(out->device_id, d->device_id, sizeof(out->device_id));
	memcpy(out->uuid, d->uuid, sizeof(out->uuid));
	return RF_RECORD_OK;
}

/* ---- committed state ---- */

static struct place state_place(uint32_t volume, uint32_t node, uint32_t half)
{
	return (struct place){
		.kind = RF_KIND_STATE, .volume = volume, .index = node, .part = half};
}

static bool state_ok(const struct rf_state *s, const struct rf_area_id *id)
{
	if (!s->epoch)
		return !s->version && !s->length_bytes && !s->payload_crc;
	return s->length_bytes <= RF_STATE_STRIDES_MAX * id->stride_bytes - RF_RECORD_BYTES;
}

void rf_state_encode(void *record, const struct rf_area_id *id, uint32_t volume, uint32_t node,
		     uint32_t half, const struct rf_state *in)
{
	struct rf_disk_state *d = record;

	rf_assert(node_exists(id, node));
	rf_assert(state_ok(in, id));
	rf_record_begin(record, id, state_place(volume, node, half), in->seq);
	d->epoch = put64(in->epoch);
	d->version = put64(in->version);
	d->length_bytes = put32(in->length_bytes);
	d->payload_crc = put32(in->payload_crc);
	rf_record_seal(record);
}

enum rf_record_verdict rf_state_decode(const void *record, const struct rf_area_id *id,
				       uint32_t volume, uint32_t node, uint32_t half,
				       struct rf_state *out)
{
	const struct rf_disk_state *d = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, state_place(volume, node, half));
	struct rf_state s;

	rf_assert(node_exists(id, node));
	if (verdict != RF_RECORD_OK)
		return verdict;
	s = (struct rf_state){
		.seq = rf_get64(d->h.seq),
		.epoch = rf_get64(d->epoch),
		.version = rf_get64(d->version),
		.length_bytes = rf_get32(d->length_bytes),
		.payload_crc = rf_get32(d->payload_crc),
	};
	if (!state_ok(&s, id))
		return RF_RECORD_BAD_VERSION;
	*out = s;
	return RF_RECORD_OK;
}

bool rf_state_payload_ok(const void *half, size_t half_bytes, const struct rf_state *s)
{
	if (!s->epoch)
		return true;
	if (half_bytes < RF_RECORD_BYTES || s->length_bytes > half_bytes - RF_RECORD_BYTES)
		return false;
	return rf_crc32c((const char *)half + RF_RECORD_BYTES, s->length_bytes) ==
	       s->payload_crc;
}

/* ---- history ---- */

static struct place history_place(uint32_t volume, uint32_t index)
{
	return (struct place){.kind = RF_KIND_HISTORY, .volume = volume, .index = index};
}

static bool history_ok(const struct rf_history *h, const struct rf_area_id *id)
{
	if (!h->epoch)
		return !h->owner && !h->incarnation;
	return node_exists(id, h->owner) && h->incarnation && h->prev_owner <= id->nodes &&
	       h->cause <= RF_CAUSE_LAST && h->end_cause <= RF_CAUSE_LAST;
}

void rf_history_encode(void *record, const struct rf_area_id *id, uint32_t volume,
		       uint32_t index, const struct rf_history *in)
{
	struct rf_disk_history *d = record;

	rf_assert(history_ok(in, id));
	rf_record_begin(record, id, history_place(volume, index), in->seq);
	d->epoch = put64(in->epoch);
	d->incarnation = put64(in->incarnation);
	d->owner = put32(in->owner);
	d->cause = put32(in->cause);
	d->start_unix_ns = put64(in->start_unix_ns);
	d->end_unix_ns = put64(in->end_unix_ns);
	d->end_cause = put32(in->end_cause);
	d->prev_owner = put32(in->prev_owner);
	d->prev_epoch = put64(in->prev_epoch);
	d->suspect_us = put32(in->suspect_us);
	d->prevote_us = put32(in->prevote_us);
	d->claim_us = put32(in->claim_us);
	d->exclude_us = put32(in->exclude_us);
	d->open_us = put32(in->open_us);
	d->reconcile_us = put32(in->reconcile_us);
	d->excluded_by = put32(in->excluded_by);
	put_text(d->host, in->host, sizeof(d->host));
	rf_record_seal(record);
}

static void history_fields(struct rf_history *h, const struct rf_disk_history *d)
{
	*h = (struct rf_history){
		.seq = rf_get64(d->h.seq),
		.epoch = rf_get64(d->epoch),
		.incarnation = rf_get64(d->incarnation),
		.start_unix_ns = rf_get64(d->start_unix_ns),
		.end_unix_ns = rf_get64(d->end_unix_ns),
		.prev_epoch = rf_get64(d->prev_epoch),
		.owner = rf_get32(d->owner),
		.prev_owner = rf_get32(d->prev_owner),
		.cause = rf_get32(d->cause),
		.end_cause = rf_get32(d->end_cause),
		.excluded_by = rf_get32(d->excluded_by),
		.suspect_us = rf_get32(d->suspect_us),
		.prevote_us = rf_get32(d->prevote_us),
		.claim_us = rf_get32(d->claim_us),
		.exclude_us = rf_get32(d->exclude_us),
		.open_us = rf_get32(d->open_us),
		.reconcile_us = rf_get32(d->reconcile_us),
	};
	memcpy(h->host, d->host, sizeof(h->host));
}

enum rf_record_verdict rf_history_decode(const void *record, const struct rf_area_id *id,
					 uint32_t volume, uint32_t index,
					 struct rf_history *out)
{
	const struct rf_disk_history *d = record;
	enum rf_record_verdict verdict =
		rf_record_open(record, id, history_place(volume, index));
	struct rf_history h;

	if (verdict != RF_RECORD_OK)
		return verdict;
	history_fields(&h, d);
	if (!history_ok(&h, id) || !text_ok(h.host, sizeof(h.host)))
		return RF_RECORD_BAD_VERSION;
	*out = h;
	return RF_RECORD_OK;
}
