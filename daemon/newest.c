/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The newest state of a volume, see newest.h. */
#include <string.h>

#include "newest.h"

void rf_newest_half(struct rf_newest *n, const struct rf_super *super, uint32_t volume,
		    uint32_t node, uint32_t half, const uint8_t *bytes)
{
	struct rf_state s;

	if (rf_state_decode(bytes, &super->id, volume, node, half, &s) != RF_RECORD_OK ||
	    !rf_state_payload_ok(bytes, rf_geo_half_bytes(super), &s) || !s.epoch)
		return;
	if (s.epoch < n->epoch || (s.epoch == n->epoch && s.version <= n->version))
		return;
	n->epoch = s.epoch;
	n->version = s.version;
	n->node = node;
	n->bytes = s.length_bytes;
	memcpy(n->payload, bytes + RF_RECORD_BYTES, s.length_bytes);
}

void rf_newest_disk(struct rf_newest *n, const struct rf_super *super, uint32_t volume,
		    const uint8_t *states)
{
	uint64_t half = rf_geo_half_bytes(super);

	for (uint32_t i = 0; i < 2 * super->id.nodes; i++)
		rf_newest_half(n, super, volume, i / 2 + 1, i % 2, states + i * half);
}
