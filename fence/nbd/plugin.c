/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nbdkit plugin "ringfence": callbacks, parameters, start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "plugin.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

struct rf_target rf_target;

/* ---- parameters ---- */

static int add_volume(const char *value)
{
	const char *colon = strchr(value, ':');
	struct rf_volume *grown, *v;

	if (!colon || colon == value || !colon[1] || (size_t)(colon - value) >= RF_NAME_BYTES) {
		nbdkit_error("volume=%s: expected NAME:PATH, NAME as `ringfence dump` shows it",
			     value);
		return -1;
	}
	if (rf_target.volumes == RF_VOLUMES_MAX) {
		nbdkit_error("volume=%s: more than %u volumes", value, RF_VOLUMES_MAX);
		return -1;
	}
	grown = realloc(rf_target.volume, (rf_target.volumes + 1) * sizeof(*grown));
	if (!grown) {
		nbdkit_error("out of memory");
		return -1;
	}
	rf_target.volume = grown;
	v = &grown[rf_target.volumes++];
	memset(v, 0, sizeof(*v));
	v->fd = -1;
	v->name = nbdkit_strndup_intern(value, (size_t)(colon - value));
	v->path = nbdkit_absolute_path(colon + 1);
	return v->name && v->path ? 0 : -1;
}

static int add_area(const char *value)
{
	char err[512];

	while (*value) {
		size_t len = strcspn(value, ",");
		char *one = strndup(value, len);
		const char *path = one && len ? nbdkit_absolute_path(one) : NULL;

		free(one);
		if (!path) {
			nbdkit_error("area: empty path; expected PATH[,PATH…]");
			return -1;
		}
		if (rf_area_add(&rf_target.area, path, err, sizeof(err))) {
			nbdkit_error("%s", err);
			return -1;
		}
		value += len + (value[len] == ',');
	}
	return 0;
}

static int set_reads(const char *value)
{
	if (strcmp(value, "open") && strcmp(value, "refuse")) {
		nbdkit_error("reads=%s: expected open or refuse", value);
		return -1;
	}
	rf_target.reads_refused = !strcmp(value, "refuse");
	return 0;
}

static int plugin_config(const char *key, const char *value)
{
	if (!strcmp(key, "volume"))
		return add_volume(value);
	if (!strcmp(key, "area"))
		return add_area(value);
	if (!strcmp(key, "reads"))
		return set_reads(value);
	if (!strcmp(key, "key-file"))
		return (rf_target.key_path = nbdkit_absolute_path(value)) ? 0 : -1;
	if (!strcmp(key, "state-dir"))
		return (rf_target.state_dir = nbdkit_absolute_path(value)) ? 0 : -1;
	nbdkit_error("unknown parameter %s; known are volume, area, key-file, state-dir, reads",
		     key);
	return -1;
}

static int plugin_config_complete(void)
{
	if (!rf_target.area.disks) {
		nbdkit_error("area=PATH[,PATH…] is missing: the quorum disks");
		return -1;
	}
	if (!rf_target.key_path) {
		nbdkit_error("key-file=PATH is missing: the cluster's keys");
		return -1;
	}
	return 0;
}

/* ---- start ---- */

static int check_duplicate(unsigned i)
{
	unsigned k;

	for (k = 0; k < i; k++) {
		if (rf_target.volume[k].number != rf_target.volume[i].number)
			continue;
		nbdkit_error("volume %s is given twice", rf_target.volume[i].name);
		return -1;
	}
	return 0;
}

static int plugin_get_ready(void)
{
	char err[512];
	unsigned i;

	if (rf_export_keys_load(&rf_target, err, sizeof(err)) ||
	    rf_area_open(&rf_target.area, err, sizeof(err))) {
		nbdkit_error("%s", err);
		return -1;
	}
	for (i = 0; i < rf_target.volumes; i++) {
		if (rf_volume_start(&rf_target, &rf_target.volume[i], err, sizeof(err))) {
			nbdkit_error("%s", err);
			return -1;
		}
		if (check_duplicate(i))
			return -1;
	}
	return 0;
}

static void plugin_unload(void)
{
	unsigned i;

	for (i = 0; i < rf_target.volumes; i++)
		rf_volume_stop(&rf_target.volume[i]);
	rf_area_close(&rf_target.area);
	free(rf_target.volume);
	rf_target.volume = NULL;
	rf_target.volumes = 0;
}

/* ---- connections ---- */

static void *plugin_open(int readonly)
{
	(void)readonly;
	return rf_export_open(&rf_target, nbdkit_export_name());
}

static void plugin_close(void *handle)
{
	rf_export_close(handle);
}

/* Names are secrets of their holders: none is listed, none is the default. */
static int plugin_list_exports(int readonly, int is_tls, struct nbdkit_exports *exports)
{
	(void)readonly;
	(void)is_tls;
	(void)exports;
	return 0;
}

static int64_t plugin_get_size(void *handle)
{
	const struct rf_export *e = handle;

	switch (e->conn.kind) {
	case RF_CONN_DATA:
		return (int64_t)e->volume->bytes;
	case RF_CONN_QUORUM:
		return (int64_t)rf_area_bytes(&rf_target.area);
	case RF_CONN_STAT:
		return RF_STAT_BYTES;
	case RF_CONN_SHUT:
		break;
	}
	return 0;
}

static int plugin_block_size(void *handle, uint32_t *minimum, uint32_t *preferred,
			     uint32_t *maximum)
{
	const struct rf_export *e = handle;

	*minimum = *preferred = *maximum = 0;
	if (e->conn.kind == RF_CONN_QUORUM) {
		*minimum = rf_target.area.sector_bytes;
		*preferred = rf_target.area.id.stride_bytes;
		*maximum = 32u << 20;
	}
	return 0;
}

static bool is_data(const void *handle)
{
	return ((const struct rf_export *)handle)->conn.kind == RF_CONN_DATA;
}

static int plugin_can_write(void *handle)
{
	const struct rf_export *e = handle;

	return is_data(e) || (e->conn.kind == RF_CONN_QUORUM && !e->disk->read_only);
}

static int plugin_can_flush(void *handle)
{
	return plugin_can_write(handle);
}

static int plugin_can_trim(void *handle)
{
	return is_data(handle);
}

static int plugin_can_fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;
}

/* All connections of an epoch share one descriptor and one page cache: a flush
 * or FUA on one is seen by all. */
static int plugin_can_multi_conn(void *handle)
{
	(void)handle;
	return 1;
}

/* ---- requests ---- */

static int finish(int rc)
{
	if (!rc)
		return 0;
	nbdkit_set_error(-rc);
	return -1;
}

static int read_stat(struct rf_export *e, void *buf, uint32_t count, uint64_t offset)
{
	char text[RF_STAT_BYTES];

	rf_stat_text(&rf_target, e->volume, text);
	memcpy(buf, text + offset, count);
	return 0;
}

static int plugin_pread(void *handle, void *buf, uint32_t count, uint64_t offset,
			uint32_t flags)
{
	struct rf_export *e = handle;

	(void)flags;
	switch (e->conn.kind) {
	case RF_CONN_DATA:
		return finish(rf_data_read(e, buf, count, offset));
	case RF_CONN_QUORUM:
		return finish(rf_quorum_read(&rf_target.area, e->disk, buf, count, offset));
	case RF_CONN_STAT:
		return finish(read_stat(e, buf, count, offset));
	case RF_CONN_SHUT:
		break;
	}
	return finish(-EINVAL);
}

static int write_quorum(struct rf_export *e, const void *buf, uint32_t count, uint64_t offset)
{
	static const enum rf_refusal whys[] = {
		[RF_QUORUM_SHAPE] = RF_REFUSE_Q_SHAPE,
		[RF_QUORUM_READONLY] = RF_REFUSE_Q_READONLY,
		[RF_QUORUM_NOT_OWN] = RF_REFUSE_Q_NOT_OWN,
		[RF_QUORUM_BAD] = RF_REFUSE_Q_BAD,
		[RF_QUORUM_LOWER] = RF_REFUSE_Q_LOWER,
	};
	enum rf_quorum_verdict v;
	int rc = rf_quorum_write(&rf_target.area, e->disk, &e->conn, buf, count, offset, &v);

	if (v != RF_QUORUM_OK)
		rf_refuse(&rf_target.refused, whys[v], "quorum", &e->conn, 0);
	return rc;
}

static int plugin_pwrite(void *handle, const void *buf, uint32_t count, uint64_t offset,
			 uint32_t flags)
{
	struct rf_export *e = handle;

	if (is_data(e))
		return finish(rf_data_write(e, buf, count, offset, flags & NBDKIT_FLAG_FUA));
	if (e->conn.kind == RF_CONN_QUORUM)
		return finish(write_quorum(e, buf, count, offset));
	return finish(-EPERM);
}

static int plugin_zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	/* Not data: nbdkit falls back on plugin_pwrite, which judges the zeroes. */
	if (!is_data(handle))
		return finish(-EOPNOTSUPP);
	return finish(rf_data_zero(handle, count, offset, flags & NBDKIT_FLAG_MAY_TRIM,
				   flags & NBDKIT_FLAG_FUA));
}

static int plugin_can_fast_zero(void *handle)
{
	return is_data(handle);
}

static int plugin_trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	if (!is_data(handle))
		return finish(-EPERM);
	return finish(rf_data_trim(handle, count, offset, flags & NBDKIT_FLAG_FUA));
}

static int plugin_flush(void *handle, uint32_t flags)
{
	(void)flags;
	/* Quorum writes were durable when they were answered. */
	return is_data(handle) ? finish(rf_data_flush(handle)) : 0;
}

static struct nbdkit_plugin plugin = {
	.name = "ringfence",
	.longname = "ringfence target fence",
	.version = RF_VERSION,
	.description = "volumes that only the owner of the newest epoch can write",
	.config = plugin_config,
	.config_complete = plugin_config_complete,
	.config_help = "area=PATH[,PATH...]  (required) quorum disks\n"
		       "key-file=PATH        (required) cluster keys\n"
		       "volume=NAME:PATH     serve this volume; may be given many times\n"
		       "state-dir=DIR        remember shut epochs over a restart\n"
		       "reads=open|refuse    reads of stale connections (default open)",
	.get_ready = plugin_get_ready,
	.unload = plugin_unload,
	.list_exports = plugin_list_exports,
	.open = plugin_open,
	.close = plugin_close,
	.get_size = plugin_get_size,
	.block_size = plugin_block_size,
	.can_write = plugin_can_write,
	.can_flush = plugin_can_flush,
	.can_trim = plugin_can_trim,
	.can_fua = plugin_can_fua,
	.can_fast_zero = plugin_can_fast_zero,
	.can_multi_conn = plugin_can_multi_conn,
	.pread = plugin_pread,
	.pwrite = plugin_pwrite,
	.zero = plugin_zero,
	.trim = plugin_trim,
	.flush = plugin_flush,
	.errno_is_preserved = 1,
};

struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
