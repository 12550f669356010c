/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket, towards clients: answers, events, and work under leadership. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "io/control_state.h"

static void head(struct rf_ctl_head *h, uint16_t kind)
{
	h->magic = RF_CTL_MAGIC;
	h->version = RF_CTL_VERSION;
	h->kind = kind;
}

void rf_control_wake(struct rf_control *c)
{
	uint64_t one = 1;

	(void)!write(c->defer, &one, sizeof(one));
}

/* ---- to one client ---- */

/* 0, -EAGAIN, or the client is to be closed (gone is set). */
static int push(struct client *k, const void *packet, size_t bytes)
{
	ssize_t n = send(k->fd, packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n == (ssize_t)bytes)
		return 0;
	if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
		return -EAGAIN;
	k->gone = true;
	return -EPIPE;
}

void rf_client_done(struct client *k, uint32_t code, const char *format, ...)
{
	struct rf_ctl_done d = {.code = code, .rows = k->rows};
	va_list ap;

	head(&d.h, RF_CTL_DONE);
	va_start(ap, format);
	vsnprintf(d.text, sizeof(d.text), format, ap);
	va_end(ap);
	k->rows = 0;
	if (push(k, &d, sizeof(d)) < 0)
		k->gone = true; /* asked, but does not read the answer */
}

bool rf_client_row(void *client, void *row, size_t bytes)
{
	struct client *k = client;
	struct rf_ctl_head *h = row;

	head(h, h->kind);
	if (k->gone || push(k, row, bytes) < 0) {
		k->gone = true;
		return false;
	}
	k->rows++;
	return true;
}

static void want(struct rf_control *c, struct client *k, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.u32 = (uint32_t)(k - c->client)};

	epoll_ctl(c->epoll, EPOLL_CTL_MOD, k->fd, &e);
}

/* BEGIN and END are never lost: the newest one is kept until it can be sent. */
void rf_client_pay(struct rf_control *c, struct client *k)
{
	int r = k->owes ? push(k, &k->owed, sizeof(k->owed)) : 0;

	k->owes = r == -EAGAIN;
	want(c, k, k->owes ? EPOLLIN | EPOLLOUT : k->held ? 0 : EPOLLIN);
}

/* ---- work under leadership ---- */

static void stamp(struct rf_control *c, struct rf_ctl_event *e)
{
	head(&e->h, RF_CTL_EVENT);
	e->sequence = ++c->sequence;
	e->unix_ns = rf_unix_ns();
	e->lost = 0;
}

void rf_client_begin(struct rf_control *c, struct client *k, const struct rf_control_now *now,
		     const char *name)
{
	struct rf_ctl_event *e = &k->owed;

	if (k->begun || k->epoch == now->epoch)
		return; /* one BEGIN an epoch, also after an early QUIET */
	memset(e, 0, sizeof(*e));
	e->event = RF_CTL_EV_BEGIN;
	e->role = RF_ROLE_ACTIVE;
	e->prev_role = RF_ROLE_FOLLOWER;
	e->node = now->node;
	e->cause = now->cause;
	e->epoch = now->epoch;
	e->incarnation = now->incarnation;
	e->deadline_ns = now->deadline_ns;
	snprintf(e->volume, sizeof(e->volume), "%s", name);
	stamp(c, e);
	k->begun = true;
	k->epoch = now->epoch;
	k->owes = true;
	rf_client_pay(c, k);
}

static void end(struct rf_control *c, struct client *k)
{
	struct rf_ctl_event *e = &k->owed;

	if (k->owes && e->event == RF_CTL_EV_BEGIN) { /* never heard that it began */
		k->owes = k->begun = false;
		rf_client_pay(c, k);
		return;
	}
	e->event = RF_CTL_EV_END;
	e->role = RF_ROLE_CLOSING;
	stamp(c, e);
	k->owes = true;
	rf_client_pay(c, k);
}

static bool working(const struct rf_control *c, uint32_t volume)
{
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		const struct client *k = &c->client[i];

		if (k->fd >= 0 && k->run && k->begun && (uint32_t)k->volume == volume)
			return true;
	}
	return false;
}

void rf_control_report_quiet(struct rf_control *c)
{
	for (uint32_t v = 0; v < RF_CONTROL_VOLUMES_MAX; v++) {
		if (!c->volume[v].cancelled || working(c, v))
			continue;
		c->volume[v].cancelled = false;
		c->ops.quiet(c->ops.world, v, c->volume[v].epoch);
	}
}

void rf_control_cancel(struct rf_control *c, uint32_t volume, uint64_t epoch)
{
	c->volume[volume].cancelled = true;
	c->volume[volume].epoch = epoch;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd >= 0 && k->run && k->begun && (uint32_t)k->volume == volume)
			end(c, k);
	}
	rf_control_wake(c);
}

/* ---- what was reloaded ---- */

void rf_control_reload_row(struct rf_control *c, const struct rf_ctl_change *row)
{
	struct rf_ctl_change r = *row;

	r.h.kind = RF_CTL_ROW_CHANGE;
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++)
		if (c->client[i].fd >= 0 && c->client[i].waiting == RF_CTL_RELOAD)
			rf_client_row(&c->client[i], &r, sizeof(r));
	rf_control_wake(c);
}

void rf_control_reloaded(struct rf_control *c, uint32_t code, const char *text)
{
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || k->waiting != RF_CTL_RELOAD)
			continue;
		k->waiting = 0;
		rf_client_done(k, code, "%s", text);
	}
	rf_control_arm(c);
	rf_control_wake(c);
}

/* ---- events ---- */

void rf_control_event(struct rf_control *c, struct rf_ctl_event *e)
{
	stamp(c, e);
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || !k->watch || k->gone)
			continue;
		if (k->volume >= 0 &&
		    strcmp(c->ops.name(c->ops.world, (uint32_t)k->volume), e->volume))
			continue;
		e->lost = k->lost;
		if (!push(k, e, sizeof(*e)))
			k->lost = 0;
		else
			k->lost++;
	}
}

/* Owns or still uses an epoch: a resignation has something to give up. */
bool rf_role_leads(enum rf_role role)
{
	return role >= RF_ROLE_EXCLUDING && role <= RF_ROLE_CLOSING;
}

static void answer_waiting(struct rf_control *c, const struct rf_control_change *ch)
{
	for (uint32_t i = 0; i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || k->wait_volume != ch->volume ||
		    (k->waiting != RF_CTL_RESIGN && k->waiting != RF_CTL_HANDOVER))
			continue;
		k->waiting = 0;
		rf_client_done(k, RF_EXIT_YES, "released epoch %llu",
			       (unsigned long long)ch->prev_epoch);
	}
}

void rf_control_role(struct rf_control *c, const struct rf_control_change *ch)
{
	const char *name = c->ops.name(c->ops.world, ch->volume);
	struct rf_control_now now = {.role = ch->role,
				     .node = ch->node,
				     .cause = ch->cause,
				     .epoch = ch->epoch,
				     .incarnation = ch->incarnation,
				     .deadline_ns = ch->deadline_ns};
	struct rf_ctl_event e = {
		.epoch = ch->epoch,
		.prev_epoch = ch->prev_epoch,
		.node = ch->node,
		.prev_node = ch->prev_node,
		.cause = ch->cause,
		.role = (uint8_t)ch->role,
		.prev_role = (uint8_t)ch->prev_role,
	};

	snprintf(e.volume, sizeof(e.volume), "%s", name);
	if (ch->role != ch->prev_role) {
		e.event = RF_CTL_EV_ROLE;
		rf_control_event(c, &e);
	}
	if (ch->node != ch->prev_node) {
		e.event = RF_CTL_EV_LEADER;
		rf_control_event(c, &e);
	}
	if (rf_role_leads(ch->prev_role) && !rf_role_leads(ch->role))
		answer_waiting(c, ch);
	for (uint32_t i = 0; ch->role == RF_ROLE_ACTIVE && i < RF_CONTROL_CLIENTS_MAX; i++) {
		struct client *k = &c->client[i];

		if (k->fd >= 0 && k->run && (uint32_t)k->volume == ch->volume)
			rf_client_begin(c, k, &now, name);
	}
}
