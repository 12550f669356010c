/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence doctor: will it work on this host, and does it protect? */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "out.h"
#include "ringfence/key.h"
#include "tool.h"
#include "worker.h"

#define LIMIT_MS 60000u
#define TEXT_BYTES 512

static const char *config_path = RF_CONFIG_PATH;
static struct doctor doctor; /* too large for the stack */
static struct json_object *checks;
static unsigned count[DOCTOR_VERDICTS];

static const struct opt opts[] = {
	{"config", "FILE", "configuration of this node; default " RF_CONFIG_PATH, OPT_TEXT,
	 &config_path, NULL},
	{"in-use", NULL, "try reservations also on a device that is in use", OPT_FLAG,
	 &doctor.in_use, NULL},
	{0},
};

/* ---- findings ---- */

static const char *const words[] = {"PASS", "WARN", "FAIL", "SKIP"};

static void print(enum verdict verdict, const char *check, const char *subject,
		  const char *text, const char *advice)
{
	static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m", "\033[2m"};
	bool color = out_color();

	printf("%s%s%s %-12s %s%s%s\n", color ? colors[verdict] : "", words[verdict],
	       color ? "\033[0m" : "", check, subject ? subject : "", subject ? ": " : "",
	       text);
	if (advice && (verdict == DOCTOR_WARN || verdict == DOCTOR_FAIL))
		printf("                  %s\n", advice);
	fflush(stdout); /* the next check may take its time */
}

void doctor_say(enum verdict verdict, const char *check, const char *subject,
		const char *advice, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	struct json_object *o;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	count[verdict]++;
	o = out_row(checks);
	out_text(o, "check", check);
	out_text(o, "subject", subject);
	out_text(o, "verdict", words[verdict]);
	out_text(o, "text", text);
	out_text(o, "advice", verdict == DOCTOR_PASS ? NULL : advice);
	if (!tool.json)
		print(verdict, check, subject, text, advice);
}

/* ---- configuration and key ---- */

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	doctor_say(DOCTOR_WARN, "config", NULL, NULL, "%s", line);
}

static bool load(struct doctor *d)
{
	char err[512];
	struct rf_keys keys;
	int rc = rf_config_load(&d->config, config_path, on_warning, NULL, err, sizeof(err));

	if (rc) {
		doctor_say(DOCTOR_FAIL, "config", NULL, "nothing else can be looked at", "%s",
			   err);
		return false;
	}
	doctor_say(DOCTOR_PASS, "config", config_path, NULL, "node %u of '%s', %u volumes",
		   d->config.node, d->config.cluster, d->config.volumes);
	if (rf_keys_load(&keys, d->config.key_file, err, sizeof(err)))
		doctor_say(DOCTOR_FAIL, "key", NULL,
			   "`ringfence keygen`, or copy another node's", "%s", err);
	else
		doctor_say(DOCTOR_PASS, "key", d->config.key_file, NULL, "%u accepted",
			   keys.count);
	explicit_bzero(&keys, sizeof(keys));
	return true;
}

static void ask_daemon(struct doctor *d)
{
	int fd = ctl_connect(true);

	if (fd < 0) {
		doctor_say(DOCTOR_WARN, "daemon", tool.socket,
			   "start ringfenced and look again",
			   "not running: what only it knows cannot be told");
		return;
	}
	close(fd);
	if (ctl_status(&d->status)) {
		doctor_say(DOCTOR_FAIL, "daemon", tool.socket, "look at its log",
			   "does not answer");
		return;
	}
	d->daemon = true;
	for (unsigned i = 0; i < d->status.areas; i++) {
		const struct rf_ctl_area *a = &d->status.area[i];

		doctor_say(a->joined ? DOCTOR_PASS : DOCTOR_WARN, "daemon", tool.socket,
			   a->waiting, "%s, %u of %u quorum disks good",
			   a->joined ? "has joined" : "has not joined", a->disks_good,
			   a->disks);
	}
}

/* ---- the whole ---- */

static int conclude(struct json_object *doc)
{
	out_int(doc, "pass", count[DOCTOR_PASS]);
	out_int(doc, "warn", count[DOCTOR_WARN]);
	out_int(doc, "fail", count[DOCTOR_FAIL]);
	out_int(doc, "skip", count[DOCTOR_SKIP]);
	if (tool.json) {
		out_print(doc);
	} else {
		printf("%u pass, %u warn, %u fail, %u skip\n", count[DOCTOR_PASS],
		       count[DOCTOR_WARN], count[DOCTOR_FAIL], count[DOCTOR_SKIP]);
		json_object_put(doc);
	}
	return count[DOCTOR_FAIL] ? RF_EXIT_NO : RF_EXIT_YES;
}

static int examine(int argc, char **argv)
{
	struct json_object *doc = out_doc();

	(void)argc;
	(void)argv;
	checks = out_array(doc, "checks");
	worker_doing(config_path, "reading it");
	if (!load(&doctor))
		return conclude(doc);
	worker_doing(tool.socket, "asking the daemon");
	ask_daemon(&doctor);
	doctor_disks(&doctor);
	doctor_volumes(&doctor);
	doctor_reservations(&doctor);
	worker_doing("the network", "looking at it");
	doctor_network(&doctor);
	worker_doing("this host", "looking at it");
	doctor_host(&doctor);
	return conclude(doc);
}

static int run(int argc, char **argv)
{
	return worker_run(examine, argc, argv, LIMIT_MS);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "",
	.brief = "will it work on this host, and does it protect?",
	.opts = opts,
	.max_args = 0,
	.run = run,
};
