#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# keepalived with the example configuration as it is shipped, on two hosts: the
# address follows the leadership, nobody has it without a leader, and an interface
# that fails takes the leadership with it.
. "$(dirname "$0")/lab.sh"

address=10.99.0.74
example=$LAB_ROOT/tools/agents/keepalived/keepalived.conf

command -v keepalived >/dev/null || lab_skip "needs keepalived; run tools/bootstrap"

# Beside the shared network, which the heartbeats need: an interface to lose.
pm_etc() {
	mkdir -p "$1/keepalived"
	sed '/track_interface {/a svc0' "$example" >"$1/keepalived/keepalived.conf"
}

has_address() {
	in_pm "$1" ip -4 addr show dev eth0 | grep -q "inet $address/"
}
has_no_address() {
	! has_address "$1"
}
node_leads() {
	in_pm "$1" ringfence -q is-leader "$LAB_VOLUME"
}
only_at() {
	must 15 "$2: the address is at node $1" has_address "$1"
	must 15 "$2: node $((3 - $1)) has it no more" has_no_address $((3 - $1))
	say "$2: node $1"
}
a_leader() {
	for LEADER in 1 2; do
		node_leads $LEADER && return 0
	done
	return 1
}

pm_begin 2 --quorum survivors
for i in 1 2; do
	in_node $i ip link add svc0 type veth peer name svc1
	in_node $i ip link set svc0 up
	in_node $i ip link set svc1 up
	pm_node $i ringfenced "keepalived -n -l -D"
done
must 20 "a leader" a_leader
first=$LEADER
other=$((3 - first))
only_at "$first" "at first"

must 8 "a hand-over" in_pm "$first" ringfence handover "$LAB_VOLUME" --to $other
must 8 "node $other leads" node_leads $other
only_at $other "handed over"

in_node $other ip link set svc0 down
must 15 "the other one leads" node_leads "$first"
only_at "$first" "an interface failed"
grep -q 'losing .*cause=resigned' "$LAB/pm$other/ringfenced.log" ||
	lab_fail "not by the notification: $(tail "$LAB/pm$other"/*.log)"

# No leader, no address; whoever comes back gets it.
in_node $other ip link set svc0 up
expect_exit 0 in_pm $other ringfence pause
expect_exit 0 in_pm "$first" ringfence pause
expect_exit 0 in_pm "$first" ringfence resign "$LAB_VOLUME"
must 15 "nobody has the address" has_no_address "$first"
expect "node $other has none" has_no_address $other
expect_exit 0 in_pm $other ringfence resume
must 15 "node $other leads" node_leads $other
only_at $other "after a time without a leader"

pm_kill $other
expect_exit 0 in_pm "$first" ringfence resume
must 15 "node $first leads" node_leads "$first"
must 15 "the address is at node $first" has_address "$first"
say "keepalived: followed, given up, nobody, death"
