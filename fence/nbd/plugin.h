/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target plugin, inside. One file per noun:
 *
 *   plugin.c     nbdkit's callbacks, parameters, start
 *   export.c     opening and closing exports: who may have which connection
 *   volume.c     a volume's device, its floor at the start, its shut memory
 *   data.c       reads, writes, zeroes, trims, flushes of a volume
 *   latch.c      which epoch may write; the lock that proves a switch
 *   claimread.c  what the disks say about an epoch
 *   quorum.c     which write to the quorum area may pass
 *   area.c       disks and geometry of the quorum area
 *   refuse.c     counters of refusals and their log lines
 *   stat.c       the text of the stat export
 */
#ifndef RF_NBD_PLUGIN_H
#define RF_NBD_PLUGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ringfence/key.h"

#include "area.h"
#include "claimread.h"
#include "latch.h"
#include "quorum.h"

/* Why something was refused: index of the counters, name in log and stat. */
enum rf_refusal {
	RF_REFUSE_NONE = 0,
	RF_REFUSE_NAME,       /* not a connection name */
	RF_REFUSE_KEY,        /* signed under a key that is not accepted */
	RF_REFUSE_MAC,        /* signature wrong */
	RF_REFUSE_AREA,       /* another area's name */
	RF_REFUSE_VOLUME,     /* volume (quorum: disk) is not served here */
	RF_REFUSE_NODE,       /* node id beyond the area's, or epoch 0 */
	RF_REFUSE_STALE,      /* a newer epoch rules */
	RF_REFUSE_OTHER,      /* the epoch belongs to another node or life */
	RF_REFUSE_ENDED,      /* that epoch was shut here */
	RF_REFUSE_SUPERSEDED, /* the disk says a later epoch exists */
	RF_REFUSE_RELEASED,   /* the disk says its owner has left */
	RF_REFUSE_NOT_OWNER,  /* the disk does not say that it owns the epoch */
	RF_REFUSE_CLOSED,     /* its slot does not show an open gate */
	RF_REFUSE_UNREADABLE, /* the claim region could not be read */
	RF_REFUSE_SYNC,       /* older writes could not be made durable */
	RF_REFUSE_WRITE,      /* a write of a connection that may not (any more) */
	RF_REFUSE_ZERO,
	RF_REFUSE_TRIM,
	RF_REFUSE_FLUSH,
	RF_REFUSE_READ,
	RF_REFUSE_Q_SHAPE, /* quorum area: enum rf_quorum_verdict */
	RF_REFUSE_Q_READONLY,
	RF_REFUSE_Q_NOT_OWN,
	RF_REFUSE_Q_BAD,
	RF_REFUSE_Q_LOWER,
	RF_REFUSE_COUNT
};

struct rf_tally {
	atomic_ullong count[RF_REFUSE_COUNT];
	atomic_llong logged_ns[RF_REFUSE_COUNT];
};

struct rf_volume {
	const char *name, *path; /* parameter */
	uint32_t number;
	int fd;
	uint64_t offset_bytes, bytes;
	/* Epochs up to here may have been served, and ended, before this start. */
	uint64_t before_start;
	struct rf_latch latch;
	atomic_ullong admitted, switches, shuts, last_switch_us;
	atomic_uint connections;
	struct rf_tally refused;
};

struct rf_target {
	struct rf_area area;
	const char *key_path, *state_dir;
	bool reads_refused; /* reads of a stale connection */
	unsigned volumes;
	struct rf_volume *volume;
	struct rf_tally refused; /* before a volume was known, and quorum */
};

extern struct rf_target rf_target;

/* An open export. */
struct rf_export {
	struct rf_conn conn;
	struct rf_owner owner;
	struct rf_volume *volume;        /* data, shut, stat */
	const struct rf_area_disk *disk; /* quorum */
};

/* export.c. NULL: refused, counted and logged. */
struct rf_export *rf_export_open(struct rf_target *t, const char *name);
void rf_export_close(struct rf_export *e);
int rf_export_keys_load(struct rf_target *t, char *err, size_t err_bytes);

/* volume.c: 0 or -errno with a line in err. */
int rf_volume_start(struct rf_target *t, struct rf_volume *v, char *err, size_t err_bytes);
void rf_volume_stop(struct rf_volume *v);
/* Remember for the next start that o ended. 0, also without a state-dir. */
int rf_volume_remember(const struct rf_target *t, const struct rf_volume *v,
		       const struct rf_owner *o);

/* data.c: 0 or -errno; -ESHUTDOWN = fenced. offset is within the volume. */
int rf_data_read(struct rf_export *e, void *buf, uint32_t count, uint64_t offset);
int rf_data_write(struct rf_export *e, const void *buf, uint32_t count, uint64_t offset,
		  bool fua);
int rf_data_zero(struct rf_export *e, uint32_t count, uint64_t offset, bool may_trim, bool fua);
int rf_data_trim(struct rf_export *e, uint32_t count, uint64_t offset, bool fua);
int rf_data_flush(struct rf_export *e);

/* refuse.c */
const char *rf_refusal_name(enum rf_refusal why);
/* Count, and log at most once a second per reason. current: the epoch that rules. */
void rf_refuse(struct rf_tally *t, enum rf_refusal why, const char *volume,
	       const struct rf_conn *conn, uint64_t current);
unsigned long long rf_refused_total(const struct rf_tally *t);

/* stat.c: text padded with newlines to RF_STAT_BYTES. */
#define RF_STAT_BYTES 4096u
void rf_stat_text(struct rf_target *t, struct rf_volume *v, char text[RF_STAT_BYTES]);

#endif
