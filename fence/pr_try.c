/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a device really does with reservations: asked for by `ringfence doctor`.
 *
 * What a target says of itself is one thing; several claim what they refuse, or refuse
 * what they have done. So test keys are registered, one a path, and the commands of a
 * takeover are sent with keys that nobody has: a target that compares keys answers with
 * a conflict, one that does not know the command says so. With two paths the
 * registration of the second is really preempted. Nothing is reserved, so nobody's
 * writes are refused meanwhile, and no other key is named in any command. Where somebody
 * else holds a reservation nothing is registered: it would let this host's writes pass.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pr.h"

#define TRIES 5u
#define TEXT_BYTES 320
#define NOBODY 0x800000000000ull /* this bit of a test key: nobody registers it */

struct trial {
	const struct rf_pr_try *t;
	uint64_t id[RF_PR_PATHS_MAX];
	enum rf_pr_status first[RF_PR_PATHS_MAX]; /* answer to the registration */
	unsigned paths;
	struct rf_pr_look look;
};

__attribute__((format(printf, 4, 5))) static void say(const struct trial *r,
						      enum rf_pr_finding finding,
						      const char *advice, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->t->say(finding, text, advice);
}

static const char *word(enum rf_pr_status s)
{
	static const char *const words[] = {
		[RF_PR_OK] = "done",
		[RF_PR_CONFLICT] = "reservation conflict",
		[RF_PR_ATTENTION] = "check condition",
		[RF_PR_UNSUPPORTED] = "command not known",
		[RF_PR_FAILED] = "no answer",
	};

	return words[s];
}

/* ---- commands, with the patience of the driver ---- */

static enum rf_pr_status command(const struct trial *r, unsigned path, enum rf_pr_verb verb,
				 uint64_t own, uint64_t other)
{
	enum rf_pr_status s = RF_PR_ATTENTION;

	for (unsigned i = 0; i < TRIES && s == RF_PR_ATTENTION; i++)
		s = r->t->ops->command(r->t->dev, r->id[path], verb, own, other);
	return s;
}

static enum rf_pr_status look(struct trial *r)
{
	enum rf_pr_status s = RF_PR_FAILED;
	unsigned sent = 0;

	for (unsigned i = 0; i < r->paths && s != RF_PR_OK; i++) {
		s = RF_PR_ATTENTION;
		for (unsigned n = 0; n < TRIES && s == RF_PR_ATTENTION; n++)
			s = r->t->ops->look(r->t->dev, r->id[i], &r->look, &sent);
	}
	return s;
}

static uint64_t key_of(const struct trial *r, unsigned path)
{
	return r->t->key + path;
}

static bool there(const struct trial *r, uint64_t key)
{
	for (unsigned i = 0; i < r->look.count; i++)
		if (r->look.key[i] == key)
			return true;
	return false;
}

/* ---- without touching anything ---- */

static void say_abilities(const struct trial *r)
{
	struct rf_pr_able able = {0};
	enum rf_pr_status s = RF_PR_ATTENTION;

	for (unsigned i = 0; i < TRIES && s == RF_PR_ATTENTION; i++)
		s = r->t->ops->able(r->t->dev, r->id[0], &able);
	if (s != RF_PR_OK)
		say(r, RF_PR_WEAK, "what follows is what it does",
		    "does not report what it can do (%s)", word(s));
	else if (able.types && !able.type)
		say(r, RF_PR_BAD, "another fence",
		    "has no 'write exclusive, registrants only' reservation");
	else
		say(r, able.aptpl ? RF_PR_GOOD : RF_PR_WEAK,
		    able.aptpl ? NULL
			       : "after a power loss of the storage nobody is fenced until "
				 "the leader registers again",
		    "says: write exclusive, registrants only%s; keys %s a power loss (APTPL)",
		    able.types ? "" : " (types not reported)",
		    able.aptpl ? "can survive" : "do not survive");
}

static void say_keys(const struct trial *r)
{
	const struct rf_pr_look *l = &r->look;
	unsigned shown = l->count < 4 ? l->count : 4;
	char keys[128] = "";
	size_t at = 0;

	for (unsigned i = 0; i < shown; i++)
		at += (size_t)snprintf(keys + at, sizeof(keys) - at, " %016" PRIx64, l->key[i]);
	if (l->held)
		say(r, RF_PR_GOOD, NULL,
		    "%u paths; reserved, type %u, by key %016" PRIx64
		    "; generation %u, %u keys:%s",
		    r->paths, l->type, l->holder, l->generation, l->count, keys);
	else
		say(r, RF_PR_GOOD, NULL, "%u paths; not reserved; generation %u, %u keys%s%s",
		    r->paths, l->generation, l->count, l->count ? ":" : "", keys);
}

/* ---- registering ---- */

static unsigned do_register(struct trial *r)
{
	unsigned good = 0;

	for (unsigned i = 0; i < r->paths; i++)
		r->first[i] = command(r, i, RF_PR_REGISTER, 0, key_of(r, i));
	if (look(r) != RF_PR_OK)
		return 0;
	for (unsigned i = 0; i < r->paths; i++)
		good += there(r, key_of(r, i));
	return good;
}

/* What the target says that it did, against what stands there. */
static void say_registered(const struct trial *r, unsigned good, uint32_t before)
{
	unsigned lies = 0, hidden = 0;

	for (unsigned i = 0; i < r->paths; i++) {
		bool stands = there(r, key_of(r, i));

		lies += r->first[i] == RF_PR_OK && !stands;
		hidden += r->first[i] != RF_PR_OK && stands;
	}
	if (lies)
		say(r, RF_PR_BAD, "another fence",
		    "says that it registered a key on %u of %u paths which does not stand "
		    "there",
		    lies, r->paths);
	else if (!good)
		say(r, RF_PR_BAD, "see the kernel's log, and what the storage allows this host",
		    "no path of %u accepts a registration (%s)", r->paths, word(r->first[0]));
	else if (hidden)
		say(r, RF_PR_WEAK,
		    "Linux targets: make the directory /var/target/pr on the storage",
		    "registers, but reports it as an error (%s)", word(r->first[0]));
	else
		say(r, good == r->paths ? RF_PR_GOOD : RF_PR_WEAK,
		    good == r->paths ? NULL : "repair the paths, and look again",
		    "registers on %u of %u paths; generation %s", good, r->paths,
		    r->look.generation != before ? "counts"
						 : "does not count (nothing relies on it)");
}

/* ---- keys that nobody has ---- */

static uint64_t nobody(const struct trial *r)
{
	return r->t->key ^ NOBODY;
}

static void try_conflict(const struct trial *r, unsigned path)
{
	uint64_t own = key_of(r, path);
	enum rf_pr_status reg = command(r, path, RF_PR_REGISTER, nobody(r), nobody(r));
	enum rf_pr_status pre = command(r, path, RF_PR_PREEMPT, own, nobody(r));

	if (reg == RF_PR_OK)
		say(r, RF_PR_BAD, "another fence",
		    "replaces a key without comparing it: a late command would not be refused");
	else if (pre == RF_PR_OK)
		say(r, RF_PR_WEAK, NULL,
		    "reports a preempt of a key that nobody has as done (keys are read "
		    "anyway)");
	else if (reg == RF_PR_CONFLICT && pre == RF_PR_CONFLICT)
		say(r, RF_PR_GOOD, NULL,
		    "compares keys: a wrong one is refused with a conflict");
	else
		say(r, RF_PR_WEAK, NULL,
		    "refuses a wrong key, but not with a conflict (register: %s, preempt: %s)",
		    word(reg), word(pre));
}

/* true: it knows PREEMPT AND ABORT. */
static bool try_abort(const struct trial *r, unsigned path)
{
	uint64_t own = key_of(r, path);
	enum rf_pr_status s = command(r, path, RF_PR_PREEMPT_ABORT, own, nobody(r));
	enum rf_pr_status plain = command(r, path, RF_PR_PREEMPT, own, nobody(r));

	if (s == RF_PR_UNSUPPORTED || (s == RF_PR_ATTENTION && plain == RF_PR_CONFLICT))
		say(r, RF_PR_WEAK,
		    "a takeover waits for the grace of the area; set it to what a write may "
		    "take at most",
		    "lacks PREEMPT AND ABORT (%s)", word(s));
	else if (s == RF_PR_CONFLICT)
		say(r, RF_PR_GOOD, NULL, "knows PREEMPT AND ABORT");
	else
		say(r, RF_PR_UNTOLD, NULL,
		    "whether it knows PREEMPT AND ABORT cannot be told (%s)", word(s));
	return s == RF_PR_CONFLICT;
}

/* ---- the registration of one path, preempted from another ---- */

static void try_victim(struct trial *r, unsigned path, unsigned victim, bool abort)
{
	enum rf_pr_verb verb = abort ? RF_PR_PREEMPT_ABORT : RF_PR_PREEMPT;
	enum rf_pr_status s = command(r, path, verb, key_of(r, path), key_of(r, victim)), ua;
	struct rf_pr_look l;
	unsigned sent = 0;

	ua = r->t->ops->look(r->t->dev, r->id[victim], &l, &sent);
	if (look(r) != RF_PR_OK)
		return;
	if (there(r, key_of(r, victim)) || !there(r, key_of(r, path)))
		say(r, RF_PR_BAD, "another fence",
		    "a registration of one path, preempted from another (%s), %s", word(s),
		    there(r, key_of(r, victim)) ? "still stands there"
						: "took the own one with it");
	else
		say(r, s == RF_PR_OK ? RF_PR_GOOD : RF_PR_WEAK, NULL,
		    "a second registration of this host was preempted%s (%s); its path %s",
		    abort ? " and aborted" : "", word(s),
		    ua == RF_PR_ATTENTION ? "hears it by a unit attention"
					  : "hears no unit attention");
}

static void try_paths(struct trial *r, unsigned path, bool abort)
{
	for (unsigned i = path + 1; i < r->paths; i++)
		if (there(r, key_of(r, i))) {
			try_victim(r, path, i, abort);
			return;
		}
	say(r, RF_PR_UNTOLD, NULL,
	    "with one path a preempt that takes effect, and its unit attention, cannot be "
	    "tried");
}

/* ---- the whole ---- */

static void take_back(struct trial *r)
{
	for (unsigned i = 0; i < r->paths; i++)
		command(r, i, RF_PR_REGISTER, key_of(r, i), 0);
	if (look(r) != RF_PR_OK) {
		say(r, RF_PR_BAD, "look again: keys that begin with 4452 are the doctor's",
		    "cannot tell whether the test keys are gone");
		return;
	}
	for (unsigned i = 0; i < r->paths; i++)
		if (there(r, key_of(r, i)))
			say(r, RF_PR_BAD, "unregister it: sg_persist --out --register",
			    "the test key %016" PRIx64 " cannot be taken back", key_of(r, i));
}

static void act(struct trial *r)
{
	uint32_t before = r->look.generation;
	unsigned good = do_register(r), path = 0;

	say_registered(r, good, before);
	while (path < r->paths && !there(r, key_of(r, path)))
		path++;
	if (path < r->paths) {
		bool abort;

		try_conflict(r, path);
		abort = try_abort(r, path);
		try_paths(r, path, abort);
	}
	take_back(r);
}

void rf_pr_try(const struct rf_pr_try *t)
{
	struct trial r = {.t = t};
	char err[TEXT_BYTES / 2] = "";
	int n = t->ops->paths(t->dev, r.id, err, sizeof(err));
	enum rf_pr_status s;

	if (n <= 0) {
		say(&r, RF_PR_BAD, "another device, or another fence", "%s", err);
		return;
	}
	r.paths = (unsigned)n;
	s = look(&r);
	if (s != RF_PR_OK) {
		say(&r, RF_PR_BAD, "another fence", "no persistent reservations: %s", word(s));
		return;
	}
	say_abilities(&r);
	say_keys(&r);
	if (t->active && r.look.held)
		say(&r, RF_PR_UNTOLD, NULL,
		    "reserved: what it really does is not tried, since a key would let this "
		    "host write meanwhile");
	else if (t->active && (!r.look.count || t->in_use))
		act(&r);
	else if (t->active)
		say(&r, RF_PR_UNTOLD, NULL,
		    "in use: what it really does is not tried (--in-use tries it all the "
		    "same)");
}
