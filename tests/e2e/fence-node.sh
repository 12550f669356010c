#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 1, 2, 18: a node is told to stop through the quorum disk, by a tool that asks
# no daemon. Success means verified; an order that was not obeyed stays.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
lab_begin 3
lab_nodes 1 2 3
must 8 "a first leader" lab_led
victim=$LAB_LEADER
rf() {
	"$LAB_BIN/ringfence" "$@"
}
said() {
	grep -Eq -- "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}

# Nobody's word but the disk's: no socket, no configuration.
expect_exit 105 rf fence 4 "$LAB_AREA"
expect_exit 105 rf fence no-such-host "$LAB_AREA"
expect_exit 107 rf confirm-fenced "$victim" "$LAB_AREA"
expect_exit 1 rf confirm-fenced --force "$victim" "$LAB_AREA"
said 'lives'
expect_exit 0 rf --json fence "$victim" --wait "$LAB_AREA"
said '"way": "answered"'
said '"verified": true'
expect "the node says that it was ordered" lab_said "$victim" ' stop-ordered '
must 5 "another node leads" lab_led_by_other "$victim"
never 1 "a node that was told to stop leads" lab_leads "$victim"
# Once more: there is nothing left to do, and it says the same.
expect_exit 0 rf --json fence "$victim" --wait "$LAB_AREA"
said '"order_sequence": null'
expect_exit 0 rf unfence "$victim" "$LAB_AREA"
said 'restarted'
expect_exit 0 rf --json slots "$LAB_AREA"
! grep -q '"order": "stop"' "$LAB/out" || lab_fail "an order still stands"
lab_stop_node "$victim"
lab_node "$victim"

# A stopped process cannot answer. Without --wait nothing is claimed; the order cannot
# be taken back; when its slot has rested for long enough its leases are over.
must 8 "a leader" lab_led
victim=$LAB_LEADER
lab_signal STOP "$victim" >"$LAB/mark"
expect_exit 112 rf fence "$victim" "$LAB_AREA"
expect_exit 107 rf unfence "$victim" "$LAB_AREA"
said 'at least as strong'
expect_exit 124 rf fence "$victim" --wait --timeout 100ms "$LAB_AREA"
expect_exit 0 rf --json fence "$victim" --wait "$LAB_AREA"
said '"way": "expired"'
expect_exit 0 rf confirm-fenced --force "$victim" "$LAB_AREA"
said 'not verified'
lines=$(lab_lines "$victim")
kill -CONT "${LAB_DAEMON[$victim]}"
must 5 "it obeys when it wakes up" lab_said_since "$victim" "$lines" ' stop-ordered '
! lab_said_since "$victim" "$lines" ' opened ' || lab_fail "it opened its gate after it was fenced"

# CASES 18: a victim that is killed and is back at once.
must 8 "a leader" lab_led_by_other "$victim"
victim=$LAB_LEADER
lab_kill_node "$victim"
rf --json fence "$victim" --wait "$LAB_AREA" >"$LAB/fenced" 2>"$LAB/fenced.log" &
fencing=$!
lines=$(lab_lines "$victim")
lab_node "$victim"
wait $fencing || lab_fail "fence: $(cat "$LAB/fenced" "$LAB/fenced.log")"
grep -q '"way": "expired"' "$LAB/fenced" || lab_fail "fenced how? $(cat "$LAB/fenced")"
waited=$(sed -n 's/.*"waited_ms": \([0-9]*\).*/\1/p' "$LAB/fenced")
[ "$waited" -ge 1715 ] || lab_fail "its next life shortened the wait to $waited ms"

# A node that left cleanly needs no order.
must 8 "it is back" lab_said_since "$victim" "$lines" ' joined '
lab_stop_node "$victim"
expect_exit 0 rf --json fence "$victim" --wait "$LAB_AREA"
said '"way": "left"'
expect_exit 0 rf verify "$LAB_AREA"
