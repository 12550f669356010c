#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The udev rule under a real systemd-udevd, with the kernel's own events: a device is
# named a member as soon as it is formatted, and no more when it is wiped; LVM does not
# take what lies beside an area, though its label is there; a path of a multipath device
# and a gate stay what they are; links go to a gate rather than to the member below.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/machine.sh"

disks_begin dpkg-deb unshare udevadm lvm mkfs.ext4
deb=$(echo "$LAB_BUILD"/deb/ringfence_*.deb)
[ -f "$deb" ] || lab_skip "needs $deb; run make check-deb"
machine_root
mkdir "$LAB/debs"
cp "$deb" "$LAB/debs/"
machine_boot
expect_exit 0 in_machine sh -c 'dpkg -i /mnt/lab/debs/*.deb'

# property DEVICE KEY: as udev's database has it.
property() {
	in_machine udevadm info --query=property "--property=$2" --value "$1"
}
is_type() {
	[ "$(property "$1" ID_FS_TYPE)" = "$2" ]
}
# Known to the machine: it has the device before the kernel tells of it.
disk() {
	lab_disk "$@"
	machine_device "$LAB_DEV"
	in_machine udevadm trigger --settle --action=add "/sys/block/${LAB_DEV#/dev/}"
}
again() {
	in_machine udevadm trigger --settle --action="${2:-change}" "/sys/block/${1#/dev/}"
}
format() {
	expect_exit 0 in_machine ringfence format --cluster lab --nodes 3 --volume vol0 --profile fast --yes "$@"
}
# LVM has seen a physical volume on it, as events tell it.
taken_by_lvm() {
	in_machine grep -qs "dev:$1" -r /run/lvm/pvs_online
}

# ---- formatted, wiped: nothing but the kernel's event when the writer closes ----

disk plain 64
plain=$LAB_DEV
expect "an empty disk is nothing" is_type "$plain" ""
format "$plain"
must 10 "a member, as soon as it is one" is_type "$plain" ringfence_member
expect "udisks is told" [ "$(property "$plain" UDISKS_IGNORE)" = 1 ]
expect "the cluster" [ "$(property "$plain" RINGFENCE_CLUSTER)" = lab ]
in_machine lsblk --noheadings -o NAME,FSTYPE,LABEL "$plain" | tee "$LAB/lsblk"
grep -q 'ringfence_member *lab' "$LAB/lsblk" || lab_fail "lsblk does not say so"
expect_exit 0 in_machine ringfence wipe --yes --force "$plain"
must 10 "wiped, it is nothing" is_type "$plain" ""

# ---- LVM: its label is there, and it is let alone ----

disk lvm 64
lvm=$LAB_DEV
expect_exit 0 in_machine lvm vgcreate -y --config 'devices { use_devicesfile=0 }' vg0 "$lvm"
must 10 "without an area it is LVM's" is_type "$lvm" LVM2_member
for x in once "at each event"; do
	again "$lvm"
	must 10 "which takes it, $x" taken_by_lvm "$lvm"
	in_machine rm -rf /run/lvm
done
format --reserve end --force "$lvm"
must 10 "with one it is a member" is_type "$lvm" ringfence_member
again "$lvm"
expect "still a member" is_type "$lvm" ringfence_member
expect "the label is still there" in_machine lvm pvck --dump headers "$lvm"
expect "LVM lets it alone" eval "! taken_by_lvm '$lvm'"
expect "no link of LVM's" [ -z "$(property "$lvm" DEVLINKS | grep lvm-pv)" ]

# ---- a path of a multipath device, a gate: as the rules before have said ----

stays() {
	printf 'SUBSYSTEM=="block", KERNEL=="%s", %s\n' "${plain#/dev/}" "$1" |
		in_machine sh -c 'mkdir -p /run/udev/rules.d && cat >/run/udev/rules.d/60-zz-before.rules'
	in_machine udevadm control --reload
	again "$plain" add
}
format "$plain"
must 10 "a member" is_type "$plain" ringfence_member
stays 'ENV{DM_MULTIPATH_DEVICE_PATH}="1", ENV{ID_FS_TYPE}="mpath_member"'
expect "a path is its map's" is_type "$plain" mpath_member
stays 'ENV{DM_UUID}="RINGFENCE-abc", ENV{ID_FS_TYPE}="ext4"'
expect "a gate shows what is in it" is_type "$plain" ext4
stays 'ENV{NOTHING}="1"'
expect "a member again" is_type "$plain" ringfence_member

# ---- a file system beside the area: mounting by UUID takes what is no member ----

disk one 64
one=$LAB_DEV
in_machine mkfs.ext4 -q "$one" 60M
uuid=$(in_machine blkid -p -o value -s UUID "$one")
format --reserve end --force "$one"
must 10 "a member" is_type "$one" ringfence_member
link() {
	[ "$(in_machine readlink -f "/dev/disk/by-uuid/$uuid")" = "$1" ]
}
must 10 "by UUID the member, while it is alone" link "$one"
truncate -s 64M "$LAB_DISKS/two"
dd if="$LAB_DISKS/one" of="$LAB_DISKS/two" bs=1M count=60 conv=notrunc,sparse status=none
disk two 64
must 10 "what is no member goes first" link "$LAB_DEV"
again "$one" add
expect "whoever comes last" link "$LAB_DEV"
say "udev: named and unnamed by events, LVM, multipath, gate, links"
