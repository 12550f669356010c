/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence-exporter: the daemon's figures over HTTP, for Prometheus and for load
 * balancers. A process of its own: what strangers send never reaches the daemon. A few
 * threads, few connections, short time limits; the daemon is asked for each request.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prometheus.h"
#include "tool.h"

#define LISTEN "127.0.0.1:9847"
#define CONNECTIONS_MAX 32u
#define THREADS 4u /* one may wait a second for a daemon that hangs */
#define TIMEOUT_S 5u

struct tool tool = {.command = "ringfence-exporter", .socket = RF_CTL_PATH, .color = "never"};

/* ---- messages ---- */

static void say(const char *fmt, va_list ap)
{
	fputs("ringfence-exporter: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int fail(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return code;
}

void note(const char *fmt, ...)
{
	(void)fmt;
}

void chat(const char *fmt, ...)
{
	(void)fmt;
}

/* ---- answers ---- */

struct answer {
	unsigned status;
	const char *type;
	char *text; /* malloc'd */
	size_t bytes;
};

#define PLAIN "text/plain; charset=utf-8"

static void write_answer(struct answer *a, unsigned status, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&a->text, fmt, ap);
	va_end(ap);
	if (n < 0)
		a->text = NULL;
	a->bytes = n < 0 ? 0 : (size_t)n;
	a->status = status;
	a->type = PLAIN;
}

static void write_unreachable(struct answer *a, int code)
{
	write_answer(a, MHD_HTTP_SERVICE_UNAVAILABLE,
		     code == RF_EXIT_PERMISSION
			     ? "the daemon's socket may not be used by this process\n"
			     : "the daemon does not answer\n");
}

static void answer_metrics(struct answer *a)
{
	struct prometheus p;
	int rc = prometheus_ask(&p, true);
	FILE *f = rc ? NULL : open_memstream(&a->text, &a->bytes);

	if (f) {
		prometheus_print(&p, f);
		fclose(f);
		a->status = MHD_HTTP_OK;
		a->type = "text/plain; version=0.0.4; charset=utf-8";
	} else {
		write_unreachable(a, rc);
	}
	prometheus_free(&p);
}

struct one {
	struct rf_ctl_volume row;
	bool found;
};

static void take_volume(void *arg, const union ctl_packet *packet)
{
	struct one *one = arg;

	if (packet->h.kind != RF_CTL_ROW_VOLUME)
		return;
	one->row = packet->volume;
	one->found = true;
}

static int ask_volume(const char *name, struct one *one)
{
	struct rf_ctl_request request = {.verb = RF_CTL_VOLUME};
	int fd = ctl_connect(true), rc;

	if (fd < 0)
		return -fd;
	memcpy(request.volume, name, strlen(name) + 1);
	rc = ctl_ask_on(fd, &request, take_volume, one, true);
	close(fd);
	return rc;
}

/* 200 exactly while this node leads, as far as its daemon says right now. */
static void answer_leader(struct answer *a, const char *name)
{
	struct one one = {.found = false};
	int rc = strlen(name) < RF_NAME_BYTES ? ask_volume(name, &one) : RF_EXIT_NO_SUCH;

	if (rc == RF_EXIT_NO_SUCH || (!rc && !one.found))
		write_answer(a, MHD_HTTP_NOT_FOUND, "no such volume on this host\n");
	else if (rc)
		write_unreachable(a, rc);
	else if (one.row.role == RF_ROLE_ACTIVE && one.row.lease_left_ms > 0)
		write_answer(a, MHD_HTTP_OK, "leader epoch=%llu\n",
			     (unsigned long long)one.row.epoch);
	else
		write_answer(a, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "not leader: node=%u epoch=%llu\n", one.row.owner,
			     (unsigned long long)one.row.epoch);
}

static void answer(struct answer *a, const char *method, const char *url)
{
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		write_answer(a, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
	else if (!strcmp(url, "/metrics"))
		answer_metrics(a);
	else if (!strncmp(url, "/leader/", 8) && url[8])
		answer_leader(a, url + 8);
	else if (!strcmp(url, "/"))
		write_answer(a, MHD_HTTP_OK, "/metrics\n/leader/VOLUME\n");
	else
		write_answer(a, MHD_HTTP_NOT_FOUND, "see / for what there is\n");
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **state)
{
	struct MHD_Response *r;
	struct answer a = {0};
	enum MHD_Result rc;

	(void)arg;
	(void)version;
	(void)upload;
	if (*upload_bytes) { /* bodies are read away, not kept */
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (!*state) { /* the head is there; the answer comes with the next call */
		*state = &tool;
		return MHD_YES;
	}
	answer(&a, method, url);
	if (!a.text)
		return MHD_NO;
	r = MHD_create_response_from_buffer(a.bytes, a.text, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(a.text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a.type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	rc = MHD_queue_response(c, a.status, r);
	MHD_destroy_response(r);
	return rc;
}

/* ---- starting ---- */

static void usage(FILE *f)
{
	fputs("Usage: ringfence-exporter [--listen ADDRESS:PORT] [--socket PATH]\n"
	      "The daemon's figures over HTTP: /metrics for Prometheus, /leader/VOLUME for\n"
	      "load balancers (200 while this host leads, else 503).\n"
	      "\n"
	      "  -l, --listen ADDRESS:PORT  default " LISTEN "; [::1]:PORT for IPv6\n"
	      "  -s, --socket PATH          control socket (default " RF_CTL_PATH ")\n"
	      "  -h, --help                 this text\n"
	      "  -V, --version              version\n",
	      f);
}

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static bool parse_port(const char *text, in_port_t *port)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*port = htons((uint16_t)n);
	return *text >= '0' && *text <= '9' && !*end && n <= 65535;
}

/* ADDRESS:PORT or [ADDRESS]:PORT, numbers only. */
static bool parse_address(const char *text, union address *a)
{
	char copy[64], *colon, *host = copy;

	memset(a, 0, sizeof(*a));
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return false;
	colon = strrchr(copy, ':');
	if (!colon || colon == copy)
		return false;
	*colon = 0;
	if (*host != '[') {
		a->in.sin_family = AF_INET;
		return inet_pton(AF_INET, host, &a->in.sin_addr) == 1 &&
		       parse_port(colon + 1, &a->in.sin_port);
	}
	host++;
	if (colon[-1] != ']')
		return false;
	colon[-1] = 0;
	a->in6.sin6_family = AF_INET6;
	return inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1 &&
	       parse_port(colon + 1, &a->in6.sin6_port);
}

static const char *parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"listen", required_argument, NULL, 'l'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *listen = LISTEN;
	int c;

	while ((c = getopt_long(argc, argv, "l:s:hV", options, NULL)) != -1) {
		if (c == 'l') {
			listen = optarg;
		} else if (c == 's') {
			tool.socket = optarg;
		} else if (c == 'h') {
			usage(stdout);
			exit(RF_EXIT_YES);
		} else if (c == 'V') {
			puts("ringfence-exporter " RF_VERSION);
			exit(RF_EXIT_YES);
		} else {
			usage(stderr);
			exit(RF_EXIT_USAGE);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(RF_EXIT_USAGE);
	}
	return listen;
}

static struct MHD_Daemon *serve(const union address *a)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL;

	if (a->sa.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle, NULL, MHD_OPTION_SOCK_ADDR, &a->sa,
		MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
}

static unsigned port_of(struct MHD_Daemon *d)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);

	return i ? i->port : 0;
}

int main(int argc, char **argv)
{
	const char *listen = parse(argc, argv);
	struct MHD_Daemon *d;
	union address a;
	sigset_t set;
	int signal_number;

	if (!parse_address(listen, &a))
		return fail(RF_EXIT_USAGE, "--listen %s: give ADDRESS:PORT in numbers, like %s",
			    listen, LISTEN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	d = serve(&a);
	if (!d)
		return fail(RF_EXIT_AGAIN, "cannot listen on %s: %s", listen, strerror(errno));
	printf("ringfence-exporter: listens on %s, port %u\n", listen, port_of(d));
	fflush(stdout);
	sigwait(&set, &signal_number);
	MHD_stop_daemon(d);
	return RF_EXIT_YES;
}
