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

# A life that was reset by its watchdog, as far as the next one can see: it leads, is
# gone without a word, and left the reason on its disk. Not the one of this machine.
mkdir "$LAB/var"
one_life() {
	ip netns exec "$LAB_TAG-n1" unshare -m sh -c \
		"mkdir -p /var/lib/ringfence && mount --bind $LAB/var /var/lib/ringfence && \
		exec $LAB_BIN/ringfenced --config $LAB/node1.conf --socket $(lab_socket 1)" >>"$LAB/node1.log" 2>&1 &
	LAB_DAEMON[1]=$!
	LAB_PIDS+=($!)
}
ended() { # how the history says that the leadership of an epoch ended
	"$LAB_BIN/ringfence" history "$LAB_DEV" >"$LAB/history"
	sed -n 's/^epoch \([0-9]*\), node 1: reset by watchdog: vol0 did not drain$/\1/p' "$LAB/history"
}
one_life
must 8 "it leads again" lab_led
stuck=$("$LAB_BIN/ringfence" history "$LAB_DEV" | sed -n 's/^vol0: epoch \([0-9]*\),.*/\1/p')
expect "no leadership was ended by a watchdog yet" [ -z "$(ended)" ]
lab_kill_node 1
printf '%s vol0 did not drain within 500 ms\n' 0000-another-boot >"$LAB/var/watchdog"
one_life
must 20 "the next life leads" lab_led
expect "the log says why" lab_said 1 'watchdog: it has reset this host: vol0 did not drain within 500 ms'
expect_exit 0 tool 1 status
grep -q '^reset by watchdog: vol0 did not drain' "$LAB/out" || lab_fail "status: $(cat "$LAB/out")"
expect "the history says which leadership that was" [ "$(ended)" = "$stuck" ]
expect "and the area is good" "$LAB_BIN/ringfence" -q verify "$LAB_DEV"
# The next life crashes: that was no watchdog.
lab_kill_node 1
one_life
must 20 "and the one after it" lab_led
expect "one leadership only" [ "$(ended)" = "$stuck" ]
lab_stop_node 1
