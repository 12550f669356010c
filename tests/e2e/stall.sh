#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 4, 5: the leader's way to the disk hangs for half a lease, 0.75 lease and
# three leases. Below the lease nothing fails over and the margin is reported;
# above it the gate is shut before a peer acts, and the daemon still answers.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
for i in 1 2 3; do
	lab_path $i
done
lab_target
lab_work
leader=$LAB_LEADER

# stalled MS: the leader's path hangs for so long.
stalled() {
	lab_path_stall "$leader"
	lab_last "$1"
	lab_path_go "$leader"
}

stalled 0.5
never 1 "half a lease without disk ended a leadership" lab_lost "$leader"
stalled 0.75
never 1 "0.75 leases without disk ended a leadership" lab_lost "$leader"
expect "no warning about the margin" lab_said "$leader" ' (margin|disk-slow|renew-late) '

lab_path_stall "$leader"
mark=$(lab_mark)
must 2 "status answers while the disk hangs" tool "$leader" status
must 6 "another node writes" lab_wrote_since "$mark"
say "stalled node $leader: $LAB_GAP"
lab_path_back "$leader"
must 5 "the stalled node knows" lab_said "$leader" ' (superseded|losing|lease-held) '
lab_check
