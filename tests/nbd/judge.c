/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The judge of quorum writes and the map of the area, by many random records
 * (quorum.h, area.h). Whatever passes must be the connection's own and must
 * take nothing back; said again here in other words than the judge's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fence/nbd/quorum.h"
#include "format/codec.h"

#define ROUNDS 300000u

void rf_assert_failed(const char *what, const char *file, int line);

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	abort();
}

static struct rf_area area;
static struct rf_super super;
static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static int setup(void **state)
{
	const char *given = getenv("RF_SEED");

	(void)state;
	seed = given ? strtoull(given, NULL, 0) : 20261129;
	print_message("# seed %llu\n", (unsigned long long)seed);
	memset(area.id.cluster, 1, RF_UUID_BYTES);
	memset(area.id.area, 2, RF_UUID_BYTES);
	area.id.nodes = 3;
	area.id.stride_bytes = 4096;
	area.sector_bytes = 512;
	area.volumes = 2;
	area.history = 8;
	area.state_strides = 2;
	area.disk_count = 1;
	super = (struct rf_super){.id = area.id,
				  .volumes = area.volumes,
				  .history = area.history,
				  .state_strides = area.state_strides};
	area.strides = rf_geo_strides(&super);
	return 0;
}

/* The plugin's map, read backwards, against the daemon's. */
static void test_map(void **state)
{
	uint64_t s;

	(void)state;
	for (s = 0; s < area.strides; s++) {
		struct rf_place p = rf_area_locate(&area, s * 4096 + dice(4096));
		uint64_t want = 0;

		switch (p.kind) {
		case RF_KIND_SUPERBLOCK:
			want = s ? rf_geo_copy(&super) : 0;
			break;
		case RF_KIND_SLOT:
			want = rf_geo_slot(&super, p.index);
			break;
		case RF_KIND_MAILBOX:
			want = rf_geo_mailbox(&super, p.index);
			break;
		case RF_KIND_VOLUME:
			want = rf_geo_volume(&super, p.volume);
			break;
		case RF_KIND_EPOCH:
			want = rf_geo_region(&super, p.volume);
			break;
		case RF_KIND_BALLOT:
			want = rf_geo_ballot(&super, p.volume, p.index);
			break;
		case RF_KIND_HISTORY:
			want = rf_geo_history(&super, p.volume, p.index);
			break;
		case RF_KIND_STATE:
			want = rf_geo_state(&super, p.volume, p.index, p.part);
			assert_true(s * 4096 >= want && s * 4096 < want + 2 * 4096);
			break;
		default:
			fail_msg("stride %llu has no place", (unsigned long long)s);
		}
		assert_int_equal(p.base_bytes, want);
	}
	assert_int_equal(rf_area_locate(&area, area.strides * 4096).kind, 0);
	assert_int_equal(rf_area_locate(&area, UINT64_MAX).kind, 0);
}

/* A record with a right checksum and small numbers, mostly in its place. */
static void roll(uint8_t *record, const struct rf_place *p)
{
	struct rf_disk_header *h = (void *)record;
	uint32_t i, crc;

	memset(record, 0, 8192);
	for (i = sizeof(*h); i < 160; i += 4)
		record[i] = (uint8_t)dice(4);
	h->magic = RF_DISK_MAGIC;
	h->version = RF_FORMAT_VERSION;
	h->kind = (__le16)(dice(30) ? p->kind : dice(10));
	memcpy(h->cluster, area.id.cluster, RF_UUID_BYTES);
	memcpy(h->area, area.id.area, RF_UUID_BYTES);
	h->index = dice(30) ? p->index : dice(5);
	h->volume = dice(30) ? p->volume : dice(3);
	h->part = p->part;
	h->seq = dice(4);
	if (p->kind == RF_KIND_EPOCH)
		((struct rf_disk_epoch *)h)->state =
			dice(2) ? RF_EPOCH_CLAIMED : RF_EPOCH_RELEASED;
	if (p->kind == RF_KIND_SLOT)
		((struct rf_disk_slot *)h)->state = RF_SLOT_JOINED;
	if (p->kind == RF_KIND_MAILBOX)
		((struct rf_disk_mailbox *)h)->order = dice(2) ? RF_ORDER_STOP : RF_ORDER_NONE;
	if (p->kind == RF_KIND_STATE) {
		struct rf_disk_state *st = (void *)h;

		st->length_bytes = dice(20) ? dice(100) : dice(1u << 31) * 2;
		st->payload_crc = st->length_bytes < 4096 && dice(9)
					  ? rf_crc32c(record + 512, st->length_bytes)
					  : 7;
	}
	if (p->kind == RF_KIND_BALLOT) {
		struct rf_disk_ballot *b = (void *)h;

		b->mbal = dice(4) << RF_BALLOT_NODE_BITS | (dice(9) ? p->index : dice(5));
		b->bal = dice(2) ? 0 : dice(4) << RF_BALLOT_NODE_BITS | p->index;
	}
	crc = rf_crc32c(record, RF_CRC_OFFSET);
	memcpy(record + RF_CRC_OFFSET, &crc, 4);
}

/* What must be so of anything that passed. */
static bool harmless(const struct rf_place *p, const struct rf_conn *c, const uint8_t *new,
		     const uint8_t *old)
{
	const struct rf_disk_epoch *ne = (const void *)new, *oe = (const void *)old;
	const struct rf_disk_ballot *nb = (const void *)new, *ob = (const void *)old;
	const struct rf_disk_slot *ns = (const void *)new, *os = (const void *)old;
	const struct rf_disk_mailbox *nm = (const void *)new, *om = (const void *)old;
	bool stood = rf_record_check(old, &area.id, p->kind, p->volume, p->index) == 0;

	switch (p->kind) {
	case RF_KIND_EPOCH:
		return ne->owner == c->node && ne->epoch &&
		       (!stood || ne->epoch > oe->epoch ||
			(ne->epoch == oe->epoch && ne->owner == oe->owner &&
			 ne->incarnation == oe->incarnation));
	case RF_KIND_BALLOT:
		return p->index == c->node && nb->bal <= nb->mbal &&
		       (!stood || nb->instance > ob->instance ||
			(nb->instance == ob->instance && nb->mbal >= ob->mbal &&
			 nb->bal >= ob->bal));
	case RF_KIND_SLOT:
		return p->index == c->node &&
		       (!stood || (ns->generation >= os->generation && ns->h.seq >= os->h.seq));
	case RF_KIND_MAILBOX:
		return (!nm->from || nm->from == c->node) &&
		       (!stood || om->order != RF_ORDER_STOP || nm->order == RF_ORDER_STOP);
	case RF_KIND_STATE:
		return p->index == c->node;
	case RF_KIND_HISTORY:
		return ((const struct rf_disk_history *)new)->owner == c->node;
	}
	return false;
}

static void test_judge(void **state)
{
	static uint8_t new[8192], old[8192];
	unsigned i, passed = 0;

	(void)state;
	for (i = 0; i < ROUNDS; i++) {
		struct rf_place p =
			rf_area_locate(&area, dice((uint32_t)area.strides) * 4096ull);
		struct rf_conn c = {.node = 1 + dice(3), .incarnation = dice(2)};
		size_t bytes = dice(2) ? 512 : 4096;

		roll(new, &p);
		roll(old, &p);
		if (!dice(8))
			old[dice(512)] ^= 1;
		if (rf_quorum_judge(&area, &c, &p, new, bytes, old) != RF_QUORUM_OK)
			continue;
		passed++;
		if (!harmless(&p, &c, new, old))
			fail_msg("round %u: kind %u passed", i, p.kind);
	}
	print_message("# %u of %u passed\n", passed, ROUNDS);
	assert_true(passed > ROUNDS / 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_judge),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
