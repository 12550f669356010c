/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of fences: the real program with `chain`, whose ways are this very test
 * (named as a driver, found through a wrapper of exec) in several characters.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../fence/chain.h"
#include "ringfence/fence.h"

#define LIMIT_MS 30000
#define EVICTS RF_FENCE_CAN_EVICT
#define GATES (RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN)

static pid_t pid;
static int fd = -1;
static uint64_t next_id;

/* ---- a way: obeys, except for verbs that its name says ---- */

/* driver=CHARACTER: e evicts, g gates, n nothing; then letters of what it does not do:
 * E evict, G grant, R revoke fail; S stale; D dies, H hangs at a grant; F fails;
 * W drains for longer than another way would be waited for; L is late to say hello;
 * O refuses its first grant only, P, too, and finds a newer epoch at the next. */
static uint32_t result_of(const char *how, const struct rf_fence_request *q)
{
	static unsigned grants;
	char letter = q->verb == RF_FENCE_EVICT    ? 'E'
		      : q->verb == RF_FENCE_GRANT  ? 'G'
		      : q->verb == RF_FENCE_REVOKE ? 'R'
						   : '-';

	if (strchr(how, 'S'))
		return RF_FENCE_STALE;
	if (letter == 'G' && strpbrk(how, "OP"))
		return !grants++          ? RF_FENCE_FAILED
		       : strchr(how, 'P') ? RF_FENCE_STALE
					  : RF_FENCE_OK;
	return strchr(how, letter) ? RF_FENCE_FAILED : RF_FENCE_OK;
}

static int be_way(const char *how)
{
	struct rf_fence_reply r = {.magic = RF_FENCE_MAGIC};
	struct rf_fence_request q;
	unsigned served = 0;

	if (strchr(how, 'F')) {
		r.result = RF_FENCE_FAILED;
		snprintf(r.text, sizeof(r.text), "no such device");
	}
	if (strchr(how, 'L'))
		poll(NULL, 0, 1000);
	r.can = *how == 'e' ? EVICTS : *how == 'g' ? GATES : 0;
	send(RF_FENCE_FD, &r, sizeof(r), MSG_NOSIGNAL);
	if (r.result != RF_FENCE_OK)
		return 1;
	while (recv(RF_FENCE_FD, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		if (q.verb == RF_FENCE_GRANT && strchr(how, 'D'))
			return 1;
		if (q.verb == RF_FENCE_GRANT && strchr(how, 'H'))
			continue;
		if (q.verb == RF_FENCE_REVOKE && strchr(how, 'W'))
			poll(NULL, 0, 2000);
		r.verb = q.verb;
		r.id = q.id;
		r.result = result_of(how, &q);
		r.epoch = r.result == RF_FENCE_STALE ? 99 : q.epoch;
		r.admitted = ++served;
		r.refused_by[RF_FENCE_REFUSED_STALE] = 1;
		snprintf(r.text, sizeof(r.text), "served %u", served);
		send(RF_FENCE_FD, &r, sizeof(r), MSG_NOSIGNAL);
	}
	return 0;
}

/* ---- the daemon's side ---- */

static struct rf_fence_reply receive(void)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct rf_fence_reply r = {0};

	assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
	assert_int_equal(recv(fd, &r, sizeof(r), 0), sizeof(r));
	return r;
}

static char *patience; /* a parameter of the chain itself */
static uint64_t early; /* an epoch that is asked for before anybody said hello, */
static uint32_t early_verb = RF_FENCE_GRANT; /* and what is asked */

static void request(uint32_t verb, uint64_t epoch)
{
	struct rf_fence_request q = {
		.magic = RF_FENCE_MAGIC, .verb = verb, .id = ++next_id, .epoch = epoch};

	assert_int_equal(send(fd, &q, sizeof(q), 0), sizeof(q));
}

/* Asks again and again: the answers before the first hello are all failures. */
static struct rf_fence_reply insist(void)
{
	struct rf_fence_reply r;

	for (;;) {
		request(early_verb, early);
		r = receive();
		if (!r.verb)
			return r;
		assert_int_equal(r.result, RF_FENCE_FAILED);
		poll(NULL, 0, 20); /* meanwhile the quick one says hello */
	}
}

static struct rf_fence_reply launch(const char *a, const char *b, const char *c)
{
	const char *const how[] = {a, b, c};
	char text[3][32], *argv[5] = {patience};
	unsigned n = patience != NULL;
	int fds[2];

	for (unsigned i = 0; i < 3 && how[i]; i++) {
		snprintf(text[i], sizeof(text[i]), "driver=%s", how[i]);
		argv[n++] = text[i];
	}
	patience = NULL;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (fds[1] != RF_FENCE_FD)
			dup2(fds[1], RF_FENCE_FD);
		_exit(rf_chain_run(argv));
	}
	close(fds[1]);
	fd = fds[0];
	return early ? insist() : receive();
}

static void start(uint32_t can, const char *a, const char *b, const char *c)
{
	struct rf_fence_reply r = launch(a, b, c);

	assert_int_equal(r.verb, 0);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.can, can);
}

static int end(void **state)
{
	int status;

	(void)state;
	early = 0;
	early_verb = RF_FENCE_GRANT;
	if (fd >= 0)
		close(fd);
	fd = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status)
		       ? 0
		       : -1;
}

static struct rf_fence_reply ask(uint32_t verb, uint64_t epoch)
{
	struct rf_fence_reply r;

	request(verb, epoch);
	do
		r = receive();
	while (!r.verb); /* HELLO: what it can do has changed */
	assert_int_equal(r.verb, verb);
	assert_int_equal(r.id, next_id);
	return r;
}

static uint32_t result(uint32_t verb, uint64_t epoch)
{
	return ask(verb, epoch).result;
}

/* ---- tests ---- */

static void all_well(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "e", "g", NULL);
	assert_int_equal(result(RF_FENCE_REVOKE, 0), RF_FENCE_OK);
	r = ask(RF_FENCE_EVICT, 5);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_string_equal(r.text, "e: served 2");
	assert_string_equal(r.driver, "e");
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_OK);
	/* a renewal goes to the one with a deadline only */
	r = ask(RF_FENCE_GRANT, 5);
	assert_string_equal(r.text, "g: served 3");
	r = ask(RF_FENCE_STATUS, 0);
	assert_int_equal(r.admitted, 4 + 4);
	assert_int_equal(r.refused_by[RF_FENCE_REFUSED_STALE], 2);
	assert_int_equal(result(RF_FENCE_VERIFY, 5), RF_FENCE_OK);
	/* after a revoke everybody is asked again */
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
	assert_string_equal(ask(RF_FENCE_GRANT, 5).text, "e: served 7");
}

static void next_way(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS, "eE", "e", NULL);
	r = ask(RF_FENCE_EVICT, 5);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.error, 0);
	assert_string_equal(r.text, "e: served 1"); /* of the one that did it */
	assert_int_equal(r.can, EVICTS);
	assert_string_equal(r.driver, "e"); /* the one that is in force */
}

/* Not verified: not counted, and said. The gate is what is left. */
static void not_verified(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "eEG", "g", NULL);
	r = ask(RF_FENCE_EVICT, 5);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_int_equal(r.can, GATES);
	r = ask(RF_FENCE_GRANT, 5);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.can, GATES);
	assert_string_equal(r.driver, "g");
	assert_int_equal(result(RF_FENCE_VERIFY, 5), RF_FENCE_OK);
}

/* The data passes through the gate: a reservation does not replace it. */
static void gate_refuses(void **state)
{
	(void)state;
	start(EVICTS | GATES, "e", "gG", "n");
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_FAILED);
}

static void last_resort(void **state)
{
	(void)state;
	start(EVICTS, "eEG", "n", NULL);
	assert_int_equal(result(RF_FENCE_EVICT, 5), RF_FENCE_FAILED);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_OK);
}

/* The way that evicts is slow to start: the one that enforces nothing must not do instead. */
static void first_is_late(void **state)
{
	(void)state;
	early = 5;
	start(EVICTS, "eL", "n", NULL);
	early = 0;
	receive(); /* of the last one asked for */
	assert_int_equal(result(RF_FENCE_EVICT, 6), RF_FENCE_OK);
	assert_int_equal(result(RF_FENCE_GRANT, 6), RF_FENCE_OK);
}

/* §3: a gate that has not said yet that it is one may be open, of an earlier life. */
static void too_early_to_be_drained(void **state)
{
	(void)state;
	early = 5;
	early_verb = RF_FENCE_REVOKE;
	start(GATES, "gL", "n", NULL);
	early = 0;
	early_verb = RF_FENCE_GRANT;
	receive(); /* of the last one asked for */
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
	end(NULL);
	start(0, "gF", "n", NULL); /* nor is one that fails known to be shut */
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_FAILED);
}

static void nothing_left(void **state)
{
	(void)state;
	start(EVICTS, "eEG", "eG", NULL);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_FAILED);
}

static void stale_wins(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "e", "gS", NULL);
	r = ask(RF_FENCE_GRANT, 5);
	assert_int_equal(r.result, RF_FENCE_STALE);
	assert_int_equal(r.epoch, 99);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_STALE);
}

static void drained_by_the_gate(void **state)
{
	(void)state;
	start(EVICTS | GATES, "eR", "g", NULL);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

static void not_drained(void **state)
{
	(void)state;
	start(EVICTS | GATES, "e", "gR", NULL);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_FAILED);
}

static void drains_slowly(void **state)
{
	(void)state;
	start(EVICTS | GATES, "e", "gW", NULL);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

static void one_dies(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "eD", "g", NULL);
	r = ask(RF_FENCE_GRANT, 5);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.can, GATES);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

static struct rf_fence_reply until_said(uint32_t can, const char *driver)
{
	struct rf_fence_reply r;

	do
		r = receive();
	while (r.verb || r.can != can || strcmp(r.driver, driver) != 0);
	return r;
}

/* Who refused an epoch is offered it again, is not waited for, and counts once it granted. */
static void taken_later(void **state)
{
	bool granted = false, said = false;
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "eO", "g", NULL);
	assert_int_equal(result(RF_FENCE_EVICT, 5), RF_FENCE_OK);
	assert_string_equal(ask(RF_FENCE_GRANT, 5).driver, "g");
	request(RF_FENCE_GRANT, 5);
	while (!granted || !said) { /* in any order */
		r = receive();
		granted |= r.verb == RF_FENCE_GRANT && r.result == RF_FENCE_OK;
		said |= !r.verb && r.can == (EVICTS | GATES) && !strcmp(r.driver, "eO");
	}
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

static void a_newer_epoch_is_found_later(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "eP", "g", NULL);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_OK);
	request(RF_FENCE_GRANT, 5);
	do
		r = receive();
	while (r.verb || r.id != RF_FENCE_SHUT_ID);
	assert_int_equal(r.epoch, 5);
	assert_int_equal(r.result, RF_FENCE_STALE);
}

/* Also where nobody else has a deadline, so that no later grant would come by itself: said
 * again after a while, which makes the daemon grant again. */
static void another_try(void **state)
{
	(void)state;
	start(EVICTS, "eO", "n", NULL);
	assert_string_equal(ask(RF_FENCE_GRANT, 5).driver, "none");
	until_said(EVICTS, "none");
	request(RF_FENCE_GRANT, 5);
	until_said(EVICTS, "eO");
}

/* Who is of no use here has nothing to say about what is drained. */
static void useless_ways_drain_nothing(void **state)
{
	(void)state;
	start(0, "eF", "n", NULL);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_OK);
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
	end(NULL);
	start(EVICTS | GATES, "eER", "gG", NULL);
	assert_int_equal(result(RF_FENCE_EVICT, 5), RF_FENCE_FAILED);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_FAILED); /* weak, and drains */
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

/* What refuses at the storage is named, wherever it stands in the order. */
static void storage_before_gate(void **state)
{
	(void)state;
	start(EVICTS | GATES, "g", "e", NULL);
	assert_int_equal(result(RF_FENCE_EVICT, 5), RF_FENCE_OK);
	assert_string_equal(ask(RF_FENCE_GRANT, 5).driver, "e");
}

/* The grant of an epoch that is over must not make it the one that is led. */
static void revoked_while_granting(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS, "eH", "n", NULL);
	request(RF_FENCE_GRANT, 5);
	request(RF_FENCE_REVOKE, 5);
	r = receive();
	assert_int_equal(r.verb, RF_FENCE_GRANT);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	r = receive();
	assert_int_equal(r.verb, RF_FENCE_REVOKE);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_string_equal(r.driver,
			    "eH"); /* nothing is led: what the next could be held by */
}

/* Started again, it can do what it could, but what is led now it does not hold; said even
 * if another way can do the same. */
static void back_without_a_part(void **state)
{
	(void)state;
	start(EVICTS, "eD", "n", NULL);
	assert_string_equal(ask(RF_FENCE_GRANT, 5).driver, "none");
	until_said(EVICTS, "none");
	request(RF_FENCE_REVOKE, 5);
	until_said(EVICTS, "eD"); /* what the next one would be held by */
	end(NULL);
	start(EVICTS, "eD", "e", NULL);
	request(RF_FENCE_GRANT, 5);
	until_said(EVICTS, "e"); /* dead */
	until_said(EVICTS, "e"); /* and back */
}

/* Started again, it is one of those that count, until it dies again; and later each time. */
static void the_dead_come_back(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS | GATES, "eD", "g", NULL);
	for (unsigned i = 0; i < 2; i++) {
		request(RF_FENCE_GRANT, 5 + i); /* kills it */
		do
			r = receive();
		while (r.verb || r.can != GATES);
		do
			r = receive();
		while (r.verb || r.can != (EVICTS | GATES));
		request(RF_FENCE_EVICT, 7);
		r = receive();
		assert_int_equal(r.verb, RF_FENCE_EVICT);
		assert_int_equal(r.result, RF_FENCE_OK);
		assert_string_equal(r.driver, "g");
	}
}

/* All that can evict has died: the request fails and says why, and so does a HELLO. */
static void all_died(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	start(EVICTS, "eD", NULL, NULL);
	request(RF_FENCE_GRANT, 5);
	r = receive();
	assert_int_equal(r.verb, 0);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_int_equal(r.can, 0);
	assert_string_equal(r.text, "the fencer of eD died");
	r = receive();
	assert_int_equal(r.verb, RF_FENCE_GRANT);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_string_equal(r.text, "eD: its fencer died");
	r = ask(RF_FENCE_EVICT, 6);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_int_equal(r.error, EPIPE);
	assert_string_equal(r.text, "eD: its fencer has failed or died");
}

static void one_cannot_start(void **state)
{
	(void)state;
	start(GATES, "eF", "g", NULL);
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_OK);
	assert_string_equal(ask(RF_FENCE_EVICT, 6).text, "no fence of this volume can do that");
}

static void none_can_start(void **state)
{
	struct rf_fence_reply r = launch("eF", NULL, NULL);

	(void)state;
	assert_int_equal(r.verb, 0);
	assert_int_equal(r.result, RF_FENCE_FAILED);
	assert_string_equal(r.text, "eF: no such device");
	assert_int_equal(result(RF_FENCE_GRANT, 5), RF_FENCE_FAILED);
}

/* What it cannot understand about its patience, it does not guess. */
static void bad_patience(void **state)
{
	static char *const bad[] = {"grant-ms=0", "evict-ms=soon", "evict-ms="};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		patience = bad[i];
		assert_string_equal(launch("e", "g", NULL).text,
				    "driver chain cannot start: Invalid argument");
		assert_int_equal(end(NULL), -1); /* with an error */
	}
}

/* A stuck reservation holds up the gate's grant once, and its renewals never. */
static void one_hangs(void **state)
{
	struct rf_fence_reply r;

	(void)state;
	patience = "grant-ms=1000";
	start(EVICTS | GATES, "eH", "g", NULL);
	r = ask(RF_FENCE_GRANT, 5);
	assert_int_equal(r.result, RF_FENCE_OK);
	assert_int_equal(r.can, GATES);
	assert_string_equal(r.text, "eH does not answer");
	assert_string_equal(ask(RF_FENCE_GRANT, 5).text, "g: served 2");
	assert_int_equal(result(RF_FENCE_REVOKE, 5), RF_FENCE_OK);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_teardown(f, end)
	const struct CMUnitTest tests[] = {
		TEST(all_well),
		TEST(next_way),
		TEST(not_verified),
		TEST(gate_refuses),
		TEST(last_resort),
		TEST(first_is_late),
		TEST(too_early_to_be_drained),
		TEST(nothing_left),
		TEST(stale_wins),
		TEST(drained_by_the_gate),
		TEST(not_drained),
		TEST(one_dies),
		TEST(taken_later),
		TEST(a_newer_epoch_is_found_later),
		TEST(another_try),
		TEST(useless_ways_drain_nothing),
		TEST(storage_before_gate),
		TEST(revoked_while_granting),
		TEST(back_without_a_part),
		TEST(the_dead_come_back),
		TEST(one_hangs),
		cmocka_unit_test(bad_patience),
		TEST(drains_slowly),
		TEST(all_died),
		TEST(one_cannot_start),
		TEST(none_can_start),
	};

	if (argc > 1 && !strcmp(argv[0], "ringfence-fencer"))
		return be_way(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
