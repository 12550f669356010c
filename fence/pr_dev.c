/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reservations of real devices: linux/pr.h to change them, SG_IO or the NVMe
 * reservation report to read them (the ioctls that read came with Linux 6.19).
 * Descriptors stay open: the end of a writable one would wake udev each time.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <linux/pr.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "pr.h"

#define READ_MS 3000u
#define DATA_BYTES 16384u
#define SENSE_BYTES 64u
#define PR_IN 0x5e
#define IN_KEYS 0
#define IN_HOLDER 1
#define IN_ABLE 2
#define IN_FULL 3
#define PR_OUT 0x5f
#define OUT_REGISTER 0
#define NVME_REGISTER 0x0d
#define NVME_UNREGISTER 1u
#define NVME_REPORT 0x0e
#define NVME_EXTENDED 1u
#define NVME_IDENTIFY 0x06
#define NVME_IDENTIFY_BYTES 4096u
#define NVME_RESCAP 31u
#define NVME_CODE 0x7ff
#define NVME_BAD_OPCODE 0x01
#define NVME_HOST_ID_FORM 0x18

struct path {
	struct rf_pr_node node;
	int fd;
	bool no_full;  /* READ FULL STATUS is unknown to it */
	bool no_aptpl; /* it refuses registrations that ask to outlive a power loss */
	bool short_id; /* NVMe: it knows this host by 64 bits, not 128 */
};

struct rf_pr_dev {
	const char *name;
	bool (*urgent)(void);
	struct path path[RF_PR_PATHS_MAX];
	unsigned paths;
};

struct rf_pr_dev *rf_pr_dev_make(const char *name, bool (*urgent)(void))
{
	struct rf_pr_dev *d = calloc(1, sizeof(*d));

	if (d) {
		d->name = name;
		d->urgent = urgent;
	}
	return d;
}

void rf_pr_dev_free(struct rf_pr_dev *d)
{
	for (unsigned i = 0; i < d->paths; i++)
		if (d->path[i].fd >= 0)
			close(d->path[i].fd);
	free(d);
}

/* ---- SCSI commands ---- */

static enum rf_pr_status judge_sg(const struct sg_io_hdr *io, const uint8_t *sense)
{
	bool descriptor = (sense[0] & 0x7f) >= 0x72;
	uint8_t kind = descriptor ? sense[1] & 0xf : sense[2] & 0xf;

	if (io->host_status || io->driver_status & 7)
		return RF_PR_FAILED;
	if (io->status == 0)
		return RF_PR_OK;
	if (io->status == RF_PR_SCSI_CONFLICT)
		return RF_PR_CONFLICT;
	if (io->status != 2)
		return RF_PR_ATTENTION; /* busy and the like */
	return kind == 5 ? RF_PR_UNSUPPORTED : kind == 6 ? RF_PR_ATTENTION : RF_PR_FAILED;
}

static enum rf_pr_status read_in(struct path *p, uint8_t action, uint8_t *data, size_t *got)
{
	uint8_t cdb[10] = {PR_IN, action, 0, 0, 0, 0, 0, DATA_BYTES >> 8, DATA_BYTES & 0xff, 0};
	uint8_t sense[SENSE_BYTES] = {0};
	struct sg_io_hdr io = {.interface_id = 'S',
			       .dxfer_direction = SG_DXFER_FROM_DEV,
			       .cmd_len = sizeof(cdb),
			       .mx_sb_len = sizeof(sense),
			       .dxfer_len = DATA_BYTES,
			       .dxferp = data,
			       .cmdp = cdb,
			       .sbp = sense,
			       .timeout = READ_MS};

	memset(data, 0, DATA_BYTES);
	if (ioctl(p->fd, SG_IO, &io))
		return errno == ENOTTY || errno == EINVAL ? RF_PR_UNSUPPORTED : RF_PR_FAILED;
	*got = io.resid >= 0 && io.resid <= (int)DATA_BYTES ? DATA_BYTES - (size_t)io.resid : 0;
	/* DRIVER_SENSE is no error of its own */
	io.driver_status &= (unsigned short)~8u;
	return judge_sg(&io, sense);
}

/* The kernel asks for APTPL with each REGISTER, and a target without it refuses. */
static enum rf_pr_status register_plainly(struct path *p, uint64_t own, uint64_t other)
{
	uint8_t cdb[10] = {PR_OUT, OUT_REGISTER, 0, 0, 0, 0, 0, 0, 24, 0};
	uint8_t sense[SENSE_BYTES] = {0}, data[24] = {0};
	struct sg_io_hdr io = {.interface_id = 'S',
			       .dxfer_direction = SG_DXFER_TO_DEV,
			       .cmd_len = sizeof(cdb),
			       .mx_sb_len = sizeof(sense),
			       .dxfer_len = sizeof(data),
			       .dxferp = data,
			       .cmdp = cdb,
			       .sbp = sense,
			       .timeout = READ_MS};

	for (unsigned i = 0; i < 8; i++) {
		data[i] = (uint8_t)(own >> (56 - 8 * i));
		data[8 + i] = (uint8_t)(other >> (56 - 8 * i));
	}
	if (ioctl(p->fd, SG_IO, &io))
		return RF_PR_FAILED;
	io.driver_status &= (unsigned short)~8u;
	return judge_sg(&io, sense);
}

static enum rf_pr_status able_scsi(struct path *p, struct rf_pr_able *able)
{
	static uint8_t data[DATA_BYTES];
	size_t got = 0;
	enum rf_pr_status s = read_in(p, IN_ABLE, data, &got);

	return s == RF_PR_OK && rf_pr_parse_able(data, got, able) ? RF_PR_FAILED : s;
}

static enum rf_pr_status able_nvme(const struct path *p, struct rf_pr_able *able)
{
	static uint8_t data[NVME_IDENTIFY_BYTES];
	int nsid = ioctl(p->fd, NVME_IOCTL_ID);
	struct nvme_passthru_cmd c = {.opcode = NVME_IDENTIFY,
				      .nsid = (uint32_t)nsid,
				      .addr = (uintptr_t)data,
				      .data_len = sizeof(data),
				      .timeout_ms = READ_MS};

	if (nsid <= 0 || ioctl(p->fd, NVME_IOCTL_ADMIN_CMD, &c))
		return RF_PR_FAILED;
	return rf_pr_parse_rescap(data[NVME_RESCAP], able) ? RF_PR_UNSUPPORTED : RF_PR_OK;
}

/* Once for each path, when it is found. */
static void ask_abilities(struct path *p)
{
	enum rf_pr_status s = RF_PR_ATTENTION;
	struct rf_pr_able able;

	for (unsigned i = 0; i < 3 && s == RF_PR_ATTENTION && p->fd >= 0; i++)
		s = able_scsi(p, &able);
	p->no_aptpl = s == RF_PR_OK && !able.aptpl;
	if (p->no_aptpl)
		fprintf(stderr,
			"ringfence-fencer: %s: the target forgets reservations when it loses "
			"power (no APTPL)\n",
			p->node.name);
}

/* ---- paths ---- */

static uint64_t id_of(const struct rf_pr_node *n)
{
	return n->seq << 32 ^ (uint64_t)makedev(n->major, n->minor);
}

static struct path *path_of(struct rf_pr_dev *d, uint64_t id)
{
	for (unsigned i = 0; i < d->paths; i++)
		if (id_of(&d->path[i].node) == id)
			return &d->path[i];
	return NULL;
}

/* The node of that name may be of another device by now. */
static int open_node(const struct rf_pr_node *n)
{
	char name[80];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/dev/%.63s", n->name);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISBLK(st.st_mode) ||
			st.st_rdev != makedev(n->major, n->minor))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool usable(const struct path *p)
{
	return p && p->fd >= 0 && !p->node.away;
}

static int dev_paths(void *dev, uint64_t id[RF_PR_PATHS_MAX], char *err, size_t err_bytes)
{
	struct rf_pr_node node[RF_PR_PATHS_MAX];
	struct rf_pr_dev *d = dev;
	struct path now[RF_PR_PATHS_MAX];
	struct stat st;
	int n;

	n = stat(d->name, &st) ? -errno : S_ISBLK(st.st_mode) ? 0 : -ENOTBLK;
	if (n) {
		snprintf(err, err_bytes, "%s: %s", d->name, strerror(-n));
		return n;
	}
	n = rf_pr_find("/sys", major(st.st_rdev), minor(st.st_rdev), node, err, err_bytes);
	for (int i = 0; i < n; i++) {
		struct path *known = path_of(d, id_of(&node[i]));

		id[i] = id_of(&node[i]);
		now[i] = (struct path){.node = node[i], .fd = known ? known->fd : -1};
		if (known) {
			now[i].no_full = known->no_full;
			now[i].no_aptpl = known->no_aptpl;
			now[i].short_id = known->short_id;
			known->fd = -1;
		}
		if (now[i].fd < 0 && !node[i].away) {
			now[i].fd = open_node(&node[i]);
			if (!node[i].nvme)
				ask_abilities(&now[i]);
		}
	}
	for (unsigned i = 0; n >= 0 && i < d->paths; i++)
		if (d->path[i].fd >= 0)
			close(d->path[i].fd);
	if (n >= 0) {
		memcpy(d->path, now, sizeof(*now) * (size_t)n);
		d->paths = (unsigned)n;
	}
	return n;
}

/* ---- changing ---- */

static enum rf_pr_status change(const struct path *p, unsigned long request, void *what)
{
	int r = ioctl(p->fd, request, what);

	return rf_pr_status_of(r, errno, p->node.nvme);
}

/* linux/pr.h would replace the key by 0, and who is registered with 0 can write. */
static enum rf_pr_status nvme_unregister(const struct path *p, uint64_t key)
{
	uint64_t data[2] = {htole64(key), 0};
	int r, nsid = ioctl(p->fd, NVME_IOCTL_ID);
	struct nvme_passthru_cmd c = {.opcode = NVME_REGISTER,
				      .nsid = (uint32_t)nsid,
				      .addr = (uintptr_t)data,
				      .data_len = sizeof(data),
				      .cdw10 = NVME_UNREGISTER,
				      .timeout_ms = READ_MS};

	if (nsid <= 0)
		return RF_PR_FAILED;
	r = ioctl(p->fd, NVME_IOCTL_IO_CMD, &c);
	return rf_pr_status_of(r, errno, true);
}

static enum rf_pr_status dev_command(void *dev, uint64_t id, enum rf_pr_verb verb, uint64_t own,
				     uint64_t other)
{
	struct path *p = path_of(dev, id);
	struct pr_registration reg = {.old_key = own, .new_key = other};
	struct pr_reservation res = {.key = own, .type = PR_WRITE_EXCLUSIVE_REG_ONLY};
	/* old_key is the own one here, new_key the victim's: pr.rst reads otherwise */
	struct pr_preempt pre = {
		.old_key = own, .new_key = other, .type = PR_WRITE_EXCLUSIVE_REG_ONLY};

	if (!usable(p))
		return RF_PR_FAILED;
	switch (verb) {
	case RF_PR_REGISTER:
		if (p->node.nvme && !other)
			return nvme_unregister(p, own);
		if (p->no_aptpl)
			return register_plainly(p, own, other);
		return change(p, IOC_PR_REGISTER, &reg);
	case RF_PR_RESERVE:
		return change(p, IOC_PR_RESERVE, &res);
	case RF_PR_PREEMPT:
		return change(p, IOC_PR_PREEMPT, &pre);
	case RF_PR_PREEMPT_ABORT:
		return change(p, IOC_PR_PREEMPT_ABORT, &pre);
	}
	return RF_PR_FAILED;
}

/* ---- reading ---- */

static enum rf_pr_status look_scsi(struct path *p, struct rf_pr_look *look, unsigned *commands)
{
	static uint8_t data[DATA_BYTES];
	enum rf_pr_status s = RF_PR_UNSUPPORTED;
	size_t got;

	if (!p->no_full) {
		++*commands;
		s = read_in(p, IN_FULL, data, &got);
		if (s == RF_PR_OK)
			return rf_pr_parse_full(data, got, look) ? RF_PR_FAILED : RF_PR_OK;
	}
	if (s != RF_PR_UNSUPPORTED)
		return s;
	++*commands;
	s = read_in(p, IN_KEYS, data, &got);
	if (s != RF_PR_OK)
		return s;
	p->no_full = true;
	if (rf_pr_parse_keys(data, got, look))
		return RF_PR_FAILED;
	++*commands;
	s = read_in(p, IN_HOLDER, data, &got);
	if (s == RF_PR_OK && rf_pr_parse_holder(data, got, look))
		s = RF_PR_FAILED;
	return s;
}

static int nvme_report(const struct path *p, int nsid, uint8_t *data)
{
	struct nvme_passthru_cmd c = {.opcode = NVME_REPORT,
				      .nsid = (uint32_t)nsid,
				      .addr = (uintptr_t)data,
				      .data_len = DATA_BYTES,
				      .cdw10 = DATA_BYTES / 4 - 1,
				      .cdw11 = p->short_id ? 0 : NVME_EXTENDED,
				      .timeout_ms = READ_MS};
	int r;

	memset(data, 0, DATA_BYTES);
	r = ioctl(p->fd, NVME_IOCTL_IO_CMD, &c);
	return r > 0 ? r & NVME_CODE : r;
}

/* Over a fabric hosts have identifiers of 128 bits, and only the extended report is
 * given; where they have 64, only the other. */
static enum rf_pr_status look_nvme(struct path *p, struct rf_pr_look *look, unsigned *commands)
{
	static uint8_t data[DATA_BYTES];
	int r, nsid = ioctl(p->fd, NVME_IOCTL_ID);

	if (nsid <= 0)
		return RF_PR_FAILED;
	++*commands;
	r = nvme_report(p, nsid, data);
	if (r == NVME_HOST_ID_FORM) {
		p->short_id = !p->short_id;
		++*commands;
		r = nvme_report(p, nsid, data);
	}
	if (r)
		return r == NVME_BAD_OPCODE ? RF_PR_UNSUPPORTED : RF_PR_FAILED;
	return rf_pr_parse_nvme(data, DATA_BYTES, !p->short_id, look) ? RF_PR_FAILED : RF_PR_OK;
}

static enum rf_pr_status dev_look(void *dev, uint64_t id, struct rf_pr_look *look,
				  unsigned *commands)
{
	struct path *p = path_of(dev, id);

	if (!usable(p))
		return RF_PR_FAILED;
	return p->node.nvme ? look_nvme(p, look, commands) : look_scsi(p, look, commands);
}

static enum rf_pr_status dev_able(void *dev, uint64_t id, struct rf_pr_able *able)
{
	struct path *p = path_of(dev, id);

	memset(able, 0, sizeof(*able));
	if (!usable(p))
		return RF_PR_FAILED;
	return p->node.nvme ? able_nvme(p, able) : able_scsi(p, able);
}

/* ---- time ---- */

static uint64_t dev_now_ms(void *dev)
{
	struct timespec ts;

	(void)dev;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void dev_rest(void *dev, unsigned ms)
{
	const struct timespec t = {.tv_nsec = (long)ms * 1000000};

	(void)dev;
	nanosleep(&t, NULL);
}

static bool dev_urgent(void *dev)
{
	return ((struct rf_pr_dev *)dev)->urgent();
}

const struct rf_pr_ops rf_pr_dev_ops = {
	.paths = dev_paths,
	.command = dev_command,
	.look = dev_look,
	.able = dev_able,
	.now_ms = dev_now_ms,
	.rest = dev_rest,
	.urgent = dev_urgent,
};
