/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connection names and key files. Anybody who reaches the target can send a name:
 * only what was signed under an accepted key parses, and it parses to what was signed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "ringfence/key.h"

static const struct rf_keys keys = {.count = 2, .key = {{7, {1, 2, 3}}, {200, {9}}}};
static const struct rf_keys others = {.count = 2, .key = {{7, {1, 2, 4}}, {201, {9}}}};

static void need(bool x, const char *what)
{
	if (x)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

static bool same(const struct rf_conn *a, const struct rf_conn *b)
{
	return a->kind == b->kind && !memcmp(a->area, b->area, RF_UUID_BYTES) &&
	       a->volume == b->volume && a->node == b->node &&
	       a->incarnation == b->incarnation && a->epoch == b->epoch;
}

static uint64_t feed_u64(struct feed *f)
{
	uint64_t high = feed_u32(f);

	return high << 32 | feed_u32(f);
}

/* Exactly as long as it is: reading beyond its end is seen. */
static int parse(struct rf_conn *conn, const char *name, size_t len, const struct rf_keys *k)
{
	struct rf_conn untouched;
	char *exact = malloc(len + 1);
	int rc;

	memcpy(exact, name, len);
	exact[len] = 0;
	memset(conn, 0x5a, sizeof(*conn));
	untouched = *conn;
	rc = rf_conn_parse(conn, exact, k);
	free(exact);
	need(rc == 0 || rc == -EINVAL || rc == -ENOKEY || rc == -EBADMSG, "answer is known");
	need(rc == 0 || !memcmp(conn, &untouched, sizeof(untouched)), "refused, and untouched");
	return rc;
}

static void signed_name(struct feed *f)
{
	struct rf_conn c = {.kind = 1 + feed_u8(f) % 4}, out;
	char name[RF_CONN_NAME_BYTES];
	uint8_t flip;
	size_t len;

	feed_bytes(f, c.area, sizeof(c.area));
	c.volume = feed_u8(f);
	c.node = 1 + feed_u8(f) % RF_NODES_MAX;
	c.incarnation = feed_u64(f);
	c.epoch = feed_u64(f);
	rf_conn_name(name, &c, &keys);
	len = strlen(name);
	need(len < sizeof(name), "name fits");
	need(parse(&out, name, len, &keys) == 0 && same(&c, &out),
	     "what was signed comes back");
	need(parse(&out, name, len, &others) != 0, "under these keys only");
	flip = feed_u8(f);
	if (flip) {
		size_t at = feed_u8(f) % len;

		name[at] = (char)(name[at] ^ flip);
		need(parse(&out, name, strlen(name), &keys) != 0, "changed, so not signed");
	}
}

static void key_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("key", MFD_CLOEXEC);
	struct rf_keys k;
	char path[64], err[200];
	int rc;

	need(fd >= 0 && !fchmod(fd, 0600) && write(fd, data, size) == (ssize_t)size, "a file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(err, 'x', sizeof(err));
	err[0] = 0;
	rc = rf_keys_load(&k, path, err, sizeof(err));
	close(fd);
	if (rc) {
		need(err[0] && memchr(err, 0, sizeof(err)), "a refusal says why");
		need(k.count == 0, "no key from a bad file");
		return;
	}
	need(k.count >= 1 && k.count <= RF_KEYS_MAX, "keys are bounded");
	for (unsigned i = 0; i < k.count; i++)
		need(rf_keys_find(&k, k.key[i].id) == &k.key[i], "key ids are unique");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {.data = data, .size = size};
	struct rf_conn out;

	switch (feed_u8(&f) & 3) {
	case 0:
		signed_name(&f);
		break;
	case 1:
		key_file(data + f.at, size - f.at);
		break;
	default:
		need(parse(&out, (const char *)data + f.at, size - f.at, &keys) != 0,
		     "nobody guesses a signature");
	}
	return 0;
}
