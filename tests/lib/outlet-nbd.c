/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection to the target plugin, bound to one epoch by the name it asks for. */
#include <libnbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outlet.h"

struct outlet {
	struct nbd_handle *nbd;
};

const bool outlet_lets_return = true;

static bool load_keys(const char *path, struct rf_keys *keys)
{
	char err[256];

	if (rf_keys_load(keys, path, err, sizeof(err)) == 0)
		return true;
	fprintf(stderr, "rf-writer: key: %s\n", err);
	return false;
}

/* The URI of the server with the export name put into its path (before any '?').
 * A name needs no escaping: digits, hex and dots. */
static bool connect_to(struct nbd_handle *nbd, const char *server, const char *name)
{
	int path = (int)strcspn(server, "?");
	char uri[1024];

	snprintf(uri, sizeof(uri), "%.*s%s%s", path, server, name, server + path);
	return nbd_connect_uri(nbd, uri) == 0;
}

struct outlet *outlet_open(const struct outlet_spec *spec)
{
	struct outlet *o = calloc(1, sizeof(*o));
	char name[RF_CONN_NAME_BYTES];
	struct rf_keys keys;

	if (!o || !spec->key_file || !load_keys(spec->key_file, &keys)) {
		free(o);
		return NULL;
	}
	rf_conn_name(name, &spec->conn, &keys);
	o->nbd = nbd_create();
	if (o->nbd && connect_to(o->nbd, spec->to, name))
		return o;
	fprintf(stderr, "rf-writer: node %u epoch %llu: %s\n", spec->conn.node,
		(unsigned long long)spec->conn.epoch, nbd_get_error());
	outlet_close(o);
	return NULL;
}

/* A refusal is an answer, a dead connection is none. */
enum outcome outlet_write(struct outlet *o, const void *block, uint64_t offset)
{
	if (nbd_pwrite(o->nbd, block, BLOCK_BYTES, offset, 0) == 0)
		return WROTE;
	return nbd_aio_is_ready(o->nbd) ? REFUSED : UNKNOWN;
}

void outlet_close(struct outlet *o)
{
	if (o->nbd)
		nbd_close(o->nbd);
	free(o);
}
