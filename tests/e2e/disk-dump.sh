#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 27: dump, probe, slots and verify tell a device that cannot be read, one
# that is not ours, and one that is damaged apart, and never exit 0 for any.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin
lab_disk good 32
good=$LAB_DEV
expect_exit 0 make_area "$good"

# Unreadable.
for command in dump slots verify probe timing history timeline repair wipe 'watch --once' "image --to $LAB_DISKS/to"; do
	# shellcheck disable=SC2086 # options of its own
	expect_exit 74 rf $command "$LAB_DISKS/absent"
	said 'No such file'
	expect_exit 74 rf $command "$LAB_DISKS"
	expect_exit 74 rf $command /dev/null
done
if command -v setpriv >/dev/null; then
	cp "$LAB_DISKS/good" "$LAB/private"
	chmod 600 "$LAB/private"
	for command in dump slots verify probe; do
		expect_exit 77 setpriv --reuid 65534 --clear-groups "$LAB_BIN/ringfence" \
			"$command" "$good"
		said 'run as root'
	done
fi

# Foreign: zeros, noise, another filesystem.
lab_disk zeros 32
for command in dump slots verify probe timing history timeline repair wipe 'watch --once' "image --to $LAB_DISKS/to"; do
	# shellcheck disable=SC2086 # options of its own
	expect_exit 2 rf $command "$LAB_DEV"
	said 'not ours'
done
dd if=/dev/urandom of="$LAB_DEV" bs=1M count=32 conv=fsync status=none
expect_exit 2 rf verify "$LAB_DEV"
expect_exit 2 rf dump "$LAB_DEV"
: >"$LAB_DISKS/empty"
expect_exit 2 rf dump "$LAB_DISKS/empty"
expect_exit 2 rf verify "$LAB_DISKS/empty"

# Good: device, image and snapshot alike, every kind of record, three ways.
cp "$LAB_DISKS/good" "$LAB_DISKS/snapshot"
for where in "$good" "$LAB_DISKS/good" "$LAB_DISKS/snapshot"; do
	expect_exit 0 rf probe "$where"
	expect_exit 0 rf slots --all "$where"
	for kind in superblock slots mailbox claims state history all; do
		expect_exit 0 rf dump --record "$kind" "$where"
		expect_exit 0 rf dump --record "$kind" --hex "$where"
		expect_exit 0 rf dump --record "$kind" --json "$where"
		said '"schema": 1'
	done
done
expect_exit 0 rf probe --export "$good"
said '^ID_FS_TYPE=ringfence_member$'
expect_exit 2 rf dump --record everything "$good"
# Every byte of every record has a name in the hex dump, once.
rf dump --unused --hex "$good" |
	awk '/^[a-z]/ { if (NR > 1 && at != 512) exit 1; at = 0; next }
	     /^ +[0-9]+ +[0-9]+ [a-z]/ { if ($1 != at) exit 1; at += $2 }
	     END { exit at != 512 }' || lab_fail "the hex dump leaves bytes out"

# Damaged: said, shown, and not 0.
scribble "$good" $((4096 + 70)) rot
expect_exit 65 rf dump "$good"
said 'slot of node 1.*UNREADABLE: torn or damaged'
expect_exit 0 rf dump --record claims "$good"
expect_exit 65 rf slots "$good"
expect_exit 1 rf verify "$good"
# Only the copy of the superblock is left: still readable, but not good.
dd if=/dev/zero of="$good" bs=4096 count=1 conv=notrunc,fsync status=none
expect_exit 65 rf dump --record superblock "$good"
said 'superblock copy'
expect_exit 0 rf dump --record claims "$good"
# None is left.
cp "$LAB_DISKS/snapshot" "$LAB_DISKS/lost"
copy=$(rf dump --json --record superblock "$LAB_DISKS/snapshot" |
	sed -n 's/.*"offset_bytes": \([0-9]*\).*/\1/p' | sort -n | tail -n 1)
scribble "$LAB_DISKS/lost" 80 rot
scribble "$LAB_DISKS/lost" $((copy + 80)) rot
expect_exit 65 rf dump "$LAB_DISKS/lost"
said 'no readable copy'
expect_exit 65 rf probe "$LAB_DISKS/lost"
expect_exit 1 rf verify "$LAB_DISKS/lost"

# No daemon: at once, and said.
expect_exit 69 rf --socket "$LAB/none.sock" status
said 'is ringfenced running'
# Key files: 0600, never overwritten.
expect_exit 0 rf keygen "$LAB/key"
[ "$(stat -c %a "$LAB/key")" = 600 ] || lab_fail "mode of the key file"
before=$(sum_of "$LAB/key")
expect_exit 107 rf keygen "$LAB/key"
[ "$(sum_of "$LAB/key")" = "$before" ] || lab_fail "keygen overwrote a key"
expect_exit 74 rf keygen "$LAB/absent/key"
# Output that cannot be written is not success.
if [ -w /dev/full ]; then
	rf dump "$LAB_DISKS/snapshot" >/dev/full 2>/dev/null && lab_fail "a full disk looked like success"
fi
exit 0
