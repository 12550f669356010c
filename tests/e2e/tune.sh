#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the timings must meet, what tune proposes for what it measures, and a daemon
# that notices that its disk has become too slow for them.
. "$(dirname "$0")/../lib/lab.sh"

of() {
	jq -r "$1" "$LAB/out"
}

lab_begin 2 --quorum survivors
lab_target

# A device without a daemon: reads only.
expect_exit 0 "$LAB_BIN/ringfence" --json tune --for 1 "$LAB_AREA"
[ "$(of .daemon_disk.count)" = 0 ] || lab_fail "operations of no daemon"
[ "$(of '.reads.count > 10 and .reads.worst_us >= .reads.median_us')" = true ] || lab_fail "reads"
[ "$(of '.now.lease_ms')" = 1000 ] || lab_fail "the timings in force"
[ "$(of '.fits and (.inequalities | all(.holds))')" = true ] || lab_fail "a proposal that does not fit"
[ "$(of '.r_us == 2 * .reads.worst_us and .rtt_measured == false')" = true ] || lab_fail "counted with"
expect_exit 69 tool 1 tune --for 1

# What it proposes can be formatted; a disk image that is no area is measured as well.
truncate -s 64M "$LAB_DISKS/new"
expect_exit 0 "$LAB_BIN/ringfence" tune --for 1 --grace 400ms "$LAB_DISKS/new"
grep -q 'profile san: no area there yet' "$LAB/out" || lab_fail "$(cat "$LAB/out")"
line=$(sed -n 's/^  ringfence format \(.*\) \.\.\.$/\1/p' "$LAB/out")
grep -q -- '--grace 400ms' <<<"$line" || lab_fail "grace: $line"
# shellcheck disable=SC2086
expect_exit 0 "$LAB_BIN/ringfence" format --cluster new --nodes 2 --volume v --yes $line "$LAB_DISKS/new"
expect_exit 0 "$LAB_BIN/ringfence" timing --explain "$LAB_DISKS/new"

# A bar on a terminal, none elsewhere.
script -qec "$LAB_BIN/ringfence tune --for 1 $LAB_AREA" /dev/null >"$LAB/terminal" </dev/null ||
	lab_fail "on a terminal: $(cat "$LAB/terminal")"
grep -q '\[#*\.*\] . of 1 s' "$LAB/terminal" || lab_fail "no bar: $(cat "$LAB/terminal")"

# With daemons: disk and network as they measure them.
lab_path 1
lab_nodes 1 2
must 12 "a leader" lab_led
must 8 "node 1 hears node 2" eval 'tool 1 --json nodes | jq -e "any(.nodes[]; .rtt_us > 0)"'
expect_exit 0 tool 1 --json tune --for 2
[ "$(of '.daemon_disk.count > 10 and .network.count > 0 and .rtt_measured')" = true ] ||
	lab_fail "the daemon's: $(of .)"
expect_exit 0 tool 1 timing --explain
grep -q 'worst operation the daemon has seen' "$LAB/out" && grep -q '^ok ' "$LAB/out" ||
	lab_fail "explain: $(cat "$LAB/out")"

# The path of node 1 becomes slow: beyond what lease and heartbeat leave to it.
expect "healthy" [ "$(tool 1 --json status | jq '[.areas[].health | contains("timing-misfit")] | any')" = false ]
slow() {
	lab_path_stall 1
	lab_last 0.6
	lab_path_go 1
	wait_until 6 lab_said 1 ' timing-misfit .*measured_ms='
}
must 30 "it says that the timings do not fit" slow
must 5 "health says so" eval 'tool 1 status | grep -q timing-misfit'
say "tune: devices, daemon, a proposal that can be formatted; a disk that became slow"
