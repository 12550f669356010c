#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor: what is right, and what is wrong with disks, identity, timing, watchdog and
# network. CASES 21: it names the direction that fails. It changes nothing.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=expiry
lab_begin 2 --quorum survivors
doctor() {
	local i=$1
	shift
	ip netns exec "$LAB_TAG-n$i" "$LAB_BIN/ringfence" --socket "$(lab_socket "$i")" doctor "$@"
}
said() {
	grep -Eq -- "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}
hears() { # NODE OTHER
	doctor "$1" --config "$LAB/node$1.conf" | grep -q "^PASS multicast *node $2 .*heard both ways"
}

# Without a daemon.
lab_conf 1 >"$LAB/node1.conf"
sum=$(cksum <"$LAB_DISKS/shared")
expect_exit 0 doctor 1 --config "$LAB/node1.conf"
said '^WARN daemon .*not running'
said "^PASS area +$LAB_AREA: disk 1 of 1, 2 nodes, 1 volumes"
said "^PASS sectors +$LAB_AREA: logical 512"
said "^(PASS|WARN) latency +$LAB_AREA: worst "
said '^WARN fence +vol0: advisory only'
said '^PASS mtu +eth0: 1500'
said '^SKIP multicast .*does not beat'
said '^WARN watchdog +off'
[ "$sum" = "$(cksum <"$LAB_DISKS/shared")" ] || lab_fail "it wrote to the disk"

# With both: both directions, then one that fails, seen from either end.
lab_nodes 1 2
must 8 "a leader" lab_led
must 8 "both ways, seen by node 1" hears 1 2
must 8 "both ways, seen by node 2" hears 2 1
expect_exit 0 doctor 1 --config "$LAB/node1.conf"
said '^PASS daemon .*has joined'
lab_cut 2 in
must 8 "it names the direction" eval \
	"doctor 1 --config '$LAB/node1.conf' | grep -q 'FAIL multicast *node 2 .*from here to there.*node 2 does not hear node 1'"
must 8 "seen from the other end" eval \
	"doctor 2 --config '$LAB/node2.conf' | grep -q 'FAIL multicast *node 1 .*from there to here.*node 2 does not hear node 1'"
expect_exit 1 doctor 1 --json --config "$LAB/node1.conf"
said '"schema": 1'
said '"verdict": "FAIL"'
lab_heal 2

# What cannot work is a FAIL and exit 1.
expect_exit 1 doctor 1 --config "$LAB/none.conf"
said '^FAIL config .*none.conf'
wrong() { # WORDS SED
	sed "$2" "$LAB/node1.conf" >"$LAB/wrong.conf"
	expect_exit 1 doctor 1 --config "$LAB/wrong.conf"
	said "$1"
}
wrong '^FAIL area .*cluster .lab.* says .other' 's/^name = lab/name = other/'
wrong '^FAIL area .*made for nodes 1 to 2, this one is 3' 's/^node-id = 1/node-id = 3/'
wrong '^FAIL interface +eth9: there is none' 's/^interface = .*/interface = eth9/'
wrong '^FAIL volume +vol9: no readable volume' 's/^\[volume vol0/[volume vol9/'
wrong '^FAIL key .*no-key' "s,^key-file = .*,key-file = $LAB/no-key,"
lab_disk empty 16
for fences in 'reservation, gate' 'gate, reservation'; do # both are looked at, in any order
	wrong '^[A-Z]+ gate +dm-ringfence' "s/^fence = .*/fence = $fences/; s,^device = .*,device = $LAB_DEV,"
	said '^FAIL reservation .*no persistent reservations: command not known'
done
wrong "^FAIL area +$LAB_DEV: no ringfence area" "s,^area = .*,area = $LAB_DEV,"
wrong "^FAIL device +$LAB/no-disk: No such file" "s,^area = .*,area = $LAB/no-disk,"
printf '[watchdog]\nmode = required\ndevice = %s/no-dog\n' "$LAB" >"$LAB/dog"
cat "$LAB/node1.conf" "$LAB/dog" >"$LAB/wrong.conf"
expect_exit 1 doctor 1 --config "$LAB/wrong.conf"
said '^FAIL watchdog +.*no-dog: there is none, and it is required'
in_node 1 ip link set eth0 mtu 1300
expect_exit 0 doctor 1 --config "$LAB/node1.conf"
said '^WARN mtu +eth0: 1300 bytes'
losetup -r -f --show "$LAB_DISKS/shared" >"$LAB/ro" || lab_skip "no loop device is free"
LAB_LOOPS+=("$(cat "$LAB/ro")")
wrong "^FAIL device +$(cat "$LAB/ro"): is write-protected" "s,^area = .*,area = $(cat "$LAB/ro"),"
