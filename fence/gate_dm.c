/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gate.c says to device-mapper, through libdevmapper. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gate_dm.h"

static char last_error[160]; /* what libdevmapper logged last */
/* Why there is no task: it asks the kernel once, then only knows that it failed. */
static int no_task = ENOMEM;

__attribute__((format(printf, 5, 6))) static void log_line(int level, const char *file,
							   int line, int dm_errno,
							   const char *fmt, ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)dm_errno;
	if ((level & 7) > 4) /* below a warning */
		return;
	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
}

static struct dm_task *task(int type, const char *name)
{
	struct dm_task *t;

	dm_log_with_errno_init(log_line);
	last_error[0] = 0;
	errno = 0;
	t = dm_task_create(type);
	if (!t && errno)
		no_task = errno;
	if (t && !dm_task_set_name(t, name)) {
		dm_task_destroy(t);
		t = NULL;
	}
	return t;
}

static int task_run(struct dm_task *t)
{
	int e;

	if (dm_task_run(t))
		return 0;
	e = dm_task_get_errno(t);
	return e ? -e : -EIO;
}

static int failed(int r, const char *what, const char *name, char *err, size_t err_bytes)
{
	const char *hint = "";

	if (r == -ENXIO)
		return r;
	if (r == -EINVAL && strstr(last_error, "nknown target"))
		hint = "; is module " RF_GATE_MODULE " installed?";
	if (r == -EACCES || r == -EPERM)
		hint = "; device-mapper wants CAP_SYS_ADMIN";
	snprintf(err, err_bytes, "gate %.40s: cannot %s: %s%s%.90s%s", name, what, strerror(-r),
		 last_error[0] ? ": " : "", last_error, hint);
	return r;
}

/* ---- status ---- */

static enum rf_gate_state state_of(const char *word)
{
	static const char *const words[] = {RF_GATE_STATE_WORDS};
	unsigned i;

	for (i = 0; i < RF_GATE_STATES; i++)
		if (!strcmp(words[i], word))
			return (enum rf_gate_state)i;
	return RF_GATE_OPEN; /* a word we do not know: the unsafe case is assumed */
}

static void count_refused(struct rf_dm_status *s, const char *word, uint64_t n)
{
	static const struct {
		const char *word;
		enum rf_fence_refusal as;
	} words[] = {
		{"closed", RF_FENCE_REFUSED_CLOSED},
		{"expired", RF_FENCE_REFUSED_EXPIRED},
		{"superseded", RF_FENCE_REFUSED_SUPERSEDED},
		{"revoked", RF_FENCE_REFUSED_REVOKED},
	};

	s->refused += n;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i].word))
			s->refused_by[words[i].as] += n;
}

static void parse_word(struct rf_dm_status *s, const char *key, const char *value)
{
	uint64_t n = strtoull(value, NULL, 10);

	if (!strcmp(key, "state"))
		s->state = state_of(value);
	else if (!strcmp(key, "why"))
		snprintf(s->why, sizeof(s->why), "%.15s", value);
	else if (!strcmp(key, "epoch"))
		s->epoch = n;
	else if (!strcmp(key, "left_ms"))
		s->left_ms = n;
	else if (!strcmp(key, "seen"))
		s->seen = n;
	else if (!strcmp(key, "in_flight"))
		s->in_flight = n;
	else if (!strcmp(key, "held"))
		s->held = n;
	else if (!strcmp(key, "admitted"))
		s->admitted = n;
	else if (!strncmp(key, "refused_", 8))
		count_refused(s, key + 8, n);
}

static void parse_status(struct rf_dm_status *s, const char *params)
{
	char copy[1024], *word, *save = NULL;

	snprintf(copy, sizeof(copy), "%s", params);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(word, '=');

		if (!eq)
			continue;
		*eq = 0;
		parse_word(s, word, eq + 1);
	}
}

int rf_dm_status(const char *name, struct rf_dm_status *s, char *err, size_t err_bytes)
{
	struct dm_task *t = task(DM_DEVICE_STATUS, name);
	char *type = NULL, *params = NULL;
	uint64_t start, length;
	struct dm_info info;
	int r;

	memset(s, 0, sizeof(*s));
	if (!t)
		return failed(-no_task, "ask for its status", name, err, err_bytes);
	dm_task_no_flush(t);
	r = task_run(t);
	if (!r && !dm_task_get_info(t, &info))
		r = -EIO;
	if (!r && info.exists) {
		s->exists = true;
		s->open_count = info.open_count;
		s->major = info.major;
		s->minor = info.minor;
		if (!dm_get_next_target(t, NULL, &start, &length, &type, &params) && type &&
		    !strcmp(type, RF_GATE_TARGET)) {
			s->ours = true;
			parse_status(s, params);
		}
	}
	dm_task_destroy(t);
	return r == -ENXIO || !r ? 0 : failed(r, "ask for its status", name, err, err_bytes);
}

int rf_dm_table(const char *name, char *params, size_t bytes)
{
	struct dm_task *t = task(DM_DEVICE_TABLE, name);
	char *type = NULL, *got = NULL;
	uint64_t start, length;
	int r = t ? task_run(t) : -no_task;

	params[0] = 0;
	if (!r) {
		dm_get_next_target(t, NULL, &start, &length, &type, &got);
		snprintf(params, bytes, "%s", got ? got : "");
	}
	if (t)
		dm_task_destroy(t);
	return r;
}

/* ---- tables ---- */

/* Runs a task that makes or removes a node, and waits for udev if there is one. */
static int run_with_udev(struct dm_task *t)
{
	uint32_t cookie = 0;
	int r;

	if (!dm_task_set_cookie(t, &cookie, 0))
		return -EIO;
	r = task_run(t);
	dm_udev_wait(cookie);
	return r;
}

static int simple(int type, const char *name)
{
	struct dm_task *t = task(type, name);
	int r;

	if (!t)
		return -no_task;
	if (type == DM_DEVICE_RESUME || type == DM_DEVICE_REMOVE)
		r = run_with_udev(t);
	else
		r = task_run(t);
	dm_task_destroy(t);
	return r;
}

static int load(int type, const char *name, const char *uuid, uint64_t sectors,
		const char *params)
{
	struct dm_task *t = task(type, name);
	int r = -ENOMEM;

	if (!t)
		return -no_task;
	if ((type != DM_DEVICE_CREATE || dm_task_set_uuid(t, uuid)) &&
	    dm_task_add_target(t, 0, sectors, RF_GATE_TARGET, params))
		r = type == DM_DEVICE_CREATE ? run_with_udev(t) : task_run(t);
	dm_task_destroy(t);
	return r;
}

int rf_dm_load(const char *name, const char *uuid, uint64_t sectors, const char *params,
	       bool exists, char *err, size_t err_bytes)
{
	int r = load(exists ? DM_DEVICE_RELOAD : DM_DEVICE_CREATE, name, uuid, sectors, params);

	if (r)
		return failed(r, "load its table (the kernel log names the argument)", name,
			      err, err_bytes);
	if (exists) {
		r = simple(DM_DEVICE_RESUME, name);
		if (r) {
			failed(r, "resume it", name, err, err_bytes);
			simple(DM_DEVICE_CLEAR, name);
		}
	}
	dm_mknodes(name);
	return r;
}

int rf_dm_remove(const char *name, char *err, size_t err_bytes)
{
	int r = simple(DM_DEVICE_REMOVE, name);

	return r && r != -ENXIO ? failed(r, "remove it", name, err, err_bytes) : 0;
}

int rf_dm_message(const char *name, const char *message, char *answer, size_t bytes)
{
	struct dm_task *t = task(DM_DEVICE_TARGET_MSG, name);
	const char *got;
	int r;

	if (bytes)
		answer[0] = 0;
	if (!t)
		return -no_task;
	r = dm_task_set_sector(t, 0) && dm_task_set_message(t, message) ? task_run(t) : -ENOMEM;
	got = r ? NULL : dm_task_get_message_response(t);
	if (got && bytes)
		snprintf(answer, bytes, "%s", got);
	dm_task_destroy(t);
	return r;
}

/* ---- who has it open ---- */

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t bytes, const char *fmt,
						      ...)
{
	size_t at = strlen(text);
	va_list ap;

	if (at + 1 >= bytes)
		return;
	va_start(ap, fmt);
	vsnprintf(text + at, bytes - at, fmt, ap);
	va_end(ap);
}

static void add_mounts(const struct rf_dm_status *s, char *text, size_t bytes)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024], where[256], want[32], dev[32];

	snprintf(want, sizeof(want), "%u:%u", s->major, s->minor);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %31s %*s %255s", dev, where) == 2 &&
		    !strcmp(dev, want))
			add(text, bytes, " mount %s", where);
	if (f)
		fclose(f);
}

static void add_holders(const struct rf_dm_status *s, char *text, size_t bytes)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", s->major, s->minor);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add(text, bytes, " device %.32s", e->d_name);
	if (d)
		closedir(d);
}

static bool has_it_open(const char *pid, dev_t dev)
{
	char path[320];
	struct dirent *e;
	struct stat st;
	bool yes = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && !yes && (e = readdir(d)))
		yes = e->d_name[0] != '.' && !fstatat(dirfd(d), e->d_name, &st, 0) &&
		      S_ISBLK(st.st_mode) && st.st_rdev == dev;
	if (d)
		closedir(d);
	return yes;
}

static void add_processes(const struct rf_dm_status *s, char *text, size_t bytes)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[64], name[32];

	while (d && (e = readdir(d))) {
		FILE *f;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    !has_it_open(e->d_name, makedev(s->major, s->minor)))
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/comm", e->d_name);
		f = fopen(path, "re");
		if (!f || fscanf(f, "%31s", name) != 1)
			snprintf(name, sizeof(name), "?");
		if (f)
			fclose(f);
		add(text, bytes, " process %s (%s)", e->d_name, name);
	}
	if (d)
		closedir(d);
}

void rf_dm_openers(const struct rf_dm_status *s, char *text, size_t bytes)
{
	text[0] = 0;
	add_mounts(s, text, bytes);
	add_holders(s, text, bytes);
	add_processes(s, text, bytes);
	if (!text[0])
		add(text, bytes, " something in another namespace");
}

/* ---- events ---- */

int rf_dm_events_open(int *fd)
{
	*fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

int rf_dm_events_arm(int fd)
{
	struct dm_ioctl io = {.version = {DM_VERSION_MAJOR, 37, 0}, .data_size = sizeof(io)};

	return ioctl(fd, DM_DEV_ARM_POLL, &io) ? -errno : 0;
}
