#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 300
# Debian's Pacemaker and Corosync on three hosts (namespaces): a volume is
# promoted, moved by an operator, and, when the host of the promoted one loses its
# power, fenced by fence_ringfence and taken over; then that host comes back.
. "$(dirname "$0")/lab.sh"

pm_cib() {
	cat <<-END
		<cib validate-with="pacemaker-3.8" epoch="1" num_updates="0" admin_epoch="1">
		<configuration>
		<crm_config><cluster_property_set id="p">
			<nvpair id="p-s" name="stonith-enabled" value="true"/>
			<nvpair id="p-u" name="startup-fencing" value="false"/>
			<nvpair id="p-d" name="dc-deadtime" value="3s"/>
		</cluster_property_set></crm_config>
		<nodes/>
		<resources>
		<clone id="vol0-clone">
			<meta_attributes id="c">
				<nvpair id="c-p" name="promotable" value="true"/>
				<nvpair id="c-n" name="notify" value="true"/>
				<nvpair id="c-i" name="interleave" value="true"/>
			</meta_attributes>
			<primitive id="vol0" class="ocf" provider="ringfence" type="volume">
				<instance_attributes id="i">
					<nvpair id="i-v" name="volume" value="$LAB_VOLUME"/>
				</instance_attributes>
				<operations>
					<op id="o-s" name="start" interval="0" timeout="60s"/>
					<op id="o-p" name="promote" interval="0" timeout="60s"/>
					<op id="o-d" name="demote" interval="0" timeout="60s"/>
					<op id="o-o" name="stop" interval="0" timeout="60s"/>
					<op id="o-m" name="monitor" interval="5s" timeout="20s" role="Promoted"/>
					<op id="o-u" name="monitor" interval="7s" timeout="20s" role="Unpromoted"/>
				</operations>
			</primitive>
		</clone>
		<primitive id="fence" class="stonith" type="fence_ringfence">
			<meta_attributes id="f">
				<nvpair id="f-p" name="provides" value="unfencing"/>
			</meta_attributes>
		</primitive>
		<primitive id="user" class="ocf" provider="pacemaker" type="Dummy"/>
		</resources>
		<constraints>
			<rsc_colocation id="l-c" rsc="user" with-rsc="vol0-clone"
				with-rsc-role="Promoted" score="INFINITY"/>
			<rsc_order id="l-o" first="vol0-clone" first-action="promote"
				then="user" then-action="start" kind="Mandatory"/>
		</constraints>
		<fencing-topology>
			<fencing-level id="f-1" target="pm1" index="1" devices="fence"/>
			<fencing-level id="f-2" target="pm2" index="1" devices="fence"/>
			<fencing-level id="f-3" target="pm3" index="1" devices="fence"/>
		</fencing-topology>
		</configuration>
		<status/>
		</cib>
	END
}

for x in corosync pacemakerd cibadmin crm_mon crm_resource crm_attribute; do
	command -v $x >/dev/null || lab_skip "needs $x; run tools/bootstrap"
done
pm_begin 3
for i in 1 2 3; do pm_node $i; done
must 60 "three nodes online" pm_online 1 "pm1 pm2 pm3"

promoted() {
	WHERE=$(pm_promoted "$1" vol0)
	[ -n "$WHERE" ]
}
promoted_on() {
	promoted "$1" && [ "$WHERE" = "pm$2" ]
}
other_promoted() {
	promoted "$1" && [ "$WHERE" != "pm$2" ]
}
unpromoted_on() {
	in_pm "$1" crm_mon -1 | grep -q "Unpromoted: .*pm$2"
}
used_on() {
	in_pm "$1" crm_resource --resource user --locate | grep -q "running on: pm$2 *$"
}
# ringfence and Pacemaker mean the same node, and what needs the volume runs there.
agreed() {
	expect "node $2 leads as ringfence says" in_pm "$2" ringfence is-leader "$LAB_VOLUME"
	must 30 "the user of the volume runs on node $2" used_on "$1" "$2"
	say "$3: node $2, epoch $(in_pm "$2" ringfence --json leader "$LAB_VOLUME" |
		sed -n 's/^ *"epoch": *\([0-9]*\),/\1/p')"
}

# What was unfenced when it joined, and the configuration as Pacemaker judges it.
unfenced() {
	in_pm "$1" stonith_admin --history "pm$2" --verbose >"$LAB/unfenced" 2>&1 &&
		grep -Eq "^(unfencing|on) of pm$2 successful" "$LAB/unfenced"
}
# shown NODE LINE: crm_mon has a line that begins so, after its star.
shown() {
	in_pm "$1" crm_mon -1 | sed 's/^[ *]*//' | grep -Eq -- "^$2"
}
for i in 1 2 3; do
	must 30 "node $i is unfenced before it runs anything" unfenced 1 $i
done
expect_exit 0 in_pm 1 crm_verify --live-check -V
[ ! -s "$LAB/out" ] || lab_fail "crm_verify: $(cat "$LAB/out")"

must 60 "vol0 is promoted" promoted 1
first=${WHERE#pm}
agreed 1 "$first" "promoted"

# An operator wants it elsewhere, and says where.
second=$((first % 3 + 1))
third=$((second % 3 + 1))
expect_exit 0 in_pm 1 crm_resource --move --resource vol0-clone --promoted --node "pm$third"
must 60 "moved to node $third" promoted_on 1 "$third"
agreed 1 "$third" "moved"
expect_exit 0 in_pm 1 crm_resource --clear --resource vol0-clone
must 30 "crm_mon: promoted there" shown 1 "Promoted: \[ pm$third \]"
must 30 "crm_mon: not elsewhere" shown 1 "Unpromoted: \[ $(printf 'pm%s\n' "$first" "$second" | sort | paste -sd ' ') \]"

# The host loses its power.
pm_kill "$third"
must 60 "promoted again" other_promoted "$second" "$third"
last=${WHERE#pm}
agreed "$second" "$last" "after the death of node $third"
expect_exit 0 in_pm "$second" stonith_admin --history "pm$third" --verbose
grep -Eq "^(reboot|off) of pm$third successful" "$LAB/out" || lab_fail "not fenced: $(cat "$LAB/out")"
expect_exit 2 in_pm "$second" fence_ringfence -o status -n "$third"
expect_exit 0 in_pm "$second" fence_ringfence -o status -n "$second"
must 30 "crm_mon: the host is gone" shown "$second" "OFFLINE: \[ pm$third \]"

# It comes back: its order is taken back, it takes part, and leads nothing.
pm_node "$third"
must 60 "three nodes online" pm_online "$second" "pm1 pm2 pm3"
must 60 "node $third takes part" unpromoted_on "$second" "$third"
must 30 "it was unfenced" unfenced "$second" "$third"
expect_exit 0 in_pm "$second" fence_ringfence -o status -n "$third"
expect_exit 1 in_pm "$third" ringfence is-leader "$LAB_VOLUME"
agreed "$second" "$last" "after node $third came back"
in_pm "$second" crm_mon -1
in_pm "$second" crm_mon -1 | grep -i 'failed' && lab_fail "actions failed"
say "pacemaker: promoted, moved, fenced, taken over, unfenced"
