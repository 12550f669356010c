#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All shapes of an area: sector sizes, start, end and whole, one, three and five
# disks; format writes exactly within the area; copies are merged by sequence.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin

# outside FILE FROM TO: what lies outside of these bytes is as it was (0xa5).
outside() {
	local size
	size=$(stat -c %s "$1")
	{
		head -c "$2" "$1"
		tail -c +$(($3 + 1)) "$1"
	} | tr -d '\245' | head -c 1 | grep -q . && lab_fail "$1: bytes outside $2..$3 of $size changed"
	return 0
}

filled() {
	head -c "$((32 << 20))" /dev/zero | tr '\0' '\245' >"$LAB_DISKS/$1"
	LAB_DEV=$(lab_loop "$LAB_DISKS/$1" "${@:2}") || lab_skip "no loop device is free"
	LAB_LOOPS+=("$LAB_DEV")
}

number() {
	sed -n 's/.*"'"$1"'": \([0-9]*\),.*/\1/p' "$LAB/out" | head -n 1
}

for sector in 512 4096; do
	for place in start end whole; do
		filled "$sector-$place" --sector-size $sector
		expect_exit 0 make_area --json --reserve $place "$LAB_DEV"
		from=$(number area_offset_bytes)
		to=$(number area_end_bytes)
		[ "$(number sector_bytes)" = $sector ] || lab_fail "sector is not $sector"
		expect_exit 0 rf verify "$LAB_DEV"
		expect_exit 0 rf probe "$LAB_DEV"
		expect_exit 0 rf dump --unused "$LAB_DEV"
		losetup -d "$LAB_DEV"
		outside "$LAB_DISKS/$sector-$place" "$from" "$to"
		# the image tells the same, whatever sectors the device had
		expect_exit 0 rf verify "$LAB_DISKS/$sector-$place"
		say "sectors of $sector, $place: bytes $from to $to, nothing else changed"
	done
done

# An end that is not a multiple of anything.
head -c $(((32 << 20) + 5 * 512)) /dev/zero >"$LAB_DISKS/odd"
expect_exit 0 make_area --reserve end "$LAB_DISKS/odd"
expect_exit 0 rf verify "$LAB_DISKS/odd"

# Large shapes fit together; too large ones are refused with what they need.
lab_disk large 256
expect_exit 0 rf format --cluster big --nodes 128 --volumes 16 --history 16 --profile fast \
	--reserve whole "$LAB_DEV"
expect_exit 0 rf verify "$LAB_DEV"
expect_exit 2 rf format --force --cluster big --nodes 128 --volumes 256 --reserve whole "$LAB_DEV"
said 'too small'
expect_exit 0 rf format --force --cluster few --nodes 1 --volumes 3:a,b,c --reserve whole "$LAB_DEV"
expect_exit 0 rf dump --record superblock "$LAB_DEV"
said 'name +c$'

# Three and five disks: one area, each its own index.
for count in 3 5; do
	disks=()
	for ((i = 0; i < count; i++)); do
		lab_disk "set$count-$i" 16
		disks+=("$LAB_DEV")
	done
	expect_exit 0 make_area --reserve whole "${disks[@]}"
	expect_exit 0 rf verify "${disks[@]}"
	said "on $count disks"
	for ((i = 0; i < count; i++)); do
		expect_exit 0 rf probe "${disks[i]}"
		said "disk $((i + 1)) of $count"
	done
	# a subset is an area too; that others exist is said, not held against it
	expect_exit 0 rf verify "${disks[0]}" "${disks[1]}"
	said "has $count disks, 2 were given"
done

# One disk of five rots: the others count, the difference is shown.
scribble "${disks[2]}" $((4096 + 70)) rot
expect_exit 65 rf dump --record slots "${disks[@]}"
said 'DISKS DIFFER'
said 'disk 2 .*torn or damaged'
grep -q 'UNREADABLE' "$LAB/out" && lab_fail "four good copies were not enough"
expect_exit 1 rf verify "${disks[@]}"
said "${disks[2]}: slot of node 1"
expect_exit 0 rf slots --all "${disks[@]}"
# The same disk of two areas, and one disk twice.
expect_exit 2 rf verify "${disks[0]}" "${disks[0]}"
said 'snapshot or a copy'
