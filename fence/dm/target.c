// SPDX-License-Identifier: GPL-2.0-only
/*
 * What device-mapper sees: arguments, bios, status, messages.
 */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uuid.h>

#include "gate.h"

/* ---- table arguments ---- */

static int fail(struct dm_target *ti, char *why)
{
	ti->error = why;
	return -EINVAL;
}

static int parse_number(struct dm_arg_set *as, u64 min, u64 max, u64 *out)
{
	const char *word = dm_shift_arg(as);

	return !word || kstrtou64(word, 10, out) || *out < min || *out > max ? -EINVAL : 0;
}

/* A number of the table, its bounds, and what to say if it is not within. */
struct rf_word {
	u32 *out, min, max;
	char *error;
};

static int parse_words(struct dm_target *ti, struct dm_arg_set *as, const struct rf_word *w,
		       unsigned int count)
{
	u64 v;

	for (; count--; w++) {
		if (parse_number(as, w->min, w->max, &v))
			return fail(ti, w->error);
		*w->out = v;
	}
	return 0;
}

static int parse_uuid(struct dm_arg_set *as, u8 *out)
{
	const char *word = dm_shift_arg(as);
	uuid_t uuid;

	if (!word || strlen(word) != UUID_STRING_LEN || uuid_parse(word, &uuid))
		return -EINVAL;
	export_uuid(out, &uuid);
	return 0;
}

/* DEVICE OFFSET_SECTORS; `sectors` must fit behind the offset. */
static int parse_device(struct dm_target *ti, struct dm_arg_set *as, sector_t sectors,
			struct dm_dev **dev, sector_t *offset)
{
	const char *path = dm_shift_arg(as);
	u64 at;
	int r;

	if (parse_number(as, 0, U64_MAX >> SECTOR_SHIFT, &at))
		return fail(ti, "Offset is not a number of sectors");
	r = dm_get_device(ti, path, dm_table_get_mode(ti->table), dev);
	if (r) {
		ti->error = "Device lookup failed";
		return r;
	}
	if (at > bdev_nr_sectors((*dev)->bdev) || sectors > bdev_nr_sectors((*dev)->bdev) - at)
		return fail(ti, "Device is too small for offset and length");
	if (at << SECTOR_SHIFT & (bdev_logical_block_size((*dev)->bdev) - 1))
		return fail(ti, "Offset is not a multiple of the device's logical block size");
	*offset = at;
	return 0;
}

static int parse_identity(struct dm_target *ti, struct dm_arg_set *as, struct rf_gate *g)
{
	const struct rf_word words[] = {
		{&g->node, 1, RF_NODES_MAX, "Node must be 1 to 128"},
		{&g->volume, 0, RF_VOLUMES_MAX - 1, "Volume must be below 256"},
		{&g->id.nodes, 1, RF_NODES_MAX, "Number of nodes must be 1 to 128"},
		{&g->id.stride_bytes, RF_STRIDE_MIN, RF_STRIDE_MAX,
		 "Stride must be a power of two from 4096 to 65536"},
	};

	if (parse_words(ti, as, words, ARRAY_SIZE(words)))
		return -EINVAL;
	if (g->node > g->id.nodes)
		return fail(ti, "Node must be one of the nodes");
	if (!is_power_of_2(g->id.stride_bytes))
		return fail(ti, words[3].error);
	if (parse_uuid(as, g->id.cluster))
		return fail(ti, "Cluster is not a UUID");
	if (parse_uuid(as, g->id.area))
		return fail(ti, "Area is not a UUID");
	return 0;
}

static int parse_times(struct dm_target *ti, struct dm_arg_set *as, struct rf_gate *g)
{
	u32 lease_ms, check_ms, hold_ms;
	const struct rf_word words[] = {
		{&lease_ms, RF_GATE_LEASE_MS_MIN, RF_GATE_LEASE_MS_MAX,
		 "Lease must be 100 to 600000 ms"},
		{&check_ms, RF_GATE_CHECK_MS_MIN, RF_GATE_LEASE_MS_MAX,
		 "Check interval must be 10 ms to the lease"},
		{&hold_ms, 0, RF_GATE_HOLD_MS_MAX, "Hold time must be at most 600000 ms"},
	};

	if (parse_words(ti, as, words, ARRAY_SIZE(words)))
		return -EINVAL;
	if (check_ms > lease_ms)
		return fail(ti, words[1].error);
	g->lease_ns = (u64)lease_ms * NSEC_PER_MSEC;
	g->interval_ns = (u64)check_ms * NSEC_PER_MSEC;
	g->hold_ns = (u64)hold_ms * NSEC_PER_MSEC;
	return 0;
}

static int parse_regions(struct dm_target *ti, struct dm_arg_set *as, struct rf_gate *g)
{
	sector_t sectors = rf_claim_region_bytes(&g->id) >> SECTOR_SHIFT;
	u64 disks;
	u32 i, k;
	int r;

	if (parse_number(as, 1, RF_DISKS_MAX, &disks) || !(disks & 1))
		return fail(ti, "Number of claim regions must be 1, 3 or 5");
	if (as->argc < 2 * disks)
		return fail(ti, "A claim region lacks its device or offset");
	for (i = 0; i < disks; i++) {
		struct rf_disk *d = &g->disks[i];

		r = parse_device(ti, as, sectors, &d->dev, &d->sector);
		if (d->dev)
			g->disk_count = i + 1;
		if (r)
			return r;
		if (g->id.stride_bytes & (bdev_logical_block_size(d->dev->bdev) - 1))
			return fail(ti, "Stride is below a claim device's logical block size");
		if (d->dev->bdev == g->bdev && d->sector < g->offset + ti->len &&
		    g->offset < d->sector + sectors)
			return fail(ti, "A claim region overlaps the data");
		for (k = 0; k < i; k++)
			if (g->disks[k].dev->bdev == d->dev->bdev)
				return fail(ti, "Two claim regions on one device");
		r = rf_disk_init(g, d);
		if (r) {
			ti->error = "No memory for a claim region";
			return r;
		}
	}
	return 0;
}

static int parse_features(struct dm_target *ti, struct dm_arg_set *as, struct rf_gate *g)
{
	u64 count = 0;

	g->refusal = BLK_STS_OFFLINE;
	if (as->argc && parse_number(as, 0, as->argc - 1, &count))
		return fail(ti, "Number of features does not fit the arguments");
	if (as->argc != count)
		return fail(ti, "Too many arguments");
	while (count--) {
		const char *word = dm_shift_arg(as);

		if (!strcmp(word, RF_GATE_FEATURE_READS))
			g->gate_reads = true;
		else if (!strcmp(word, RF_GATE_FEATURE_CONFLICT))
			g->refusal = RF_STS_CONFLICT;
		else
			return fail(ti, "Unknown feature (gate_reads, conflict)");
	}
	return 0;
}

static void free_gate(struct dm_target *ti, struct rf_gate *g)
{
	unsigned int i;

	for (i = 0; i < g->disk_count; i++) {
		rf_disk_exit(&g->disks[i]);
		dm_put_device(ti, g->disks[i].dev);
	}
	if (g->dev)
		dm_put_device(ti, g->dev);
	kfree(g);
}

static int target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct dm_arg_set as = {.argc = argc, .argv = argv};
	struct rf_gate *g;
	int r;

	if (argc < RF_GATE_WORDS_MIN)
		return fail(ti, "Too few arguments");
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g) {
		ti->error = "No memory for the gate";
		return -ENOMEM;
	}
	g->ti = ti;
	g->begin = ti->begin;
	r = parse_device(ti, &as, ti->len, &g->dev, &g->offset);
	if (!r) {
		g->bdev = g->dev->bdev;
		r = parse_identity(ti, &as, g);
	}
	r = r ?: parse_times(ti, &as, g);
	r = r ?: parse_regions(ti, &as, g);
	r = r ?: parse_features(ti, &as, g);
	if (!r) {
		r = rf_gate_init(g);
		if (r)
			ti->error = "No memory for the gate";
	}
	if (r) {
		free_gate(ti, g);
		return r;
	}
	/* even on a device without a cache: fsync must fail when writes would */
	ti->flush_supported = true;
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_secure_erase_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->per_io_data_size = sizeof(struct rf_io);
	ti->private = g;
	return 0;
}

static void target_dtr(struct dm_target *ti)
{
	struct rf_gate *g = ti->private;

	rf_gate_exit(g);
	free_gate(ti, g);
}

/* ---- bios ---- */

/* An allow-list: whatever is not a plain read needs the gate to be open. */
static int target_map(struct dm_target *ti, struct bio *bio)
{
	struct rf_io *io = dm_per_bio_data(bio, sizeof(*io));
	struct rf_gate *g = ti->private;

	io->counted = false;
	if (bio_op(bio) != REQ_OP_READ || g->gate_reads) {
		if (unlikely(!rf_gate_enter(g)))
			return rf_gate_slow(g, bio);
		io->counted = true;
	}
	rf_gate_remap(g, bio);
	return DM_MAPIO_REMAPPED;
}

static int target_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct rf_io *io = dm_per_bio_data(bio, sizeof(*io));
	struct rf_gate *g = ti->private;

	if (!io->counted)
		return DM_ENDIO_DONE;
	io->counted = false;
	/* §8: what completes after the deadline must not be believed */
	if (unlikely(rf_gate_leave(g)) && !*error) {
		*error = g->refusal;
		this_cpu_inc(g->counters->late);
	}
	return DM_ENDIO_DONE;
}

/* ---- status ---- */

static void status_info(struct rf_gate *g, char *result, unsigned int maxlen)
{
	struct rf_counters c;
	u64 now = ktime_get_boottime_ns(), end;
	unsigned int sz = 0;

	rf_gate_sum(g, &c);
	spin_lock_irq(&g->lock);
	end = g->state == RF_GATE_HOLDING ? g->hold_end_ns : g->deadline_ns;
	DMEMIT("state=%s why=%s epoch=%llu left_ms=%llu seen=%llu", rf_gate_states[g->state],
	       rf_gate_whys[g->why], g->epoch, end > now ? (end - now) / NSEC_PER_MSEC : 0,
	       g->seen);
	DMEMIT(" in_flight=%llu held=%u admitted=%llu", c.admitted - c.finished, g->held_count,
	       c.admitted);
	DMEMIT(" refused_closed=%llu refused_expired=%llu", c.refused[RF_REFUSED_CLOSED],
	       c.refused[RF_REFUSED_EXPIRED]);
	DMEMIT(" refused_superseded=%llu refused_revoked=%llu",
	       c.refused[RF_REFUSED_SUPERSEDED], c.refused[RF_REFUSED_REVOKED]);
	DMEMIT(" late=%llu drain_us=%llu checks=%llu check_errors=%llu inherited=%u", c.late,
	       DIV_ROUND_UP_ULL(g->drain_ns, NSEC_PER_USEC), g->checks, g->check_errors,
	       g->inherited);
	spin_unlock_irq(&g->lock);
}

/* The arguments of the constructor, exactly. */
static void status_table(struct rf_gate *g, char *result, unsigned int maxlen)
{
	bool conflict = g->refusal == RF_STS_CONFLICT;
	unsigned int i, sz = 0;

	DMEMIT("%s %llu %u %u %u %u %pUb %pUb %llu %llu %llu %u", g->dev->name,
	       (unsigned long long)g->offset, g->node, g->volume, g->id.nodes,
	       g->id.stride_bytes, g->id.cluster, g->id.area, g->lease_ns / NSEC_PER_MSEC,
	       g->interval_ns / NSEC_PER_MSEC, g->hold_ns / NSEC_PER_MSEC, g->disk_count);
	for (i = 0; i < g->disk_count; i++)
		DMEMIT(" %s %llu", g->disks[i].dev->name,
		       (unsigned long long)g->disks[i].sector);
	if (g->gate_reads || conflict)
		DMEMIT(" %u%s%s", g->gate_reads + conflict,
		       g->gate_reads ? " " RF_GATE_FEATURE_READS : "",
		       conflict ? " " RF_GATE_FEATURE_CONFLICT : "");
}

static void target_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			  char *result, unsigned int maxlen)
{
	struct rf_gate *g = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		status_info(g, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		status_table(g, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		/* only what does not change while the table is loaded */
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,offset=%llu,node=%u,volume=%u;", g->dev->name,
		       (unsigned long long)g->offset, g->node, g->volume);
		break;
	}
}

/* ---- messages ---- */

static int message_grant(struct rf_gate *g, unsigned int argc, char **argv)
{
	u64 v[3];
	unsigned int i;

	if (argc != 4)
		return -EINVAL;
	for (i = 0; i < 3; i++)
		if (kstrtou64(argv[i + 1], 10, &v[i]) || !v[i])
			return -EINVAL;
	return rf_gate_grant(g, v[0], v[1], v[2]);
}

static int message_revoke(struct rf_gate *g, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	unsigned int wait_ms = RF_GATE_REVOKE_WAIT_MS, sz = 0;
	struct rf_counters c;

	if (argc > 2 || (argc == 2 && kstrtouint(argv[1], 10, &wait_ms)))
		return -EINVAL;
	if (rf_gate_revoke(g, min(wait_ms, RF_GATE_REVOKE_WAIT_MS_MAX)))
		return DMEMIT(RF_GATE_DRAINED), 1;
	rf_gate_sum(g, &c);
	return DMEMIT(RF_GATE_DRAINING " %llu", c.admitted - c.finished), 1;
}

static int target_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	struct rf_gate *g = ti->private;

	if (argc && !strcasecmp(argv[0], RF_GATE_GRANT))
		return message_grant(g, argc, argv);
	if (argc && !strcasecmp(argv[0], RF_GATE_REVOKE))
		return message_revoke(g, argc, argv, result, maxlen);
	if (argc == 1 && !strcasecmp(argv[0], RF_GATE_CHECK)) {
		rf_gate_check(g);
		return 0;
	}
	DMWARN("unknown message (grant, revoke, check)");
	return -EINVAL;
}

/* ---- the rest ---- */

static int target_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn,
				  void *data)
{
	struct rf_gate *g = ti->private;

	return fn(ti, g->dev, g->offset, ti->len, data);
}

/* No prepare_ioctl: passthrough stays out. No dax: stores would bypass map(). */
struct target_type rf_target = {
	.name = RF_GATE_TARGET,
	.version = {RF_GATE_VERSION_MAJOR, RF_GATE_VERSION_MINOR, RF_GATE_VERSION_PATCH},
	.features = DM_TARGET_SINGLETON | DM_TARGET_NOWAIT | DM_TARGET_PASSES_INTEGRITY |
		    DM_TARGET_PASSES_CRYPTO | RF_TARGET_ATOMIC_WRITES,
	.module = THIS_MODULE,
	.ctr = target_ctr,
	.dtr = target_dtr,
	.map = target_map,
	.end_io = target_end_io,
	.presuspend = rf_gate_presuspend,
	.presuspend_undo = rf_gate_resume,
	.postsuspend = rf_gate_postsuspend,
	.resume = rf_gate_resume,
	.status = target_status,
	.message = target_message,
	.iterate_devices = target_iterate_devices,
};
