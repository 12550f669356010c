/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work on disks that may never answer; see worker.h. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "tool.h"
#include "worker.h"

#define LOOK_NS 5000000L

static struct shared {
	_Atomic uint64_t deadline_ns;
	char doing[512];
} * shared;

void worker_deadline(uint64_t ns)
{
	if (ns > atomic_load(&shared->deadline_ns))
		atomic_store(&shared->deadline_ns, ns);
}

void worker_doing(const char *path, const char *what)
{
	snprintf(shared->doing, sizeof(shared->doing), "%s: %s", path, what);
}

static int hangs(pid_t pid)
{
	char doing[sizeof(shared->doing)];

	snprintf(doing, sizeof(doing), "%.*s", (int)sizeof(doing) - 1, shared->doing);
	kill(pid, SIGKILL);
	return fail(RF_EXIT_TIMED_OUT,
		    "no answer from the disk while %s: nothing is known to have been done",
		    doing[0] ? doing : "starting");
}

static int watch(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			break;
		if (rf_boot_ns() >= atomic_load(&shared->deadline_ns))
			return hangs(pid);
		nanosleep(&pause, NULL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return fail(RF_EXIT_CANNOT_TELL, "ended by signal %d while %s", WTERMSIG(status),
		    shared->doing);
}

int worker_run(int (*work)(int argc, char **argv), int argc, char **argv, uint32_t first_ms)
{
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return fail(RF_EXIT_AGAIN, "no memory to share with a worker: %m");
	atomic_store(&shared->deadline_ns, rf_boot_ns() + first_ms * 1000000ull);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return fail(RF_EXIT_AGAIN, "no worker: %m");
	if (!pid) {
		int rc;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rc = work(argc, argv);
		if (fflush(stdout) && !rc)
			rc = fail(RF_EXIT_IO, "output could not be written: %m");
		_exit(rc);
	}
	return watch(pid);
}
