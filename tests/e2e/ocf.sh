#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The OCF agent without Pacemaker: its metadata against the schemas, ocf-tester
# on a cluster of one, then what Pacemaker would ask of two nodes.
. "$(dirname "$0")/../lib/lab.sh"

agent=$LAB_ROOT/tools/agents/ocf/volume
schemas=/usr/share/resource-agents

# ocf NODE ACTION [VARIABLE=VALUE...]: as Pacemaker calls it.
ocf() {
	local i=$1 action=$2
	shift 2
	env PATH="$LAB_BIN:$PATH" OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE="$LAB_VOLUME" \
		OCF_RESKEY_volume="$LAB_VOLUME" OCF_RESKEY_socket="$(lab_socket "$i")" \
		OCF_RESKEY_state_dir="$LAB/ocf$i" OCF_RESKEY_node_map="one:1; two:2" \
		OCF_RESKEY_CRM_meta_timeout=15000 OCF_RESKEY_CRM_meta_on_node="$i" "$@" \
		"$agent" "$action"
}

lab_begin 2 --quorum survivors

# A probe answers where nothing is installed, metadata needs nobody.
expect_exit 7 env -i "$agent" monitor
expect_exit 7 env -i OCF_RESKEY_volume=vol0 OCF_RESKEY_state_dir="$LAB/none" "$agent" monitor
expect_exit 0 env -i OCF_RESKEY_volume=vol0 OCF_RESKEY_state_dir="$LAB/none" "$agent" stop
expect_exit 3 ocf 1 frobnicate
expect_exit 6 ocf 1 validate-all OCF_RESKEY_volume=
expect_exit 6 ocf 1 validate-all OCF_RESKEY_volume=../../etc
expect_exit 6 ocf 1 validate-all OCF_RESKEY_node_map=one
expect_exit 0 env -i "$agent" meta-data

if command -v xmllint >/dev/null && [ -f $schemas/metadata.rng ]; then
	cp "$LAB/out" "$LAB/meta.xml"
	expect_exit 0 xmllint --noout --relaxng $schemas/metadata.rng "$LAB/meta.xml"
	expect_exit 0 xmllint --noout --dtdvalid $schemas/ra-api-1.dtd "$LAB/meta.xml"
	grep -q '<version>1.1</version>' "$LAB/meta.xml" || lab_fail "not OCF 1.1"
else
	say "metadata not validated: no xmllint or no $schemas"
fi

# A daemon that is not there: nothing starts, and it says why.
expect_exit 1 ocf 1 start OCF_RESKEY_CRM_meta_timeout=4000
grep -q 'ocf-exit-reason:.*does not answer' "$LAB/out" || lab_fail "start: $(cat "$LAB/out")"

lab_target
lab_nodes 1
must 8 "node 1 leads" lab_leads 1
expect_exit 2 ocf 1 start OCF_RESKEY_volume=other
if command -v ocf-tester >/dev/null; then
	# ocf-tester asks as nobody whether the agent may be run
	cp "$agent" "$LAB_DISKS/volume"
	chmod 755 "$LAB_DISKS"
	expect_exit 0 env PATH="$LAB_BIN:$PATH" ocf-tester -v -n "$LAB_VOLUME" -o "volume=$LAB_VOLUME" \
		-o "socket=$(lab_socket 1)" -o "state_dir=$LAB/tester" "$LAB_DISKS/volume"
	grep -q 'passed all tests' "$LAB/out" || lab_fail "ocf-tester: $(cat "$LAB/out")"
	grep -q 'permissions' "$LAB/out" && grep -q '^\* rc' "$LAB/out" && lab_fail "$(cat "$LAB/out")"
else
	say "ocf-tester is not installed (package resource-agents)"
fi

# Two nodes. A leader that Pacemaker did not promote is no failure.
lab_node 2
must 8 "node 2 follows" tool 2 leader "$LAB_VOLUME"
expect_exit 0 ocf 1 start
expect_exit 0 ocf 2 start
must 8 "a leader" lab_led
expect_exit 0 ocf 1 monitor
expect_exit 0 ocf 2 monitor
lab_leads 1 || must 8 "a hand-over to node 1" tool 2 handover "$LAB_VOLUME" --to 1
must 5 "node 1 leads" lab_leads 1
expect_exit 0 ocf 1 promote
expect_exit 8 ocf 1 monitor

# Moved: demoted here with the successor named, promoted there.
expect_exit 0 ocf 1 demote OCF_RESKEY_CRM_meta_notify_promote_uname=two
grep -q 'handed over to node 2' "$LAB/out" || lab_fail "demote: $(cat "$LAB/out")"
expect_exit 0 ocf 2 promote
expect_exit 8 ocf 2 monitor
expect_exit 0 ocf 1 monitor

# Promoted elsewhere than ringfence leads: the notification moves the leadership.
expect_exit 0 ocf 2 demote
must 8 "a leader" lab_led
from=$LAB_LEADER
to=$((3 - from))
names=(x one two)
expect_exit 0 ocf "$from" notify OCF_RESKEY_CRM_meta_notify_type=pre \
	OCF_RESKEY_CRM_meta_notify_operation=promote \
	"OCF_RESKEY_CRM_meta_notify_promote_uname=${names[to]}"
expect_exit 0 ocf "$to" promote
expect_exit 8 ocf "$to" monitor

# Leadership lost under a promoted resource: failed, and demoted it is good again.
expect_exit 0 tool "$to" resign "$LAB_VOLUME"
expect_exit 9 ocf "$to" monitor
grep -q 'ocf-exit-reason:leadership of epoch [0-9]* lost' "$LAB/out" || lab_fail "monitor: $(cat "$LAB/out")"
expect_exit 0 ocf "$to" demote
expect_exit 0 ocf "$to" monitor

# Lost and won again is lost: what stood on the volume was cut off in between.
must 8 "node $from leads" lab_leads "$from"
expect_exit 0 ocf "$from" promote
must 8 "a hand-over to node $to" tool "$from" handover "$LAB_VOLUME" --to "$to"
must 8 "node $to leads" lab_leads "$to"
must 8 "a hand-over to node $from" tool "$to" handover "$LAB_VOLUME" --to "$from"
must 8 "node $from leads again" lab_leads "$from"
expect_exit 9 ocf "$from" monitor
expect_exit 0 ocf "$from" demote

# Stopped, it neither leads nor campaigns.
expect_exit 0 ocf 1 stop
expect_exit 7 ocf 1 monitor
must 8 "node 2 leads" lab_leads 2
expect_exit 0 ocf 2 promote
expect_exit 0 ocf 2 stop
never 2 "a stopped volume is led" lab_led
lab_stop_node 2
lab_node 2
must 8 "the daemon of node 2 is back" eval "tool 2 leader '$LAB_VOLUME'; [ \$? -eq 1 ]"
never 2 "a stopped volume is led after its daemon's restart" lab_led
expect_exit 0 ocf 1 start
must 8 "node 1 leads" lab_leads 1
expect_exit 0 ocf 1 promote

# A daemon that dies: failed where promoted; demote and stop go through.
lab_kill_node 1
expect_exit 9 ocf 1 monitor
expect_exit 0 ocf 1 demote
expect_exit 1 ocf 1 monitor
expect_exit 0 ocf 1 stop
say "ocf: schemas, ocf-tester, two nodes"
