/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence fence, unfence, confirm-fenced: a stop order through the quorum disks.
 *
 * Works with every daemon of this host dead: the tool writes the order itself, reads
 * it back, and looks at the slot of the node. Success means verified (CASES 1).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "format/timing.h"
#include "mailbox.h"
#include "out.h"
#include "tool.h"
#include "victim.h"
#include "worker.h"

#define TRIES 5u
#define MARGIN_MS 5000u

static const char *config_path = RF_CONFIG_PATH;
static bool wait_wanted, force, timeout_given;
static uint32_t timeout_ms;
static struct rf_config config; /* too large for the stack */

#define CONFIG_OPT                                                                    \
	{                                                                             \
		"config", "FILE",                                                     \
			"names the disks unless DEVICEs do; default " RF_CONFIG_PATH, \
			OPT_TEXT, &config_path, NULL                                  \
	}
#define TIMEOUT_OPT                                                                            \
	{                                                                                      \
		"timeout", "TIME", "give up then; default: long enough for the way by expiry", \
			OPT_SEC, &timeout_ms, &timeout_given                                   \
	}

static const struct opt fence_opts[] = {
	{"wait", NULL, "until it is certain that the node has stopped", OPT_FLAG, &wait_wanted,
	 NULL},
	TIMEOUT_OPT,
	CONFIG_OPT,
	{0},
};

static const struct opt unfence_opts[] = {
	TIMEOUT_OPT,
	CONFIG_OPT,
	{0},
};

static const struct opt confirm_opts[] = {
	{"force", NULL, "I have made sure myself that the node is off (required)", OPT_FLAG,
	 &force, NULL},
	TIMEOUT_OPT,
	CONFIG_OPT,
	{0},
};

/* One area in which the node is dealt with. */
struct scene {
	struct disk_set set;
	uint32_t node;
	struct rf_slot slot;
	struct rf_mailbox order; /* seq 0: none was needed */
	struct victim victim;
	enum victim_way way;
	unsigned stands; /* on so many disks */
	uint64_t begin_ns, end_ns;
	int rc;
};

static struct {
	unsigned count;
	struct scene area[RF_AREAS_MAX];
} all;

static void rest(uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* ---- which areas, which node ---- */

static int load_config(void)
{
	char err[512];
	int rc = rf_config_load(&config, config_path, NULL, NULL, err, sizeof(err));

	return rc ? fail(rc == -EACCES ? RF_EXIT_PERMISSION : RF_EXIT_CONFIG, "%s", err) : 0;
}

static int open_configured(void)
{
	int rc = load_config();

	for (uint32_t a = 0; a < config.areas && !rc; a++) {
		const char *paths[RF_DISKS_MAX];
		struct scene *s = &all.area[a];

		for (uint32_t d = 0; d < config.area[a].disks; d++)
			paths[d] = config.area[a].disk[d];
		rc = mailbox_open(&s->set, config.area[a].disks, paths);
		if (rc)
			break;
		all.count++;
		if (strcmp(config.cluster, s->set.super.cluster_name))
			rc = fail(RF_EXIT_BAD_DATA,
				  "%s: area of cluster '%s', the configuration says '%s'",
				  s->set.disk[0].path, s->set.super.cluster_name,
				  config.cluster);
	}
	return rc;
}

static int open_areas(int argc, char **argv)
{
	int rc;

	if (!argc)
		return open_configured();
	rc = mailbox_open(&all.area[0].set, (unsigned)argc, (const char *const *)argv);
	all.count = !rc;
	return rc;
}

static int by_host(struct scene *s, const char *host)
{
	unsigned hits = 0;

	for (uint32_t n = 1; n <= s->set.super.id.nodes; n++) {
		struct rf_slot slot;

		if (mailbox_slot(&s->set, n, &slot) && !strcmp(slot.host, host)) {
			s->node = n;
			hits++;
		}
	}
	if (hits == 1)
		return 0;
	return hits ? fail(RF_EXIT_BAD_VALUE,
			   "%s: %u nodes have had this host name: give the node id", host, hits)
		    : fail(RF_EXIT_NO_SUCH, "%s: no node with this host name on %s", host,
			   s->set.disk[0].path);
}

static int find_node(struct scene *s, const char *name)
{
	uint64_t id;

	if (!parse_u64(name, 10, &id))
		return by_host(s, name);
	if (id < 1 || id > s->set.super.id.nodes)
		return fail(RF_EXIT_NO_SUCH,
			    "%s: no such node: the area on %s has nodes 1 to %u", name,
			    s->set.disk[0].path, s->set.super.id.nodes);
	s->node = (uint32_t)id;
	return 0;
}

/* A record that is being written may be torn for a moment. */
static int read_slot(struct scene *s)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (mailbox_slot(&s->set, s->node, &s->slot))
			return 0;
		rest(s->set.super.timing.heartbeat_ms);
	}
	return fail(RF_EXIT_CANNOT_TELL,
		    "%s: the slot of node %u at byte %" PRIu64
		    " is unreadable: whether the node lives, and which life an order must "
		    "name, cannot be told. Cut its power, then `ringfence confirm-fenced`",
		    s->set.disk[0].path, s->node,
		    s->set.disk[0].base_bytes + rf_geo_slot(&s->set.super, s->node));
}

/* ---- the order ---- */

static int put(struct scene *s, uint32_t order, uint64_t incarnation)
{
	struct mailbox_state box;

	mailbox_read(&s->set, s->node, &box);
	s->order = (struct rf_mailbox){
		.seq = (box.seq > s->slot.order_seq ? box.seq : s->slot.order_seq) + 1,
		.incarnation = incarnation,
		.unix_ns = rf_unix_ns(),
		.order = order};
	s->stands = mailbox_write(&s->set, s->node, &s->order);
	if (s->stands >= mailbox_majority(&s->set))
		return 0;
	return fail(RF_EXIT_IO,
		    "node %u is NOT stopped: the order stands on %u of %u quorum disks, a "
		    "majority is needed",
		    s->node, s->stands, s->set.super.disk_count);
}

/* An order that was obeyed before need not be written again. */
static bool obeyed_before(struct scene *s)
{
	struct mailbox_state box;

	mailbox_read(&s->set, s->node, &box);
	for (unsigned i = 0; i < box.stops; i++)
		if (box.stop[i].incarnation == s->slot.incarnation &&
		    victim_says(&s->slot, s->slot.incarnation, box.stop[i].seq) ==
			    VICTIM_ANSWERED)
			return true;
	return false;
}

/* Order the life that has the slot; if another one took it meanwhile, that one. */
static int order_stop(struct scene *s)
{
	s->begin_ns = s->end_ns = rf_boot_ns();
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t life;
		int rc = read_slot(s);

		if (rc)
			return rc;
		life = s->slot.incarnation;
		if (s->slot.state == RF_SLOT_FREE)
			s->way = VICTIM_LEFT;
		else if (obeyed_before(s))
			s->way = VICTIM_ANSWERED;
		if (s->way != VICTIM_WAITING)
			return 0;
		rc = put(s, RF_ORDER_STOP, life);
		if (!rc)
			rc = read_slot(s);
		if (rc)
			return rc;
		victim_begin(&s->victim, &s->set.super.timing, &s->slot, s->order.seq,
			     rf_boot_ns());
		if (s->slot.incarnation == life)
			return 0;
	}
	return fail(RF_EXIT_AGAIN, "node %u: a new life took its slot %u times: try again",
		    s->node, TRIES);
}

static int gave_up(const struct scene *s, bool readable)
{
	if (!readable)
		return fail(RF_EXIT_CANNOT_TELL,
			    "%s: the slot of node %u cannot be read any more: whether it "
			    "stopped cannot be told",
			    s->set.disk[0].path, s->node);
	if (s->victim.drains_not)
		return fail(RF_EXIT_TIMED_OUT,
			    "node %u has obeyed but a gate of it does not drain: writes may "
			    "still land. Cut its power, then `ringfence confirm-fenced %u`",
			    s->node, s->node);
	return fail(RF_EXIT_TIMED_OUT,
		    "node %u has not answered order %" PRIu64
		    " and its slot still moves or has not rested for %" PRIu64
		    " ms: it may be writing. The order stands; wait longer, or cut its power "
		    "and `ringfence confirm-fenced %u`",
		    s->node, s->order.seq, (uint64_t)(s->victim.expiry_ns / RF_MS_NS), s->node);
}

/* Expired says that it cannot go on as it was; that it stops when it looks again is
 * the order's doing, so the order must still be there. */
static int verified(struct scene *s)
{
	if (s->way == VICTIM_EXPIRED && !s->victim.later &&
	    mailbox_stands(&s->set, s->node, &s->order) < mailbox_majority(&s->set)) {
		s->way = VICTIM_WAITING;
		return fail(RF_EXIT_IO, "node %u: somebody replaced the order: try again",
			    s->node);
	}
	return 0;
}

static int wait_stopped(struct scene *s, uint64_t until_ns)
{
	uint32_t pause = s->set.super.timing.heartbeat_ms / 4 + 1;
	bool readable = true;

	while (s->way == VICTIM_WAITING) {
		uint64_t begun = rf_boot_ns();

		readable = mailbox_slot(&s->set, s->node, &s->slot);
		s->end_ns = rf_boot_ns();
		if (readable)
			s->way = victim_look(&s->victim, &s->slot, begun, s->end_ns);
		if (s->way == VICTIM_WAITING && s->end_ns >= until_ns)
			return gave_up(s, readable);
		if (s->way == VICTIM_WAITING)
			rest(pause);
	}
	return verified(s);
}

/* ---- what is said ---- */

static const char *way_words(enum victim_way way)
{
	static const char *const t[] = {"unverified", "left", "answered", "expired"};

	return t[way];
}

static const char *explain(const struct scene *s)
{
	switch (s->way) {
	case VICTIM_LEFT:
		return "stopped: it left cleanly, its slot says so";
	case VICTIM_ANSWERED:
		return "stopped: it obeyed, all its gates are shut and drained";
	case VICTIM_EXPIRED:
		return s->victim.later ? "the life that was ordered is over, its leases have "
					 "run out; a later life of the node has joined since"
				       : "stopped: its slot has not moved, its leases have run "
					 "out and the grace is over";
	case VICTIM_WAITING:
		break;
	}
	return "ordered, not verified: it may still be writing";
}

static void row(struct json_object *a, const struct scene *s)
{
	struct json_object *o = out_row(a);

	out_text(o, "cluster", s->set.super.cluster_name);
	out_uuid(o, "area_uuid", s->set.super.id.area);
	out_int(o, "node", s->node);
	out_text(o, "host", s->slot.host[0] ? s->slot.host : NULL);
	out_u64(o, "incarnation", s->slot.incarnation);
	out_format(o, "incarnation_hex", "%016" PRIx64, s->slot.incarnation);
	if (s->order.seq)
		out_u64(o, "order_sequence", s->order.seq);
	else
		out_u64_null(o, "order_sequence");
	out_int(o, "disks_ordered", s->stands);
	out_bool(o, "verified", s->way != VICTIM_WAITING && !s->rc);
	out_text(o, "way", way_words(s->way));
	out_bool(o, "later_life", s->victim.later);
	out_int(o, "waited_ms", (int64_t)((s->end_ns - s->begin_ns) / RF_MS_NS));
	out_int(o, "exit", s->rc);
}

static int report(const char *const words[RF_AREAS_MAX])
{
	struct json_object *doc = out_doc(), *a = out_array(doc, "areas");
	int rc = 0;

	for (unsigned i = 0; i < all.count; i++) {
		const struct scene *s = &all.area[i];

		row(a, s);
		if (!rc)
			rc = s->rc;
		if (!tool.json && words[i])
			printf("node %u%s%s%s: %s (%s)\n", s->node, s->slot.host[0] ? " (" : "",
			       s->slot.host, s->slot.host[0] ? ")" : "", words[i],
			       s->set.disk[0].path);
	}
	if (tool.json)
		out_print(doc);
	else
		json_object_put(doc);
	return rc;
}

/* ---- the three commands, in the worker ---- */

static uint64_t give_up_ns(const struct scene *s, uint64_t begin_ns)
{
	uint64_t ns = timeout_given ? timeout_ms * RF_MS_NS
				    : 2 * victim_expiry_ns(&s->set.super.timing) +
					      MARGIN_MS * RF_MS_NS;

	worker_deadline(begin_ns + ns + MARGIN_MS * RF_MS_NS);
	return begin_ns + ns;
}

static int begin(int argc, char **argv)
{
	int rc;

	mailbox_doing = worker_doing;
	rc = open_areas(argc - 1, argv + 1);
	for (unsigned i = 0; i < all.count && !rc; i++)
		rc = find_node(&all.area[i], argv[0]);
	return rc;
}

static int do_fence(int argc, char **argv)
{
	const char *words[RF_AREAS_MAX] = {NULL};
	int rc = begin(argc, argv);

	if (rc)
		return rc;
	for (unsigned i = 0; i < all.count; i++)
		all.area[i].rc = order_stop(&all.area[i]);
	for (unsigned i = 0; i < all.count; i++) {
		struct scene *s = &all.area[i];

		if (!s->rc && wait_wanted)
			s->rc = wait_stopped(s, give_up_ns(s, s->begin_ns));
		else if (!s->rc && s->way == VICTIM_WAITING)
			s->rc = RF_EXIT_CANNOT_TELL;
		if (!s->rc || s->rc == RF_EXIT_CANNOT_TELL)
			words[i] = explain(s);
	}
	return report(words);
}

/* §1: an order can only be replaced by one at least as strong, until it is obeyed or
 * the life that it names is over. */
static int may_unfence(const struct scene *s, const struct mailbox_state *box)
{
	if (box->readable < mailbox_majority(&s->set))
		return fail(RF_EXIT_CANNOT_TELL,
			    "the mailbox of node %u is unreadable on %u disks: whether an "
			    "order stands there cannot be told",
			    s->node, box->unreadable);
	for (unsigned i = 0; i < box->stops; i++) {
		const struct rf_mailbox *m = &box->stop[i];

		if (m->incarnation == s->slot.incarnation &&
		    victim_says(&s->slot, m->incarnation, m->seq) == VICTIM_WAITING)
			return fail(RF_EXIT_UNSAFE,
				    "node %u has not answered order %" PRIu64
				    ": an order can only be replaced by one at least as "
				    "strong. `ringfence fence %u --wait` says when it is over",
				    s->node, m->seq, s->node);
	}
	return 0;
}

static int unfence_one(struct scene *s, const char **words)
{
	struct mailbox_state box;
	int rc = read_slot(s);

	s->begin_ns = s->end_ns = rf_boot_ns();
	if (rc)
		return rc;
	mailbox_read(&s->set, s->node, &box);
	rc = may_unfence(s, &box);
	if (rc)
		return rc;
	*words = "no order stands against it";
	if (box.stops || box.unreadable)
		rc = put(s, RF_ORDER_NONE, 0);
	if (!rc && s->slot.state == RF_SLOT_JOINED && (s->slot.health & RF_HEALTH_STOPPED))
		*words = "no order stands against it; it stays stopped until its ringfenced is "
			 "restarted";
	return rc;
}

/* An order of its own in each area; what became of it in words. */
static int in_each(int argc, char **argv, int (*one)(struct scene *s, const char **words))
{
	const char *words[RF_AREAS_MAX] = {NULL};
	int rc = begin(argc, argv);

	if (rc)
		return rc;
	for (unsigned i = 0; i < all.count; i++) {
		struct scene *s = &all.area[i];

		s->rc = one(s, &words[i]);
		if (s->rc)
			words[i] = NULL;
	}
	return report(words);
}

static int do_unfence(int argc, char **argv)
{
	return in_each(argc, argv, unfence_one);
}

/* A node whose slot moves lives, whatever somebody believes to have switched off. */
static int confirm_one(struct scene *s, const char **words)
{
	struct rf_slot first;
	int rc = read_slot(s);

	s->begin_ns = s->end_ns = rf_boot_ns();
	if (rc == RF_EXIT_CANNOT_TELL) {
		*words =
			"confirmed by hand; its slot is unreadable, so no order could be given";
		return 0;
	}
	first = s->slot;
	if (!rc && first.state != RF_SLOT_FREE) {
		rest(s->set.super.timing.suspect_ms);
		rc = read_slot(s);
	}
	if (rc)
		return rc;
	if (s->slot.seq != first.seq)
		return fail(RF_EXIT_NO,
			    "node %u lives: its slot moves. `ringfence fence %u` "
			    "tells it to stop",
			    s->node, s->node);
	*words = "confirmed by hand: it left cleanly before";
	if (first.state == RF_SLOT_FREE)
		return 0;
	*words = "confirmed by hand, not verified; should it wake up, an order to stop waits "
		 "for it";
	return put(s, RF_ORDER_STOP, s->slot.incarnation);
}

static int do_confirm(int argc, char **argv)
{
	return in_each(argc, argv, confirm_one);
}

static int run_fence(int argc, char **argv)
{
	if (timeout_given && !wait_wanted)
		return fail(RF_EXIT_USAGE, "--timeout goes with --wait");
	return worker_run(do_fence, argc, argv, MARGIN_MS);
}

static int run_unfence(int argc, char **argv)
{
	return worker_run(do_unfence, argc, argv, timeout_given ? timeout_ms : MARGIN_MS);
}

static int run_confirm(int argc, char **argv)
{
	if (!force)
		return fail(
			RF_EXIT_UNSAFE,
			"says that node %s is off without having verified it: if it is not, "
			"its writes and another leader's will mix. With its power cut, add "
			"--force",
			argv[0]);
	return worker_run(do_confirm, argc, argv, timeout_given ? timeout_ms : 30000);
}

#define ARGS "NODE [DEVICE...]"

const struct command cmd_fence = {
	.name = "fence",
	.args = ARGS,
	.brief = "tell a node to stop, through the quorum disks",
	.opts = fence_opts,
	.min_args = 1,
	.max_args = 1 + RF_DISKS_MAX,
	.run = run_fence,
};

const struct command cmd_unfence = {
	.name = "unfence",
	.args = ARGS,
	.brief = "take back an order that was obeyed",
	.opts = unfence_opts,
	.min_args = 1,
	.max_args = 1 + RF_DISKS_MAX,
	.run = run_unfence,
};

const struct command cmd_confirm_fenced = {
	.name = "confirm-fenced",
	.args = ARGS,
	.brief = "state that a node is off, on your own responsibility",
	.opts = confirm_opts,
	.min_args = 1,
	.max_args = 1 + RF_DISKS_MAX,
	.run = run_confirm,
};
