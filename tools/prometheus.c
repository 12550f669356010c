/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's figures as Prometheus' text format, see ringfence/metrics.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prometheus.h"
#include "tool.h"

#define ROWS_MAX 262144u /* more than every area and volume can give */

struct family {
	const char *name;
	char kind, of;
	const char *label, *label2, *help;
};

static const struct family families[RF_METRIC_COUNT] = {
#define KIND_c 'c'
#define KIND_g 'g'
#define KIND_t 't'
#define KIND_h 'h'
#define OF_d 'd'
#define OF_a 'a'
#define OF_p 'p'
#define OF_v 'v'
#define FAMILY(id, name, kind, of, label, label2, help) \
	[RF_METRIC_##id] = {name, KIND_##kind, OF_##of, label, label2, help},
	RF_METRICS(FAMILY)
#undef FAMILY
};

/* ---- asking ---- */

static void take(void *arg, const union ctl_packet *packet)
{
	struct prometheus *p = arg;

	if (packet->h.kind != RF_CTL_ROW_METRIC || packet->metric.metric >= RF_METRIC_COUNT ||
	    p->count == ROWS_MAX)
		return;
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->row = reallocarray(p->row, p->room, sizeof(*p->row));
		if (!p->row)
			exit(fail(RF_EXIT_AGAIN, "out of memory"));
	}
	p->row[p->count++] = packet->metric;
}

int prometheus_ask(struct prometheus *p, bool quiet)
{
	struct rf_ctl_request request = {.verb = RF_CTL_METRICS};
	int fd, rc;

	*p = (struct prometheus){0};
	fd = ctl_connect(quiet);
	if (fd < 0)
		return -fd;
	rc = ctl_ask_on(fd, &request, take, p, quiet);
	close(fd);
	return rc;
}

void prometheus_free(struct prometheus *p)
{
	free(p->row);
	*p = (struct prometheus){0};
}

/* ---- printing ---- */

static void put_label(FILE *out, bool *first, const char *name, const char *value)
{
	if (!*name)
		return;
	fprintf(out, "%s%s=\"", *first ? "{" : ",", name);
	*first = false;
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

/* Opens the braces; true when nothing was put. */
static bool put_labels(FILE *out, const struct family *f, const struct rf_ctl_metric *r)
{
	char text[2 * RF_UUID_BYTES + 1];
	bool first = true;

	if (f->of == 'a' || f->of == 'p') {
		for (unsigned i = 0; i < RF_UUID_BYTES; i++)
			snprintf(text + 2 * i, 3, "%02x", r->area[i]);
		put_label(out, &first, "area", text);
	}
	if (f->of == 'p') {
		snprintf(text, sizeof(text), "%u", r->node);
		put_label(out, &first, "node", text);
	}
	if (f->of == 'v')
		put_label(out, &first, "volume", r->volume);
	put_label(out, &first, f->label, r->label);
	put_label(out, &first, f->label2, r->label2);
	return first;
}

static void put_seconds(FILE *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	fprintf(out, "%s%" PRIu64 ".%09" PRIu64 "\n", ns < 0 ? "-" : "", size / 1000000000,
		size % 1000000000);
}

static void put_bucket(FILE *out, const struct family *f, const struct rf_ctl_metric *r,
		       const char *bound, uint64_t count)
{
	bool first;

	fprintf(out, "ringfence_%s_bucket", f->name);
	first = put_labels(out, f, r);
	put_label(out, &first, "le", bound);
	fprintf(out, "} %" PRIu64 "\n", count);
}

static void put_histogram(FILE *out, const struct family *f, const struct rf_ctl_metric *r)
{
	static const uint64_t bounds_us[] = {RF_METRIC_BOUNDS_US};
	uint64_t count = 0;
	char bound[24];

	for (unsigned i = 0; i < RF_METRIC_BOUNDS; i++) {
		count += r->bucket[i];
		snprintf(bound, sizeof(bound), "%g", (double)bounds_us[i] / 1e6);
		put_bucket(out, f, r, bound, count);
	}
	count += r->bucket[RF_METRIC_BOUNDS];
	put_bucket(out, f, r, "+Inf", count);
	fprintf(out, "ringfence_%s_sum", f->name);
	fputs(put_labels(out, f, r) ? " " : "} ", out);
	put_seconds(out, (int64_t)r->sum_ns);
	fprintf(out, "ringfence_%s_count", f->name);
	fputs(put_labels(out, f, r) ? " " : "} ", out);
	fprintf(out, "%" PRIu64 "\n", count);
}

static void put_row(FILE *out, const struct family *f, const struct rf_ctl_metric *r)
{
	if (f->kind == 'h') {
		put_histogram(out, f, r);
		return;
	}
	fprintf(out, "ringfence_%s", f->name);
	fputs(put_labels(out, f, r) ? " " : "} ", out);
	if (f->kind == 't')
		put_seconds(out, r->value);
	else
		fprintf(out, "%" PRIu64 "\n", (uint64_t)r->value);
}

static void put_family(FILE *out, const struct prometheus *p, unsigned metric)
{
	const struct family *f = &families[metric];
	bool begun = false;

	for (unsigned i = 0; i < p->count; i++) {
		if (p->row[i].metric != metric)
			continue;
		if (!begun)
			fprintf(out, "# HELP ringfence_%s %s\n# TYPE ringfence_%s %s\n",
				f->name, f->help, f->name,
				f->kind == 'h'   ? "histogram"
				: f->kind == 'c' ? "counter"
						 : "gauge");
		begun = true;
		put_row(out, f, &p->row[i]);
	}
}

void prometheus_print(const struct prometheus *p, FILE *out)
{
	for (unsigned m = 0; m < RF_METRIC_COUNT; m++)
		put_family(out, p, m);
}
