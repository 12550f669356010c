# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# One node of tests/vm/san: the daemon, and for each volume a writer that never asks
# whether it may. Started, and hurt, by what comes in on the third serial line; runs
# until the machine is ended from outside.
#
#   vol0   two paths to the Linux target, below a multipath device
#   vol1   the target without abort (rf.plain)
#   vol2   the Linux target again, through a device that can be suspended, with a gate
#          above: fence = reservation, gate
. ./lib.sh
node=$(sed -n 's/.*rf.node=\([0-9]*\).*/\1/p' /proc/cmdline)
plain() { grep -q rf.plain /proc/cmdline; }
for m in virtio_pci virtio_scsi sd_mod virtio_net dm-multipath dm-round-robin; do modprobe $m; done
insmod /dm-ringfence.ko || not_ok "the module does not load"
mkdir -p /run /var/run /var/lib/ringfence
/bin/ip link set lo up
/bin/ip addr add 10.99.0.$node/24 dev eth0
/bin/ip link set eth0 up

# by SCSI target number, see disk() of tests/vm/sanlab.sh
disk_at() {
	for d in /sys/class/scsi_disk/*:*:$1:*/device/block/*; do
		[ -b "/dev/${d##*/}" ] && echo "/dev/${d##*/}" && return 0
	done
	return 1
}
number() { cat "/sys/block/$(basename "$1")/dev"; }
for t in 0 1 2 3; do until_true 30000 disk_at $t >/dev/null || not_ok "no disk $t"; done
quorum=$(disk_at 1)
path_a=$(disk_at 0)
path_b=$(disk_at 3)
echo "0 $(blockdev --getsz "$path_a") multipath 0 0 1 1 round-robin 0 2 1 $(number "$path_a") 1 $(number "$path_b") 1" |
	dmsetup create -u mpath-rf mp && dmsetup mknodes mp
echo "0 $(blockdev --getsz "$(disk_at 2)") linear $(disk_at 2) 0" | dmsetup create low && dmsetup mknodes low

node_conf san $node eth0 /test/key >/tmp/node.conf <<-END
	[volume vol0]
	device = /dev/mapper/mp
	area = $quorum
	fence = reservation
	[volume vol2]
	device = /dev/mapper/low
	area = $quorum
	fence = reservation, gate
	gate = vol2
END
plain && cat >>/tmp/node.conf <<-END
	[volume vol1]
	device = $(disk_at 4)
	area = $quorum
	fence = reservation, expiry
END

# ---- what the host asks for, beside what orders.sh has ----

# What multipathd does: a failed path that answers a read is used again. MS between looks.
path_checker() {
	while :; do
		for d in $path_a $path_b; do
			dmsetup status mp | grep -q "$(number $d) F" || continue
			dd if=$d of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null &&
				dmsetup message mp 0 reinstate_path "$(number $d)" && echo "path ${d#/dev/} reinstated"
		done
		usleep $(($1 * 1000))
	done
}
path() { # offline|running DISK
	echo "$1" >"/sys/block/${2#/dev/}/device/state"
}
fencer_of() { # DRIVER DEVICE: its process
	for p in $(whole); do
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^[^ ]*ringfence-fencer $1 .*device=$2 " && echo "$p"
	done
}
writers() ( # what they say is no part of the answer
	exec >&9 2>&9 8>&-
	rfsan /dev/mapper/mp $node vol0 10 $((3 - node)) &
	rfsan /dev/mapper/low $node vol2 50 $((3 - node)) &
	rfsan /dev/mapper/vol2 $((node + 4)) gate2 50 &
	plain && rfsan "$(disk_at 4)" $node vol1 50 $((3 - node)) &
	path_checker 5000 &
)
. ./orders.sh
