# SPDX-License-Identifier: GPL-2.0-or-later
# The tool on real loop devices, without a daemon.

E2E_TESTS += \
	tests/e2e/disk-format.sh \
	tests/e2e/disk-dump.sh \
	tests/e2e/disk-verify.sh \
	tests/e2e/disk-shapes.sh \
	tests/e2e/disk-sets.sh \
	tests/e2e/disk-alive.sh \
	tests/e2e/disk-three.sh \
	tests/e2e/disk-history.sh \
	tests/e2e/disk-timeline.sh \
	tests/e2e/disk-wipe.sh \
	tests/e2e/disk-repair.sh \
	tests/e2e/disk-watch.sh \
	tests/e2e/night-shift.sh \
	tests/e2e/run.sh \
	tests/e2e/state.sh \
	tests/e2e/reload.sh \
	tests/e2e/pause.sh \
	tests/e2e/lib.sh
