/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringfence watch: slots, gates, claims and latencies as they change, from the disks alone.
 * One thread reads, another one shows: a disk that hangs is shown as such, and q works.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "tool.h"
#include "watch.h"

#define INTERVAL_MIN_MS 100u
#define INTERVAL_MAX_MS 60000u
#define HUNG_MS 1000

static uint32_t interval_ms = 1000;
static bool once;
static const char *sort_word = "node";

static const struct opt opts[] = {
	{"interval", "TIME", "between two pictures, 100ms to 1min; default 1s", OPT_SEC,
	 &interval_ms, NULL},
	{"sort", "KEY", "nodes by node, age, worst or host", OPT_TEXT, &sort_word, NULL},
	{"once", NULL, "readings for one interval, then one picture; no terminal needed",
	 OPT_FLAG, &once, NULL},
	{0},
};

static const char *const sort_names[] = {"node", "age", "worst", "host"};

static struct {
	struct watch w;
	enum watch_sort sort;
	bool reverse, help;
	unsigned top;
} v;

/* ---- reading ---- */

/* A node is seen at most a heartbeat late. */
static uint32_t sample_ms(void)
{
	uint32_t ms = v.w.set->super.timing.heartbeat_ms;

	if (ms < INTERVAL_MIN_MS)
		ms = INTERVAL_MIN_MS;
	return ms < interval_ms ? ms : interval_ms;
}

static void pause_ms(uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l};

	nanosleep(&t, NULL);
}

static void *reader(void *arg)
{
	for (;;) {
		pause_ms(sample_ms());
		watch_read(&v.w);
	}
	return arg;
}

/* Signals belong to the thread that shows: it puts the terminal back. */
static int start_reader(void)
{
	sigset_t all, before;
	pthread_t t;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t, NULL, reader, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? fail(RF_EXIT_AGAIN, "no thread: %s", strerror(rc)) : 0;
}

static struct json_object *picture(void)
{
	struct watch *copy = malloc(sizeof(*copy));
	struct json_object *doc;

	if (!copy)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	pthread_mutex_lock(&v.w.lock);
	*copy = v.w;
	pthread_mutex_unlock(&v.w.lock);
	doc = watch_doc(copy, v.sort, v.reverse);
	free(copy);
	return doc;
}

/* ---- terminal ---- */

static const char help_text[] =
	"\n"
	"  q          end                      s  next order of the nodes (node, age, worst, "
	"host)\n"
	"  h or ?     this, or not             r  order reversed\n"
	"  + and -    interval                 space  now\n"
	"  j and k    down and up, and arrows\n"
	"\n"
	"  AGE    since the slot changed, as seen from here; a node is silent after the "
	"suspect\n"
	"         time, and its gate may still be open: GATES is what it said last\n"
	"  BEAT   between its last two writes     CLAIM  is anybody claiming the next epoch\n"
	"  WRITE, READ, WORST  latencies of the disk, as the node measured them\n";

static void head(struct json_object *doc)
{
	int64_t waiting = json_object_get_int64(json_object_object_get(doc, "waiting_ms"));
	char buf[64];

	printf("%s  %s  every %u ms  by %s%s  reading took %.1f ms, at worst %.1f ms",
	       json_object_get_string(json_object_object_get(doc, "cluster")),
	       out_value(json_object_object_get(doc, "unix_ms"), OUT_TIME, buf, sizeof(buf)),
	       interval_ms, sort_names[v.sort], v.reverse ? " reversed" : "",
	       json_object_get_double(json_object_object_get(doc, "reading_us")) / 1000,
	       json_object_get_double(json_object_object_get(doc, "worst_reading_us")) / 1000);
	if (waiting > HUNG_MS)
		printf("  THE DISK HAS NOT ANSWERED FOR %" PRId64 " ms", waiting);
	puts(v.help ? "" : "  h: help");
}

/* All of it as one text, so that the screen is written in one go. */
static char *text_of(struct json_object *doc)
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		exit(fail(RF_EXIT_AGAIN, "out of memory"));
	stdout = f;
	head(doc);
	if (v.help)
		fputs(help_text, stdout);
	putchar('\n');
	watch_print(doc);
	stdout = terminal;
	fclose(f);
	return text;
}

static void draw(void)
{
	struct json_object *doc = picture();
	char *text = text_of(doc);
	unsigned lines = 0, room;
	const char *c;

	for (c = text; *c; c++)
		lines += *c == '\n';
	room = screen_show(text, v.top);
	if (lines <= room)
		v.top = 0;
	else if (v.top > lines - room)
		v.top = lines - room;
	free(text);
	json_object_put(doc);
}

static void slower(void)
{
	interval_ms = interval_ms > INTERVAL_MAX_MS / 2 ? INTERVAL_MAX_MS : 2 * interval_ms;
}

static void faster(void)
{
	interval_ms = interval_ms < 2 * INTERVAL_MIN_MS ? INTERVAL_MIN_MS : interval_ms / 2;
}

/* false: it was the last one */
static bool obey(int key)
{
	switch (key) {
	case 'q':
	case -1:
		return false;
	case 'h':
	case '?':
		v.help = !v.help;
		break;
	case 's':
		v.sort = v.sort == SORT_LAST ? SORT_NODE : v.sort + 1;
		break;
	case 'r':
		v.reverse = !v.reverse;
		break;
	case '+':
		slower();
		break;
	case '-':
		faster();
		break;
	case 'j':
		v.top++;
		break;
	case 'k':
		v.top -= v.top > 0;
		break;
	}
	return true;
}

static int live(void)
{
	int rc = start_reader();

	if (!rc && screen_begin())
		rc = fail(RF_EXIT_IO, "the terminal cannot be set: %m");
	if (rc)
		return rc;
	do
		draw();
	while (obey(screen_key(interval_ms)) && !ferror(stdout));
	screen_end();
	/* The reader may hang in a disk, with the files that run() would close. */
	fflush(stdout);
	_exit(ferror(stdout) ? RF_EXIT_IO : 0);
}

/* ---- no terminal ---- */

static int lines(void)
{
	int rc = start_reader();

	while (!rc) {
		pause_ms(interval_ms);
		out_line(picture());
		if (fflush(stdout) || ferror(stdout))
			rc = RF_EXIT_IO;
	}
	return rc;
}

static int one(void)
{
	struct json_object *doc;
	uint32_t ms = 0;

	for (; ms < interval_ms; ms += sample_ms()) {
		pause_ms(sample_ms());
		watch_read(&v.w);
	}
	doc = picture();
	if (tool.json) {
		out_print(doc);
		return 0;
	}
	watch_print(doc);
	json_object_put(doc);
	return 0;
}

static int judge_options(void)
{
	unsigned i = 0;

	if (interval_ms < INTERVAL_MIN_MS || interval_ms > INTERVAL_MAX_MS)
		return fail(RF_EXIT_BAD_VALUE, "--interval: wants %u ms to 1 min",
			    INTERVAL_MIN_MS);
	while (i <= SORT_LAST && strcmp(sort_names[i], sort_word))
		i++;
	if (i > SORT_LAST)
		return fail(RF_EXIT_BAD_VALUE, "--sort %s: wants node, age, worst or host",
			    sort_word);
	v.sort = (enum watch_sort)i;
	if (!once && !tool.json && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		return fail(RF_EXIT_USAGE,
			    "this is no terminal: say --once for one picture, or "
			    "--json for one object a line");
	return 0;
}

static int run(int argc, char **argv)
{
	struct disk_set set;
	int rc = judge_options();

	if (rc)
		return rc;
	rc = disk_set_open_some(&set, argc, argv);
	if (!rc) {
		pthread_mutex_init(&v.w.lock, NULL);
		v.w.set = &set;
		watch_read(&v.w);
		rc = once ? one() : tool.json ? lines() : live();
	}
	disk_set_close(&set);
	return rc;
}

const struct command cmd_watch = {
	.name = "watch",
	.args = "DEVICE...",
	.brief = "slots, gates, claims and latencies as they change, from the disks alone",
	.opts = opts,
	.min_args = 1,
	.max_args = RF_DISKS_MAX,
	.run = run,
};
