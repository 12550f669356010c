/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datagrams behind the seal: whatever decodes must encode to the same bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "format/assert.h"
#include "format/codec.h"
#include "fuzz.h"

void rf_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s (%s:%d)\n", what, file, line);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t back[RF_MESSAGE_BYTES];
	struct rf_msg m;
	uint8_t *exact;

	if (size > RF_MESSAGE_BYTES)
		return 0;
	exact = malloc(size ? size : 1); /* exact size: an overrun is seen */
	memcpy(exact, data, size);
	if (rf_msg_decode(exact, size, 3, 2, &m) == 0 &&
	    (rf_msg_encode(back, &m) != size || memcmp(back, exact, size) != 0))
		abort();
	free(exact);
	return 0;
}
