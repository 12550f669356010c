/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decision of the core, as a line of the log. */
#include <stdio.h>

#include "decision.h"
#include "log.h"

static enum rf_log_level level_of(uint32_t code)
{
	switch (rf_decision_level(code)) {
	case 'e':
		return RF_LOG_ERR;
	case 'w':
		return RF_LOG_WARNING;
	case 'i':
		return RF_LOG_INFO;
	default:
		return RF_LOG_DEBUG;
	}
}

void rf_log_decision(const struct rf_decision *d, const char *volume, const char *area,
		     char *text, size_t text_bytes)
{
	enum rf_log_level level = level_of(d->code);
	char line[RF_DECISION_BYTES];
	size_t n = rf_decision_format(line, sizeof(line), d, volume);

	if (area && d->volume == RF_NO_VOLUME)
		snprintf(line + n, sizeof(line) - n, " area=%s", area);
	if (text)
		snprintf(text, text_bytes, "%s", line);
	if (level <= RF_LOG_WARNING)
		rf_log(level, "%s msg=\"%s\"", line, rf_decision_words(d->code));
	else
		rf_log(level, "%s", line);
}
