/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: what a leader keeps, the state and the unfinished work.
 * A change is answered when it is committed, a question perhaps only when disks have
 * been read. One of each a volume at a time; the next one waits unread in its client's
 * socket, so nothing is buffered here, and what is read is never older than the question.
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/control_state.h"

bool rf_verb_changes(uint32_t verb)
{
	return verb == RF_CTL_STATE_PUT || verb == RF_CTL_WORK_BEGIN || verb == RF_CTL_WORK_END;
}

bool rf_verb_keeps(uint32_t verb)
{
	return rf_verb_changes(verb) || verb == RF_CTL_STATE_GET || verb == RF_CTL_WORK_LIST;
}

/* A held client has no BEGIN or END to be sent: it is no RUN client. */
static void hold(struct rf_control *c, struct client *k, bool on)
{
	struct epoll_event e = {.events = on ? 0 : EPOLLIN,
				.data.u32 = (uint32_t)(k - c->client)};

	k->held = on;
	epoll_ctl(c->epoll, EPOLL_CTL_MOD, k->fd, &e);
}

bool rf_client_held(struct rf_control *c, struct client *k)
{
	struct rf_ctl_request q;
	ssize_t n = recv(k->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_PEEK);
	int v;

	if (n != sizeof(q) || q.magic != RF_CTL_MAGIC || q.version != RF_CTL_VERSION ||
	    k->watch || k->run || k->waiting || !rf_verb_keeps(q.verb) ||
	    (!k->root && q.verb != RF_CTL_WORK_LIST) || !memchr(q.volume, 0, sizeof(q.volume)))
		return false; /* answered at once, whatever it is */
	v = c->ops.find(c->ops.world, q.volume);
	if (v < 0 || (uint32_t)v >= RF_CONTROL_VOLUMES_MAX ||
	    !(rf_verb_changes(q.verb) ? c->volume[v].pending : c->volume[v].reading))
		return false;
	k->held_volume = (uint32_t)v;
	hold(c, k, true);
	return true;
}

static void change(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		   uint32_t v, size_t data_bytes)
{
	char text[RF_CTL_TEXT_BYTES] = "";
	uint32_t code;

	if (q->verb != RF_CTL_STATE_PUT && data_bytes != sizeof(struct rf_ctl_work_arg)) {
		rf_client_done(k, RF_EXIT_BAD_VALUE, "a request about work without the work");
		return;
	}
	/* Waits before asking: the answer may come from within the asking. */
	rf_client_wait(c, k, q, (int)v);
	c->volume[v].pending = true;
	code = c->ops.change(c->ops.world, q, v, c->in.data, data_bytes, text);
	if (code == RF_CONTROL_PENDING)
		return;
	c->volume[v].pending = false;
	k->waiting = 0;
	rf_control_arm(c);
	rf_client_done(k, code, "%s", text);
}

void rf_client_keep(struct rf_control *c, struct client *k, const struct rf_ctl_request *q,
		    size_t data_bytes)
{
	char text[RF_CTL_TEXT_BYTES] = "";
	int v = rf_client_find(c, k, q);
	uint32_t code;

	if (v < 0)
		return;
	if (rf_verb_changes(q->verb)) {
		change(c, k, q, (uint32_t)v, data_bytes);
		return;
	}
	code = c->ops.read(c->ops.world, q, (uint32_t)v, rf_client_row, k, text);
	if (code == RF_CONTROL_PENDING) {
		c->volume[v].reading = true;
		rf_client_wait(c, k, q, v);
	} else if (!k->gone) {
		rf_client_done(k, code, "%s", text);
	}
}

/* Readable again, one of those held will be first. */
static void release(struct rf_control *c, uint32_t volume)
{
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd >= 0 && k->held && k->held_volume == volume)
			hold(c, k, false);
	}
	rf_control_arm(c);
	rf_control_wake(c); /* who does not read his answer is to be swept away */
}

void rf_control_read(struct rf_control *c, uint32_t volume)
{
	c->volume[volume].reading = false;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];
		struct rf_ctl_request q = {.verb = (uint16_t)k->waiting};
		char text[RF_CTL_TEXT_BYTES] = "";
		uint32_t code;

		if (k->fd < 0 || k->wait_volume != volume || !rf_verb_keeps(k->waiting) ||
		    rf_verb_changes(k->waiting))
			continue;
		k->waiting = 0;
		code = c->ops.read(c->ops.world, &q, volume, rf_client_row, k, text);
		if (!k->gone)
			rf_client_done(k, code, "%s", text);
	}
	release(c, volume);
}

void rf_control_committed(struct rf_control *c, uint32_t volume, uint32_t code,
			  const char *text)
{
	c->volume[volume].pending = false;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || !k->waiting || k->wait_volume != volume ||
		    !rf_verb_changes(k->waiting))
			continue;
		k->waiting = 0;
		rf_client_done(k, code, "%s", text);
	}
	release(c, volume);
}
