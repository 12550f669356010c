#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 21: a leader is cut off while a node is silent that comes back on the
# other side. Only the disk tells the leader that it is now the smaller side.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
lab_target
lab_work --stale
leader=$LAB_LEADER
silent=$((leader % 3 + 1))
lab_signal STOP $silent >/dev/null
must 3 "the silent node is missed" lab_said "$leader" " peer-lost node=$silent"
lab_last 0.8 # more than two suspect times: nobody looks at its slot any more
lab_cut "$leader"
mark=$(lab_mark)
lab_signal CONT $silent >/dev/null
must 6 "the side with the node that came back writes" lab_wrote_since "$mark"
say "$LAB_GAP"
expect "the leader did not resign by itself" lab_said "$leader" ' isolated '
lab_check
