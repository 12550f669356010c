/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking a device over with persistent reservations (PROTOCOL §8a).
 *
 * Reservation type: write exclusive, registrants only. One key is registered, the
 * leader's, on each of its paths. What the target reports decides, never the return
 * code of a command: an error may hide success.
 *
 * The budget of a takeover on one path is three commands: register, preempt and
 * abort, one look that verifies (READ FULL STATUS or the NVMe report; a target that
 * knows neither needs two reads). Which keys to preempt is known before, from looks
 * that a follower takes from time to time; a wrong guess costs a round, not safety,
 * because PREEMPT names the key.
 *
 * The key says "not settled" until the answer to a takeover has been given: if this node
 * goes away before, the next one knows that it cannot rely on what was done here.
 *
 * Never: register-and-ignore, clear, and unregistering as the holder: with this type
 * the reservation would go with it and everybody could write.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pr.h"

#define TRIES 5u /* a path may have several unit attentions queued */
#define ROUNDS 6u
#define REST_MS 20u

__attribute__((format(printf, 4, 5))) static void say(struct rf_pr_answer *a,
						      enum rf_fence_result result, int error,
						      const char *fmt, ...)
{
	va_list ap;

	a->result = result;
	a->error = error;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
}

/* To be preempted. A test key is the doctor's: it must not outlive him as a registration
 * that can write. */
static bool older(const struct rf_pr *p, uint64_t key, uint64_t mine)
{
	return rf_pr_key_test(key) ||
	       (rf_pr_key_ours(key, p->tag) && rf_pr_key_epoch(key) < rf_pr_key_epoch(mine));
}

static bool there(const struct rf_pr_look *look, uint64_t key)
{
	for (unsigned i = 0; i < look->count; i++)
		if (rf_pr_key_same(look->key[i], key))
			return true;
	return false;
}

/* ---- commands, with patience ---- */

static enum rf_pr_status command(struct rf_pr *p, unsigned path, enum rf_pr_verb verb,
				 uint64_t own, uint64_t other)
{
	enum rf_pr_status s = RF_PR_ATTENTION;

	for (unsigned i = 0; i < TRIES && s == RF_PR_ATTENTION; i++) {
		p->commands++;
		s = p->ops->command(p->dev, p->path[path].id, verb, own, other);
	}
	return s;
}

/* The first path that answers. */
static bool look(struct rf_pr *p)
{
	enum rf_pr_status s = RF_PR_FAILED;

	for (unsigned i = 0; i < p->paths; i++) {
		for (unsigned n = 0; n < TRIES; n++) {
			s = p->ops->look(p->dev, p->path[i].id, &p->seen, &p->commands);
			if (s != RF_PR_ATTENTION)
				break;
		}
		if (s == RF_PR_OK) {
			p->seen_ms = p->ops->now_ms(p->dev);
			p->no_pr = false;
			return p->seen_good = true;
		}
	}
	p->no_pr = s == RF_PR_UNSUPPORTED;
	return p->seen_good = false;
}

/* ---- paths ---- */

/* What we know of a path goes with its id: a path that was away comes back without. */
static bool find_paths(struct rf_pr *p, struct rf_pr_answer *a)
{
	struct rf_pr_path now[RF_PR_PATHS_MAX] = {0};
	uint64_t id[RF_PR_PATHS_MAX];
	int n = p->ops->paths(p->dev, id, a->text, sizeof(a->text));

	for (int i = 0; i < n; i++) {
		now[i].id = id[i];
		for (unsigned k = 0; k < p->paths; k++)
			if (p->path[k].id == id[i])
				now[i].key = p->path[k].key;
	}
	memcpy(p->path, now, sizeof(now));
	p->paths = n > 0 ? (unsigned)n : 0;
	if (n > 0)
		return true;
	a->result = RF_FENCE_FAILED;
	a->error = n < 0 ? -n : ENODEV;
	return false;
}

static bool move_key(struct rf_pr *p, unsigned path, uint64_t from, uint64_t mine,
		     enum rf_pr_status *s)
{
	*s = command(p, path, RF_PR_REGISTER, from, mine);
	if (*s == RF_PR_OK)
		p->path[path].key = mine;
	return *s == RF_PR_OK;
}

/* A key of this node that may stand on a path, and may be replaced. */
static bool own_before(const struct rf_pr *p, uint64_t key, uint64_t mine)
{
	return rf_pr_key_ours(key, p->tag) && rf_pr_key_node(key) == p->node &&
	       rf_pr_key_epoch(key) <= rf_pr_key_epoch(mine) && key != mine;
}

/*
 * Own key on one path. An older key of this node is moved in place, which keeps the
 * reservation if it is the holder's. Only keys that are certainly older are named.
 */
static bool register_path(struct rf_pr *p, unsigned path, uint64_t mine)
{
	uint64_t before = p->path[path].key;
	enum rf_pr_status s;

	if (before == mine || move_key(p, path, before, mine, &s))
		return true;
	if (s != RF_PR_CONFLICT &&
	    s != RF_PR_ATTENTION) /* some report a conflict as any error */
		return false;
	for (unsigned i = 0; p->seen_good && i < p->seen.count; i++) {
		uint64_t key = p->seen.key[i];

		if (own_before(p, key, mine) && key != before &&
		    move_key(p, path, key, mine, &s))
			return true;
	}
	if (before && move_key(p, path, 0, mine, &s))
		return true;
	/* an error that hid success: it stands there already */
	return move_key(p, path, mine, mine, &s);
}

static unsigned register_all(struct rf_pr *p, uint64_t mine)
{
	unsigned good = 0;

	for (unsigned i = 0; i < p->paths; i++)
		good += register_path(p, i, mine);
	return good;
}

/* ---- judging a look ---- */

static bool foreign(const struct rf_pr *p, uint64_t *key)
{
	for (unsigned i = 0; i < p->seen.count; i++)
		if (!rf_pr_key_ours(p->seen.key[i], p->tag) &&
		    !rf_pr_key_test(p->seen.key[i])) {
			*key = p->seen.key[i];
			return true;
		}
	return false;
}

static bool bad_holder(const struct rf_pr *p)
{
	return p->seen.held && (p->seen.type != RF_PR_REGISTRANTS_ONLY ||
				!rf_pr_key_ours(p->seen.holder, p->tag));
}

/* May I go on? A newer key: I am stale. */
static bool may_go_on(struct rf_pr *p, uint64_t mine, struct rf_pr_answer *a)
{
	uint64_t newest = rf_pr_key_epoch(mine), key;

	for (unsigned i = 0; i < p->seen.count; i++) {
		key = p->seen.key[i];
		if (!rf_pr_key_ours(key, p->tag))
			continue;
		if (rf_pr_key_epoch(key) > newest)
			newest = rf_pr_key_epoch(key);
		if (rf_pr_key_epoch(key) == rf_pr_key_epoch(mine) &&
		    !rf_pr_key_same(key, mine)) {
			say(a, RF_FENCE_FAILED, EBUSY,
			    "node %u is registered with epoch %" PRIu64
			    " too: two hosts with one node id, or two areas of one id?",
			    rf_pr_key_node(key), (uint64_t)rf_pr_key_epoch(key));
			return false;
		}
	}
	if (newest > rf_pr_key_epoch(mine)) {
		say(a, RF_FENCE_STALE, ESTALE, "reservation: epoch %" PRIu64 " is registered",
		    newest);
		a->epoch = newest;
		return false;
	}
	if (!foreign(p, &key) && !bad_holder(p))
		return true;
	if (foreign(p, &key))
		say(a, RF_FENCE_FAILED, EBUSY,
		    "foreign key 0x%016" PRIx64 " is registered on the device: find out whose "
		    "it is (sg_persist --in -k) and remove it",
		    key);
	else
		say(a, RF_FENCE_FAILED, EBUSY,
		    "the device is reserved by key 0x%016" PRIx64
		    " with type %u, not by ringfence: remove that reservation",
		    p->seen.holder, p->seen.type);
	return false;
}

static bool alone(const struct rf_pr *p, uint64_t mine)
{
	if (!p->seen_good || !p->seen.held || !rf_pr_key_same(p->seen.holder, mine) ||
	    p->seen.type != RF_PR_REGISTRANTS_ONLY)
		return false;
	for (unsigned i = 0; i < p->seen.count; i++)
		if (!rf_pr_key_same(p->seen.key[i], mine))
			return false;
	return p->seen.count > 0;
}

/* ---- one round: register, reserve or preempt, look ---- */

static void begin_grace(struct rf_pr *p)
{
	p->quiet_ms = p->ops->now_ms(p->dev) + p->grace_ms;
}

/*
 * A key that was never settled, of somebody who went away (or of this node, before its
 * fencer died): what it preempted may still have writes on their way, whatever becomes
 * of the key itself. first: this takeover has not yet registered a key of its own.
 */
static void distrust(struct rf_pr *p, uint64_t mine, bool first)
{
	for (unsigned i = 0; i < p->seen.count; i++) {
		uint64_t key = p->seen.key[i];

		if (rf_pr_key_ours(key, p->tag) && key & RF_PR_UNSETTLED &&
		    !rf_pr_key_same(key, p->held) && (first || !rf_pr_key_same(key, mine))) {
			begin_grace(p);
			return;
		}
	}
}

/* The abort counts only with its own good status. Without one the key may be gone
 * and the victim's commands not: then the grace has to pass. */
static enum rf_pr_status preempt_on(struct rf_pr *p, unsigned path, uint64_t mine,
				    uint64_t victim)
{
	enum rf_pr_status s = RF_PR_UNSUPPORTED;
	unsigned before = p->commands;

	if (!p->no_abort)
		s = command(p, path, RF_PR_PREEMPT_ABORT, mine, victim);
	if (s == RF_PR_FAILED || s == RF_PR_ATTENTION)
		p->unsure = true;
	/* the victim is gone: by the try whose answer was an error? */
	if (s == RF_PR_CONFLICT && p->commands > before + 1)
		p->unsure = true;
	if (s != RF_PR_UNSUPPORTED && s != RF_PR_ATTENTION)
		return s;
	before = p->commands;
	s = command(p, path, RF_PR_PREEMPT, mine, victim);
	if (s == RF_PR_OK) {
		p->no_abort = true;
		begin_grace(p);
	} else if (s != RF_PR_CONFLICT || p->commands > before + 1) {
		p->unsure = true;
	}
	return s;
}

static void preempt(struct rf_pr *p, uint64_t mine, uint64_t victim)
{
	for (unsigned i = 0; i < p->paths; i++) {
		enum rf_pr_status s;

		if (p->path[i].key != mine)
			continue;
		/* a conflict: the victim is gone, or this path may not. Linux's target
		 * refuses a session whose initiator name holds the reservation from an
		 * earlier one. */
		s = preempt_on(p, i, mine, victim);
		if (s == RF_PR_OK)
			return;
	}
}

/* Every older key, each once: the registrations of two paths carry one key. */
static void preempt_older(struct rf_pr *p, uint64_t mine)
{
	const struct rf_pr_look s = p->seen;

	for (unsigned i = 0; i < s.count; i++) {
		bool again = false;

		for (unsigned k = 0; k < i; k++)
			again |= s.key[k] == s.key[i];
		if (!again && older(p, s.key[i], mine))
			preempt(p, mine, s.key[i]);
	}
}

static void reserve(struct rf_pr *p, uint64_t mine)
{
	for (unsigned i = 0; i < p->paths; i++)
		if (p->path[i].key == mine) {
			enum rf_pr_status s = command(p, i, RF_PR_RESERVE, mine, 0);

			if (s == RF_PR_OK || s == RF_PR_CONFLICT)
				return;
		}
}

/* Moved in place by register_path: these keys are no victims any more. */
static void forget_moved(struct rf_pr *p, uint64_t mine, uint64_t before)
{
	if (!before || before == mine)
		return;
	for (unsigned i = 0; i < p->paths; i++)
		if (p->path[i].key == before)
			return;
	for (unsigned i = 0; i < p->seen.count; i++)
		if (rf_pr_key_same(p->seen.key[i], before)) /* may be settled since */
			p->seen.key[i] = mine;
	if (rf_pr_key_same(p->seen.holder, before))
		p->seen.holder = mine;
}

static bool round_of(struct rf_pr *p, uint64_t mine)
{
	uint64_t before = p->paths ? p->path[0].key : 0;

	p->refused = !register_all(p, mine);
	if (p->refused)
		return false;
	forget_moved(p, mine, before);
	if (!p->seen.held) { /* §7: who wrote here until now is not aborted */
		reserve(p, mine);
		begin_grace(p);
		p->found_free = true;
	}
	preempt_older(p, mine);
	if (!look(p))
		return false;
	if (!there(&p->seen, mine)) /* preempted meanwhile: nothing of ours stands there */
		for (unsigned i = 0; i < p->paths; i++)
			p->path[i].key = 0;
	if (p->unsure) {
		p->unsure = false;
		begin_grace(p);
	}
	return true;
}

/*
 * I am stale and registered beside the newer one: off, so that no old write of this
 * host passes. Not as the holder: the newer one preempts it, and the reservation
 * stays without a gap.
 */
static void step_back(struct rf_pr *p)
{
	for (unsigned i = 0; i < p->paths; i++) {
		uint64_t key = p->path[i].key;

		if (!key || !p->seen_good || (p->seen.held && p->seen.holder == key))
			continue;
		if (!p->seen.held)
			continue; /* who knows who will hold it */
		command(p, i, RF_PR_REGISTER, key, 0);
		p->path[i].key = 0;
	}
	p->held = 0;
}

static bool wait_grace(struct rf_pr *p)
{
	while (p->ops->now_ms(p->dev) < p->quiet_ms) {
		if (p->ops->urgent(p->dev))
			return false;
		p->ops->rest(p->dev, REST_MS);
	}
	return true;
}

static const char *why_waited(const struct rf_pr *p)
{
	return p->found_free ? "; nothing was reserved: waited the grace"
	       : p->no_abort ? "; the target lacks abort: waited the grace"
			     : "; an abort has no clear answer: waited the grace";
}

static void taken(struct rf_pr *p, uint64_t mine, bool waited, struct rf_pr_answer *a)
{
	unsigned good = 0;

	for (unsigned i = 0; i < p->paths; i++)
		good += p->path[i].key == mine;
	p->held = mine;
	p->cost = p->commands;
	say(a, RF_FENCE_OK, 0, "reserved on %u of %u paths, commands=%u%s", good, p->paths,
	    p->commands, waited ? why_waited(p) : "");
}

static void not_taken(struct rf_pr *p, struct rf_pr_answer *a)
{
	if (p->no_pr)
		say(a, RF_FENCE_UNSUPPORTED, EOPNOTSUPP,
		    "the device knows no persistent reservations: use another fence");
	else if (p->refused)
		say(a, RF_FENCE_UNCERTAIN, EIO,
		    "no path of %u accepts the registration, commands=%u", p->paths,
		    p->commands);
	else if (p->seen_good)
		say(a, RF_FENCE_UNCERTAIN, EAGAIN,
		    "the reservation does not settle: %u keys, holder 0x%016" PRIx64
		    ", commands=%u",
		    p->seen.count, p->seen.held ? p->seen.holder : 0, p->commands);
	else
		say(a, RF_FENCE_UNCERTAIN, EIO,
		    "none of %u paths answers a reservation command", p->paths);
}

static bool looked_lately(const struct rf_pr *p)
{
	return p->seen_good && p->ops->now_ms(p->dev) - p->seen_ms < p->fresh_ms;
}

static void take_rounds(struct rf_pr *p, uint64_t mine, struct rf_pr_answer *a)
{
	bool waited = false;

	p->found_free = false;
	for (unsigned n = 0; n < ROUNDS; n++) {
		if (!may_go_on(p, mine, a)) {
			step_back(p);
			return;
		}
		distrust(p, mine, n == 0);
		if (!round_of(p, mine))
			break;
		if (!alone(p, mine))
			continue;
		if (p->ops->now_ms(p->dev) >= p->quiet_ms) {
			taken(p, mine, waited, a);
			return;
		}
		waited = true;
		if (!wait_grace(p)) {
			say(a, RF_FENCE_FAILED, EAGAIN, "interrupted in the grace");
			return;
		}
	}
	not_taken(p, a);
}

/* A key holds the low bits only: those of another epoch must not pass for this one. */
static bool fits(uint64_t epoch, struct rf_pr_answer *a)
{
	if (epoch && epoch <= RF_PR_EPOCH_MAX)
		return true;
	say(a, RF_FENCE_FAILED, EOVERFLOW, "epoch %" PRIu64 " does not fit in a key", epoch);
	return false;
}

void rf_pr_take(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a)
{
	uint64_t mine = rf_pr_key(p->tag, p->node, epoch) | RF_PR_UNSETTLED;

	a->epoch = epoch;
	if (!fits(epoch, a))
		return;
	if (rf_pr_key_same(p->held, mine) && p->ops->now_ms(p->dev) >= p->quiet_ms) {
		say(a, RF_FENCE_OK, 0, "reserved"); /* checked from time to time */
		return;
	}
	p->commands = 0;
	p->refused = false;
	if (!find_paths(p, a))
		return;
	if (!looked_lately(p) && !look(p))
		not_taken(p, a);
	else
		take_rounds(p, mine, a);
}

/* ---- verify, leave, check ---- */

void rf_pr_verify(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a)
{
	uint64_t mine = rf_pr_key(p->tag, p->node, epoch);

	a->epoch = epoch;
	if (!fits(epoch, a) || !find_paths(p, a))
		return;
	if (!look(p)) {
		not_taken(p, a);
		return;
	}
	if (!may_go_on(p, mine, a))
		return;
	if (alone(p, mine))
		say(a, RF_FENCE_OK, 0, "reserved");
	else
		say(a, RF_FENCE_FAILED, ENOENT, "not reserved for epoch %" PRIu64, epoch);
}

/*
 * There is no way to shut oneself out and keep everybody else out: the holder that
 * unregisters opens the device to all. So the key stays, and the next leader's
 * preempt is what ends the writes of this one; before it no other is granted.
 */
void rf_pr_leave(struct rf_pr *p, uint64_t epoch, struct rf_pr_answer *a)
{
	uint64_t mine = rf_pr_key(p->tag, p->node, epoch), held = p->held;

	a->epoch = epoch;
	p->held = 0;
	if (!find_paths(p, a))
		return;
	if (held & RF_PR_UNSETTLED)
		register_all(p, held & ~RF_PR_UNSETTLED);
	if (!look(p)) {
		if (p->no_pr && !held)
			say(a, RF_FENCE_OK, 0, "nothing was granted: no reservations here");
		else
			not_taken(p, a);
		return;
	}
	if (epoch && !may_go_on(p, mine, a) && a->result == RF_FENCE_STALE) {
		step_back(p);
		return;
	}
	say(a, RF_FENCE_OK, 0,
	    p->seen.held && rf_pr_key_node(p->seen.holder) == p->node
		    ? "the reservation stays with this node until the next leader takes it"
		    : "this node does not hold the reservation");
}

/* The look says that another leadership, or none, is in force. */
static bool not_mine(const struct rf_pr *p, uint64_t mine)
{
	if (!p->seen.held || !rf_pr_key_same(p->seen.holder, mine))
		return true;
	for (unsigned i = 0; i < p->seen.count; i++)
		if (rf_pr_key_ours(p->seen.key[i], p->tag) &&
		    rf_pr_key_epoch(p->seen.key[i]) > rf_pr_key_epoch(mine))
			return true;
	return false;
}

static bool lost(struct rf_pr *p, struct rf_pr_answer *a)
{
	uint64_t mine = p->held;

	a->epoch = rf_pr_key_epoch(mine);
	if (!not_mine(p, mine))
		say(a, RF_FENCE_FAILED, ENOENT,
		    "reservation lost: a session of this host is new to the target, which "
		    "refuses its writes although its key 0x%016" PRIx64 " stands",
		    mine);
	else if (may_go_on(p, mine, a) || a->result != RF_FENCE_STALE)
		say(a, RF_FENCE_FAILED, ENOENT,
		    p->seen.held ? "reservation lost: key 0x%016" PRIx64 " holds it"
				 : "reservation lost: the target forgot it (restart without "
				   "APTPL?), key 0x%016" PRIx64 " is gone",
		    p->seen.held ? p->seen.holder : mine);
	a->epoch = rf_pr_key_epoch(mine);
	step_back(p);
	for (unsigned i = 0; i < p->paths; i++)
		p->path[i].key = 0;
	return true;
}

/* true: a path that had nothing of ours has the key now. */
static bool fill_gaps(struct rf_pr *p, uint64_t mine)
{
	unsigned had = 0, good = 0;

	for (unsigned i = 0; i < p->paths; i++)
		had += p->path[i].key != 0;
	p->gaps = p->paths - register_all(p, mine);
	for (unsigned i = 0; i < p->paths; i++)
		good += p->path[i].key != 0;
	return good > had;
}

/*
 * A session that came back under another identity is somebody else to the target: what
 * was registered through the old one is not its own, and its writes are refused although
 * the key stands. Reading does not show that; changing the key into itself does, which is
 * refused to who is not registered. One path a check, in turn.
 */
static bool stranger(struct rf_pr *p, uint64_t mine)
{
	unsigned i = p->turn++ % p->paths;

	return p->path[i].key == mine &&
	       command(p, i, RF_PR_REGISTER, mine, mine) == RF_PR_CONFLICT;
}

bool rf_pr_check(struct rf_pr *p, struct rf_pr_answer *a)
{
	uint64_t mine = p->held & ~RF_PR_UNSETTLED;

	if (!find_paths(p, a) || !look(p) || !mine)
		return false; /* a path that is cut proves nothing */
	if (not_mine(p, mine))
		return lost(p, a);
	/* Settled, with the first look after it. A path that comes back: this node may have
	 * been preempted since that look, and nobody else would see so soon that it is
	 * registered again. */
	if (fill_gaps(p, mine) && look(p) && not_mine(p, mine))
		return lost(p, a);
	p->held = mine;
	preempt_older(p, mine); /* a stale one that registered late must not stay */
	/* Not registered anew: the next takeover settles who holds the reservation, too. */
	return stranger(p, mine) && look(p) && lost(p, a);
}
