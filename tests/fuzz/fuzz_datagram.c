/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams before the seal is open. Anybody can send them: they must be refused
 * without overrun, and only what was sealed with an accepted key, once, comes
 * through, byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/assert.h"
#include "fuzz.h"
#include "io/seal.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}

static struct rf_seal *mine, *peer;

static void begin(void)
{
	static const uint8_t area[RF_UUID_BYTES] = {7};
	const struct rf_keys keys = {.count = 2, .key = {{.id = 1, .bytes = {1}}, {.id = 2}}};

	if (rf_seal_open(&mine, 11, 1) || rf_seal_open(&peer, 22, 2))
		abort();
	rf_seal_keys(mine, &keys);
	rf_seal_keys(peer, &keys);
	if (rf_seal_area(mine, area, 1, 3) || rf_seal_area(peer, area, 2, 3))
		abort();
}

/* Sealed by a peer, then maybe damaged at one place. */
static void sealed(struct feed *f)
{
	uint8_t message[RF_MESSAGE_BYTES], datagram[RF_DATAGRAM_BYTES], out[RF_MESSAGE_BYTES];
	size_t len = feed_u32(f) % (RF_MESSAGE_BYTES + 1), whole;
	uint8_t flip = feed_u8(f);
	enum rf_reject why;
	struct rf_unsealed u;
	int rc;

	feed_bytes(f, message, len);
	whole = rf_seal_close(peer, 0, datagram, message, len);
	if (whole == 0 || whole > sizeof(datagram))
		abort();
	if (flip)
		datagram[feed_u32(f) % whole] ^= flip;
	rc = rf_seal_unseal(mine, datagram, whole, out, &u, &why);
	if (flip ? rc == 0
		 : rc != 0 || u.from != 2 || u.len != len || memcmp(out, message, len))
		abort();
	if (!flip && rf_seal_unseal(mine, datagram, whole, out, &u, &why) != -1)
		abort(); /* a replay */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {.data = data, .size = size};
	uint8_t out[RF_MESSAGE_BYTES], *exact;
	struct rf_unsealed u;
	enum rf_reject why = RF_REJECT_COUNT;

	if (!mine)
		begin();
	if (feed_u8(&f) & 1) {
		sealed(&f);
		return 0;
	}
	exact = malloc(size ? size : 1);
	memcpy(exact, data, size);
	if (rf_seal_unseal(mine, exact, size, out, &u, &why) != -1 || why >= RF_REJECT_COUNT)
		abort(); /* nobody guesses a seal */
	free(exact);
	return 0;
}
