/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence attach, detach: a volume's gate, by hand and without the daemon.
 *
 * Everything is checked as the daemon does at its start; then the gate's driver is
 * started for this one order. What it may not do, it is the kernel that says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "area.h"
#include "config.h"
#include "helper.h"
#include "log.h"
#include "tool.h"

static const char *config_path = RF_CONFIG_PATH;
static struct rf_config config; /* too large for the stack */
static struct rf_area area;

static const struct opt opts[] = {
	{"config", "FILE", "configuration of this node; default " RF_CONFIG_PATH, OPT_TEXT,
	 &config_path, NULL},
	{0},
};

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	chat("%s", line);
}

static int find_volume(const char *name, uint32_t *volume)
{
	char err[512];
	int rc = rf_config_load(&config, config_path, on_warning, NULL, err, sizeof(err));
	uint32_t i = 0;

	if (rc)
		return fail(rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_CONFIG, "%s", err);
	while (i < config.volumes && strcmp(config.volume[i].name, name))
		i++;
	if (i == config.volumes)
		return fail(RF_EXIT_NO_SUCH, "no volume '%s' in %s", name, config_path);
	*volume = i;
	if (!rf_config_fenced_by(&config.volume[i], "gate"))
		return fail(RF_EXIT_CONFIG,
			    "volume %s has fence = %s: only fence = gate makes a device", name,
			    config.volume[i].fence);
	return 0;
}

static int open_area(uint32_t volume)
{
	char err[512] = "";
	int rc;

	rf_log_open("", RF_LOG_WARNING);
	rc = rf_area_open(&area, &config, config.volume[volume].area, err, sizeof(err));
	if (!rc)
		return 0;
	return fail(rc == -EBADMSG || rc == -EMEDIUMTYPE ? RF_EXIT_BAD_DATA
		    : rc == -EACCES || rc == -EPERM      ? RF_EXIT_PERMISSION
		    : rc == -EINVAL || rc == -ENOENT     ? RF_EXIT_CONFIG
							 : RF_EXIT_IO,
		    "%s", err);
}

/* ---- the driver ---- */

struct words {
	char text[RF_CONFIG_SETTINGS_MAX + RF_DISKS_MAX + 5][RF_CONFIG_PATH_BYTES + 16];
	const char *argv[RF_CONFIG_SETTINGS_MAX + RF_DISKS_MAX + 9];
	unsigned n, texts;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *w, const char *format, ...)
{
	char *text = w->text[w->texts++];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(w->text[0]), format, ap);
	va_end(ap);
	w->argv[w->n++] = text;
}

/* As the daemon gives them (start.c); a test compares what comes of it. */
static void add_area(struct words *w, uint32_t volume)
{
	const struct rf_config_volume *v = &config.volume[volume];
	const struct rf_config_area *disks = &config.area[v->area];
	char id[2 * RF_UUID_BYTES + 1];

	for (uint32_t i = 0; i < v->settings; i++)
		add(w, "%s=%s", v->setting[i].key, v->setting[i].value);
	add(w, "device=%s", v->device);
	for (uint32_t i = 0; i < disks->disks; i++)
		add(w, "disk=%s", disks->disk[i]);
	for (unsigned i = 0; i < RF_UUID_BYTES; i++)
		snprintf(id + 2 * i, 3, "%02x", area.super.id.area[i]);
	add(w, "area=%s", id);
	add(w, "volume=%u", area.number[volume]);
	add(w, "node=%u", config.node);
}

static int start_driver(const char *option, uint32_t volume, bool with_area)
{
	static struct words w;
	const char *path = rf_helper_path("ringfence-fencer");

	w.argv[w.n++] = path;
	w.argv[w.n++] = option;
	w.argv[w.n++] = "gate";
	add(&w, "name=%s", config.volume[volume].gate);
	if (with_area)
		add_area(&w, volume);
	if (tool.quiet && !freopen("/dev/null", "w", stdout))
		return fail(RF_EXIT_IO, "/dev/null: %m");
	execvp(path, (char *const *)w.argv);
	return fail(RF_EXIT_UNREACHABLE, "%s: %m: is ringfence installed completely?", path);
}

static int run_attach(int argc, char **argv)
{
	uint32_t volume = 0;
	int rc = find_volume(argv[0], &volume);

	(void)argc;
	if (!rc)
		rc = open_area(volume);
	return rc ? rc : start_driver("--attach", volume, true);
}

static int run_detach(int argc, char **argv)
{
	uint32_t volume = 0;
	int rc = find_volume(argv[0], &volume);

	(void)argc;
	return rc ? rc : start_driver("--detach", volume, false);
}

const struct command cmd_attach = {
	.name = "attach",
	.args = "VOLUME",
	.brief = "make the gate of a volume on this host, closed",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run_attach,
};

const struct command cmd_detach = {
	.name = "detach",
	.args = "VOLUME",
	.brief = "take the gate of a volume away, if nobody uses it",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run_detach,
};
