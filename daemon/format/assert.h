/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assertions that stay in every build.
 *
 * A failed one ends the process. That is safe: renewals stop, the gate shuts
 * at its deadline, peers exclude us. The hook is supplied by whoever links the
 * core (daemon: log and abort; simulator: print seed and trace).
 */
#ifndef RF_FORMAT_ASSERT_H
#define RF_FORMAT_ASSERT_H

__attribute__((noreturn)) void rf_assert_failed(const char *what, const char *file, int line);

#define rf_assert(x) ((x) ? (void)0 : rf_assert_failed(#x, __FILE__, __LINE__))

#endif
