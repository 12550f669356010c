#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 7, with a gate at the host: a write that it let through hangs below it for longer
# than lease and grace, while another node leads and writes; then it goes on, and lands.
# A4 of the protocol is broken here; the writer is told that its write failed. It is
# counted from the medium, and reported as the limit that it is.
. "$(dirname "$0")/../../lib/lab.sh"

lab_begin 3
lab_work
old=$LAB_LEADER
epoch=$(lab_epoch "$old")
lab_path_stall "$old"
mark=$(lab_mark)
must 6 "another node writes" lab_wrote_since "$mark"
say "stalled node $old: $LAB_GAP"
lab_path_go "$old"
must 5 "the stalled node's gate has drained" vm_ask "$old" 10 'dmsetup status vol0 | grep -Eq "in_flight=0 "'
lab_end_writers
lab_only_of "$old" "$epoch"
[ "$(lab_count stale_landed)" -le 1 ] || lab_fail "one writer had more than one write on its way"
say "# $(lab_count stale_landed) write of epoch $epoch landed after the takeover: it had passed the gate before"
say "# a gate at the host cannot take it back: the grace time must be longer than drivers retry"
