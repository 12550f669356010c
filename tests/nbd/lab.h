/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target to test: formatted quorum disks and a data file in a directory of
 * its own, a real nbdkit with the real plugin, and libnbd on the other side.
 * Records are written here directly, as the owner of the disk could.
 */
#ifndef RF_NBD_LAB_H
#define RF_NBD_LAB_H

#include <libnbd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <sys/types.h>

#include "format/codec.h"
#include "ringfence/key.h"

#define LAB_NODES 4u
#define LAB_VOLUMES 2u
#define LAB_DATA_BYTES (8u << 20)
#define LAB_LIMIT_MS 20000u

struct lab {
	char dir[256];
	char key[300], data[300], sock[300], gate[300], log[300];
	char area[RF_DISKS_MAX][300];
	int area_fd[RF_DISKS_MAX];
	unsigned disks;
	uint64_t seq;
	struct rf_super super;
	struct rf_keys keys;
	pid_t pid;
};

/* false, and says why: no nbdkit here. */
bool lab_can_run(void);

/* A fresh lab with 1, 3 or 5 quorum disks, volumes "v0" and "v1". */
void lab_make(struct lab *lab, unsigned disks);
void lab_remove(struct lab *lab);

/* extra: more nbdkit parameters, NULL at the end, or NULL. false: it did not
 * start. slow: with the shim that holds writes while lab->gate exists. */
bool lab_serve(struct lab *lab, const char *const *extra, bool slow);
void lab_stop(struct lab *lab);

/* Records, on one disk or (disk < 0) on all. */
void lab_put(struct lab *lab, int disk, uint64_t offset, const void *record);
void lab_epoch(struct lab *lab, int disk, uint64_t epoch, uint32_t node, uint64_t incarnation,
	       uint32_t state);
void lab_ballot(struct lab *lab, int disk, uint32_t node, uint64_t instance, uint64_t bal);
void lab_slot(struct lab *lab, int disk, uint32_t node, uint64_t incarnation, bool open);

/* NULL: refused. Strict checks of the client are off: the server is tested. */
struct nbd_handle *lab_open_name(struct lab *lab, const char *name);
struct nbd_handle *lab_open(struct lab *lab, enum rf_conn_kind kind, uint32_t node,
			    uint64_t incarnation, uint64_t epoch);
void lab_name(struct lab *lab, char name[RF_CONN_NAME_BYTES], enum rf_conn_kind kind,
	      uint32_t node, uint64_t incarnation, uint64_t epoch);

/* A number, or a word, of the stat export of volume 0. Missing: 0. */
uint64_t lab_stat(struct lab *lab, const char *key);
bool lab_stat_is(struct lab *lab, const char *key, const char *value);

/* The slow disk: writes that arrive after lab_hold stay inside the system call
 * until lab_let. lab_held waits until one is there. */
void lab_hold(struct lab *lab);
void lab_held(struct lab *lab);
void lab_let(struct lab *lab);

uint64_t lab_now_ms(void);
void lab_nap(void); /* between two looks at a condition */
#define LAB_WAIT(condition)                                                    \
	do {                                                                   \
		uint64_t until_ = lab_now_ms() + LAB_LIMIT_MS;                 \
		while (!(condition)) {                                         \
			if (lab_now_ms() > until_)                             \
				fail_msg("waited in vain for %s", #condition); \
			lab_nap();                                             \
		}                                                              \
	} while (0)

#endif
