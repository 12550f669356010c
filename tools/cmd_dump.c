/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence dump: what lies on the disk, record by record, whatever its state.
 *
 * Exit codes: 0 all that was asked for is readable, 65 some record is damaged
 * (and shown), 74/77 the device could not be read, 2 not ours.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "disk.h"
#include "field.h"
#include "out.h"
#include "tool.h"

static const char *which = "all";
static bool hex, unused;

static const struct opt opts[] = {
	{"record", "KIND",
	 "superblock, slots, mailbox, claims, state, history or all (default)", OPT_TEXT,
	 &which, NULL},
	{"hex", NULL, "every byte, each field named", OPT_FLAG, &hex, NULL},
	{"unused", NULL, "also state and history records that were never used", OPT_FLAG,
	 &unused, NULL},
	{0},
};

/* ---- which records ---- */

static unsigned kinds_wanted(void)
{
	static const struct {
		const char *name;
		unsigned kinds;
	} names[] = {
		{"superblock", 1u << RF_KIND_SUPERBLOCK | 1u << RF_KIND_VOLUME},
		{"slots", 1u << RF_KIND_SLOT},
		{"mailbox", 1u << RF_KIND_MAILBOX},
		{"claims", 1u << RF_KIND_EPOCH | 1u << RF_KIND_BALLOT},
		{"state", 1u << RF_KIND_STATE},
		{"history", 1u << RF_KIND_HISTORY},
		{"all", ~0u},
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, which))
			return names[i].kinds;
	return 0;
}

/* Hundreds of empty rings and states would hide what matters. */
static bool never_used(const struct record *r, const struct merged *m)
{
	if (m->newest < 0 || m->differ || unused)
		return false;
	if (r->kind == RF_KIND_STATE)
		return !rf_get64(((const struct rf_disk_state *)m->raw)->epoch);
	return r->kind == RF_KIND_HISTORY &&
	       !rf_get64(((const struct rf_disk_history *)m->raw)->epoch);
}

/* ---- text ---- */

/* A slot has room for six prevotes; those without a candidate say nothing. */
static bool empty_grant(const struct field *f, const void *raw)
{
	const struct rf_disk_slot *s = raw;
	unsigned n;

	if (strncmp(f->name, "grant", 5))
		return false;
	n = (unsigned)f->name[5] - '0';
	return n < RF_SLOT_GRANTS && !s->grants[n].candidate;
}

static void text_fields(const struct field *f, const void *raw)
{
	char text[FIELD_TEXT_BYTES];

	for (; f->name; f++) {
		if (f->type == FIELD_ZERO || empty_grant(f, raw))
			continue;
		field_text(text, f, raw);
		printf("  %-20s %s\n", f->name, text);
	}
}

static void text_copies(const struct disk_set *set, const struct merged *m)
{
	unsigned i;

	for (i = 0; i < set->count; i++)
		printf("  %s disk %u (%s): %s, sequence %" PRIu64 "\n",
		       (int)i == m->newest ? "*" : " ", i, set->disk[i].path,
		       merge_words(m->verdict[i], m->error[i]), m->seq[i]);
}

static void text_record(const struct disk_set *set, const struct record *r,
			const struct merged *m)
{
	char name[RECORD_NAME_BYTES];

	record_name(name, r);
	printf("%s, at byte %" PRIu64 ": ", name, set->disk[0].base_bytes + r->offset_bytes);
	if (m->newest >= 0)
		printf("sequence %" PRIu64 "%s\n", m->seq[m->newest],
		       m->differ ? ", DISKS DIFFER" : "");
	else
		printf("UNREADABLE: %s\n", merge_words(m->verdict[0], m->error[0]));
	if (m->differ)
		text_copies(set, m);
	if (m->newest >= 0)
		text_fields(field_table(r->kind), m->raw);
}

/* ---- hex ---- */

static void hex_field(const struct field *f, const uint8_t *raw)
{
	char text[FIELD_TEXT_BYTES];
	unsigned i;

	field_text(text, f, raw);
	printf("  %3u %3u %-20s", f->offset, f->bytes, f->name);
	for (i = 0; i < f->bytes && i < 16; i++)
		printf(" %02x", raw[f->offset + i]);
	printf("%s  = %s\n", f->bytes > 16 ? " .." : "", text);
	for (i = 16; i < f->bytes && f->type != FIELD_ZERO; i++)
		printf("%s%02x%s", i % 16 ? " " : "      ", raw[f->offset + i],
		       i % 16 == 15 || i + 1 == f->bytes ? "\n" : "");
}

static void hex_fields(const struct field *f, const uint8_t *raw)
{
	for (; f->name; f++)
		hex_field(f, raw);
}

static void hex_plain(const uint8_t *raw)
{
	unsigned i;

	for (i = 0; i < RF_RECORD_BYTES; i++)
		printf("%s%02x%s", i % 16 ? " " : "  ", raw[i], i % 16 == 15 ? "\n" : "");
}

static void hex_record(const struct disk_set *set, const struct record *r,
		       const struct merged *m)
{
	char name[RECORD_NAME_BYTES];

	record_name(name, r);
	printf("%s, at byte %" PRIu64 ": %s\n", name, set->disk[0].base_bytes + r->offset_bytes,
	       merge_words(m->verdict[m->newest < 0 ? 0 : m->newest], m->error[0]));
	if (m->newest < 0 && m->verdict[0] == RECORD_IO_ERROR)
		return;
	if (m->newest < 0 && m->verdict[0] == RF_RECORD_BAD_MAGIC) {
		hex_plain(m->raw);
		return;
	}
	hex_fields(field_header(), m->raw);
	hex_fields(field_table(r->kind), m->raw);
	hex_field(&field_crc, m->raw);
}

/* ---- JSON ---- */

static void json_copies(struct json_object *o, const struct disk_set *set,
			const struct merged *m)
{
	struct json_object *a = out_array(o, "disks");
	unsigned i;

	for (i = 0; i < set->count; i++) {
		struct json_object *c = out_row(a);
		bool good = m->verdict[i] == RF_RECORD_OK;

		out_text(c, "device", set->disk[i].path);
		out_bool(c, "readable", good);
		out_text(c, "verdict", merge_words(m->verdict[i], m->error[i]));
		if (good)
			out_u64(c, "sequence", m->seq[i]);
		else
			out_u64_null(c, "sequence");
	}
}

static void json_hex(struct json_object *o, const uint8_t *raw, bool known)
{
	char text[2 * RF_RECORD_BYTES + 1];
	unsigned i;

	for (i = 0; i < RF_RECORD_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", raw[i]);
	out_text(o, "hex", hex && known ? text : NULL);
}

static void json_record(struct json_object *a, const struct disk_set *set,
			const struct record *r, const struct merged *m)
{
	struct json_object *o = out_row(a), *fields;
	const struct field *f;

	out_text(o, "record", record_kind_name(r->kind));
	out_int(o, "volume", r->volume);
	out_int(o, "index", r->index);
	out_int(o, "part", r->part);
	out_u64(o, "offset_bytes", set->disk[0].base_bytes + r->offset_bytes);
	out_bool(o, "readable", m->newest >= 0);
	out_bool(o, "disks_differ", m->differ);
	if (m->newest >= 0)
		out_u64(o, "sequence", m->seq[m->newest]);
	else
		out_u64_null(o, "sequence");
	json_copies(o, set, m);
	json_hex(o, m->raw, m->newest >= 0 || m->verdict[0] != RECORD_IO_ERROR);
	if (m->newest < 0) {
		out_null(o, "fields");
		return;
	}
	fields = out_object(o, "fields");
	for (f = field_table(r->kind); f->name; f++)
		if (f->type != FIELD_ZERO)
			field_json(fields, f, m->raw);
}

/* ---- all ---- */

static void show(struct json_object *a, const struct disk_set *set, const struct record *r,
		 const struct merged *m)
{
	if (a)
		json_record(a, set, r, m);
	else if (hex)
		hex_record(set, r, m);
	else
		text_record(set, r, m);
}

static unsigned unreadable_copies(const struct disk_set *set, const struct merged *m)
{
	unsigned i, bad = 0;

	for (i = 0; i < set->count; i++)
		bad += m->verdict[i] != RF_RECORD_OK;
	return bad;
}

static int dump(const struct disk_set *set, unsigned kinds)
{
	struct json_object *doc = tool.json ? out_doc() : NULL;
	struct json_object *a = doc ? out_array(doc, "records") : NULL;
	uint64_t n, bad = 0;
	struct merged m;
	struct merge g;

	merge_init(&g, set);
	merge_ahead(&g, 0, rf_geo_state(&set->super, 0, 1, 0));
	for (n = 0; n < record_count(&set->super); n++) {
		struct record r = record_at(&set->super, n);

		if (!(kinds >> r.kind & 1))
			continue;
		merge_read(&g, set, &r, &m);
		bad += unreadable_copies(set, &m);
		if (!never_used(&r, &m))
			show(a, set, &r, &m);
	}
	merge_free(&g);
	if (doc)
		out_print(doc);
	if (bad)
		return fail(RF_EXIT_BAD_DATA,
			    "%" PRIu64
			    " records are unreadable: `ringfence verify` says what to do",
			    bad);
	return 0;
}

static int run(int argc, char **argv)
{
	unsigned kinds = kinds_wanted();
	struct disk_set set;
	int rc;

	if (!kinds)
		return fail(RF_EXIT_BAD_VALUE,
			    "--record %s: wants superblock, slots, mailbox, claims, state, "
			    "history or all",
			    which);
	rc = disk_set_open_some(&set, argc, argv);
	if (!rc)
		rc = dump(&set, kinds);
	disk_set_close(&set);
	return rc;
}

const struct command cmd_dump = {
	.name = "dump",
	.args = "DEVICE...",
	.brief = "show the records of an area",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
