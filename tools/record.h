/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of an area, one after the other, whatever their kind: for
 * commands that go through all of them (format, dump, verify).
 */
#ifndef RF_TOOLS_RECORD_H
#define RF_TOOLS_RECORD_H

#include "format/codec.h"

struct record {
	enum rf_kind kind;
	uint32_t volume, index, part;
	uint64_t offset_bytes; /* from stride 0 */
	uint64_t room_bytes;   /* a stride; for a state record one half */
};

#define RECORD_NAME_BYTES 64

uint64_t record_count(const struct rf_super *s);
/* n < record_count(); in the order of the disk. */
struct record record_at(const struct rf_super *s, uint64_t n);
void record_name(char name[RECORD_NAME_BYTES], const struct record *r);
/* "superblock", "slot", ...; NULL for no kind. */
const char *record_kind_name(unsigned kind);
/* Full check of the record and of all its fields. */
enum rf_record_verdict record_verdict(const void *raw, const struct rf_super *s,
				      const struct record *r);
/* As far as the header can be believed. */
uint64_t record_seq(const void *raw);
const char *record_verdict_words(enum rf_record_verdict v);

#endif
