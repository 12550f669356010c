/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a target says of registrations: SPC PERSISTENT RESERVE IN and the NVMe
 * reservation report. The target is not trusted: every length is checked. */
#include <errno.h>
#include <string.h>

#include "pr.h"

#define FULL_BYTES 24u /* of a full status descriptor, without its transport id */
#define NVME_BYTES 24u /* of the head, and of an entry */
#define NVME_EXTENDED_BYTES 64u
#define NVME_CODE 0x7ff /* without "more" and "do not retry" */
#define NVME_CONFLICT 0x83
#define NVME_BAD_OPCODE 0x01
#define NVME_BAD_FIELD 0x02
#define NVME_PATH_ERRORS 3

static uint64_t big(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

static uint64_t little(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static int add(struct rf_pr_look *look, uint64_t key)
{
	if (look->count == RF_PR_KEYS_MAX)
		return -EPROTO;
	look->key[look->count++] = key;
	return 0;
}

/* Bytes of the list behind the eight of the header; -EPROTO when cut off. */
static int list_bytes(const uint8_t *data, size_t bytes, size_t *list)
{
	if (bytes < 8)
		return -EPROTO;
	*list = big(data + 4, 4);
	return *list <= bytes - 8 ? 0 : -EPROTO;
}

static int hold(struct rf_pr_look *look, uint64_t key, unsigned type)
{
	look->held = true;
	look->holder = key;
	look->type = type;
	return 0;
}

int rf_pr_parse_full(const uint8_t *data, size_t bytes, struct rf_pr_look *look)
{
	size_t list, at = 8;

	memset(look, 0, sizeof(*look));
	look->counted = true;
	if (list_bytes(data, bytes, &list))
		return -EPROTO;
	look->generation = (uint32_t)big(data, 4);
	list += 8;
	while (at < list) {
		const uint8_t *d = data + at;
		size_t more;

		if (list - at < FULL_BYTES || add(look, big(d, 8)))
			return -EPROTO;
		if (d[12] & 1)
			hold(look, big(d, 8), d[13] & 0xf);
		more = big(d + 20, 4);
		if (more > list - at - FULL_BYTES)
			return -EPROTO;
		at += FULL_BYTES + more;
	}
	return 0;
}

int rf_pr_parse_keys(const uint8_t *data, size_t bytes, struct rf_pr_look *look)
{
	size_t list;

	memset(look, 0, sizeof(*look));
	if (list_bytes(data, bytes, &list) || list % 8)
		return -EPROTO;
	look->generation = (uint32_t)big(data, 4);
	for (size_t at = 8; at < 8 + list; at += 8)
		if (add(look, big(data + at, 8)))
			return -EPROTO;
	return 0;
}

int rf_pr_parse_holder(const uint8_t *data, size_t bytes, struct rf_pr_look *look)
{
	size_t list;

	look->held = false;
	if (list_bytes(data, bytes, &list))
		return -EPROTO;
	if (!list)
		return 0;
	return list < 16 ? -EPROTO : hold(look, big(data + 8, 8), data[8 + 13] & 0xf);
}

/* NVMe counts the types otherwise: 1 WE, 2 EA, 3 WE-RO, 4 EA-RO, 5 WE-AR, 6 EA-AR. */
static unsigned scsi_type(uint8_t nvme)
{
	static const uint8_t scsi[] = {0, 1, 3, RF_PR_REGISTRANTS_ONLY, 6, 7, 8};

	return nvme < sizeof(scsi) ? scsi[nvme] : 0xf;
}

int rf_pr_parse_nvme(const uint8_t *data, size_t bytes, bool extended, struct rf_pr_look *look)
{
	size_t n, size = extended ? NVME_EXTENDED_BYTES : NVME_BYTES;

	memset(look, 0, sizeof(*look));
	look->counted = true;
	if (bytes < size)
		return -EPROTO;
	look->generation = (uint32_t)little(data, 4);
	n = little(data + 5, 2);
	if (n > bytes / size - 1)
		return -EPROTO;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *d = data + size + i * size;
		uint64_t key = little(d + (extended ? 8 : 16), 8);

		if (add(look, key))
			return -EPROTO;
		if (d[2] & 1)
			hold(look, key, scsi_type(data[4]));
	}
	return 0;
}

/* Linux 6.1 gives the status of the controller as it is, later ones enum pr_status,
 * whose 2 is any error and not "bad field". */
static enum rf_pr_status nvme_status(int r)
{
	int code = r & NVME_CODE;

	if (code == NVME_CONFLICT || r == RF_PR_SCSI_CONFLICT)
		return RF_PR_CONFLICT;
	if (code == NVME_BAD_OPCODE || (code == NVME_BAD_FIELD && r != code))
		return RF_PR_UNSUPPORTED;
	return code >> 8 == NVME_PATH_ERRORS ? RF_PR_FAILED : RF_PR_ATTENTION;
}

int rf_pr_parse_able(const uint8_t *data, size_t bytes, struct rf_pr_able *able)
{
	memset(able, 0, sizeof(*able));
	if (bytes < 8)
		return -EPROTO;
	able->aptpl = data[2] & 1;
	able->types = data[3] & 0x80;
	able->type = data[4] & 0x20;
	return 0;
}

/* RESCAP of Identify Namespace; all zero: no reservations. */
int rf_pr_parse_rescap(uint8_t rescap, struct rf_pr_able *able)
{
	*able = (struct rf_pr_able){
		.types = true, .type = rescap & 0x08, .aptpl = rescap & 0x01};
	return rescap ? 0 : -EOPNOTSUPP;
}

/*
 * Positive: a status, not an error number. Linux 6.1 gives the raw result (SCSI:
 * conflict 0x118), later ones enum pr_status (0x18, or host bytes from 0x10000 on).
 */
enum rf_pr_status rf_pr_status_of(int r, int error, bool nvme)
{
	if (r == 0)
		return RF_PR_OK;
	if (r >= 0x10000)
		return RF_PR_FAILED;
	if (r > 0 && nvme)
		return nvme_status(r);
	if (r > 0 && (r & 0xff) == RF_PR_SCSI_CONFLICT && r < 0x1000)
		return RF_PR_CONFLICT;
	if (r > 0)
		return r < 0x1000 ? RF_PR_ATTENTION : RF_PR_FAILED;
	return error == EOPNOTSUPP || error == ENOTTY || error == EINVAL ? RF_PR_UNSUPPORTED
									 : RF_PR_FAILED;
}
