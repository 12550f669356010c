/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections to a target, each step bounded in time. The only file that
 * knows libnbd is link.c.
 */
#ifndef RF_LINK_H
#define RF_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct nbd_handle;

struct rf_link {
	struct nbd_handle *nbd; /* NULL: none */
	char text[160];         /* what went wrong last */
	int error;              /* and its errno */
	bool yield;             /* give up when rf_fencer_urgent() says so */
	uint64_t until_ms;      /* of rf_fencer_now_ms(); set before each call below */
};

enum rf_link_result {
	RF_LINK_OK = 0,
	RF_LINK_REFUSED,     /* the target answered no */
	RF_LINK_UNREACHABLE, /* nothing was asked of it */
	RF_LINK_LOST,        /* asked, and no answer came: it may happen yet */
};

/* Connect and stay in negotiation. */
enum rf_link_result rf_link_dial(struct rf_link *l, const char *uri);
/* Ask for an export; after REFUSED one can ask for another. */
enum rf_link_result rf_link_go(struct rf_link *l, const char *name);
enum rf_link_result rf_link_read(struct rf_link *l, void *buf, uint32_t bytes, uint64_t offset);
/* Is an open export's connection still there? Does not wait. */
bool rf_link_alive(struct rf_link *l);
void rf_link_drop(struct rf_link *l);

#endif
