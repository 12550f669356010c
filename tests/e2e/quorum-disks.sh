#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Three quorum disks, one of them missing at the start: the majority leads, what is
# missing is said, and the disk is used again as soon as it is there. A wrong one under
# its name is not.
. "$(dirname "$0")/../lib/lab.sh"

export LAB_FENCE=expiry
lab_begin 3
for d in 1 2 3; do
	lab_disk q$d 8
	quorum[d]=$LAB_DEV
done
other=$LAB_AREA
LAB_AREA="${quorum[1]}, $LAB/link, ${quorum[3]}" LAB_DATA=
"$LAB_BIN/ringfence" format --cluster lab --nodes 3 --volume "$LAB_VOLUME" --yes \
	--reserve whole --profile fast "${quorum[@]}" >"$LAB/format3.log" 2>&1 ||
	lab_fail "format: $(cat "$LAB/format3.log")"
disks_good() {
	tool "$1" status --json | grep -q "\"disks_good\": $2"
}

all_have() {
	local i
	for i in 1 2 3; do
		disks_good $i "$1" || return 1
	done
}

all_said() {
	local i
	for i in 1 2 3; do
		grep -q "$1" "$LAB/node$i.log" || return 1
	done
}

lab_nodes 1 2 3
must 8 "a leader on two of three disks" lab_led
all_said "disk-missing: $LAB/link: cannot be opened" || lab_fail "nobody said what is missing"
all_have 2 || lab_fail "status does not show two good disks"

ln -s "$other" "$LAB/link" # the area of another day
must 8 "a wrong disk is refused" all_said "disk-missing: $LAB/link: .*another"
all_have 2 || lab_fail "a wrong disk was taken"

ln -sfn "${quorum[2]}" "$LAB/link"
must 8 "the disk is opened again" all_said "opened again: $LAB/link"
must 3 "all three count" all_have 3

lab_stop_node "$LAB_LEADER"
must 5 "another leader, with all three" lab_led
say "led with two of three quorum disks, then with three"
