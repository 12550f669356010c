#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 26: whatever holds something or is in use is refused with what was
# found, nothing is written, nothing is asked off a terminal; --force is needed.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin wipefs mkfs.ext4 mkswap

# refused NAME PATTERN: exit 107, says PATTERN, and not one byte changed.
refused() {
	local before
	before=$(sum_of "$LAB_DISKS/$1")
	expect_exit 107 make_area "$LAB_DEV"
	said "$2"
	said 'nothing was written'
	[ "$(sum_of "$LAB_DISKS/$1")" = "$before" ] || lab_fail "$1: format changed it"
	say "$1: $(grep refused "$LAB/out" | head -n 1)"
}

# forced NAME: the same device with --force is an area afterwards.
forced() {
	expect_exit 0 make_area --force "$LAB_DEV"
	expect_exit 0 rf verify "$LAB_DEV"
}

lab_disk ext4 32
mkfs.ext4 -q "$LAB_DEV"
refused ext4 'ext4 \(filesystem\)'
forced ext4

lab_disk swap 32
mkswap "$LAB_DEV" >/dev/null 2>&1
refused swap 'swap'

if command -v sfdisk >/dev/null; then
	lab_disk gpt 32
	printf 'label: gpt\n,8M\n' |
		sfdisk -q --no-reread --no-tell-kernel "$LAB_DEV" >/dev/null 2>&1
	refused gpt 'partition table: gpt'
fi

# An old partition table: one Linux partition, from sector 63.
lab_disk dos 32
printf '\x80\0\1\0\x83\0\x3f\0\x3f\0\0\0\0\x10\0\0' |
	dd of="$LAB_DEV" bs=1 seek=446 conv=notrunc,fsync status=none
printf '\x55\xaa' | dd of="$LAB_DEV" bs=1 seek=510 conv=notrunc,fsync status=none
refused dos 'partition table: dos'

# A physical volume of LVM as pvcreate leaves it: label in sector 1.
lvm_label() {
	printf 'LABELONE\1\0\0\0\0\0\0\0\xf8\x01\x1c\x93\x20\0\0\0LVM2 001' |
		dd of="$LAB_DEV" bs=1 seek=512 conv=notrunc,fsync status=none
}
lab_disk lvm 32
lvm_label
wipefs -n "$LAB_DEV" | grep -q LVM2 || lab_fail "wipefs does not see the label"
refused lvm 'LVM2_member'

# A member of a RAID, superblock 1.2 (its checksum is wrong: still a member).
lab_disk raid 32
printf '\xfc\x4e\x2b\xa9\1\0\0\0' | dd of="$LAB_DEV" bs=1 seek=4096 conv=notrunc,fsync status=none
printf '\x08' | dd of="$LAB_DEV" bs=1 seek=$((4096 + 144)) conv=notrunc,fsync status=none
if wipefs -n "$LAB_DEV" | grep -q linux_raid; then
	refused raid 'linux_raid_member'
fi

# Two signatures at once: all are named.
lab_disk both 32
mkfs.ext4 -q "$LAB_DEV"
lvm_label
refused both 'ext4'
said 'LVM2_member'

# In use: mounted, then held exclusively by a program, then as a backing file.
lab_disk mounted 32
mkfs.ext4 -q "$LAB_DEV"
mkdir "$LAB/mnt"
if mount "$LAB_DEV" "$LAB/mnt" 2>/dev/null; then
	LAB_MOUNTS+=("$LAB/mnt")
	expect_exit 107 make_area "$LAB_DEV"
	said "in use: mounted on .*/mnt"
	umount "$LAB/mnt"
fi

lab_disk held 32
if command -v python3 >/dev/null; then
	python3 -c 'import os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
print("held", flush=True)
signal.pause()' "$LAB_DEV" >"$LAB/held" &
	LAB_PIDS+=($!)
	must 5 "the device is held" grep -q held "$LAB/held"
	refused held 'in use: .*exclusively'
	lab_end "${LAB_PIDS[-1]}"
fi

lab_disk backing 32
expect_exit 107 make_area "$LAB_DISKS/backing"
said "in use: backing file of $LAB_DEV"

# An area of ours, also one whose superblock is damaged.
lab_disk ours 32
expect_exit 0 make_area "$LAB_DEV"
refused ours "ringfence area already: cluster 'lab'"
scribble "$LAB_DEV" 100 rot
refused ours 'ringfence'
forced ours

# Nothing is written by --dry-run, and the plan says everything.
lab_disk plan 32
before=$(sum_of "$LAB_DISKS/plan")
expect_exit 0 make_area --dry-run "$LAB_DEV"
[ "$(sum_of "$LAB_DISKS/plan")" = "$before" ] || lab_fail "--dry-run wrote"
for word in Stride Area Lease Isolation Slot In-flight 'Worst failover, expiry' \
	'Worst failover, target' 'superblock copy' 'claim regions' DATA-FROM; do
	said "$word"
done
expect_exit 0 make_area --dry-run --voters 1,3 "$LAB_DEV"
said 'Voters +1,3$'
expect_exit 0 make_area --dry-run --json "$LAB_DEV"
said '"failover_expiry_ms": [0-9]+'

# Bad values: each with its own words, nothing written.
while IFS='|' read -r code pattern options; do
	# shellcheck disable=SC2086
	expect_exit "$code" rf format --cluster lab --nodes 3 --volume vol0 $options "$LAB_DEV"
	said "$pattern"
done <<-END
	2|lease 250 ms >= 3 \* heartbeat 100 ms|--profile fast --lease 250ms --hold 100ms --suspect 250ms
	2|suspect 150 ms >= 2 \*|--profile fast --suspect 150ms
	2|suspect 2000 ms <= lease|--profile fast --suspect 2s --isolation 3s
	2|isolation 100 ms >= suspect|--profile fast --isolation 100ms
	2|hold 5000 ms <= lease|--profile fast --hold 5s
	2|in-flight 10 ms >= lease|--profile fast --inflight 10ms
	2|duration with its unit|--lease 1000
	2|fast, san or multipath|--profile turbo
	2|start, end or whole|--reserve middle
	2|majority or survivors|--quorum anarchy
	2|1ppm to 10%|--epsilon 20%
	2|8 to 1024|--history 7
	2|4096 to|--state-bytes 1
	64|exclude each other|--volumes 2
	2|1 to 128|--nodes 129
	2|node ids up to 3|--voters 1-4
	2|node ids up to 3|--voters 2-1
	2|node ids up to 3|--voters x
	2|given twice|--volume vol0
	2|volume name|--volume a/b
END
expect_exit 64 rf format --cluster lab --nodes 3 --volume vol0 "$LAB_DEV" "$LAB_DEV"
said '1, 3 or 5 devices'
expect_exit 2 make_area "$LAB_DEV" "$LAB_DEV" "$LAB_DEV"
said 'same device'
expect_exit 64 rf format --cluster lab --volume vol0 "$LAB_DEV"
expect_exit 64 rf format --nodes 3 --volume vol0 "$LAB_DEV"
expect_exit 64 rf format --cluster lab --nodes 3 "$LAB_DEV"
expect_exit 74 make_area "$LAB_DISKS/absent"
expect_exit 74 make_area /dev/null
lab_disk small 1
expect_exit 2 make_area "$LAB_DEV"
said 'too small'
