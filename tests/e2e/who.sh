#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 24: who holds it? Asked of the leader, of a follower, of a node without
# a daemon, and of the disk alone. 28: a tool without a daemon says so at once.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
lab_target
lab_nodes 1 2 3
must 8 "a first leader" lab_led
leader=$LAB_LEADER

for i in 1 2 3; do
	must 3 "node $i knows the leader" lab_knows $i "$leader"
	expect_exit 0 tool $i leader "$LAB_VOLUME"
	grep -q "\b$leader\b" "$LAB/out" || lab_fail "node $i does not name node $leader: $(cat "$LAB/out")"
	expect_exit 0 tool $i status
	grep -q "$LAB_VOLUME" "$LAB/out" || lab_fail "status of node $i: $(cat "$LAB/out")"
	expect_exit 0 tool $i --json status
	grep -q '"schema": *1' "$LAB/out" || lab_fail "no schema in JSON"
done
expect_exit 0 tool "$leader" is-leader "$LAB_VOLUME"
expect_exit 1 tool $((leader % 3 + 1)) is-leader "$LAB_VOLUME"
expect_exit 105 tool 1 leader no-such-volume

lab_stop_node $((leader % 3 + 1))
expect_exit 69 tool $((leader % 3 + 1)) leader "$LAB_VOLUME"

disk() {
	"$LAB_BIN/ringfence" "$@"
}
expect_exit 0 disk dump "$LAB_AREA"
expect_exit 0 disk dump --record claims "$LAB_AREA"
grep -q "\b$leader\b" "$LAB/out" || lab_fail "the disk does not name node $leader: $(cat "$LAB/out")"
expect_exit 0 disk slots "$LAB_AREA"
expect_exit 0 disk verify "$LAB_AREA"
