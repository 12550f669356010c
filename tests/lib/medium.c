/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "medium.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAGIC 0x6a736677736872ull
#define NO_DATA (4u | 8u) /* discards, marks */
#define DATA_MAX (64u << 20)

struct super {
	uint64_t magic, version, entries; /* little-endian, all of it */
	uint32_t sector_bytes;
};

struct record {
	uint64_t sector, sectors, flags, data_bytes;
};

/* The number of entries in the head is behind while the disk is in use: the log ends
 * where nothing was written yet. */
static int replay(FILE *f, uint32_t sector_bytes, uint8_t *data, medium_write_fn *fn)
{
	uint64_t at = sector_bytes, bytes;
	struct record r;

	while (fseeko(f, (off_t)at, SEEK_SET) == 0 && fread(&r, sizeof(r), 1, f) == 1) {
		if (!r.sectors && !r.flags && !r.data_bytes)
			break;
		at += sector_bytes;
		bytes = le64toh(r.sectors) * sector_bytes;
		if (!bytes || le64toh(r.flags) & NO_DATA)
			continue;
		if (bytes > DATA_MAX || fseeko(f, (off_t)at, SEEK_SET) != 0) {
			errno = EBADMSG;
			return -1;
		}
		if (fread(data, bytes, 1, f) != 1)
			break;
		fn(le64toh(r.sector) * sector_bytes, data, bytes);
		at += bytes;
	}
	return 0;
}

int medium_replay(const char *path, medium_write_fn *fn)
{
	uint8_t *data = malloc(DATA_MAX);
	FILE *f = fopen(path, "re");
	struct super s;
	int rc = -1;

	if (!f || !data || fread(&s, sizeof(s), 1, f) != 1)
		rc = -1;
	else if (le64toh(s.magic) != MAGIC || !s.sector_bytes)
		errno = EBADMSG;
	else
		rc = replay(f, le32toh(s.sector_bytes), data, fn);
	if (f)
		fclose(f);
	free(data);
	return rc;
}
