/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence nbd-name: the signed export name under which this node may connect
 * to the target (ringfence/key.h). Area, volume, epoch and incarnation come from
 * the daemon unless given.
 */
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "out.h"
#include "ringfence/key.h"
#include "tool.h"

#define CONFIG_PATH "/etc/ringfence/ringfence.conf"
#define KEY_PATH "/etc/ringfence/key"

static const char *key_file, *config = CONFIG_PATH, *kind_text = "data";
static uint64_t epoch, incarnation;
static uint32_t node;
static bool epoch_seen, incarnation_seen, node_seen;

static const struct opt opts[] = {
	{"kind", "KIND", "data, quorum, stat or shut; default data", OPT_TEXT, &kind_text,
	 NULL},
	{"epoch", "E", "instead of the epoch this node owns", OPT_U64, &epoch, &epoch_seen},
	{"incarnation", "HEX", "instead of the one of this node's daemon", OPT_HEX64,
	 &incarnation, &incarnation_seen},
	{"node", "N", "instead of this node's id", OPT_U32, &node, &node_seen},
	{"key-file", "FILE", "cluster keys; default: [auth] key-file of the configuration",
	 OPT_TEXT, &key_file, NULL},
	{"config", "FILE", "configuration to take key-file from", OPT_TEXT, &config, NULL},
	{0},
};

static int take_kind(enum rf_conn_kind *kind)
{
	static const struct {
		const char *name;
		enum rf_conn_kind kind;
	} kinds[] = {{"data", RF_CONN_DATA},
		     {"quorum", RF_CONN_QUORUM},
		     {"stat", RF_CONN_STAT},
		     {"shut", RF_CONN_SHUT}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, kind_text)) {
			*kind = kinds[i].kind;
			return 0;
		}
	return fail(RF_EXIT_BAD_VALUE, "--kind %s: wants data, quorum, stat or shut",
		    kind_text);
}

/* ---- keys ---- */

static int on_setting(void *user, const char *section, const char *name, const char *value)
{
	if (!strcmp(section, "auth") && !strcmp(name, "key-file"))
		snprintf(user, 4096, "%s", value);
	return 1;
}

static int load_keys(struct rf_keys *keys)
{
	char path[4096] = KEY_PATH, err[512];
	int rc;

	if (key_file)
		snprintf(path, sizeof(path), "%s", key_file);
	else if (ini_parse(config, on_setting, path) > 0)
		return fail(RF_EXIT_CONFIG,
			    "%s: cannot be understood: name the key with --key-file", config);
	rc = rf_keys_load(keys, path, err, sizeof(err));
	if (!rc)
		return 0;
	return fail(rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_CONFIG, "%s", err);
}

/* ---- what the daemon knows ---- */

static const struct rf_ctl_volume *volume_of(const struct ctl_status *s, const char *name)
{
	unsigned i;

	for (i = 0; i < s->volumes; i++)
		if (!strcmp(s->volume[i].name, name) && s->volume[i].area < s->areas)
			return &s->volume[i];
	return NULL;
}

/* Epoch 0 is fine for quorum and stat: those connections write no data. */
static int own_epoch(const struct rf_ctl_volume *v, const struct rf_ctl_area *a,
		     struct rf_conn *conn)
{
	bool mine = v->owner == conn->node && v->owner_incarnation == conn->incarnation;

	conn->epoch = epoch_seen ? epoch : mine ? v->epoch : 0;
	if (epoch_seen || mine || conn->kind == RF_CONN_QUORUM || conn->kind == RF_CONN_STAT)
		return 0;
	return fail(RF_EXIT_NO,
		    "%s: node %u of '%s' does not own epoch %llu (node %u does): no data "
		    "connection without it, unless --epoch says which",
		    v->name, conn->node, a->cluster, (unsigned long long)v->epoch, v->owner);
}

static int fill(const struct ctl_status *s, const char *name, struct rf_conn *conn)
{
	const struct rf_ctl_volume *v = volume_of(s, name);
	const struct rf_ctl_area *a;

	if (!v)
		return fail(RF_EXIT_NO_SUCH, "no volume '%s' on this host", name);
	a = &s->area[v->area];
	memcpy(conn->area, a->area_uuid, sizeof(conn->area));
	conn->volume = v->volume;
	conn->node = node_seen ? node : a->node;
	conn->incarnation = incarnation_seen ? incarnation : a->incarnation;
	if (!conn->node || conn->node > RF_NODES_MAX)
		return fail(RF_EXIT_BAD_VALUE, "--node %u: node ids are 1 to %u", conn->node,
			    RF_NODES_MAX);
	return own_epoch(v, a, conn);
}

static void show(const struct rf_conn *conn, const struct rf_keys *keys)
{
	char name[RF_CONN_NAME_BYTES];
	struct json_object *doc;

	rf_conn_name(name, conn, keys);
	if (!tool.json) {
		puts(name);
		return;
	}
	doc = out_doc();
	out_text(doc, "name", name);
	out_text(doc, "kind", kind_text);
	out_uuid(doc, "area_uuid", conn->area);
	out_int(doc, "volume", conn->volume);
	out_int(doc, "node", conn->node);
	out_u64(doc, "incarnation", conn->incarnation);
	out_format(doc, "incarnation_hex", "%016llx", (unsigned long long)conn->incarnation);
	out_u64(doc, "epoch", conn->epoch);
	out_print(doc);
}

static int run(int argc, char **argv)
{
	struct rf_conn conn = {0};
	struct ctl_status s;
	struct rf_keys keys;
	int rc = take_kind(&conn.kind);

	(void)argc;
	if (!rc)
		rc = load_keys(&keys);
	if (rc)
		return rc;
	rc = ctl_status(&s);
	if (!rc)
		rc = fill(&s, argv[0], &conn);
	if (!rc)
		show(&conn, &keys);
	ctl_status_free(&s);
	explicit_bzero(&keys, sizeof(keys));
	return rc;
}

const struct command cmd_nbd_name = {
	.name = "nbd-name",
	.args = "VOLUME",
	.brief = "print the signed export name for a connection to the target",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
