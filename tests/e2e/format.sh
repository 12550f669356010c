#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 26, 27: format refuses what holds something, and writes nothing to it;
# the disk commands tell unreadable, foreign and damaged apart.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
area=$LAB_AREA
disk() {
	"$LAB_BIN/ringfence" "$@"
}
make_area() {
	disk format --cluster x --nodes 2 --volume v --profile fast "$@"
}

# refuses NAME: format exits non-zero, names what it found, changes nothing.
refuses() {
	local before
	before=$(cksum <"$LAB_DISKS/$1")
	make_area "$LAB_DEV" >"$LAB/out" 2>&1 </dev/null && lab_fail "format took $1"
	grep -qi -- "$2" "$LAB/out" || lab_fail "format does not name $2: $(cat "$LAB/out")"
	[ "$(cksum <"$LAB_DISKS/$1")" = "$before" ] || lab_fail "format changed $1"
	tail -n 1 "$LAB/out"
}

lab_disk ext4 32
mkfs.ext4 -q "$LAB_DEV" || lab_skip "needs mkfs.ext4"
refuses ext4 ext4
lab_disk table 32
# An old partition table: one Linux partition, from sector 63.
printf '\x80\0\1\0\x83\0\x3f\0\x3f\0\0\0\0\x10\0\0' |
	dd of="$LAB_DEV" bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\x55\xaa' | dd of="$LAB_DEV" bs=1 seek=510 conv=notrunc 2>/dev/null
refuses table 'dos\|partition'
lab_disk swap 32
mkswap -q "$LAB_DEV" >/dev/null 2>&1 && refuses swap swap
make_area --force "$LAB_DEV" >"$LAB/out" 2>&1 </dev/null || lab_fail "--force: $(cat "$LAB/out")"
refuses swap ringfence

lab_disk plan 32
before=$(cksum <"$LAB_DISKS/plan")
expect_exit 0 make_area --dry-run "$LAB_DEV"
[ "$(cksum <"$LAB_DISKS/plan")" = "$before" ] || lab_fail "--dry-run wrote"

# Timings that break an inequality are refused with the inequality.
expect_exit 2 make_area --lease 200ms "$LAB_DEV"
grep -qi 'lease' "$LAB/out" || lab_fail "no inequality: $(cat "$LAB/out")"

# 27
expect_exit 74 disk verify "$LAB_DISKS/absent"
expect_exit 2 disk verify "$LAB_DEV"
expect_exit 0 disk verify "$area"
printf 'rot' | dd of="$area" bs=1 seek=$((4096 + 64)) conv=notrunc 2>/dev/null
sync "$area"
expect_exit 1 disk verify "$area"
