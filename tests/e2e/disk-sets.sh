#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Disk commands on an area of three disks, one of which is missing, empty, damaged or
# behind: reading goes on with the others and says so; fewer than a majority is noted.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin jq
q=("$LAB_DISKS"/q1 "$LAB_DISKS"/q2 "$LAB_DISKS"/q3)
truncate -s 4M "${q[@]}"
expect_exit 0 make_area --reserve whole "${q[@]}"
for x in "${q[@]}"; do
	seed_past "$x"
	seed "$x" slot 0 2 state=0x892f902b incarnation=77 host=san-b generation=1 seq=3
	cp "$x" "$x-clean"
done
fresh() {
	local x
	for x in "${q[@]}"; do
		cp "$x-clean" "$x"
	done
}
# The last word of each command on these disks, without what was noted.
history_of() {
	rf -q --json history "$@" 2>/dev/null | jq -c '.volumes[0] | [.epoch_sector.epoch, (.leaderships | length)]'
}
whole=$(history_of "${q[@]}")
[ "$whole" = '[11,10]' ] || lab_fail "history of three: $whole"

# readers EXIT-OF-VERIFY DISK...: every command that only reads goes on.
readers() {
	local code=$1
	shift
	[ "$(history_of "$@")" = "$whole" ] || lab_fail "history of $*: $(history_of "$@")"
	expect_exit 0 rf history "$@"
	expect_exit 0 rf timeline "$@"
	said 'epoch 11'
	expect_exit 0 rf timeline --svg "$LAB/t.svg" "$@"
	expect_exit 0 rf slots "$@"
	said '^ *2 san-b +joined '
	expect_exit 0 rf dump --record claims "$@"
	said '^  epoch +11'
	expect_exit 0 rf watch --once "$@"
	said 'san-b'
	expect_exit 0 rf image --force --to "$LAB_DISKS/image" "$@"
	expect_exit "$code" rf verify "$@"
}

readers 0 "${q[@]}"
readers 0 "${q[0]}" "${q[2]}" # two are a majority: nothing to note but in verify
! grep -q 'may lie on the others' "$LAB/out" || lab_fail "a majority is noted: $(cat "$LAB/out")"
said 'the area has 3 disks, 2 were given'

# Behind: the newest of each record counts. Alone it is no majority, and that is noted.
seed "${q[2]}" epoch 0 0 epoch=10 owner=3 incarnation=1058 seq=10
seed "${q[2]}" slot 0 2 state=0x892f902b incarnation=70 host=san-x generation=1 seq=2
for c in history timeline slots dump; do
	expect_exit 0 rf $c "${q[2]}"
	said 'the area has 3 disks and this is 1 of them: the newest may lie on the others'
done
dd if=/dev/zero of="${q[2]}" bs=4096 seek=23 count=1 conv=notrunc status=none
readers 1 "${q[2]}" "${q[0]}" "${q[1]}" # its history 11 is torn
fresh

# Not there; empty; without superblocks; truncated.
readers 74 "$LAB_DISKS/none" "${q[1]}" "${q[2]}"
said 'none: cannot be opened: No such file'
said 'none: cannot be read'
expect_exit 0 rf history "${q[0]}" "$LAB_DISKS/none" "${q[2]}"
said 'going on without it: 2 of the 3 disks given'
dd if=/dev/zero of="${q[0]}" bs=1M count=4 conv=notrunc status=none
readers 2 "${q[@]}"
said 'q1: is no disk of this area'
fresh
scribble "${q[1]}" 300 torn
scribble "${q[1]}" $((88 * 4096 + 300)) torn
readers 1 "${q[@]}"
said 'q2: superblock, byte 0: .*no readable copy was found'
rf --json verify "${q[@]}" | jq -e --arg q "${q[1]}" '.verdict == 1 and
	any(.findings[]; .device == $q and .record == "superblock" and .offset_bytes == 0)' >/dev/null ||
	lab_fail "verify --json of a lost superblock"
fresh
truncate -s 100K "${q[1]}"
expect_exit 0 rf history "${q[@]}"
said 'epoch 11'
expect_exit 1 rf verify "${q[@]}"
said 'truncated'
fresh

# A pipe as a device: opening it would wait for its other end.
mkfifo "$LAB/pipe"
for c in history verify dump "watch --once" probe repair "wipe --yes" "image --to $LAB_DISKS/p"; do
	# shellcheck disable=SC2086 # words
	expect_exit 74 timeout 5 "$LAB_BIN/ringfence" $c "$LAB/pipe"
	said 'neither a block device nor an image file'
done

# One of another area was not meant; what writes wants all of them.
truncate -s 4M "$LAB_DISKS/other"
expect_exit 0 rf format --cluster prod --nodes 3 --volume vol0 --profile fast "$LAB_DISKS/other"
expect_exit 65 rf history "${q[0]}" "$LAB_DISKS/other" "${q[2]}"
expect_exit 74 rf repair "$LAB_DISKS/none" "${q[1]}" "${q[2]}"
expect_exit 74 rf wipe --yes "$LAB_DISKS/none" "${q[1]}" "${q[2]}"
for x in "${q[@]}"; do
	cmp "$x" "$x-clean" || lab_fail "$x was written"
done

# An image of each is as good as the disk; state and work are found on two of three.
expect_exit 0 rf image --force --to "$LAB_DISKS/image" "${q[@]}"
[ "$(history_of "$LAB_DISKS"/image.[123])" = "$whole" ] || lab_fail "history of images"
expect_exit 0 rf verify "$LAB_DISKS"/image.[123]
expect_exit 0 rf -q work list --device "${q[0]}" --device "$LAB_DISKS/none" --device "${q[1]}" vol0
say "three disks, one of them missing, empty, damaged, behind"
