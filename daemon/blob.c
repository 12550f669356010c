/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The payload of a committed state, and the rules of unfinished work. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "blob.h"
#include "format/codec_bytes.h"

uint32_t rf_blob_user_max(uint32_t payload_bytes)
{
	uint32_t room = payload_bytes > RF_BLOB_OVERHEAD_BYTES
				? payload_bytes - (uint32_t)RF_BLOB_OVERHEAD_BYTES
				: 0;

	return room < RF_BLOB_USER_MAX ? room : RF_BLOB_USER_MAX;
}

/* ---- fields ---- */

static bool id_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == ':' || c == '-';
}

const char *rf_work_id_wrong(const char *id, size_t bytes)
{
	const char *end = memchr(id, 0, bytes);

	if (!end)
		return "the id of a work has at most 39 characters";
	if (end == id)
		return "the id of a work is empty";
	for (; id < end; id++)
		if (!id_char(*id))
			return "the id of a work has letters, digits and . _ : - only";
	return NULL;
}

const char *rf_work_text_wrong(const char *text, size_t bytes)
{
	const char *end = memchr(text, 0, bytes);

	if (!end)
		return "the text of a work has at most 95 bytes";
	for (; text < end; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return "the text of a work is one line without control characters";
	return NULL;
}

/* ---- bytes ---- */

static bool decode_work(struct rf_work *w, const struct rf_disk_work *d)
{
	w->epoch = rf_get64(d->epoch);
	w->unix_ns = rf_get64(d->unix_ns);
	w->node = rf_get32(d->node);
	w->times = rf_get32(d->times);
	memcpy(w->id, d->id, sizeof(w->id));
	memcpy(w->text, d->text, sizeof(w->text));
	return !rf_work_id_wrong(w->id, sizeof(w->id)) &&
	       !rf_work_text_wrong(w->text, sizeof(w->text)) && w->times && w->epoch;
}

int rf_blob_decode(struct rf_blob *b, const void *payload, size_t len)
{
	const struct rf_disk_blob *d = payload;
	const struct rf_disk_work *item = (const void *)(d + 1);
	uint32_t items;

	memset(b, 0, sizeof(*b));
	if (!len)
		return 0;
	if (len < sizeof(*d) || memcmp(d->magic, RF_BLOB_MAGIC, sizeof(d->magic)) != 0)
		return -EBADMSG;
	if (rf_get16(d->version) != RF_BLOB_VERSION)
		return -EPROTONOSUPPORT;
	items = rf_get16(d->items);
	b->user_bytes = rf_get32(d->user_bytes);
	b->repeated = rf_get64(d->repeated);
	if (items > RF_WORK_MAX || b->user_bytes > RF_BLOB_USER_MAX ||
	    len != sizeof(*d) + items * sizeof(*item) + b->user_bytes)
		return -EBADMSG;
	b->user = (const uint8_t *)(item + items);
	for (; b->works < items; b->works++) {
		struct rf_work w;

		if (!decode_work(&w, &item[b->works]) || rf_work_find(b, w.id))
			return -EBADMSG;
		b->work[b->works] = w;
	}
	return 0;
}

size_t rf_blob_encode(void *out, size_t room, const struct rf_blob *b)
{
	struct rf_disk_blob *d = out;
	struct rf_disk_work *item = (void *)(d + 1);
	size_t head = sizeof(*d) + b->works * sizeof(*item);

	if (b->works > RF_WORK_MAX || b->user_bytes > RF_BLOB_USER_MAX ||
	    head + b->user_bytes > room)
		return 0;
	memset(out, 0, head);
	memcpy(d->magic, RF_BLOB_MAGIC, sizeof(d->magic));
	d->version = put16(RF_BLOB_VERSION);
	d->items = put16((uint16_t)b->works);
	d->user_bytes = put32(b->user_bytes);
	d->repeated = put64(b->repeated);
	for (uint32_t i = 0; i < b->works; i++) {
		const struct rf_work *w = &b->work[i];

		item[i].epoch = put64(w->epoch);
		item[i].unix_ns = put64(w->unix_ns);
		item[i].node = put32(w->node);
		item[i].times = put32(w->times);
		snprintf((char *)item[i].id, sizeof(item[i].id), "%s", w->id);
		snprintf((char *)item[i].text, sizeof(item[i].text), "%s", w->text);
	}
	if (b->user_bytes)
		memcpy(item + b->works, b->user, b->user_bytes);
	return head + b->user_bytes;
}

/* ---- work ---- */

struct rf_work *rf_work_find(struct rf_blob *b, const char *id)
{
	for (uint32_t i = 0; i < b->works; i++)
		if (!strcmp(b->work[i].id, id))
			return &b->work[i];
	return NULL;
}

enum rf_work_begun rf_work_begin(struct rf_blob *b, const struct rf_work *work)
{
	struct rf_work *w = rf_work_find(b, work->id);

	if (!w && b->works == RF_WORK_MAX)
		return RF_WORK_FULL;
	if (!w) {
		b->work[b->works] = *work;
		b->work[b->works++].times = 1;
		return RF_WORK_NEW;
	}
	if (w->epoch == work->epoch)
		return RF_WORK_AGAIN;
	w->epoch = work->epoch;
	w->unix_ns = work->unix_ns;
	w->node = work->node;
	w->times++;
	if (*work->text)
		memcpy(w->text, work->text, sizeof(w->text));
	b->repeated++;
	return RF_WORK_REPEATED;
}

bool rf_work_end(struct rf_blob *b, const char *id)
{
	struct rf_work *w = rf_work_find(b, id);

	if (!w)
		return false;
	b->works--;
	memmove(w, w + 1, (size_t)((char *)&b->work[b->works] - (char *)w));
	return true;
}

size_t rf_work_lines(const struct rf_blob *b, char *out, size_t bytes)
{
	size_t used = 0;

	*out = 0;
	for (uint32_t i = 0; i < b->works; i++) {
		const struct rf_work *w = &b->work[i];
		int n = snprintf(out + used, bytes - used,
				 "%s\t%" PRIu64 "\t%u\t%u\t%" PRIu64 "\t%s\n", w->id, w->epoch,
				 w->node, w->times, w->unix_ns / 1000000000u, w->text);

		if (n < 0 || (size_t)n >= bytes - used) {
			out[used] = 0;
			break;
		}
		used += (size_t)n;
	}
	return used;
}
