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

#include "journal.h"
#include "log.h"

enum form {
	STAMPED, /* time and level in words */
	LEVELS,  /* <N>: the journal reads it as the level, and has its own clock */
	ENTRIES, /* LEVELS in the ring, each line sent as an entry of the journal */
};

static struct {
	int fd;
	enum rf_log_level level;
	enum form form;
	rf_log_writer start;
	void *arg;
	bool writing;
	size_t head, tail; /* ever growing; used = head - tail */
	size_t piece;      /* bytes given to start() */
	uint64_t lost, said;
	char ring[RF_LOG_RING_BYTES];
	char entry[4 * RF_LOG_LINE_BYTES]; /* being sent */
} out = {.fd = STDERR_FILENO, .level = RF_LOG_INFO};

static const char *journal_socket = RF_JOURNAL_SOCKET;

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

void rf_log_journal(const char *path)
{
	journal_socket = path;
}

/* Standard error, or the way to the journal that knows fields. */
static int standard(enum form *form)
{
	int fd = is_journal(STDERR_FILENO) ? rf_journal_open(journal_socket) : -ENOTSUP;

	*form = fd >= 0 ? ENTRIES : is_journal(STDERR_FILENO) ? LEVELS : STAMPED;
	return fd >= 0 ? fd : STDERR_FILENO;
}

int rf_log_open(const char *path, enum rf_log_level level)
{
	enum form form = STAMPED;
	int fd = *path ? rf_log_file(path) : standard(&form);

	if (fd < 0)
		return fd;
	if (out.fd > STDERR_FILENO)
		close(out.fd);
	out.fd = fd;
	out.level = level;
	out.form = form;
	return 0;
}

void rf_log_redirect(int fd, enum rf_log_level level)
{
	out.level = level;
	if (fd < 0 && out.form == ENTRIES)
		return;
	out.form = STAMPED;
	if (fd < 0)
		fd = standard(&out.form);
	/* A write may be under way to the number we have: it names the new place then. */
	if (out.fd <= STDERR_FILENO) {
		out.fd = fd;
		return;
	}
	dup3(fd, out.fd, O_CLOEXEC);
	if (fd > STDERR_FILENO)
		close(fd);
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

/* A line as say_line() made it, <N> in front and its end behind, as an entry. */
static size_t entry_of(const char *line, size_t len)
{
	if (len < 4 || line[0] != '<' || line[2] != '>') /* of the time before a redirection */
		return rf_journal_entry(out.entry, sizeof(out.entry), RF_LOG_INFO, line,
					len - 1);
	return rf_journal_entry(out.entry, sizeof(out.entry), (unsigned)(line[1] - '0'),
				line + 3, len - 4);
}

/* The next line of the ring, which may lie around its end. */
static size_t next_entry(void)
{
	static char line[RF_LOG_LINE_BYTES];
	size_t n = 0;

	do
		line[n] = out.ring[(out.tail + n) % RF_LOG_RING_BYTES];
	while (line[n++] != '\n' && n < sizeof(line) && n < used());
	out.piece = n;
	return entry_of(line, n);
}

/* What can be written at once; out.piece is what it takes of the ring. */
static const char *next_piece(size_t *bytes)
{
	size_t at = out.tail % RF_LOG_RING_BYTES, n = RF_LOG_RING_BYTES - at;

	if (out.form == ENTRIES) {
		*bytes = next_entry();
		return out.entry;
	}
	*bytes = out.piece = n < used() ? n : used();
	return out.ring + at;
}

static void pump(void)
{
	size_t bytes;
	const char *data;

	if (!out.start || out.writing || !used())
		return;
	data = next_piece(&bytes);
	out.writing = true;
	if (out.start(out.arg, out.fd, data, bytes) < 0)
		out.writing = false;
}

static uint64_t lines_in(size_t from, size_t n)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += out.ring[(from + i) % RF_LOG_RING_BYTES] == '\n';
	return lines;
}

/* The journal takes no entries any more: they go on as lines to standard error, which
 * may still reach it. Another piece is lost. */
static void failed(void)
{
	if (out.form == ENTRIES) {
		close(out.fd);
		out.fd = STDERR_FILENO;
		out.form = LEVELS;
		return;
	}
	out.lost += lines_in(out.tail, out.piece);
	out.tail += out.piece;
}

static bool write_all(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(out.fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* While there is no loop. */
static void flush(void)
{
	while (used()) {
		size_t bytes;
		const char *data = next_piece(&bytes);

		if (write_all(data, bytes))
			out.tail += out.piece;
		else
			failed();
	}
}

static void emit(const char *line, size_t len)
{
	if (RF_LOG_RING_BYTES - used() < len) {
		out.lost++;
		return;
	}
	ring_put(line, len);
	if (!out.start)
		flush();
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

	if (out.form != STAMPED)
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
	flush();
	say_lost();
}

void rf_log_written(ssize_t result)
{
	if (!out.writing)
		return;
	out.writing = false;
	if (result == -EAGAIN || result == -EINTR)
		result = 0;
	if (result < 0)
		failed();
	else if (out.form == ENTRIES)
		out.tail += result ? out.piece : 0;
	else
		out.tail += (size_t)result > out.piece ? out.piece : (size_t)result;
	say_lost();
	if (result != 0)
		pump();
}
