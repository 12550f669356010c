/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal in another mode must come back whatever ends the program: by q, by exit(), by
 * a signal, by a bug. What is done in a handler here is async-signal-safe. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "watch.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static const int fatal[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
			    SIGABRT, SIGSEGV, SIGBUS, SIGFPE,  SIGILL};
static struct termios before;
static volatile sig_atomic_t raw;

static void raw_on(void)
{
	struct termios t = before;

	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	raw = 1;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
	(void)!write(STDOUT_FILENO, ENTER, sizeof(ENTER) - 1);
}

static void raw_off(void)
{
	if (!raw)
		return;
	raw = 0;
	(void)!write(STDOUT_FILENO, LEAVE, sizeof(LEAVE) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void on_stop(int sig);

static void on_signal(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = flags};

	sigaction(sig, &a, NULL);
}

/* The default action is back already (SA_RESETHAND): the caller sees the signal. */
static void on_fatal(int sig)
{
	raw_off();
	raise(sig);
}

static void on_stop(int sig)
{
	int error = errno;

	raw_off();
	raise(sig);
	/* somebody said fg */
	on_signal(SIGTSTP, on_stop, SA_RESETHAND | SA_NODEFER);
	raw_on();
	errno = error;
}

static void on_resize(int sig)
{
	(void)sig; /* poll() ends with EINTR, and all is drawn anew */
}

int screen_begin(void)
{
	size_t i;

	if (tcgetattr(STDIN_FILENO, &before))
		return -errno;
	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		on_signal(fatal[i], on_fatal, (int)(SA_RESETHAND | SA_NODEFER));
	on_signal(SIGTSTP, on_stop, (int)(SA_RESETHAND | SA_NODEFER));
	on_signal(SIGWINCH, on_resize, 0);
	atexit(raw_off);
	raw_on();
	return 0;
}

void screen_end(void)
{
	raw_off();
}

/* One byte that is there within ms: 0 none, -1 the terminal is gone. */
static int next_byte(uint32_t ms)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned char c;
	ssize_t n;

	if (poll(&p, 1, (int)ms) <= 0)
		return 0;
	n = read(STDIN_FILENO, &c, 1);
	if (n == 1)
		return c;
	return n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

int screen_key(uint32_t ms)
{
	int c = next_byte(ms);

	if (c != '\033')
		return c;
	/* an arrow comes at once as a whole; a lone escape key means nothing */
	if (next_byte(20) != '[')
		return 0;
	c = next_byte(20);
	return c == 'A' ? 'k' : c == 'B' ? 'j' : 0;
}

static void size(unsigned *rows, unsigned *cols)
{
	struct winsize w;

	*rows = 24;
	*cols = 80;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col) {
		*rows = w.ws_row;
		*cols = w.ws_col;
	}
}

/* Characters, not bytes: names may have any. Continuation bytes go with their first. */
static size_t crop(const char *line, size_t len, unsigned cols)
{
	size_t i;
	unsigned n = 0;

	for (i = 0; i < len; i++)
		if (((unsigned char)line[i] & 0xc0) != 0x80 && ++n > cols)
			break;
	return i;
}

unsigned screen_show(const char *text, unsigned top)
{
	unsigned rows, cols, row = 0, line = 0;
	const char *end;

	size(&rows, &cols);
	fputs("\033[H", stdout);
	for (; *text && row + 1 < rows; text = *end ? end + 1 : end, line++) {
		end = strchrnul(text, '\n');
		/* the first line stays */
		if (line && line <= top)
			continue;
		fwrite(text, 1, crop(text, (size_t)(end - text), cols), stdout);
		fputs("\033[K\r\n", stdout);
		row++;
	}
	fputs("\033[J", stdout);
	fflush(stdout);
	return rows - 1;
}
