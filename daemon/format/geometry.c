/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where records lie: the map of format.h, as byte offsets from stride 0. */
#include "assert.h"
#include "codec.h"

/* First strides of the parts D, C, H, T of the map, and its end. */
static uint64_t stride_volumes(const struct rf_super *s)
{
	return 1 + 2ull * s->id.nodes;
}

static uint64_t stride_claims(const struct rf_super *s)
{
	return stride_volumes(s) + s->volumes;
}

static uint64_t stride_history(const struct rf_super *s)
{
	return stride_claims(s) + (uint64_t)s->volumes * (s->id.nodes + 1);
}

static uint64_t stride_state(const struct rf_super *s)
{
	return stride_history(s) + (uint64_t)s->volumes * s->history;
}

static uint64_t bytes(const struct rf_super *s, uint64_t strides)
{
	rf_assert(s->id.stride_bytes >= RF_STRIDE_MIN);
	return strides * s->id.stride_bytes;
}

uint64_t rf_geo_strides(const struct rf_super *s)
{
	rf_assert(s->id.nodes >= 1 && s->id.nodes <= RF_NODES_MAX);
	rf_assert(s->volumes >= 1 && s->volumes <= RF_VOLUMES_MAX);
	rf_assert(s->state_strides >= 1 && s->state_strides <= RF_STATE_STRIDES_MAX);
	return stride_state(s) + 2ull * s->state_strides * s->id.nodes * s->volumes + 1;
}

uint64_t rf_geo_slot(const struct rf_super *s, uint32_t node)
{
	rf_assert(node >= 1 && node <= s->id.nodes);
	return bytes(s, 1 + 2ull * (node - 1));
}

uint64_t rf_geo_mailbox(const struct rf_super *s, uint32_t node)
{
	return rf_geo_slot(s, node) + s->id.stride_bytes;
}

uint64_t rf_geo_volume(const struct rf_super *s, uint32_t volume)
{
	rf_assert(volume < s->volumes);
	return bytes(s, stride_volumes(s) + volume);
}

uint64_t rf_geo_region(const struct rf_super *s, uint32_t volume)
{
	rf_assert(volume < s->volumes);
	return bytes(s, stride_claims(s) + (uint64_t)volume * (s->id.nodes + 1));
}

uint64_t rf_geo_ballot(const struct rf_super *s, uint32_t volume, uint32_t node)
{
	rf_assert(node >= 1 && node <= s->id.nodes);
	return rf_geo_region(s, volume) + bytes(s, node);
}

uint64_t rf_geo_history(const struct rf_super *s, uint32_t volume, uint32_t index)
{
	rf_assert(volume < s->volumes);
	rf_assert(index < s->history);
	return bytes(s, stride_history(s) + (uint64_t)volume * s->history + index);
}

uint64_t rf_geo_state(const struct rf_super *s, uint32_t volume, uint32_t node, uint32_t half)
{
	uint64_t halves;

	rf_assert(volume < s->volumes);
	rf_assert(node >= 1 && node <= s->id.nodes);
	rf_assert(half <= 1);
	halves = 2 * ((uint64_t)volume * s->id.nodes + node - 1) + half;
	return bytes(s, stride_state(s) + halves * s->state_strides);
}

uint64_t rf_geo_copy(const struct rf_super *s)
{
	return bytes(s, rf_geo_strides(s) - 1);
}

uint64_t rf_geo_region_bytes(const struct rf_super *s)
{
	return bytes(s, s->id.nodes + 1);
}

uint64_t rf_geo_slots_bytes(const struct rf_super *s)
{
	return bytes(s, 2ull * s->id.nodes);
}

uint64_t rf_geo_half_bytes(const struct rf_super *s)
{
	return bytes(s, s->state_strides);
}

uint32_t rf_geo_payload_bytes(const struct rf_super *s)
{
	uint64_t half = rf_geo_half_bytes(s);

	rf_assert(half > RF_RECORD_BYTES && half <= UINT32_MAX);
	return (uint32_t)half - RF_RECORD_BYTES;
}
