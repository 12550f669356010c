/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cluster keys, and the signed names of NBD connections (key.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ringfence/key.h"

#define KEY_FILE_BYTES 65536u
#define MAC_BYTES 16u
#define MAC_HEX (2 * MAC_BYTES)

_Static_assert(crypto_kdf_KEYBYTES == RF_KEY_BYTES, "a cluster key is a kdf key");
_Static_assert(MAC_BYTES >= crypto_generichash_BYTES_MIN, "MAC length");

static const char *const kind_names[] = {
	[RF_CONN_DATA] = "data",
	[RF_CONN_SHUT] = "shut",
	[RF_CONN_QUORUM] = "quorum",
	[RF_CONN_STAT] = "stat",
};

/* ---- key files ---- */

struct key_text {
	const char *path;
	unsigned line;
	char *err;
	size_t err_bytes;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct key_text *t, int error,
							const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(t->err, t->err_bytes, "key file %s", t->path);
	if (t->line && n >= 0 && (size_t)n < t->err_bytes)
		n += snprintf(t->err + n, t->err_bytes - n, ":%u", t->line);
	if (n >= 0 && (size_t)n < t->err_bytes)
		n += snprintf(t->err + n, t->err_bytes - n, ": ");
	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < t->err_bytes)
		vsnprintf(t->err + n, t->err_bytes - n, fmt, ap);
	va_end(ap);
	return error;
}

static int check_access(const struct key_text *t, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return refuse(t, -EINVAL, "not a regular file; name the key file itself");
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return refuse(t, -EACCES, "owned by uid %u; chown it to root or to uid %u",
			      (unsigned)st->st_uid, (unsigned)geteuid());
	if (st->st_mode & 077)
		return refuse(t, -EACCES, "mode %03o lets others at the key; chmod 600 it",
			      (unsigned)st->st_mode & 0777);
	if (st->st_size == 0)
		return refuse(t, -ENODATA, "empty; make one with `ringfence keygen`");
	if (st->st_size > KEY_FILE_BYTES)
		return refuse(t, -EINVAL, "larger than %u bytes; not a key file",
			      KEY_FILE_BYTES);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A number of at most 3 digits; -1 when there is none or it does not fit. */
static int parse_id(const char **p)
{
	unsigned id = 0, digits = 0;

	for (; **p >= '0' && **p <= '9' && digits < 4; (*p)++, digits++)
		id = id * 10 + (unsigned)(**p - '0');
	return digits && digits < 4 && id <= 255 ? (int)id : -1;
}

static bool parse_key_hex(const char **p, __u8 bytes[RF_KEY_BYTES])
{
	unsigned i;

	for (i = 0; i < RF_KEY_BYTES; i++, *p += 2) {
		int high = hex_digit((*p)[0]);
		int low = high < 0 ? -1 : hex_digit((*p)[1]);

		if (low < 0)
			return false;
		bytes[i] = (__u8)(high << 4 | low);
	}
	return true;
}

static int add_key(const struct key_text *t, struct rf_keys *keys, const char *p)
{
	struct rf_key *key = &keys->key[keys->count];
	int id = parse_id(&p);

	if (id < 0 || !blank(*p))
		return refuse(t, -EINVAL, "expected `ID HEX` with ID 0..255");
	while (blank(*p))
		p++;
	if (keys->count == RF_KEYS_MAX)
		return refuse(t, -EINVAL, "more than %u keys; drop the oldest", RF_KEYS_MAX);
	if (rf_keys_find(keys, (__u8)id))
		return refuse(t, -EINVAL, "key id %d stands here twice; give one another id",
			      id);
	if (!parse_key_hex(&p, key->bytes))
		return refuse(t, -EINVAL, "key %d is not %u hex digits", id, 2 * RF_KEY_BYTES);
	while (blank(*p))
		p++;
	if (*p && *p != '#')
		return refuse(t, -EINVAL, "something follows the %u hex digits of key %d",
			      2 * RF_KEY_BYTES, id);
	if (sodium_is_zero(key->bytes, RF_KEY_BYTES))
		return refuse(t, -EINVAL,
			      "key %d is all zeros; make one with `ringfence keygen`", id);
	key->id = (__u8)id;
	keys->count++;
	return 0;
}

static int parse_lines(struct key_text *t, struct rf_keys *keys, char *text)
{
	char *next = text;
	int rc = 0;

	while (!rc && next) {
		char *p = next;

		next = strchr(p, '\n');
		if (next)
			*next++ = 0;
		t->line++;
		while (blank(*p))
			p++;
		if (*p && *p != '#')
			rc = add_key(t, keys, p);
	}
	if (rc)
		return rc;
	t->line = 0;
	if (!keys->count)
		return refuse(t, -EINVAL, "no key in it; make one with `ringfence keygen`");
	return 0;
}

static int read_text(const struct key_text *t, int fd, char *text, size_t bytes)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n = read(fd, text + have, bytes - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return refuse(t, -errno, "cannot read: %s", strerror(errno));
		if (n == 0)
			break;
		have += (size_t)n;
	}
	text[have] = 0;
	if (strlen(text) != have)
		return refuse(t, -EINVAL, "holds a NUL byte; not a key file");
	return 0;
}

static int load_open(struct key_text *t, struct rf_keys *keys, int fd)
{
	struct stat st;
	char *text;
	int rc;

	if (fstat(fd, &st))
		return refuse(t, -errno, "cannot stat: %s", strerror(errno));
	rc = check_access(t, &st);
	if (rc)
		return rc;
	text = malloc(KEY_FILE_BYTES + 1);
	if (!text)
		return refuse(t, -ENOMEM, "out of memory");
	rc = read_text(t, fd, text, KEY_FILE_BYTES);
	if (!rc)
		rc = parse_lines(t, keys, text);
	sodium_memzero(text, KEY_FILE_BYTES + 1);
	free(text);
	return rc;
}

int rf_keys_load(struct rf_keys *keys, const char *path, char *err, size_t err_bytes)
{
	struct key_text t = {.path = path, .err = err, .err_bytes = err_bytes};
	int fd, rc;

	memset(keys, 0, sizeof(*keys));
	if (sodium_init() < 0)
		return refuse(&t, -EIO, "libsodium does not start");
	/* O_NONBLOCK: a FIFO of that name must not hang the opener. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return refuse(&t, -errno, "cannot open: %s%s", strerror(errno),
			      errno == ENOENT ? "; make one with `ringfence keygen`" : "");
	rc = load_open(&t, keys, fd);
	close(fd);
	if (rc)
		sodium_memzero(keys, sizeof(*keys));
	return rc;
}

const struct rf_key *rf_keys_find(const struct rf_keys *keys, __u8 id)
{
	unsigned i;

	for (i = 0; i < keys->count && i < RF_KEYS_MAX; i++)
		if (keys->key[i].id == id)
			return &keys->key[i];
	return NULL;
}

/* ---- connection names ---- */

static void name_mac(__u8 mac[MAC_BYTES], const char *text, size_t len,
		     const struct rf_key *key)
{
	__u8 subkey[RF_KEY_BYTES];

	crypto_kdf_derive_from_key(subkey, sizeof(subkey), RF_KEY_KDF_NBD, "rf-nbd-1",
				   key->bytes);
	crypto_generichash(mac, MAC_BYTES, (const unsigned char *)text, len, subkey,
			   sizeof(subkey));
	sodium_memzero(subkey, sizeof(subkey));
}

void rf_conn_name(char name[RF_CONN_NAME_BYTES], const struct rf_conn *conn,
		  const struct rf_keys *keys)
{
	const struct rf_key *key = &keys->key[0];
	char area[2 * RF_UUID_BYTES + 1], hex[MAC_HEX + 1];
	__u8 mac[MAC_BYTES];
	int len;

	sodium_bin2hex(area, sizeof(area), conn->area, RF_UUID_BYTES);
	len = snprintf(name, RF_CONN_NAME_BYTES,
		       "rf1.%s.%u.%s.%" PRIu32 ".%" PRIu32 ".%016" PRIx64 ".%" PRIu64,
		       kind_names[conn->kind], key->id, area, conn->volume, conn->node,
		       (uint64_t)conn->incarnation, (uint64_t)conn->epoch);
	name_mac(mac, name, (size_t)len, key);
	sodium_bin2hex(hex, sizeof(hex), mac, sizeof(mac));
	snprintf(name + len, RF_CONN_NAME_BYTES - (size_t)len, ".%s", hex);
}

/* Cut the next field off: its start, or NULL when there is none. */
static const char *field(const char **next, size_t *len)
{
	const char *start = *next;

	if (!start)
		return NULL;
	*len = strcspn(start, ".");
	*next = start[*len] ? start + *len + 1 : NULL;
	return start;
}

/* One spelling per number: digits only, no leading zero, at most max. */
static bool field_decimal(const char **next, uint64_t max, uint64_t *out)
{
	size_t len, i;
	const char *p = field(next, &len);
	uint64_t v = 0;

	if (!p || !len || (len > 1 && *p == '0'))
		return false;
	for (i = 0; i < len; i++) {
		uint64_t digit = (uint64_t)(p[i] - '0');

		if (p[i] < '0' || p[i] > '9' || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return v <= max;
}

/* Exactly 2 * bytes lower-case hex digits. */
static bool field_hex(const char **next, __u8 *out, size_t bytes)
{
	size_t len, i;
	const char *p = field(next, &len);

	if (!p || len != 2 * bytes)
		return false;
	for (i = 0; i < len; i++) {
		if (hex_digit(p[i]) < 0 || (p[i] >= 'A' && p[i] <= 'F'))
			return false;
		if (i % 2)
			out[i / 2] |= (__u8)hex_digit(p[i]);
		else
			out[i / 2] = (__u8)(hex_digit(p[i]) << 4);
	}
	return true;
}

static bool field_kind(const char **next, enum rf_conn_kind *kind)
{
	size_t len;
	const char *p = field(next, &len);
	unsigned k;

	for (k = RF_CONN_DATA; p && k <= RF_CONN_STAT; k++) {
		if (strlen(kind_names[k]) == len && !memcmp(p, kind_names[k], len)) {
			*kind = (enum rf_conn_kind)k;
			return true;
		}
	}
	return false;
}

static bool parse_fields(struct rf_conn *conn, const char **next, uint64_t *key_id)
{
	uint64_t volume, node, epoch;
	__u8 incarnation[8];
	size_t len, i;
	const char *p = field(next, &len);

	if (!p || len != 3 || memcmp(p, "rf1", 3))
		return false;
	if (!field_kind(next, &conn->kind) || !field_decimal(next, 255, key_id) ||
	    !field_hex(next, conn->area, RF_UUID_BYTES) ||
	    !field_decimal(next, RF_VOLUMES_MAX - 1, &volume) ||
	    !field_decimal(next, RF_NODES_MAX, &node) || node == 0 ||
	    !field_hex(next, incarnation, sizeof(incarnation)) ||
	    !field_decimal(next, UINT64_MAX, &epoch))
		return false;
	conn->volume = (__u32)volume;
	conn->node = (__u32)node;
	conn->epoch = epoch;
	conn->incarnation = 0;
	for (i = 0; i < sizeof(incarnation); i++)
		conn->incarnation = conn->incarnation << 8 | incarnation[i];
	return true;
}

int rf_conn_parse(struct rf_conn *conn, const char *name, const struct rf_keys *keys)
{
	__u8 mac[MAC_BYTES], want[MAC_BYTES];
	const char *next = name;
	const struct rf_key *key;
	struct rf_conn c;
	uint64_t key_id;
	size_t signed_len;

	if (strnlen(name, RF_CONN_NAME_BYTES) >= RF_CONN_NAME_BYTES)
		return -EINVAL;
	memset(&c, 0, sizeof(c));
	if (!parse_fields(&c, &next, &key_id) || !next)
		return -EINVAL;
	signed_len = (size_t)(next - name) - 1;
	if (!field_hex(&next, mac, sizeof(mac)) || next)
		return -EINVAL;
	key = rf_keys_find(keys, (__u8)key_id);
	if (!key)
		return -ENOKEY;
	name_mac(want, name, signed_len, key);
	if (sodium_memcmp(mac, want, sizeof(mac)))
		return -EBADMSG;
	*conn = c;
	return 0;
}
