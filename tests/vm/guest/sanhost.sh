# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# One node of tests/vm/san: the daemon with fence = reservation, and for each volume a
# writer that never asks whether it may. Runs until the machine is ended from outside.
. ./lib.sh
node=$(sed -n 's/.*rf.node=\([0-9]*\).*/\1/p' /proc/cmdline)
for m in virtio_pci virtio_scsi sd_mod virtio_net; do modprobe $m; done
mkdir -p /run /var/run
/bin/ip link set lo up
/bin/ip addr add 10.99.0.$node/24 dev eth0
/bin/ip link set eth0 up

# by size in MiB: 64 data, 32 quorum, 48 data of the other target
disk_of() {
	for d in /sys/block/sd*; do
		[ "$(cat "$d/size" 2>/dev/null)" = $(($1 * 2048)) ] && echo "/dev/${d##*/}" && return 0
	done
	return 1
}
until_true 20000 disk_of 64 >/tmp/disks || not_ok "no data disk"
until_true 20000 disk_of 32 >/tmp/disks || not_ok "no quorum disk"
cat >/tmp/node.conf <<-END
	[cluster]
	name = san
	node-id = $node
	[network]
	interface = eth0
	multicast = 239.255.74.11
	[auth]
	key-file = /test/key
	[volume vol0]
	device = $(disk_of 64)
	area = $(disk_of 32)
	fence = reservation
END
if grep -q rf.second /proc/cmdline; then
	until_true 20000 disk_of 48 >/tmp/disks || not_ok "no disk of the other target"
	cat >>/tmp/node.conf <<-END
		[volume vol1]
		device = $(disk_of 48)
		area = $(disk_of 32)
		fence = reservation, expiry
	END
	rfsan "$(disk_of 48)" $node vol1 &
fi
rfsan "$(disk_of 64)" $node vol0 &
ringfenced --config /tmp/node.conf --socket /tmp/node.sock
echo "daemon ended with $?"
while :; do sleep 3600; done
