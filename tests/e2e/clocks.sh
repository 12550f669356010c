#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 23: the wall clock of the leader jumps by an hour, forth and back, and
# the boot clocks of two nodes differ by an hour: nothing happens.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 2 --quorum survivors
shift_lib=$LAB_BUILD/lib/rf-clockshift.so
[ -f "$shift_lib" ] || lab_skip "needs $shift_lib; run make"
unshare --time --boottime 3600 --monotonic 3600 --fork true 2>/dev/null ||
	lab_skip "no time namespaces here"
lab_target
lab_conf 1 >"$LAB/node1.conf"
lab_conf 2 >"$LAB/node2.conf"
ip netns exec "$LAB_TAG-n1" env LD_PRELOAD="$shift_lib" RF_CLOCKSHIFT="$LAB/hour" \
	"$LAB_BIN/ringfenced" --config "$LAB/node1.conf" --socket "$(lab_socket 1)" \
	>>"$LAB/node1.log" 2>&1 &
LAB_DAEMON[1]=$!
LAB_PIDS+=($!)
lab_writer 1
must 8 "node 1 leads" lab_leads 1
ip netns exec "$LAB_TAG-n2" unshare --time --boottime 3600 --monotonic 3600 \
	"$LAB_BIN/ringfenced" --config "$LAB/node2.conf" --socket "$(lab_socket 2)" \
	>>"$LAB/node2.log" 2>&1 &
LAB_DAEMON[2]=$!
LAB_PIDS+=($!)
must 8 "node 2 joins" lab_said 2 ' joined '

touch "$LAB/hour"
never 2 "an hour forth ended a leadership" lab_lost 1
rm "$LAB/hour"
never 2 "an hour back ended a leadership" lab_lost 1
lab_kill_node 1
must 6 "node 2, an hour ahead, leads after a crash" lab_leads 2
lab_check
