# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 1200
# The gate and dm-linear over the same RAM disk, in turn. Prints lines
# `run DEVICE DEPTH IOPS` and, where time counts instructions, `pace DEVICE N`.
. ./lib.sh
load_module
region format
own 5
rounds=$(sed -n 's/.*rf.rounds=\([0-9]*\).*/\1/p' /proc/cmdline)
echo "0 $SECTORS linear /dev/ram0 2048" | dmsetup create lin && dmsetup mknodes lin
make_gate 600000 60000 0
is "grant" ok "$(grant 5 590000)"
dd if=/dev/zero of=/dev/mapper/lin bs=1M count=64 oflag=direct 2>/dev/null # RAM disks get their pages by writing

if grep -q rf.instructions /proc/cmdline; then
	for i in 1 2 3; do
		for device in lin vol; do
			echo "pace $device $(rfvm pace /dev/mapper/$device 3000)"
		done
	done
	exit 0
fi
one_run() { # DEVICE DEPTH
	local engine=psync
	[ "$2" -gt 1 ] && engine=libaio
	iops=$(fio --name=b --filename="/dev/mapper/$1" --rw=randwrite --bs=4k --direct=1 --ioengine=$engine \
		--iodepth="$2" --size=64m --time_based --runtime=1 --randrepeat=1 --norandommap --minimal 2>/tmp/fio.err |
		cut -d';' -f49)
	echo "run $1 $2 ${iops:-0}"
}
i=0
while [ $i -lt "${rounds:-5}" ]; do
	i=$((i + 1))
	for depth in 1 32; do
		if [ $((i % 2)) = 1 ]; then
			one_run lin $depth
			one_run vol $depth
		else
			one_run vol $depth
			one_run lin $depth
		fi
	done
done
is "still open" open "$(field state)"
