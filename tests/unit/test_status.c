/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of daemon/status.c: what `status` calls the weakest link of a fence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ringfence/fence.h"
#include "status.h"

#define STORAGE RF_FENCE_CAN_EVICT
#define GATE (RF_FENCE_CAN_DEADLINE | RF_FENCE_CAN_DRAIN)

static void begins(const char *driver, uint32_t can, const char *words)
{
	const char *text = rf_status_weakest(driver, can);

	if (strncmp(text, words, strlen(words)) != 0)
		fail_msg("driver %s can %u: \"%s\"", driver ? driver : "-", can, text);
}

/* What is in force, by name; what it can do is that of all fences of the volume together. */
static void the_weakest_link(void **state)
{
	(void)state;
	begins("reservation", STORAGE, "storage: ");
	begins("reservation", STORAGE | GATE, "storage and host gate: ");
	begins("target", STORAGE | RF_FENCE_CAN_DRAIN, "target: ");
	begins("gate", GATE, "host gate: ");
	begins("gate", RF_FENCE_CAN_DEADLINE, "host gate without drain: ");
	begins("reservation", 0, "the fencer has not said");
}

/* §9: a reservation that was not verified counts for nothing, whatever it could do. */
static void not_more_than_is_in_force(void **state)
{
	static const char *const advisory[] = {NULL, "", "none", "expiry"};

	(void)state;
	begins("gate", STORAGE | GATE, "host gate: ");
	assert_false(rf_status_at_storage("gate", STORAGE | GATE)); /* and no watchdog rests */
	assert_true(rf_status_at_storage("reservation", STORAGE | GATE));
	assert_false(rf_status_at_storage("reservation", 0));
	for (size_t i = 0; i < sizeof(advisory) / sizeof(*advisory); i++)
		begins(advisory[i], STORAGE | GATE, "advisory only: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_weakest_link),
		cmocka_unit_test(not_more_than_is_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
