#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No process can be made: a daemon does not start, and says so. One that runs, whose
# fencer dies then, says that nobody can be started in its place, answers, and leads again
# as soon as there is one; so does a chain of two fences.
. "$(dirname "$0")/../lib/lab.sh"

nofork=$LAB_BUILD/lib/rf-nofork.so
[ -f "$nofork" ] || lab_skip "needs $nofork; run make"

# node: as lab_node does, where it may be denied processes.
node() {
	ip netns exec "$LAB_TAG-n1" env LD_PRELOAD="$nofork" RF_NOFORK="$LAB/no" \
		"$LAB_BIN/ringfenced" --config "$LAB/node1.conf" --socket "$(lab_socket 1)" >>"$LAB/node1.log" 2>&1 &
	LAB_DAEMON[1]=$!
	LAB_PIDS+=($!)
}
# below PID: the fencers of a process, and of its helper; theirs too.
below() {
	local p
	for p in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		grep -q '^State:.Z' "/proc/$p/status" || say "$p $(tr '\0' ' ' <"/proc/$p/cmdline")"
		below "$p"
	done
}
# fencer WORD: the one with this driver.
fencer() {
	below "${LAB_DAEMON[1]}" | sed -n "s/^\([0-9]*\) [^ ]*ringfence-fencer $1 .*/\1/p" | head -n 1
}
has_fencer() { [ -n "$(fencer "$1")" ]; }
said_times() { [ "$(grep -c "$1" "$LAB/node1.log")" -ge "$2" ]; }
cannot_wait() {
	touch "$LAB/no"
	kill -KILL "$(fencer target)"
	must 8 "$1: it says that nobody can be started" lab_said 1 "$2"
	must 8 "$1: and tries again" said_times "$2" 2
	expect_exit 0 tool 1 status
	has_fencer target && lab_fail "$1: there is one all the same"
	rm "$LAB/no"
	must 15 "$1: another fencer" has_fencer target
	must 15 "$1: it leads" lab_leads 1
}

lab_begin 1
lab_target
lab_conf 1 >"$LAB/node1.conf"

touch "$LAB/no"
node
wait "${LAB_DAEMON[1]}"
rc=$?
[ $rc -eq 75 ] || lab_fail "started without processes: exit $rc: $(cat "$LAB/node1.log")"
lab_said 1 'cannot start the hook runner: Resource temporarily unavailable' || lab_fail "says: $(cat "$LAB/node1.log")"
rm "$LAB/no"

node
must 8 "it leads" lab_leads 1
cannot_wait "one fence" 'fencer volume=.*: cannot be started again: Resource temporarily unavailable'
lab_stop_node 1

sed -i 's/^\( *fence = \)target$/\1target, expiry/' "$LAB/node1.conf"
: >"$LAB/node1.log"
node
must 8 "it leads with two" lab_leads 1
expect "with a chain" has_fencer chain
cannot_wait "a chain" 'chain: the fencer of target cannot be started: Resource temporarily unavailable'
expect "the same chain" lab_said 1 'chain: the fencer of target was started again'
say "no-process: said at the start, tried again and again after it"
