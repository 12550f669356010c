#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The fencer of a leader dies by kill -9. The leader cannot shut its gate any more:
# it says so, keeps its slot open, and when it resigns the others do not wait for
# ever: they evict it at the target. A node whose fencer is dead does not lead.
. "$(dirname "$0")/../lib/lab.sh"

# The helper of a node's daemon that is called ringfence-fencer.
fencer_of() {
	local p
	for p in $(cat "/proc/$1/task/"*/children); do
		case $(cat "/proc/$p/comm") in
		ringfence-fence*) say "$p" ;;
		esac
	done
}

lab_begin 3
lab_target
lab_nodes 1 2 3
lab_writers
must 8 "a first leader" lab_led
must 3 "it writes" lab_wrote

first=$LAB_LEADER
fencer=$(fencer_of "${LAB_DAEMON[$first]}")
expect "the leader has a fencer" [ -n "$fencer" ]
kill -KILL "$fencer"
must 3 "the daemon says that its fencer died" lab_said "$first" 'fencer .*died'
mark=$(lab_mark)
tool "$first" resign "$LAB_VOLUME" >/dev/null 2>&1
must 8 "somebody else writes" lab_wrote_since "$mark"
say "after the resignation: $LAB_GAP"
expect "the gate that could not be shut was said" lab_said "$first" ' (undrained|superseded|closed) '
expect "the node without a fencer does not lead" eval '! lab_leads "$first"'
lab_check
