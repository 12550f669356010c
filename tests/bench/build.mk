# SPDX-License-Identifier: GPL-2.0-or-later
# Benchmarks print numbers; they are no part of `make check`.

.PHONY: bench-failover bench-idle bench-commands

bench-failover: all
	@tests/bench/failover

bench-idle: all
	@tests/bench/idle

bench-commands: all
	@tests/bench/commands
