/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: quorum disks, the devices of volumes, latencies against the timing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "doctor.h"
#include "format/timing.h"
#include "inequality.h"
#include "line.h"
#include "tool.h"
#include "worker.h"

#define READS 64u

/* ---- one quorum disk ---- */

static bool found(const struct disk *d)
{
	switch (d->found) {
	case FOUND_GOOD:
		return true;
	case FOUND_COPY:
		doctor_say(DOCTOR_WARN, "area", d->path, "`ringfence verify` says more",
			   "one of its two superblocks is damaged");
		return true;
	case FOUND_DAMAGED:
		doctor_say(DOCTOR_FAIL, "area", d->path, "`ringfence verify` says more",
			   "no superblock is readable");
		return false;
	case FOUND_NOTHING:
		break;
	}
	doctor_say(DOCTOR_FAIL, "area", d->path, "another device, or `ringfence format`",
		   "no ringfence area at its start or end");
	return false;
}

static void sectors(const struct disk *d)
{
	const struct rf_super *s = &d->super;

	if (d->block && d->logical_bytes > s->sector_bytes)
		doctor_say(DOCTOR_FAIL, "sectors", d->path,
			   "the area was made on a device with smaller sectors: format anew",
			   "logical sectors of %u bytes, the area writes %u", d->logical_bytes,
			   s->sector_bytes);
	else if (d->block && d->physical_bytes > s->id.stride_bytes)
		doctor_say(DOCTOR_FAIL, "sectors", d->path, "format anew on this device",
			   "physical sectors of %u bytes, records lie %u apart: two writers "
			   "share one",
			   d->physical_bytes, s->id.stride_bytes);
	else
		doctor_say(DOCTOR_PASS, "sectors", d->path, NULL,
			   "logical %u, physical %u, records %u apart", d->logical_bytes,
			   d->physical_bytes, s->id.stride_bytes);
}

static void identity(const struct disk *d)
{
	const char *was = d->super.device_id;

	if (!was[0] || !d->device_id[0])
		doctor_say(DOCTOR_SKIP, "identity", d->path, NULL, "%s has no WWID or serial",
			   was[0] ? "this device" : "the device the area was made on");
	else if (strcmp(was, d->device_id))
		doctor_say(DOCTOR_FAIL, "identity", d->path,
			   "a snapshot, a clone or a wrong LUN: check the path",
			   "is device '%s', the area was made on '%s'", d->device_id, was);
	else
		doctor_say(DOCTOR_PASS, "identity", d->path, NULL, "%s", was);
	if (d->super.area_offset_bytes != d->base_bytes)
		doctor_say(DOCTOR_FAIL, "identity", d->path,
			   "was the device resized or copied?",
			   "the area lies at byte %llu, it was made at %llu",
			   (unsigned long long)d->base_bytes,
			   (unsigned long long)d->super.area_offset_bytes);
}

/* A5: one consistent register set, no mirror under it at the host. */
static void layers(const struct disk *d)
{
	char text[64];
	struct stat st;

	if (fstat(d->fd, &st) || !S_ISBLK(st.st_mode))
		return;
	if (rf_line(text, sizeof(text), "/sys/dev/block/%u:%u/md/level", major(st.st_rdev),
		    minor(st.st_rdev)))
		doctor_say(
			DOCTOR_FAIL, "layers", d->path, "use the devices below as quorum disks",
			"is a software array of this host (%s): its copies may differ", text);
	if (!d->direct)
		doctor_say(DOCTOR_FAIL, "layers", d->path, "use a device that takes direct I/O",
			   "does not take direct I/O");
}

static void writable(const struct disk *d)
{
	int ro = 0;

	if (d->block && ioctl(d->fd, BLKROGET, &ro) == 0 && ro)
		doctor_say(DOCTOR_FAIL, "device", d->path, "remove the write protection",
			   "is write-protected");
}

static void same(struct doctor *d, unsigned a, const struct disk *disk)
{
	struct disk_set *set = &d->area[a].set;

	if (strcmp(disk->super.cluster_name, d->config.cluster))
		doctor_say(DOCTOR_FAIL, "area", disk->path, "correct name, or the device",
			   "is of cluster '%s', the configuration says '%s'",
			   disk->super.cluster_name, d->config.cluster);
	else if (disk != set->disk && !disk_same_area(set, disk))
		doctor_say(DOCTOR_FAIL, "area", disk->path,
			   "check which devices belong together", "holds another area than %s",
			   set->disk[0].path);
	else if (d->config.node > disk->super.id.nodes)
		doctor_say(DOCTOR_FAIL, "area", disk->path, "correct node-id, or format anew",
			   "was made for nodes 1 to %u, this one is %u", disk->super.id.nodes,
			   d->config.node);
	else
		doctor_say(DOCTOR_PASS, "area", disk->path, NULL,
			   "disk %u of %u, %u nodes, %u volumes", disk->super.disk_index + 1,
			   disk->super.disk_count, disk->super.id.nodes, disk->super.volumes);
}

/* ---- latencies ---- */

/* One hiccup of a busy host is not the disk: of three rounds the best one decides. */
static int measure(const struct disk *disk, uint32_t *best_us, uint32_t *worst_us)
{
	int rc = 0;

	*best_us = UINT32_MAX;
	*worst_us = 0;
	for (unsigned i = 0; i < 3 && !rc; i++) {
		uint32_t us;

		rc = disk_measure(disk, disk->base_bytes, READS, &us);
		*best_us = us < *best_us ? us : *best_us;
		*worst_us = us > *worst_us ? us : *worst_us;
	}
	return rc;
}

static void latency(const struct doctor *d, unsigned area, const struct disk *disk)
{
	const struct rf_timing *t = &disk->super.timing;
	char text[INEQUALITY_BYTES];
	uint32_t best, worst;
	int rc = measure(disk, &best, &worst);
	enum rf_timing_rule rule;

	if (rc) {
		doctor_say(DOCTOR_FAIL, "latency", disk->path, "see the kernel's log",
			   "cannot be read: %s", strerror(-rc));
		return;
	}
	if (d->daemon && area < d->status.areas && d->status.area[area].worst_us > worst)
		worst = d->status.area[area].worst_us;
	rule = rf_timing_check(t, best);
	if (rule != RF_TIMING_OK) {
		inequality_text(text, rule, t, best);
		doctor_say(DOCTOR_FAIL, "latency", disk->path,
			   "longer timings (`ringfence timing --explain`), or a faster disk",
			   "%.1f ms does not fit: %s", best / 1000.0, text);
	} else if (worst / 1000 > t->lease_ms / 3) {
		doctor_say(DOCTOR_WARN, "latency", disk->path,
			   "longer timings, or find out what was slow",
			   "worst I/O %.1f ms is more than a third of the lease (%u ms)",
			   worst / 1000.0, t->lease_ms);
	} else {
		doctor_say(DOCTOR_PASS, "latency", disk->path, NULL,
			   "worst of %u reads %.1f ms, worst known %.1f ms, lease %u ms", READS,
			   best / 1000.0, worst / 1000.0, t->lease_ms);
	}
}

/* ---- all quorum disks ---- */

static int open_disk(struct disk *disk, const char *path)
{
	struct stat st;
	int rc;

	worker_doing(path, "opening it");
	if (stat(path, &st)) {
		doctor_say(DOCTOR_FAIL, "device", path, "is it attached?", "%s",
			   strerror(errno));
		return RF_EXIT_IO;
	}
	rc = disk_open(disk, path, O_RDONLY);
	if (rc)
		doctor_say(DOCTOR_FAIL, "device", path,
			   rc == RF_EXIT_PERMISSION ? "run as root" : "see the kernel's log",
			   "cannot be opened");
	return rc;
}

static bool look(struct doctor *d, unsigned a, const char *path)
{
	struct disk_set *set = &d->area[a].set;
	struct disk *disk = &set->disk[set->count];

	if (open_disk(disk, path))
		return false;
	worker_doing(path, "reading it");
	writable(disk);
	if (disk_locate(disk, false) || !found(disk)) {
		disk_close(disk);
		return false;
	}
	if (!set->count)
		set->super = disk->super;
	same(d, a, disk);
	sectors(disk);
	identity(disk);
	layers(disk);
	latency(d, a, disk);
	set->count++;
	return true;
}

void doctor_disks(struct doctor *d)
{
	for (uint32_t a = 0; a < d->config.areas; a++) {
		const struct rf_config_area *c = &d->config.area[a];
		char err[512];

		for (uint32_t i = 0; i < c->disks; i++)
			look(d, a, c->disk[i]);
		d->area[a].good = d->area[a].set.count != 0;
		if (!d->area[a].good)
			continue;
		if (rf_config_compare(&d->config, a, &d->area[a].set.super, err, sizeof(err)))
			doctor_say(DOCTOR_FAIL, "timing", NULL, "the disk counts", "%s", err);
		if (c->disks != d->area[a].set.super.disk_count)
			doctor_say(DOCTOR_FAIL, "area", c->disk[0], "name all of them",
				   "has %u quorum disks, the configuration names %u",
				   d->area[a].set.super.disk_count, c->disks);
	}
}

/* ---- volumes ---- */

static bool described(const struct disk_set *set, const char *name, struct rf_volume_desc *desc)
{
	struct merge g;
	struct merged m;
	bool hit = false;

	merge_init(&g, set);
	for (uint32_t v = 0; v < set->super.volumes && !hit; v++) {
		struct record r = {.kind = RF_KIND_VOLUME,
				   .volume = v,
				   .offset_bytes = rf_geo_volume(&set->super, v)};

		merge_read(&g, set, &r, &m);
		hit = m.newest >= 0 &&
		      rf_volume_decode(m.raw, &set->super.id, v, desc) == RF_RECORD_OK &&
		      !strcmp(desc->name, name);
	}
	merge_free(&g);
	return hit;
}

static void data_device(const struct rf_config_volume *v, const struct rf_volume_desc *desc)
{
	struct disk disk;

	if (!v->device[0] || open_disk(&disk, v->device))
		return;
	writable(&disk);
	if (desc->device_id[0] && disk.device_id[0] && strcmp(desc->device_id, disk.device_id))
		doctor_say(DOCTOR_FAIL, "volume", v->name,
			   "a snapshot, a clone or a wrong LUN: check the path",
			   "%s is device '%s', the volume was made on '%s'", v->device,
			   disk.device_id, desc->device_id);
	else
		doctor_say(DOCTOR_PASS, "volume", v->name, NULL, "%s, fence = %s", v->device,
			   v->fence);
	disk_close(&disk);
}

void doctor_volumes(struct doctor *d)
{
	for (uint32_t i = 0; i < d->config.volumes; i++) {
		const struct rf_config_volume *v = &d->config.volume[i];
		struct rf_volume_desc desc;

		if (!d->area[v->area].good)
			continue;
		if (!described(&d->area[v->area].set, v->name, &desc))
			doctor_say(DOCTOR_FAIL, "volume", v->name,
				   "`ringfence dump` lists what is there",
				   "no readable volume of this name in the area on %s",
				   d->area[v->area].set.disk[0].path);
		else
			data_device(v, &desc);
		if (!strcmp(v->fence, "expiry"))
			doctor_say(DOCTOR_WARN, "fence", v->name, "fence = gate or target",
				   "advisory only: nothing refuses a stale write");
	}
}
