# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# A node of tests/vm/nodes: its disk is an iSCSI LUN, below a dm-linear that can be
# broken; the laboratory's directory is at the place where it is outside. Does what is
# asked at port 7000, until the machine is ended from outside.
. ./lib.sh
load_module
word() { sed -n "s/.*rf.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
node=$(word node)
lab=$(word lab)
for m in virtio_pci virtio_net virtio_scsi sd_mod 9pnet_virtio 9p nf_tables nft_numgen dm-flakey; do modprobe $m; done
mkdir -p /run /var/run "$lab"
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=65536 lab "$lab" || not_ok "no $lab"
/bin/ip link set lo up
/bin/ip addr add 10.99.0.$node/24 dev eth0
/bin/ip link set eth0 up
/bin/ip addr add 10.0.9.15/24 dev eth1
/bin/ip link set eth1 up
until_true 30000 test -b /dev/sda || not_ok "no disk"
echo "node serves"
exec nc -ll -p 7000 -e sh /test/agent.sh
