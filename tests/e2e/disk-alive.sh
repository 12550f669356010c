#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An area on which a node is alive is not formatted, not even with --force; when
# the node has left, --force does it. verify of a living area finds nothing.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
lab_target
lab_nodes 1 2 3
must 8 "a first leader" lab_led

disk() {
	"$LAB_BIN/ringfence" "$@"
}
for _ in 1 2 3 4 5; do
	expect_exit 0 disk verify "$LAB_AREA"
done
expect_exit 0 disk slots "$LAB_AREA"
grep -q joined "$LAB/out" || lab_fail "no slot says joined: $(cat "$LAB/out")"

expect_exit 107 disk format --force --cluster lab --nodes 3 --volume v --profile fast "$LAB_AREA"
grep -q 'is alive and writes its slot' "$LAB/out" || lab_fail "does not say why: $(cat "$LAB/out")"
lab_led || must 5 "a leader after the refusal" lab_led

for i in 1 2 3; do
	lab_stop_node $i
done
expect_exit 0 disk verify "$LAB_AREA"
expect_exit 0 disk format --force --cluster new --nodes 3 --volume v --profile fast "$LAB_AREA"
expect_exit 0 disk verify --cluster new "$LAB_AREA"
