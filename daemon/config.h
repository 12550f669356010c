/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration: text to one struct, or one precise error.
 *
 * ringfence.conf(5) describes the file. The result holds no pointer and is
 * bounded: every list has its limit here. Addresses are numeric; nothing in
 * here asks a name server.
 */
#ifndef RF_CONFIG_H
#define RF_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/codec.h"

#define RF_CONFIG_PATH "/etc/ringfence/ringfence.conf"
#define RF_CONFIG_PATH_BYTES 256u
#define RF_CONFIG_VALUE_BYTES 200u
#define RF_CONFIG_FILES_MAX 64u
#define RF_CONFIG_VOLUMES_MAX 256u
#define RF_CONFIG_INTERFACES_MAX 8u
#define RF_CONFIG_GROUPS_MAX 2u /* one IPv4, one IPv6 */
#define RF_CONFIG_PEERS_MAX RF_NODES_MAX
#define RF_CONFIG_SETTINGS_MAX 4u
#define RF_CONFIG_FENCES_MAX 4u
#define RF_CONFIG_PORT RF_WIRE_PORT_DEFAULT

struct rf_config_where {
	uint16_t file; /* index into rf_config.file */
	uint32_t line; /* 0 = not given */
};

/* A fence driver's own setting, handed to the fencer as KEY=VALUE (nbd-uri: "uri"). */
struct rf_config_setting {
	char key[24];
	char fence[16]; /* whose it is */
	char value[RF_CONFIG_VALUE_BYTES];
};

struct rf_config_area {
	uint32_t disks;
	char disk[RF_DISKS_MAX][RF_CONFIG_PATH_BYTES];
};

struct rf_config_volume {
	char name[RF_NAME_BYTES];
	char device[RF_CONFIG_PATH_BYTES]; /* "" = none on this host */
	char gate[RF_NAME_BYTES];
	uint32_t area;     /* index into rf_config.area */
	uint32_t priority; /* 0 = never campaign here; higher first */
	char fence[64];    /* the list as given, "expiry" if none was */
	uint32_t fences;   /* the same, in the order tried: drivers, or "expiry" */
	char way[RF_CONFIG_FENCES_MAX][16];
	uint32_t settings;
	struct rf_config_setting setting[RF_CONFIG_SETTINGS_MAX];
	struct rf_config_where where;
};

union rf_config_addr {
	struct sockaddr sa; /* sa.sa_family; port is always set */
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

enum rf_config_watchdog { RF_WATCHDOG_OFF, RF_WATCHDOG_AUTOMATIC, RF_WATCHDOG_REQUIRED };

/* What the disk decides and a config may only repeat: rf_config_compare(). */
enum rf_config_fact {
	RF_FACT_HEARTBEAT,
	RF_FACT_SUSPECT,
	RF_FACT_LEASE,
	RF_FACT_GRACE,
	RF_FACT_HOLD,
	RF_FACT_ISOLATION,
	RF_FACT_SLOT_TIMEOUT,
	RF_FACT_INFLIGHT,
	RF_FACT_EPSILON, /* ppm */
	RF_FACT_NODES,
	RF_FACT_QUORUM, /* RF_QUORUM_* */
	RF_FACT_COUNT
};

struct rf_config {
	char cluster[RF_NAME_BYTES];
	uint32_t node;

	uint32_t groups, interfaces, peers;
	union rf_config_addr group[RF_CONFIG_GROUPS_MAX];
	char interface[RF_CONFIG_INTERFACES_MAX][16];
	union rf_config_addr peer[RF_CONFIG_PEERS_MAX];
	uint16_t port;
	uint8_t ttl;

	char key_file[RF_CONFIG_PATH_BYTES]; /* always set */

	uint32_t areas, volumes;
	struct rf_config_area area[RF_AREAS_MAX];
	struct rf_config_volume volume[RF_CONFIG_VOLUMES_MAX];

	enum rf_config_watchdog watchdog;
	char watchdog_device[RF_CONFIG_PATH_BYTES]; /* "" = the usual one */

	char hooks_dir[RF_CONFIG_PATH_BYTES];
	char hooks_user[32]; /* "" = root */
	uint32_t hooks_timeout_ms, hooks_kill_ms;
	uint8_t hooks_ask; /* pre-campaign: 1 = no campaign without its consent */

	char health_command[RF_CONFIG_VALUE_BYTES]; /* "" = no check */
	uint32_t health_interval_ms, health_timeout_ms;

	uint8_t log_level;                   /* enum rf_log_level */
	char log_file[RF_CONFIG_PATH_BYTES]; /* "" = stderr */

	struct {
		struct rf_config_where where; /* line 0 = not given */
		uint32_t value;
	} fact[RF_FACT_COUNT];

	uint32_t files;
	char file[RF_CONFIG_FILES_MAX][RF_CONFIG_PATH_BYTES];
};

/* Called once for each thing that is allowed but unwise: one line, with file:line. */
typedef void (*rf_config_warn)(void *arg, const char *line);

/* Does the volume's list of fences name it? */
bool rf_config_fenced_by(const struct rf_config_volume *v, const char *name);

/*
 * Reads path, then the *.conf files of the directory conf.d beside it, sorted by
 * name. 0, or -errno and one line in err: -ENOENT, -EACCES, -EINVAL (the file
 * says something wrong; err begins with file:line), -E2BIG (a bound).
 */
int rf_config_load(struct rf_config *config, const char *path, rf_config_warn warn, void *arg,
		   char *err, size_t err_bytes);
/* For tests and fuzzers: one text under the name given; same checks. */
int rf_config_parse(struct rf_config *config, const char *name, const char *text, size_t len,
		    rf_config_warn warn, void *arg, char *err, size_t err_bytes);
/* One key that differs; live: a running daemon can take it over. */
struct rf_config_changed {
	bool live;
	char key[RF_NAME_BYTES + 40]; /* as in the file: "[log] level" */
	char from[RF_CONFIG_PATH_BYTES], to[RF_CONFIG_PATH_BYTES];
};
typedef void (*rf_config_change)(void *arg, const struct rf_config_changed *changed);
void rf_config_diff(const struct rf_config *was, const struct rf_config *is,
		    rf_config_change change, void *arg);
/* Everything of [hooks] and [health], which lives. */
void rf_config_take_hooks(struct rf_config *to, const struct rf_config *from);
/*
 * The disk counts. After the superblock of an area was read: 0, or -EINVAL and
 * one line that names file:line, both values and what to do.
 */
int rf_config_compare(const struct rf_config *config, uint32_t area,
		      const struct rf_super *super, char *err, size_t err_bytes);

#endif
