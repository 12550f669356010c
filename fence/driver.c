/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every driver and the chain use, see driver.h. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "driver.h"

uint64_t rf_fencer_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void rf_reply_text(struct rf_fence_reply *reply, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reply->text, sizeof(reply->text), fmt, ap);
	va_end(ap);
}
