#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 20: everybody loses the quorum disk at once. No daemon dies, at most one
# leads, and a leader is there again soon after the disk is.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
for i in 1 2 3; do
	lab_path $i
done
lab_target
lab_work
for i in 1 2 3; do
	lab_path_stall $i
done
lab_last 3 # three leases: longer than any of them may hold
for i in 1 2 3; do
	lab_daemon_lives $i || lab_fail "daemon of node $i died without its disk"
	lab_leads $i && lab_fail "node $i says that it leads, three leases without a disk"
done
mark=$(lab_mark)
for i in 1 2 3; do
	lab_path_go $i
done
must 6 "somebody writes after the disk is back" lab_wrote_since "$mark"
say "after the blackout: $LAB_GAP"
lab_check
