/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded by tests: while the file RF_NOFORK exists, no process can be made. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include <dlfcn.h>

static int refused(void)
{
	const char *file = getenv("RF_NOFORK");

	return file && access(file, F_OK) == 0;
}

__attribute__((visibility("default"))) pid_t fork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	if (!refused())
		return next();
	errno = EAGAIN;
	return -1;
}

__attribute__((visibility("default"))) int posix_spawnp(
	pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		    const posix_spawnattr_t *, char *const[], char *const[]);

	next = (__typeof__(next))dlsym(RTLD_NEXT, "posix_spawnp");
	return refused() ? EAGAIN : next(pid, file, actions, attr, argv, env);
}
