#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# wipe: the area goes and nothing else; what may be in use needs --force (107). image:
# the area comes along and nothing else; what cannot be read is named.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin
image=$LAB_DISKS/area
truncate -s 16M "$image"
expect_exit 0 rf format --cluster lab --nodes 3 --volume vol0 --profile san \
	--heartbeat 400ms "$image"
seed_past "$image"
bytes=$((89 * 4096))
printf 'data of somebody' | dd of="$image" bs=1 seek=$((8 << 20)) conv=notrunc status=none
cp "$image" "$LAB_DISKS/clean"

# ---- image ----
expect_exit 64 rf image "$image"
expect_exit 0 rf image --to "$LAB_DISKS/copy" "$image"
cmp -n "$bytes" "$image" "$LAB_DISKS/copy" || lab_fail "the copy differs"
[ "$(stat -c %s "$LAB_DISKS/copy")" = "$bytes" ] || lab_fail "the copy is more than the area"
[ "$(stat -c %a "$LAB_DISKS/copy")" = 600 ] || lab_fail "others may read the copy"
for words in '^good: cluster' 'epoch 11, claimed by node 1' '^ballot of node 1 on volume 0' \
	'^superblock copy' 'area at byte 0' '==== ringfence slots'; do
	grep -q "$words" "$LAB_DISKS/copy.txt" || lab_fail "the report has no '$words'"
done
# Everything that reads works on it.
for command in verify history slots 'dump --unused'; do
	# shellcheck disable=SC2086 # an option of its own
	cmp <(rf $command "$image" 2>&1) <(rf $command "$LAB_DISKS/copy" 2>&1) ||
		lab_fail "$command: the copy says something else"
done
expect_exit 107 rf image --to "$LAB_DISKS/copy" "$image"
said 'is there already'
expect_exit 0 rf image --force --to "$LAB_DISKS/copy" "$image"
ln -s "$LAB_DISKS/clean" "$LAB_DISKS/link"
expect_exit 74 rf image --force --to "$LAB_DISKS/link" "$image"
cmp "$image" "$LAB_DISKS/clean" || lab_fail "image followed a link"
# A damaged area is what it is for; at the end of a device; all keys in JSON.
scribble "$image" 80 rot
expect_exit 0 rf --json image --to "$LAB_DISKS/hurt" "$image"
for key in schema images device image copied_bytes unreadable_bytes report; do
	said "\"$key\":"
done
grep -q 'damaged:.*superblock' "$LAB_DISKS/hurt.txt" || lab_fail "the report knows no damage"
truncate -s 16M "$LAB_DISKS/end"
expect_exit 0 make_area --reserve end "$LAB_DISKS/end"
expect_exit 0 rf image --to "$LAB_DISKS/end-copy" "$LAB_DISKS/end"
expect_exit 0 rf verify "$LAB_DISKS/end-copy"
[ "$(du -k "$LAB_DISKS/end-copy" | cut -f 1)" -lt 1024 ] || lab_fail "the copy has no holes"
# Sectors that cannot be read are holes with a name.
if command -v nbdfuse >/dev/null && [ -w /dev/fuse ]; then
	mkdir "$LAB_DISKS/bad-path"
	touch "$LAB_DISKS/bad-path/disk"
	nbdkit -f -U "$LAB_DISKS/bad-path/sock" eval get_size="echo $((16 << 20))" \
		pread="if [ \$4 -lt 86016 ] && [ \$((\$3 + \$4)) -gt 81920 ]; then echo EIO bad sector >&2; exit 1; fi
			dd if=$LAB_DISKS/clean skip=\$4 count=\$3 iflag=count_bytes,skip_bytes status=none" \
		>"$LAB/bad.log" 2>&1 &
	LAB_PIDS+=("$!")
	must 30 "a disk with a bad sector" test -S "$LAB_DISKS/bad-path/sock"
	nbdfuse -r "$LAB_DISKS/bad-path/disk" --unix "$LAB_DISKS/bad-path/sock" >>"$LAB/bad.log" 2>&1 &
	LAB_PIDS+=("$!")
	LAB_MOUNTS+=("$LAB_DISKS/bad-path/disk")
	must 30 "that disk through FUSE" test -s "$LAB_DISKS/bad-path/disk"
	expect_exit 74 rf image --to "$LAB_DISKS/bad" "$LAB_DISKS/bad-path/disk"
	said '4096 bytes could not be read'
	grep -q 'holes, at byte 81920' "$LAB_DISKS/bad.txt" || lab_fail "the bad sector has no name"
	cmp -n 81920 "$LAB_DISKS/clean" "$LAB_DISKS/bad" || lab_fail "what was good is not there"
	cmp -i 86016 -n $((bytes - 86016)) "$LAB_DISKS/clean" "$LAB_DISKS/bad" ||
		lab_fail "what was good behind it is not there"
	# Records are read many at a time: the one that is bad is found all the same, and it alone.
	expect_exit 74 rf verify "$LAB_DISKS/bad-path/disk"
	said 'history 8 of volume 0'
	[ "$(grep -c 'of volume\|of node' "$LAB/out")" -eq 1 ] || lab_fail "more is bad: $(cat "$LAB/out")"
	expect_exit 65 rf dump --record history "$LAB_DISKS/bad-path/disk"
	said 'dump: 1 records are unreadable'
	expect_exit 0 rf slots "$LAB_DISKS/bad-path/disk"
fi

# ---- wipe ----
cp "$LAB_DISKS/clean" "$image"
unchanged() {
	cmp "$image" "$LAB_DISKS/clean" || lab_fail "written by: $1"
}
expect_exit 0 rf wipe --dry-run "$image"
said "bytes 0 to $((bytes - 1)) would be erased"
unchanged --dry-run
expect_exit 2 rf wipe --cluster prod "$image"
unchanged --cluster
# A slot that a crash left, as long as it is silent: perhaps alive.
seed "$image" slot 0 2 state=0x892f902b incarnation=77 host=san-b generation=1
expect_exit 107 rf wipe "$image"
said 'node 2 \(san-b\): its slot was not left cleanly'
expect_exit 0 rf verify "$image"
# Two readings: a slot that moves is alive.
(
	for ((n = 10; n < 2000; n++)); do
		"$LAB_BIN/rf-seed" "$image" slot 0 2 seq=$n
		sleep 0.02
	done
) &
writer=$!
LAB_PIDS+=("$writer")
expect_exit 107 rf wipe "$image"
kill $writer
wait $writer 2>/dev/null
said 'alive, and writing to this area: node 2 \(san-b\)'
expect_exit 0 rf verify "$image"
# An unreadable slot may be anybody's.
seed "$image" slot 0 2 state=0x59c3a61d
scribble "$image" $((4096 + 300)) torn
expect_exit 107 rf wipe "$image"
said 'node 1: its slot is unreadable'
expect_exit 0 rf wipe --force "$image"
said 'erased$'
expect_exit 2 rf verify "$image"
cmp -n "$bytes" "$image" /dev/zero || lab_fail "not all of the area was erased"
cmp <(tail -c +$((bytes + 1)) "$image") <(tail -c +$((bytes + 1)) "$LAB_DISKS/clean") ||
	lab_fail "data beside the area was written"
expect_exit 2 rf wipe "$image"
# Free slots need no force; several disks go together; the end of a device.
expect_exit 0 rf wipe "$LAB_DISKS/end"
expect_exit 2 rf verify "$LAB_DISKS/end"
for i in 1 2 3; do
	truncate -s 8M "$LAB_DISKS/q$i"
done
expect_exit 0 make_area --reserve whole "$LAB_DISKS"/q[123]
expect_exit 0 rf wipe "$LAB_DISKS"/q[123]
for i in 1 2 3; do
	expect_exit 2 rf dump "$LAB_DISKS/q$i"
done
# A device that is held by another one.
cp "$LAB_DISKS/clean" "$image"
loop=$(lab_loop "$image") || lab_skip "no loop device is free"
LAB_LOOPS+=("$loop")
if command -v python3 >/dev/null; then
	python3 -c 'import os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
print("held", flush=True)
signal.pause()' "$loop" >"$LAB/held" &
	holder=$!
	LAB_PIDS+=("$holder")
	must 5 "the device is held" grep -q held "$LAB/held"
	expect_exit 107 rf wipe "$loop"
	said 'in use'
	expect_exit 0 rf verify "$loop"
	kill $holder
	wait $holder 2>/dev/null
fi
expect_exit 0 rf wipe "$loop"
expect_exit 2 rf verify "$loop"
exit 0
