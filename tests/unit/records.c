/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "records.h"

/* ---- superblock ---- */

static void super_sample(union twin *t)
{
	sample_super(&t->super);
}

static void super_encode(void *record, const union twin *in)
{
	rf_super_encode(record, &in->super, 1);
}

static enum rf_record_verdict super_decode(const void *record, union twin *out)
{
	return rf_super_decode(record, &out->super);
}

static const struct field super_fields[] = {
	{64, 8, 0x656c706d6173 /* "sample" */},
	{128, 4, 0x2d6e7777 /* "wwn-" */},
	{256, 8, 0x1112131415161718},
	{264, 8, 0x2122232425262728},
	{272, 8, 0},
	{280, 8, 0x100000},
	{288, 8, 1 + 6 + 2 + 8 + 32 + 24 + 1},
	{296, 8, 0x3132333435363738},
	{304, 4, 4096},
	{308, 4, 512},
	{312, 2, 3},
	{314, 2, 2},
	{316, 2, 16},
	{318, 2, 2},
	{320, 1, 1},
	{321, 1, 3},
	{322, 1, RF_PLACE_START},
	{323, 1, RF_QUORUM_SURVIVORS},
	{324, 4, 100},
	{328, 4, 350},
	{332, 4, 1000},
	{336, 4, 200},
	{340, 4, 500},
	{344, 4, 700},
	{348, 4, 1000},
	{352, 4, 2000},
	{356, 4, 10000},
	{360, 8, 5},
	{368, 8, 0},
};

/* ---- slot ---- */

static void slot_sample(union twin *t)
{
	t->slot = (struct rf_slot){
		.seq = 0x0102030405060708,
		.incarnation = 0x1122334455667788,
		.generation = 0x0203040506070809,
		.unix_ns = 0x0304050607080910,
		.order_seq = 0x0405060708091011,
		.boot_id = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7},
		.host = "node-two.example",
		.state = RF_SLOT_JOINED,
		.health = RF_HEALTH_PAUSED | RF_HEALTH_SLOW_DISK,
		.priority = 100,
		.write_us = 901,
		.read_us = 402,
		.worst_us = 7003,
		.gate_open = {0x02},
		.leads = {0x03},
		.hears = {0x07},
		.want_epoch = 0x99aabbccddeeff01,
		.want_round = 17,
		.want_volume = 1,
	};
	t->slot.grants[0] = (struct rf_grant){0xabcdef0123456789, 5, 1, 3};
	t->slot.grants[5] = (struct rf_grant){0x1234567890abcdef, 6, 0, 1};
}

static void slot_encode(void *record, const union twin *in)
{
	rf_slot_encode(record, &sample_id, SAMPLE_NODE, &in->slot);
}

static enum rf_record_verdict slot_decode(const void *record, union twin *out)
{
	return rf_slot_decode(record, &sample_id, SAMPLE_NODE, &out->slot);
}

static const struct field slot_fields[] = {
	{64, 8, 0x1122334455667788},
	{72, 8, 0x0203040506070809},
	{80, 8, 0xb7b6b5b4b3b2b1b0},
	{88, 8, 0},
	{96, 8, 0x6f77742d65646f6e /* "node-two" */},
	{160, 4, RF_SLOT_JOINED},
	{164, 4, 0x11},
	{168, 8, 0x0304050607080910},
	{176, 8, 2},
	{208, 8, 3},
	{240, 8, 7},
	{256, 4, 901},
	{260, 4, 402},
	{264, 4, 7003},
	{268, 4, 100},
	{272, 8, 0x0405060708091011},
	{280, 8, 0x99aabbccddeeff01},
	{288, 4, 17},
	{292, 2, 1},
	{294, 2, 0},
	{296, 8, 0xabcdef0123456789},
	{304, 4, 5},
	{308, 2, 1},
	{310, 1, 3},
	{311, 1, 0},
	{376, 8, 0x1234567890abcdef},
	{384, 4, 6},
	{390, 1, 1},
};

/* ---- mailbox ---- */

static void mailbox_sample(union twin *t)
{
	t->mailbox = (struct rf_mailbox){
		.seq = 0x0102030405060708,
		.incarnation = 0x1122334455667788,
		.unix_ns = 0x0304050607080910,
		.order = RF_ORDER_STOP,
		.from = 3,
	};
}

static void mailbox_encode(void *record, const union twin *in)
{
	rf_mailbox_encode(record, &sample_id, SAMPLE_NODE, &in->mailbox);
}

static enum rf_record_verdict mailbox_decode(const void *record, union twin *out)
{
	return rf_mailbox_decode(record, &sample_id, SAMPLE_NODE, &out->mailbox);
}

static const struct field mailbox_fields[] = {
	{64, 4, RF_ORDER_STOP},
	{68, 4, 3},
	{72, 8, 0x1122334455667788},
	{80, 8, 0x0304050607080910},
};

/* ---- volume ---- */

static void volume_sample(union twin *t)
{
	t->volume = (struct rf_volume_desc){
		.seq = 0x0102030405060708,
		.data_offset_bytes = 0x1000000,
		.data_bytes = 0x123456789000,
		.name = "accounts",
		.device_id = "wwn-0x5000c500a1b2c3d4",
		.uuid = {0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7},
	};
}

static void volume_encode(void *record, const union twin *in)
{
	rf_volume_encode(record, &sample_id, SAMPLE_VOLUME, &in->volume);
}

static enum rf_record_verdict volume_decode(const void *record, union twin *out)
{
	return rf_volume_decode(record, &sample_id, SAMPLE_VOLUME, &out->volume);
}

static const struct field volume_fields[] = {
	{64, 8, 0x73746e756f636361 /* "accounts" */},
	{128, 4, 0x2d6e7777},
	{256, 8, 0xd7d6d5d4d3d2d1d0},
	{272, 8, 0x1000000},
	{280, 8, 0x123456789000},
};

/* ---- epoch sector ---- */

static void epoch_sample(union twin *t)
{
	t->epoch = (struct rf_epoch){
		.seq = 0x0102030405060708,
		.epoch = 0x2021222324252627,
		.incarnation = 0x1122334455667788,
		.unix_ns = 0x0304050607080910,
		.owner = 3,
		.state = RF_EPOCH_CLAIMED,
	};
}

static void epoch_encode(void *record, const union twin *in)
{
	rf_epoch_encode(record, &sample_id, SAMPLE_VOLUME, &in->epoch);
}

static enum rf_record_verdict epoch_decode(const void *record, union twin *out)
{
	return rf_epoch_decode(record, &sample_id, SAMPLE_VOLUME, &out->epoch);
}

static const struct field epoch_fields[] = {
	{64, 8, 0x2021222324252627}, {72, 8, 0x1122334455667788}, {80, 4, 3},
	{84, 4, RF_EPOCH_CLAIMED},   {88, 8, 0x0304050607080910},
};

/* ---- ballot ---- */

static void ballot_sample(union twin *t)
{
	t->ballot = (struct rf_ballot){
		.seq = 0x0102030405060708,
		.instance = 0x2021222324252627,
		.mbal = 0x0502,
		.bal = 0x0402,
		.value_incarnation = 0x1122334455667788,
		.value_node = 1,
	};
}

static void ballot_encode(void *record, const union twin *in)
{
	rf_ballot_encode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_NODE, &in->ballot);
}

static enum rf_record_verdict ballot_decode(const void *record, union twin *out)
{
	return rf_ballot_decode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_NODE, &out->ballot);
}

static const struct field ballot_fields[] = {
	{64, 8, 0x2021222324252627}, {72, 8, 0x0502}, {80, 8, 0x0402},
	{88, 8, 0x1122334455667788}, {96, 4, 1},      {100, 4, 0},
};

/* ---- state ---- */

static void state_sample(union twin *t)
{
	t->state = (struct rf_state){
		.seq = 0x0102030405060708,
		.epoch = 0x2021222324252627,
		.version = 0x3031323334353637,
		.length_bytes = 7000,
		.payload_crc = 0xdeadbeef,
	};
}

static void state_encode(void *record, const union twin *in)
{
	rf_state_encode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_NODE, SAMPLE_HALF,
			&in->state);
}

static enum rf_record_verdict state_decode(const void *record, union twin *out)
{
	return rf_state_decode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_NODE, SAMPLE_HALF,
			       &out->state);
}

static const struct field state_fields[] = {
	{64, 8, 0x2021222324252627},
	{72, 8, 0x3031323334353637},
	{80, 4, 7000},
	{84, 4, 0xdeadbeef},
};

/* ---- history ---- */

static void history_sample(union twin *t)
{
	t->history = (struct rf_history){
		.seq = 0x0102030405060708,
		.epoch = 0x2021222324252627,
		.incarnation = 0x1122334455667788,
		.start_unix_ns = 0x0304050607080910,
		.end_unix_ns = 0x0405060708091011,
		.prev_epoch = 0x2021222324252626,
		.owner = 2,
		.prev_owner = 1,
		.cause = RF_CAUSE_SILENCE,
		.end_cause = RF_CAUSE_RESIGNED,
		.excluded_by = RF_WAY_ABORTED,
		.suspect_us = 350001,
		.prevote_us = 1002,
		.claim_us = 4003,
		.exclude_us = 5004,
		.open_us = 605,
		.reconcile_us = 70006,
		.host = "node-two.example",
	};
}

static void history_encode(void *record, const union twin *in)
{
	rf_history_encode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_HISTORY, &in->history);
}

static enum rf_record_verdict history_decode(const void *record, union twin *out)
{
	return rf_history_decode(record, &sample_id, SAMPLE_VOLUME, SAMPLE_HISTORY,
				 &out->history);
}

static const struct field history_fields[] = {
	{64, 8, 0x2021222324252627},
	{72, 8, 0x1122334455667788},
	{80, 4, 2},
	{84, 4, RF_CAUSE_SILENCE},
	{88, 8, 0x0304050607080910},
	{96, 8, 0x0405060708091011},
	{104, 4, RF_CAUSE_RESIGNED},
	{108, 4, 1},
	{112, 8, 0x2021222324252626},
	{120, 4, 350001},
	{124, 4, 1002},
	{128, 4, 4003},
	{132, 4, 5004},
	{136, 4, 605},
	{140, 4, 70006},
	{144, 4, RF_WAY_ABORTED},
	{148, 8, 0x6f77742d65646f6e},
};

/* ---- all of them ---- */

#define KIND(n, number)                                                                       \
	{                                                                                     \
#n, number, n##_sample, n##_encode, n##_decode, n##_fields, COUNT(n##_fields) \
	}

const struct kind kinds[] = {
	KIND(super, RF_KIND_SUPERBLOCK), KIND(slot, RF_KIND_SLOT),
	KIND(mailbox, RF_KIND_MAILBOX),  KIND(volume, RF_KIND_VOLUME),
	KIND(epoch, RF_KIND_EPOCH),      KIND(ballot, RF_KIND_BALLOT),
	KIND(state, RF_KIND_STATE),      KIND(history, RF_KIND_HISTORY),
};
const size_t kind_count = COUNT(kinds);

const struct kind *kind_named(const char *name)
{
	for (size_t i = 0; i < kind_count; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	fail_msg("no kind %s", name);
	return NULL;
}

void sample_record(const struct kind *k, uint8_t record[RF_RECORD_BYTES])
{
	union twin t;

	memset(&t, 0, sizeof(t));
	k->sample(&t);
	memset(record, UNTOUCHED, RF_RECORD_BYTES);
	k->encode(record, &t);
}

void poke(uint8_t *record, const struct field *f)
{
	for (unsigned i = 0; i < f->bytes; i++)
		record[f->offset + i] = (uint8_t)(f->value >> 8 * i);
}

uint64_t peek(const uint8_t *record, const struct field *f)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < f->bytes; i++)
		v |= (uint64_t)record[f->offset + i] << 8 * i;
	return v;
}
