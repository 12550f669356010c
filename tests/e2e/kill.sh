#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 6, 17: a leader dies by kill -9, the next one is stopped by SIGSTOP past
# its lease and goes on with its writer still trying. Nothing stale lands, no
# restarted daemon inherits a lease.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
lab_target
lab_work --stale

first=$LAB_LEADER
lab_kill_node "$first"
must 5 "somebody else writes after the kill" lab_wrote_since "$LAB_MARK"
say "killed node $first: $LAB_GAP"
line=$(lab_lines "$first")
lab_node "$first"
must 8 "the killed node joins again" lab_said_since "$first" "$line" ' joined '
expect "the new life leads without an election" \
	eval '! lab_said_since "$first" "$line" " opened "'

must 5 "a leader" lab_led_by_other "$first"
second=$LAB_LEADER
mark=$(lab_signal STOP "$second")
must 5 "somebody else writes after the stop" lab_wrote_since "$mark"
say "stopped node $second: $LAB_GAP"
lab_signal CONT "$second" >/dev/null
must 5 "the stopped node learns that it lost" lab_said "$second" ' (superseded|losing) '
must 5 "a leader" lab_led
lab_check
[ "$(lab_count refused)" -gt 0 ] || [ "$(lab_count turned_away)" -gt 0 ] ||
	lab_fail "the stale writers were never refused: they did not try"
