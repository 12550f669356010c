# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The storage of tests/vm/san and tests/vm/nodes: the kernel's iSCSI target on the disks
# of this machine (data, and maybe quorum), with a network of its own to each node. Runs
# until it is ended from outside.
. ./lib.sh
IQN=iqn.2026-01.test.ringfence:san
modprobe virtio_pci
modprobe virtio_blk
modprobe virtio_net
modprobe target_core_mod
modprobe target_core_file
modprobe iscsi_target_mod
mkdir -p /var/target/pr /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
until_true 5000 test -b /dev/vda || not_ok "no disks"
/bin/ip link set lo up
n=0
while [ -e /sys/class/net/eth$n ]; do
	/bin/ip addr add 10.0.1$((n + 1)).15/24 dev eth$n
	/bin/ip link set eth$n up
	n=$((n + 1))
done

target=/sys/kernel/config/target
core=$target/core/fileio_0
tpg=$target/iscsi/$IQN/tpgt_1
mkdir -p $tpg
lun=0
for disk in data:/dev/vda quorum:/dev/vdb; do
	name=${disk%%:*}
	dev=${disk#*:}
	[ -b $dev ] || continue
	bytes=$(($(cat /sys/block/${dev#/dev/}/size) * 512))
	mkdir -p $core/$name
	echo "fd_dev_name=$dev,fd_dev_size=$bytes" >$core/$name/control
	echo "ringfence-$name" >$core/$name/wwn/vpd_unit_serial
	echo 1 >$core/$name/enable || not_ok "$name"
	mkdir -p $tpg/lun/lun_$lun
	ln -s $core/$name $tpg/lun/lun_$lun/$name
	lun=$((lun + 1))
done
for word in authentication=0 generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1; do
	echo "${word#*=}" >$tpg/attrib/${word%%=*}
done
mkdir -p "$tpg/np/0.0.0.0:3260"
echo 1 >$tpg/enable && echo "san serves"
while :; do sleep 3600; done
