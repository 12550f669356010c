/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as a whole: what start.c builds, bind.c runs and show.c shows.
 *
 * A part is one area: a node (core and its order of duty), its disks, its timer.
 * Volumes are known by their index in the configuration; `number` is the one they
 * have in their area.
 */
#ifndef RF_DAEMON_H
#define RF_DAEMON_H

#include "area.h"
#include "config.h"
#include "fit.h"
#include "guard.h"
#include "io/control.h"
#include "io/disk.h"
#include "io/fencer.h"
#include "io/hooks.h"
#include "io/loop.h"
#include "io/net.h"
#include "io/seal.h"
#include "io/watchdog.h"
#include "keep.h"
#include "life.h"
#include "metrics.h"
#include "node.h"

struct daemon;
struct rf_fencers;
struct rf_reload;
struct rf_reopen;

struct part {
	struct daemon *daemon;
	uint32_t index;
	struct rf_area area;
	struct rf_node *node;
	struct rf_disks *disks;
	struct rf_timer timer;
	struct rf_fit fit;
	struct rf_keep_look look;
	bool joined, halted, degraded;
	bool crashed; /* the life before it did not leave, or may not have */
	bool left;    /* nothing of it can land: its slot says FREE, or was never written */
	char life[RF_LIFE_PATH_BYTES];      /* the mark that it has not left yet */
	uint32_t reason;                    /* of the halt, RF_CAUSE_* */
	uint32_t config_of[RF_VOLUMES_MAX]; /* configuration index by number; UINT32_MAX */
};

struct managed { /* a volume of the configuration */
	struct rf_fencer *fencer;
	struct part *part;
	uint32_t number;
	uint32_t can;
	char driver[16];
	uint64_t refused;
	/* the last answer of the fencer that was said, and how often it came since */
	struct {
		uint32_t verb, result, repeated;
		uint64_t epoch, again_ns;
	} trouble;
	/* guard.h: */
	bool target_side; /* what is in force refuses at the storage, or did while it lived */
	bool unfit;       /* by its own word: no claim of this node would be granted */
	bool maybe_open;  /* granted, and no revoke of that was answered */
	uint64_t draining_ns; /* a revoke was asked then; 0 = none is unanswered */
	enum rf_role role;    /* as last told */
	uint64_t epoch;
	uint32_t leader;
	/* a cancel under way: quiet only when both are */
	uint64_t cancel_epoch;
	bool control_quiet, hooks_quiet;
	uint64_t sequence; /* of hook events */
	struct rf_keep keep;
	bool counted; /* `refused` was read at least once */
	/* pre-campaign: asked and not answered; whether this node may campaign now */
	bool asking, willing, abstains;
	uint64_t ask_again_ns;
};

struct rf_guard {
	struct rf_watchdog dog;
	struct rf_timer timer;
	uint64_t every_ns;
	bool unsafe; /* not petted now, for what text says */
	bool said;   /* that it cannot be petted */
	char boot[40];
	char text[RF_GUARD_TEXT_BYTES], last[RF_GUARD_TEXT_BYTES];
};

struct daemon {
	struct rf_config config;
	struct rf_keys keys;
	uint64_t incarnation, started_ns;
	char host[RF_HOST_BYTES];
	struct rf_loop *loop;
	struct rf_net *net;
	struct rf_seal *seal;
	struct rf_control *control;
	struct rf_hooks *hooks;
	struct rf_reload *reload;
	struct rf_reopen *reopen;
	struct rf_fencers *fencers;
	struct rf_op control_op, hooks_op, signal_op, log_op;
	struct rf_timer watchdog, leave, counters, service;
	uint64_t watchdog_ns; /* the service manager's, not the device */
	struct rf_guard guard;
	struct {
		char path[RF_LIFE_PATH_BYTES]; /* of the mark, pause.h */
		uint64_t since_unix_ns;        /* 0 = not paused */
	} pause;
	int signal_fd;
	uint32_t parts;
	struct part *part[RF_AREAS_MAX];
	struct managed *managed; /* by configuration index */
	uint64_t received, rejected[RF_REJECT_COUNT];
	struct rf_metrics metrics;
	bool memory_locked, realtime, leaving;
};

/* start.c: RF_EXIT_YES, or the exit code; why is in the log. */
int rf_start(struct daemon *daemon, const char *config_path, const char *socket);
int rf_give_up(int code, const char *text); /* logs the text, returns the code */
/* The same for an -errno: no room now is tried again by the service manager (75), all else
 * is a mistake in the configuration (78), which is not. */
int rf_give_up_on(int rc, const char *text);

/* What is made of the configuration again when it is reloaded. */
void rf_start_hooks_config(const struct rf_config *from, struct rf_hooks_config *to);
void rf_start_net_config(const struct daemon *daemon, struct rf_net_config *to);
void rf_start_copies(struct daemon *daemon);
uint32_t rf_start_priority(const struct part *part);

/* bind.c */
void rf_bind_ports(struct part *part, struct rf_ports *ports);
int rf_bind_disks(struct part *part, struct iovec *memory);
void rf_bind_can(struct managed *m); /* what fence and user let this node do */
void rf_bind_event(struct part *part, struct rf_event *event); /* fills in the time */
void rf_bind_wake(struct rf_timer *timer, uint64_t now_ns);
void rf_bind_counters(struct rf_timer *timer, uint64_t now_ns); /* every now and then */
extern const struct rf_fencer_ops rf_bind_fencer_ops;
extern const struct rf_hooks_ops rf_bind_hooks_ops;
void rf_bind_control_quiet(void *daemon, uint32_t volume, uint64_t epoch);
void rf_bind_datagram(void *daemon, const uint8_t *data, size_t len);

/* figures.c */
void rf_figures(void *daemon, rf_control_row row, void *client);

/* tell.c: hooks that are no part of a leadership; numbers of theirs follow rf_hook */
enum rf_tell {
	RF_TELL_LEADER_CHANGE = RF_HOOK_LAST + 1,
	RF_TELL_FENCED,
	RF_TELL_GATE_REFUSED,
	RF_TELL_DEGRADED,
	RF_TELL_RECOVERED,
	RF_TELL_PRE_CAMPAIGN,
	RF_TELL_LAST = RF_TELL_PRE_CAMPAIGN,
};
const char *rf_tell_name(uint32_t hook); /* of enum rf_hook, too; "" = none */
void rf_tell_leader(struct daemon *daemon, uint32_t volume, const struct rf_core_volume *now,
		    uint32_t leader);
void rf_tell_said(struct daemon *daemon, uint32_t volume, const struct rf_decision *said);
void rf_tell_refused(struct daemon *daemon, uint32_t volume, uint64_t refused);
void rf_tell_health(struct part *part, const struct rf_core_self *self);
void rf_tell_done(struct daemon *daemon, uint32_t volume, uint32_t hook, int32_t status);
void rf_tell_start(struct daemon *daemon); /* before the first step, and when reloaded */

/* show.c */
extern const struct rf_control_ops rf_show_control_ops;
void rf_show_roles(struct part *part); /* tell what changed since the last call */

#endif
