// SPDX-License-Identifier: GPL-2.0-only
/*
 * Self-test of debug builds: the parts that need no device.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "gate.h"

#define NODES 3u
#define EPOCH 7ull
#define LIFE 0x1122334455667788ull

static const struct rf_area_id id = {
	.cluster = {1, 2, 3}, .area = {4, 5, 6}, .nodes = NODES, .stride_bytes = 4096};

static void seal(void *record, u16 kind, u32 index)
{
	struct rf_disk_header *h = record;

	h->magic = cpu_to_le32(RF_DISK_MAGIC);
	h->version = cpu_to_le16(RF_FORMAT_VERSION);
	h->kind = cpu_to_le16(kind);
	memcpy(h->cluster, id.cluster, sizeof(h->cluster));
	memcpy(h->area, id.area, sizeof(h->area));
	h->index = cpu_to_le32(index);
	*(__le32 *)(record + RF_CRC_OFFSET) = cpu_to_le32(RF_CRC32C(record, RF_CRC_OFFSET));
}

static void put_sector(void *region, u64 epoch, u32 owner, u64 life, u32 state)
{
	struct rf_disk_epoch *e = region;

	e->epoch = cpu_to_le64(epoch);
	e->owner = cpu_to_le32(owner);
	e->incarnation = cpu_to_le64(life);
	e->state = cpu_to_le32(state);
	seal(e, RF_KIND_EPOCH, 0);
}

static void put_ballot(void *region, u32 node, u64 instance, u64 bal)
{
	struct rf_disk_ballot *b = region + node * id.stride_bytes;

	b->instance = cpu_to_le64(instance);
	b->bal = cpu_to_le64(bal);
	seal(b, RF_KIND_BALLOT, node);
}

static void put_owned(void *region)
{
	u32 i;

	put_sector(region, EPOCH, 2, LIFE, RF_EPOCH_CLAIMED);
	for (i = 1; i <= NODES; i++)
		put_ballot(region, i, EPOCH, 0);
}

static bool is(const void *region, enum rf_claim_verdict want, const char *what)
{
	enum rf_claim_verdict got = rf_claim_check(region, &id, 0, EPOCH, 2, LIFE, NULL);

	if (got != want)
		DMERR("self-test: %s: verdict %d, not %d", what, got, want);
	return got == want;
}

static bool test_claims(void *region)
{
	bool ok = true;

	ok &= is(region, RF_CLAIM_UNREADABLE, "all zero bytes");
	put_owned(region);
	ok &= is(region, RF_CLAIM_OWNED, "owned");
	put_ballot(region, 3, EPOCH + 1, 0);
	ok &= is(region, RF_CLAIM_OWNED, "an attempt at e+1");
	put_ballot(region, 3, EPOCH + 1, 1);
	ok &= is(region, RF_CLAIM_SUPERSEDED, "a vote for e+1");
	put_ballot(region, 3, EPOCH + 2, 0);
	ok &= is(region, RF_CLAIM_SUPERSEDED, "an attempt at e+2");
	put_owned(region);
	put_sector(region, EPOCH + 1, 1, 5, RF_EPOCH_CLAIMED);
	ok &= is(region, RF_CLAIM_SUPERSEDED, "a later sector");
	put_sector(region, EPOCH, 2, LIFE + 1, RF_EPOCH_CLAIMED);
	ok &= is(region, RF_CLAIM_OTHER, "another life");
	put_sector(region, EPOCH, 2, LIFE, RF_EPOCH_RELEASED);
	ok &= is(region, RF_CLAIM_RELEASED, "released");
	put_owned(region);
	((u8 *)region)[100] ^= 1;
	ok &= is(region, RF_CLAIM_UNREADABLE, "a flipped bit");
	return ok;
}

static bool test_majority(void)
{
	struct rf_disk *d = kcalloc(RF_DISKS_MAX, sizeof(*d), GFP_KERNEL);
	bool ok;

	if (!d)
		return false;
	d[0].good_ns = 50;
	ok = rf_disks_verified(d, 1) == 50 && rf_disks_verified(d, 3) == 0;
	d[1].good_ns = 30;
	ok &= rf_disks_verified(d, 3) == 30;
	d[2].good_ns = 40;
	ok &= rf_disks_verified(d, 3) == 40 && rf_disks_verified(d, 5) == 30;
	d[4].good_ns = 50;
	ok &= rf_disks_verified(d, 5) == 40;
	if (!ok)
		DMERR("self-test: majority of the disks");
	kfree(d);
	return ok;
}

bool rf_selftest(void)
{
	void *region = kzalloc(rf_claim_region_bytes(&id), GFP_KERNEL);
	bool ok = region && RF_CRC32C("123456789", 9) == 0xe3069283u;

	if (!ok)
		DMERR("self-test: crc32c, or no memory");
	ok = ok && test_claims(region);
	ok &= test_majority();
	kfree(region);
	if (ok)
		DMINFO("self-test passed");
	return ok;
}
