/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-seed IMAGE KIND VOLUME INDEX [FIELD=VALUE...]
 *
 * For tests of the disk commands: writes one good record into an area, as a daemon
 * would have left it. KIND is slot, epoch, ballot, history, state (its
 * first half), volume or copy; fields that are
 * not named keep what lies there. VOLUME is 0 for a slot, INDEX the node or entry.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/assert.h"
#include "format/codec.h"

union any {
	struct rf_slot slot;
	struct rf_epoch epoch;
	struct rf_ballot ballot;
	struct rf_history history;
	struct rf_state state;
	struct rf_volume_desc volume;
};

struct field {
	const char *kind, *name;
	size_t offset, bytes;
};

#define F(kind, type, member)                                 \
	{                                                     \
		kind, #member, offsetof(struct type, member), \
			sizeof(((struct type *)0)->member)    \
	}

static const struct field fields[] = {
	F("slot", rf_slot, seq),
	F("slot", rf_slot, incarnation),
	F("slot", rf_slot, generation),
	F("slot", rf_slot, unix_ns),
	F("slot", rf_slot, state),
	F("slot", rf_slot, host),
	F("slot", rf_slot, gate_open),
	F("slot", rf_slot, leads),
	F("epoch", rf_epoch, seq),
	F("epoch", rf_epoch, epoch),
	F("epoch", rf_epoch, incarnation),
	F("epoch", rf_epoch, unix_ns),
	F("epoch", rf_epoch, owner),
	F("epoch", rf_epoch, state),
	F("ballot", rf_ballot, seq),
	F("ballot", rf_ballot, instance),
	F("ballot", rf_ballot, mbal),
	F("ballot", rf_ballot, bal),
	F("ballot", rf_ballot, value_incarnation),
	F("ballot", rf_ballot, value_node),
	F("history", rf_history, seq),
	F("history", rf_history, epoch),
	F("history", rf_history, incarnation),
	F("history", rf_history, start_unix_ns),
	F("history", rf_history, end_unix_ns),
	F("history", rf_history, prev_epoch),
	F("history", rf_history, owner),
	F("history", rf_history, prev_owner),
	F("history", rf_history, cause),
	F("history", rf_history, end_cause),
	F("history", rf_history, excluded_by),
	F("history", rf_history, suspect_us),
	F("history", rf_history, prevote_us),
	F("history", rf_history, claim_us),
	F("history", rf_history, exclude_us),
	F("history", rf_history, open_us),
	F("history", rf_history, reconcile_us),
	F("history", rf_history, host),
	F("state", rf_state, seq),
	F("state", rf_state, epoch),
	F("state", rf_state, version),
	F("volume", rf_volume_desc, name),
	F("volume", rf_volume_desc, data_offset_bytes),
};

static void die(const char *what)
{
	fprintf(stderr, "rf-seed: %s\n", what);
	exit(1);
}

/* Texts are copied, bitmaps take one hexadecimal byte, the rest is a number. */
static void set(union any *u, const char *kind, char *text)
{
	char *value = strchr(text, '=');
	size_t i;

	if (!value)
		die("wants FIELD=VALUE");
	*value++ = 0;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *f = &fields[i];
		char *to = (char *)u + f->offset;
		unsigned long long n;

		if (strcmp(f->kind, kind) || strcmp(f->name, text))
			continue;
		n = strtoull(value, NULL, 0);
		memset(to, 0, f->bytes);
		if (!strcmp(f->name, "host") || !strcmp(f->name, "name"))
			snprintf(to, f->bytes, "%s", value);
		else
			memcpy(to, &n, f->bytes < sizeof(n) ? f->bytes : sizeof(n));
		return;
	}
	die("no such field");
}

/* Values that no daemon can write end here. */
void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "rf-seed: %s at %s:%d\n", what, file, line);
	exit(1);
}

int main(int argc, char **argv)
{
	static char record[RF_RECORD_BYTES], raw[RF_RECORD_BYTES];
	union any u;
	struct rf_super s;
	uint32_t volume, index;
	uint64_t at = 0;
	int fd, i;

	if (argc < 5)
		die("IMAGE KIND VOLUME INDEX [FIELD=VALUE...]");
	memset(&u, 0, sizeof(u));
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || pread(fd, record, sizeof(record), 0) != sizeof(record) ||
	    rf_super_decode(record, &s))
		die("no area at the start of this image");
	volume = (uint32_t)strtoul(argv[3], NULL, 10);
	index = (uint32_t)strtoul(argv[4], NULL, 10);
#define ONE(kind, where, ...)                                              \
	if (!strcmp(argv[2], #kind)) {                                     \
		at = where;                                                \
		if (pread(fd, raw, sizeof(raw), (off_t)at) != sizeof(raw)) \
			die("read");                                       \
		rf_##kind##_decode(raw, &s.id, __VA_ARGS__, &u.kind);      \
		for (i = 5; i < argc; i++)                                 \
			set(&u, argv[2], argv[i]);                         \
		rf_##kind##_encode(raw, &s.id, __VA_ARGS__, &u.kind);      \
	} else
	ONE(slot, rf_geo_slot(&s, index), index)
	ONE(epoch, rf_geo_region(&s, volume), volume)
	ONE(ballot, rf_geo_ballot(&s, volume, index), volume, index)
	ONE(history, rf_geo_history(&s, volume, index), volume, index)
	ONE(state, rf_geo_state(&s, volume, index, 0), volume, index, 0)
	ONE(volume, rf_geo_volume(&s, volume), volume)
	if (!strcmp(argv[2], "copy")) {
		/* of the superblock, with another lease: INDEX in ms */
		at = rf_geo_copy(&s);
		s.timing.lease_ms = index;
		rf_super_encode(raw, &s, 1);
	} else {
		die("no such kind");
	}
	if (pwrite(fd, raw, sizeof(raw), (off_t)at) != sizeof(raw) || fsync(fd))
		die("write");
	return 0;
}
