#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 12: the path to the target is lost and comes back as a new session. The
# leader works on with its epoch; a node that was told to stop stays fenced, with the
# name of its old leadership and without, until it is restarted.
. "$(dirname "$0")/../lib/lab.sh"

command -v nbdcopy >/dev/null || lab_skip "needs nbdcopy; run tools/bootstrap"
lab_begin 3
lab_target
lab_nodes 1 2 3
must 8 "a first leader" lab_led

# put NAME: writes to the volume through a connection of this name.
put() {
	head -c 4096 /dev/urandom >"$LAB/block"
	timeout 10 nbdcopy "$LAB/block" "nbd+unix:///$1?socket=$LAB/nbd.sock"
}
name_of() {
	tool "$1" nbd-name --key-file "$LAB/key" "$LAB_VOLUME"
}
epoch_of() {
	tool "$1" --json leader "$LAB_VOLUME" | sed -n 's/^ *"epoch": \([0-9]*\),/\1/p'
}

# What node $1 has seen of node $2 on the disk moves, and it is not told to stop.
knows_joined() {
	tool "$1" --json nodes | tr -d '\n' | grep -q "\"node\": $2,[^}]*\"state\": \"joined\", *\"health\": \"good\""
}

fenced=$LAB_LEADER
old=$(name_of "$fenced") || lab_fail "no name for the leader"
expect_exit 0 put "$old"
expect_exit 0 "$LAB_BIN/ringfence" fence "$fenced" --wait "$LAB_AREA"
must 8 "another node leads" lab_led_by_other "$fenced"
leader=$LAB_LEADER
epoch=$(epoch_of "$leader")
name=$(name_of "$leader") || lab_fail "no name for the next leader"
expect_exit 0 put "$name"

for round in 1 2; do
	lab_end "$LAB_TARGET"
	lab_target
	must 5 "the leader writes after session $round" put "$name"
	expect "node $leader still leads" lab_leads "$leader"
	[ "$(epoch_of "$leader")" = "$epoch" ] || lab_fail "not with its epoch any more"
	expect_exit 1 put "$old"
	expect_exit 1 name_of "$fenced"
	expect "the fenced node does not lead" eval '! lab_leads "$fenced"'
done
tool "$fenced" --json status >"$LAB/status"
grep -q '"health": ".*stopped' "$LAB/status" || lab_fail "the fenced node is not stopped any more"

# Restarted it takes part again; what it had before is refused all the same.
expect_exit 0 "$LAB_BIN/ringfence" unfence "$fenced" "$LAB_AREA"
lab_stop_node "$fenced"
lines=$(lab_lines "$fenced")
lab_node "$fenced"
must 8 "it joins again" lab_said_since "$fenced" "$lines" ' joined '
must 8 "the leader sees its new life" knows_joined "$leader" "$fenced"
must 8 "a hand-over to it" tool "$leader" handover "$LAB_VOLUME" --to "$fenced"
must 8 "it leads" lab_leads "$fenced"
expect_exit 0 put "$(name_of "$fenced")"
expect_exit 1 put "$old"
expect_exit 1 put "$name"
say "session: the leader went on, the fenced node did not"
