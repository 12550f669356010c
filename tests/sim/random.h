/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One generator for one world: xoroshiro128+, seeded through splitmix64. */
#ifndef RF_SIM_RANDOM_H
#define RF_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t s[2];
};

static inline uint64_t rng_mix(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *r, uint64_t seed)
{
	r->s[0] = rng_mix(&seed);
	r->s[1] = rng_mix(&seed) | 1;
}

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t a = r->s[0], b = r->s[1], sum = a + b;

	b ^= a;
	r->s[0] = (a << 24 | a >> 40) ^ b ^ (b << 16);
	r->s[1] = b << 37 | b >> 27;
	return sum;
}

static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return n ? (rng_next(r) >> 11) % n : 0;
}

static inline uint64_t rng_range(struct rng *r, uint64_t low, uint64_t high)
{
	return high > low ? low + rng_below(r, high - low + 1) : low;
}

static inline bool rng_ppm(struct rng *r, uint32_t ppm)
{
	return ppm && rng_below(r, 1000000) < ppm;
}

/* Every magnitude is as likely as every other: short and long ones both come. */
static inline uint64_t rng_scale(struct rng *r, uint64_t low, uint64_t high)
{
	uint64_t top = low ? low : 1;
	uint32_t doublings = 0;

	while (top < high / 2 && doublings < 63) {
		top *= 2;
		doublings++;
	}
	top = (low ? low : 1) << rng_below(r, doublings + 1);
	return rng_range(r, top, top * 2 < high ? top * 2 : high);
}

/* Anywhere between, but often at one of the ends, where the mistakes are. */
static inline uint64_t rng_edge(struct rng *r, uint64_t low, uint64_t high)
{
	switch (rng_below(r, 4)) {
	case 0:
		return low;
	case 1:
		return high;
	default:
		return rng_range(r, low, high);
	}
}

#endif
