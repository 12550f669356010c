# SPDX-License-Identifier: GPL-2.0-or-later
# The agents under Debian's own Pacemaker, in namespaces.

PACEMAKER_TESTS := tests/pacemaker/volume.sh

CHECK_LEVELS += check-pacemaker

.PHONY: check-pacemaker

check-pacemaker: all
	+@MAKE='$(MAKE)' tests/lib/run pacemaker $(PACEMAKER_TESTS)
