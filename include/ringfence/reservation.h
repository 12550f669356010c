/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys of persistent reservations (PROTOCOL §8a).
 *
 *   63..56  0x52 ('R')
 *   55..48  tag of the volume: a device of another volume or cluster, attached by
 *           mistake, shows foreign keys instead of plausible ones
 *   47..40  node, 1..RF_NODES_MAX
 *   39      not settled: no takeover has been verified yet with this key. Whoever finds it
 *           of somebody who went away cannot know that the writes of those before were
 *           aborted, and waits the grace
 *   38..0   epoch, never 0
 *
 * Keys of `ringfence doctor`, which stand there for a moment: 0x4452 ('DR'), and 48
 * bits by chance.
 *
 * A key names one leadership. PREEMPT names the key that it replaces, so it is a
 * compare-and-swap at the target: a late preempt of a stale winner finds nothing.
 */
#ifndef RINGFENCE_RESERVATION_H
#define RINGFENCE_RESERVATION_H

#include <linux/types.h>
#include <stdbool.h>

#include "limits.h"

#define RF_PR_KEY_MAGIC 0x52ull
#define RF_PR_TEST_MAGIC 0x4452ull
#define RF_PR_UNSETTLED (1ull << 39)
#define RF_PR_EPOCH_MAX ((1ull << 39) - 1)

static inline __u64 rf_pr_key(__u8 tag, __u32 node, __u64 epoch)
{
	return RF_PR_KEY_MAGIC << 56 | (__u64)tag << 48 | (__u64)(node & 0xff) << 40 |
	       (epoch & RF_PR_EPOCH_MAX);
}

static inline __u64 rf_pr_key_epoch(__u64 key)
{
	return key & RF_PR_EPOCH_MAX;
}

static inline __u32 rf_pr_key_node(__u64 key)
{
	return (__u32)(key >> 40) & 0xff;
}

_Static_assert(RF_NODES_MAX <= 0xff, "a node's number fits in a key");

/* The same leadership, settled or not. */
static inline bool rf_pr_key_same(__u64 a, __u64 b)
{
	return !((a ^ b) & ~RF_PR_UNSETTLED);
}

/* Made by ringfence for this volume? */
static inline bool rf_pr_key_ours(__u64 key, __u8 tag)
{
	__u32 node = rf_pr_key_node(key);

	return key >> 56 == RF_PR_KEY_MAGIC && (__u8)(key >> 48) == tag && node >= 1 &&
	       node <= RF_NODES_MAX && rf_pr_key_epoch(key) != 0;
}

/* The lowest bits are left for the paths of a host, the highest for a key of nobody. */
static inline __u64 rf_pr_key_for_test(__u64 random)
{
	return RF_PR_TEST_MAGIC << 48 | (random & 0x7fffffffff00ull);
}

/* Left by a doctor who was killed, or one who is at work? */
static inline bool rf_pr_key_test(__u64 key)
{
	return key >> 48 == RF_PR_TEST_MAGIC;
}

/* FNV-1a over area and volume number, folded to 8 bits. */
static inline __u8 rf_pr_tag(const __u8 area[RF_UUID_BYTES], __u32 volume)
{
	__u32 h = 2166136261u;
	unsigned i;

	for (i = 0; i < RF_UUID_BYTES; i++)
		h = (h ^ area[i]) * 16777619u;
	for (i = 0; i < 4; i++)
		h = (h ^ (volume >> (8 * i) & 0xff)) * 16777619u;
	return (__u8)(h ^ h >> 8 ^ h >> 16 ^ h >> 24);
}

#endif
