# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Several test machines at once, for scripts that source this file. What is known of a
# machine lies in files of $RF_MACHINES, so that who ends it need not be who booted it.
# RF_VM_DIR and RF_SERIES say what it boots (see boot).

RF_MACHINE_LOG=$RF_VM_DIR/log

# machine_boot NAME SCRIPT MEGABYTES APPEND QEMU-ARGUMENTS
machine_boot() {
	local of=$RF_MACHINES/$1
	rm -f "$of".*
	echo "$RF_MACHINE_LOG/$RF_SERIES-$2-$1" >"$of.log"
	rm -f "$(cat "$of.log").pid"
	: >"$(cat "$of.log").out"
	mkfifo "$of.in" "$of.out"
	RF_VM_NAME=$1 RF_VM_CPUS=1 RF_VM_MB=$3 RF_VM_APPEND="${RF_VM_APPEND:-} $4" RF_VM_ARGS=$5 \
		RF_VM_MONITOR="pipe:$of" tests/vm/boot "$RF_SERIES" "$2" 7200 >/dev/null 2>&1 &
	echo $! >"$of.job"
	# until there is something to ask machine_runs about
	until [ -s "$(machine_log "$1" pid)" ] || ! kill -0 "$(cat "$of.job")" 2>/dev/null; do
		read -r -t 0.05 _ <> <(:)
	done
}

# What it said, and its kernel.
machine_log() {
	echo "$(cat "$RF_MACHINES/$1.log").$2"
}

machine_runs() {
	[ -e "$RF_MACHINES/$1.log" ] && kill -0 "$(cat "$(machine_log "$1" pid)")" 2>/dev/null
}

# As by pulling its plug.
machine_kill() {
	kill -9 "$(cat "$(machine_log "$1" pid)")" 2>/dev/null
	until ! machine_runs "$1"; do
		read -r -t 0.05 _ <> <(:)
	done
}

# machine_end NAME: false if it, or its kernel, had complained.
machine_end() {
	local of=$RF_MACHINES/$1 job rc=0
	[ -e "$of.job" ] || return 0
	machine_runs "$1" && machine_kill "$1"
	job=$(cat "$of.job")
	kill "$job" 2>/dev/null
	wait "$job" 2>/dev/null
	rm -f "$of.job"
	grep -s '^not ok' "$(machine_log "$1" out)" && rc=1
	tests/vm/scan "$(machine_log "$1" kernel)" || rc=1
	return $rc
}

machines_end() {
	local f failed=0
	for f in "$RF_MACHINES"/*.job; do
		[ -e "$f" ] || continue
		machine_end "$(basename "$f" .job)" || failed=1
	done
	return $failed
}

# A command for the emulator: stop, cont, set_link …
machine_monitor() {
	machine_runs "$1" && echo "$2" >"$RF_MACHINES/$1.in"
}

# machine_says NAME TEXT
machine_says() {
	grep -qs "$2" "$(machine_log "$1" out)"
}

# machine_target NODES QEMU-DISK-ARGUMENTS: the storage, each node reaching it by a network
# of its own (nicN), at port $RF_PORT+N of this machine.
machine_target() {
	local args=$2 n
	for ((n = 1; n <= $1; n++)); do
		args+=" -netdev user,id=n$n,restrict=on,net=10.0.1$n.0/24,hostfwd=tcp:127.0.0.1:$((RF_PORT + n))-10.0.1$n.15:3260"
		args+=" -device virtio-net-pci,netdev=n$n,id=nic$n,addr=0x1$n"
	done
	machine_boot target santarget 384 "" "$args"
}

# machine_lun NODE ID LUN: arguments for a disk of the target, by an initiator of the node's own.
machine_lun() {
	echo "-blockdev driver=iscsi,node-name=$2,transport=tcp,portal=127.0.0.1:$((RF_PORT + $1)),target=$RF_IQN,lun=$3,initiator-name=iqn.2026-01.test.ringfence:node$1 -device scsi-block,drive=$2,share-rw=on"
}

RF_IQN=iqn.2026-01.test.ringfence:san
