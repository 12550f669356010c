/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who pets the watchdog: this host is reset rather than left with a gate that does
 * not drain.
 *
 * It is petted only while every volume is either safely led (its lease is valid, or
 * its hold time runs) or shut and drained. A drain that takes longer than the grace
 * is not what peers count with (A4): the petting ends, after that was written down
 * durably for the next start. If it drains after all before the reset, it goes on.
 *
 * A volume whose writes are refused at the target needs no reset of this host: nobody
 * waits for its drain, and a target that is away must not reset all of its hosts.
 */
#ifndef RF_GUARD_H
#define RF_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon;
struct managed;
struct rf_ctl_daemon;

#define RF_GUARD_TEXT_BYTES 160u
#define RF_GUARD_RECORD "/var/lib/ringfence/watchdog"

/* What the verdict rests on, for one volume. */
struct rf_guard_volume {
	const char *name;
	bool target_side;     /* stale writes are refused at the target */
	uint64_t draining_ns; /* a revoke was asked then and is not answered; 0 = none */
	uint64_t lease_ns;    /* deadline of the lease; 0 = does not lead */
	uint64_t grace_ns, hold_ns;
};

/* Pure: may it be petted now? false: why is in text. */
bool rf_guard_safe(const struct rf_guard_volume *v, uint64_t now_ns,
		   char text[RF_GUARD_TEXT_BYTES]);

/* The record. Durable when it returns. 0 or -errno. */
int rf_guard_record(const char *path, const char *boot, const char *text);
/* What an earlier boot wrote down, and when; false: nothing, or by this boot. */
bool rf_guard_recall(const char *path, const char *boot, char text[RF_GUARD_TEXT_BYTES],
		     uint64_t *unix_ns);
/* Into the history, of the volume that `why` names: what ended its last leadership here.
 * Before the nodes run. */
void rf_guard_past(struct daemon *d, const char *why, uint64_t unix_ns);
/* Lease and grace of the slowest area, in seconds as a watchdog counts, rounded up. */
uint32_t rf_guard_timeout_s(uint32_t lease_ms, uint32_t grace_ms);

/* Opens the watchdog as the configuration says. RF_EXIT_YES or the exit code. */
int rf_guard_start(struct daemon *d);
void rf_guard_attach(struct daemon *d); /* petting begins */
/* Told by bind.c what is asked of the fence of a volume, and what it answered. */
void rf_guard_asked(struct managed *m, uint32_t verb, uint64_t now_ns);
void rf_guard_answered(struct managed *m, uint32_t verb, uint32_t result);
void rf_guard_stop(struct daemon *d); /* disarms only when every gate is shut and drained */
void rf_guard_show(const struct daemon *d, struct rf_ctl_daemon *row);

#endif
