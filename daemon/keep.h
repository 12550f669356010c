/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the leader of a volume keeps for the next one: the user's blob and the list
 * of unfinished work. Here they are made into one payload for the core, which
 * commits it and knows nothing of what is in it.
 */
#ifndef RF_KEEP_H
#define RF_KEEP_H

#include "blob.h"
#include "io/control.h"
#include "io/loop.h"
#include "newest.h"

struct daemon;
struct part;

struct rf_keep {
	uint8_t *now, *next; /* committed; being committed */
	uint32_t room, next_bytes;
	uint64_t epoch;      /* of the leadership that `now` belongs to, 0 = none */
	int bad;             /* why `now` cannot be understood, 0 = it is */
	struct rf_blob blob; /* of `now` */
	bool untold;         /* the hook runner has not got it yet */
	bool busy;
	char said[24]; /* the answer once committed */
	/* what a node that does not lead read from the disks (keep_disk.c) */
	uint8_t *seen;
	struct rf_newest newest;
	struct rf_blob seen_blob;
	int seen_bad; /* 0, or why there is none */
	bool fresh;   /* it is being given to those who asked */
	bool wanted;  /* asked for while another volume is read */
};

/* Of an area: one read at a time, of one volume. */
struct rf_keep_look {
	bool busy;
	uint32_t volume, number;      /* in the configuration, in the area */
	uint32_t turn;                /* tells it from those before */
	uint32_t done, failed, stuck; /* disks; stuck: the kernel has a read of ours */
	struct rf_timer timer;
};

/* Allocates, for an area with so much room in a payload. 0 or -ENOMEM. */
int rf_keep_open(struct rf_keep *keep, uint32_t payload_bytes);
/* The core has loaded: this node leads in this epoch. */
void rf_keep_load(struct daemon *daemon, uint32_t volume, uint64_t epoch);
/* The core says that the put in flight is committed, or is not. */
void rf_keep_settled(struct daemon *daemon, uint32_t volume, bool committed);
/* Give it to the hook runner, unless it has it. 0 or -errno. */
int rf_keep_tell(struct daemon *daemon, uint32_t volume);
/* For the row of a volume. */
void rf_keep_status(struct daemon *daemon, uint32_t volume, struct rf_ctl_volume *row);

/* keep_disk.c: reads the disks, rf_control_read() follows from the loop. */
void rf_keep_look(struct daemon *daemon, uint32_t volume);
void rf_keep_look_open(struct part *part);
/* A disk operation ended: false if it was none of ours. */
bool rf_keep_disk_done(struct part *part, uint32_t op, uint32_t disk, int status,
		       const uint8_t *data, bool late);

/* As in struct rf_control_ops. */
uint32_t rf_keep_read(void *daemon, const struct rf_ctl_request *request, uint32_t volume,
		      rf_control_row row, void *client, char text[RF_CTL_TEXT_BYTES]);
uint32_t rf_keep_change(void *daemon, const struct rf_ctl_request *request, uint32_t volume,
			const void *data, size_t bytes, char text[RF_CTL_TEXT_BYTES]);

#endif
