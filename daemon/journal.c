/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries for the journal, see journal.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "journal.h"

static const struct {
	const char *word, *id;
} ids[] = {
#define RF_MESSAGE_ID(word, id) {#word, id},
#include "message_id.def"
#undef RF_MESSAGE_ID
};

int rf_journal_open(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	/* for who writes without a loop: a journal that hangs holds nobody up for ever */
	struct timeval limit = {.tv_sec = 1};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		rc = -errno;
		close(fd);
	}
	return rc ? rc : fd;
}

/* Length of the word that text begins with: up to a blank, a colon or the end. */
static size_t word_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (islower((unsigned char)text[n]) || text[n] == '-'))
		n++;
	return n == len || text[n] == ' ' || text[n] == ':' ? n : 0;
}

const char *rf_journal_id(const char *text, size_t len)
{
	size_t n = word_length(text, len);

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (n == strlen(ids[i].word) && !memcmp(text, ids[i].word, n))
			return ids[i].id;
	return NULL;
}

/* ---- an entry ---- */

struct entry {
	char *out;
	size_t bytes, used;
};

/* The whole field or nothing of it. */
__attribute__((format(printf, 2, 3))) static void field(struct entry *e, const char *format,
							...)
{
	size_t left = e->bytes - e->used;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(e->out + e->used, left, format, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < left)
		e->used += (size_t)n;
}

static size_t key_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (islower((unsigned char)text[n]) || text[n] == '_'))
		n++;
	return n < len && text[n] == '=' ? n : 0;
}

static void put_key(struct entry *e, const char *key, size_t key_len, const char *value,
		    size_t len)
{
	char name[32];

	if (key_len >= sizeof(name))
		return;
	for (size_t i = 0; i < key_len; i++)
		name[i] = (char)toupper((unsigned char)key[i]);
	field(e, "RINGFENCE_%.*s=%.*s\n", (int)key_len, name, (int)len, value);
}

/* KEY=VALUE, blank, KEY=VALUE...: up to what is none, or is a sentence in quotes. */
static void put_keys(struct entry *e, const char *text, size_t len)
{
	size_t key;

	while ((key = key_length(text, len)) != 0) {
		const char *value = text + key + 1, *end = memchr(value, ' ', len - key - 1);
		size_t n = end ? (size_t)(end - value) : len - key - 1;
		size_t skip = key + 1 + n + (end != NULL);

		if (n && *value == '"')
			return;
		put_key(e, text, key, value, n && value[n - 1] == ':' ? n - 1 : n);
		text += skip;
		len -= skip;
	}
}

static void put_event(struct entry *e, const char *text, size_t len)
{
	size_t n = word_length(text, len), skip = n < len ? n + 1 : n;
	bool keys = n == len || key_length(text + skip, len - skip);
	const char *id = rf_journal_id(text, len);

	if (id)
		field(e, "MESSAGE_ID=%s\n", id);
	if (!n || !(id || keys))
		return;
	field(e, "RINGFENCE_EVENT=%.*s\n", (int)n, text);
	put_keys(e, text + skip, len - skip);
}

size_t rf_journal_entry(char *out, size_t bytes, unsigned level, const char *text, size_t len)
{
	struct entry e = {out, bytes, 0};

	field(&e, "MESSAGE=%.*s\n", (int)len, text);
	field(&e, "PRIORITY=%u\nSYSLOG_IDENTIFIER=%s\n", level, program_invocation_short_name);
	put_event(&e, text, len);
	return e.used;
}
