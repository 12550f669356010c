# SPDX-License-Identifier: GPL-2.0-or-later
# Benchmarks print numbers; they are no part of `make check`.

.PHONY: bench-failover bench-idle bench-commands

# FENCE=reservation: two machines and an iSCSI target, all of them emulated.
bench-failover: all $(if $(filter reservation,$(FENCE)),$(vm_bin))
	@$(if $(filter reservation,$(FENCE)),tests/vm/san $(lastword $(VM)) $(or $(KILLS),10),tests/bench/failover $(KILLS))

bench-idle: all
	@tests/bench/idle

bench-commands: all
	@tests/bench/commands
