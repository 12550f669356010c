#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The night shift of README.md: an alert, then status, history, timeline and dump. Real
# daemons live through a bad night; each command must name what happened. The transcript is
# left in build/night-shift.txt, the picture beside it.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
hosts=(- san-a san-b san-c)

# Each node has a host name of its own.
lab_node() {
	local i=$1
	[ -f "$LAB/node$i.conf" ] || lab_conf "$i" >"$LAB/node$i.conf"
	# shellcheck disable=SC2016 # for the shell inside
	ip netns exec "$LAB_TAG-n$i" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' - \
		"${hosts[i]}" "$LAB_BIN/ringfenced" --config "$LAB/node$i.conf" \
		--socket "$(lab_socket "$i")" >>"$LAB/node$i.log" 2>&1 &
	LAB_DAEMON[$i]=$!
	LAB_PIDS+=($!)
}

transcript=$LAB_BUILD/night-shift.txt
picture=$LAB_BUILD/night-shift.svg

# shown NODE COMMAND...: runs it as the person on duty would, and keeps both.
shown() {
	local node=$1 words
	shift
	words="$*"
	words=${words//$LAB_AREA/\/dev\/mapper\/san}
	words=${words//$picture/night.svg}
	printf '\n%s# ringfence %s\n' "${hosts[node]}" "$words" >>"$transcript"
	expect_exit 0 tool "$node" "$@"
	sed "s,$LAB_AREA,/dev/mapper/san,g" "$LAB/out" >>"$transcript"
}

told() {
	grep -Eq -- "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}

changed() {
	lab_led_by_other "$1"
}

lab_begin 3
rm -f "$transcript" "$picture"
lab_nodes 1 2 3
must 10 "a first leader" lab_led

# The night: a planned hand-over, a host that dies, a host that freezes.
first=$LAB_LEADER
second=$((first % 3 + 1))
must 10 "node $second knows the leader" lab_knows $second "$first"
must 8 "a hand-over" tool "$first" handover "$LAB_VOLUME" --to $second
must 10 "node $second to lead" lab_leads $second
lab_kill_node $second
must 15 "a leader after the crash" changed $second
third=$LAB_LEADER
line=$(lab_lines $second)
lab_node $second
must 15 "the host is back" lab_said_since $second "$line" ' joined '
must 15 "node $third leads" lab_leads "$third"
lab_signal STOP "$third" >/dev/null
must 15 "a leader after the freeze" changed "$third"
fourth=$LAB_LEADER
lab_signal CONT "$third" >/dev/null
must 15 "the frozen host notices" lab_lost "$third"
must 15 "node $fourth leads" lab_leads "$fourth"

# The alert (RingfenceLeaderChanges) and what it counts.
expect_exit 0 tool "$fourth" metrics
{
	printf 'ALERT RingfenceLeaderChanges: volume %s changes its leader again and again\n' \
		"$LAB_VOLUME"
	grep '^ringfence_leader_changes_seen_total' "$LAB/out"
} >>"$transcript"
told '^ringfence_leader_changes_seen_total'

shown "$fourth" status
told "$LAB_VOLUME"
shown "$fourth" history "$LAB_AREA"
told "^$LAB_VOLUME: epoch [0-9]+, claimed by node $fourth\$"
told " $second ${hosts[second]} .*handover +no-word"
told " $third ${hosts[third]} .*silence "
told " $fourth ${hosts[fourth]} .*silence +leads"
COLUMNS=100 shown "$fourth" timeline "$LAB_AREA"
told '^nobody +.*!'
shown "$fourth" timeline --svg "$picture" "$LAB_AREA"
[ -s "$picture" ] || lab_fail "no picture"
shown "$fourth" dump --record claims "$LAB_AREA"
told "owner +$fourth\$"
told 'state +claimed'
shown "$fourth" verify "$LAB_AREA"
told '^good'
exit 0
