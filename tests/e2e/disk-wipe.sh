#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# wipe: the area goes and nothing else; what may be in use needs --force (107). image:
# the area comes along and nothing else; what cannot be read is named.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin
image=$LAB_DISKS/area
truncate -s 16M "$image"
expect_exit 0 rf format --cluster lab --nodes 3 --volume vol0 --profile san "$image"
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
if command -v dmsetup >/dev/null && loop=$(lab_loop "$LAB_DISKS/clean"); then
	LAB_LOOPS+=("$loop")
	if printf '0 160 linear %s 0\n160 8 error\n168 32600 linear %s 168\n' "$loop" "$loop" |
		dmsetup create "$LAB_TAG-bad" 2>/dev/null; then
		rf image --to "$LAB_DISKS/bad" "/dev/mapper/$LAB_TAG-bad" >"$LAB/out" 2>&1
		rc=$?
		dmsetup remove --retry "$LAB_TAG-bad"
		[ $rc = 74 ] || lab_fail "exit $rc with bad sectors: $(cat "$LAB/out")"
		said '4096 bytes could not be read'
		grep -q 'holes, at byte 81920' "$LAB_DISKS/bad.txt" || lab_fail "the bad sector has no name"
		cmp -n 81920 "$LAB_DISKS/clean" "$LAB_DISKS/bad" || lab_fail "what was good is not there"
	fi
	losetup -d "$loop"
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
if command -v dmsetup >/dev/null && loop=$(lab_loop "$image"); then
	LAB_LOOPS+=("$loop")
	if echo "0 100 linear $loop 2048" | dmsetup create "$LAB_TAG-up" 2>/dev/null; then
		rf wipe "$loop" >"$LAB/out" 2>&1
		rc=$?
		dmsetup remove --retry "$LAB_TAG-up"
		[ $rc = 107 ] || lab_fail "exit $rc for a device in use: $(cat "$LAB/out")"
		said 'in use'
	fi
	expect_exit 0 rf wipe "$loop"
fi
exit 0
