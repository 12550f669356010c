#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The leader's claim region cannot be read any more; and grants that are none of the
# node's business, sent to its gate by hand: the kernel refuses them, whatever its daemon
# or its administrator says.
. "$(dirname "$0")/../../lib/lab.sh"

# grant NODE EPOCH INCARNATION: what the gate of that node answers, for three seconds more.
grant() {
	vm_ask "$1" 20 "dmsetup message vol0 0 grant $2 \$((\$(rf-mark) + 3000000000)) $3"
}
# refuses NODE WORDS EPOCH INCARNATION
refuses() {
	local answer
	answer=$(grant "$1" "$3" "$4") && lab_fail "node $1 opened for epoch $3"
	grep -q "$2" <<<"$answer" || lab_fail "epoch $3 on node $1: $answer"
}
gate_is() {
	vm_ask "$1" 10 "dmsetup status vol0 | grep -Eq 'state=($2)'"
}

lab_begin 3
lab_work
leader=$LAB_LEADER
other=$((leader % 3 + 1))
epoch=$(lab_epoch "$leader")
must 5 "the gate of node $other" gate_is $other closed
refuses $other "not permitted" "$epoch" 4711
refuses $other "not permitted" $((epoch + 1)) 4711
expect "a node that was refused is closed" gate_is $other closed

lab_path_fail "$leader" read
mark=$(lab_mark)
must 6 "another node writes" lab_wrote_since "$mark"
say "node $leader cannot read: $LAB_GAP"
must 5 "its gate shut by itself" gate_is "$leader" "shut|draining|closed"
lab_path_mend "$leader"
must 5 "a leader" lab_led_by_other "$leader"
third=$((6 - leader - LAB_LEADER))
refuses $third "Stale file handle" "$epoch" 4711
refuses $third "not permitted" "$(lab_epoch "$LAB_LEADER")" 4711
lab_check
