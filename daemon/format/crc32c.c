/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC32C (Castagnoli), eight bytes a step. The tables are linear: the entry of
 * a byte is the xor of the entries of its bits. So 64 constants, made from the
 * reflected polynomial 0x82f63b78, say it all and the compiler fills in the
 * rest. tests/unit checks them bit by bit and against RFC 3720, B.4.
 */
#include "ringfence/claim.h"

/* clang-format off */
#define BIT(n, b, c) ((n) >> (b) & 1 ? (c) : 0u)
#define ENTRY(n, c0, c1, c2, c3, c4, c5, c6, c7)                             \
	(BIT(n, 0, c0) ^ BIT(n, 1, c1) ^ BIT(n, 2, c2) ^ BIT(n, 3, c3) ^     \
	 BIT(n, 4, c4) ^ BIT(n, 5, c5) ^ BIT(n, 6, c6) ^ BIT(n, 7, c7))

#define X4(n, ...) ENTRY((n), __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), \
		   ENTRY((n) + 2, __VA_ARGS__), ENTRY((n) + 3, __VA_ARGS__)
#define X16(n, ...) X4(n, __VA_ARGS__), X4((n) + 4, __VA_ARGS__), \
		    X4((n) + 8, __VA_ARGS__), X4((n) + 12, __VA_ARGS__)
#define X64(n, ...) X16(n, __VA_ARGS__), X16((n) + 16, __VA_ARGS__), \
		    X16((n) + 32, __VA_ARGS__), X16((n) + 48, __VA_ARGS__)
#define X256(...) { X64(0, __VA_ARGS__), X64(64, __VA_ARGS__), \
		    X64(128, __VA_ARGS__), X64(192, __VA_ARGS__) }

/* table[k][n]: the remainder of byte n followed by k zero bytes. */
static const uint32_t table[8][256] = {
	X256(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu,
	     0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
	X256(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u,
	     0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
	X256(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u,
	     0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
	X256(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u,
	     0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
	X256(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u,
	     0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
	X256(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu,
	     0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
	X256(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u,
	     0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
	X256(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau,
	     0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};
/* clang-format on */

static uint64_t load64(const unsigned char *p)
{
	__le64 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return rf_get64(v);
}

uint32_t rf_crc32c(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t crc = ~0u;

	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v = load64(p) ^ crc;

		crc = table[7][v & 255] ^ table[6][v >> 8 & 255] ^ table[5][v >> 16 & 255] ^
		      table[4][v >> 24 & 255] ^ table[3][v >> 32 & 255] ^
		      table[2][v >> 40 & 255] ^ table[1][v >> 48 & 255] ^ table[0][v >> 56];
	}
	for (; len; len--, p++)
		crc = table[0][(crc ^ *p) & 255] ^ crc >> 8;
	return ~crc;
}
