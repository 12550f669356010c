# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# What tests/vm/lab.sh asks a node to do.
DISK=/dev/sda
size() { blockdev --getsz $DISK; }

# node_table TABLE: the disk below the daemon and the gate becomes that.
node_table() {
	if dmsetup info low >/dev/null 2>&1; then
		echo "$1" | dmsetup load low && dmsetup suspend --noflush --nolockfs low && dmsetup resume low
	else
		echo "$1" | dmsetup create low && dmsetup mknodes low
	fi
}
node_good() { node_table "0 $(size) linear $DISK 0"; }
node_no_writes() { node_table "0 $(size) flakey $DISK 0 0 3600 1 error_writes"; }
node_no_reads() { node_table "0 $(size) error"; }

# node_signal SIGNAL PROGRAM...
node_signal() {
	local signal=$1 pids
	shift
	pids=$(pidof "$@") || return 0
	# shellcheck disable=SC2086 # words
	kill -$signal $pids
}
none_left() { ! pidof rf-writer ringfenced ringfence-fencer >/dev/null; }

# Nothing of the script before is left.
node_reset() {
	dmsetup resume low 2>/dev/null
	node_signal CONT rf-writer ringfenced ringfence-fencer
	node_signal KILL rf-writer ringfenced ringfence-fencer
	nft flush ruleset
	rm -f /tmp/daemon.*
	node_good || return 1
	. /test/lib.sh
	until_true 20000 none_left || return 1
	umount /mnt 2>/dev/null
	[ ! -e /dev/mapper/vol0 ] || dmsetup remove --retry vol0
}

# node_wipe TEXT: the head of the disk is empty, its last block a mark in the medium's log.
node_wipe() {
	dd if=/dev/zero of=/dev/mapper/low bs=1M count=3 oflag=direct 2>/dev/null &&
		printf '%-4096s' "$1" >/tmp/mark &&
		dd if=/tmp/mark of=/dev/mapper/low bs=4096 seek=$(($(size) / 8 - 1)) oflag=direct 2>/dev/null
}

# node_daemon PATH: PATH.conf and PATH.log; prints its pid. How it ends: /tmp/daemon.end.
node_daemon() {
	rm -f /tmp/daemon.*
	(
		sh -c 'echo $$ >/tmp/daemon.pid; exec ringfenced --config "$1.conf" --socket /tmp/node.sock' sh "$1" >>"$1.log" 2>&1
		echo $? >/tmp/daemon.end
	) </dev/null >/dev/null 2>&1 &
	while [ ! -s /tmp/daemon.pid ]; do usleep 10000; done
	cat /tmp/daemon.pid
}

# node_writer LOG OPTIONS
node_writer() {
	local log=$1
	shift
	rf-writer --socket /tmp/node.sock --volume vol0 --to /dev/mapper/vol0 --log "$log.log" "$@" \
		</dev/null >/dev/null 2>>"$log.err" &
}

# node_files LOG: files with fsync on /mnt until that fails; LOG has those that are safe.
node_files() {
	(
		n=0
		while n=$((n + 1)); do
			dd if=/dev/urandom of=/mnt/f$n bs=4096 count=1 conv=fsync 2>/dev/null || break
			echo "f$n $(md5sum </mnt/f$n)" >>"$1"
		done
		echo >"$1.end"
	) </dev/null >/dev/null 2>&1 &
}
# All of them are there.
node_files_good() {
	while read -r name sum; do
		[ "$(md5sum </mnt/$name)" = "$sum" ] || { echo "/mnt/$name is not what was synced"; return 1; }
	done <"$1"
}
