# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# One host of tests/vm/hosts: daemon, gate on the shared disk, an application. Says
# five times a second how its gate is; runs until the machine is ended from outside.
. ./lib.sh
load_module
node=$(sed -n 's/.*rf.node=\([0-9]*\).*/\1/p' /proc/cmdline)
modprobe virtio_pci
modprobe virtio_blk
modprobe virtio_net
mkdir -p /run /var/run
until_true 5000 test -b /dev/vda || not_ok "no shared disk"
/bin/ip link set lo up
/bin/ip addr add 10.99.0.$node/24 dev eth0
/bin/ip link set eth0 up
cat >/tmp/node.conf <<-END
	[cluster]
	name = vm
	node-id = $node
	[network]
	interface = eth0
	multicast = 239.255.74.11
	[auth]
	key-file = /test/key
	[volume vol0]
	device = /dev/vda
	area = /dev/vda
	fence = gate
	gate = vol
END
ringfenced --config /tmp/node.conf --socket /tmp/node.sock &
until_true 10000 test -b /dev/mapper/vol || not_ok "no gate"
rfhammer /dev/mapper/vol /tmp/runs &
while :; do
	echo "gate $(field state) $(field epoch) $(field admitted) $(field seen)"
	usleep 200000
done
