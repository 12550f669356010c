/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealing datagrams, see seal.h. */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "seal.h"

#define WINDOW 64u

/* Counters of one life: the highest seen, and the 64 below it. */
struct window {
	uint64_t incarnation, highest, seen;
};

/* The life that the disk names, and the newest other one: replays of old lives can
 * only push each other out, never the window of the present one. */
struct sender {
	struct window now, other;
};

struct area {
	uint8_t uuid[RF_UUID_BYTES];
	uint32_t node, nodes;
	struct sender sender[RF_NODES_MAX + 1];
};

struct rf_seal {
	unsigned keys, areas;
	struct rf_key key[RF_KEYS_MAX]; /* subkeys */
	uint64_t incarnation, counter, salt;
	struct area *area;
	bool copies;
};

int rf_seal_open(struct rf_seal **seal, uint64_t incarnation, uint64_t salt)
{
	struct rf_seal *s;

	_Static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == RF_WIRE_TAG_BYTES, "tag");
	_Static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES == 24, "nonce");
	if (sodium_init() < 0)
		return -EIO;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->area = calloc(RF_AREAS_MAX, sizeof(*s->area));
	if (!s->area) {
		free(s);
		return -ENOMEM;
	}
	s->incarnation = incarnation;
	s->salt = salt;
	*seal = s;
	return 0;
}

void rf_seal_free(struct rf_seal *s)
{
	sodium_memzero(s->key, sizeof(s->key));
	free(s->area);
	free(s);
}

void rf_seal_keys(struct rf_seal *s, const struct rf_keys *keys)
{
	s->keys = keys->count;
	for (unsigned i = 0; i < keys->count; i++) {
		s->key[i].id = keys->key[i].id;
		crypto_kdf_derive_from_key(s->key[i].bytes, RF_KEY_BYTES, RF_KEY_KDF_WIRE,
					   "rf-wire1", keys->key[i].bytes);
	}
}

void rf_seal_copies(struct rf_seal *s, bool expected)
{
	s->copies = expected;
}

int rf_seal_area(struct rf_seal *s, const uint8_t area[RF_UUID_BYTES], uint32_t node,
		 uint32_t nodes)
{
	struct area *a;

	if (s->areas == RF_AREAS_MAX)
		return -ENOSPC;
	a = &s->area[s->areas++];
	memcpy(a->uuid, area, RF_UUID_BYTES);
	a->node = node;
	a->nodes = nodes;
	return 0;
}

void rf_seal_life(struct rf_seal *s, unsigned area, uint32_t node, uint64_t incarnation)
{
	struct sender *x = &s->area[area].sender[node];

	if (x->now.incarnation == incarnation)
		return;
	if (x->other.incarnation == incarnation) {
		struct window w = x->now;

		x->now = x->other;
		x->other = w;
	} else {
		x->other = x->now;
		x->now = (struct window){.incarnation = incarnation};
	}
}

/* ---- closing ---- */

size_t rf_seal_close(struct rf_seal *s, unsigned area, uint8_t *datagram,
		     const uint8_t *message, size_t len)
{
	struct rf_wire_envelope e = {0};
	unsigned long long sealed;

	if (len > RF_MESSAGE_BYTES || area >= s->areas || !s->keys)
		return 0;
	e.magic = htole32(RF_WIRE_MAGIC);
	e.sender = htole16((uint16_t)s->area[area].node);
	e.key_id = s->key[0].id;
	memcpy(e.area, s->area[area].uuid, RF_UUID_BYTES);
	e.incarnation = htole64(s->incarnation);
	e.counter = htole64(++s->counter);
	e.salt = htole64(s->salt);
	memcpy(datagram, &e, sizeof(e));
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		datagram + sizeof(e), &sealed, message, len, (const uint8_t *)&e, sizeof(e),
		NULL, (const uint8_t *)&e + offsetof(struct rf_wire_envelope, incarnation),
		s->key[0].bytes);
	return sizeof(e) + (size_t)sealed;
}

/* ---- opening ---- */

static const struct rf_key *key_of(const struct rf_seal *s, uint8_t id)
{
	for (unsigned i = 0; i < s->keys; i++)
		if (s->key[i].id == id)
			return &s->key[i];
	return NULL;
}

static int area_of(const struct rf_seal *s, const struct rf_wire_envelope *e)
{
	uint32_t sender = le16toh(e->sender);

	for (unsigned i = 0; i < s->areas; i++)
		if (!memcmp(s->area[i].uuid, e->area, RF_UUID_BYTES))
			return sender >= 1 && sender <= s->area[i].nodes ? (int)i : -1;
	return -1;
}

enum freshness { NEW, SEEN, TOO_OLD };

/* Is the counter new in this window? Then it is not any more. */
static enum freshness fresh(struct window *w, uint64_t counter)
{
	uint64_t back;

	if (counter > w->highest) {
		uint64_t ahead = counter - w->highest;

		w->seen = ahead >= WINDOW ? 0 : w->seen << ahead;
		w->seen |= 1;
		w->highest = counter;
		return NEW;
	}
	back = w->highest - counter;
	if (back >= WINDOW)
		return TOO_OLD;
	if (w->seen >> back & 1)
		return SEEN;
	w->seen |= 1ull << back;
	return NEW;
}

static enum freshness fresh_of(struct sender *x, uint64_t incarnation, uint64_t counter)
{
	if (x->now.incarnation == incarnation)
		return fresh(&x->now, counter);
	if (x->other.incarnation != incarnation)
		x->other = (struct window){.incarnation = incarnation};
	return fresh(&x->other, counter);
}

static int reject_as(enum rf_reject *reject, enum rf_reject why)
{
	*reject = why;
	return -1;
}

int rf_seal_unseal(struct rf_seal *s, const uint8_t *datagram, size_t len, uint8_t *message,
		   struct rf_unsealed *out, enum rf_reject *reject)
{
	const size_t least = sizeof(struct rf_wire_envelope) + RF_WIRE_TAG_BYTES;
	struct rf_wire_envelope e;
	unsigned long long opened;
	const struct rf_key *key;
	int area;

	if (len < least || len > least + RF_MESSAGE_BYTES)
		return reject_as(reject, RF_REJECT_SHORT);
	memcpy(&e, datagram, sizeof(e));
	if (le32toh(e.magic) != RF_WIRE_MAGIC || e.zero)
		return reject_as(reject, RF_REJECT_MAGIC);
	area = area_of(s, &e);
	if (area < 0)
		return reject_as(reject, RF_REJECT_AREA);
	key = key_of(s, e.key_id);
	if (!key)
		return reject_as(reject, RF_REJECT_KEY);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    message, &opened, NULL, datagram + sizeof(e), len - sizeof(e),
		    (const uint8_t *)&e, sizeof(e),
		    (const uint8_t *)&e + offsetof(struct rf_wire_envelope, incarnation),
		    key->bytes) != 0)
		return reject_as(reject, RF_REJECT_SEAL);
	out->area = (unsigned)area;
	out->from = le16toh(e.sender);
	out->incarnation = le64toh(e.incarnation);
	out->len = (size_t)opened;
	if (out->incarnation == s->incarnation)
		return 1;                    /* my own, come back by multicast */
	if (out->from == s->area[area].node) /* an earlier life of mine */
		return reject_as(reject, RF_REJECT_LIFE);
	switch (fresh_of(&s->area[area].sender[out->from], out->incarnation,
			 le64toh(e.counter))) {
	case NEW:
		return 0;
	case SEEN:
		return s->copies ? 1 : reject_as(reject, RF_REJECT_REPLAY);
	default:
		return reject_as(reject, RF_REJECT_REPLAY);
	}
}
