/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded by tests: the wall clock is an hour ahead while a file exists. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *file = getenv("RF_CLOCKSHIFT");
	int rc = (int)syscall(SYS_clock_gettime, clock, t);

	if (rc == 0 && clock == CLOCK_REALTIME && file && access(file, F_OK) == 0)
		t->tv_sec += 3600;
	return rc;
}
