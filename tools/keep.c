/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The newest committed state of a volume, over all nodes, halves and disks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"

int keep_open(struct disk_set *set, const struct opt_list *devices)
{
	*set = (struct disk_set){.count = 0};
	if (devices->count > RF_DISKS_MAX)
		return fail(RF_EXIT_BAD_VALUE, "--device: an area has at most %u disks",
			    RF_DISKS_MAX);
	return disk_set_open_some(set, (int)devices->count, (char **)devices->item);
}

static int number_of(const struct disk_set *set, const char *volume, uint32_t *number)
{
	struct merge g;
	bool found = false;

	merge_init(&g, set);
	for (*number = 0; *number < set->super.volumes; ++*number) {
		struct record r = {.kind = RF_KIND_VOLUME,
				   .volume = *number,
				   .offset_bytes = rf_geo_volume(&set->super, *number)};
		struct rf_volume_desc d;
		struct merged m;

		merge_read(&g, set, &r, &m);
		found = m.newest >= 0 &&
			!rf_volume_decode(m.raw, &set->super.id, *number, &d) &&
			!strcmp(d.name, volume);
		if (found)
			break;
	}
	merge_free(&g);
	return found ? 0
		     : fail(RF_EXIT_NO_SUCH,
			    "%s: no volume of this name in the area: see ringfence dump "
			    "--record superblock",
			    volume);
}

static int read_all(struct keep *k, const struct disk_set *set, uint32_t number)
{
	const struct rf_super *s = &set->super;
	size_t bytes = (size_t)rf_geo_half_bytes(s);
	void *half = disk_buffer(bytes);
	unsigned unread = 0;

	for (unsigned d = 0; d < set->count; d++)
		for (uint32_t i = 0; i < 2 * s->id.nodes; i++) {
			uint32_t node = i / 2 + 1, which = i % 2;
			uint64_t at =
				set->disk[d].base_bytes + rf_geo_state(s, number, node, which);

			if (disk_read(&set->disk[d], half, bytes, at))
				unread++;
			else
				rf_newest_half(&k->newest, s, number, node, which, half);
		}
	free(half);
	if (unread)
		note("%u state records could not be read: a newer one may be there", unread);
	return unread && !k->newest.node ? fail(RF_EXIT_IO, "no state record can be read") : 0;
}

int keep_load(struct keep *k, const struct disk_set *set, const char *volume)
{
	uint32_t number;
	int rc = number_of(set, volume, &number);

	memset(k, 0, sizeof(*k));
	if (rc)
		return rc;
	k->newest.payload = disk_buffer((size_t)rf_geo_half_bytes(&set->super));
	rc = read_all(k, set, number);
	if (rc)
		return rc;
	rc = rf_blob_decode(&k->blob, k->newest.payload, k->newest.bytes);
	if (rc == -EPROTONOSUPPORT)
		return fail(RF_EXIT_BAD_DATA,
			    "%s: a newer version of ringfence wrote this state: use its tool",
			    volume);
	return rc ? fail(RF_EXIT_BAD_DATA, "%s: the state is not one of ringfence: see dump",
			 volume)
		  : 0;
}

void keep_free(struct keep *k)
{
	free(k->newest.payload);
}
