#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 6: the leading machine is frozen, and goes on after another has taken over. A gate at the
# host cannot know that its clock stood still: what it lets through before its next claim
# read is counted from the medium, and reported as the limit that it is. Not more than
# that: the gate shuts by itself, and nothing is lost elsewhere.
. "$(dirname "$0")/../../lib/lab.sh"

shut_itself() {
	vm_ask "$1" 10 'dmsetup status vol0 | grep -Eq "state=(shut|draining|closed)"'
}

lab_begin 3
lab_work --stale
old=$LAB_LEADER
epoch=$(lab_epoch "$old")
mark=$(lab_mark)
lab_freeze "$old"
must 6 "another node writes" lab_wrote_since "$mark"
say "frozen node $old: $LAB_GAP"
lab_thaw "$old"
must 6 "the frozen machine's gate shuts by itself" shut_itself "$old"
must 6 "its daemon learns that it lost" lab_lost "$old"
must 5 "the new leader goes on" lab_led_by_other "$old"

lab_end_writers
lab_only_of "$old" "$epoch"
say "# $(lab_count stale_landed) writes of the frozen machine landed after the takeover, until its next claim read"
say "# a gate at the host cannot prevent these: such machines need a fence at the target"
