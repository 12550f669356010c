/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rf-mark [SIGNAL PID...]: prints the boot clock in nanoseconds, then sends the
 * signal (a number). Scripts time what follows with rf-gap.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	int failed = 0;
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	for (int i = 2; i < argc; i++) {
		if (kill((pid_t)atol(argv[i]), atoi(argv[1])) == 0)
			continue;
		fprintf(stderr, "rf-mark: pid %s: %s\n", argv[i], strerror(errno));
		failed = 1;
	}
	printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	return failed;
}
