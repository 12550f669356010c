/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building the daemon: areas, helpers, loop, nodes, network, control socket, in this
 * order. Helpers are forked before there is anything they must not inherit; after
 * this nothing is allocated and nothing is forked.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "fencers.h"
#include "log.h"
#include "reload.h"
#include "reopen.h"

#define LOOP_ENTRIES 256u

int rf_give_up(int code, const char *text)
{
	rf_log(RF_LOG_ERR, "%s", text);
	return code;
}

int rf_give_up_on(int rc, const char *text)
{
	bool no_room = rc == -EAGAIN || rc == -ENOMEM || rc == -ENOBUFS || rc == -EMFILE ||
		       rc == -ENFILE;

	return rf_give_up(no_room ? RF_EXIT_AGAIN : RF_EXIT_CONFIG, text);
}

/* ---- areas and their nodes ---- */

static void read_host(struct rf_core_config *cfg)
{
	char text[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned n = 0;

	gethostname(cfg->host, sizeof(cfg->host) - 1);
	if (f && fgets(text, sizeof(text), f))
		for (char *c = text; *c && n < 2 * RF_UUID_BYTES; c++) {
			int digit = *c >= '0' && *c <= '9'   ? *c - '0'
				    : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
							     : -1;

			if (digit >= 0) {
				cfg->boot_id[n / 2] =
					(uint8_t)(cfg->boot_id[n / 2] << 4 | digit);
				n++;
			}
		}
	if (f)
		fclose(f);
}

static int open_area(struct daemon *d, uint32_t index)
{
	struct part *p = calloc(1, sizeof(*p));
	char err[512] = "";
	int rc;

	if (!p)
		return rf_give_up(RF_EXIT_AGAIN, "out of memory");
	p->daemon = d;
	p->index = index;
	p->timer = (struct rf_timer){.fire = rf_bind_wake, .owner = p};
	rf_keep_look_open(p);
	rc = rf_area_open(&p->area, &d->config, index, err, sizeof(err));
	if (rc)
		return rf_give_up(rc == -EBADMSG || rc == -EMEDIUMTYPE ? RF_EXIT_BAD_DATA
				  : rc == -EACCES || rc == -EPERM      ? RF_EXIT_PERMISSION
				  : rc == -EINVAL || rc == -ENOENT     ? RF_EXIT_CONFIG
								       : RF_EXIT_IO,
				  err);
	for (uint32_t i = 0; i < RF_VOLUMES_MAX; i++)
		p->config_of[i] = UINT32_MAX;
	for (uint32_t i = 0; i < d->config.volumes; i++) {
		if (p->area.number[i] == UINT32_MAX)
			continue;
		p->config_of[p->area.number[i]] = i;
		d->managed[i].part = p;
		d->managed[i].number = p->area.number[i];
	}
	for (uint32_t i = 0; i < d->parts; i++)
		if (!memcmp(d->part[i]->area.super.id.area, p->area.super.id.area,
			    RF_UUID_BYTES))
			return rf_give_up(
				RF_EXIT_CONFIG,
				"two areas of the configuration are the same area: give "
				"both volumes the same `area`");
	d->part[d->parts++] = p;
	return RF_EXIT_YES;
}

/* §2.5: what the disk cannot tell of an earlier life, this host can. */
static bool life_begin(struct part *p, const char *socket)
{
	char err[512];
	bool crashed = rf_life_begin(p->life, socket, p->area.super.id.area,
				     p->daemon->config.node, err, sizeof(err));

	if (err[0])
		rf_log(RF_LOG_WARNING,
		       "%s: an earlier life counts as crashed, the start takes longer", err);
	p->crashed = crashed;
	p->left = !crashed; /* nothing of this life was written yet */
	return crashed;
}

uint32_t rf_start_priority(const struct part *p)
{
	const struct rf_config *c = &p->daemon->config;
	uint32_t most = 0;

	for (uint32_t i = 0; i < c->volumes; i++)
		if (p->area.number[i] != UINT32_MAX && c->volume[i].priority > most)
			most = c->volume[i].priority;
	return most;
}

static int start_node(struct part *p, const char *socket, struct iovec *memory)
{
	struct daemon *d = p->daemon;
	const struct rf_super *s = &p->area.super;
	struct rf_core_config cfg = {.super = *s,
				     .node = d->config.node,
				     .incarnation = d->incarnation,
				     .now_ns = rf_loop_clock_ns()};
	struct rf_ports ports;
	void *room;

	cfg.unix_ns = rf_unix_ns();
	cfg.seed = d->incarnation ^ p->index;
	read_host(&cfg);
	cfg.crashed = life_begin(p, socket);
	cfg.priority = rf_start_priority(p);
	for (uint32_t i = 0; i < s->volumes; i++) {
		uint32_t volume = p->config_of[i];

		if (volume == UINT32_MAX)
			continue;
		rf_bit_set(cfg.candidate, i, true); /* priority 0 abstains: tell.c */
		if (rf_keep_open(&d->managed[volume].keep, rf_geo_payload_bytes(s)) != 0)
			return rf_give_up(RF_EXIT_AGAIN, "out of memory");
	}
	room = calloc(1, rf_node_bytes(&cfg));
	if (!room || rf_bind_disks(p, memory) != 0)
		return rf_give_up(RF_EXIT_AGAIN, "out of memory");
	rf_bind_ports(p, &ports);
	p->node = rf_node_init(room, &cfg, &ports);
	return rf_seal_area(d->seal, s->id.area, d->config.node, s->id.nodes) == 0
		       ? RF_EXIT_YES
		       : rf_give_up(RF_EXIT_CONFIG, "too many areas");
}

/* ---- helpers ---- */

void rf_start_hooks_config(const struct rf_config *from, struct rf_hooks_config *to)
{
	*to = (struct rf_hooks_config){.timeout_ms = from->hooks_timeout_ms,
				       .kill_ms = from->hooks_kill_ms,
				       .health_interval_ms = from->health_interval_ms,
				       .health_timeout_ms = from->health_timeout_ms};
	snprintf(to->dir, sizeof(to->dir), "%s", from->hooks_dir);
	snprintf(to->user, sizeof(to->user), "%s", from->hooks_user);
	snprintf(to->health_command, sizeof(to->health_command), "%s", from->health_command);
}

static int start_hooks(struct daemon *d)
{
	struct rf_hooks_ops ops = rf_bind_hooks_ops;
	struct rf_hooks_config c;
	char err[512];
	int rc;

	ops.world = d;
	rf_start_hooks_config(&d->config, &c);
	rc = rf_hooks_start(&d->hooks, &c, &ops, err, sizeof(err));
	return rc ? rf_give_up_on(rc, err) : RF_EXIT_YES;
}

static int start_helpers(struct daemon *d, const char *config_path)
{
	int code = start_hooks(d);

	if (!code && (rf_reopen_start(d) != 0 || rf_reload_start(d, config_path) != 0))
		code = rf_give_up(RF_EXIT_AGAIN, "the helpers that open devices and read the "
						 "configuration cannot be forked");

	return code ? code : rf_fencers_start(d);
}

/* ---- network, control socket ---- */

static void net_said(void *owner, bool warning, const char *line)
{
	(void)owner;
	rf_log(warning ? RF_LOG_WARNING : RF_LOG_INFO, "network: %s", line);
}

void rf_start_net_config(const struct daemon *d, struct rf_net_config *n)
{
	const struct rf_config *c = &d->config;

	_Static_assert(sizeof(n->group[0]) == sizeof(c->group[0]), "one shape of address");
	*n = (struct rf_net_config){.groups = c->groups,
				    .interfaces = c->interfaces,
				    .peers = c->peers,
				    .port = c->port,
				    .ttl = c->ttl};
	memcpy(n->group, c->group, sizeof(n->group));
	memcpy(n->peer, c->peer, sizeof(n->peer));
	memcpy(n->interface, c->interface, sizeof(n->interface));
	for (uint32_t i = 0; i < d->parts; i++)
		if (d->part[i]->area.super.id.nodes > n->peers_max)
			n->peers_max = d->part[i]->area.super.id.nodes;
}

void rf_start_copies(struct daemon *d)
{
	const struct rf_config *c = &d->config;

	rf_seal_copies(d->seal,
		       c->groups * (c->interfaces ? c->interfaces : 1) + (c->peers != 0) > 1);
}

static int open_net(struct daemon *d)
{
	struct rf_net_ops ops = {.owner = d, .got = rf_bind_datagram, .said = net_said};
	struct rf_net_config n;
	char err[512];
	int rc;

	rf_start_net_config(d, &n);
	rc = rf_net_open(&d->net, d->loop, &n, &ops, err, sizeof(err));
	if (rc)
		return rf_give_up_on(rc, err);
	rf_start_copies(d);
	return RF_EXIT_YES;
}

static int open_control(struct daemon *d, const char *path)
{
	struct rf_control_ops ops = rf_show_control_ops;
	struct group *group = getgrnam("ringfence");
	char err[512];
	int rc;

	ops.world = d;
	rc = rf_control_open(&d->control, path, group ? group->gr_gid : getgid(), &ops, err,
			     sizeof(err));
	return rc ? rf_give_up_on(rc, err) : RF_EXIT_YES;
}

int rf_start(struct daemon *d, const char *config_path, const char *socket)
{
	struct iovec memory[RF_AREAS_MAX];
	char err[512];
	uint64_t salt;
	int code = RF_EXIT_YES;

	gethostname(d->host, sizeof(d->host) - 1);
	d->managed = calloc(d->config.volumes, sizeof(*d->managed));
	if (!d->managed ||
	    rf_metrics_open(&d->metrics, d->config.volumes, d->config.areas) != 0 ||
	    getrandom(&d->incarnation, sizeof(d->incarnation), 0) != 8 ||
	    getrandom(&salt, sizeof(salt), 0) != 8)
		return rf_give_up(RF_EXIT_AGAIN, "out of memory");
	d->incarnation |= 1; /* never 0 */
	for (uint32_t i = 0; i < d->config.areas && !code; i++)
		code = open_area(d, i);
	if (!code)
		code = start_helpers(d, config_path);
	if (!code && rf_loop_open(&d->loop, LOOP_ENTRIES, err, sizeof(err)) != 0)
		code = rf_give_up(RF_EXIT_UNREACHABLE, err);
	if (!code && rf_seal_open(&d->seal, d->incarnation, salt) != 0)
		code = rf_give_up(RF_EXIT_AGAIN, "libsodium cannot be used");
	if (!code)
		rf_seal_keys(d->seal, &d->keys);
	for (uint32_t i = 0; i < d->parts && !code; i++)
		code = start_node(d->part[i], socket, &memory[i]);
	if (!code && rf_loop_register(d->loop, memory, d->parts) != 0)
		code = rf_give_up(RF_EXIT_AGAIN,
				  "disk buffers cannot be registered with io_uring: "
				  "raise LimitMEMLOCK");
	if (!code)
		code = open_net(d);
	if (!code)
		code = open_control(d, socket);
	if (!code) /* last: what does not start must not leave it armed */
		code = rf_guard_start(d);
	return code;
}
