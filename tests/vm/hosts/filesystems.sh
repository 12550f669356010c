#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 120
# ext4 and XFS on the gate: the leading machine loses its power, or its daemon and fencer
# stand still past the lease, while files are written and synced. The next leader mounts:
# no acknowledged file is lost, and the check is clean.
. "$(dirname "$0")/../../lib/lab.sh"

has_files() {
	[ "$(wc -l <"$1" 2>/dev/null || echo 0)" -ge "$2" ]
}
leader_opens() {
	lab_led && vm_ask "$LAB_LEADER" 10 'dmsetup status vol0 | grep -q state=open'
}

failover() { # FS MKFS CHECK FAULT
	local fs=$1 old files=$LAB/$1-$4
	must 10 "$fs: a leader whose gate is open" leader_opens
	old=$LAB_LEADER
	vm_ask "$old" 60 "modprobe $fs && $2 /dev/mapper/vol0 && mount -t $fs /dev/mapper/vol0 /mnt" || lab_fail "$fs: mkfs, mount"
	vm_ask "$old" 10 "node_files $files"
	must 10 "$fs: 10 files are safe" has_files "$files" 10
	"$4" "$old"
	must 10 "$fs: another leads" lab_led_by_other "$old"
	must 10 "$fs: its gate is open" vm_ask "$LAB_LEADER" 10 'dmsetup status vol0 | grep -q state=open'
	vm_ask "$LAB_LEADER" 60 "modprobe $fs && mount -t $fs /dev/mapper/vol0 /mnt" || lab_fail "$fs: node $LAB_LEADER cannot mount"
	vm_ask "$LAB_LEADER" 60 "node_files_good $files" >"$LAB/lost" || lab_fail "$fs: $(cat "$LAB/lost")"
	vm_ask "$LAB_LEADER" 60 "umount /mnt && $3 /dev/mapper/vol0" >"$LAB/fsck" || lab_fail "$fs: check: $(cat "$LAB/fsck")"
	say "# $fs, $4 of node $old: $(wc -l <"$files") files safe, all there on node $LAB_LEADER, check clean"
	"back_from_$4" "$old"
}
power_cut() {
	lab_crash "$1"
}
back_from_power_cut() {
	lab_boot "$1"
	must 20 "the machine is back" vm_ready "$1"
	lab_node "$1"
}
stand_still() {
	vm_ask "$1" 10 'node_signal STOP ringfenced ringfence-fencer'
	must 10 "its file system stops for good" test -e "$LAB/$fs-stand_still.end"
}
back_from_stand_still() {
	vm_ask "$1" 60 'node_signal CONT ringfence-fencer ringfenced; umount /mnt || umount -l /mnt'
	must 10 "node $1 follows again" lab_lost "$1"
}

lab_begin 3
lab_nodes 1 2 3
failover ext4 "mkfs.ext4 -q -F" "e2fsck -fn" power_cut
failover xfs "mkfs.xfs -q -f" "xfs_repair -n" stand_still
failover ext4 "mkfs.ext4 -q -F" "e2fsck -fn" stand_still
failover xfs "mkfs.xfs -q -f" "xfs_repair -n" power_cut
