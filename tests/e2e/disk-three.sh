#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Three quorum disks under living nodes: verify takes no copy that is a write
# ahead of another one for damage, and dump shows the newest of each record.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
lab_begin 3
disks=("$LAB_AREA")
for i in 2 3; do
	lab_disk "quorum$i" 32
	disks+=("$LAB_DEV")
done
rf() {
	"$LAB_BIN/ringfence" "$@"
}
expect_exit 0 rf format --force --cluster lab --nodes 3 --profile fast --volume "$LAB_VOLUME" \
	--reserve whole "${disks[@]}"
LAB_AREA="${disks[0]}, ${disks[1]}, ${disks[2]}" LAB_DATA=
lab_nodes 1 2 3
must 8 "a first leader" lab_led
for _ in 1 2 3; do
	expect_exit 0 rf verify "${disks[@]}"
	expect_exit 0 tool "$LAB_LEADER" resign --wait 5s "$LAB_VOLUME"
	must 8 "another leader" lab_led
done
epoch=$(tool "$LAB_LEADER" leader "$LAB_VOLUME" | sed 's/.* epoch //')
expect_exit 0 rf dump --record claims "${disks[@]}"
grep -q "^  epoch  *$epoch$" "$LAB/out" || lab_fail "dump does not show epoch $epoch: $(cat "$LAB/out")"
expect_exit 107 rf format --force --cluster x --nodes 3 --volume v --reserve whole "${disks[@]}"
for i in 1 2 3; do
	lab_stop_node $i
done
expect_exit 0 rf verify "${disks[@]}"
