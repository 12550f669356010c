/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence probe: is there an area on this device? Quick; made for udev. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "disk.h"
#include "out.h"
#include "tool.h"
#include "words.h"

static bool export_wanted;

static const struct opt opts[] = {
	{"export", NULL, "KEY=value lines for udev", OPT_FLAG, &export_wanted, NULL},
	{0},
};

/* udev reads these; nothing in a value needs quoting: names are checked by the
 * decoder, the rest is ours. Spaces would end a value, so they become '_'. */
static void export_line(const char *key, const char *value)
{
	printf("%s=", key);
	for (; *value; value++)
		putchar(*value <= ' ' || *value == '"' || *value == '\'' ? '_' : *value);
	putchar('\n');
}

static void export_all(const struct disk *d)
{
	const struct rf_super *s = &d->super;
	char uuid[37];

	export_line("ID_FS_TYPE", "ringfence_member");
	export_line("ID_FS_USAGE", "raid");
	export_line("ID_FS_VERSION", "1");
	out_uuid_text(uuid, s->id.cluster);
	export_line("ID_FS_UUID", uuid);
	export_line("RINGFENCE_CLUSTER_UUID", uuid);
	out_uuid_text(uuid, s->id.area);
	export_line("ID_FS_UUID_SUB", uuid);
	export_line("RINGFENCE_AREA_UUID", uuid);
	export_line("ID_FS_LABEL", s->cluster_name);
	export_line("RINGFENCE_CLUSTER", s->cluster_name);
	export_line("RINGFENCE_PLACE", words_place(s->place));
	printf("RINGFENCE_NODES=%u\nRINGFENCE_VOLUMES=%u\n", s->id.nodes, s->volumes);
	printf("RINGFENCE_DISK_INDEX=%u\nRINGFENCE_DISK_COUNT=%u\n", s->disk_index,
	       s->disk_count);
	printf("RINGFENCE_AREA_OFFSET=%" PRIu64 "\nRINGFENCE_AREA_BYTES=%" PRIu64 "\n",
	       d->base_bytes, s->area_strides * s->id.stride_bytes);
	printf("RINGFENCE_DAMAGED=%d\n", d->found == FOUND_COPY);
}

static struct json_object *doc_of(const struct disk *d)
{
	const struct rf_super *s = &d->super;
	struct json_object *doc = out_doc();

	out_text(doc, "device", d->path);
	out_text(doc, "cluster", s->cluster_name);
	out_uuid(doc, "cluster_uuid", s->id.cluster);
	out_uuid(doc, "area_uuid", s->id.area);
	out_text(doc, "reserve", words_place(s->place));
	out_int(doc, "nodes", s->id.nodes);
	out_int(doc, "volumes", s->volumes);
	out_int(doc, "disk_index", s->disk_index);
	out_int(doc, "disk_count", s->disk_count);
	out_u64(doc, "area_offset_bytes", d->base_bytes);
	out_u64(doc, "area_bytes", s->area_strides * s->id.stride_bytes);
	out_bool(doc, "superblock_damaged", d->found == FOUND_COPY);
	return doc;
}

static void show(const struct disk *d)
{
	const struct rf_super *s = &d->super;

	if (export_wanted)
		export_all(d);
	else if (tool.json)
		out_print(doc_of(d));
	else
		printf("%s: ringfence area of cluster '%s', disk %u of %u, %u nodes, %u "
		       "volumes, "
		       "at byte %" PRIu64 "%s\n",
		       d->path, s->cluster_name, s->disk_index + 1, s->disk_count, s->id.nodes,
		       s->volumes, d->base_bytes,
		       d->found == FOUND_COPY ? " (superblock damaged, copy good)" : "");
}

static int judge(const struct disk *d)
{
	switch (d->found) {
	case FOUND_GOOD:
	case FOUND_COPY:
		show(d);
		return 0;
	case FOUND_DAMAGED:
		return fail(RF_EXIT_BAD_DATA, "%s: superblock at byte %" PRIu64 " is %s",
			    d->path, d->verdict_at_bytes, record_verdict_words(d->verdict));
	case FOUND_NOTHING:
		break;
	}
	if (!export_wanted)
		note("%s: not ours: no ringfence area at its start or end", d->path);
	return RF_EXIT_BAD_VALUE;
}

static int run(int argc, char **argv)
{
	struct disk d;
	int rc = disk_open(&d, argv[0], O_RDONLY);

	(void)argc;
	if (rc)
		return rc;
	rc = disk_locate(&d, false);
	if (!rc)
		rc = judge(&d);
	disk_close(&d);
	return rc;
}

const struct command cmd_probe = {
	.name = "probe",
	.args = "DEVICE",
	.brief = "is there a ringfence area on this device?",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
