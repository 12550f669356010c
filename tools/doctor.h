/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `ringfence doctor` looks at. Everything is read; nothing is written, armed or
 * sent. Only with reservations a target's word is not enough: on a device that nobody
 * uses, keys are registered for a moment.
 */
#ifndef RF_TOOLS_DOCTOR_H
#define RF_TOOLS_DOCTOR_H

#include "config.h"
#include "ctl.h"
#include "disk.h"

enum verdict {
	DOCTOR_PASS,
	DOCTOR_WARN, /* works, but worse than it should */
	DOCTOR_FAIL, /* will not work, or does not protect */
	DOCTOR_SKIP, /* cannot be told here; why is in the text */
	DOCTOR_VERDICTS,
};

/* One finding. `advice`: what to do, NULL for none. */
void doctor_say(enum verdict verdict, const char *check, const char *subject,
		const char *advice, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

struct doctor {
	struct rf_config config;
	struct ctl_status status;
	bool daemon; /* status is filled */
	bool in_use; /* reservations are tried also where keys are registered */
	struct {
		bool good; /* set and super may be used */
		struct disk_set set;
	} area[RF_AREAS_MAX];
};

/* doctor_disk.c: quorum disks, volumes, latencies */
void doctor_disks(struct doctor *d);
void doctor_volumes(struct doctor *d);
/* doctor_pr.c: what reservations the device of a volume really has */
void doctor_reservations(struct doctor *d);
/* doctor_net.c: interfaces, who hears whom */
void doctor_network(struct doctor *d);
/* doctor_host.c: gate module, watchdog, memory, scheduling */
void doctor_host(struct doctor *d);

#endif
