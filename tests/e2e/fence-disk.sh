#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 1: an order that could not be written, that is not what is read back, or that
# hangs, is never reported as given; the exit code says so, and the words name disk and
# record. With three quorum disks a majority is enough.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
LAB_MIB=16
lab_begin 2 --quorum survivors
lab_path 1
path=${LAB_PATH_DEV[1]}
unset 'LAB_PATH_DEV[1]'
rf() {
	"$LAB_BIN/ringfence" "$@"
}
said() {
	grep -Eq -- "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}
no_order() {
	rf --json slots "$LAB_AREA" >"$LAB/slots" || lab_fail "slots"
	! grep -q '"order": "stop"' "$LAB/slots" || lab_fail "an order stands"
}

# A path that takes writes and forgets them.
mkdir "$LAB_DISKS/liar"
touch "$LAB_DISKS/liar/disk"
nbdkit -f -U "$LAB_DISKS/liar/sock" eval get_size="stat -Lc %s '$LAB_DISKS/shared'" \
	pread="dd if='$LAB_DISKS/shared' iflag=skip_bytes,count_bytes skip=\$4 count=\$3 status=none" \
	can_write='exit 0' pwrite='cat >/dev/null' can_flush='exit 0' flush='exit 0' \
	>"$LAB/liar.log" 2>&1 &
LAB_PIDS+=($!)
must 30 "the liar listens" test -S "$LAB_DISKS/liar/sock"
nbdfuse "$LAB_DISKS/liar/disk" --unix "$LAB_DISKS/liar/sock" >>"$LAB/liar.log" 2>&1 &
LAB_PIDS+=($!)
LAB_MOUNTS+=("$LAB_DISKS/liar/disk")
must 30 "its disk" test -s "$LAB_DISKS/liar/disk"
liar=$(lab_loop "$LAB_DISKS/liar/disk" --direct-io=on) || lab_skip "no loop device is free"
LAB_LOOPS+=("$liar")

lab_nodes 1 2
must 8 "a first leader" lab_led
victim=$LAB_LEADER

lab_path_fail 1 write
expect_exit 74 rf fence "$victim" --wait "$path"
said "^ringfence fence: $path: mailbox of node $victim at byte [0-9]+: the order could not be written: "
said "NOT stopped"
no_order
lab_path_mend 1
expect_exit 74 rf fence "$victim" --wait "$liar"
said "^ringfence fence: $liar: mailbox of node $victim at byte [0-9]+: what is read back is not the order"
no_order
lab_path_fail 1 read
expect_exit 74 rf fence "$victim" --wait "$path"
said "$path"
lab_path_mend 1
lab_path_stall 1
expect_exit 124 rf unfence --timeout 300ms "$victim" "$path"
said "no answer from the disk while $path"
lab_path_go 1
no_order
expect "it leads on" lab_leads "$victim"

# Over the same path, mended.
expect_exit 0 rf --json fence "$victim" --wait "$path"
said '"way": "answered"'
# Without DEVICE the configuration names the disks; a weaker order does not replace it.
expect_exit 0 rf --json fence "$victim" --wait --config "$LAB/node1.conf"
said '"way": "answered"'
sed 's/^name = lab$/name = other/' "$LAB/node1.conf" >"$LAB/other.conf"
expect_exit 65 rf fence "$victim" --wait --config "$LAB/other.conf"
expect_exit 0 rf unfence "$victim" --config "$LAB/node1.conf"
no_order
lab_stop_node 1
lab_stop_node 2

# Three disks: one that is gone is said, two are enough; one of three is not.
disks=()
for i in 1 2 3; do
	lab_disk "quorum$i" 16
	disks+=("$LAB_DEV")
done
expect_exit 0 rf format --cluster lab --nodes 2 --quorum survivors --profile fast \
	--volume "$LAB_VOLUME" --reserve whole "${disks[@]}"
LAB_AREA="${disks[0]}, ${disks[1]}, ${disks[2]}" LAB_DATA=
rm "$LAB"/node?.conf
lab_nodes 1 2
must 8 "a first leader of three disks" lab_led
expect_exit 2 rf fence "$LAB_LEADER" --wait "${disks[0]}"
expect_exit 2 rf fence "$LAB_LEADER" --wait "${disks[0]}" "${disks[0]}"
expect_exit 0 rf --json fence "$LAB_LEADER" --wait "${disks[0]}" "$LAB/none" "${disks[2]}"
said "$LAB/none: cannot be opened"
said '"disks_ordered": 2'
said '"way": "answered"'
