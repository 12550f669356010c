/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cluster keys and the names of NBD connections.
 *
 * Key file: text, owned by root (or the caller), no access for group and
 * others. One key a line: `ID HEX`, ID 0..255 decimal, HEX 64 hex digits
 * (32 bytes); `#` starts a comment. The first key signs and seals, all of them
 * are accepted: append the new key everywhere, then move it to the front
 * everywhere, then drop the old one.
 *
 * Connection name (an NBD export name), bound for ever to who may use it:
 *
 *   rf1.KIND.KEYID.AREA.VOLUME.NODE.INCARNATION.EPOCH.MAC
 *
 *   KIND         data    write the volume under EPOCH; switches the target to
 *                        EPOCH if that is newer than what it serves
 *                shut    end EPOCH of NODE at the target: answered when drained
 *                quorum  the quorum area, writable only in NODE's own records
 *                stat    counters as text, read-only
 *   KEYID        decimal
 *   AREA         32 hex digits
 *   VOLUME, NODE, EPOCH  decimal
 *   INCARNATION  16 hex digits
 *   MAC          32 hex digits: keyed BLAKE2b-128 of all that stands before
 *                the last dot, under a subkey of the cluster key (context
 *                "rf-nbd-1", libsodium's crypto_kdf, id 1)
 */
#ifndef RINGFENCE_KEY_H
#define RINGFENCE_KEY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "limits.h"

#define RF_KEY_BYTES 32u
#define RF_CONN_NAME_BYTES 192u /* a connection name with its NUL */
#define RF_KEY_KDF_NBD 1u
#define RF_KEY_KDF_WIRE 2u /* subkey of the datagram seal, context "rf-wire1" */

struct rf_key {
	__u8 id;
	__u8 bytes[RF_KEY_BYTES];
};

struct rf_keys {
	unsigned count; /* at least 1 after a successful load */
	struct rf_key key[RF_KEYS_MAX];
};

/*
 * Load a key file. 0, or -errno with one line in err[] that names path, line
 * and what to do: -ENOENT, -EACCES (mode or owner too open), -EINVAL (syntax,
 * duplicate id, no key, too many keys), -ENODATA (empty).
 */
int rf_keys_load(struct rf_keys *keys, const char *path, char *err, size_t err_bytes);
const struct rf_key *rf_keys_find(const struct rf_keys *keys, __u8 id);

enum rf_conn_kind {
	RF_CONN_DATA = 1,
	RF_CONN_SHUT = 2,
	RF_CONN_QUORUM = 3,
	RF_CONN_STAT = 4,
};

struct rf_conn {
	enum rf_conn_kind kind;
	__u8 area[RF_UUID_BYTES];
	__u32 volume;
	__u32 node;
	__u64 incarnation;
	__u64 epoch;
};

/* Write the signed name of conn under the first key. Always succeeds. */
void rf_conn_name(char name[RF_CONN_NAME_BYTES], const struct rf_conn *conn,
		  const struct rf_keys *keys);
/* Check and parse a name. 0, -EINVAL (syntax), -ENOKEY (key id), -EBADMSG (MAC). */
int rf_conn_parse(struct rf_conn *conn, const char *name, const struct rf_keys *keys);

#endif
