#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 9, 17: clean hand-overs and resignations, one racing the next claim, and
# a daemon that is ended by TERM. No epoch is owned by nobody for long.
. "$(dirname "$0")/../lib/lab.sh"

# The newest epoch that wrote belongs to this node.
lab_wrote_last() {
	"$LAB_BIN/rf-gap" --changes "$LAB"/write[0-9]*.log | tail -n 1 | grep -q " node=$1 "
}

lab_begin 3
lab_target
lab_work

for i in 1 2 3 4 5; do
	from=$LAB_LEADER
	to=$((from % 3 + 1))
	expect_exit 0 tool "$from" handover "$LAB_VOLUME" --to $to
	must 3 "node $to leads after a hand-over from $from" lab_leads $to
	LAB_LEADER=$to
done

# refused NODE WHY: it is asked for in vain, and the volume stays where it is.
refused() {
	expect_exit 75 tool "$LAB_LEADER" handover "$LAB_VOLUME" --to "$1"
	expect "'$2' is said" grep -q "node $1 $2" "$LAB/out"
	expect "node $LAB_LEADER leads on" lab_leads "$LAB_LEADER"
}
knows() {
	tool "$LAB_LEADER" nodes | grep -Eq "^ *$1 .*$2"
}
to=$((LAB_LEADER % 3 + 1))
expect_exit 0 tool $to pause
must 3 "node $to is known to be paused" knows $to paused
refused $to "is paused"
expect_exit 0 tool $to resume
lab_kill_node $to
must 5 "node $to is missed" lab_said "$LAB_LEADER" " peer-lost node=$to "
refused $to "is silent"
lab_node $to
must 15 "node $to is good again" tool "$LAB_LEADER" handover "$LAB_VOLUME" --to $to
must 3 "node $to leads, nobody else does" lab_leads $to
LAB_LEADER=$to

# Two resignations at once, one of them by a node that does not lead.
from=$LAB_LEADER
tool "$from" resign "$LAB_VOLUME" >/dev/null 2>&1 &
a=$!
tool $((from % 3 + 1)) resign "$LAB_VOLUME" >/dev/null 2>&1 &
b=$!
wait $a $b
must 5 "a leader after resignations" lab_led

from=$LAB_LEADER
lab_stop_node "$from"
expect "its slot was closed" lab_said "$from" ' left '
must 3 "another leader after TERM" lab_led_by_other "$from"
must 3 "its slot is seen to be free" eval '! knows "$from" joined'
refused "$from" "has not joined"
must 3 "it writes" lab_wrote_last "$LAB_LEADER"
lab_check
"$LAB_BIN/rf-gap" --changes "$LAB"/write*.log
