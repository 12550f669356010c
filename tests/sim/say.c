/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decisions as lines, for traces and scenarios. */
#include <string.h>

#include "sim.h"

static const struct {
	const char *name, *a, *b;
} words[RF_SAY_COUNT] = {
#define RF_DECISION(code, name, level, a, b, text) [RF_SAY_##code] = {#name, #a, #b},
#include "core/decision.def"
#undef RF_DECISION
};

static const char *const causes[] = {
	[RF_CAUSE_NONE] = "none",
	[RF_CAUSE_FIRST] = "first",
	[RF_CAUSE_SILENCE] = "silence",
	[RF_CAUSE_RELEASED] = "released",
	[RF_CAUSE_HANDOVER] = "handover",
	[RF_CAUSE_RESIGNED] = "resigned",
	[RF_CAUSE_SUPERSEDED] = "superseded",
	[RF_CAUSE_EXPIRED] = "expired",
	[RF_CAUSE_ORDERED] = "ordered",
	[RF_CAUSE_ISOLATED] = "isolated",
	[RF_CAUSE_RECONCILE] = "reconcile",
	[RF_CAUSE_GATE] = "gate",
	[RF_CAUSE_SHUTDOWN] = "shutdown",
	[RF_CAUSE_STOLEN] = "stolen",
};

const char *say_name(uint32_t code)
{
	return code < RF_SAY_COUNT ? words[code].name : "?";
}

static void ways(char *out, size_t size, uint64_t way)
{
	snprintf(out, size, "%s%s%s%s", way & RF_WAY_CLOSED ? "closed," : "",
		 way & RF_WAY_ACKNOWLEDGED ? "acknowledged," : "",
		 way & RF_WAY_ABORTED ? "aborted," : "",
		 way & RF_WAY_EXPIRED ? "expired," : "");
	if (*out)
		out[strlen(out) - 1] = 0;
	else
		snprintf(out, size, "none");
}

static size_t field(char *out, size_t size, const char *name, uint64_t value)
{
	size_t n = strlen(name);
	char text[64];

	if (!*name || *name == '"' || !size) /* "" in decision.def: unused */
		return 0;
	if (n > 3 && !strcmp(name + n - 3, "_ms"))
		snprintf(text, sizeof(text), "%llu", (unsigned long long)(value / RF_MS_NS));
	else if (!strncmp(name, "cause", 5) && value < RF_CAUSE_LAST)
		snprintf(text, sizeof(text), "%s", causes[value]);
	else if (!strncmp(name, "way", 3))
		ways(text, sizeof(text), value);
	else if (!strcmp(name, "incarnation"))
		snprintf(text, sizeof(text), "%llx", (unsigned long long)value);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return (size_t)snprintf(out, size, " %s=%s", name, text);
}

/* t=1234ms n2 vol=0 epoch=2 suspect node=1 silent_ms=350 */
void say_format(char *out, size_t size, uint64_t at_ns, uint32_t node,
		const struct rf_decision *d)
{
	size_t n = (size_t)snprintf(out, size, "t=%llums n%u",
				    (unsigned long long)(at_ns / RF_MS_NS), node);

	if (d->volume != RF_NO_VOLUME)
		n += (size_t)snprintf(out + n, size - n, " vol=%u", d->volume);
	if (d->epoch)
		n += (size_t)snprintf(out + n, size - n, " epoch=%llu",
				      (unsigned long long)d->epoch);
	n += (size_t)snprintf(out + n, size - n, " %s", say_name(d->code));
	if (d->node)
		n += (size_t)snprintf(out + n, size - n, " node=%u", d->node);
	if (d->code >= RF_SAY_COUNT)
		return;
	n += field(out + n, size - n, words[d->code].a, d->a);
	field(out + n, size - n, words[d->code].b, d->b);
}
