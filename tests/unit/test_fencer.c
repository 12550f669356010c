/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's end of a fencer, against this very program in the part of fencers of
 * several characters: one that obeys, one that is late, one that dies, one that talks
 * nonsense.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "io/fencer.h"
#include "io_support.h"

/* ---- the other side ---- */

static void reply(uint32_t verb, uint64_t id, uint64_t epoch, uint32_t result)
{
	struct rf_fence_reply r = {.magic = RF_FENCE_MAGIC,
				   .verb = verb,
				   .id = id,
				   .epoch = epoch,
				   .result = result,
				   .can = RF_FENCE_CAN_EVICT};

	memset(r.driver, 'd', sizeof(r.driver)); /* no end: the daemon must see to it */
	memset(r.text, 't', sizeof(r.text));
	if (send(RF_FENCE_FD, &r, sizeof(r), MSG_NOSIGNAL) != (ssize_t)sizeof(r))
		exit(3);
}

static void nonsense(const struct rf_fence_request *q)
{
	struct rf_fence_reply r = {.magic = ~RF_FENCE_MAGIC, .verb = q->verb, .id = q->id};

	send(RF_FENCE_FD, &r, sizeof(r), MSG_NOSIGNAL);
	r.magic = RF_FENCE_MAGIC;
	send(RF_FENCE_FD, &r, sizeof(r) - 1, MSG_NOSIGNAL);       /* short */
	reply(RF_FENCE_EVICT, q->id, q->epoch, RF_FENCE_OK);      /* not what was asked */
	reply(q->verb, q->id + 100, q->epoch, RF_FENCE_OK);       /* nor this */
	reply(RF_FENCE_REVOKE, 12345, q->epoch, RF_FENCE_FAILED); /* late and useless */
}

/* obey, nonsense, die; elsewhere: a later epoch rules, and its answers name it; late: answers
 * the first request only when the second comes; broken: its driver cannot start. */
static int be_fencer(const char *how)
{
	struct rf_fence_request q, first = {0};

	if (!strcmp(how, "broken")) {
		reply(0, RF_FENCE_HELLO_ID, 0, RF_FENCE_FAILED);
		return 1;
	}
	reply(0, RF_FENCE_HELLO_ID, 0, RF_FENCE_OK);
	if (!strcmp(how, "shut"))
		reply(0, RF_FENCE_SHUT_ID, 9, RF_FENCE_OK);
	while (recv(RF_FENCE_FD, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		if (!strcmp(how, "die"))
			return 1;
		if (!strcmp(how, "nonsense")) {
			nonsense(&q);
		} else if (!strcmp(how, "late")) {
			if (!first.id) {
				first = q;
				continue;
			}
			reply(first.verb, first.id, first.epoch, RF_FENCE_OK);
		}
		if (!strcmp(how, "elsewhere"))
			reply(q.verb, q.id, q.epoch + 3, RF_FENCE_STALE);
		else
			reply(q.verb, q.id, q.epoch, RF_FENCE_OK);
	}
	return 0;
}

/* ---- this side ---- */

struct heard {
	struct rf_loop *loop;
	struct rf_fencer *fencer;
	struct rf_fence_reply reply[16];
	int count, cans, failures, deaths;
	uint32_t can;
	size_t driver, why;
};

static void answer(void *owner, uint32_t volume, const struct rf_fence_reply *r)
{
	struct heard *h = owner;

	assert_int_equal(volume, 5);
	assert_true(h->count < 16);
	h->reply[h->count++] = *r;
}

static void can(void *owner, uint32_t volume, uint32_t what, const char *driver)
{
	struct heard *h = owner;

	assert_int_equal(volume, 5);
	h->cans++;
	h->can = what;
	h->driver = strlen(driver);
}

static void failed(void *owner, uint32_t volume, const char *driver, const char *text)
{
	struct heard *h = owner;

	assert_int_equal(volume, 5);
	assert_int_equal(h->deaths, 0);
	h->failures++;
	h->driver = strlen(driver);
	h->why = strlen(text);
}

static void died(void *owner, uint32_t volume)
{
	struct heard *h = owner;

	assert_int_equal(volume, 5);
	h->deaths++;
}

static void start(struct heard *h, const char *how)
{
	struct rf_fencer_ops ops = {
		.owner = h, .answer = answer, .can = can, .failed = failed, .died = died};
	char *argv[] = {"/proc/self/exe", "--fencer", (char *)how, NULL};
	char err[256] = "";

	memset(h, 0, sizeof(*h));
	h->loop = io_loop();
	assert_int_equal(rf_fencer_start(&h->fencer, argv, 5, &ops, err, sizeof(err)), 0);
	rf_fencer_attach(h->fencer, h->loop);
}

static void stop(struct heard *h)
{
	rf_fencer_stop(h->fencer);
	rf_loop_close(h->loop);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

static int ask(struct heard *h, uint32_t verb, uint64_t epoch, uint64_t limit_ms)
{
	struct rf_fence_request q = {.verb = verb, .epoch = epoch};

	return rf_fencer_ask(h->fencer, &q, limit_ms * MS);
}

static int wanted;

static bool enough(void *arg)
{
	return ((struct heard *)arg)->count >= wanted;
}

static bool said_hello(void *arg)
{
	return ((struct heard *)arg)->cans > 0;
}

static bool is_dead(void *arg)
{
	return ((struct heard *)arg)->deaths > 0;
}

static bool answers(struct heard *h, int count)
{
	wanted = count;
	return io_run(h->loop, enough, h, LIMIT_NS);
}

static void it_says_what_it_can(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "obey");
	assert_true(io_run(h.loop, said_hello, &h, LIMIT_NS));
	assert_int_equal(h.can, RF_FENCE_CAN_EVICT);
	assert_int_equal(h.driver, 15); /* cut to end */
	stop(&h);
}

static void it_is_asked_and_answers(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "obey");
	assert_int_equal(ask(&h, RF_FENCE_GRANT, 7, 10000), 0);
	assert_int_equal(ask(&h, RF_FENCE_REVOKE, 7, 10000), 0);
	assert_true(answers(&h, 2));
	assert_int_equal(h.reply[0].verb, RF_FENCE_GRANT);
	assert_int_equal(h.reply[0].epoch, 7);
	assert_int_equal(h.reply[0].result, RF_FENCE_OK);
	assert_int_equal(strlen(h.reply[0].text), RF_FENCE_TEXT_BYTES - 1);
	assert_int_equal(h.reply[1].verb, RF_FENCE_REVOKE);
	stop(&h);
}

/* The core waits for an answer about the epoch it asked for. One about another epoch
 * would leave it closing for ever (a torture run: 22 minutes without a leader). */
static void an_answer_is_about_the_epoch_asked_for(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "elsewhere");
	assert_int_equal(ask(&h, RF_FENCE_REVOKE, 7, 10000), 0);
	assert_true(answers(&h, 1));
	assert_int_equal(h.reply[0].epoch, 7);
	assert_int_equal(h.reply[0].result, RF_FENCE_STALE);
	stop(&h);
}

static void a_gate_that_shuts_by_itself_is_told(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "shut");
	assert_true(answers(&h, 1));
	assert_int_equal(h.reply[0].verb, 0);
	assert_int_equal(h.reply[0].epoch, 9);
	stop(&h);
}

/* A limit passed is a failure; what comes after it is not believed, but "drained". */
static void late_is_failed_but_drained_counts(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "late");
	assert_int_equal(ask(&h, RF_FENCE_GRANT, 7, 20), 0);
	assert_true(answers(&h, 1));
	assert_int_equal(h.reply[0].verb, RF_FENCE_GRANT);
	assert_int_equal(h.reply[0].result, RF_FENCE_FAILED);
	assert_int_equal(h.reply[0].error, ETIMEDOUT);
	assert_int_equal(ask(&h, RF_FENCE_VERIFY, 7, 10000), 0); /* the grant comes now */
	assert_true(answers(&h, 2));
	assert_int_equal(h.reply[1].verb, RF_FENCE_VERIFY);
	stop(&h);

	start(&h, "late");
	assert_int_equal(ask(&h, RF_FENCE_REVOKE, 7, 20), 0);
	assert_true(answers(&h, 1));
	assert_int_equal(h.reply[0].result, RF_FENCE_FAILED);
	assert_int_equal(ask(&h, RF_FENCE_VERIFY, 7, 10000), 0);
	assert_true(answers(&h, 3));
	assert_int_equal(h.reply[1].verb, RF_FENCE_REVOKE);
	assert_int_equal(h.reply[1].result, RF_FENCE_OK);
	assert_int_equal(h.reply[2].verb, RF_FENCE_VERIFY);
	stop(&h);
}

/* The reason comes before the death, and nothing is promised in between. */
static void a_driver_that_cannot_start_says_why(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "broken");
	assert_true(io_run(h.loop, is_dead, &h, LIMIT_NS));
	assert_int_equal(h.failures, 1);
	assert_int_equal(h.cans, 0);
	assert_int_equal(h.driver, 15);
	assert_int_equal(h.why, RF_FENCE_TEXT_BYTES - 1);
	stop(&h);
}

static void nonsense_is_ignored(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "nonsense");
	assert_int_equal(ask(&h, RF_FENCE_GRANT, 7, 10000), 0);
	assert_true(answers(&h, 1));
	assert_int_equal(h.reply[0].verb, RF_FENCE_GRANT);
	assert_int_equal(h.reply[0].result, RF_FENCE_OK);
	assert_int_equal(h.count, 1);
	stop(&h);
}

static void the_death_of_a_fencer_fails_what_was_asked(void **state)
{
	struct heard h;

	(void)state;
	start(&h, "die");
	assert_int_equal(ask(&h, RF_FENCE_GRANT, 7, 10000), 0);
	assert_true(io_run(h.loop, is_dead, &h, LIMIT_NS));
	assert_int_equal(h.deaths, 1);
	assert_int_equal(h.count, 1);
	assert_int_equal(h.reply[0].result, RF_FENCE_FAILED);
	assert_int_equal(h.reply[0].error, EPIPE);
	assert_int_equal(ask(&h, RF_FENCE_REVOKE, 7, 10000), -EPIPE);
	stop(&h);
}

/* A fencer that does not read: asking never blocks, and is refused at last. */
static void a_fencer_that_does_not_read_fills_up(void **state)
{
	struct heard h;
	int rc = 0, asked = 0;

	(void)state;
	start(&h, "late");
	while ((rc = ask(&h, RF_FENCE_GRANT, 7, 10)) == 0 && asked < 1000)
		asked++;
	assert_int_equal(rc, -EAGAIN);
	assert_true(asked > 0);
	stop(&h);
}

static void what_cannot_be_started_says_so(void **state)
{
	struct rf_fencer_ops ops = {0};
	struct rf_fencer *f = NULL;
	char *argv[] = {"/nonexistent/fencer", "none", NULL};
	char err[256] = "";

	(void)state;
	assert_int_equal(rf_fencer_start(&f, argv, 5, &ops, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/fencer"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_it_can),
		cmocka_unit_test(it_is_asked_and_answers),
		cmocka_unit_test(an_answer_is_about_the_epoch_asked_for),
		cmocka_unit_test(a_gate_that_shuts_by_itself_is_told),
		cmocka_unit_test(late_is_failed_but_drained_counts),
		cmocka_unit_test(a_driver_that_cannot_start_says_why),
		cmocka_unit_test(nonsense_is_ignored),
		cmocka_unit_test(the_death_of_a_fencer_fails_what_was_asked),
		cmocka_unit_test(a_fencer_that_does_not_read_fills_up),
		cmocka_unit_test(what_cannot_be_started_says_so),
	};

	if (argc == 3 && !strcmp(argv[1], "--fencer"))
		return be_fencer(argv[2]);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
