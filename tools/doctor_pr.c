/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor: what reservations the device of a volume really has. The fencer looks, with
 * the driver that will do it at a takeover (fence/pr_try.c): one finding a line,
 * VERDICT, text and advice, with tabs between.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "helper.h"
#include "tool.h"
#include "worker.h"

#define LINE_BYTES 1024

/* Of a device that no volume wants a reservation of, nothing is wrong. */
static enum verdict verdict_of(const char *word, bool needed)
{
	if (!strcmp(word, "PASS"))
		return DOCTOR_PASS;
	if (!strcmp(word, "SKIP") || !needed)
		return DOCTOR_SKIP;
	return !strcmp(word, "WARN") ? DOCTOR_WARN : DOCTOR_FAIL;
}

static void finding(char *line, const char *device, bool needed)
{
	char *text = strchr(line, '\t'), *advice = text ? strchr(text + 1, '\t') : NULL;

	line[strcspn(line, "\n")] = 0;
	if (!advice)
		return;
	*text++ = 0;
	*advice++ = 0;
	doctor_say(verdict_of(line, needed), "reservation", device, *advice ? advice : NULL,
		   "%s", text);
}

static void be_fencer(int out, const char *device, const char *attempt)
{
	const char *path = rf_helper_path("ringfence-fencer");
	char what[RF_CONFIG_PATH_BYTES + 16], when[32];

	snprintf(what, sizeof(what), "device=%s", device);
	snprintf(when, sizeof(when), "try=%s", attempt);
	if (dup2(out, STDOUT_FILENO) >= 0)
		execlp(path, path, "--examine", "reservation", what, when, (char *)NULL);
	fprintf(stderr, "ringfence: %s: %m: is ringfence installed completely?\n", path);
	_exit(127);
}

static void examine(const char *device, bool needed, const char *attempt)
{
	char line[LINE_BYTES];
	int fds[2], status = 0;
	FILE *in;
	pid_t pid;

	worker_doing(device, "trying its reservations");
	fflush(NULL);
	if (pipe2(fds, O_CLOEXEC) || (pid = fork()) < 0) {
		doctor_say(DOCTOR_SKIP, "reservation", device, NULL, "cannot look: %s",
			   strerror(errno));
		return;
	}
	if (!pid)
		be_fencer(fds[1], device, attempt);
	close(fds[1]);
	in = fdopen(fds[0], "r");
	while (in && fgets(line, sizeof(line), in))
		finding(line, device, needed);
	if (in)
		fclose(in);
	if (waitpid(pid, &status, 0) == pid && status)
		doctor_say(DOCTOR_FAIL, "reservation", device, "look again",
			   "the fencer did not get to its end (status 0x%x)", status);
}

void doctor_reservations(struct doctor *d)
{
	for (uint32_t i = 0; i < d->config.volumes; i++) {
		const struct rf_config_volume *v = &d->config.volume[i];
		bool needed = rf_config_fenced_by(v, "reservation");
		const char *attempt = d->in_use ? "always" : "idle";

		if (v->device[0])
			examine(v->device, needed, needed ? attempt : "no");
	}
}
