/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fencers, and who starts them again; see fencers.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "fencers.h"
#include "format/timing.h"
#include "helper.h"
#include "log.h"
#include "ringfence/restart.h"

#define PASSED RF_HELPER_FDS /* descriptors: its socket, and itself */

struct born { /* from the helper; rc 0: both descriptors travel with it */
	uint32_t volume;
	int32_t rc;
};

struct rf_fencers {
	struct daemon *daemon;
	struct rf_helper helper;
	struct rf_op op;
	struct rf_timer timer;
	struct {
		uint64_t again_ns; /* 0 = nothing to do */
		uint64_t born_ns;
		uint32_t wait_ms;
	} volume[RF_CONFIG_VOLUMES_MAX];
};

/* ---- their command lines ---- */

/* Settings, for each way at most its name, six facts and the quorum disks, and two for all. */
#define ARGS_MAX (RF_CONFIG_SETTINGS_MAX + RF_CONFIG_FENCES_MAX * (RF_DISKS_MAX + 7) + 2)

struct fencer_args {
	char text[ARGS_MAX][RF_CONFIG_PATH_BYTES + 16];
	char *argv[ARGS_MAX + 3];
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

static void gate_args(struct fencer_args *a, const struct daemon *d,
		      const struct rf_config_volume *v)
{
	const struct rf_config_area *disks = &d->config.area[v->area];

	fencer_arg(a, "name=%s", v->gate);
	fencer_arg(a, "device=%s", v->device);
	for (uint32_t k = 0; k < disks->disks; k++)
		fencer_arg(a, "disk=%s", disks->disk[k]);
}

/* What each driver wants to know, see `ringfence-fencer --help`. */
static void way_args(struct fencer_args *a, struct daemon *d, uint32_t i, const char *way)
{
	const struct rf_config_volume *v = &d->config.volume[i];
	const struct managed *m = &d->managed[i];
	const struct rf_super *super = &m->part->area.super;
	char area[2 * RF_UUID_BYTES + 1];

	for (uint32_t s = 0; s < v->settings; s++)
		if (!strcmp(v->setting[s].fence, way))
			fencer_arg(a, "%s=%s", v->setting[s].key, v->setting[s].value);
	if (!strcmp(way, "gate"))
		gate_args(a, d, v);
	if (!strcmp(way, "target"))
		fencer_arg(a, "key-file=%s", d->config.key_file);
	if (!strcmp(way, "reservation")) {
		fencer_arg(a, "device=%s", v->device);
		fencer_arg(a, "grace-ms=%u", super->timing.grace_ms);
	}
	for (unsigned b = 0; b < RF_UUID_BYTES; b++)
		snprintf(area + 2 * b, 3, "%02x", super->id.area[b]);
	fencer_arg(a, "area=%s", area);
	fencer_arg(a, "volume=%u", m->number);
	fencer_arg(a, "node=%u", d->config.node);
}

/* One way: its driver itself. Several: the chain, which has a process for each. */
static void fencer_args(struct fencer_args *a, struct daemon *d, uint32_t i)
{
	const struct rf_config_volume *v = &d->config.volume[i];
	const struct rf_timing *t = &d->managed[i].part->area.super.timing;
	bool chain = v->fences > 1;

	a->argv[a->n++] = (char *)rf_helper_path("ringfence-fencer");
	if (chain) { /* as long as is waited for the answer, see port_fence */
		a->argv[a->n++] = "chain";
		fencer_arg(a, "evict-ms=%u", t->suspect_ms);
		fencer_arg(a, "grant-ms=%u", t->lease_ms);
	}
	for (uint32_t w = 0; w < v->fences; w++) {
		const char *driver = strcmp(v->way[w], "expiry") ? v->way[w] : "none";

		if (chain)
			fencer_arg(a, "driver=%s", driver);
		else
			a->argv[a->n++] = (char *)driver;
		if (strcmp(driver, "none"))
			way_args(a, d, i, v->way[w]);
	}
}

/* ---- the helper ---- */

static int bear(struct daemon *d, uint32_t volume, int fd[PASSED])
{
	static struct fencer_args a;
	int pair[2], rc;
	pid_t pid;

	memset(&a, 0, sizeof(a));
	fencer_args(&a, d, volume);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	rc = rf_fencer_spawn(a.argv, pair[1], &pid);
	close(pair[1]);
	fd[0] = pair[0];
	if (!rc) {
		fd[1] = pidfd_open(pid, 0);
		rc = fd[1] < 0 ? -errno : 0;
	}
	if (rc)
		close(pair[0]); /* which ends it, if it was born */
	return rc;
}

static void help(void *daemon, int socket)
{
	struct daemon *d = daemon;
	struct born b = {0};

	while (recv(socket, &b.volume, sizeof(b.volume), 0) == (ssize_t)sizeof(b.volume)) {
		int fd[PASSED] = {-1, -1};

		while (waitpid(-1, NULL, WNOHANG) > 0) /* those of before */
			;
		b.rc = bear(d, b.volume, fd);
		if (rf_helper_send(socket, &b, sizeof(b), fd, b.rc ? 0 : PASSED))
			return;
		for (unsigned i = 0; !b.rc && i < PASSED; i++)
			close(fd[i]);
	}
}

/* ---- the daemon: the beginning ---- */

static int start_one(struct daemon *d, uint32_t i)
{
	struct rf_fencer_ops ops = rf_bind_fencer_ops;
	struct fencer_args a = {.n = 0};
	char err[512];
	int rc;

	fencer_args(&a, d, i);
	ops.owner = d;
	rc = rf_fencer_start(&d->managed[i].fencer, a.argv, i, &ops, err, sizeof(err));
	return rc ? rf_give_up_on(rc, err) : RF_EXIT_YES;
}

int rf_fencers_start(struct daemon *d)
{
	int code = RF_EXIT_YES;

	d->fencers = calloc(1, sizeof(*d->fencers));
	if (!d->fencers)
		return rf_give_up(RF_EXIT_AGAIN, "out of memory");
	d->fencers->daemon = d;
	if (rf_helper_start(&d->fencers->helper, "ringfence-start", help, d) != 0)
		return rf_give_up(RF_EXIT_AGAIN,
				  "the helper that starts fencers cannot be forked");
	for (uint32_t i = 0; i < d->config.volumes && !code; i++)
		code = start_one(d, i);
	return code;
}

/* ---- and again ---- */

static void arm(struct rf_fencers *f)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < f->daemon->config.volumes; i++) {
		uint64_t again = f->volume[i].again_ns;

		if (again && (!at || again < at))
			at = again;
	}
	rf_loop_timer(f->daemon->loop, &f->timer, at);
}

static void try_again(struct rf_timer *t, uint64_t now_ns)
{
	struct rf_fencers *f = t->owner;

	for (uint32_t i = 0; i < f->daemon->config.volumes; i++) {
		if (!f->volume[i].again_ns || f->volume[i].again_ns > now_ns)
			continue;
		f->volume[i].again_ns = 0;
		if (f->helper.fd >= 0 &&
		    send(f->helper.fd, &i, sizeof(i), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			f->volume[i].again_ns = now_ns + RF_RESTART_MAX_MS * RF_MS_NS;
	}
	arm(f);
}

/* The longer it lived, the sooner. */
static void later(struct rf_fencers *f, uint32_t volume)
{
	uint64_t now = rf_loop_clock_ns();
	uint32_t *wait = &f->volume[volume].wait_ms;

	*wait = rf_restart_wait_ms(*wait, (now - f->volume[volume].born_ns) / RF_MS_NS);
	f->volume[volume].again_ns = now + *wait * RF_MS_NS;
	arm(f);
}

void rf_fencers_died(struct daemon *d, uint32_t volume)
{
	struct rf_fencers *f = d->fencers;
	const char *name = d->config.volume[volume].name;

	if (f->helper.fd < 0) {
		rf_log(RF_LOG_ERR,
		       "fencer volume=%s: died, and so did who would start it again: nothing "
		       "can be granted, revoked or evicted; restart ringfenced",
		       name);
		return;
	}
	later(f, volume);
	rf_log(RF_LOG_ERR,
	       "fencer volume=%s: died: nothing can be granted, revoked or evicted until it is "
	       "started again, in %u ms",
	       name, f->volume[volume].wait_ms);
}

static void adopt(struct rf_fencers *f, const struct born *b, const int fd[PASSED])
{
	struct daemon *d = f->daemon;
	const char *name = d->config.volume[b->volume].name;

	if (b->rc) {
		rf_log(RF_LOG_ERR, "fencer volume=%s: cannot be started again: %s", name,
		       strerror(-b->rc));
		later(f, b->volume);
		return;
	}
	f->volume[b->volume].born_ns = rf_loop_clock_ns();
	rf_fencer_adopt(d->managed[b->volume].fencer, fd[0], fd[1]);
	rf_log(RF_LOG_WARNING, "fencer volume=%s: was started again", name);
}

/* One packet; false: none is left, or the helper is gone. */
static bool receive(struct rf_fencers *f)
{
	struct born b;
	int fd[PASSED];
	ssize_t n = rf_helper_receive(&f->helper, &b, sizeof(b), fd, PASSED);

	if (n == 0) {
		rf_log(RF_LOG_WARNING, "the helper that starts fencers died: one that dies "
				       "stays dead until ringfenced is restarted");
		rf_helper_died(&f->helper);
	}
	if (n <= 0)
		return false;
	if (n == (ssize_t)sizeof(b) && b.volume < f->daemon->config.volumes &&
	    (b.rc || fd[1] >= 0)) {
		adopt(f, &b, fd);
		return true;
	}
	for (unsigned i = 0; i < PASSED; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return true;
}

static void readable(struct rf_op *op, int res, bool more)
{
	struct rf_fencers *f = op->owner;

	(void)res;
	(void)more;
	while (receive(f))
		;
	if (f->helper.fd >= 0)
		rf_loop_poll(f->daemon->loop, op, f->helper.fd);
}

void rf_fencers_attach(struct daemon *d)
{
	struct rf_fencers *f = d->fencers;

	f->op = (struct rf_op){.done = readable, .owner = f};
	f->timer = (struct rf_timer){.fire = try_again, .owner = f};
	rf_loop_poll(d->loop, &f->op, f->helper.fd);
	for (uint32_t i = 0; i < d->config.volumes; i++)
		rf_fencer_attach(d->managed[i].fencer, d->loop);
}

/* First of all who would start them again. */
void rf_fencers_stop(struct daemon *d)
{
	struct rf_fencers *f = d->fencers;

	rf_helper_end(&f->helper);
	for (uint32_t i = 0; i < d->config.volumes; i++)
		rf_fencer_stop(d->managed[i].fencer);
	free(f);
}
