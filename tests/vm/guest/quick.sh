# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 900
# What `make check` runs of the lab: one boot for all, each script on fresh disks.
began() { read -r up _ </proc/uptime && echo "# $1 began after ${up%.*} s"; }
fresh_disks() {
	rmmod brd && modprobe brd rd_nr=5 rd_size=524288 max_part=0 || echo "not ok the RAM disks are still in use after $1"
}

for script in basics hold driver attach; do
	began $script
	sh ./$script.sh
	fresh_disks $script
done
began cluster
FAULTS="kill stop" sh ./cluster.sh
