/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	mock_assert(0, what, file, line);
	abort();
}

const struct rf_area_id sample_id = {
	.cluster = {0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb,
		    0xcc, 0xcd, 0xce, 0xcf},
	.area = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac,
		 0xad, 0xae, 0xaf},
	.nodes = 3,
	.stride_bytes = 4096,
};

void sample_super(struct rf_super *s)
{
	*s = (struct rf_super){
		.id = sample_id,
		.cluster_name = "sample",
		.device_id = "wwn-0x5000c500a1b2c3d4",
		.seq = 0x0102030405060708,
		.compat = 0x1112131415161718,
		.ro_compat = 0x2122232425262728,
		.area_offset_bytes = 0x100000,
		.created_unix_s = 0x3132333435363738,
		.sector_bytes = 512,
		.volumes = 2,
		.history = 16,
		.state_strides = 2,
		.disk_index = 1,
		.disk_count = 3,
		.place = RF_PLACE_START,
		.quorum = RF_QUORUM_SURVIVORS,
		.voters = {0x05},
	};
	assert_true(rf_timing_profile("fast", &s->timing));
	s->area_strides = rf_geo_strides(s);
}

void reseal(void *record)
{
	uint32_t crc = rf_crc32c(record, RF_CRC_OFFSET);

	for (unsigned i = 0; i < 4; i++)
		((uint8_t *)record)[RF_CRC_OFFSET + i] = (uint8_t)(crc >> 8 * i);
}

/* ---- golden files: 32 bytes a line, "OFFSET: HEX", zero lines left out ---- */

static void golden_path(char *path, size_t bytes, const char *name)
{
	snprintf(path, bytes, "tests/unit/golden/%s.hex", name);
}

static bool line_is_zero(const uint8_t *b, size_t n)
{
	while (n)
		if (b[--n])
			return false;
	return true;
}

static void golden_write(const char *path, const uint8_t *b, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "# SPDX-License-Identifier: GPL-2.0-or-later\n# %zu bytes\n", len);
	for (size_t at = 0; at < len; at += 32) {
		size_t n = len - at < 32 ? len - at : 32;

		if (line_is_zero(b + at, n))
			continue;
		fprintf(f, "%04zx:", at);
		for (size_t i = 0; i < n; i++)
			fprintf(f, "%s%02x", i % 4 ? "" : " ", b[at + i]);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

static void golden_line(const char *line, uint8_t *b, size_t len)
{
	char *end;
	size_t at = strtoul(line, &end, 16);
	unsigned value;
	int used;

	assert_int_equal(*end, ':');
	for (end++; sscanf(end, " %2x%n", &value, &used) == 1; end += used, at++) {
		assert_true(at < len);
		b[at] = (uint8_t)value;
	}
}

static size_t golden_read(const char *path, uint8_t *b, size_t room)
{
	FILE *f = fopen(path, "r");
	char line[128];
	size_t len = 0;

	if (!f)
		fail_msg("%s is missing: run from the top of the tree", path);
	memset(b, 0, room);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] != '#')
			golden_line(line, b, room);
		else
			sscanf(line, "# %zu bytes", &len);
	}
	fclose(f);
	return len;
}

void assert_golden(const char *name, const void *bytes, size_t len)
{
	uint8_t want[RF_MESSAGE_BYTES];
	const char *mode = getenv("RF_GOLDEN");
	char path[128];

	golden_path(path, sizeof(path), name);
	if (mode && !strcmp(mode, "write"))
		golden_write(path, bytes, len);
	assert_int_equal(golden_read(path, want, sizeof(want)), len);
	assert_memory_equal(bytes, want, len);
}
