#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 7, without a fence: a write that left the host of a leader is held below it
# for longer than the lease, while the next leader writes the same block; then it is
# let go, and it lands. This is the hole of `fence = expiry`, shown here, and said by
# `ringfence status` (a target refuses such a write: tests/nbd/switch.c).
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
lab_begin 2 --quorum survivors
for i in 1 2; do
	lab_path $i
done
block=$((LAB_OFFSET / 4096 + 8))

# put NODE WORD: a block of this word by its own path, through to the disk.
put() {
	yes "$2" | head -c 4096 >"$LAB/$2"
	dd if="$LAB/$2" of="${LAB_PATH_DEV[$1]}" bs=4096 seek=$block count=1 oflag=direct \
		conv=notrunc status=none
}
on_disk() {
	dd if="$LAB_DISKS/shared" bs=4096 skip=$block count=1 status=none | head -n 1
}
is_on_disk() {
	[ "$(on_disk)" = "$1" ]
}

lab_nodes 1 2
must 8 "a first leader" lab_led
old=$LAB_LEADER
put "$old" first
is_on_disk first || lab_fail "the leader's write: '$(on_disk)'"

# With its lease good, it writes; the path takes the write and keeps it.
lab_path_stall "$old"
put "$old" ghost &
LAB_PIDS+=($!)
must 10 "another node leads" lab_led_by_other "$old"
new=$LAB_LEADER
must 5 "the old leader knows that its lease is over" lab_lost "$old"
put "$new" second
is_on_disk second || lab_fail "the next leader's write: '$(on_disk)'"
lab_path_go "$old"
must 10 "the ghost lands: nothing refuses it" is_on_disk ghost

# It is not hidden: every node says what its fence cannot do.
expect_exit 0 tool "$new" status
grep -Eqi "$LAB_VOLUME: .*(nothing|not) " "$LAB/out" || lab_fail "status: $(cat "$LAB/out")"
grep -q 'take back a write it has let through' "$LAB_ROOT/README.md" ||
	lab_fail "README does not name the limit"
say "a ghost landed over the next leader's write, as documented"
