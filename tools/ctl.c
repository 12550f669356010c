/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client of the control socket. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "tool.h"

/* ---- connecting ---- */

static int refuse_connect(bool quiet, int error)
{
	int code = error == EACCES || error == EPERM ? RF_EXIT_PERMISSION : RF_EXIT_UNREACHABLE;

	if (quiet)
		return -code;
	if (code == RF_EXIT_PERMISSION)
		fail(code, "%s: %s: root and the socket's group may ask", tool.socket,
		     strerror(error));
	else if (error == EAGAIN)
		fail(code, "%s: the daemon does not accept connections: is it stopped?",
		     tool.socket);
	else
		fail(code, "%s: %s: is ringfenced running on this host?", tool.socket,
		     strerror(error));
	return -code;
}

/* A full backlog means EAGAIN for AF_UNIX: try until the answer time is over. */
static int connect_within(int fd, const struct sockaddr_un *a)
{
	long long until = rf_boot_ms() + CTL_ANSWER_MS;

	for (;;) {
		if (!connect(fd, (const struct sockaddr *)a, sizeof(*a)))
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || rf_boot_ms() >= until)
			return errno;
		poll(NULL, 0, 20);
	}
}

int ctl_connect(bool quiet)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(tool.socket) >= sizeof(a.sun_path))
		return -fail(RF_EXIT_BAD_VALUE, "--socket %s: path is too long", tool.socket);
	memcpy(a.sun_path, tool.socket, strlen(tool.socket));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return refuse_connect(quiet, errno);
	error = connect_within(fd, &a);
	if (!error)
		return fd;
	close(fd);
	return refuse_connect(quiet, error);
}

/* ---- packets ---- */

static int send_with(int fd, struct rf_ctl_request *request, const void *data, size_t bytes)
{
	struct iovec part[2] = {{request, sizeof(*request)}, {(void *)data, bytes}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = bytes ? 2 : 1};
	ssize_t n;

	request->magic = RF_CTL_MAGIC;
	request->version = RF_CTL_VERSION;
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == (ssize_t)(sizeof(*request) + bytes) ? 0 : -EPROTO;
}

int ctl_send(int fd, struct rf_ctl_request *request)
{
	return send_with(fd, request, NULL, 0);
}

static size_t packet_bytes(unsigned kind)
{
	switch (kind) {
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
	case RF_CTL_ROW_WORK:
		return sizeof(struct rf_ctl_work);
	case RF_CTL_ROW_METRIC:
		return sizeof(struct rf_ctl_metric);
	case RF_CTL_ROW_CHANGE:
		return sizeof(struct rf_ctl_change);
	default:
		return 0;
	}
}

static void terminate(union ctl_packet *p)
{
	switch (p->h.kind) {
	case RF_CTL_DONE:
		p->done.text[RF_CTL_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_DAEMON:
		p->daemon.release[sizeof(p->daemon.release) - 1] = 0;
		p->daemon.watchdog_text[RF_CTL_TEXT_BYTES - 1] = 0;
		p->daemon.watchdog_last[RF_CTL_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_AREA:
		p->area.cluster[RF_NAME_BYTES - 1] = 0;
		p->area.waiting[RF_CTL_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_VOLUME:
		p->volume.name[RF_NAME_BYTES - 1] = 0;
		p->volume.owner_host[RF_HOST_BYTES - 1] = 0;
		p->volume.driver[sizeof(p->volume.driver) - 1] = 0;
		p->volume.weakest[RF_CTL_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_NODE:
		p->node.host[RF_HOST_BYTES - 1] = 0;
		break;
	case RF_CTL_EVENT:
		p->event.volume[RF_NAME_BYTES - 1] = 0;
		p->event.text[RF_CTL_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_WORK:
		p->work.id[RF_WORK_ID_BYTES - 1] = 0;
		p->work.text[RF_WORK_TEXT_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_METRIC:
		p->metric.volume[RF_NAME_BYTES - 1] = 0;
		p->metric.label[RF_METRIC_LABEL_BYTES - 1] = 0;
		p->metric.label2[RF_METRIC_LABEL_BYTES - 1] = 0;
		break;
	case RF_CTL_ROW_CHANGE:
		p->change.key[sizeof(p->change.key) - 1] = 0;
		p->change.from[sizeof(p->change.from) - 1] = 0;
		p->change.to[sizeof(p->change.to) - 1] = 0;
		break;
	}
}

static int take(int fd, union ctl_packet *p)
{
	ssize_t n = recv(fd, p, sizeof(*p), MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	if ((size_t)n < sizeof(p->h) || p->h.magic != RF_CTL_MAGIC ||
	    p->h.version != RF_CTL_VERSION || (size_t)n != packet_bytes(p->h.kind))
		return -EPROTO;
	terminate(p);
	return 1;
}

int ctl_receive(int fd, union ctl_packet *p, int timeout_ms)
{
	long long until = rf_boot_ms() + timeout_ms, left;
	struct pollfd f = {.fd = fd, .events = POLLIN};
	int rc;

	for (;;) {
		rc = take(fd, p);
		if (rc)
			return rc;
		left = timeout_ms < 0 ? -1 : until - rf_boot_ms();
		if (timeout_ms >= 0 && left <= 0)
			return 0;
		if (poll(&f, 1, (int)left) < 0 && errno != EINTR)
			return -errno;
	}
}

int ctl_lost(int error)
{
	if (!error)
		return fail(
			RF_EXIT_UNREACHABLE,
			"%s: the daemon did not answer within %d ms: is it stopped or stuck?",
			tool.socket, CTL_ANSWER_MS);
	if (error == -EPROTO)
		return fail(RF_EXIT_UNREACHABLE,
			    "%s: the daemon speaks another version of the control protocol: "
			    "restart it after an upgrade",
			    tool.socket);
	return fail(RF_EXIT_UNREACHABLE, "%s: the daemon closed the connection%s%s",
		    tool.socket, error == -EPIPE ? "" : ": ",
		    error == -EPIPE ? "" : strerror(-error));
}

/* ---- questions ---- */

int ctl_request(struct rf_ctl_request *request, unsigned verb, const char *volume)
{
	*request = (struct rf_ctl_request){.verb = (__u16)verb};
	if (strlen(volume) >= sizeof(request->volume))
		return fail(RF_EXIT_BAD_VALUE, "%s: a volume name has at most %u characters",
			    volume, RF_NAME_BYTES - 1);
	memcpy(request->volume, volume, strlen(volume) + 1);
	return 0;
}

static int finished(const struct rf_ctl_done *done, bool quiet)
{
	if (done->code && !quiet)
		fail((int)done->code, "%s", done->text[0] ? done->text : "refused");
	else if (done->text[0])
		chat("%s", done->text);
	return (int)done->code;
}

static int hear_out(int fd, const struct rf_ctl_request *request, ctl_row row, void *arg,
		    bool quiet, char *text)
{
	long long until = rf_boot_ms() + request->timeout_ms + CTL_ANSWER_MS, left;
	union ctl_packet p;
	int rc;

	for (;;) {
		left = until - rf_boot_ms();
		rc = ctl_receive(fd, &p, left > 0 ? (int)left : 0);
		if (rc <= 0)
			return quiet ? RF_EXIT_UNREACHABLE : ctl_lost(rc);
		if (p.h.kind == RF_CTL_DONE && text)
			memcpy(text, p.done.text, sizeof(p.done.text));
		if (p.h.kind == RF_CTL_DONE)
			return finished(&p.done, quiet);
		if (row)
			row(arg, &p);
	}
}

int ctl_ask_on(int fd, struct rf_ctl_request *request, ctl_row row, void *arg, bool quiet)
{
	int rc = ctl_send(fd, request);

	if (rc)
		return quiet ? RF_EXIT_UNREACHABLE : ctl_lost(rc);
	return hear_out(fd, request, row, arg, quiet, NULL);
}

/* Before a request that may take its time: a daemon that hangs is found out at once. */
static int check_alive(const struct rf_ctl_request *request)
{
	struct rf_ctl_request q = {.verb = RF_CTL_VOLUME};
	int fd, rc;

	if (!request->timeout_ms)
		return 0;
	fd = ctl_connect(false);
	if (fd < 0)
		return -fd;
	memcpy(q.volume, request->volume, sizeof(q.volume));
	rc = ctl_ask_on(fd, &q, NULL, NULL, true);
	close(fd);
	return rc == RF_EXIT_UNREACHABLE ? ctl_lost(0) : 0;
}

int ctl_ask(struct rf_ctl_request *request, ctl_row row, void *arg)
{
	int fd, rc = check_alive(request);

	if (rc)
		return rc;
	fd = ctl_connect(false);
	if (fd < 0)
		return -fd;
	rc = ctl_ask_on(fd, request, row, arg, false);
	close(fd);
	return rc;
}

int ctl_ask_data(struct rf_ctl_request *request, const void *data, size_t bytes,
		 char text[RF_CTL_TEXT_BYTES])
{
	int fd, rc = check_alive(request);

	if (rc)
		return rc;
	fd = ctl_connect(false);
	if (fd < 0)
		return -fd;
	rc = send_with(fd, request, data, bytes);
	if (rc)
		rc = ctl_lost(rc);
	else
		rc = hear_out(fd, request, NULL, NULL, false, text);
	close(fd);
	return rc;
}

/* ---- one volume ---- */

struct one {
	struct rf_ctl_volume *to;
	unsigned rows;
};

static void one_row(void *arg, const union ctl_packet *row)
{
	struct one *one = arg;

	if (row->h.kind != RF_CTL_ROW_VOLUME)
		return;
	*one->to = row->volume;
	one->rows++;
}

int ctl_volume(const char *name, struct rf_ctl_volume *row)
{
	struct one one = {.to = row};
	struct rf_ctl_request request;
	int rc = ctl_request(&request, RF_CTL_VOLUME, name);

	if (!rc)
		rc = ctl_ask(&request, one_row, &one);
	if (!rc && !one.rows)
		return fail(RF_EXIT_NO_SUCH, "no volume '%s' on this host", name);
	return rc;
}

/* ---- everything ---- */

/* Grows by one. The program ends when memory does. */
static void *append(void *array, unsigned *count, size_t bytes, const void *item)
{
	char *grown = reallocarray(array, *count + 1u, bytes);

	if (!grown)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	memcpy(grown + *count * bytes, item, bytes);
	++*count;
	return grown;
}

static void status_row(void *arg, const union ctl_packet *row)
{
	struct ctl_status *s = arg;

	switch (row->h.kind) {
	case RF_CTL_ROW_DAEMON:
		s->daemon = row->daemon;
		break;
	case RF_CTL_ROW_AREA:
		s->area = append(s->area, &s->areas, sizeof(*s->area), &row->area);
		break;
	case RF_CTL_ROW_VOLUME:
		s->volume = append(s->volume, &s->volumes, sizeof(*s->volume), &row->volume);
		break;
	case RF_CTL_ROW_NODE:
		s->node = append(s->node, &s->nodes, sizeof(*s->node), &row->node);
		break;
	}
}

int ctl_status(struct ctl_status *s)
{
	struct rf_ctl_request request;

	memset(s, 0, sizeof(*s));
	ctl_request(&request, RF_CTL_STATUS, "");
	return ctl_ask(&request, status_row, s);
}

void ctl_status_free(struct ctl_status *s)
{
	free(s->area);
	free(s->volume);
	free(s->node);
	memset(s, 0, sizeof(*s));
}
