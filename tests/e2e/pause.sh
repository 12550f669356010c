#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A paused node stays paused over restarts of its daemon, killed or ended, until it is
# resumed; status says since when. What it leads it keeps.
. "$(dirname "$0")/../lib/lab.sh"

since() {
	tool 2 --json status | jq .daemon.paused_unix_ms
}

lab_begin 2 --quorum survivors
lab_target
lab_nodes 1
must 8 "node 1 leads" lab_leads 1
expect_exit 0 tool 1 pause # a leader keeps what it leads
lab_node 2
must 8 "node 2 follows" lab_knows 2 1
[ "$(since)" = null ] || lab_fail "paused out of nothing: $(since)"

expect_exit 0 tool 2 pause
first=$(since)
[ "$first" -gt 1600000000000 ] || lab_fail "since when: $first"
expect_exit 0 tool 2 pause # once more is since the first time
lab_kill_node 2
lab_node 2
must 8 "node 2 is back" lab_knows 2 1
expect "it says that it is still paused" lab_said 2 'this node is still paused'
must 3 "its slot says so" eval 'tool 1 nodes | grep -Eq "^ *2 .*paused"'
[ "$(($(since) / 1000))" = $((first / 1000)) ] || lab_fail "since $(since), not $first"
tool 2 status >"$LAB/out"
grep -q '^paused since 20..-..-.* `ringfence resume`' "$LAB/out" || lab_fail "status: $(cat "$LAB/out")"
lab_stop_node 2
lab_node 2
must 8 "node 2 is back after TERM" lab_knows 2 1

lab_leads 1 || lab_fail "a paused leader did not keep its volume"
lab_kill_node 1
never 4 "a paused node leads" lab_leads 2
expect_exit 0 tool 2 resume
must 8 "node 2 leads once it may" lab_leads 2
[ "$(since)" = null ] || lab_fail "resumed, and paused since $(since)"
lab_kill_node 2
lab_node 2
must 10 "it leads again: resumed is remembered, too" lab_leads 2

# A mark that cannot be removed: resumed all the same, and told.
lab_stop_node 2
mkdir "$(lab_socket 2).paused"
lab_node 2
must 5 "paused by whatever is there" lab_said 2 'this node is still paused'
must 5 "it answers" tool 2 status
expect_exit 74 tool 2 resume
grep -q 'not paused any more now, but a restart' "$LAB/out" || lab_fail "says: $(cat "$LAB/out")"
must 8 "it leads all the same" lab_leads 2

# A mark that cannot be made: paused all the same, and told; the next life is not.
read_only() {
	nsenter -t "${LAB_DAEMON[2]}" -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"' sh "$LAB"
}
rmdir "$(lab_socket 2).paused"
read_only || lab_fail "cannot make its directory read-only"
expect_exit 74 tool 2 pause
grep -q 'paused now, but' "$LAB/out" || lab_fail "says: $(cat "$LAB/out")"
expect "paused" [ "$(since)" -gt "$first" ]
expect_exit 0 tool 2 resign "$LAB_VOLUME" --wait 5s
never 2 "a paused node leads" lab_leads 2
lab_kill_node 2
lab_node 2
must 12 "another life leads: nothing was remembered" lab_leads 2
say "pause: kept over kill and restart, ended by resume"
