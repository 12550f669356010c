/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealing datagrams (wire.h): XChaCha20-Poly1305, key ids for rotation, replay
 * windows. Bounded, and no secret-dependent branch before the seal is open.
 */
#ifndef RF_IO_SEAL_H
#define RF_IO_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/control.h"
#include "ringfence/key.h"
#include "ringfence/wire.h"

struct rf_seal;

/* Wire subkeys of the cluster keys; the first one seals. May be called again with
 * new keys at any time (reload). incarnation: of this daemon; salt: random. */
int rf_seal_open(struct rf_seal **seal, uint64_t incarnation, uint64_t salt);
void rf_seal_free(struct rf_seal *seal);
void rf_seal_keys(struct rf_seal *seal, const struct rf_keys *keys);

/* An area this daemon takes part in, and its node id there. 0, -ENOSPC. */
int rf_seal_area(struct rf_seal *seal, const uint8_t area[RF_UUID_BYTES], uint32_t node,
		 uint32_t nodes);
/* The life whose datagrams count now, as its slot says: its replay window is kept. */
void rf_seal_life(struct rf_seal *seal, unsigned area, uint32_t node, uint64_t incarnation);

/* Seal len bytes for an area; returns the datagram's size (<= RF_DATAGRAM_BYTES). */
size_t rf_seal_close(struct rf_seal *seal, unsigned area, uint8_t *datagram,
		     const uint8_t *message, size_t len);

struct rf_unsealed {
	unsigned area; /* as numbered by rf_seal_area(), from 0 */
	uint32_t from;
	uint64_t incarnation;
	size_t len;
};
/* Datagrams come by several ways at once: a second copy is nothing to count. */
void rf_seal_copies(struct rf_seal *seal, bool expected);
/* Open a datagram into message[RF_MESSAGE_BYTES]. 0, -1 with *reject, or 1: my own, or
 * an expected copy. */
int rf_seal_unseal(struct rf_seal *seal, const uint8_t *datagram, size_t len, uint8_t *message,
		   struct rf_unsealed *out, enum rf_reject *reject);

#endif
