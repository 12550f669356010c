/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringfence keygen: a key file with one fresh key. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ringfence/key.h"
#include "tool.h"

static uint32_t key_id;

static const struct opt opts[] = {
	{"id", "ID", "number of the key, 0 to 255 (default 0)", OPT_U32, &key_id, NULL},
	{0},
};

static int key_text(char *text, size_t bytes)
{
	uint8_t key[RF_KEY_BYTES];
	size_t used, i;

	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return fail(RF_EXIT_AGAIN, "no random numbers: %m");
	used = (size_t)snprintf(text, bytes, "%u ", key_id);
	for (i = 0; i < sizeof(key); i++)
		used += (size_t)snprintf(text + used, bytes - used, "%02x", key[i]);
	snprintf(text + used, bytes - used, "\n");
	explicit_bzero(key, sizeof(key));
	return 0;
}

static int create(const char *path, int *fd)
{
	*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return 0;
	if (errno == EEXIST)
		return fail(
			RF_EXIT_UNSAFE,
			"%s: exists and is not overwritten: hosts may be using it. To change "
			"keys append a new one, see ringfence-keygen(8)",
			path);
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		return fail(RF_EXIT_PERMISSION, "%s: cannot be created: %m", path);
	return fail(RF_EXIT_IO, "%s: cannot be created: %m", path);
}

static int store(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd, rc = create(path, &fd);

	if (rc)
		return rc;
	if (fchmod(fd, 0600) || write(fd, text, len) != (ssize_t)len || fsync(fd))
		rc = fail(RF_EXIT_IO, "%s: cannot be written: %m", path);
	close(fd);
	if (rc)
		unlink(path);
	return rc;
}

static int run(int argc, char **argv)
{
	char text[16 + 2 * RF_KEY_BYTES + 2];
	int rc;

	(void)argc;
	if (key_id > 255)
		return fail(RF_EXIT_BAD_VALUE, "--id %u: wants 0 to 255", key_id);
	rc = key_text(text, sizeof(text));
	if (!rc)
		rc = store(argv[0], text);
	explicit_bzero(text, sizeof(text));
	if (!rc)
		note("%s: key %u written; copy it to every host, mode 0600", argv[0], key_id);
	return rc;
}

const struct command cmd_keygen = {
	.name = "keygen",
	.args = "FILE",
	.brief = "write a new cluster key to a file that does not exist yet",
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
