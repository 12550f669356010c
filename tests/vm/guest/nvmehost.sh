# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# One node of tests/vm/nvme: attached by the kernel's own NVMe over TCP, with a host
# identity of its own. Takes orders as sanhost.sh does.
. ./lib.sh
node=$(sed -n 's/.*rf.node=\([0-9]*\).*/\1/p' /proc/cmdline)
for m in virtio_pci virtio_net nvme-tcp; do modprobe $m; done
mkdir -p /run /var/run /var/lib/ringfence
/bin/ip link set lo up
/bin/ip addr add 10.99.0.$node/24 dev eth0
/bin/ip addr add 10.98.0.$node/24 dev eth1
/bin/ip link set eth0 up
/bin/ip link set eth1 up
until_true 5000 test -c /dev/nvme-fabrics || not_ok "no NVMe over fabrics"
attach() {
	echo "transport=tcp,traddr=10.98.0.9,trsvcid=4420,nqn=nqn.2026-01.test.ringfence:san,hostnqn=nqn.2026-01.test.ringfence:node$node,hostid=00000000-0000-4000-8000-00000000000$node,reconnect_delay=1,ctrl_loss_tmo=3600" >/dev/nvme-fabrics
}
until_true 20000 attach || not_ok "cannot attach"
space() { # NUMBER: by what the target calls it; the names are given in any order
	for d in /sys/block/nvme*n*; do
		[ "$(cat "$d/nsid" 2>/dev/null)" = "$1" ] && [ -b "/dev/${d##*/}" ] && echo "/dev/${d##*/}" && return 0
	done
	return 1
}
until_true 20000 space 1 >/dev/null && until_true 20000 space 2 >/dev/null || not_ok "no namespaces"
node_conf san $node eth0 /test/key >/tmp/node.conf <<-END
	[volume vol0]
	device = $(space 1)
	area = $(space 2)
	fence = reservation
END
writers() ( # what they say is no part of the answer
	exec >&9 2>&9 8>&-
	rfsan "$(space 1)" $node vol0 10 $((3 - node)) &
)
. ./orders.sh
