#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The fencer of a leader dies by kill -9. The leader cannot shut its gate any more:
# it says so, keeps its slot open, and when it resigns the others do not wait for
# ever: they evict it at the target. A node whose fencer is dead does not lead, and
# leads again with the one that is started in its place.
. "$(dirname "$0")/../lib/lab.sh"

# The fencer of a node's daemon: its child, or, started again, one of its helper.
fencer_of() {
	local p
	for p in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		case $(cat "/proc/$p/comm" 2>/dev/null) in
		ringfence-fence*) grep -q '^State:.Z' "/proc/$p/status" || say "$p" ;;
		ringfence-start) fencer_of "$p" ;;
		esac
	done
}
has_fencer() { [ -n "$(fencer_of "${LAB_DAEMON[$1]}")" ]; }

lab_begin 3
lab_target
lab_work

first=$LAB_LEADER
grants() {
	tool "$first" metrics | awk '/^ringfence_fence_operations_total.*(verb|way)="grant".*result="ok"/ { n += $NF } END { print n + 0 }'
}

# It is started again while the leadership goes on, and told of it: it can shut the gate.
before=$(grants)
kill -KILL "$(fencer_of "${LAB_DAEMON[$first]}")"
must 8 "another fencer is started" lab_said "$first" 'fencer .*was started again'
told() { [ "$(grants)" -gt "$before" ]; }
must 8 "and is told what is led" told
expect "who led leads on" lab_leads "$first"
line=$(lab_lines "$first")
mark=$(lab_mark)
tool "$first" resign "$LAB_VOLUME" >/dev/null 2>&1
must 8 "the gate that it did not open is shut" lab_said_since "$first" "$line" ' closed '
must 8 "somebody writes" lab_wrote_since "$mark"
expect "nothing was left undrained" eval '! lab_said "$first" " undrained "'
must 8 "somebody leads" lab_led
first=$LAB_LEADER

# It dies, and the leadership has to end before another one is there.
fencer=$(fencer_of "${LAB_DAEMON[$first]}")
expect "the leader has a fencer" [ -n "$fencer" ]
kill -KILL "$fencer"
must 3 "the daemon says that its fencer died" lab_said "$first" 'fencer .*died'
mark=$(lab_mark)
tool "$first" resign "$LAB_VOLUME" >/dev/null 2>&1
must 8 "somebody else writes" lab_wrote_since "$mark"
say "after the resignation: $LAB_GAP"
expect "the gate that could not be shut was said" lab_said "$first" ' (undrained|superseded|closed) '
must 8 "another fencer is there" has_fencer "$first"
expect "the log says so" lab_said "$first" 'fencer .*was started again'

# It leads again, with the other one.
drained() { ! tool "$first" status | grep -q undrained; }
must 15 "what was open is revoked by the new one" drained
mark=$("$LAB_BIN/rf-mark")
must 15 "it may lead again" eval 'lab_led; tool "$LAB_LEADER" handover "$LAB_VOLUME" --to "$first" >/dev/null 2>&1; sleep 0.2; lab_leads "$first"'
LAB_LEADER=$first
must 8 "and writes" lab_wrote_since "$mark"

# One that dies each time is tried less and less often, and the node can be stopped.
for k in 1 2 3; do
	must 10 "fencer $k" has_fencer "$first"
	kill -KILL "$(fencer_of "${LAB_DAEMON[$first]}")"
	must 3 "its death $k is seen" eval '! has_fencer "$first"'
done
expect "the wait grows" [ "$(grep -o 'started again, in [0-9]* ms' "$LAB/node$first.log" | grep -o '[0-9]*' | sort -n | tail -n 1)" -ge 2000 ]
mark=$("$LAB_BIN/rf-mark")
wrote() { [ "$("$LAB_BIN/rf-gap" --last "$LAB"/write[0-9]*.log)" -gt "$mark" ]; }
must 15 "somebody writes" wrote
must 15 "its last fencer" has_fencer "$first"
last=$(fencer_of "${LAB_DAEMON[$first]}")
lab_stop_node "$first"
# a dead one may wait for whoever reaps here
expect "and no fencer stays" eval '! grep -q "^State:.[^Z]" "/proc/$last/status" 2>/dev/null'
lab_check

# The target goes away for good: a gate that cannot be drained is said, in words, and not at each try.
must 8 "a leader" lab_led
first=$LAB_LEADER
lab_end "$LAB_TARGET"
troubles() {
	grep -c 'fencer volume=.* way=[a-z]* epoch=[0-9]* result=\(failed\|uncertain\) ' "$LAB/node$first.log"
}
tries() {
	tool "$first" metrics | awk '/^ringfence_fence_operations_total.*result="(failed|uncertain)"/ { n += $NF } END { print n + 0 }'
}
begun=$(tries)
said=$(troubles)
tool "$first" resign "$LAB_VOLUME" --wait 100ms >/dev/null 2>&1 # cannot be drained
tried() { [ "$(tries)" -gt $((begun + 20)) ]; }
must 15 "it is tried again and again" tried
said=$(($(troubles) - said))
[ $said -ge 1 ] && [ $said -le 6 ] || lab_fail "said $said times in $(($(tries) - begun)) tries"
say "fencer: $(($(tries) - begun)) tries without a target, said $said times"
