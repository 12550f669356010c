/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence metrics: the daemon's figures as Prometheus' text, on stdout or in a file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prometheus.h"
#include "tool.h"

static const char *textfile;

static const struct opt opts[] = {
	{"textfile", "FILE", "write FILE instead, all at once (node exporter's textfiles)",
	 OPT_TEXT, &textfile, NULL},
	{0},
};

static bool good(FILE *f)
{
	return !fflush(f) && !ferror(f);
}

/* A reader sees the old file or the new one, never a part. */
static int write_file(const struct prometheus *p)
{
	char path[PATH_MAX];
	bool ok;
	FILE *f;

	if ((size_t)snprintf(path, sizeof(path), "%s.new", textfile) >= sizeof(path))
		return fail(RF_EXIT_BAD_VALUE, "--textfile: the path is too long");
	unlink(path); /* what an earlier run left, or somebody's link */
	f = fopen(path, "wxe");
	if (!f)
		return fail(RF_EXIT_IO, "%s: %s", path, strerror(errno));
	prometheus_print(p, f);
	ok = good(f) && !fchmod(fileno(f), 0644);
	if (fclose(f) || !ok || rename(path, textfile)) {
		fail(RF_EXIT_IO, "%s: %s", textfile, strerror(errno));
		unlink(path);
		return RF_EXIT_IO;
	}
	return 0;
}

static int run(int argc, char **argv)
{
	struct prometheus p;
	int rc = prometheus_ask(&p, false);

	(void)argc;
	(void)argv;
	if (rc && textfile && !unlink(textfile)) /* figures of a dead daemon would lie */
		note("%s removed: what it said is no longer so", textfile);
	if (!rc && textfile)
		rc = write_file(&p);
	else if (!rc)
		prometheus_print(&p, stdout);
	if (!rc && !textfile && !good(stdout))
		rc = fail(RF_EXIT_IO, "output could not be written: %s", strerror(errno));
	prometheus_free(&p);
	return rc;
}

const struct command cmd_metrics = {
	.name = "metrics",
	.args = "",
	.brief = "the daemon's figures in Prometheus' text format",
	.opts = opts,
	.max_args = 0,
	.run = run,
};
