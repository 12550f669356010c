# SPDX-License-Identifier: GPL-2.0-or-later
# How much of core and format the fast tests reach: lines and branches, by gcov.
#
#   make coverage                  a build of its own (build/coverage), then a table
#   make coverage COVERAGE_SEEDS=1..2000
#
# build/coverage/never: the branches that were never taken, FILE:LINE: source.

COVERAGE_SEEDS ?= 1..300
COVERAGE_TESTS := crc32c geometry timing records content wire claim core core-odd nbd-judge

ifeq ($(VARIANT),coverage)
# They alone are measured; unoptimized, so that a branch is one of the source.
$(B)/obj/daemon/core/%.o $(B)/obj/daemon/format/%.o: CFLAGS += --coverage -O0
LDFLAGS += --coverage

.PHONY: coverage-run
coverage-run: $(patsubst %,$(B)/tests/%,$(COVERAGE_TESTS)) $(B)/bin/rf-sim \
		$(patsubst %,$(B)/bin/%,$(filter rf-scenario,$(PROGRAMS)))
	@tests/lib/coverage $(B) $(COVERAGE_SEEDS) $(COVERAGE_TESTS)
endif

.PHONY: coverage
coverage:
	+@$(MAKE) --no-print-directory VARIANT=coverage CC=gcc SAN= coverage-run
