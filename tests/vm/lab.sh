# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The laboratory of tests/lib/lab.sh in virtual machines: sourced at its end when
# LAB_WHERE=vm, it takes the place of whatever touches a node or a disk. Each node is a
# machine with a kernel of its own, the gate in it over an iSCSI LUN (tests/vm/nodes),
# and the writers write through the gate. The scripts do not know.
#
# The machines' clocks have nothing to do with each other: a mark (lab_mark) is the newest
# epoch that wrote by then, and the verdict comes from the log of the storage's medium.
#
# Besides: lab_crash NODE, lab_boot NODE, lab_freeze NODE, lab_thaw NODE.

. "$LAB_ROOT/tests/vm/machines.sh"

LAB_FENCE=gate
LAB_SCALE=4 # how much slower the timing is than the profile "fast"
LAB_TIMING=(--heartbeat 400ms --suspect 1500ms --lease 4s --grace 500ms --hold 800ms
	--isolation 2s --slot-timeout 4s --inflight 4s)
LAB_AREA=/dev/mapper/low
LAB_DATA=/dev/mapper/low
lab_blocks=64

# vm_ask NODE SECONDS SHELL-LINE: what it says, and how it ended. 124: no answer.
vm_ask() {
	local end=$((SECONDS + $2)) line rc=124 fd
	exec {fd}<>"/dev/tcp/127.0.0.1/$((RF_PORT + 10 + $1))" || return 124
	printf '%s\n' ". /test/nodelib.sh; $3" >&"$fd"
	while [ $SECONDS -lt $end ] && IFS= read -r -t $((end - SECONDS)) -u "$fd" line; do
		case $line in
		'rf-end '*)
			rc=${line#rf-end }
			break
			;;
		'') ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	exec {fd}>&-
	return "$rc"
} 2>/dev/null

in_node() {
	local i=$1
	shift
	vm_ask "$i" 60 "$(printf '%q ' "$@")"
}

tool() {
	local i=$1
	shift
	vm_ask "$i" 30 "timeout 25 ringfence --socket /tmp/node.sock $(printf '%q ' "$@")"
}

# ---- a fault lasts longer, as the lease does ----

lab_last() {
	sleep "$(awk -v s="$1" -v f=$LAB_SCALE 'BEGIN { print s * f }')"
}

# ---- machines ----

lab_boot() {
	local args=" -netdev socket,id=n,mcast=239.255.99.3:$RF_PORT,localaddr=127.0.0.1"
	args+=" -device virtio-net-pci,netdev=n,mac=52:54:00:00:02:0$1"
	args+=" -netdev user,id=c,restrict=on,net=10.0.9.0/24,hostfwd=tcp:127.0.0.1:$((RF_PORT + 10 + $1))-10.0.9.15:7000"
	args+=" -device virtio-net-pci,netdev=c"
	args+=" -device virtio-scsi-pci $(machine_lun "$1" disk 0)"
	args+=" -virtfs local,path=$LAB_VM/shared,mount_tag=lab,security_model=none,multidevs=remap"
	machine_boot "node$1" node 512 "rf.node=$1 rf.lab=$LAB_VM/shared" "$args"
}

lab_crash() {
	LAB_MARK=$(lab_mark)
	machine_kill "node$1"
	machine_end "node$1" || lab_fail "the kernel of node $1 had complained"
	unset "LAB_DAEMON[$1]" "LAB_WRITER[$1]"
}

lab_freeze() {
	machine_monitor "node$1" stop
}

lab_thaw() {
	machine_monitor "node$1" cont
}

vm_answers() {
	vm_ask "$1" 5 true
}

# A machine that is silent, or cannot be cleaned, is replaced; before that it goes on, if the
# script before left it frozen.
vm_ready() {
	lab_thaw "$1"
	wait_until 20 vm_answers "$1" && vm_ask "$1" 40 node_reset && return 0
	machine_end "node$1" || lab_fail "the kernel of node $1 had complained"
	lab_boot "$1"
	must 20 "machine of node $1 answers" vm_answers "$1"
	vm_ask "$1" 60 node_reset || lab_fail "machine of node $1 cannot be used"
}

# ---- nodes ----

lab_socket() {
	say /tmp/node.sock
}

lab_node() {
	[ -f "$LAB/node$1.conf" ] || lab_conf "$1" >"$LAB/node$1.conf"
	LAB_DAEMON[$1]=$(vm_ask "$1" 30 "node_daemon $LAB/node$1") || lab_fail "node $1 starts no daemon"
}

lab_signal() {
	lab_mark
	vm_ask "$2" 10 "kill -$1 ${LAB_DAEMON[$2]}" || lab_fail "no signal $1 to the daemon of node $2"
}

lab_daemon_lives() {
	vm_ask "$1" 10 "kill -0 ${LAB_DAEMON[$1]}"
}

lab_kill_node() {
	LAB_MARK=$(lab_signal KILL "$1")
	must 2 "the daemon of node $1 is gone" vm_ask "$1" 10 'test -s /tmp/daemon.end'
	unset "LAB_DAEMON[$1]"
}

lab_stop_node() {
	vm_ask "$1" 10 "kill -TERM ${LAB_DAEMON[$1]}"
	must 4 "the daemon of node $1 ends after TERM" vm_ask "$1" 10 'test -s /tmp/daemon.end'
	vm_ask "$1" 10 'test "$(cat /tmp/daemon.end)" = 0' || lab_fail "the daemon of node $1 left with an error"
	unset "LAB_DAEMON[$1]"
}

lab_leads() {
	vm_ask "$1" 8 "timeout 5 ringfence --socket /tmp/node.sock is-leader $LAB_VOLUME" >/dev/null
}

# The epoch that it leads in.
lab_epoch() {
	tool "$1" --json leader "$LAB_VOLUME" | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p' | head -n 1
}

lab_lost() {
	vm_ask "$1" 8 "timeout 5 ringfence --socket /tmp/node.sock is-leader $LAB_VOLUME" >/dev/null
	[ $? -eq 1 ]
}

# ---- disks ----

lab_path() {
	:
}

lab_path_stall() {
	vm_ask "$1" 20 'dmsetup suspend --noflush --nolockfs low' || lab_fail "node $1: suspend"
}

lab_path_go() {
	vm_ask "$1" 20 'dmsetup resume low' || lab_fail "node $1: resume"
}

lab_path_back() {
	vm_ask "$1" 20 'node_no_reads && node_good' || lab_fail "node $1: the path comes back"
}

lab_path_fail() {
	vm_ask "$1" 20 "node_no_${2}s" || lab_fail "node $1: no ${2}s"
}

lab_path_mend() {
	vm_ask "$1" 20 node_good || lab_fail "node $1: mend"
}

lab_target() {
	:
}

# ---- writers and the verdict ----

lab_writer() {
	local i=$1
	shift
	vm_ask "$i" 20 "node_writer $LAB/write$i --blocks $lab_blocks --pause-us 5000 $*" || lab_fail "writer of node $i"
	LAB_WRITER[$i]=1
}

lab_end_writers() {
	local i
	for i in "${!LAB_WRITER[@]}"; do
		vm_ask "$i" 20 'node_signal TERM rf-writer'
		must 4 "the writer of node $i ends" vm_ask "$i" 10 '! pidof rf-writer'
	done
	LAB_WRITER=()
}

lab_mark() {
	echo "$("$LAB_BIN/rf-gap" --newest "$LAB"/write[0-9]*.log):${EPOCHREALTIME//[!0-9]/}"
}

lab_gap() {
	local after
	after=$("$LAB_BIN/rf-gap" --newer "${1%:*}" "$LAB"/write[0-9]*.log) || return 1
	echo "$after about_ms=$(((${EPOCHREALTIME//[!0-9]/} - ${1#*:}) / 1000))"
}

# lab_verdict [OPTIONS]: false if disk, logs and medium do not agree. LAB_COUNTS says why.
lab_verdict() {
	local rc
	machine_monitor target stop # whatever is on its way is in the log then
	LAB_COUNTS=$("$LAB_BIN/rf-check" --device "$LAB_VM/disk" --offset "$LAB_OFFSET" \
		--blocks $lab_blocks --medium "$LAB_VM/medium" --mark "$LAB " "$@" "$LAB"/write[0-9]*.log 2>&1)
	rc=$?
	machine_monitor target cont
	return $rc
}

# lab_only_of NODE EPOCH: whatever is wrong on the medium is of that epoch, which was over,
# and was never reported as refused.
lab_only_of() {
	local wrong
	lab_verdict
	[ "$(lab_count acknowledged)" -gt 0 ] 2>/dev/null || lab_fail "no verdict: $LAB_COUNTS"
	wrong=$(grep -E '^[a-z]+: ' <<<"$LAB_COUNTS" |
		grep -Ev "^stale: node=$1 epoch=$2 |^lost: offset.* epoch=$2 seq=[0-9]* stands there")
	[ -z "$wrong" ] || lab_fail "more than the limit: $wrong"
}

lab_check() {
	lab_end_writers
	lab_verdict "$@" || lab_fail "stamps, logs and the medium: $LAB_COUNTS"
	say "$LAB_COUNTS"
}

# ---- the whole ----

lab_clean() {
	local rc=$?
	[ "$BASHPID" = $$ ] || exit $rc
	trap '' INT TERM HUP
	trap - EXIT
	if [ $rc -eq 0 ] && [ -z "${LAB_KEEP:-}" ]; then
		rm -rf "$LAB"
	else
		say "logs: $LAB"
	fi
	exit $rc
}

lab_begin() {
	local i
	LAB_N=$1
	shift
	LAB=$(mktemp -d "$LAB_VM/shared/$LAB_NAME.XXXXXX")
	trap lab_clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	machine_monitor target cont # a script that failed may have left it stopped
	for ((i = 1; i <= LAB_MACHINES; i++)); do
		machine_runs "node$i" || lab_boot $i
	done
	for ((i = 1; i <= LAB_MACHINES; i++)); do
		vm_ready $i
	done
	"$LAB_BIN/ringfence" keygen "$LAB/key" >/dev/null 2>&1 || lab_fail "keygen"
	vm_ask 1 60 "node_wipe '$LAB '" || lab_fail "the disk cannot be wiped"
	vm_ask 1 60 "ringfence --json format --cluster lab --nodes $LAB_N --yes ${LAB_TIMING[*]} \
		--volume $LAB_VOLUME $* $LAB_AREA >$LAB/format.json 2>$LAB/format.log" ||
		lab_fail "format: $(cat "$LAB/format.log")"
	LAB_OFFSET=$(sed -n 's/.*"data_offset_bytes": \([0-9]*\).*/\1/p' "$LAB/format.json")
}
