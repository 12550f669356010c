# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 900
# ext4 and XFS on a gate whose epoch ends while they write: they must stop for
# good, and what fsync acknowledged before must be there for the next leader.
. ./lib.sh
load_module
SECTORS=655360 # XFS wants 300 MiB

# Writes files with fsync as fast as it can until that fails; the log of names that
# were acknowledged is not on the gate. Each has its own content: zeros would also be
# read where a block was lost.
acknowledge() {
	local n=0
	while [ $n -lt 4000 ]; do
		n=$((n + 1))
		dd if=/dev/urandom of=/tmp/content bs=4096 count=1 2>/dev/null
		dd if=/tmp/content of=/mnt/f$n bs=4096 count=1 conv=fsync 2>/dev/null || break
		echo "f$n $(md5sum </tmp/content)" >>/tmp/acknowledged
		[ -e /tmp/stop ] && break
	done
	: >/tmp/writer.done
}

failover() { # FS MKFS CHECK END...
	local fs=$1 mkfs=$2 check=$3 epoch
	shift 3
	modprobe $fs
	rm -f /tmp/writer.done /tmp/stop
	: >/tmp/acknowledged
	region format
	own 5
	make_gate 3000 200 300
	is "$fs: grant" ok "$(grant 5 2900)"
	renew_on 5 2900
	$mkfs $DEV >/tmp/mkfs 2>&1 || { not_ok "$fs: mkfs"; cat /tmp/mkfs; }
	mount -t $fs $DEV /mnt || not_ok "$fs: mount"
	acknowledge &
	until_true 60000 sh -c '[ "$(grep -c . /tmp/acknowledged 2>/dev/null)" -ge 20 ]' || not_ok "$fs: writes"
	"$@"
	until_true 60000 test -e /tmp/writer.done && ok "$fs: its writer was stopped ($(grep -c . /tmp/acknowledged) files acknowledged)" || not_ok "$fs: its writer was not stopped"
	renew_off
	is "$fs: refused for good" "Cannot send after transport endpoint shutdown" "$(grant 5 1000 | sed 's/Stale file handle/Cannot send after transport endpoint shutdown/')"
	touch /mnt/late 2>/dev/null && sync && dd if=/dev/zero of=/mnt/late bs=4096 count=1 conv=fsync 2>/dev/null && not_ok "$fs: still writes"
	umount /mnt 2>/dev/null || umount -l /mnt
	drop_gate
	# the next leader
	own 7 1
	own 8
	make_gate 3000 200 300
	is "$fs: next epoch" ok "$(grant 8 2900)"
	renew_on 8 2900
	mount -t $fs $DEV /mnt && ok "$fs: mounts after the failover" || not_ok "$fs: mounts after the failover"
	lost=0
	while read -r name sum; do
		[ "$(md5sum <"/mnt/$name" 2>/dev/null)" = "$sum" ] || lost=$((lost + 1))
	done </tmp/acknowledged
	is "$fs: no acknowledged file is lost" 0 $lost
	umount /mnt
	$check $DEV >/tmp/fsck 2>&1 && ok "$fs: check is clean" || { not_ok "$fs: check"; tail -n 5 /tmp/fsck; }
	renew_off
	drop_gate
}

supersede() { region ballot 1 6 257; }
revoke_it() { msg revoke >/dev/null; }
let_expire() { renew_off; }

if command -v mkfs.ext4 >/dev/null; then
	failover ext4 "mkfs.ext4 -q -F" "e2fsck -fn" supersede
	failover ext4 "mkfs.ext4 -q -F" "e2fsck -fn" let_expire
else
	skip "ext4: no mkfs.ext4"
fi
if command -v mkfs.xfs >/dev/null; then
	failover xfs "mkfs.xfs -q -f" "xfs_repair -n" supersede
	failover xfs "mkfs.xfs -q -f" "xfs_repair -n" revoke_it
else
	skip "xfs: no mkfs.xfs"
fi
unload_module
