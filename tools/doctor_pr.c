/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor: what reservations a device really has. PERSISTENT RESERVE IN only, which
 * changes nothing: REPORT CAPABILITIES, READ KEYS, READ RESERVATION.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor.h"
#include "tool.h"
#include "worker.h"

#define PERSISTENT_RESERVE_IN 0x5e
#define READ_KEYS 0x00
#define READ_RESERVATION 0x01
#define REPORT_CAPABILITIES 0x02
#define TIMEOUT_MS 5000
#define KEY_BYTES 8u

#define UNIT_ATTENTION 6
#define ILLEGAL_REQUEST 5

static unsigned be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint64_t be64(const uint8_t *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static int sense_key(const uint8_t *sense, unsigned len)
{
	if (len < 3)
		return 0;
	return (sense[0] & 0x7f) >= 0x72 ? sense[1] & 0xf : sense[2] & 0xf;
}

/* 0, or -errno: -ENOTTY = no SCSI device, -EOPNOTSUPP = it does not know the command. */
static int ask(int fd, uint8_t action, uint8_t *data, uint16_t bytes)
{
	uint8_t cdb[10] = {PERSISTENT_RESERVE_IN, action,         0, 0, 0, 0, 0,
			   (uint8_t)(bytes >> 8), (uint8_t)bytes, 0};
	uint8_t sense[32] = {0};
	struct sg_io_hdr h = {.interface_id = 'S',
			      .dxfer_direction = SG_DXFER_FROM_DEV,
			      .cmd_len = sizeof(cdb),
			      .mx_sb_len = sizeof(sense),
			      .dxfer_len = bytes,
			      .dxferp = data,
			      .cmdp = cdb,
			      .sbp = sense,
			      .timeout = TIMEOUT_MS};

	/* UNIT ATTENTION is told once: an earlier event, not an answer */
	for (unsigned i = 0; i < 3; i++) {
		memset(data, 0, bytes);
		if (ioctl(fd, SG_IO, &h) < 0)
			return errno == EINVAL || errno == ENOTSUP ? -ENOTTY : -errno;
		if ((h.info & SG_INFO_OK_MASK) == SG_INFO_OK)
			return 0;
		if (sense_key(sense, h.sb_len_wr) == ILLEGAL_REQUEST)
			return -EOPNOTSUPP;
		if (sense_key(sense, h.sb_len_wr) != UNIT_ATTENTION)
			break;
	}
	return -EIO;
}

/* ---- what is said ---- */

static void capabilities(int fd, const char *device)
{
	uint8_t c[8];
	int rc = ask(fd, REPORT_CAPABILITIES, c, sizeof(c));
	bool types = !rc && (c[3] & 0x80), wero = types && (c[4] & 0x20);
	bool aptpl = !rc && (c[2] & 1);

	if (rc)
		doctor_say(DOCTOR_WARN, "reservation", device,
			   "try them on a scratch LUN before you rely on them",
			   "does not report what it can do (%s)",
			   rc == -EOPNOTSUPP ? "command not known" : strerror(-rc));
	else if (types && !wero)
		doctor_say(DOCTOR_FAIL, "reservation", device, "another fence",
			   "has no 'write exclusive, registrants only' reservation");
	else
		doctor_say(aptpl ? DOCTOR_PASS : DOCTOR_WARN, "reservation", device,
			   aptpl ? NULL
				 : "after a power loss of the storage nobody is fenced until "
				   "the leader registers again",
			   "write exclusive, registrants only%s; keys %s a power loss",
			   types ? "" : " (types not reported)",
			   aptpl ? "can survive" : "do not survive");
}

static void keys(int fd, const char *device)
{
	uint8_t k[8 + 256 * KEY_BYTES], r[24];
	uint32_t count, shown;
	char text[200] = "";
	size_t at = 0;

	if (ask(fd, READ_KEYS, k, sizeof(k)))
		return;
	count = be32(k + 4) / KEY_BYTES;
	shown = count < 4 ? count : 4;
	for (uint32_t i = 0; i < shown; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %016" PRIx64,
				       be64(k + 8 + i * KEY_BYTES));
	if (ask(fd, READ_RESERVATION, r, sizeof(r)))
		memset(r, 0, sizeof(r));
	if (be32(r + 4) >= 16)
		doctor_say(DOCTOR_PASS, "reservation", device, NULL,
			   "reserved, type %u, by key %016" PRIx64 "; %u keys:%s", r[21] & 0xf,
			   be64(r + 8), count, text);
	else
		doctor_say(DOCTOR_PASS, "reservation", device, NULL,
			   "not reserved, %u keys registered%s%s", count, count ? ":" : "",
			   text);
}

static void examine(const char *device, bool needed)
{
	uint8_t probe[8];
	int fd, rc;

	worker_doing(device, "asking for its reservations");
	fd = open(device, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return; /* said before */
	rc = ask(fd, READ_KEYS, probe, sizeof(probe));
	if (rc == -ENOTTY)
		doctor_say(needed ? DOCTOR_FAIL : DOCTOR_SKIP, "reservation", device,
			   "another fence", "takes no SCSI commands (NVMe is not looked at)");
	else if (rc == -EPERM || rc == -EACCES)
		doctor_say(DOCTOR_SKIP, "reservation", device, NULL,
			   "not permitted: run as root");
	else if (rc)
		doctor_say(needed ? DOCTOR_FAIL : DOCTOR_SKIP, "reservation", device,
			   "another fence", "no persistent reservations: %s",
			   rc == -EOPNOTSUPP ? "command not known" : strerror(-rc));
	if (!rc) {
		capabilities(fd, device);
		keys(fd, device);
	}
	close(fd);
}

void doctor_reservations(struct doctor *d)
{
	for (uint32_t i = 0; i < d->config.volumes; i++) {
		const struct rf_config_volume *v = &d->config.volume[i];

		if (v->device[0])
			examine(v->device, rf_config_fenced_by(v, "reservation"));
	}
}
