/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The watchdog device, see watchdog.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "io/watchdog.h"
#include "line.h"

/* ---- the kernel ---- */

static int kernel_open(const char *device)
{
	int fd = open(device, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static ssize_t kernel_write(int fd, const void *data, size_t len)
{
	ssize_t n = write(fd, data, len);

	return n < 0 ? -errno : n;
}

/* /dev/watchdog is the first one under its old name, which sysfs does not know. */
static bool kernel_attribute(const char *device, const char *name, char *out, size_t bytes)
{
	struct stat st;

	if (stat(device, &st) != 0 || !S_ISCHR(st.st_mode))
		return false;
	if (st.st_rdev == makedev(10, 130))
		return rf_line(out, bytes, "/sys/class/watchdog/watchdog0/%s", name);
	return rf_line(out, bytes, "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		       minor(st.st_rdev), name);
}

const struct rf_watchdog_ops rf_watchdog_kernel = {.open = kernel_open,
						   .ioctl = kernel_ioctl,
						   .write = kernel_write,
						   .close = close,
						   .attribute = kernel_attribute};

/* ---- opening ---- */

struct message {
	const char *device;
	char *text;
	size_t bytes;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct message *m, int rc,
							const char *format, ...)
{
	int n = snprintf(m->text, m->bytes, "%s: ", m->device);
	va_list ap;

	if (n < 0 || (size_t)n >= m->bytes)
		return rc;
	va_start(ap, format);
	vsnprintf(m->text + n, m->bytes - (size_t)n, format, ap);
	va_end(ap);
	return rc;
}

static bool is_soft(const char *identity)
{
	return !strncasecmp(identity, "soft", 4);
}

static int refuse_soft(const struct rf_watchdog *w, const struct message *m)
{
	return refuse(
		m, -ENOTSUP,
		"\"%s\" is a timer of this kernel: it does not fire when the kernel hangs",
		w->identity);
}

/* What can be known without opening it. */
static int look(struct rf_watchdog *w, const struct message *m, bool hard)
{
	char text[64];

	w->was_active = true;
	if (w->ops->attribute(m->device, "state", text, sizeof(text)))
		w->was_active = strcmp(text, "inactive") != 0;
	if (w->ops->attribute(m->device, "nowayout", text, sizeof(text)))
		w->stays = !strcmp(text, "1");
	if (!w->ops->attribute(m->device, "identity", text, sizeof(text)))
		return 0;
	snprintf(w->identity, sizeof(w->identity), "%.32s", text);
	w->soft = is_soft(text);
	return hard && w->soft ? refuse_soft(w, m) : 0;
}

static int support(struct rf_watchdog *w, const struct message *m, bool hard)
{
	const uint32_t need = WDIOF_SETTIMEOUT | WDIOF_KEEPALIVEPING;
	struct watchdog_info info = {0};
	int rc = w->ops->ioctl(w->fd, WDIOC_GETSUPPORT, &info);

	if (rc)
		return refuse(m, rc, "does not say what it can do: %s", strerror(-rc));
	snprintf(w->identity, sizeof(w->identity), "%.32s", (const char *)info.identity);
	w->soft = is_soft(w->identity);
	w->stays |= !(info.options & WDIOF_MAGICCLOSE);
	if ((info.options & need) != need)
		return refuse(m, -ENOTSUP, "\"%s\" cannot be %s", w->identity,
			      info.options & WDIOF_SETTIMEOUT ? "petted"
							      : "given another time");
	return hard && w->soft ? refuse_soft(w, m) : 0;
}

static int set_time(struct rf_watchdog *w, const struct message *m, uint32_t want_s)
{
	int s = (int)want_s, rc;

	rc = w->ops->ioctl(w->fd, WDIOC_SETTIMEOUT, &s);
	if (!rc)
		rc = w->ops->ioctl(w->fd, WDIOC_GETTIMEOUT, &s);
	if (rc || s <= 0)
		return refuse(m, rc ? rc : -EINVAL, "\"%s\" does not take %u s: %s",
			      w->identity, want_s, rc ? strerror(-rc) : "it says 0 s");
	w->timeout_s = (uint32_t)s;
	rc = rf_watchdog_pet(w);
	return rc ? refuse(m, rc, "cannot be petted: %s", strerror(-rc)) : 0;
}

int rf_watchdog_open(struct rf_watchdog *w, const struct rf_watchdog_ops *ops,
		     const char *device, uint32_t timeout_s, bool hard, char *err,
		     size_t err_bytes)
{
	const struct message m = {device, err, err_bytes};
	int rc;

	*w = (struct rf_watchdog){.ops = ops, .fd = -1};
	rc = look(w, &m, hard);
	if (rc)
		return rc;
	w->fd = ops->open(device);
	if (w->fd < 0) {
		rc = w->fd;
		w->fd = -1;
		return refuse(&m, rc, "%s",
			      rc == -EBUSY ? "in use by another program (systemd's "
					     "RuntimeWatchdogSec, watchdogd?)"
					   : strerror(-rc));
	}
	rc = support(w, &m, hard);
	if (!rc)
		rc = set_time(w, &m, timeout_s);
	if (rc) /* CASES 16: one that was running before goes on running */
		rf_watchdog_close(w, !w->was_active);
	return rc;
}

/* ---- using it ---- */

int rf_watchdog_pet(struct rf_watchdog *w)
{
	return w->fd < 0 ? 0 : w->ops->ioctl(w->fd, WDIOC_KEEPALIVE, NULL);
}

void rf_watchdog_close(struct rf_watchdog *w, bool disarm)
{
	if (w->fd < 0)
		return;
	if (disarm)
		(void)w->ops->write(w->fd, "V", 1);
	w->ops->close(w->fd);
	w->fd = -1;
}
