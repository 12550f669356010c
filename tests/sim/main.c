/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-sim --seeds A..B [--jobs N] [--profile NAME] [--trace] [--nodes N] [--mutant NAME]
 *
 * Runs each seed in a world of its own; the first violation of a seed is printed
 * with the command that shows it again. Exit status 1 when there was one.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle.h"
#include "sim.h"

#ifdef RF_MUTANT
#include "mutants.h"
uint32_t rf_mutant;
#endif

#define JOBS_MAX 64u

struct options {
	uint64_t first, last;
	uint32_t jobs, nodes, disks, volumes;
	const char *profile, *mutant;
	bool trace, stop, scale, mutants, outcomes;
};

struct sums { /* shared by the jobs */
	bool interrupted;
	uint64_t seeds, ns, violations, events, landed, refused, leaderships, kills, next;
};

static struct sums *sums;

/* A long run that is interrupted sums up what it has done. */
static void interrupt(int signal)
{
	(void)signal;
	sums->interrupted = true;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: rf-sim --seeds A..B [--jobs N] [--profile NAME] [--trace]\n"
		"              [--nodes N] [--disks N] [--volumes N] [--stop] [--outcomes]\n"
		"       rf-sim --scale\n"
#ifdef RF_MUTANT
		"              [--mutant NAME | --mutants]\n"
#endif
	);
	exit(2);
}

static void describe(const struct world *w)
{
	const struct atlas *a = &w->atlas;
	const struct rf_timing *t = &a->timing;

	printf("seed=%" PRIu64 " profile=%s nodes=%u disks=%u volumes=%u quorum=%s", w->seed,
	       a->profile, a->nodes, a->disks, a->volumes,
	       a->quorum == RF_QUORUM_MAJORITY ? "majority" : "survivors");
	printf(" hb=%u suspect=%u lease=%u grace=%u hold=%u inflight=%u absent=%u%s\n",
	       t->heartbeat_ms, t->suspect_ms, t->lease_ms, t->grace_ms, t->hold_ms,
	       t->inflight_ms, a->absent, a->drift_beyond ? " drift-beyond" : "");
	printf("faults:");
	for (uint32_t f = 0; f < F_COUNT; f++)
		if (a->weight[f])
			printf(" %s=%u", fault_name((enum fault)f), a->weight[f]);
	printf(" slow=%u error=%u lost=%u ghost=%u torn=%u loss=%u\n", a->io_slow_ppm,
	       a->io_error_ppm, a->io_lost_ppm, a->ghost_ppm, a->torn_ppm, a->loss_ppm);
}

static void add(uint64_t *sum, uint64_t n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

static void account(const struct world *w)
{
	add(&sums->seeds, 1);
	add(&sums->ns, w->now);
	add(&sums->events, w->tally.events);
	add(&sums->landed, w->tally.landed);
	add(&sums->refused, w->tally.refused);
	add(&sums->leaderships, w->tally.leaderships);
	add(&sums->kills, w->tally.kills);
	add(&sums->violations, w->violated);
}

static void run_seed(struct world *w, const struct options *o, uint64_t seed)
{
	struct atlas a;

	if (atlas_draw(&a, seed, o->profile) < 0) {
		fprintf(stderr, "rf-sim: no such profile: %s\n", o->profile);
		exit(2);
	}
	a.nodes = o->nodes ? o->nodes : a.nodes;
	a.disks = o->disks ? o->disks : a.disks;
	a.volumes = o->volumes ? o->volumes : a.volumes;
	if (o->trace)
		w->trace = stdout;
	w->outcomes = o->outcomes;
	world_reset(w, seed, &a);
	if (o->trace)
		describe(w);
	world_run(w);
	account(w);
	if (!w->violated)
		return;
	if (!o->mutant) {
		describe(w);
		printf("violation: %s\nagain: rf-sim --seeds %" PRIu64 "..%" PRIu64
		       " --trace%s%s\n",
		       w->violation, seed, seed, o->profile ? " --profile " : "",
		       o->profile ? o->profile : "");
	} else {
		printf("mutant %s killed by seed %" PRIu64 " (%s): %s\n", o->mutant, seed,
		       a.profile, w->violation);
	}
	fflush(stdout);
}

static void job(const struct options *o)
{
	struct world *w = world_new();
	uint64_t seed;

	for (;;) {
		seed = o->first + __atomic_fetch_add(&sums->next, 1, __ATOMIC_RELAXED);
		if (seed > o->last || sums->interrupted)
			break;
		if (o->stop && __atomic_load_n(&sums->violations, __ATOMIC_RELAXED))
			break;
		run_seed(w, o, seed);
	}
	world_free(w);
}

static int run_jobs(const struct options *o)
{
	int status, bad = 0;

	if (o->jobs <= 1) {
		job(o);
		return 0;
	}
	fflush(stdout);
	for (uint32_t i = 0; i < o->jobs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid == 0) {
			job(o);
			fflush(stdout);
			_exit(0);
		}
	}
	while (wait(&status) > 0 || errno == EINTR)
		bad |= status;
	return bad ? -EIO : 0;
}

/* ---- options ---- */

static uint64_t number(const char *text, char **end)
{
	char *stop;
	uint64_t n = strtoull(text, &stop, 10);

	if (stop == text || (!end && *stop))
		usage();
	if (end)
		*end = stop;
	return n;
}

static void seeds(struct options *o, const char *text)
{
	char *end;

	o->first = number(text, &end);
	o->last = *end ? number(end + (end[0] == '.') + (end[1] == '.'), NULL) : o->first;
	if (o->last < o->first)
		usage();
}

static int parse(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(name, "--trace"))
			o->trace = true;
		else if (!strcmp(name, "--scale"))
			o->scale = true;
		else if (!strcmp(name, "--outcomes"))
			o->outcomes = true;
		else if (!strcmp(name, "--mutants"))
			o->mutants = true;
		else if (!strcmp(name, "--stop"))
			o->stop = true;
		else if (!value)
			return -EINVAL;
		else if (i++, !strcmp(name, "--seeds"))
			seeds(o, value);
		else if (!strcmp(name, "--jobs"))
			o->jobs = (uint32_t)number(value, NULL);
		else if (!strcmp(name, "--nodes"))
			o->nodes = (uint32_t)number(value, NULL);
		else if (!strcmp(name, "--disks"))
			o->disks = (uint32_t)number(value, NULL);
		else if (!strcmp(name, "--volumes"))
			o->volumes = (uint32_t)number(value, NULL);
		else if (!strcmp(name, "--profile"))
			o->profile = value;
		else if (!strcmp(name, "--mutant"))
			o->mutant = value;
		else
			return -EINVAL;
	}
	return o->jobs > JOBS_MAX ? -EINVAL : 0;
}

#ifdef RF_MUTANT
static const char *const mutants[] = {
#define RF_MUTANT_NAME(n) [RF_MUTANT_##n] = #n,
	RF_MUTANTS(RF_MUTANT_NAME)};

#define MUTANTS (sizeof(mutants) / sizeof(mutants[0]))

static int list_mutants(void)
{
	for (uint32_t i = 1; i < MUTANTS; i++)
		puts(mutants[i]);
	return 0;
}

static void choose_mutant(const char *name)
{
	for (uint32_t i = 1; i < MUTANTS; i++)
		if (!strcmp(mutants[i], name))
			rf_mutant = i;
	if (!rf_mutant) {
		fprintf(stderr, "rf-sim: no such mutant: %s\n", name);
		exit(2);
	}
}
#else
static int list_mutants(void)
{
	fprintf(stderr, "rf-sim: this build has no mutants\n");
	return 2;
}

static void choose_mutant(const char *name)
{
	fprintf(stderr, "rf-sim: this build has no mutants (%s)\n", name);
	exit(2);
}
#endif

int main(int argc, char **argv)
{
	struct options o = {.first = 1, .last = 0, .jobs = 1};

	if (parse(&o, argc, argv) < 0 || (!o.scale && !o.mutants && o.last < o.first))
		usage();
	if (o.mutants)
		return list_mutants();
	if (o.scale)
		return scale_run();
	if (o.mutant)
		choose_mutant(o.mutant);
	sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (sums == MAP_FAILED) {
		perror("rf-sim: mmap");
		return 2;
	}
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	if (!o.mutant)
		printf("seeds %" PRIu64 "..%" PRIu64 "\n", o.first, o.last);
	if (run_jobs(&o) < 0) {
		fprintf(stderr, "rf-sim: a job died\n");
		return 2;
	}
	if (!o.mutant) {
		printf("events=%" PRIu64 " writes=%" PRIu64 " refused=%" PRIu64
		       " leaderships=%" PRIu64 " deaths=%" PRIu64 "\n",
		       sums->events, sums->landed, sums->refused, sums->leaderships,
		       sums->kills);
		printf("sim: seeds=%" PRIu64 " sim_hours=%" PRIu64 " violations=%" PRIu64 "\n",
		       sums->seeds, (uint64_t)(sums->ns / 3600000000000ull), sums->violations);
	}
	return sums->violations ? 1 : 0;
}
