/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket with arbitrary clients.
 *
 * One real server; each input is a script: clients come, ask properly or talk
 * nonsense, do not read, leave; roles change, work is cancelled, events happen.
 * What must hold: every packet from the daemon is one of control.h and whole;
 * each request gets one answer or the end of the connection; BEGIN and END take
 * turns and none is lost; nobody is called quiet who was begun and did not say so.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/control_state.h"

#define VOLUMES 3u
#define GUESTS_MAX 40u /* more than there are seats */

struct guest {
	int fd; /* 0 = none */
	bool ended, works, taken, forfeit;
	uint32_t sent, answered, rows;
	uint64_t sequence, epoch, said; /* bit e % 64: QUIET of e, maybe before BEGIN came */
	char watches[RF_NAME_BYTES];
};

static struct {
	struct feed feed;
	struct rf_control *control;
	struct guest guest[GUESTS_MAX];
	struct rf_control_now now[VOLUMES];
	bool cancelled[VOLUMES];
	uint64_t cancelled_epoch[VOLUMES];
	bool changing[VOLUMES]; /* a change is being committed */
	bool reading[VOLUMES], giving;
	char dir[64], path[96];
} w;

static const char *const names[VOLUMES] = {"alpha", "beta", "gamma"};

static void need(bool x, const char *what)
{
	if (x)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* ---- the owner ---- */

static int op_find(void *world, const char *volume)
{
	(void)world;
	for (uint32_t i = 0; i < VOLUMES; i++)
		if (!strcmp(names[i], volume))
			return (int)i;
	return -ENOENT;
}

static const char *op_name(void *world, uint32_t volume)
{
	(void)world;
	need(volume < VOLUMES, "volume exists (name)");
	return names[volume];
}

static void op_now(void *world, uint32_t volume, struct rf_control_now *now)
{
	(void)world;
	need(volume < VOLUMES, "volume exists (now)");
	*now = w.now[volume];
}

static uint32_t op_heir(void *world, uint32_t volume, uint32_t node,
			char text[RF_CTL_TEXT_BYTES])
{
	(void)world;
	need(volume < VOLUMES, "volume exists (heir)");
	strcpy(text, "not that one");
	return node < 1 || node > 3 ? RF_EXIT_NO_SUCH : node == 3 ? RF_EXIT_AGAIN : 0;
}

static size_t row_bytes(uint32_t kind)
{
	switch (kind) {
	case RF_CTL_ROW_CHANGE:
		return sizeof(struct rf_ctl_change);
	case RF_CTL_DONE:
		return sizeof(struct rf_ctl_done);
	case RF_CTL_ROW_DAEMON:
		return sizeof(struct rf_ctl_daemon);
	case RF_CTL_ROW_AREA:
		return sizeof(struct rf_ctl_area);
	case RF_CTL_ROW_VOLUME:
		return sizeof(struct rf_ctl_volume);
	case RF_CTL_ROW_NODE:
		return sizeof(struct rf_ctl_node);
	case RF_CTL_EVENT:
		return sizeof(struct rf_ctl_event);
	case RF_CTL_ROW_DATA:
		return sizeof(struct rf_ctl_data);
	case RF_CTL_ROW_METRIC:
		return sizeof(struct rf_ctl_metric);
	case RF_CTL_ROW_WORK:
		return sizeof(struct rf_ctl_work);
	default:
		return 0;
	}
}

static void op_status(void *world, int volume, rf_control_row row, void *client)
{
	uint32_t n = volume < 0 ? feed_u8(&w.feed) : 1;
	union {
		struct rf_ctl_head h;
		struct rf_ctl_daemon daemon;
		struct rf_ctl_area area;
		struct rf_ctl_volume volume;
		struct rf_ctl_node node;
	} r;

	(void)world;
	need(volume < (int)VOLUMES, "volume exists (status)");
	for (uint32_t i = 0; i < n; i++) {
		memset(&r, 0, sizeof(r));
		r.h.kind = volume < 0 ? RF_CTL_ROW_DAEMON + i % 4 : RF_CTL_ROW_VOLUME;
		if (!row(client, &r, row_bytes(r.h.kind)))
			return;
	}
}

static void change_role(uint32_t v, enum rf_role role)
{
	struct rf_control_now *now = &w.now[v];
	struct rf_control_change ch = {.volume = v,
				       .node = 1 + feed_u8(&w.feed) % 3,
				       .prev_node = now->node,
				       .role = role,
				       .prev_role = now->role,
				       .prev_epoch = now->epoch,
				       .incarnation = 7,
				       .deadline_ns = 9};

	ch.epoch = now->epoch + (role == RF_ROLE_CLAIMING);
	*now = (struct rf_control_now){.role = role,
				       .node = ch.node,
				       .epoch = ch.epoch,
				       .incarnation = 7,
				       .deadline_ns = 9};
	rf_control_role(w.control, &ch);
}

static int op_admin(void *world, uint32_t verb, uint32_t volume, uint32_t node)
{
	uint8_t how = feed_u8(&w.feed);

	(void)world;
	need(verb >= RF_CTL_RESIGN && verb <= RF_CTL_RESUME, "verb is an order");
	need(volume < VOLUMES, "volume exists (admin)");
	need(verb != RF_CTL_HANDOVER || node == 1 || node == 2, "the heir was asked for");
	if (how > 200)
		return -EBUSY;
	if (how > 100 && verb <= RF_CTL_HANDOVER)
		change_role(volume, RF_ROLE_FOLLOWER); /* answered within the asking */
	return 0;
}

static void op_quiet(void *world, uint32_t volume, uint64_t epoch)
{
	(void)world;
	need(volume < VOLUMES && w.cancelled[volume], "quiet only after a cancel");
	need(epoch == w.cancelled_epoch[volume], "quiet of the epoch that was cancelled");
	w.cancelled[volume] = false;
	for (uint32_t i = 0; i < GUESTS_MAX; i++)
		need(!w.guest[i].works || strcmp(w.guest[i].watches, names[volume]),
		     "quiet only when all are");
}

static uint32_t op_read(void *world, const struct rf_ctl_request *q, uint32_t volume,
			rf_control_row row, void *client, char text[RF_CTL_TEXT_BYTES])
{
	uint32_t verb = q->verb;
	uint32_t n = feed_u8(&w.feed) % 20;
	union {
		struct rf_ctl_head h;
		struct rf_ctl_data data;
		struct rf_ctl_work work;
	} r;

	(void)world;
	need(volume < VOLUMES, "volume exists (read)");
	need(verb == RF_CTL_STATE_GET || verb == RF_CTL_WORK_LIST, "verb reads");
	need(w.giving || !w.reading[volume], "one is read at a time");
	if (!w.giving && n > 16) {
		w.reading[volume] = true;
		return RF_CONTROL_PENDING;
	}
	for (uint32_t i = 0; i < n; i++) {
		memset(&r, 0, sizeof(r));
		r.h.kind = verb == RF_CTL_STATE_GET ? RF_CTL_ROW_DATA : RF_CTL_ROW_WORK;
		if (!row(client, &r, row_bytes(r.h.kind)))
			break;
	}
	strcpy(text, n ? "" : "nothing");
	return n ? RF_EXIT_YES : RF_EXIT_LEASE_LOST;
}

static int op_reload(void *world)
{
	static const int32_t says[] = {0, 0, -EBUSY, -EPIPE};

	(void)world;
	return says[feed_u8(&w.feed) & 3];
}

static void op_metrics(void *world, rf_control_row row, void *client)
{
	uint32_t n = feed_u8(&w.feed);
	struct rf_ctl_metric m = {.h.kind = RF_CTL_ROW_METRIC};

	(void)world;
	while (n-- && row(client, &m, sizeof(m)))
		;
}

static void read_through(uint32_t v)
{
	w.reading[v] = false;
	w.giving = true;
	rf_control_read(w.control, v);
	w.giving = false;
}

static void committed(uint32_t v)
{
	if (!w.changing[v])
		return;
	w.changing[v] = false;
	rf_control_committed(w.control, v, RF_EXIT_YES, "committed");
}

static uint32_t op_change(void *world, const struct rf_ctl_request *q, uint32_t volume,
			  const void *data, size_t bytes, char text[RF_CTL_TEXT_BYTES])
{
	uint8_t how = feed_u8(&w.feed), sum = 0;

	(void)world;
	need(volume < VOLUMES, "volume exists (change)");
	need(!w.changing[volume], "one change at a time");
	need(bytes <= RF_BLOB_USER_MAX, "data are bounded");
	need(q->verb == RF_CTL_STATE_PUT || bytes == sizeof(struct rf_ctl_work_arg),
	     "work is whole");
	for (size_t i = 0; i < bytes; i++)
		sum ^= ((const uint8_t *)data)[i];
	if (how < 60) {
		snprintf(text, RF_CTL_TEXT_BYTES, "refused %u", sum);
		return RF_EXIT_LEASE_LOST;
	}
	w.changing[volume] = true;
	if (how < 120)
		committed(volume); /* from within */
	return RF_CONTROL_PENDING;
}

/* ---- what a client hears ---- */

static bool known_code(uint32_t code)
{
	static const uint32_t codes[] = {
		RF_EXIT_YES,        RF_EXIT_NO,          RF_EXIT_BAD_VALUE, RF_EXIT_USAGE,
		RF_EXIT_BAD_DATA,   RF_EXIT_UNREACHABLE, RF_EXIT_IO,        RF_EXIT_AGAIN,
		RF_EXIT_PERMISSION, RF_EXIT_CONFIG,      RF_EXIT_NO_SUCH,   RF_EXIT_UNSAFE,
		RF_EXIT_LEASE_LOST, RF_EXIT_CANNOT_TELL, RF_EXIT_TIMED_OUT,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static void hear_done(struct guest *g, const struct rf_ctl_done *d)
{
	need(known_code(d->code), "code is one of control.h");
	need(memchr(d->text, 0, sizeof(d->text)), "text has an end");
	need(d->rows == g->rows, "rows are counted");
	g->rows = 0;
	g->answered++;
	if (d->code == RF_EXIT_PERMISSION)
		memset(g->watches, 0, sizeof(g->watches)); /* another may be taken */
	need(g->answered <= g->sent + (d->code == RF_EXIT_AGAIN), "answers have a question");
}

static void hear_event(struct guest *g, const struct rf_ctl_event *e)
{
	need(memchr(e->volume, 0, sizeof(e->volume)) && memchr(e->text, 0, sizeof(e->text)),
	     "event has ends");
	need(e->event >= RF_CTL_EV_DECISION && e->event <= RF_CTL_EV_END, "event is known");
	need(e->sequence > g->sequence, "events are in order");
	need(!g->sequence || e->lost < e->sequence - g->sequence,
	     "no more lost than there were");
	g->sequence = e->sequence;
	need(!g->watches[0] || !strcmp(g->watches, e->volume), "the volume asked for");
	if (e->event == RF_CTL_EV_BEGIN) {
		need(!g->works && e->epoch > g->epoch, "BEGIN once an epoch");
		g->epoch = e->epoch;
		g->works = !g->forfeit && !(g->said >> g->epoch % 64 & 1);
	}
	if (e->event == RF_CTL_EV_END)
		need(e->epoch == g->epoch, "END of what was begun");
}

/* false: nothing (more) to read. */
static bool hear_one(struct guest *g)
{
	union {
		struct rf_ctl_head h;
		struct rf_ctl_done done;
		struct rf_ctl_event event;
		uint8_t bytes[8192];
	} p;
	ssize_t n = recv(g->fd, &p, sizeof(p), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		g->ended = true;
		g->works = false;
		return false;
	}
	need((size_t)n >= sizeof(p.h) && p.h.magic == RF_CTL_MAGIC &&
		     p.h.version == RF_CTL_VERSION,
	     "head");
	need(row_bytes(p.h.kind) == (size_t)n, "size of the kind");
	if (p.h.kind == RF_CTL_DONE)
		hear_done(g, &p.done);
	else if (p.h.kind == RF_CTL_EVENT)
		hear_event(g, &p.event);
	else
		g->rows++;
	return true;
}

static void hear(struct guest *g)
{
	while (g->fd && !g->ended && hear_one(g))
		;
}

/* ---- what may happen next ---- */

static struct guest *any_guest(void)
{
	return &w.guest[feed_u8(&w.feed) % GUESTS_MAX];
}

static void do_ready(void)
{
	struct pollfd p = {.fd = rf_control_fd(w.control), .events = POLLIN};

	for (int i = 0; poll(&p, 1, 0) > 0; i++) {
		need(i < 1000, "it comes to rest");
		rf_control_ready(w.control);
	}
}

static void do_come(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct guest *g = any_guest();

	if (g->fd)
		return;
	do_ready(); /* the backlog is short */
	memset(g, 0, sizeof(*g));
	strcpy(to.sun_path, w.path);
	g->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	need(g->fd > 0 && !connect(g->fd, (struct sockaddr *)&to, sizeof(to)), "connects");
	do_ready();
}

static void do_leave(void)
{
	struct guest *g = any_guest();

	if (!g->fd)
		return;
	close(g->fd);
	memset(g, 0, sizeof(*g));
}

/* WATCH or RUN of something that is there: the connection is for that from now on. */
static bool takes(const struct rf_ctl_request *q)
{
	if (!memchr(q->volume, 0, sizeof(q->volume)))
		return false;
	if (q->verb == RF_CTL_WATCH && !q->volume[0])
		return true;
	return (q->verb == RF_CTL_WATCH || q->verb == RF_CTL_RUN) &&
	       op_find(NULL, q->volume) >= 0;
}

static void expect(struct guest *g, const struct rf_ctl_request *q)
{
	if (q->verb == RF_CTL_QUIET)
		g->said |= 1ull << q->epoch % 64;
	else if (g->taken)
		g->forfeit = true; /* it is for one thing: the daemon ends it */
	if (g->forfeit || g->said >> g->epoch % 64 & 1)
		g->works = false;
	if (!g->taken && takes(q)) {
		g->taken = true;
		memcpy(g->watches, q->volume, sizeof(g->watches));
	}
	g->sent++;
}

static void do_reloaded(void)
{
	struct rf_ctl_change c = {.applied = 1};

	read_through(feed_u8(&w.feed) % VOLUMES);
	for (uint8_t n = feed_u8(&w.feed); n; n--)
		rf_control_reload_row(w.control, &c);
	rf_control_reloaded(w.control, RF_EXIT_YES, "read");
}

static void do_committed(void)
{
	committed(feed_u8(&w.feed) % VOLUMES);
}

/* A change with data behind it. */
static void do_change(void)
{
	static struct {
		struct rf_ctl_request q;
		uint8_t data[RF_BLOB_USER_MAX];
	} p;
	struct guest *g = any_guest();
	uint8_t what = feed_u8(&w.feed), how = feed_u8(&w.feed);
	size_t bytes = what & 0x80 ? (size_t)how * 257 : sizeof(struct rf_ctl_work_arg);

	if (!g->fd || g->ended)
		return;
	memset(&p.q, 0, sizeof(p.q));
	p.q.magic = RF_CTL_MAGIC;
	p.q.version = RF_CTL_VERSION;
	p.q.verb = what & 0x80 ? RF_CTL_STATE_PUT : RF_CTL_WORK_LIST + what % 3;
	p.q.timeout_ms = how & 1 ? 3600000 : 0;
	strcpy(p.q.volume, names[(what >> 4) % VOLUMES]);
	if (send(g->fd, &p, sizeof(p.q) + bytes, MSG_NOSIGNAL) !=
	    (ssize_t)(sizeof(p.q) + bytes))
		return;
	expect(g, &p.q);
	if (p.q.verb == RF_CTL_WORK_LIST) { /* that has no data: not a request */
		g->forfeit = true;
		g->works = false;
	}
}

static void do_ask(void)
{
	struct guest *g = any_guest();
	uint8_t what = feed_u8(&w.feed), how = feed_u8(&w.feed);
	struct rf_ctl_request q = {.magic = RF_CTL_MAGIC,
				   .version = RF_CTL_VERSION,
				   .verb = 1 + what % RF_CTL_VERB_LAST,
				   .node = how % 5,
				   .epoch = how & 0x20 ? g->epoch : how,
				   .timeout_ms = how & 0x40 ? 3600000 : 0};

	if (!g->fd || g->ended)
		return;
	if (how < 250)
		strcpy(q.volume, names[(what >> 4) % VOLUMES]);
	else
		feed_bytes(&w.feed, q.volume, sizeof(q.volume));
	if (send(g->fd, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q))
		expect(g, &q);
}

static void do_nonsense(void)
{
	static uint8_t bytes[2 * sizeof(struct rf_ctl_request)];
	struct guest *g = any_guest();
	struct rf_ctl_request q;
	size_t n = feed_u8(&w.feed) % sizeof(bytes);

	feed_bytes(&w.feed, bytes, n);
	if (!g->fd || g->ended || send(g->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		return;
	memset(&q, 0, sizeof(q));
	memcpy(&q, bytes, n < sizeof(q) ? n : sizeof(q));
	expect(g, &q);
	g->forfeit = true;
	g->works = false;
	if (n == 0)
		g->sent--; /* an empty packet is the end: no answer */
}

static void do_hear(void)
{
	hear(any_guest());
}

static void do_role(void)
{
	uint32_t v = feed_u8(&w.feed) % VOLUMES;

	/* The owner shuts before it begins anew: an epoch is active once. */
	change_role(v, feed_u8(&w.feed) % (RF_ROLE_LAST + 1));
}

static void do_cancel(void)
{
	uint32_t v = feed_u8(&w.feed) % VOLUMES;

	w.cancelled[v] = true;
	w.cancelled_epoch[v] = w.now[v].epoch;
	if (w.now[v].role == RF_ROLE_ACTIVE)
		change_role(v, RF_ROLE_CLOSING);
	rf_control_cancel(w.control, v, w.now[v].epoch);
}

static void do_event(void)
{
	struct rf_ctl_event e = {.event = RF_CTL_EV_DECISION};
	uint32_t times = 1 + feed_u8(&w.feed) % 40;

	strcpy(e.volume, names[feed_u8(&w.feed) % VOLUMES]);
	while (times--)
		rf_control_event(w.control, &e);
}

/* A seat with little room, or without rights. */
static void do_seat(void)
{
	uint8_t how = feed_u8(&w.feed);
	struct client *k = &w.control->client[how % RF_CONTROL_CLIENTS_MAX];
	int bytes = 1;

	if (k->fd < 0)
		return;
	if (how & 0x80)
		k->root = false;
	else
		setsockopt(k->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* ---- the whole ---- */

static void end(void)
{
	rf_control_close(w.control);
	need(access(w.path, F_OK) != 0, "the socket is gone");
	rmdir(w.dir);
}

static void begin(void)
{
	static const struct rf_control_ops ops = {.metrics = op_metrics,
						  .reload = op_reload,
						  .find = op_find,
						  .name = op_name,
						  .now = op_now,
						  .heir = op_heir,
						  .status = op_status,
						  .admin = op_admin,
						  .quiet = op_quiet,
						  .read = op_read,
						  .change = op_change};
	char err[256];

	strcpy(w.dir, "/tmp/rf-fuzz-control-XXXXXX");
	need(mkdtemp(w.dir) != NULL, "a directory");
	snprintf(w.path, sizeof(w.path), "%s/sock", w.dir);
	need(!rf_control_open(&w.control, w.path, (gid_t)-1, &ops, err, sizeof(err)), "opens");
	atexit(end);
}

/* All that was asked is answered, or waits for a release. */
static void settle(void)
{
	uint32_t open = 0, waiting = 0;

	for (int i = 0; i < 3 + (int)GUESTS_MAX; i++) {
		do_ready();
		rf_control_reloaded(w.control, RF_EXIT_YES, "read");
		for (uint32_t v = 0; v < VOLUMES; v++) {
			committed(v);
			read_through(v);
		}
		for (uint32_t g = 0; g < GUESTS_MAX; g++)
			hear(&w.guest[g]);
	}
	for (uint32_t i = 0; i < GUESTS_MAX; i++)
		if (w.guest[i].fd && !w.guest[i].ended)
			open += w.guest[i].sent - w.guest[i].answered;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		const struct client *k = &w.control->client[i];

		waiting += k->fd >= 0 && k->waiting;
		need(k->fd < 0 || !k->owes, "nothing is owed to who reads");
	}
	need(open == waiting, "each request is answered once");
}

static void all_leave(void)
{
	for (uint32_t i = 0; i < GUESTS_MAX; i++)
		if (w.guest[i].fd)
			close(w.guest[i].fd);
	memset(w.guest, 0, sizeof(w.guest));
	do_ready();
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		need(w.control->client[i].fd < 0, "all seats are free again");
	for (uint32_t v = 0; v < VOLUMES; v++)
		need(!w.cancelled[v], "quiet when all have left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const todo[])(void) = {
		do_come,  do_come, do_come,   do_ask,       do_ask,      do_ask,  do_ask,
		do_ready, do_hear, do_ready,  do_leave,     do_role,     do_role, do_cancel,
		do_event, do_seat, do_change, do_committed, do_reloaded,
	};

	if (!w.control)
		begin();
	w.feed = (struct feed){.data = data, .size = size};
	memset(w.now, 0, sizeof(w.now));
	while (!feed_end(&w.feed)) {
		uint8_t what = feed_u8(&w.feed);

		if (what == 0xff)
			do_nonsense();
		else
			todo[what < 0xc0 ? what & 15 : 16 + what % 3]();
	}
	settle();
	all_leave();
	return 0;
}
