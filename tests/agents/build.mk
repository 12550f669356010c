# SPDX-License-Identifier: GPL-2.0-or-later
# The agents under Debian's own Pacemaker and keepalived, in namespaces.

AGENT_TESTS := \
	tests/agents/keepalived.sh \
	tests/agents/volume.sh

# Without Pacemaker: what it would ask.
E2E_TESTS += \
	tests/e2e/fence-agent.sh \
	tests/e2e/ocf.sh

CHECK_LEVELS += check-agents

.PHONY: check-agents check-pacemaker

check-agents: all
	+@MAKE='$(MAKE)' tests/lib/run agents $(AGENT_TESTS)

check-pacemaker: all
	+@MAKE='$(MAKE)' tests/lib/run pacemaker tests/agents/volume.sh
