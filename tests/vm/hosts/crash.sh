#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 19: the leading machine loses its power while its writer writes; another leads. It comes
# back while its slot still looks alive, joins, and leads again when the other one dies.
. "$(dirname "$0")/../../lib/lab.sh"

lab_begin 3
lab_work
old=$LAB_LEADER
lab_crash "$old"
must 6 "another node writes" lab_wrote_since "$LAB_MARK"
say "crashed node $old: $LAB_GAP"
lab_boot "$old"
must 20 "the machine is back" vm_ready "$old"
line=$(lab_lines "$old")
lab_node "$old"
lab_writer "$old"
must 10 "its daemon joins" lab_said_since "$old" "$line" ' joined '
must 5 "a leader" lab_led
second=$LAB_LEADER
lab_crash "$second"
must 6 "somebody writes after the second crash" lab_wrote_since "$LAB_MARK"
say "crashed node $second: $LAB_GAP"
lab_check
