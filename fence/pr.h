/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Persistent reservations: taking a device over (pr_take.c), what is below it
 * (pr_dev.c, or a simulated target in the unit test), and reading what a target
 * reports (pr_read.c).
 */
#ifndef RF_PR_H
#define RF_PR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringfence/fence.h"
#include "ringfence/reservation.h"

#define RF_PR_PATHS_MAX 32u
#define RF_PR_KEYS_MAX 256u
#define RF_PR_SCSI_CONFLICT 0x18
#define RF_PR_REGISTRANTS_ONLY 5u /* SCSI: write exclusive, registrants only */

enum rf_pr_verb {
	RF_PR_REGISTER,      /* own: what stands there, 0 = nothing; other: the new key */
	RF_PR_RESERVE,       /* own */
	RF_PR_PREEMPT,       /* own: registered by us; other: the victim */
	RF_PR_PREEMPT_ABORT, /* the same, and the victim's commands are aborted */
};

enum rf_pr_status {
	RF_PR_OK,
	RF_PR_CONFLICT,    /* refused: keys are not as the command says */
	RF_PR_ATTENTION,   /* check condition: unit attention, or who knows */
	RF_PR_UNSUPPORTED, /* certainly not done */
	RF_PR_FAILED,      /* path trouble: may have happened */
};

/* What the target says. Registrations, so a key of two paths stands here twice. */
struct rf_pr_look {
	unsigned count;
	uint64_t key[RF_PR_KEYS_MAX];
	bool counted; /* one entry a path; else one a key */
	uint32_t generation;
	bool held;
	uint64_t holder;
	unsigned type; /* SCSI numbering */
};

/* What the target says that it can do. */
struct rf_pr_able {
	bool types; /* it says which types it has, */
	bool type;  /* and the one that we need is among them */
	bool aptpl; /* registrations can outlive a power loss */
};

struct rf_pr_ops {
	/* Paths that exist now, by an id that no other path will have: count or -errno
	 * and a line. */
	int (*paths)(void *dev, uint64_t id[RF_PR_PATHS_MAX], char *err, size_t err_bytes);
	enum rf_pr_status (*command)(void *dev, uint64_t path, enum rf_pr_verb verb,
				     uint64_t own, uint64_t other);
	/* *commands grows by how many were sent. */
	enum rf_pr_status (*look)(void *dev, uint64_t path, struct rf_pr_look *look,
				  unsigned *commands);
	enum rf_pr_status (*able)(void *dev, uint64_t path, struct rf_pr_able *able);
	uint64_t (*now_ms)(void *dev);
	void (*rest)(void *dev, unsigned ms);
	/* Something more urgent waits: give up what may be given up. */
	bool (*urgent)(void *dev);
};

struct rf_pr_path {
	uint64_t id;
	uint64_t key; /* registered there by us; 0 = nothing that we know of */
};

struct rf_pr {
	const struct rf_pr_ops *ops;
	void *dev;
	uint32_t node;
	uint8_t tag;
	uint32_t grace_ms; /* within which a write that left a host lands or dies (A4) */
	uint32_t fresh_ms; /* an older look is not relied on */

	struct rf_pr_path path[RF_PR_PATHS_MAX];
	unsigned paths;
	struct rf_pr_look seen;
	uint64_t seen_ms;
	bool seen_good;
	uint64_t held;     /* our key, verified as the only one; 0 = not leading here */
	unsigned gaps;     /* paths that did not take it at the last look */
	uint64_t quiet_ms; /* nobody was aborted: nothing counts before */
	bool no_abort;     /* the target lacks it */
	bool unsure;       /* a preempt got no clear answer */
	bool found_free;   /* nobody held it when this takeover began */
	bool no_pr;        /* the device does not know reservations at all */
	bool refused;      /* no path accepted the registration */
	unsigned commands; /* sent since the last take began, */
	unsigned cost;     /* and by the last that succeeded */
	unsigned turn;     /* whose session is tried at the next look */
};

/* An answer: as in rf_fence_reply. */
struct rf_pr_answer {
	enum rf_fence_result result;
	int error;
	uint64_t epoch;
	char text[RF_FENCE_TEXT_BYTES];
};

/* Become the only registrant and the holder for this epoch, or say why not. */
void rf_pr_take(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a);
/* Is this epoch's key still the only one? Asks the target. */
void rf_pr_verify(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a);
/* No more leading. The holder keeps its registration (see pr_take.c). */
void rf_pr_leave(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a);
/* From time to time: reads; as the holder registers paths that came (back) and drops
 * older keys. true: the device is no longer ours, a says why. */
bool rf_pr_check(struct rf_pr *p, struct rf_pr_answer *a);

/* ---- pr_try.c: what a device really does ---- */

enum rf_pr_finding { RF_PR_GOOD, RF_PR_WEAK, RF_PR_BAD, RF_PR_UNTOLD };

struct rf_pr_try {
	const struct rf_pr_ops *ops;
	void *dev;
	const char *name;
	uint64_t key; /* rf_pr_key_for_test: ours for path 0, the next for 1, … */
	bool active;  /* register; false: only look */
	bool in_use;  /* register beside other keys, too, if nobody holds a reservation */
	/* advice: what to do, NULL = nothing */
	void (*say)(enum rf_pr_finding finding, const char *text, const char *advice);
};

/* Looks, and registers test keys for a moment: reserves nothing, touches no key but
 * those, takes them back. Says what it finds. */
void rf_pr_try(const struct rf_pr_try *t);

/* ---- pr_read.c: bounds-checked parsers of what a target sent; 0 or -EPROTO ---- */

int rf_pr_parse_full(const uint8_t *data, size_t bytes, struct rf_pr_look *look);
int rf_pr_parse_keys(const uint8_t *data, size_t bytes, struct rf_pr_look *look);
int rf_pr_parse_holder(const uint8_t *data, size_t bytes, struct rf_pr_look *look);
/* REPORT CAPABILITIES; of NVMe the byte RESCAP (-EOPNOTSUPP: no reservations). */
int rf_pr_parse_able(const uint8_t *data, size_t bytes, struct rf_pr_able *able);
int rf_pr_parse_rescap(uint8_t rescap, struct rf_pr_able *able);
/* extended: the form with host identifiers of 128 bits. */
int rf_pr_parse_nvme(const uint8_t *data, size_t bytes, bool extended, struct rf_pr_look *look);
/* What an ioctl of linux/pr.h returned; error: errno where that is negative. */
enum rf_pr_status rf_pr_status_of(int r, int error, bool nvme);

/* ---- pr_path.c: whole devices below a device, through sysfs ---- */

struct rf_pr_node {
	char name[64]; /* below /dev */
	uint32_t major, minor;
	uint64_t seq; /* diskseq: a device that comes back has another */
	bool nvme;
	bool away; /* by its own word: a command would wait until its session is given up */
};

/* count, or -errno and a line. */
int rf_pr_find(const char *sysfs, uint32_t major, uint32_t minor,
	       struct rf_pr_node node[RF_PR_PATHS_MAX], char *err, size_t err_bytes);

/* ---- pr_dev.c: the real thing ---- */

struct rf_pr_dev;
extern const struct rf_pr_ops rf_pr_dev_ops;
struct rf_pr_dev *rf_pr_dev_make(const char *path, bool (*urgent)(void));
void rf_pr_dev_free(struct rf_pr_dev *dev);

#endif
