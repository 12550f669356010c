/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfenced: parse, open, start the helpers, allocate everything, lock memory,
 * take priority, run. Nothing is allocated or forked after that.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/assert.h"
#include "core/timing.h"
#include "daemon.h"
#include "io/notify.h"
#include "log.h"
#include "reopen.h"

#define LOOP_ENTRIES 256u
#define RR_PRIORITY 1

static struct daemon daemon_;

/* A failed assertion is safe: renewals end, the gate shuts at its deadline. */
void rf_assert_failed(const char *what, const char *file, int line)
{
	rf_log_async(NULL, NULL);
	rf_log(RF_LOG_ERR,
	       "assertion failed: %s (%s:%d): ending; gates shut at their deadlines. Please "
	       "report this line",
	       what, file, line);
	abort();
}

/* ---- command line ---- */

struct options {
	const char *config, *socket;
	bool check;
};

static void usage(FILE *f)
{
	fputs("Usage: ringfenced [-c FILE] [--socket PATH] [--check-config]\n"
	      "Protects shared block devices: elects one leader a volume and fences the rest.\n"
	      "\n"
	      "  -c, --config FILE   configuration (default " RF_CONFIG_PATH ")\n"
	      "  -s, --socket PATH   control socket (default " RF_CTL_PATH ")\n"
	      "  -t, --check-config  read the configuration, say what is wrong, exit\n"
	      "  -h, --help          this text\n"
	      "  -V, --version       version\n"
	      "\n"
	      "It stays in the foreground. SIGTERM leaves all volumes cleanly, SIGHUP reads "
	      "the\n"
	      "key file again. See ringfenced(8).\n",
	      f);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"socket", required_argument, NULL, 's'},
		{"check-config", no_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*o = (struct options){.config = RF_CONFIG_PATH, .socket = RF_CTL_PATH};
	while ((c = getopt_long(argc, argv, "c:s:thV", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 't':
			o->check = true;
			break;
		case 'h':
			usage(stdout);
			exit(RF_EXIT_YES);
		case 'V':
			puts("ringfenced " RF_VERSION);
			exit(RF_EXIT_YES);
		default:
			usage(stderr);
			exit(RF_EXIT_USAGE);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(RF_EXIT_USAGE);
	}
}

static int give_up(int code, const char *text)
{
	rf_log(RF_LOG_ERR, "%s", text);
	return code;
}

static void warn_config(void *arg, const char *line)
{
	(void)arg;
	rf_log(RF_LOG_WARNING, "%s", line);
}

/* ---- configuration, keys ---- */

static int load(struct daemon *d, const struct options *o)
{
	char err[512];

	if (rf_config_load(&d->config, o->config, warn_config, NULL, err, sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	if (rf_log_open(d->config.log_file, d->config.log_level) != 0)
		return give_up(RF_EXIT_CONFIG, "the log file cannot be opened");
	if (rf_keys_load(&d->keys, d->config.key_file, err, sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	return RF_EXIT_YES;
}

static void reload_keys(struct daemon *d)
{
	struct rf_keys keys;
	char err[512];

	if (rf_keys_load(&keys, d->config.key_file, err, sizeof(err)) != 0) {
		rf_log(RF_LOG_ERR, "keys not reloaded, the old ones stay: %s", err);
		return;
	}
	d->keys = keys;
	rf_seal_keys(d->seal, &keys);
	rf_log(RF_LOG_INFO, "keys reloaded: %u accepted, %u seals", keys.count, keys.key[0].id);
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
		return give_up(RF_EXIT_AGAIN, "out of memory");
	p->daemon = d;
	p->index = index;
	p->timer = (struct rf_timer){.fire = rf_bind_wake, .owner = p};
	rc = rf_area_open(&p->area, &d->config, index, err, sizeof(err));
	if (rc)
		return give_up(rc == -EBADMSG || rc == -EMEDIUMTYPE ? RF_EXIT_BAD_DATA
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
			return give_up(RF_EXIT_CONFIG,
				       "two areas of the configuration are the same area: give "
				       "both volumes the same `area`");
	d->part[d->parts++] = p;
	return RF_EXIT_YES;
}

static int start_node(struct part *p, struct iovec *memory)
{
	struct daemon *d = p->daemon;
	const struct rf_super *s = &p->area.super;
	struct rf_core_config cfg = {.super = *s,
				     .node = d->config.node,
				     .incarnation = d->incarnation,
				     .now_ns = rf_loop_clock_ns()};
	struct timespec now;
	struct rf_ports ports;
	void *room;

	clock_gettime(CLOCK_REALTIME, &now);
	cfg.unix_ns = (uint64_t)now.tv_sec * 1000000000u;
	cfg.seed = d->incarnation ^ p->index;
	read_host(&cfg);
	for (uint32_t i = 0; i < s->volumes; i++) {
		uint32_t volume = p->config_of[i];

		if (volume == UINT32_MAX)
			continue;
		rf_bit_set(cfg.candidate, i, d->config.volume[volume].priority != 0);
		if (d->config.volume[volume].priority > cfg.priority)
			cfg.priority = d->config.volume[volume].priority;
	}
	room = calloc(1, rf_node_bytes(&cfg));
	if (!room || rf_bind_disks(p, memory) != 0)
		return give_up(RF_EXIT_AGAIN, "out of memory");
	rf_bind_ports(p, &ports);
	p->node = rf_node_init(room, &cfg, &ports);
	return rf_seal_area(d->seal, s->id.area, d->config.node, s->id.nodes) == 0
		       ? RF_EXIT_YES
		       : give_up(RF_EXIT_CONFIG, "too many areas");
}

/* ---- fencers ---- */

/* The helper lies beside this program (a build tree) or in libexec. */
static const char *fencer_path(void)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	if (slash) {
		strcpy(slash + 1, "ringfence-fencer");
		if (access(path, X_OK) == 0)
			return path;
		strcpy(slash + 1, "../libexec/ringfence/ringfence-fencer");
		if (access(path, X_OK) == 0)
			return path;
	}
	return "ringfence-fencer";
}

struct fencer_args {
	char text[RF_CONFIG_SETTINGS_MAX + RF_DISKS_MAX + 5][RF_CONFIG_PATH_BYTES + 16];
	char *argv[RF_CONFIG_SETTINGS_MAX + RF_DISKS_MAX + 8];
	unsigned n, texts;
};

__attribute__((format(printf, 2, 3))) static void fencer_arg(struct fencer_args *a,
							     const char *format, ...)
{
	char *text = a->text[a->texts++];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(a->text[0]), format, ap);
	va_end(ap);
	a->argv[a->n++] = text;
}

/* What each driver wants to know, see `ringfence-fencer --help`. */
static void fencer_args(struct fencer_args *a, struct daemon *d, uint32_t i)
{
	const struct rf_config_volume *v = &d->config.volume[i];
	const struct rf_config_area *disks = &d->config.area[v->area];
	const struct managed *m = &d->managed[i];
	bool none = !strcmp(v->fence, "expiry"), gate = !strcmp(v->fence, "gate");
	char area[2 * RF_UUID_BYTES + 1];

	a->argv[a->n++] = (char *)fencer_path();
	a->argv[a->n++] = none ? "none" : (char *)v->fence;
	if (none)
		return;
	for (uint32_t s = 0; s < v->settings; s++)
		fencer_arg(a, "%s=%s", v->setting[s].key, v->setting[s].value);
	if (gate) {
		fencer_arg(a, "name=%s", v->gate);
		fencer_arg(a, "device=%s", v->device);
		for (uint32_t k = 0; k < disks->disks; k++)
			fencer_arg(a, "disk=%s", disks->disk[k]);
	} else {
		fencer_arg(a, "key-file=%s", d->config.key_file);
	}
	for (unsigned b = 0; b < RF_UUID_BYTES; b++)
		snprintf(area + 2 * b, 3, "%02x", m->part->area.super.id.area[b]);
	fencer_arg(a, "area=%s", area);
	fencer_arg(a, "volume=%u", m->number);
	fencer_arg(a, "node=%u", d->config.node);
}

static int start_fencer(struct daemon *d, uint32_t i)
{
	struct rf_fencer_ops ops = rf_bind_fencer_ops;
	struct fencer_args a = {.n = 0};
	char err[512];

	fencer_args(&a, d, i);
	ops.owner = d;
	if (rf_fencer_start(&d->managed[i].fencer, a.argv, i, &ops, err, sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	return RF_EXIT_YES;
}

static int start_hooks(struct daemon *d)
{
	struct rf_hooks_config c = {.timeout_ms = d->config.hooks_timeout_ms,
				    .kill_ms = d->config.hooks_kill_ms,
				    .health_interval_ms = d->config.health_interval_ms,
				    .health_timeout_ms = d->config.health_timeout_ms};
	struct rf_hooks_ops ops = rf_bind_hooks_ops;
	char err[512];

	ops.world = d;
	snprintf(c.dir, sizeof(c.dir), "%s", d->config.hooks_dir);
	snprintf(c.user, sizeof(c.user), "%s", d->config.hooks_user);
	snprintf(c.health_command, sizeof(c.health_command), "%s", d->config.health_command);
	if (rf_hooks_start(&d->hooks, &c, &ops, err, sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	return RF_EXIT_YES;
}

static int start_helpers(struct daemon *d)
{
	int code = start_hooks(d);

	if (!code && rf_reopen_start(d) != 0)
		code = give_up(RF_EXIT_AGAIN, "the helper that opens devices cannot be forked");

	for (uint32_t i = 0; i < d->config.volumes && !code; i++)
		code = start_fencer(d, i);
	return code;
}

/* ---- network, control socket, signals ---- */

static void net_said(void *owner, bool warning, const char *line)
{
	(void)owner;
	rf_log(warning ? RF_LOG_WARNING : RF_LOG_INFO, "network: %s", line);
}

static int open_net(struct daemon *d)
{
	const struct rf_config *c = &d->config;
	struct rf_net_config n = {.groups = c->groups,
				  .interfaces = c->interfaces,
				  .peers = c->peers,
				  .port = c->port,
				  .ttl = c->ttl};
	struct rf_net_ops ops = {.owner = d, .got = rf_bind_datagram, .said = net_said};
	char err[512];

	_Static_assert(sizeof(n.group[0]) == sizeof(c->group[0]), "one shape of address");
	memcpy(n.group, c->group, sizeof(n.group));
	memcpy(n.peer, c->peer, sizeof(n.peer));
	memcpy(n.interface, c->interface, sizeof(n.interface));
	if (rf_net_open(&d->net, d->loop, &n, &ops, err, sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	rf_seal_copies(d->seal,
		       n.groups * (n.interfaces ? n.interfaces : 1) + (n.peers != 0) > 1);
	return RF_EXIT_YES;
}

static void ready(struct rf_op *op, int res, bool more)
{
	struct daemon *d = op->owner;
	bool control = op == &d->control_op;

	if (res >= 0) {
		if (control)
			rf_control_ready(d->control);
		else
			rf_hooks_ready(d->hooks);
	}
	if (!more)
		rf_loop_poll(d->loop, op,
			     control ? rf_control_fd(d->control) : rf_hooks_fd(d->hooks));
}

static int open_control(struct daemon *d, const char *path)
{
	struct rf_control_ops ops = rf_show_control_ops;
	struct group *group = getgrnam("ringfence");
	char err[512];

	ops.world = d;
	if (rf_control_open(&d->control, path, group ? group->gr_gid : getgid(), &ops, err,
			    sizeof(err)) != 0)
		return give_up(RF_EXIT_CONFIG, err);
	return RF_EXIT_YES;
}

/* A gate that does not drain, or work that does not end, must not hold the host up. */
static void leave_anyway(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	(void)now_ns;
	rf_log(RF_LOG_ERR,
	       "leaving without having closed every volume (see above): this "
	       "node's slot says that its gate may be open, peers wait for the lease");
	rf_loop_stop(d->loop);
}

/* What a clean end may take: a gate to expire, then every hook with its limits. */
static uint64_t leave_limit_ms(const struct daemon *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->parts; i++) {
		const struct rf_timing *t = &d->part[i]->area.super.timing;
		uint64_t ms = (uint64_t)t->lease_ms + t->hold_ms + t->grace_ms;

		most = ms > most ? ms : most;
	}
	return most + 2ull * d->config.hooks_timeout_ms + d->config.hooks_kill_ms + 5000;
}

static void leave(struct daemon *d)
{
	struct rf_event e = {.kind = RF_EV_ADMIN};

	if (d->leaving) { /* asked twice: now */
		rf_loop_stop(d->loop);
		return;
	}
	d->leaving = true;
	d->leave = (struct rf_timer){.fire = leave_anyway, .owner = d};
	rf_loop_timer(d->loop, &d->leave, rf_loop_clock_ns() + leave_limit_ms(d) * RF_MS_NS);
	rf_notify_stopping();
	rf_notify_extend(leave_limit_ms(d) + 5000);
	e.admin.verb = RF_ADMIN_SHUTDOWN;
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
}

static void signalled(struct rf_op *op, int res, bool more)
{
	struct daemon *d = op->owner;
	struct signalfd_siginfo info;

	while (res >= 0 && read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload_keys(d);
		else
			leave(d);
	}
	if (!more)
		rf_loop_poll(d->loop, op, d->signal_fd);
}

static int open_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signal_fd < 0 ? give_up(RF_EXIT_AGAIN, strerror(errno)) : RF_EXIT_YES;
}

/* ---- the machine: memory, priority, out-of-memory killer ---- */

/* All of it, code too: the disk it would be read from may be the one that hangs. */
static void take_memory(struct daemon *d)
{
	d->memory_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
	if (!d->memory_locked)
		rf_log(RF_LOG_WARNING,
		       "memory cannot be locked (%s): under memory pressure a renewal may come "
		       "late; raise LimitMEMLOCK",
		       strerror(errno));
}

static void take_priority(struct daemon *d)
{
	struct sched_param p = {.sched_priority = RR_PRIORITY};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "-1000", 5) != 5)
		rf_log(RF_LOG_WARNING, "the out-of-memory killer may choose this process: %s",
		       strerror(errno));
	if (fd >= 0)
		close(fd);
	d->realtime = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) == 0;
	if (!d->realtime)
		rf_log(RF_LOG_WARNING,
		       "no real-time priority (%s): on a busy host a renewal may come late; "
		       "raise "
		       "LimitRTPRIO or move the daemon out of its cgroup",
		       strerror(errno));
}

/* ---- running ---- */

static int log_start(void *arg, int fd, const void *data, size_t len)
{
	struct daemon *d = arg;

	rf_loop_write(d->loop, &d->log_op, fd, data, len);
	return 0;
}

static void log_done(struct rf_op *op, int res, bool more)
{
	(void)op;
	(void)more;
	rf_log_written(res);
}

static void pet(struct rf_timer *t, uint64_t now_ns)
{
	struct daemon *d = t->owner;

	rf_notify_watchdog();
	rf_loop_timer(d->loop, t, now_ns + d->watchdog_ns);
}

static void attach(struct daemon *d)
{
	d->control_op = (struct rf_op){.done = ready, .owner = d};
	d->hooks_op = (struct rf_op){.done = ready, .owner = d};
	d->signal_op = (struct rf_op){.done = signalled, .owner = d};
	d->log_op = (struct rf_op){.done = log_done, .owner = d};
	rf_loop_poll(d->loop, &d->control_op, rf_control_fd(d->control));
	rf_loop_poll(d->loop, &d->hooks_op, rf_hooks_fd(d->hooks));
	rf_loop_poll(d->loop, &d->signal_op, d->signal_fd);
	for (uint32_t i = 0; i < d->config.volumes; i++)
		rf_fencer_attach(d->managed[i].fencer, d->loop);
	rf_reopen_attach(d);
	d->watchdog = (struct rf_timer){.fire = pet, .owner = d};
	d->watchdog_ns = rf_notify_watchdog_ns();
	if (d->watchdog_ns)
		rf_loop_timer(d->loop, &d->watchdog, rf_loop_clock_ns() + d->watchdog_ns);
}

/* Everything is there; from here on nothing is allocated. */
static int run(struct daemon *d)
{
	struct rf_event e = {.kind = RF_EV_TICK};
	int rc, code = RF_EXIT_YES;

	attach(d);
	take_memory(d);
	take_priority(d);
	rf_log(RF_LOG_INFO, "ringfenced %s node=%u cluster=%s areas=%u volumes=%u", RF_VERSION,
	       d->config.node, d->config.cluster, d->parts, d->config.volumes);
	rf_log_async(log_start, d);
	for (uint32_t i = 0; i < d->parts; i++)
		rf_bind_event(d->part[i], &e);
	rc = rf_loop_run(d->loop);
	rf_log_async(NULL, NULL);
	if (rc < 0)
		return give_up(RF_EXIT_IO, "the event loop failed: io_uring gave an error");
	for (uint32_t i = 0; i < d->parts; i++)
		if (d->part[i]->reason != RF_CAUSE_SHUTDOWN)
			code = RF_EXIT_UNSAFE;
	return code;
}

static void end(struct daemon *d)
{
	rf_control_close(d->control);
	rf_hooks_stop(d->hooks);
	rf_reopen_stop(d);
	for (uint32_t i = 0; i < d->config.volumes; i++)
		rf_fencer_stop(d->managed[i].fencer);
	rf_loop_close(d->loop);
	rf_notify_close();
}

static int build(struct daemon *d, const struct options *o)
{
	struct iovec memory[RF_AREAS_MAX];
	char err[512];
	uint64_t salt;
	int code = open_signals(d);

	d->managed = calloc(d->config.volumes, sizeof(*d->managed));
	if (!d->managed || getrandom(&d->incarnation, sizeof(d->incarnation), 0) != 8 ||
	    getrandom(&salt, sizeof(salt), 0) != 8)
		return give_up(RF_EXIT_AGAIN, "out of memory");
	d->incarnation |= 1; /* never 0 */
	for (uint32_t i = 0; i < d->config.areas && !code; i++)
		code = open_area(d, i);
	if (!code)
		code = start_helpers(d);
	if (!code && rf_loop_open(&d->loop, LOOP_ENTRIES, err, sizeof(err)) != 0)
		code = give_up(RF_EXIT_UNREACHABLE, err);
	if (!code && rf_seal_open(&d->seal, d->incarnation, salt) != 0)
		code = give_up(RF_EXIT_AGAIN, "libsodium cannot be used");
	if (!code)
		rf_seal_keys(d->seal, &d->keys);
	for (uint32_t i = 0; i < d->parts && !code; i++)
		code = start_node(d->part[i], &memory[i]);
	if (!code && rf_loop_register(d->loop, memory, d->parts) != 0)
		code = give_up(RF_EXIT_AGAIN,
			       "disk buffers cannot be registered with io_uring: "
			       "raise LimitMEMLOCK");
	if (!code)
		code = open_net(d);
	if (!code)
		code = open_control(d, o->socket);
	return code;
}

int main(int argc, char **argv)
{
	struct daemon *d = &daemon_;
	struct options o;
	int code;

	parse(argc, argv, &o);
	rf_log_open("", RF_LOG_INFO);
	code = load(d, &o);
	if (code || o.check) {
		if (!code)
			printf("%s: good\n", o.config);
		return code;
	}
	d->started_ns = rf_loop_clock_ns();
	rf_notify_open();
	code = build(d, &o);
	if (code)
		return code;
	code = run(d);
	end(d);
	return code;
}
