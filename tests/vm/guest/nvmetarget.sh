# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The storage of tests/vm/nvme: the kernel's NVMe target over TCP, with reservations on the
# data. Runs until it is ended from outside.
. ./lib.sh
NQN=nqn.2026-01.test.ringfence:san
for m in virtio_pci virtio_blk virtio_net nvmet nvmet-tcp; do modprobe $m; done
mkdir -p /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
until_true 5000 test -b /dev/vdb || not_ok "no disks"
/bin/ip link set lo up
/bin/ip addr add 10.98.0.9/24 dev eth0
/bin/ip link set eth0 up

nvmet=/sys/kernel/config/nvmet
system=$nvmet/subsystems/$NQN
mkdir $system && echo 1 >$system/attr_allow_any_host
for disk in 1:/dev/vda 2:/dev/vdb; do
	space=$system/namespaces/${disk%%:*}
	mkdir $space
	echo -n "${disk#*:}" >$space/device_path
	[ "${disk%%:*}" = 2 ] || echo 1 >$space/resv_enable || not_ok "this kernel's target has no reservations"
	echo 1 >$space/enable || not_ok "namespace ${disk%%:*}"
done
port=$nvmet/ports/1
mkdir $port
echo tcp >$port/addr_trtype
echo ipv4 >$port/addr_adrfam
echo 10.98.0.9 >$port/addr_traddr
echo 4420 >$port/addr_trsvcid
ln -s $system $port/subsystems/$NQN && echo "san serves"
while :; do sleep 3600; done
