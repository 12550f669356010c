# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A cluster in one machine, for scripts that source this file:
#
#   . "$(dirname "$0")/../lib/lab.sh"
#   lab_begin 3               # namespaces, bridge, key, loop device, area
#   lab_target                # nbdkit with the plugin, on a Unix socket
#   lab_nodes 1 2 3           # daemons
#   wait_until 5 lab_led      # poll a condition, with a limit
#
# Nodes are 1..N. Everything that was made is ended by pid or name when the
# script ends, however it ends. A machine that cannot do it: exit 77.
#
# Environment: LAB_KEEP=1 keeps the directory (logs) of a test that passed. LAB_WHERE=vm:
# in virtual machines (tests/vm/nodes), for scripts that touch nodes and disks only by
# the functions of this file.

set -u

LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB_BUILD=${RF_BUILD:-$LAB_ROOT/build}
LAB_NAME=${LAB_NAME:-$(basename "$0" .sh)}
LAB_BIN=$LAB_BUILD/bin
LAB_VOLUME=vol0
LAB_TAG=rf$$
LAB_PIDS=()
LAB_NETNS=()
LAB_LOOPS=()
LAB_MOUNTS=()
declare -A LAB_DAEMON LAB_WRITER LAB_PATH_DEV LAB_PATH_PID

export PATH=$PATH:/usr/sbin:/sbin

# ---- words ----

say() {
	printf '%s\n' "$*"
}

lab_skip() {
	say "$*"
	exit 77
}

# The test's verdict is no: says why, and what the daemons said last.
lab_fail() {
	local i
	say "FAIL: $*"
	for i in "${!LAB_DAEMON[@]}"; do
		say "--- node $i"
		tail -n 12 "$LAB/node$i.log" 2>/dev/null
	done
	[ -f "$LAB/target.log" ] && say "--- target" && tail -n 8 "$LAB/target.log"
	exit 1
}

# wait_until SECONDS COMMAND...: true as soon as COMMAND is.
wait_until() {
	local limit=$1 end
	shift
	end=$((${EPOCHREALTIME//[!0-9]/} + limit * ${RF_LIMIT_FACTOR:-1} * 1000000))
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME//[!0-9]/}" -lt $end ] || return 1
		sleep 0.02
	done
}

# must SECONDS WORDS COMMAND...: wait_until, or the test fails with WORDS.
must() {
	local limit=$1 words=$2
	shift 2
	wait_until "$limit" "$@" || lab_fail "not within $limit s: $words"
}

# never SECONDS WORDS COMMAND...: the command stays false for so long.
never() {
	local limit=$1 words=$2
	shift 2
	! wait_until "$limit" "$@" || lab_fail "$words"
}

# How long a fault lasts; nothing is waited for by this.
lab_last() {
	sleep "$1"
}

expect() {
	local words=$1
	shift
	"$@" || lab_fail "$words"
}

# expect_exit CODE COMMAND...: output is kept in $LAB/out.
expect_exit() {
	local code=$1 rc
	shift
	"$@" >"$LAB/out" 2>&1 </dev/null
	rc=$?
	[ $rc -eq "$code" ] || lab_fail "exit $rc, not $code: $* : $(cat "$LAB/out")"
}

# ---- ending ----

lab_alive() {
	kill -0 "$1" 2>/dev/null
}

lab_gone() {
	! lab_alive "$1"
}

# End a process of ours: TERM, and KILL when it does not listen.
lab_end() {
	local pid=$1
	lab_alive "$pid" || return 0
	kill -CONT "$pid" 2>/dev/null
	kill -TERM "$pid" 2>/dev/null
	wait_until 2 lab_gone "$pid" || kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# Everything that is stopped goes on first, so that no I/O hangs; then all are
# told to end, newest first.
lab_end_all() {
	local pid i
	for pid in "${LAB_PIDS[@]}"; do
		kill -CONT "$pid" 2>/dev/null
	done
	for pid in "${LAB_DAEMON[@]}" "${LAB_WRITER[@]}"; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in "${LAB_DAEMON[@]}" "${LAB_WRITER[@]}"; do
		lab_end "$pid"
	done
	for ((i = ${#LAB_PIDS[@]} - 1; i >= 0; i--)); do
		lab_end "${LAB_PIDS[i]}"
	done
	LAB_PIDS=()
}

lab_clean() {
	local rc=$? x
	# a child that was told to end before it became its program
	[ "$BASHPID" = $$ ] || exit $rc
	trap '' INT TERM HUP
	trap - EXIT
	lab_end_all
	for x in "${LAB_LOOPS[@]}"; do
		losetup -d "$x" 2>/dev/null
	done
	for x in "${LAB_MOUNTS[@]}"; do
		umount "$x" 2>/dev/null || umount -l "$x" 2>/dev/null
	done
	for x in "${LAB_NETNS[@]}"; do
		ip netns del "$x" 2>/dev/null
	done
	if [ -n "${LAB:-}" ]; then
		rm -rf "${LAB_DISKS:?}"
		# 130, 143: somebody stopped it, nobody will read logs
		if [[ $rc =~ ^(0|130|143)$ ]] && [ -z "${LAB_KEEP:-}" ]; then
			rm -rf "$LAB"
		else
			say "logs: $LAB"
		fi
	fi
	exit $rc
}

# ---- network ----

lab_needs() {
	local x
	[ "$(id -u)" -eq 0 ] || lab_skip "needs root (namespaces, loop devices)"
	for x in ip losetup nft nbdkit "$@"; do
		command -v "$x" >/dev/null || lab_skip "needs $x; run tools/bootstrap"
	done
	for x in ringfenced ringfence ringfence-fencer rf-writer rf-check; do
		[ -x "$LAB_BIN/$x" ] || lab_skip "needs $LAB_BIN/$x; run make"
	done
}

lab_netns() {
	ip netns add "$1" 2>/dev/null || lab_skip "cannot make network namespaces here"
	LAB_NETNS+=("$1")
	ip -n "$1" link set lo up
}

lab_bridge() {
	lab_netns "$LAB_TAG-b"
	ip -n "$LAB_TAG-b" link add br0 type bridge mcast_snooping 0 ||
		lab_skip "cannot make a bridge here"
	ip -n "$LAB_TAG-b" link set br0 up
}

lab_plug() {
	local i=$1 ns=$LAB_TAG-n$1
	lab_netns "$ns"
	ip link add eth0 netns "$ns" type veth peer name "p$i" netns "$LAB_TAG-b"
	ip -n "$LAB_TAG-b" link set "p$i" master br0 up
	ip -n "$ns" addr add "10.99.0.$i/24" dev eth0
	ip -n "$ns" addr add "fd99::$i/64" dev eth0 nodad
	ip -n "$ns" link set eth0 up
}

# In the namespace of node i.
in_node() {
	local i=$1
	shift
	ip netns exec "$LAB_TAG-n$i" "$@"
}

# lab_filter NODE CHAINS: what its network drops from now on.
lab_filter() {
	printf 'table inet cut\ndelete table inet cut\ntable inet cut {\n%s\n}\n' "$2" >"$LAB/filter$1"
	in_node "$1" nft -f "$LAB/filter$1" || lab_skip "nftables does not work here"
}

# lab_cut NODE [in|out]: nothing arrives at it, nothing leaves it.
lab_cut() {
	local in="chain in { type filter hook input priority 0; iif eth0 drop; }"
	local out="chain out { type filter hook output priority 0; oif eth0 drop; }"
	[ "${2:-}" = out ] && in=
	[ "${2:-}" = in ] && out=
	lab_filter "$1" "$in"$'\n'"$out"
}

# lab_lossy NODE PERCENT: so many of the packets that arrive are dropped.
lab_lossy() {
	lab_filter "$1" "chain in { type filter hook input priority 0; iif eth0 numgen random mod 100 < $2 drop; }"
}

lab_heal() {
	in_node "$1" nft delete table inet cut
}

# ---- disk ----

# lab_loop FILE [losetup options]: prints the device.
lab_loop() {
	local file=$1
	shift
	losetup -f --show "$@" "$file"
}

# A fast place for backing files: memory if there is room.
lab_disk_dir() {
	local free
	free=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
	if [ "${free:-0}" -gt 262144 ]; then
		mktemp -d "/dev/shm/ringfence-$LAB_NAME.XXXXXX"
	else
		mktemp -d "$LAB/disks.XXXXXX"
	fi
}

# lab_disk NAME MIB [losetup options]: device in LAB_DEV.
lab_disk() {
	local name=$1 mib=$2
	shift 2
	truncate -s "${mib}M" "$LAB_DISKS/$name"
	LAB_DEV=$(lab_loop "$LAB_DISKS/$name" "$@") || lab_skip "no loop device is free"
	LAB_LOOPS+=("$LAB_DEV")
}

# lab_format DEVICE [options, further devices]
lab_format() {
	local dev=$1
	shift
	"$LAB_BIN/ringfence" --json format --cluster lab --nodes "$LAB_N" --yes \
		--profile "${LAB_PROFILE:-fast}" \
		--volume "$LAB_VOLUME" "$@" "$dev" >"$LAB/format.json" 2>"$LAB/format.log" ||
		lab_fail "format $dev: $(cat "$LAB/format.log")"
	LAB_OFFSET=$(sed -n 's/.*"data_offset_bytes": \([0-9]*\).*/\1/p' "$LAB/format.json")
}

# lab_path NODE [FILE]: this node gets its own way to the shared disk (a file over NBD
# and FUSE under a loop device), which can be broken without hurting the others:
#   lab_path_stall NODE / lab_path_go NODE     every I/O hangs / goes on
#   lab_path_back NODE                         the same, after longer than lease and grace
#   lab_path_fail NODE read|write / lab_path_mend NODE
lab_path() {
	local i=$1 file=${2:-shared} dir=$LAB_DISKS/path$1
	command -v nbdfuse >/dev/null && [ -w /dev/fuse ] || lab_skip "needs nbdfuse and /dev/fuse"
	mkdir -p "$dir"
	touch "$dir/disk"
	nbdkit -f -U "$dir/sock" --filter=error file "$LAB_DISKS/$file" error=EIO \
		error-pwrite-rate=100% "error-pwrite-file=$dir/no-write" \
		error-pread-rate=100% "error-pread-file=$dir/no-read" >>"$LAB/path$i.log" 2>&1 &
	LAB_PATH_PID[$i]=$!
	LAB_PIDS+=($!)
	must 30 "path of node $i" test -S "$dir/sock"
	nbdfuse "$dir/disk" --unix "$dir/sock" >>"$LAB/path$i.log" 2>&1 &
	LAB_PIDS+=($!)
	LAB_MOUNTS+=("$dir/disk")
	must 30 "disk of node $i through FUSE" test -s "$dir/disk"
	LAB_PATH_DEV[$i]=$(lab_loop "$dir/disk" --direct-io=on) || lab_skip "no loop device is free"
	LAB_LOOPS+=("${LAB_PATH_DEV[$i]}")
}

lab_path_stall() {
	kill -STOP "${LAB_PATH_PID[$1]}"
}

lab_path_go() {
	kill -CONT "${LAB_PATH_PID[$1]}"
}

# With a gate, A4 says that what hung for so long has died; here a target refuses it.
lab_path_back() {
	lab_path_go "$1"
}

lab_path_fail() {
	touch "$LAB_DISKS/path$1/no-$2"
}

lab_path_mend() {
	rm -f "$LAB_DISKS/path$1/no-read" "$LAB_DISKS/path$1/no-write"
}

# ---- the target ----

# lab_target: nbdkit serves the volume; ready when its socket answers.
lab_target() {
	LAB_SOCK=$LAB/nbd.sock
	rm -f "$LAB_SOCK"
	mkdir -p "$LAB/target"
	nbdkit -f ${LAB_TARGET_VERBOSE:+-v} -U "$LAB_SOCK" ${LAB_TARGET_FILTERS:-} \
		"$LAB_BUILD/lib/nbdkit-ringfence-plugin.so" \
		"area=$LAB_AREA" "key-file=$LAB/key" "volume=$LAB_VOLUME:$LAB_DATA" \
		"state-dir=$LAB/target" ${LAB_TARGET_PARAMS:-} >>"$LAB/target.log" 2>&1 &
	LAB_TARGET=$!
	LAB_PIDS+=("$LAB_TARGET")
	must 30 "target listens" test -S "$LAB_SOCK"
}

# ---- nodes ----

# What a node's configuration says; a test may redefine lab_conf_more NODE. LAB_AREA may
# be several disks, "A, B, C"; without LAB_DATA there is no device of data.
lab_conf_more() {
	:
}

lab_conf() {
	local i=$1 dev=${LAB_PATH_DEV[$1]:-$LAB_DATA}
	cat <<-END
		[cluster]
		name = lab
		node-id = ${2:-$i}

		[network]
		interface = eth0
		${LAB_NETWORK:-multicast = 239.255.74.11, ff05::7411}

		[auth]
		key-file = $LAB/key

		[volume $LAB_VOLUME]
		${dev:+device = $dev}
		area = ${LAB_PATH_DEV[$1]:-$LAB_AREA}
		fence = ${LAB_FENCE:-target}
	END
	[ "${LAB_FENCE:-target}" = target ] && say "nbd-uri = nbd+unix:///?socket=$LAB/nbd.sock"
	lab_conf_more "$i"
}

lab_socket() {
	say "$LAB/node$1.sock"
}

# lab_node NODE: writes its configuration unless there is one, starts the daemon.
lab_node() {
	local i=$1
	[ -f "$LAB/node$i.conf" ] || lab_conf "$i" >"$LAB/node$i.conf"
	# Not in_node: the pid must be the daemon's own.
	ip netns exec "$LAB_TAG-n$i" "$LAB_BIN/ringfenced" --config "$LAB/node$i.conf" \
		--socket "$(lab_socket "$i")" >>"$LAB/node$i.log" 2>&1 &
	LAB_DAEMON[$i]=$!
	LAB_PIDS+=($!)
}

lab_nodes() {
	local i
	for i in "$@"; do
		lab_node "$i"
	done
}

# lab_signal SIGNAL NODE: to its daemon; prints the boot clock just before.
lab_signal() {
	"$LAB_BIN/rf-mark" "$(kill -l "$1")" "${LAB_DAEMON[$2]}"
}

lab_daemon_lives() {
	lab_alive "${LAB_DAEMON[$1]}"
}

lab_kill_node() {
	LAB_MARK=$(lab_signal KILL "$1")
	wait "${LAB_DAEMON[$1]}" 2>/dev/null
	unset "LAB_DAEMON[$1]"
}

# Clean end: leaves its slot closed.
lab_stop_node() {
	kill -TERM "${LAB_DAEMON[$1]}"
	must 4 "the daemon of node $1 ends after TERM" lab_gone "${LAB_DAEMON[$1]}"
	wait "${LAB_DAEMON[$1]}" || lab_fail "the daemon of node $1 left with exit $?"
	unset "LAB_DAEMON[$1]"
}

# The tool, talking to the daemon of a node.
tool() {
	local i=$1
	shift
	"$LAB_BIN/ringfence" --socket "$(lab_socket "$i")" "$@"
}

# Prints the node that leads, as it says of itself; false when there is none.
lab_leader() {
	local i
	for i in "${!LAB_DAEMON[@]}"; do
		if lab_leads "$i"; then
			say "$i"
			return 0
		fi
	done
	return 1
}

# A stopped daemon does not answer: bounded.
lab_leads() {
	timeout 1 "$LAB_BIN/ringfence" --socket "$(lab_socket "$1")" is-leader "$LAB_VOLUME" \
		>/dev/null 2>&1
}

# Its daemon answers, and the answer is no.
lab_lost() {
	timeout 2 "$LAB_BIN/ringfence" --socket "$(lab_socket "$1")" is-leader "$LAB_VOLUME" \
		>/dev/null 2>&1
	[ $? -eq 1 ]
}

lab_led() {
	LAB_LEADER=$(lab_leader)
}

# true when a node other than $1 leads; LAB_LEADER says which.
lab_led_by_other() {
	local i
	for i in "${!LAB_DAEMON[@]}"; do
		if [ "$i" != "$1" ] && lab_leads "$i"; then
			LAB_LEADER=$i
			return 0
		fi
	done
	return 1
}

# lab_said NODE PATTERN: its log has a line like that.
lab_said() {
	grep -Eq -- "$2" "$LAB/node$1.log"
}

# lab_said_since NODE LINE PATTERN, with lab_lines NODE from before.
lab_lines() {
	wc -l <"$LAB/node$1.log"
}

lab_said_since() {
	tail -n "+$(($2 + 1))" "$LAB/node$1.log" | grep -Eq -- "$3"
}

# ---- writers and the verdict ----

lab_blocks=64

# lab_writer NODE [options]: writes while its node leads.
lab_writer() {
	local i=$1
	shift
	"$LAB_BIN/rf-writer" --socket "$(lab_socket "$i")" --volume "$LAB_VOLUME" \
		--to "nbd+unix:///?socket=$LAB/nbd.sock" --key-file "$LAB/key" \
		--log "$LAB/write$i.log" --blocks $lab_blocks "$@" \
		>>"$LAB/writer$i.log" 2>&1 &
	LAB_WRITER[$i]=$!
	LAB_PIDS+=($!)
}

lab_writers() {
	local i n=$LAB_N
	for ((i = 1; i <= n; i++)); do
		lab_writer "$i" "$@"
	done
}

lab_end_writers() {
	local i
	for i in "${!LAB_WRITER[@]}"; do
		lab_end "${LAB_WRITER[$i]}"
	done
	LAB_WRITER=()
}

# true when a node says that this other one leads.
lab_knows() {
	tool "$1" leader "$LAB_VOLUME" | grep -q "^node $2 "
}

# The moment, for lab_wrote_since.
lab_mark() {
	"$LAB_BIN/rf-mark"
}

# First write of a newer epoch accepted after a mark: "epoch= node= ms=".
lab_gap() {
	"$LAB_BIN/rf-gap" --after "$1" "$LAB"/write[0-9]*.log
}

lab_wrote_since() {
	LAB_GAP=$(lab_gap "$1")
}

# Any accepted write at all?
lab_wrote() {
	"$LAB_BIN/rf-gap" --after 1 "$LAB"/write[0-9]*.log
}

# lab_work [options of the writers]: every node has its daemon and its writer; one of them
# leads, LAB_LEADER, and writes.
lab_work() {
	local i
	for ((i = 1; i <= LAB_N; i++)); do
		lab_node "$i"
	done
	lab_writers "$@"
	must 10 "a first leader" lab_led
	must 3 "it writes" lab_wrote
}

# The last word of a test with writers: reads disk and logs. Counts in LAB_COUNTS.
lab_check() {
	lab_end_writers
	LAB_COUNTS=$("$LAB_BIN/rf-check" --device "$LAB_DATA" --offset "$LAB_OFFSET" \
		--blocks $lab_blocks "$@" "$LAB"/write[0-9]*.log) ||
		lab_fail "stamps and logs: $LAB_COUNTS"
	say "$LAB_COUNTS"
}

lab_count() {
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" <<<"$LAB_COUNTS" | tail -n 1
}

# ---- the whole ----

# lab_begin NODES [format options]: an empty cluster, nothing running.
lab_begin() {
	local i
	LAB_N=$1
	shift
	lab_needs
	mkdir -p "$LAB_BUILD/e2e"
	LAB=$(mktemp -d "$LAB_BUILD/e2e/$LAB_NAME.XXXXXX")
	chmod 755 "$LAB"
	LAB_DISKS=$(lab_disk_dir)
	trap lab_clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lab_bridge
	for ((i = 1; i <= LAB_N; i++)); do
		lab_plug "$i"
	done
	"$LAB_BIN/ringfence" keygen "$LAB/key" >/dev/null 2>&1 || lab_fail "keygen"
	lab_disk shared "${LAB_MIB:-32}" ${LAB_LOSETUP:-}
	LAB_AREA=$LAB_DEV
	LAB_DATA=$LAB_DEV
	lab_format "$LAB_DEV" "$@"
}

[ "${LAB_WHERE:-}" != vm ] || . "$LAB_ROOT/tests/vm/lab.sh"
