/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fuzzer's bytes as a stream of choices; past its end it gives zeros. */
#ifndef RF_FUZZ_H
#define RF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct feed {
	const uint8_t *data;
	size_t size, at;
};

static inline bool feed_end(const struct feed *f)
{
	return f->at >= f->size;
}

static inline uint8_t feed_u8(struct feed *f)
{
	return f->at < f->size ? f->data[f->at++] : 0;
}

static inline uint32_t feed_u32(struct feed *f)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 8 | feed_u8(f);
	return v;
}

static inline void feed_bytes(struct feed *f, void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = feed_u8(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
