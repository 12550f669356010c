# SPDX-License-Identifier: GPL-2.0-or-later
# Scenarios: sentences of the protocol as scripts, in the simulator's world.
#
#   make check-scenario         all of them
#   make check-scenario-kills   each must fail when the rule that it names is gone

$(eval $(call rf_program,rf-scenario,\
	tests/scenario/act.c \
	tests/scenario/fence.c \
	tests/scenario/look.c \
	tests/scenario/pattern.c \
	tests/scenario/record.c \
	tests/scenario/run.c \
	tests/scenario/words.c \
	tools/victim.c,librf-sim librf-core librf-format,libsodium))

.PHONY: check-scenario check-scenario-kills
check-scenario: $(B)/bin/rf-scenario
	@tests/lib/run scenario tests/scenario/scripts.sh

check-scenario-kills:
	@$(MAKE) VARIANT=mutants EXTRA_CFLAGS='-DRF_MUTANT=rf_mutant -Itests/sim' \
		build/mutants/bin/rf-scenario
	@build/mutants/bin/rf-scenario --kills tests/scenario/*.txt

FAST_LEVELS += check-scenario
