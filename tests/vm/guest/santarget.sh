# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The storage of tests/vm/nodes and of the SAN labs (tests/vm/sanlab.sh): the kernel's iSCSI
# target on the disks of this machine (data, quorum, second: as many as there are), with a
# network to each path of each node. Port 3261 is a second target port (another portal
# group) of the data.
# With rf.memory the last disk holds what must survive a power loss; it is given back to
# the target at the start, as targetcli does.
# Runs until it is ended from outside; carries out what comes in on a third serial line, if
# there is one.
. ./lib.sh
IQN=iqn.2026-01.test.ringfence:san
INITIATORS="1 2 3 4" # iqn.2026-01.test.ringfence:nodeN
for m in virtio_pci virtio_blk virtio_net ext4 target_core_mod target_core_file iscsi_target_mod; do modprobe $m; done
mkdir -p /var/target /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
# what it thinks of each reservation command, in its kernel's log
echo 'file target_core_pr.c +p' >/sys/kernel/debug/dynamic_debug/control
until_true 5000 test -b /dev/vda || not_ok "no disks"
if grep -q rf.memory /proc/cmdline; then
	mount -t ext4 -o sync /dev/vdd /var/target || not_ok "no memory"
fi
mkdir -p /var/target/pr
/bin/ip link set lo up
n=0
while [ -e /sys/class/net/eth$n ]; do
	/bin/ip addr add 10.0.1$((n + 1)).15/24 dev eth$n
	/bin/ip link set eth$n up
	n=$((n + 1))
done

target=/sys/kernel/config/target
core=$target/core/fileio_0
tpg=$target/iscsi/$IQN/tpgt_

# remember DEVICE: registrations and reservation, one line each
remember() {
	[ -e "/var/target/pr/aptpl_ringfence-$1" ] || return
	tr '\n' ',' <"/var/target/pr/aptpl_ringfence-$1" | sed 's/,PR_REG_END: [0-9]*,/\n/g' |
		sed -n 's/^PR_REG_START: [0-9]*,//p' | while read -r line; do
		echo "$line" >$core/$1/pr/res_aptpl_metadata && echo "remembers $1: $line" || not_ok "forgets $1: $line"
	done
}
# Each initiator has an access entry: what is remembered of it holds from then on. Without
# (generate_node_acls) it would hold from its login on, and after a power loss who comes
# before the holder could write.
export_lun() { # GROUP LUN NAME
	mkdir -p $tpg$1/lun/lun_$2
	ln -s $core/$3 $tpg$1/lun/lun_$2/$3
	for i in $INITIATORS; do
		mkdir -p $tpg$1/acls/${IQN%:*}:node$i/lun_$2
		ln -s $tpg$1/lun/lun_$2 $tpg$1/acls/${IQN%:*}:node$i/lun_$2/$3
	done
}
withdraw() { # GROUP LUN NAME
	for i in $INITIATORS; do
		rm $tpg$1/acls/${IQN%:*}:node$i/lun_$2/$3
		rmdir $tpg$1/acls/${IQN%:*}:node$i/lun_$2
	done
	rm $tpg$1/lun/lun_$2/$3
	rmdir $tpg$1/lun/lun_$2
}
back() { # NAME DEVICE
	mkdir -p $core/$1
	echo "fd_dev_name=/dev/$2,fd_dev_size=$(($(cat /sys/block/$2/size) * 512))" >$core/$1/control
	echo "ringfence-$1" >$core/$1/wwn/vpd_unit_serial
	echo 1 >$core/$1/enable || not_ok "$1"
}
# forget NAME LUN: as by a restart without memory, but quickly.
forget() {
	for g in 1 2; do withdraw $g $2 $1; done
	rmdir $core/$1
	rm -f "/var/target/pr/aptpl_ringfence-$1"
	back "$1" vda
	for g in 1 2; do export_lun $g $2 $1; done
}
mkdir -p ${tpg}1 ${tpg}2
lun=0
for name in data:vda quorum:vdb second:vdc; do
	dev=${name#*:}
	name=${name%%:*}
	[ -b /dev/$dev ] || continue
	back $name $dev
	remember $name
	export_lun 1 $lun $name
	lun=$((lun + 1))
done
export_lun 2 0 data
for g in 1 2; do
	echo 0 >$tpg$g/attrib/authentication
	echo 0 >$tpg$g/attrib/generate_node_acls
	mkdir -p "$tpg$g/np/0.0.0.0:$((3259 + g))"
	echo 1 >$tpg$g/enable || not_ok "portal group $g"
done
orders=
for t in /sys/class/tty/ttyS*; do
	readlink -f $t/device | grep -q /pci && orders=/dev/${t##*/}
done
echo "san serves"
[ -n "$orders" ] || while :; do sleep 3600; done
stty -F "$orders" raw -echo
while read -r line; do eval "$line"; done <"$orders"
