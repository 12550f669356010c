#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 24, on a machine that has only the disk: who holds it, since when, and why it
# changed. A written past, so that each word is known beforehand.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin
image=$LAB_DISKS/area
truncate -s 32M "$image"
expect_exit 0 rf format --cluster lab --nodes 3 --volumes 2:vol0,spare --profile fast "$image"

# Nobody ever led.
expect_exit 0 rf history "$image"
said '^vol0: nobody ever led$'
said '^spare: nobody ever led$'

seed_past "$image"
expect_exit 0 rf verify "$image"
expect_exit 0 rf history "$image"
said '^vol0: epoch 11, claimed by node 1$'
said '^ *1 +1 san-a .*first +resigned +64.000 ms none'
said '^ *5 +2 san-b .*silence +superseded +1879.000 ms expired'
said '^ *7 +1 san-a .*released +no-word'
said '^ *11 +1 san-a +2026-11-30 06:43:21Z +- released +leads'
said '^1 epochs in between have no entry'
expect_exit 0 rf history --phases --volume vol0 "$image"
said '^ *5 +2 silence +1879.000 ms 361.000 ms 388.000 ms 55.000 ms 1043.000 ms 6.000 ms +26.000 ms'
! grep -q spare "$LAB/out" || lab_fail "--volume shows the other one"
expect_exit 0 rf history --last 2 --volume 0 "$image"
[ "$(grep -c san- "$LAB/out")" = 2 ] || lab_fail "--last 2: $(cat "$LAB/out")"
expect_exit 105 rf history --volume nowhere "$image"
said "no volume 'nowhere'"

# JSON has every key in every row, null where nothing is known.
expect_exit 0 rf --json history "$image"
said '"end_unix_ms": null'
for key in epoch epoch_str owner host incarnation_hex cause start_unix_ms end_unix_ms ended \
	led_ms prev_epoch prev_owner change_us suspect_us prevote_us claim_us exclude_us \
	open_us reconcile_us excluded_by; do
	[ "$(grep -c "\"$key\":" "$LAB/out")" -ge 10 ] || lab_fail "$key is not in every row"
done

# A device, and a snapshot of it, say the same.
cp "$image" "$LAB_DISKS/snap"
loop=$(lab_loop "$LAB_DISKS/snap") || lab_skip "no loop device is free"
LAB_LOOPS+=("$loop")
for where in "$loop" "$LAB_DISKS/snap"; do
	cmp <(rf history "$image") <(rf history "$where") || lab_fail "$where tells another past"
done

# A damaged entry is counted, the others are shown, and it is not success.
# 3 nodes, 2 volumes: the rings begin at stride 17.
scribble "$image" $(((17 + 4) * 4096 + 100)) rot
expect_exit 65 rf history "$image"
said '^1 entries are unreadable'
said '1 records are unreadable'
[ "$(grep -c ' san-' "$LAB/out")" = 9 ] || lab_fail "not 9 of 10 are shown"

# A node that was frozen writes its end when it wakes up: it did not lead until then.
truncate -s 4M "$LAB_DISKS/late"
expect_exit 0 make_area "$LAB_DISKS/late"
seed_past "$LAB_DISKS/late"
seed "$LAB_DISKS/late" history 0 4 end_unix_ns=$(((1796000000 + 12500) * 1000000000))
expect_exit 0 rf --json history "$LAB_DISKS/late"
grep -A20 '"epoch": 4,' "$LAB/out" | grep -q '"led_ms": 3000[0-9]*,$' || lab_fail "a late end counts"
