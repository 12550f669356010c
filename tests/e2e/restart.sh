#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 8, 18, 19, 28: daemons die together in the middle of a claim and come
# back within a second; slots of the dead look alive at first. Epochs only grow,
# waiting is bounded and announced.
. "$(dirname "$0")/../lib/lab.sh"

epochs() {
	sed -n 's/.* decided .*epoch=\([0-9]*\).*/\1/p' "$LAB"/node*.log | sort -n | tail -n 1
}

lab_begin 2 --quorum survivors
lab_target
lab_nodes 1 2
lab_writers
must 8 "a first leader" lab_led

for round in 1 2; do
	top=$(epochs)
	lab_kill_node 1
	mark=$LAB_MARK
	lab_kill_node 2
	line=$(lab_lines 1)
	lab_nodes 1 2
	must 3 "round $round: it says that it waits" lab_said_since 1 "$line" ' join-wait '
	# In the middle of the election: the claim begins, and its node dies.
	must 8 "round $round: somebody claims" lab_said_since 1 "$line" ' (quorum|decided|learned|leader) '
	if [ "$round" = 1 ]; then
		lab_kill_node 1
		lab_node 1
	fi
	must 8 "round $round: somebody writes" lab_wrote_since "$mark"
	say "round $round: $LAB_GAP"
	[ "$(epochs)" -gt "${top:-0}" ] || lab_fail "no newer epoch than $top was decided"
done
lab_check
