# SPDX-License-Identifier: GPL-2.0-or-later
# The simulator: the real core and node.c in a world of virtual time.
#
#   make sim SEEDS=1..200000 JOBS=2     a long run
#   make check-sim                      2,000 seeds, part of `make check`
#   make check-mutants                  each rule removed once: an oracle must break

RF_SIM_SOURCES := \
	daemon/decision.c \
	daemon/node.c \
	daemon/io/seal.c \
	tests/sim/atlas.c \
	tests/sim/disk.c \
	tests/sim/faults.c \
	tests/sim/gate.c \
	tests/sim/heap.c \
	tests/sim/host.c \
	tests/sim/net.c \
	tests/sim/operator.c \
	tests/sim/oracle.c \
	tests/sim/oracle_epoch.c \
	tests/sim/oracle_fence.c \
	tests/sim/oracle_live.c \
	tests/sim/oracle_state.c \
	tests/sim/oracle_write.c \
	tests/sim/scale.c \
	tests/sim/target.c \
	tests/sim/world.c

$(eval $(call rf_archive,librf-sim,$(RF_SIM_SOURCES),libsodium))
$(eval $(call rf_program,rf-sim,tests/sim/main.c,librf-sim librf-core librf-format,libsodium))

SEEDS ?= 1..2000
JOBS ?= 2

.PHONY: sim sim-scale check-sim check-sim-short check-mutants
sim: $(B)/bin/rf-sim
	@$(B)/bin/rf-sim --seeds $(SEEDS) --jobs $(JOBS)

check-sim: $(B)/bin/rf-sim
	@$(B)/bin/rf-sim --seeds 1..2000 --jobs 2

check-sim-short: $(B)/bin/rf-sim
	@$(B)/bin/rf-sim --seeds 1..50 --jobs 2

# Growth on paper: what 3 to 128 nodes and 1 to 256 volumes cost.
sim-scale: $(B)/bin/rf-sim
	@$(B)/bin/rf-sim --scale

# One build carries all mutants: the rule that is gone is chosen at run time.
check-mutants: $(B)/bin/rf-sim $(B)/bin/rf-scenario
	@$(MAKE) --no-print-directory VARIANT=mutant \
		EXTRA_CFLAGS="-DRF_MUTANT=rf_mutant -Itests/sim" \
		build/mutant/bin/rf-sim build/mutant/bin/rf-scenario
	@JOBS=$(JOBS) tests/sim/check-mutants build/mutant/bin/rf-sim $(B)/bin/rf-sim

FAST_LEVELS += check-sim-short
CHECK_LEVELS += check-sim check-mutants
