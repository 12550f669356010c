# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # series, build are of who sources this
# A storage network in one machine: the kernel's iSCSI target in a VM, two nodes in VMs
# that attach to it with initiators of their own, and a second target (tgtd, which lacks
# PREEMPT AND ABORT) on loopback. Sourced by tests/vm/san and tests/vm/san-torture.
#
#   lab_prepare         disks, area, image (TIMING, VOLUMES, SECOND, LAB, HOST, MODULE are set before)
#   boot_target, boot_node N, end_vm NAME, monitor NAME COMMAND
#   on N COMMAND        has it run in the machine of node N, and what it said in $SAID
#   check NAME SECONDS COMMAND…   waits until it holds

iqn=iqn.2026-01.test.ringfence:san
iqn2=iqn.2026-01.test.ringfence:plain
declare -A job vm
MEMORY=rf.memory # the target keeps reservations over a loss of power; that costs a disk write a command
SLOW=${RF_SAN_SLOW:-2} # all that is counted in time, here and on the nodes: emulation is slow
export RF_VM_NICE=${RF_VM_NICE:-0}
HOST=sanhost # what runs on the nodes
LAB=san      # a directory of its own, for an image of its own
VOLUMES=(--volume vol0 --volume vol2)
failed=0
asked=0
export PATH=$PATH:/usr/sbin:/sbin

# The timings of an area, times SLOW.
lab_timing() {
	local word value
	TIMING=()
	for word in heartbeat=250 suspect=1000 lease=3000 grace=500 hold=400 isolation=1500 slot-timeout=3000 inflight=3000; do
		value=${word#*=}
		TIMING+=("--${word%=*}" "$((value * SLOW))ms")
	done
}

# A small image of its own: three machines unpack it.
lab_prepare() {
	local f home=${RF_VM_DIR:-$PWD/build/vm} module=${MODULE:-${RF_MODULE_DIR:-$PWD/build/module}/$series/dm-ringfence.ko}
	command -v qemu-system-x86_64 >/dev/null || { echo "san: qemu-system-x86 is not installed"; exit 77; }
	[ -e "$home/$series/vmlinuz" ] || { echo "san: no kernel of series $series: run tests/vm/fetch $series"; exit 77; }
	[ -e "$module" ] || fence/dm/make-module "$series" "$home/$series/headers" RF_SELFTEST=1 >/dev/null || exit 1
	export RF_VM_DIR=$home/$LAB
	export RF_VM_MODULES=${RF_VM_MODULES:-"crc32c_generic libcrc32c virtio_blk virtio_pci virtio_net virtio_scsi sd_mod dm-mod
		dm-multipath dm-round-robin ext4 target_core_mod target_core_file iscsi_target_mod"}
	export RF_VM_TOOLS="ip dmsetup blockdev"
	log=$RF_VM_DIR/log
	mkdir -p "$log" "$RF_VM_DIR/$series"
	for f in vmlinuz modules release; do ln -sfn "$(readlink -f "$home/$series/$f")" "$RF_VM_DIR/$series/$f"; done
	work=$(mktemp -d "$RF_VM_DIR/san.XXXXXX")
	mkfifo "$work/idle"
	exec {idle}<>"$work/idle" # nobody writes there
	port=$((20000 + $$ % 20000))
	truncate -s 64M "$work/data"
	truncate -s 32M "$work/quorum"
	truncate -s 48M "$work/second"
	truncate -s 40M "$work/plain"
	truncate -s 16M "$work/var"
	mkfs.ext4 -q "$work/var" || exit 1
	[ -z "${SECOND:-}" ] || { start_tgtd && VOLUMES+=(--volume vol1); }
	"$build/bin/ringfence" keygen "$work/key" 2>/dev/null || exit 1
	"$build/bin/ringfence" format --cluster san --nodes 2 --quorum survivors "${VOLUMES[@]}" --yes "${TIMING[@]}" \
		"$work/quorum" >"$work/format.log" 2>&1 || { cat "$work/format.log"; exit 1; }
	RF_VM_FILES=$work/key RF_VM_PROGRAMS="$build/bin/ringfenced $build/bin/ringfence $build/bin/ringfence-fencer" \
		tests/vm/initramfs "$series" "$module" "$build/vm-bin" || exit 1
}

# ---- the target without abort ----

start_tgtd() {
	local i
	command -v tgtd >/dev/null || { SECOND=; return 1; }
	control=$((10000 + $$ % 20000))
	tgtd -f -C $control --iscsi portal=127.0.0.1:$((port + 9)) >"$log/$series-tgtd.log" 2>&1 &
	tgtd=$!
	disown
	for i in {1..100}; do
		tgtadm -C $control --lld iscsi --op new --mode target --tid 1 -T $iqn2 2>/dev/null && break
		pause 0.1
	done
	tgtadm -C $control --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b "$work/plain" &&
		tgtadm -C $control --lld iscsi --op bind --mode target --tid 1 -I ALL && return 0
	SECOND=
	return 1
}

# ---- ending ----

# Of a machine and its kernel; a boot under the same name deletes what they said.
machine_good() { # NAME
	local of=$log/$series-${vm[$1]}-$1
	tests/vm/scan "$of.kernel" || failed=1
	if tr -d '\r' <"$of.out" | grep '^not ok' | sed "s/^not ok/&, in machine $1:/"; then failed=1; fi
}
end_vm() { # NAME
	unplug "$1" && machine_good "$1"
}
unplug() { # NAME
	[ -n "${job[$1]:-}" ] || return
	kill -9 "$(cat "$log/$series-${vm[$1]}-$1.pid")" 2>/dev/null
	kill "${job[$1]}" 2>/dev/null
	wait "${job[$1]}" 2>/dev/null
	unset "job[$1]"
}
clean() {
	local n
	for n in "${!job[@]}"; do unplug "$n"; done
	[ -n "${tgtd:-}" ] && kill -9 "$tgtd" 2>/dev/null
	[ -n "${work:-}" ] && rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

pause() { read -r -t "$1" -u "$idle" _; }

# ---- machines ----

fifo() { # NAME: both ends held open, so that neither waits for the other
	rm -f "$work/$1.in" "$work/$1.out"
	mkfifo "$work/$1.in" "$work/$1.out"
	exec {fd}<>"$work/$1.in"
	exec {fd}<>"$work/$1.out"
}
boot() { # NAME SCRIPT MEGABYTES APPEND ARGS
	local cpus=1
	# Linux's target waits in a loop for who still looks at a registration that it takes
	# away: on one CPU that one never comes to an end (seen with 6.1: a soft lockup).
	[ "$2" = santarget ] && cpus=2
	vm[$1]=$2
	fifo "m$1"
	: >"$log/$series-$2-$1.out"
	RF_VM_NAME=$1 RF_VM_CPUS=$cpus RF_VM_MB=$3 RF_VM_APPEND="no_timer_check $4" RF_VM_MONITOR="pipe:$work/m$1" RF_VM_ARGS=$5 \
		tests/vm/boot "$series" "$2" 36000 >/dev/null 2>&1 &
	job[$1]=$!
}
monitor() { echo "$2" >"$work/m$1.in"; }

boot_target() {
	local args="" n d
	for d in data quorum second var; do args+=" -drive file=$work/$d,format=raw,if=virtio"; done
	for n in 1 2 3 4; do # two for each node
		args+=" -netdev user,id=n$n,restrict=on,net=10.0.1$n.0/24,hostfwd=tcp:127.0.0.1:$((port + n))-10.0.1$n.15:$((3260 + (n - 1) / 2))"
		args+=" -device virtio-net-pci,netdev=n$n,id=nic$n,addr=0x1$n"
	done
	fifo ctarget
	boot target santarget 384 "$MEMORY" "$args -chardev pipe,id=c,path=$work/ctarget -device pci-serial,chardev=c"
}
on_target() { echo "$1" >"$work/ctarget.in"; } # COMMAND of tests/vm/guest/santarget.sh
serves() { grep -qs 'san serves' "$log/$series-santarget-target.out"; }
# The networks of a node to the storage, one for each path.
link() { # NODE on|off
	monitor target "set_link nic$1 $2"
	monitor target "set_link nic$(($1 + 2)) $2"
}

disk() { # NODE ID PORT IQN LUN SCSI_TARGET
	echo "-blockdev driver=iscsi,node-name=$2,transport=tcp,portal=127.0.0.1:$3,target=$4,lun=$5,initiator-name=iqn.2026-01.test.ringfence:node$1 -device scsi-block,drive=$2,share-rw=on,scsi-id=$6"
}
boot_node() { # NODE
	local args a=$((port + $1)) b=$((port + $1 + 2))
	fifo "c$1"
	args="-device virtio-scsi-pci $(disk "$1" data $a $iqn 0 0) $(disk "$1" quorum $a $iqn 1 1) $(disk "$1" second $a $iqn 2 2) $(disk "$1" datab $b $iqn 0 3)"
	[ -z "${SECOND:-}" ] || args+=" $(disk "$1" plain $((port + 9)) $iqn2 1 4)"
	args+=" -netdev socket,id=n,mcast=239.255.99.2:$port,localaddr=127.0.0.1 -device virtio-net-pci,netdev=n,id=nic,mac=52:54:00:00:01:0$1"
	args+=" -chardev pipe,id=c,path=$work/c$1 -device pci-serial,chardev=c"
	boot "$1" $HOST 320 "rf.node=$1 ${SECOND:+rf.plain}" "$args"
}
listens() { told "$1" "node $1 listens"; }
# What multicast carries, both ways.
net() { monitor "$1" "set_link nic $2"; } # NODE on|off

# Has the machine of a node do something; $SAID is what that said.
did() { told "$1" "^did $asked "; }
on() { # NODE COMMAND
	asked=$((asked + 1))
	echo "$asked $2" >"$work/c$1.in"
	wait_until 120 did "$1" || { SAID="no answer"; return 99; }
	SAID=$(said "$1" | sed -n "s/^$asked: //p")
	return "$(said "$1" | sed -n "s/^did $asked //p")"
}

# ---- what the machines say ----

said() { tr -d '\r' 2>/dev/null <"$log/$series-$HOST-$1.out"; }
# To the end: a grep that stops early would break the pipe, which counts as a failure.
told() { [ "$(said "$1" | grep -c -- "$2")" -gt 0 ]; } # NODE REGEX
# The last of what a node's writer said, of which there is much:
# accepted|refused ACCEPTED REFUSED LAST_SEQ STALE LOST JUDGED
writer() { tail -c 8192 "$log/$series-$HOST-$1.out" 2>/dev/null | tr -d '\r' | sed -n "s/^write ${2:-vol0} \([a-z]*\( [0-9]*\)\{6\}\)\$/\1/p" | tail -n 1; }
writes() { [[ $(writer "$1" "${2:-vol0}") = accepted* ]]; }
is_refused() { [[ $(writer "$1" "${2:-vol0}") = refused* ]]; }
count() { local n; n=$(writer "$2" "${3:-vol0}" | cut -d' ' -f"$1"); echo "${n:-0}"; }
accepted() { count 2 "$@"; }
refused() { count 3 "$@"; }
more_refused() { [ "$(refused "$1" "${3:-vol0}")" -gt "$2" ]; }
more_accepted() { [ "$(accepted "$1" "${3:-vol0}")" -gt "$2" ]; }
goes_on() { more_accepted "$1" "$before" "${2:-vol0}"; }
other_of() { echo $((3 - $1)); }

# Who writes to a volume, of two that try: one.
who() { # VOLUME
	if writes 1 "$1" && is_refused 2 "$1"; then echo 1; elif writes 2 "$1" && is_refused 1 "$1"; then echo 2; fi
}
# Exactly one node writes, and it is its daemon's doing, not that of a target that nobody
# has reserved yet. Sets leader and other.
one_writes() { # [VOLUME]
	leader=$(who "${1:-vol0}")
	[ -n "$leader" ] || return 1
	other=$((3 - leader))
	told "$leader" "reservation epoch=.*reserved on"
}
region() { # VOLUME NODE: what its writer has on the target
	local file=data
	[ "$1" = vol1 ] && file=plain
	[ "$1" = vol2 ] && file=second
	dd if="$work/$file" bs=1M skip="$2" count=1 status=none | cksum
}
wait_until() { # SECONDS COMMAND...
	local end=$((SECONDS + $1 * SLOW))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		pause 0.05
	done
	return 0
}
# How long a fault goes on; nothing is waited for by this.
lasts() { pause $(($1 * SLOW)); }
fail() { # NAME [WHY]
	local n
	echo "not ok $1${2:+: $2}"
	for n in 1 2; do
		echo "    node $n:"
		said $n 2>/dev/null | grep -v '^write' | tail -n 8 | sed 's/^/    /'
		said $n 2>/dev/null | grep '^write' | tail -n 3 | sed 's/^/    /'
	done
	failed=1
}
check() { # NAME SECONDS COMMAND...
	local name=$1 begin=$SECONDS
	shift
	if wait_until "$@"; then
		echo "ok $name ($((SECONDS - begin)) s)"
	else
		fail "$name"
		return 1
	fi
}
# What the writers of a node have judged since judge_anew: while nobody has reserved
# anything, everybody may write.
declare -A judged
judge_anew() {
	local n v
	for n in 1 2; do
		for v in vol0 vol1 vol2; do judged[$n$v]=$(count 5 $n $v); done
	done
}
judge_from_start() { # NODE, whose writers are new
	local v
	for v in vol0 vol1 vol2; do judged[$1$v]=0; done
}
stale_of() { # NODE VOLUME
	local n
	n=$(count 5 "$1" "$2")
	echo $((n - ${judged[$1$2]:-0}))
}

# What the last takeover of a node cost, by its fencer.
cost() { said "$1" | sed -n 's/.*reservation epoch=\([0-9]*\) ms=\([0-9]*\): .*commands=\([0-9]*\).*/commands=\3 ms=\2 epoch=\1/p' | tail -n 1; }

start_nodes() {
	local n
	for n in 1 2; do on $n "begin; writers" || fail "node $n begins" "$SAID"; done
}
boot_all() {
	boot_target
	check "target serves" 150 serves || exit 1
	boot_node 1
	boot_node 2
	check "node 1 has its disks" 150 listens 1 || exit 1
	check "node 2 has its disks" 150 listens 2 || exit 1
}
machines_good() {
	local n
	for n in "${!job[@]}"; do machine_good "$n"; done
}
