/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the configuration again, see reload.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "helper.h"
#include "log.h"
#include "reload.h"

enum what { WARNING = 1, CHANGE, END };

/* Everything a running daemon can take over. */
struct fresh {
	uint32_t code; /* RF_EXIT_*; not YES: text says why, the rest is nothing */
	char text[512];
	uint8_t log_level, hooks_ask;
	bool log_to_file; /* its descriptor travels with this */
	char log_file[RF_CONFIG_PATH_BYTES];
	bool peers_live;
	uint32_t peers;
	union rf_config_addr peer[RF_CONFIG_PEERS_MAX];
	uint32_t priority[RF_CONFIG_VOLUMES_MAX]; /* by the volumes of the start */
	struct rf_hooks_setup hooks;
	struct rf_keys keys;
};

struct packet {
	uint32_t what;
	union {
		char warning[512];
		struct rf_ctl_change change;
		struct fresh end;
	};
};

struct rf_reload {
	struct daemon *daemon;
	const char *path;
	struct rf_helper helper;
	bool busy, again;
	uint32_t applied, waiting; /* changes of the one under way */
	struct rf_op op;
};

/* ---- the helper ---- */

struct reader {
	struct daemon *daemon;
	int socket;
	struct rf_net_config net; /* as it was opened */
	struct rf_config *was, *is;
	struct packet p;
};

static void send_packet(struct reader *h, enum what what, int fd)
{
	h->p.what = what;
	if (rf_helper_send(h->socket, &h->p, sizeof(h->p), &fd, fd >= 0) != 0)
		_exit(0); /* the daemon is gone */
	memset(&h->p, 0, sizeof(h->p));
}

static void warn(void *arg, const char *line)
{
	struct reader *h = arg;

	snprintf(h->p.warning, sizeof(h->p.warning), "%s", line);
	send_packet(h, WARNING, -1);
}

/* Peers replace each other only on the sockets and in the room of the start; and without
 * the rest of [network] they could leave this node deaf until it restarts. */
static bool peers_live(const struct reader *h)
{
	const struct rf_config *was = h->was, *is = h->is;

	return is->port == was->port && is->groups == was->groups &&
	       is->interfaces == was->interfaces &&
	       !memcmp(is->group, was->group, sizeof(is->group)) &&
	       !memcmp(is->interface, was->interface, sizeof(is->interface)) &&
	       rf_net_can(&h->net, (const void *)is->peer, is->peers);
}

static void tell_change(void *arg, const struct rf_config_changed *c)
{
	struct rf_ctl_change *r = &((struct reader *)arg)->p.change;
	struct reader *h = arg;

	r->applied = c->live && (strcmp(c->key, "[network] peers") || peers_live(h));
	snprintf(r->key, sizeof(r->key), "%s", c->key);
	snprintf(r->from, sizeof(r->from), "%s", c->from);
	snprintf(r->to, sizeof(r->to), "%s", c->to);
	send_packet(h, CHANGE, -1);
}

static void keys_text(char text[256], const struct rf_keys *keys)
{
	int n = snprintf(text, 256, "%u seals, accepted", keys->key[0].id);

	for (unsigned i = 0; i < keys->count && n > 0 && n < 256; i++)
		n += snprintf(text + n, 256 - (size_t)n, "%s %u", i ? "," : "",
			      keys->key[i].id);
}

static void tell_keys(struct reader *h, const struct rf_keys *keys)
{
	struct rf_ctl_change *r = &h->p.change;
	const struct rf_keys *was = &h->daemon->keys;

	if (keys->count == was->count &&
	    !memcmp(keys->key, was->key, keys->count * sizeof(keys->key[0])))
		return;
	r->applied = true;
	snprintf(r->key, sizeof(r->key), "[auth] keys in the file");
	keys_text(r->from, was);
	keys_text(r->to, keys);
	send_packet(h, CHANGE, -1);
}

static bool has_disk(const struct rf_config_area *a, const char *disk)
{
	for (uint32_t i = 0; i < a->disks; i++)
		if (!strcmp(a->disk[i], disk))
			return true;
	return false;
}

/* The disks that are open say what the file may only repeat. */
static int check_facts(const struct reader *h, char *err, size_t bytes)
{
	const struct daemon *d = h->daemon;

	for (uint32_t i = 0; i < d->parts; i++)
		for (uint32_t a = 0; a < h->is->areas; a++)
			if (has_disk(&h->is->area[a], h->was->area[i].disk[0]) &&
			    rf_config_compare(h->is, a, &d->part[i]->area.super, err, bytes))
				return -EINVAL;
	return 0;
}

static int open_log(const struct rf_config *c, char *err, size_t bytes)
{
	int fd = rf_log_file(c->log_file);

	if (fd < 0)
		snprintf(err, bytes, "[log] file = %s: %s", c->log_file, strerror(-fd));
	return fd;
}

/* The whole, or the first thing that is wrong with it. */
static int check(struct reader *h, struct fresh *f, int *log_fd)
{
	struct rf_hooks_config hooks;
	int rc = rf_config_load(h->is, h->daemon->reload->path, warn, h, f->text,
				sizeof(f->text));

	if (!rc)
		rc = check_facts(h, f->text, sizeof(f->text));
	if (!rc)
		rc = rf_keys_load(&f->keys, h->is->key_file, f->text, sizeof(f->text));
	if (!rc) {
		rf_start_hooks_config(h->is, &hooks);
		rc = rf_hooks_prepare(&f->hooks, &hooks, f->text, sizeof(f->text));
	}
	if (!rc && *h->is->log_file) {
		*log_fd = open_log(h->is, f->text, sizeof(f->text));
		rc = *log_fd < 0 ? *log_fd : 0;
	}
	return rc;
}

static const struct rf_config_volume *named(const struct rf_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->volumes; i++)
		if (!strcmp(c->volume[i].name, name))
			return &c->volume[i];
	return NULL;
}

/* What the daemon will run with: `was` with all that lives replaced. */
static void adopt(struct reader *h, struct fresh *f)
{
	struct rf_config *was = h->was, *is = h->is;

	for (uint32_t i = 0; i < was->volumes; i++) {
		const struct rf_config_volume *v = named(is, was->volume[i].name);

		f->priority[i] = v ? v->priority : was->volume[i].priority;
		was->volume[i].priority = f->priority[i];
	}
	f->peers_live = peers_live(h);
	f->peers = is->peers;
	memcpy(f->peer, is->peer, sizeof(f->peer));
	if (f->peers_live) {
		was->peers = is->peers;
		memcpy(was->peer, is->peer, sizeof(was->peer));
	}
	f->log_level = was->log_level = is->log_level;
	f->hooks_ask = was->hooks_ask = is->hooks_ask;
	rf_config_take_hooks(was, is);
	memcpy(f->log_file, is->log_file, sizeof(f->log_file));
	memcpy(was->log_file, is->log_file, sizeof(was->log_file));
	h->daemon->keys = f->keys;
}

static void read_again(struct reader *h)
{
	static struct fresh f;
	int fd = -1;

	memset(&f, 0, sizeof(f));
	f.code = check(h, &f, &fd) ? RF_EXIT_CONFIG : RF_EXIT_YES;
	if (f.code == RF_EXIT_YES) {
		rf_config_diff(h->was, h->is, tell_change, h);
		tell_keys(h, &f.keys);
		adopt(h, &f);
	}
	f.log_to_file = fd >= 0;
	h->p.end = f;
	send_packet(h, END, fd);
	if (fd >= 0)
		close(fd);
}

static void help(void *daemon, int socket)
{
	struct daemon *d = daemon;
	struct reader *h = calloc(1, sizeof(*h));
	char go;

	if (!h || !(h->is = calloc(1, sizeof(*h->is))))
		return;
	h->daemon = d;
	h->socket = socket;
	h->was = &d->config;
	rf_start_net_config(d, &h->net);
	while (recv(socket, &go, 1, 0) == 1)
		read_again(h);
}

int rf_reload_start(struct daemon *d, const char *path)
{
	d->reload = calloc(1, sizeof(*d->reload));
	if (!d->reload)
		return -ENOMEM;
	d->reload->daemon = d;
	d->reload->path = path;
	return rf_helper_start(&d->reload->helper, "ringfence-conf", help, d);
}

/* ---- the daemon ---- */

static void begin(struct rf_reload *r)
{
	r->busy = send(r->helper.fd, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
	r->again = false;
	r->applied = r->waiting = 0;
}

int rf_reload_ask(void *world)
{
	struct rf_reload *r = ((struct daemon *)world)->reload;

	if (r->helper.fd < 0)
		return -EPIPE;
	if (r->busy)
		return -EBUSY;
	begin(r);
	return r->busy ? 0 : -EPIPE;
}

void rf_reload_signalled(struct daemon *d)
{
	int rc = rf_reload_ask(d);

	d->reload->again = rc == -EBUSY;
	if (rc == -EPIPE)
		rf_log(RF_LOG_ERR, "reload-failed: the helper that reads it is "
				   "gone; restart ringfenced");
}

static void take_priorities(struct daemon *d, const struct fresh *f)
{
	for (uint32_t i = 0; i < d->config.volumes; i++)
		d->config.volume[i].priority = f->priority[i];
	for (uint32_t i = 0; i < d->parts; i++) {
		struct rf_event e = {.kind = RF_EV_ADMIN};

		e.admin.verb = RF_ADMIN_PRIORITY;
		e.admin.node = rf_start_priority(d->part[i]);
		rf_bind_event(d->part[i], &e);
	}
	d->config.hooks_ask = f->hooks_ask;
	rf_tell_start(d);
}

static void take_peers(struct daemon *d, const struct fresh *f)
{
	d->config.peers = f->peers;
	memcpy(d->config.peer, f->peer, sizeof(d->config.peer));
	rf_net_peers(d->net, (const void *)f->peer, f->peers);
	rf_start_copies(d);
}

static void take_hooks(struct daemon *d, const struct fresh *f)
{
	const struct rf_hooks_config *c = &f->hooks.config;
	int rc = rf_hooks_configure(d->hooks, &f->hooks);

	d->config.hooks_timeout_ms = c->timeout_ms;
	d->config.hooks_kill_ms = c->kill_ms;
	if (rc)
		rf_log(RF_LOG_ERR,
		       "the hook runner could not be told of the new "
		       "configuration (%s): restart ringfenced",
		       strerror(-rc));
}

static void take_all(struct rf_reload *r, const struct fresh *f, int log_fd)
{
	struct daemon *d = r->daemon;

	rf_log_redirect(f->log_to_file ? log_fd : -1, f->log_level);
	d->keys = f->keys;
	rf_seal_keys(d->seal, &f->keys);
	if (f->peers_live)
		take_peers(d, f);
	take_hooks(d, f);
	take_priorities(d, f);
	rf_log(RF_LOG_INFO, "reloaded applied=%u restart=%u", r->applied, r->waiting);
}

static void end(struct rf_reload *r, const struct fresh *f, int log_fd)
{
	struct daemon *d = r->daemon;

	r->busy = false;
	if (f->code == RF_EXIT_YES)
		take_all(r, f, log_fd);
	else
		rf_log(RF_LOG_ERR, "reload-failed: nothing changed: %s", f->text);
	rf_control_reloaded(d->control, f->code, f->text);
	if (r->again)
		begin(r);
}

static void change(struct rf_reload *r, const struct rf_ctl_change *c)
{
	r->applied += c->applied;
	r->waiting += !c->applied;
	rf_log(c->applied ? RF_LOG_INFO : RF_LOG_WARNING, "reload: %s = %s, was %s%s", c->key,
	       c->to, c->from, c->applied ? "" : ": only a restart takes it over");
	rf_control_reload_row(r->daemon->control, c);
}

static void gone(struct rf_reload *r)
{
	rf_log(RF_LOG_WARNING,
	       "the helper that reads the configuration died: it can be reloaded "
	       "by a restart only");
	rf_helper_died(&r->helper);
	if (r->busy)
		rf_control_reloaded(r->daemon->control, RF_EXIT_AGAIN,
				    "the helper that reads the configuration died: restart "
				    "ringfenced");
	r->busy = false;
}

/* One packet; false: none is left, or the helper is gone. */
static bool receive(struct rf_reload *r)
{
	static struct packet p;
	int fd;
	ssize_t n = rf_helper_receive(&r->helper, &p, sizeof(p), &fd, 1);

	if (n == 0)
		gone(r);
	if (n <= 0)
		return false;
	if (n == (ssize_t)sizeof(p) && p.what == WARNING)
		rf_log(RF_LOG_WARNING, "%s", p.warning);
	if (n == (ssize_t)sizeof(p) && p.what == CHANGE)
		change(r, &p.change);
	if (n == (ssize_t)sizeof(p) && p.what == END) {
		end(r, &p.end, fd);
		fd = p.end.log_to_file && p.end.code == RF_EXIT_YES ? -1 : fd;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

static void readable(struct rf_op *op, int res, bool more)
{
	struct rf_reload *r = op->owner;

	(void)res;
	(void)more;
	while (receive(r))
		;
	if (r->helper.fd >= 0)
		rf_loop_poll(r->daemon->loop, op, r->helper.fd);
}

void rf_reload_attach(struct daemon *d)
{
	struct rf_reload *r = d->reload;

	r->op = (struct rf_op){.done = readable, .owner = r};
	rf_loop_poll(d->loop, &r->op, r->helper.fd);
}

/* It may hang in a read: not waited for, the kernel ends it with us. */
void rf_reload_stop(struct daemon *d)
{
	rf_helper_end(&d->reload->helper);
	free(d->reload);
}
