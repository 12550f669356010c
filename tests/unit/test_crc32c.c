/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC32C: the published vectors (RFC 3720, B.4), and every length bit by bit. */
#include "support.h"

static void published_vectors(void **state)
{
	/* an iSCSI SCSI Read (10) command PDU */
	static const uint8_t pdu[48] = {[0] = 0x01,  0xc0,        [16] = 0x14, [22] = 0x04,
					[27] = 0x14, [31] = 0x18, 0x28,        [40] = 0x02};
	uint8_t b[32];

	(void)state;
	memset(b, 0, sizeof(b));
	assert_int_equal(rf_crc32c(b, sizeof(b)), 0x8a9136aa);
	memset(b, 0xff, sizeof(b));
	assert_int_equal(rf_crc32c(b, sizeof(b)), 0x62a8ab43);
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)i;
	assert_int_equal(rf_crc32c(b, sizeof(b)), 0x46dd794e);
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(31 - i);
	assert_int_equal(rf_crc32c(b, sizeof(b)), 0x113fdb5c);
	assert_int_equal(rf_crc32c(pdu, sizeof(pdu)), 0xd9963a56);
	assert_int_equal(rf_crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(rf_crc32c("", 0), 0);
}

static uint32_t bit_by_bit(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

/* Every table entry is used: all byte values at all positions of a step. */
static void every_length_and_alignment(void **state)
{
	uint8_t b[600];
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(b); i++) {
		x = x * 1664525 + 1013904223;
		b[i] = (uint8_t)(x >> 24);
	}
	for (size_t at = 0; at < 8; at++)
		for (size_t len = 0; at + len <= sizeof(b); len += 1 + len / 40)
			assert_int_equal(rf_crc32c(b + at, len), bit_by_bit(b + at, len));
}

static void every_byte_in_every_place(void **state)
{
	(void)state;
	for (unsigned place = 0; place < 9; place++)
		for (unsigned v = 0; v < 256; v++) {
			uint8_t b[9] = {0};

			b[place] = (uint8_t)v;
			assert_int_equal(rf_crc32c(b, sizeof(b)), bit_by_bit(b, sizeof(b)));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(every_length_and_alignment),
		cmocka_unit_test(every_byte_in_every_place),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
