#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cluster commands of the tool against real daemons. run: starts when this
# node leads, ends everything it started when it does not, 110; a hanging or
# dead daemon counts as a lost lease.
# limit: 180
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 2 --quorum survivors
lab_target
lab_nodes 1
must 8 "node 1 leads" lab_leads 1

# A command with a child that left group and session, and one that ignores TERM.
cat >"$LAB/work" <<-'END'
	#!/bin/bash
	trap 'echo term >"$1.term"; exit 0' TERM
	env | grep ^RINGFENCE_ >"$1.env"
	setsid bash -c 'trap "" TERM; echo $$ >"$0.stray"; exec sleep 60' "$1" &
	(
		trap '' TERM
		read -rn 1 -u "$RINGFENCE_LEASE_FD"
		echo lost >"$1.lease"
	) &
	echo $$ >"$1.main"
	wait
END
chmod +x "$LAB/work"
# work NODE NAME [options]: runs it, in the background; RUN is the pid of `run`.
work() {
	local i=$1 name=$2
	shift 2
	# not by the function: the pid must be that of `run` itself
	"$LAB_BIN/ringfence" --socket "$(lab_socket "$i")" run --grace 300ms "$@" "$LAB_VOLUME" \
		-- "$LAB/work" "$LAB/$name" >"$LAB/$name.out" 2>&1 &
	RUN=$!
	LAB_PIDS+=("$RUN")
	must 30 "$name runs" test -s "$LAB/$name.stray"
	must 30 "$name runs" test -s "$LAB/$name.main"
}

# ended NAME CODE: run exits so, and nothing of it is left.
ended() {
	local rc pid
	wait "$RUN"
	rc=$?
	[ $rc -eq "$2" ] || lab_fail "$1: run exits $rc, not $2: $(cat "$LAB/$1.out")"
	for pid in $(cat "$LAB/$1.main" "$LAB/$1.stray"); do
		lab_alive "$pid" && lab_fail "$1: process $pid outlived run"
	done
	return 0
}

# The command's own end and status; arguments; what cannot be started.
expect_exit 7 tool 1 run "$LAB_VOLUME" -- sh -c 'exit 7'
expect_exit 0 tool 1 run "$LAB_VOLUME" -- test a = a
expect_exit 127 tool 1 run "$LAB_VOLUME" -- "$LAB/absent"
expect_exit 126 tool 1 run "$LAB_VOLUME" -- "$LAB"
expect_exit 143 tool 1 run "$LAB_VOLUME" -- sh -c 'kill -TERM $$'
expect_exit 64 tool 1 run "$LAB_VOLUME"
expect_exit 105 tool 1 run no-such-volume -- true
# What it leaves behind is ended with it.
begin=${EPOCHREALTIME//[!0-9]/}
expect_exit 0 tool 1 run --grace 200ms "$LAB_VOLUME" -- \
	bash -c "setsid bash -c 'trap \"\" TERM; sleep 60' & echo \$! >$LAB/left"
[ $((${EPOCHREALTIME//[!0-9]/} - begin)) -lt 5000000 ] || lab_fail "run waited for a stray"
lab_alive "$(cat "$LAB/left")" && lab_fail "a stray outlived run"

# Signals are passed on.
work 1 forwarded
kill -TERM "$RUN"
ended forwarded 0

# Resigning ends it: descriptor, TERM, KILL, 110; the epoch is released only then.
work 1 resigned
grep -q "^RINGFENCE_VOLUME=$LAB_VOLUME$" "$LAB/resigned.env" || lab_fail "environment"
grep -q '^RINGFENCE_NODE_ID=1$' "$LAB/resigned.env" || lab_fail "node id: $(cat "$LAB/resigned.env")"
grep -q '^RINGFENCE_CLUSTER=lab$' "$LAB/resigned.env" || lab_fail "cluster"
epoch=$(sed -n 's/^RINGFENCE_EPOCH=//p' "$LAB/resigned.env")
[ "$epoch" -gt 0 ] || lab_fail "epoch '$epoch'"
"$LAB_BIN/ringfence" --socket "$(lab_socket 1)" events --follow "$LAB_VOLUME" \
	>"$LAB/events" 2>/dev/null &
LAB_PIDS+=($!)
expect_exit 0 tool 1 resign --wait 5s "$LAB_VOLUME"
ended resigned 110
[ -s "$LAB/resigned.lease" ] || lab_fail "the lease descriptor said nothing"
must 5 "events say it" grep -q '"event":"role"' "$LAB/events"
grep -v '^{"schema":1,.*}$' "$LAB/events" && lab_fail "not one JSON object a line"

# Alone in the cluster it leads again; wait sees both.
expect_exit 0 tool 1 wait --leader --timeout 10s "$LAB_VOLUME"
expect_exit 0 tool 1 wait --any --timeout 1s "$LAB_VOLUME"
expect_exit 124 tool 1 wait --not-leader --timeout 300ms "$LAB_VOLUME"

# The timings as the daemon has them: every inequality, the worst failover.
expect_exit 0 tool 1 timing --explain
grep -q 'lease 1000 ms >= 3 \* heartbeat 100 ms' "$LAB/out" || lab_fail "timing: $(cat "$LAB/out")"
expect_exit 0 tool 1 --json status
for key in daemon areas volumes nodes lease_left_ms owner_incarnation_hex weakest rejected_by_reason; do
	grep -q "\"$key\":" "$LAB/out" || lab_fail "no $key in the status"
done

# Names of connections: signed, with the daemon's own values.
name=$(tool 1 nbd-name --key-file "$LAB/key" "$LAB_VOLUME") || lab_fail "nbd-name"
[[ $name == rf1.data.0.*.0.1.* ]] || lab_fail "name '$name'"
name=$(tool 1 nbd-name --config "$LAB/node1.conf" --kind quorum "$LAB_VOLUME") || lab_fail "nbd-name"
[[ $name == rf1.quorum.0.* ]] || lab_fail "name '$name'"
expect_exit 78 tool 1 nbd-name --key-file "$LAB/absent" "$LAB_VOLUME"
expect_exit 105 tool 1 nbd-name --key-file "$LAB/key" other

# A second node: it follows, and gets the leadership handed over.
lab_node 2
must 8 "node 2 follows" tool 2 leader "$LAB_VOLUME"
expect_exit 1 tool 2 is-leader "$LAB_VOLUME"
expect_exit 124 tool 2 run --wait 300ms "$LAB_VOLUME" -- true
expect_exit 1 tool 2 resign "$LAB_VOLUME"
expect_exit 1 tool 2 nbd-name --key-file "$LAB/key" "$LAB_VOLUME"
expect_exit 105 tool 1 handover --to 9 "$LAB_VOLUME"
expect_exit 105 tool 1 handover --to nobody "$LAB_VOLUME"
must 8 "node 2 is known" tool 1 nodes
must 8 "a hand-over" tool 1 handover --to 2 "$LAB_VOLUME"
expect_exit 0 tool 2 wait --leader --timeout 8s "$LAB_VOLUME"

# A daemon that is killed: the connection is gone, so is the lease.
work 2 killed
lab_kill_node 2
ended killed 110
expect_exit 69 tool 2 status

# A daemon that hangs: nothing is said, and the lease runs out all the same.
must 10 "node 1 leads again" lab_leads 1
work 1 hung
kill -STOP "${LAB_DAEMON[1]}"
ended hung 110
grep -q 'does not answer' "$LAB/hung.out" || lab_fail "does not say why: $(cat "$LAB/hung.out")"
expect_exit 69 tool 1 status
kill -CONT "${LAB_DAEMON[1]}"
