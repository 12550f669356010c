/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal's native protocol: one datagram an entry, FIELD=VALUE a line.
 *
 * A line of the log becomes MESSAGE; PRIORITY and SYSLOG_IDENTIFIER go with it. Of
 *
 *   excluded volume=vol0 node=2 epoch=7 ways=aborted took_ms=8.204
 *
 * the first word becomes RINGFENCE_EVENT and each KEY=VALUE behind it RINGFENCE_KEY. A word
 * of message_id.def has a MESSAGE_ID too, by which `journalctl -x` finds its explanation.
 */
#ifndef RF_JOURNAL_H
#define RF_JOURNAL_H

#include <stddef.h>

#define RF_JOURNAL_SOCKET "/run/systemd/journal/socket"

/* A socket to send entries to with write(2), or -errno. */
int rf_journal_open(const char *path);
/* The id of the word that text begins with; NULL: it has none. */
const char *rf_journal_id(const char *text, size_t len);
/* Makes an entry of one line (no control characters in it). Fields that do not fit are
 * left out, the message goes first. Returns the length; no NUL behind it. */
size_t rf_journal_entry(char *out, size_t bytes, unsigned level, const char *text, size_t len);

#endif
