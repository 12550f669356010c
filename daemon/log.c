/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line per fact, through a ring that never waits. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static struct {
	int fd;
	enum rf_log_level level;
	bool journal; /* the journal takes <N> as the level, and has its own clock */
	rf_log_writer start;
	void *arg;
	bool writing;
	size_t head, tail; /* ever growing; used = head - tail */
	size_t piece;      /* bytes given to start() */
	uint64_t lost, said;
	char ring[RF_LOG_RING_BYTES];
} out = {.fd = STDERR_FILENO, .level = RF_LOG_INFO};

/* JOURNAL_STREAM=DEVICE:INODE names the stderr that the service manager gave us. */
static bool is_journal(int fd)
{
	const char *s = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return s && sscanf(s, "%llu:%llu", &dev, &ino) == 2 && !fstat(fd, &st) &&
	       st.st_dev == dev && st.st_ino == ino;
}

int rf_log_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0)
		return -errno;
	return fd;
}

int rf_log_open(const char *path, enum rf_log_level level)
{
	int fd = *path ? rf_log_file(path) : STDERR_FILENO;

	if (fd < 0)
		return fd;
	if (out.fd > STDERR_FILENO)
		close(out.fd);
	out.fd = fd;
	out.level = level;
	out.journal = is_journal(fd);
	return 0;
}

void rf_log_redirect(int fd, enum rf_log_level level)
{
	/* A write may be under way to the number we have: it names the new place then. */
	if (out.fd > STDERR_FILENO) {
		dup3(fd >= 0 ? fd : STDERR_FILENO, out.fd, O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	} else if (fd >= 0) {
		out.fd = fd;
	}
	out.level = level;
	out.journal = is_journal(out.fd);
}

bool rf_log_wants(enum rf_log_level level)
{
	return level <= out.level;
}

uint64_t rf_log_lost(void)
{
	return out.lost;
}

/* ---- the ring ---- */

static size_t used(void)
{
	return out.head - out.tail;
}

static void ring_put(const char *data, size_t len)
{
	size_t at = out.head % RF_LOG_RING_BYTES, first = RF_LOG_RING_BYTES - at;

	if (first > len)
		first = len;
	memcpy(out.ring + at, data, first);
	memcpy(out.ring, data + first, len - first);
	out.head += len;
}

static void pump(void)
{
	size_t at = out.tail % RF_LOG_RING_BYTES;

	if (!out.start || out.writing || !used())
		return;
	out.piece = RF_LOG_RING_BYTES - at;
	if (out.piece > used())
		out.piece = used();
	out.writing = true;
	if (out.start(out.arg, out.fd, out.ring + at, out.piece) < 0)
		out.writing = false;
}

static void write_all(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(out.fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			out.lost++;
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

static void emit(const char *line, size_t len)
{
	if (!out.start) {
		write_all(line, len);
	} else if (RF_LOG_RING_BYTES - used() < len) {
		out.lost++;
	} else {
		ring_put(line, len);
	}
}

/* ---- lines ---- */

const char *rf_log_level_word(enum rf_log_level level)
{
	switch (level) {
	case RF_LOG_ERR:
		return "error";
	case RF_LOG_WARNING:
		return "warning";
	case RF_LOG_INFO:
		return "info";
	default:
		return "debug";
	}
}

static size_t stamp(char *to, size_t bytes, enum rf_log_level level)
{
	struct timespec now;
	struct tm tm;
	size_t n;

	if (out.journal)
		return (size_t)snprintf(to, bytes, "<%d>", (int)level);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(to, bytes, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(to + n, bytes - n, ".%03ldZ %s ", now.tv_nsec / 1000000,
				    rf_log_level_word(level));
}

/* One line stays one line, whatever a peer, a disk or a hook put into it. */
static void flatten(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = ' ';
}

static void say_line(enum rf_log_level level, const char *text, size_t len)
{
	char line[RF_LOG_LINE_BYTES];
	size_t n = stamp(line, sizeof(line), level);

	if (len > sizeof(line) - n - 1)
		len = sizeof(line) - n - 1;
	memcpy(line + n, text, len);
	flatten(line + n, len);
	line[n + len] = '\n';
	emit(line, n + len + 1);
}

/* Said only when there is room, so that saying it does not lose lines again. */
static void say_lost(void)
{
	char text[64];
	int n;

	if (out.lost == out.said || RF_LOG_RING_BYTES - used() < RF_LOG_LINE_BYTES)
		return;
	n = snprintf(text, sizeof(text), "log: %" PRIu64 " lines lost", out.lost - out.said);
	out.said = out.lost;
	say_line(RF_LOG_WARNING, text, (size_t)n);
}

void rf_vlog(enum rf_log_level level, const char *format, va_list ap)
{
	char text[RF_LOG_LINE_BYTES];
	int n;

	if (level > out.level)
		return;
	n = vsnprintf(text, sizeof(text), format, ap);
	if (n < 0)
		return;
	say_lost();
	say_line(level, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	pump();
}

void rf_log(enum rf_log_level level, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	rf_vlog(level, format, ap);
	va_end(ap);
}

/* ---- the loop's side ---- */

void rf_log_async(rf_log_writer start, void *arg)
{
	out.start = start;
	out.arg = arg;
	if (start) {
		pump();
		return;
	}
	/* The loop has ended: what it did not write is written now. */
	out.writing = false;
	while (used()) {
		size_t at = out.tail % RF_LOG_RING_BYTES, n = RF_LOG_RING_BYTES - at;

		if (n > used())
			n = used();
		write_all(out.ring + at, n);
		out.tail += n;
	}
	say_lost();
}

static uint64_t lines_in(size_t from, size_t n)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += out.ring[(from + i) % RF_LOG_RING_BYTES] == '\n';
	return lines;
}

void rf_log_written(ssize_t result)
{
	if (!out.writing)
		return;
	out.writing = false;
	if (result == -EAGAIN || result == -EINTR)
		result = 0;
	if (result < 0) {
		out.lost += lines_in(out.tail, out.piece);
		out.tail += out.piece;
	} else {
		out.tail += (size_t)result > out.piece ? out.piece : (size_t)result;
	}
	say_lost();
	if (result != 0)
		pump();
}
