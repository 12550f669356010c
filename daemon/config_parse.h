/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What config.c, config_value.c and config_check.c share while they parse. */
#ifndef RF_CONFIG_PARSE_H
#define RF_CONFIG_PARSE_H

#include "config.h"

enum section {
	IN_NONE,
	IN_CLUSTER,
	IN_NETWORK,
	IN_AUTH,
	IN_VOLUME,
	IN_WATCHDOG,
	IN_HOOKS,
	IN_HEALTH,
	IN_LOG,
	IN_TIMING,
	IN_COUNT
};

struct parse {
	struct rf_config *c;
	rf_config_warn warn;
	void *warn_arg;
	char *err;
	size_t err_bytes;
	bool failed;

	/* where we are */
	struct rf_config_where at;
	enum section section;
	struct rf_config_volume *volume;
	const char *text; /* what is not read yet */
	size_t text_left;

	/* where each key was given, for duplicates; volumes by their own */
	struct rf_config_where given[64];
	struct rf_config_where volume_given[RF_CONFIG_VOLUMES_MAX][16];
	/* before the drivers are known, `area` of a volume is text */
	char volume_area[RF_CONFIG_VOLUMES_MAX][RF_DISKS_MAX][RF_CONFIG_PATH_BYTES];
	uint8_t volume_areas[RF_CONFIG_VOLUMES_MAX];
};

/* One error line with file:line; always -EINVAL. The first one is kept. */
int rf_parse_bad(struct parse *p, struct rf_config_where at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void rf_parse_warn(struct parse *p, struct rf_config_where at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define bad_at(p, ...) rf_parse_bad(p, __VA_ARGS__)
#define bad(p, ...) rf_parse_bad(p, (p)->at, __VA_ARGS__)

/* ---- keys ---- */

typedef int (*each_word)(struct parse *p, const char *key, const char *word);

enum kind {
	TEXT,
	NAME,
	PATH,
	NUMBER,
	DURATION,
	LIST,
	WORD8, /* index into words, stored in one byte */
	FACT_MS,
	FACT_NUMBER,
	FACT_WORD, /* index into words + 1 */
	SETTING,   /* of a fence driver */
};

struct key {
	enum section section;
	const char *name;
	enum kind kind;
	size_t offset, bytes; /* in rf_config or rf_config_volume */
	uint32_t least, most;
	each_word take;
	const char *const *words;
};

extern const char *const rf_section_names[IN_COUNT];
extern const struct key rf_parse_keys[];
extern const size_t rf_parse_keys_count;
extern const char *const rf_watchdog_words[];
extern const char *const rf_quorum_words[];

/* ---- values: 0, or -EINVAL and the error is said ---- */

int rf_value_set(struct parse *p, const struct key *k, const char *value);
int rf_value_group(struct parse *p, const char *key, const char *word);
int rf_value_peer(struct parse *p, const char *key, const char *word);
int rf_value_interface(struct parse *p, const char *key, const char *word);
int rf_value_area(struct parse *p, const char *key, const char *word);
int rf_value_name(struct parse *p, const char *key, const char *value, char *to, size_t bytes);
void rf_value_warn_unstable(struct parse *p, const char *key, const char *path);

/* What must hold of the whole; fills in defaults that depend on others. */
int rf_parse_finish(struct parse *p);

#endif
