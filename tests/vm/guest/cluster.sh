# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 900
# Three nodes with the real daemon, each with its own gate over its own path to one
# shared disk, in network namespaces of one VM. One application per node writes
# through its gate and does not stop when its leadership ends. Faults; then stamps on the
# disk and logs must agree (tests/lib/check.c); there is one clock here.
. ./lib.sh
load_module
[ -x /bin/ringfenced ] && [ -x /bin/ip ] || { skip "cluster: no ringfenced or ip in this image"; exit 0; }
ip() { /bin/ip "$@"; } # busybox would take its own
modprobe veth
modprobe bridge
mkdir -p /tmp/rf /var/run /run

ip netns add b
ip -n b link add br0 type bridge mcast_snooping 0
ip -n b link set br0 up
ringfence keygen /tmp/rf/key >/tmp/rf/keygen.log 2>&1 || { not_ok "keygen"; cat /tmp/rf/keygen.log; }
# shellcheck disable=SC2046 # words are wanted
ringfence --json format --cluster vm --nodes 3 --volume vol0 --yes $(timing) /dev/ram0 >/tmp/rf/format.log 2>&1 ||
	{ not_ok "format"; cat /tmp/rf/format.log; }
offset=$(sed -n 's/.*"data_offset_bytes": \([0-9]*\).*/\1/p' /tmp/rf/format.log)

for i in 1 2 3; do
	ip netns add n$i
	ip link add eth0 netns n$i type veth peer name p$i netns b
	ip -n b link set p$i master br0 up
	ip -n n$i addr add 10.99.0.$i/24 dev eth0
	ip -n n$i link set eth0 up
	ip -n n$i link set lo up
	echo "0 1048576 linear /dev/ram0 0" | dmsetup create low$i && dmsetup mknodes low$i
	node_conf vm $i eth0 /tmp/rf/key >/tmp/rf/$i.conf <<-END
		[volume vol0]
		device = /dev/mapper/low$i
		area = /dev/mapper/low$i
		fence = gate
		gate = gate$i
	END
done

start_node() {
	/bin/ip netns exec n$1 ringfenced --config /tmp/rf/$1.conf --socket /tmp/rf/$1.sock >>/tmp/rf/$1.log 2>&1 &
	echo $! >/tmp/rf/$1.pid
}
node_pid() { cat /tmp/rf/$1.pid; }
leads() { timeout $((2 * SLOW)) ringfence --socket /tmp/rf/$1.sock is-leader vol0 >/dev/null 2>&1; }
# sets $leader, to a node other than $1
find_leader() {
	for i in 1 2 3; do
		[ "$i" != "$1" ] && leads $i && { leader=$i; return 0; }
	done
	return 1
}
# wait_leader NAME LIMIT_MS [NOT]
wait_leader() {
	begin=$(clock)
	if until_true "$2" find_leader "$3"; then
		ok "$1: node $leader leads after $((($(clock) - begin) / 1000000)) ms"
	else
		not_ok "$1: nobody leads"
		for i in 1 2 3; do tail -n 4 /tmp/rf/$i.log; done
		dmsetup status
	fi
}
writes_at() { [ "$(dmsetup status gate$1 | tr ' ' '\n' | sed -n 's/^admitted=//p')" -gt "${2:-0}" ]; }
writing() { until_true 8000 writes_at $leader && ok "$1: its application writes" || not_ok "$1: its application does not write"; }
# the daemon and its helpers
children() { for p in /proc/[0-9]*; do [ "$(awk '/^PPid/{print $2}' $p/status 2>/dev/null)" = "$1" ] && echo "${p#/proc/}"; done; }

for i in 1 2 3; do start_node $i; done
for i in 1 2 3; do
	until_true 8000 test -b /dev/mapper/gate$i && ok "node $i has its gate" || { not_ok "node $i has no gate"; tail -n 12 /tmp/rf/$i.log; exit 1; }
	rf-writer --socket /tmp/rf/$i.sock --volume vol0 --to /dev/mapper/gate$i --log /tmp/rf/$i.writes \
		--pause-us 5000 --stale 2>>/tmp/rf/$i.writer.log &
	echo $! >/tmp/rf/writer$i.pid
done
faults=0
cuts=0
hosts_of() { echo "$(node_pid $1) $(children "$(node_pid $1)")"; }

fault_kill() { # kill -9 of the leader's daemon and its helpers
	pids=$(hosts_of $old)
	kill -9 $pids
	wait_leader "kill -9 of daemon and fencer" 30000 $old
	start_node $old
}
fault_stop() { # they stop for longer than a lease, and go on
	pids=$(hosts_of $old)
	kill -STOP $pids
	wait_leader "SIGSTOP past the lease" 30000 $old
	is "SIGSTOP: the gate shut without its daemon" shut "$(field state gate$old)"
	kill -CONT $pids
}
fault_orphan() { # kill -9 of the daemon alone: its fencer shuts the gate at once
	kill -9 "$(node_pid $old)"
	shut_now() { [ "$(field state gate$old)" = shut ]; }
	until_true 2000 shut_now && is "kill -9 of the daemon alone: its fencer revoked" revoked "$(field why gate$old)" ||
		not_ok "kill -9 of the daemon alone: gate$old is $(field state gate$old)"
	wait_leader "kill -9 of the daemon alone" 30000 $old
	start_node $old
}
fault_fencer() { # its fencer alone dies: the one that comes after it shuts the gate for good
	for p in $(children "$(node_pid $old)"); do
		tr '\0' ' ' <"/proc/$p/cmdline" | grep -q 'fencer gate ' && kill -9 "$p"
	done
	wait_leader "kill -9 of the fencer alone" 30000 $old
	is "kill -9 of the fencer alone: the gate shut" shut "$(field state gate$old)"
}
fault_freeze() { # the daemon alone stops; its fencer goes on
	pid=$(node_pid $old)
	kill -STOP $pid
	wait_leader "SIGSTOP of the daemon alone" 30000 $old
	is "SIGSTOP of the daemon alone: the gate shut" shut "$(field state gate$old)"
	kill -CONT $pid
}
fault_stall() { # its path to the disk hangs
	dmsetup suspend --nolockfs low$old
	wait_leader "a stalled path" 30000 $old
	dmsetup resume low$old
}
fault_cut() { # no network for a while; the disk still works
	cuts=$((cuts + 1)) # who leads may lead again afterwards
	/bin/ip -n b link set p$old down
	lasts 3000 # more than isolation and a lease
	wait_leader "network cut off" 30000
	/bin/ip -n b link set p$old up
}
fault_resign() {
	timeout $((10 * SLOW)) ringfence --socket /tmp/rf/$old.sock resign vol0 >/tmp/rf/resign.log 2>&1
	wait_leader "resign" 30000 $old
}
# A fault for the leader of the moment; then somebody writes again.
inject() {
	until_true 30000 find_leader || { not_ok "$1: nobody leads before"; return; }
	old=$leader
	faults=$((faults + 1))
	fault_$1
	writing "$1"
	until_true 20000 agreed || not_ok "$1: the nodes do not agree that node $leader leads"
}
# All daemons are back, and know who leads.
agreed() {
	find_leader || return 1
	for i in 1 2 3; do
		timeout $((2 * SLOW)) ringfence --socket /tmp/rf/$i.sock leader vol0 2>/dev/null | grep -q "^node $leader " || return 1
	done
}

wait_leader "start" 15000
writing "start"
minutes=$(sed -n 's/.*rf.minutes=\([0-9]*\).*/\1/p' /proc/cmdline)
if [ -z "$minutes" ]; then
	for f in ${FAULTS:-kill stop orphan fencer freeze stall cut resign}; do inject $f; done
else
	end=$(($(clock) + minutes * 60000000000))
	while [ "$(clock)" -lt $end ]; do
		case $(($(od -An -N2 -tu2 /dev/urandom) % 8)) in
		0) inject kill ;;
		1) inject stop ;;
		2) inject stall ;;
		3) inject cut ;;
		4) inject resign ;;
		5) inject orphan ;;
		6) inject freeze ;;
		7) inject fencer ;;
		esac
	done
fi

writer_gone() { ! kill -0 "$(cat /tmp/rf/writer$1.pid)" 2>/dev/null; }
for i in 1 2 3; do kill "$(cat /tmp/rf/writer$i.pid)"; done
for i in 1 2 3; do until_true 30000 writer_gone $i || not_ok "application $i does not end"; done
for i in 1 2 3; do kill -TERM "$(node_pid $i)" 2>/dev/null; done
wait
rf-check --device /dev/ram0 --offset "$offset" --blocks 64 /tmp/rf/*.writes >/tmp/rf/verdict &&
	ok "stamps and logs agree" || { not_ok "stamps and logs agree"; head -n 30 /tmp/rf/verdict; }
sum=$(tail -n 1 /tmp/rf/verdict)
count() { echo " $sum" | sed -n "s/.* $1=\([0-9]*\).*/\1/p"; }
rf-gap --changes /tmp/rf/*.writes >/tmp/rf/changes
changes=$(grep -c . /tmp/rf/changes)
echo "# $sum"
within "writes that were refused after a leadership" 1 100000000 "$(count refused)"
within "leaderships that wrote" $((faults - cuts - 1)) 100000 "$changes"
echo "# torture: failovers=$changes faults=$faults stale_writes_landed=$(count stale_landed) acknowledged_lost=$(count acknowledged_lost)"
over() { dmsetup status gate$1 | grep -Eq 'state=(shut|closed)'; }
for i in 1 2 3; do
	until_true 5000 over $i && ok "node $i ends with its gate shut or closed" || { not_ok "node $i ends with its gate shut or closed"; dmsetup status gate$i; }
	dmsetup remove --retry gate$i || not_ok "gate$i is still in use"
	dmsetup remove --retry low$i 2>/dev/null || not_ok "low$i is still in use"
done
unload_module
