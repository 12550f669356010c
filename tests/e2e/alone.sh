#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 18, 19: the last of two nodes comes back alone, with the slot of the other
# left open by a crash. It leads after a bounded wait (last man standing).
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 2 --quorum survivors
lab_target
lab_work
dead=$LAB_LEADER
other=$((3 - dead))
lab_kill_node $other
lab_kill_node "$dead"
mark=$(lab_mark)
lab_node $other
must 10 "the node that came back writes" lab_wrote_since "$mark"
say "alone: $LAB_GAP"
lab_check
