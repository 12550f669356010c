/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: gate module, watchdog, memory, scheduling. Read from the kernel's files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor.h"
#include "line.h"
#include "tool.h"

#define WATCHDOG_DEFAULT "/dev/watchdog0"

/* ---- the gate in the kernel ---- */

static bool module_installed(const char *release)
{
	char path[256], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "dm-ringfence.ko") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void module(void)
{
	struct utsname u;
	char text[64];

	uname(&u);
	if (rf_line(text, sizeof(text), "/sys/module/dm_ringfence/version"))
		doctor_say(strcmp(text, RF_VERSION) ? DOCTOR_WARN : DOCTOR_PASS, "gate",
			   "dm-ringfence", "load the one that was built with this version",
			   "loaded, version %s%s%s", text,
			   strcmp(text, RF_VERSION) ? ", this tool is " : "",
			   strcmp(text, RF_VERSION) ? RF_VERSION : "");
	else if (access("/sys/module/dm_ringfence", F_OK) == 0)
		doctor_say(DOCTOR_PASS, "gate", "dm-ringfence", NULL, "loaded");
	else if (module_installed(u.release))
		doctor_say(DOCTOR_WARN, "gate", "dm-ringfence", "modprobe dm-ringfence",
			   "installed for kernel %s, not loaded", u.release);
	else
		doctor_say(DOCTOR_FAIL, "gate", "dm-ringfence", "dkms install ringfence",
			   "not loaded, and not installed for kernel %s", u.release);
	if (access("/dev/mapper/control", F_OK) != 0)
		doctor_say(DOCTOR_FAIL, "gate", "/dev/mapper/control", "modprobe dm-mod",
			   "there is no device-mapper");
}

/* A4: the boot clock of a paused guest stands still. */
static bool guest(void)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor");
	if (f)
		fclose(f);
	return found;
}

static void gates(const struct doctor *d)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < d->config.volumes; i++)
		n += rf_config_fenced_by(&d->config.volume[i], "gate");
	if (!n)
		return;
	module();
	if (guest())
		doctor_say(DOCTOR_WARN, "gate", NULL, "fence = target",
			   "this host is a virtual machine: paused and resumed it can still "
			   "write through its gate");
}

/* ---- the watchdog: never opened, that would arm it ---- */

static void dog_state(const char *device, const char *name)
{
	char identity[64] = "?", state[32] = "?", stays[8] = "0", seconds[16] = "?";
	bool soft;

	rf_line(identity, sizeof(identity), "/sys/class/watchdog/%s/identity", name);
	rf_line(state, sizeof(state), "/sys/class/watchdog/%s/state", name);
	rf_line(stays, sizeof(stays), "/sys/class/watchdog/%s/nowayout", name);
	rf_line(seconds, sizeof(seconds), "/sys/class/watchdog/%s/timeout", name);
	soft = !strncasecmp(identity, "soft", 4);
	doctor_say(soft ? DOCTOR_WARN : DOCTOR_PASS, "watchdog", device,
		   "load the driver of this hardware", "\"%s\", %s, %s s%s%s", identity, state,
		   seconds, strcmp(stays, "1") ? "" : ", cannot be disarmed",
		   soft ? ": a timer of the kernel that it is to guard against" : "");
}

static void watchdog(const struct doctor *d)
{
	const char *device =
		d->config.watchdog_device[0] ? d->config.watchdog_device : WATCHDOG_DEFAULT;
	bool required = d->config.watchdog == RF_WATCHDOG_REQUIRED;
	const char *name = strrchr(device, '/');
	struct stat st;

	if (d->config.watchdog == RF_WATCHDOG_OFF) {
		doctor_say(DOCTOR_WARN, "watchdog", NULL, "[watchdog] mode = automatic",
			   "off: a gate that does not drain, or a kernel that hangs, is not "
			   "reset");
		return;
	}
	if (stat(device, &st) || !S_ISCHR(st.st_mode)) {
		doctor_say(required ? DOCTOR_FAIL : DOCTOR_WARN, "watchdog", device,
			   "load the driver of this hardware", "there is none%s",
			   required ? ", and it is required" : "");
		return;
	}
	dog_state(device, strcmp(name + 1, "watchdog") ? name + 1 : "watchdog0");
	if (d->daemon && d->status.daemon.watchdog >= RF_CTL_WATCHDOG_NONE)
		doctor_say(DOCTOR_FAIL, "watchdog", device, "see the daemon's log",
			   "the daemon does not pet it: %s", d->status.daemon.watchdog_text);
	if (d->daemon && d->status.daemon.watchdog_last[0])
		doctor_say(DOCTOR_WARN, "watchdog", device, "find out what kept its writes",
			   "reset this host before: %s", d->status.daemon.watchdog_last);
}

/* ---- memory and time ---- */

static void rings(void)
{
	char text[8];

	if (rf_line(text, sizeof(text), "/proc/sys/kernel/io_uring_disabled") &&
	    strcmp(text, "0"))
		doctor_say(!strcmp(text, "2") ? DOCTOR_FAIL : DOCTOR_WARN, "io_uring", NULL,
			   "sysctl kernel.io_uring_disabled=0", "restricted (%s)", text);
}

static void daemon_process(const struct rf_ctl_daemon *r, uint32_t heartbeat_ms)
{
	doctor_say(r->memory_locked ? DOCTOR_PASS : DOCTOR_WARN, "memory", NULL,
		   "raise LimitMEMLOCK of the service", "%s",
		   r->memory_locked ? "locked"
				    : "not locked: under memory pressure a renewal comes late");
	doctor_say(r->realtime ? DOCTOR_PASS : DOCTOR_WARN, "scheduling", NULL,
		   "raise LimitRTPRIO, or move the daemon out of its cgroup", "%s",
		   r->realtime ? "real time"
			       : "no real-time priority: on a busy host a renewal comes late");
	doctor_say(r->loop_delay_max_us / 1000 < heartbeat_ms ? DOCTOR_PASS : DOCTOR_WARN,
		   "scheduling", NULL, "what else runs here?",
		   "its loop was at most %.1f ms late, heartbeat %u ms",
		   r->loop_delay_max_us / 1000.0, heartbeat_ms);
}

void doctor_host(struct doctor *d)
{
	uint32_t heartbeat_ms =
		d->daemon && d->status.areas ? d->status.area[0].heartbeat_ms : 0;
	struct rlimit lock;

	gates(d);
	watchdog(d);
	rings();
	if (d->daemon)
		daemon_process(&d->status.daemon, heartbeat_ms);
	else if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0)
		doctor_say(DOCTOR_SKIP, "memory", NULL, NULL,
			   "the daemon is not running; this shell may lock %s%llu KiB",
			   lock.rlim_cur == RLIM_INFINITY ? "more than " : "",
			   lock.rlim_cur == RLIM_INFINITY
				   ? 0ull
				   : (unsigned long long)lock.rlim_cur / 1024);
}
