# SPDX-License-Identifier: GPL-2.0-or-later
# End to end: real daemons in network namespaces, a loop device, the target.

$(eval $(call rf_program,rf-writer,tests/lib/writer.c tests/lib/outlet-nbd.c,librf-key librf-format,libnbd libsodium))
$(eval $(call rf_program,rf-check,tests/lib/check.c tests/lib/medium.c,librf-format,))
$(eval $(call rf_program,rf-gap,tests/lib/gap.c,librf-format,))
$(eval $(call rf_program,rf-seed,tests/lib/seed.c,librf-format,))
$(eval $(call rf_program,rf-mark,tests/lib/mark.c,,))

# Plugins of nobody, and not installed.
$(B)/lib/rf-clockshift.so: $(B)/obj/tests/lib/clockshift.o
$(B)/lib/rf-nofork.so: $(B)/obj/tests/lib/nofork.o
RF_E2E_EXTRA := $(B)/lib/rf-clockshift.so $(B)/lib/rf-nofork.so
-include $(B)/obj/tests/lib/clockshift.d $(B)/obj/tests/lib/nofork.d

E2E_TESTS := \
	tests/e2e/kill.sh \
	tests/e2e/handover.sh \
	tests/e2e/partition.sh \
	tests/e2e/unicast.sh \
	tests/e2e/return.sh \
	tests/e2e/quorum-disks.sh \
	tests/e2e/stall.sh \
	tests/e2e/write-protect.sh \
	tests/e2e/blackout.sh \
	tests/e2e/three-disks.sh \
	tests/e2e/identity.sh \
	tests/e2e/restart.sh \
	tests/e2e/life.sh \
	tests/e2e/alone.sh \
	tests/e2e/hostile.sh \
	tests/e2e/clocks.sh \
	tests/e2e/session.sh \
	tests/e2e/ghost.sh \
	tests/e2e/start-limit.sh \
	tests/e2e/who.sh \
	tests/e2e/hooks.sh \
	tests/e2e/hooks-tell.sh \
	tests/e2e/format.sh \
	tests/e2e/fence.sh \
	tests/e2e/no-reservations.sh \
	tests/e2e/fencer.sh \
	tests/e2e/no-process.sh \
	tests/e2e/fence-node.sh \
	tests/e2e/fence-disk.sh \
	tests/e2e/metrics.sh \
	tests/e2e/watchdog.sh \
	tests/e2e/service.sh \
	tests/e2e/answers.sh \
	tests/e2e/tune.sh \
	tests/e2e/doctor.sh \
	tests/e2e/ocf.sh \
	tests/e2e/verdict.sh

CHECK_LEVELS += check-e2e

.PHONY: check-e2e

check-e2e: all $(RF_E2E_EXTRA)
	@tests/lib/run e2e $(E2E_TESTS)

# Random faults, for as long as wanted; no part of `make check`.
MINUTES ?= 5

.PHONY: torture-lab

torture-lab: all
	@tests/e2e/torture $(MINUTES) $(SEED)
