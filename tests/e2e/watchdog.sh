#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 16: no watchdog. `required` does not start, `automatic` says what is missing,
# leads, and `status` says it too. (One that fires: tests/vm/watchdog.)
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
lab_begin 1
lab_conf_more() {
	say "[watchdog]"
	say "mode = $mode"
	say "device = $LAB/no-watchdog"
}
mode=required
lab_conf 1 >"$LAB/node1.conf"
expect_exit 78 "$LAB_BIN/ringfenced" --config "$LAB/node1.conf" --socket "$LAB/node1.sock"
grep -q "no-watchdog: No such file.*required: not started" "$LAB/out" ||
	lab_fail "why? $(cat "$LAB/out")"
! ls "$LAB"/life-* >/dev/null 2>&1 || lab_fail "a mark of a life that did not begin"

# No watchdog either: it takes no time and does not let itself be petted.
: >"$LAB/no-watchdog"
expect_exit 78 "$LAB_BIN/ringfenced" --config "$LAB/node1.conf" --socket "$LAB/node1.sock"
grep -q "no-watchdog: does not say what it can do" "$LAB/out" || lab_fail "why? $(cat "$LAB/out")"

mode=automatic
lab_conf 1 >"$LAB/node1.conf"
lab_nodes 1
must 8 "it leads" lab_led
expect "the log says that there is none" lab_said 1 'watchdog: .*no watchdog behind this node'
expect_exit 0 tool 1 status
grep -q "^watchdog: none: .*no-watchdog" "$LAB/out" || lab_fail "status: $(cat "$LAB/out")"
expect_exit 0 tool 1 --json status
grep -q '"watchdog": "none"' "$LAB/out" || lab_fail "status: $(cat "$LAB/out")"
lab_stop_node 1
