#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 1 through the fence agent of Pacemaker: `off` is success only when it is
# certain that the node has stopped; unknown keys do not matter; bad input does.
. "$(dirname "$0")/../lib/lab.sh"

agent=$LAB_ROOT/tools/agents/fence/fence_ringfence
LAB_FENCE=expiry
lab_begin 2 --quorum survivors

# fence NODE KEY=VALUE...: as Pacemaker asks, on the host of NODE.
fence() {
	local i=$1
	shift
	printf '%s\n' "nodename=ignored" "pcmk_unknown=1" "# a comment" "config=$LAB/node$i.conf" "$@" |
		in_node "$i" env PATH="$LAB_BIN:$PATH" "$agent"
}

expect_exit 0 env -i "$agent" -o metadata
grep -q '<action name="on" on_target="1" automatic="1"/>' "$LAB/out" || lab_fail "no unfencing"
grep -q 'reboot' "$LAB/out" && lab_fail "it says that it can reboot"
if command -v xmllint >/dev/null; then
	expect_exit 0 sh -c "env -i $agent -o metadata | xmllint --noout -"
fi
for i in 1 2; do
	lab_conf $i >"$LAB/node$i.conf"
done
expect_exit 1 fence 1 action=reboot plug=2
expect_exit 1 fence 1 action=frobnicate plug=2
expect_exit 1 fence 1 action=off plug=
expect_exit 1 fence 1 action=off 'plug=2; true'
expect_exit 1 fence 1 action=off plug=--force
expect_exit 1 fence 1 action=off plug=9
expect_exit 1 fence 1 action=monitor "config=$LAB/absent"
expect_exit 0 fence 1 action=monitor
expect_exit 0 fence 1 action=validate-all

lab_nodes 1 2
must 8 "a leader" lab_led
expect_exit 0 fence 1 action=list
grep -q '^[^,]*,1$' "$LAB/out" && grep -q '^[^,]*,2$' "$LAB/out" || lab_fail "list: $(cat "$LAB/out")"
expect_exit 0 fence 1 action=status plug=2
expect_exit 0 fence 1 action=on plug=2

# A node that is alive obeys; it stays off until its daemon is restarted.
expect_exit 0 fence 1 action=off plug=2
grep -q 'it obeyed' "$LAB/out" || lab_fail "off: $(cat "$LAB/out")"
expect "the node was told" lab_said 2 ' stop-ordered '
expect_exit 2 fence 1 action=status plug=2
expect_exit 1 fence 1 action=on plug=2
lab_stop_node 2
lab_node 2
must 8 "it is back" fence 2 action=on plug=2
expect_exit 0 fence 1 action=status plug=2

# A stopped process cannot answer: off fails while that proves nothing, and is
# success when its leases are over. Only the disk is asked: no daemon is left here.
must 8 "node 2 follows or leads" tool 2 leader "$LAB_VOLUME"
lab_kill_node 1
lab_signal STOP 2 >/dev/null
expect_exit 1 fence 1 action=off port=2 timeout=100ms
grep -q 'not verified to have stopped' "$LAB/out" || lab_fail "off: $(cat "$LAB/out")"
expect_exit 0 fence 1 action=off port=2
kill -CONT "${LAB_DAEMON[2]}"
must 5 "it obeys when it wakes up" lab_said 2 ' stop-ordered '

# Disks that are not there: no.
expect_exit 1 fence 1 action=off plug=2 "devices=$LAB/absent"
expect_exit 1 fence 1 action=monitor "devices=$LAB/absent"
say "fence_ringfence: obeyed, expired, refused"
