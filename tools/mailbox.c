/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders on the quorum disks: written, read back, compared. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox.h"
#include "tool.h"

static void nothing(const char *path, const char *what)
{
	(void)path;
	(void)what;
}

void (*mailbox_doing)(const char *path, const char *what) = nothing;

unsigned mailbox_majority(const struct disk_set *set)
{
	return set->super.disk_count / 2u + 1u;
}

/* ---- the disks of one area ---- */

static int judge(const struct disk_set *set, const struct disk *d)
{
	unsigned i;

	if (d->found != FOUND_GOOD && d->found != FOUND_COPY)
		return fail(d->found == FOUND_NOTHING ? RF_EXIT_BAD_VALUE : RF_EXIT_BAD_DATA,
			    "%s: %s", d->path,
			    d->found == FOUND_NOTHING
				    ? "not ours: no ringfence area at its start or end"
				    : "no readable superblock: `ringfence verify` says more");
	if (d->super.ro_compat)
		return fail(RF_EXIT_BAD_DATA,
			    "%s: the area has features %#" PRIx64
			    " that this version may only read: use a newer one",
			    d->path, d->super.ro_compat);
	for (i = 0; i < set->count; i++) {
		if (!disk_same_area(set, d))
			return fail(RF_EXIT_BAD_DATA,
				    "%s and %s hold different areas (clusters '%s' and '%s')",
				    set->disk[0].path, d->path, set->super.cluster_name,
				    d->super.cluster_name);
		if (set->disk[i].super.disk_index == d->super.disk_index)
			return fail(RF_EXIT_BAD_VALUE, "%s and %s are the same quorum disk",
				    set->disk[i].path, d->path);
	}
	return 0;
}

static int take(struct disk_set *set, const char *path)
{
	struct disk *d = &set->disk[set->count];
	int rc;

	mailbox_doing(path, "opening it");
	rc = disk_open(d, path, O_RDWR);
	if (rc)
		return rc;
	rc = disk_locate(d, false);
	if (!rc)
		rc = judge(set, d);
	if (rc) {
		disk_close(d);
		return rc;
	}
	if (!set->count)
		set->super = d->super;
	set->count++;
	return 0;
}

int mailbox_open(struct disk_set *set, unsigned count, const char *const paths[])
{
	unsigned i;
	int rc, last = 0;

	*set = (struct disk_set){.count = 0};
	for (i = 0; i < count; i++) {
		rc = take(set, paths[i]);
		if (rc)
			last = rc;
		/* missing is tolerated in a set, wrong is not */
		if (rc && rc != RF_EXIT_IO)
			break;
	}
	if (i == count && set->count && set->count >= mailbox_majority(set))
		return 0;
	if (!last)
		last = fail(RF_EXIT_BAD_VALUE,
			    "%u of the area's %u quorum disks given: a majority is needed",
			    set->count, set->super.disk_count);
	disk_set_close(set);
	return last;
}

/* ---- one mailbox ---- */

static uint64_t at_bytes(const struct disk_set *set, const struct disk *d, uint32_t node)
{
	return d->base_bytes + rf_geo_mailbox(&set->super, node);
}

static int read_one(const struct disk_set *set, const struct disk *d, uint32_t node, void *buf,
		    struct rf_mailbox *m, unsigned *verdict)
{
	int rc;

	mailbox_doing(d->path, "reading a mailbox");
	rc = disk_read(d, buf, RF_RECORD_BYTES, at_bytes(set, d, node));
	*verdict = rc ? RECORD_IO_ERROR : rf_mailbox_decode(buf, &set->super.id, node, m);
	return rc;
}

void mailbox_read(const struct disk_set *set, uint32_t node, struct mailbox_state *out)
{
	void *buf = disk_buffer(RF_STRIDE_MIN);
	struct rf_mailbox m;
	unsigned i, verdict;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < set->count; i++) {
		read_one(set, &set->disk[i], node, buf, &m, &verdict);
		if (verdict != RF_RECORD_OK) {
			out->unreadable++;
			continue;
		}
		out->readable++;
		if (m.seq > out->seq)
			out->seq = m.seq;
		if (m.order == RF_ORDER_STOP)
			out->stop[out->stops++] = m;
	}
	free(buf);
}

/* §1: only one at least as strong may stand in its place. */
static bool stands(const struct rf_mailbox *wanted, const struct rf_mailbox *found)
{
	if (wanted->order != RF_ORDER_STOP)
		return found->order == wanted->order && found->seq == wanted->seq;
	return found->order == RF_ORDER_STOP && found->incarnation == wanted->incarnation &&
	       found->seq >= wanted->seq;
}

static bool failed(const struct disk *d, uint32_t node, uint64_t at, const char *what,
		   const char *why)
{
	fail(RF_EXIT_IO, "%s: mailbox of node %u at byte %" PRIu64 ": %s: %s", d->path, node,
	     at, what, why);
	return false;
}

static bool read_back(const struct disk_set *set, const struct disk *d, uint32_t node,
		      void *buf, const struct rf_mailbox *m)
{
	uint64_t at = at_bytes(set, d, node);
	struct rf_mailbox found;
	unsigned verdict;
	int rc = read_one(set, d, node, buf, &found, &verdict);

	if (rc)
		return failed(d, node, at, "the order cannot be read back", strerror(-rc));
	if (verdict != RF_RECORD_OK)
		return failed(d, node, at, "what is read back is not the order",
			      record_verdict_words(verdict));
	if (!stands(m, &found))
		return failed(d, node, at, "what is read back is not the order written",
			      found.order == RF_ORDER_STOP ? "a stop order to another life"
							   : "no order stands there");
	return true;
}

static bool write_one(const struct disk_set *set, const struct disk *d, uint32_t node,
		      void *buf, const struct rf_mailbox *m)
{
	uint64_t at = at_bytes(set, d, node);
	int rc;

	memset(buf, 0, set->super.id.stride_bytes);
	rf_mailbox_encode(buf, &set->super.id, node, m);
	mailbox_doing(d->path, "writing a mailbox");
	rc = disk_write(d, buf, set->super.sector_bytes, at);
	if (rc)
		return failed(d, node, at, "the order could not be written", strerror(-rc));
	return read_back(set, d, node, buf, m);
}

unsigned mailbox_write(const struct disk_set *set, uint32_t node, const struct rf_mailbox *m)
{
	void *buf = disk_buffer(set->super.id.stride_bytes);
	unsigned i, good = 0;

	for (i = 0; i < set->count; i++)
		good += write_one(set, &set->disk[i], node, buf, m);
	free(buf);
	return good;
}

unsigned mailbox_stands(const struct disk_set *set, uint32_t node, const struct rf_mailbox *m)
{
	void *buf = disk_buffer(set->super.id.stride_bytes);
	unsigned i, good = 0;

	for (i = 0; i < set->count; i++)
		good += read_back(set, &set->disk[i], node, buf, m);
	free(buf);
	return good;
}

/* ---- the slot ---- */

bool mailbox_slot(const struct disk_set *set, uint32_t node, struct rf_slot *slot)
{
	struct record r = {.kind = RF_KIND_SLOT,
			   .index = node,
			   .offset_bytes = rf_geo_slot(&set->super, node)};
	unsigned i, good = 0;
	struct merge g;
	struct merged m;
	bool ok;

	mailbox_doing(set->disk[0].path, "reading a slot");
	merge_init(&g, set);
	merge_read(&g, set, &r, &m);
	for (i = 0; i < set->count; i++)
		good += m.verdict[i] == RF_RECORD_OK;
	ok = m.newest >= 0 && good >= mailbox_majority(set) &&
	     rf_slot_decode(m.raw, &set->super.id, node, slot) == RF_RECORD_OK;
	merge_free(&g);
	return ok;
}
