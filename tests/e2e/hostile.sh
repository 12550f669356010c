#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 22: datagrams that are short, oversized, random, and replayed do not
# change anything; each is counted with its reason.
. "$(dirname "$0")/../lib/lab.sh"

rejected() {
	tool 1 --json status | sed -n 's/.*"datagrams_rejected": *\([0-9]*\).*/\1/p' | head -n 1
}

throw() {
	in_node 2 bash -c 'cat >/dev/udp/10.99.0.1/7411' 2>/dev/null
}

lab_begin 3
lab_target
lab_work
leader=$LAB_LEADER
before=$(rejected)
for n in 0 1 7 16 63 200 1400 1401 9000; do
	head -c $n /dev/urandom | throw
	head -c $n /dev/zero | throw
done
seen() {
	[ "$(rejected)" -ge $((${before:-0} + 8)) ]
}
must 3 "hostile datagrams are counted" seen
never 1 "hostile datagrams ended a leadership" lab_lost "$leader"
for i in 1 2 3; do
	lab_alive "${LAB_DAEMON[$i]}" || lab_fail "daemon $i died"
done
lab_check
