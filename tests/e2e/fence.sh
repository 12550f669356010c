#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 1: the target does not answer while a leader dies. Nobody reports a
# takeover that did not happen; when the target is back, one does. A target that
# was restarted takes its epoch from the disk and refuses older ones.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
lab_target
lab_work --stale
leader=$LAB_LEADER
kill -STOP "$LAB_TARGET"
lab_kill_node "$leader"
never 1 "a takeover was reported without the target" lab_led_by_other "$leader"
kill -CONT "$LAB_TARGET"
must 8 "somebody writes when the target is back" lab_wrote_since "$LAB_MARK"
say "$LAB_GAP"

line=$(lab_lines "$leader")
lab_node "$leader"
must 8 "the killed node joins again" lab_said_since "$leader" "$line" ' joined '
lab_end "$LAB_TARGET"
lab_target
must 8 "somebody leads after the target restarted" lab_led
mark=$(lab_mark)
lab_kill_node "$LAB_LEADER"
must 8 "the restarted target serves the next epoch" lab_wrote_since "$mark"
say "$LAB_GAP"
lab_check
