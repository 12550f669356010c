/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An example of libringfence: leads a volume, counts its leaderships in the state, and
 * stops when the leadership is lost (exit 110).
 *
 *     cc example.c $(pkg-config --cflags --libs libringfence) -o example
 *     ./example vol0 [SOCKET]
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringfence/ringfence.h>

#define LIMIT_MS 10000

static void must(struct ringfence *r, int rc, const char *what)
{
	if (rc < 0)
		errx(1, "%s: %s (%s)", what, ringfence_error(r), strerror(-rc));
}

/* What a former leader left, then one more leadership. */
static void take_over(struct ringfence *r)
{
	struct ringfence_work work[RINGFENCE_WORK_MAX];
	char text[32] = "";
	size_t length;
	int n, rc;

	n = ringfence_work_list(r, work, RINGFENCE_WORK_MAX);
	must(r, n, "work list");
	for (int i = 0; i < n; i++)
		printf("unfinished %s of node %u: %s\n", work[i].id, work[i].node,
		       work[i].text);
	rc = ringfence_work_begin(r, "count", "counting leaderships", LIMIT_MS);
	must(r, rc, "work begin");
	printf("count %s\n", rc == RINGFENCE_REPEATED ? "repeated" : "begun");
	must(r, ringfence_state_get(r, text, sizeof(text) - 1, &length), "state get");
	n = snprintf(text, sizeof(text), "%ld", strtol(text, NULL, 10) + 1);
	must(r, ringfence_state_put(r, text, (size_t)n, LIMIT_MS), "state put");
	must(r, ringfence_work_end(r, "count", LIMIT_MS), "work end");
	printf("leadership %s\n", text);
}

int main(int argc, char **argv)
{
	struct ringfence *r = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		errx(64, "which volume?");
	must(r, ringfence_open(&r, argv[1], argv[2]), "open");
	must(r, ringfence_acquire(r, -1), "acquire");
	printf("leading in epoch %" PRIu64 "\n", ringfence_epoch(r));
	take_over(r);
	while (ringfence_check(r) == 1) {
		struct pollfd f = {.fd = ringfence_fd(r), .events = POLLIN};

		poll(&f, 1, -1); /* and whatever else this program waits for */
	}
	printf("lost: %s\n", ringfence_error(r));
	must(r, ringfence_release(r), "release"); /* all work has stopped */
	ringfence_close(r);
	return 110;
}
