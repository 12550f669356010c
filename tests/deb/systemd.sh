#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 240
# CASES 17, 28. The packages under a real systemd: the service with all it is told
# and tells, what its sandbox leaves, the leader's target and what is bound to it,
# reload, restarts, the watchdog; an upgrade of a daemon that leads; nothing left.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/machine.sh"

leader_target="ringfence-leader@$LAB_VOLUME.target"

# ---- words ----

unit_is() {
	[ "$(in_machine systemctl is-active "$1")" = "$2" ]
}
# property UNIT NAME: its value.
property() {
	in_machine systemctl show -P "$2" "$1"
}
daemon_pid() {
	property ringfenced.service MainPID
}
status_says() {
	[[ $(property ringfenced.service StatusText) =~ $1 ]]
}
leads_here() {
	in_machine ringfence -q is-leader "$LAB_VOLUME"
}
leads_not_here() {
	! leads_here
}
restarts() {
	[ "$(property ringfenced.service NRestarts)" -gt "$1" ]
}
epoch_here() {
	in_machine ringfence --json leader "$LAB_VOLUME" | sed -n 's/^ *"epoch": *\([0-9]*\),.*/\1/p'
}
said_in_journal() {
	in_machine journalctl --no-pager -o cat -u ringfenced.service | grep -Eq -- "$1"
}
# What depends on the leadership, and lets it go only when the file is there.
let_go() {
	in_machine touch /run/let-go
}
hold() {
	in_machine rm -f /run/let-go
}
up_here() {
	must 15 "$1: this host leads" leads_here
	must 15 "$1: the target is up" unit_is "$leader_target" active
	must 15 "$1: what is bound to it is up" unit_is app.service active
}
down_here() {
	must 15 "$1: the target is down" unit_is "$leader_target" inactive
	expect "$1: what was bound to it is down" unit_is app.service inactive
}
process_status() {
	in_machine sed -n "s/^$1:[[:space:]]*//p" "/proc/$(daemon_pid)/status"
}
led() {
	leads_here || lab_leads 2
}
# Wherever it is led now.
lead_here() {
	must 20 "$1: somebody leads" led
	leads_here || must 15 "$1: a hand-over back" tool 2 handover "$LAB_VOLUME" --to 1
	up_here "$1"
}
# How often what is bound has stopped: a unit that is down is soon forgotten.
stops() {
	in_machine sh -c 'wc -l </run/app-stops'
}
stopped_after() {
	[ "$(stops)" -gt "$1" ]
}
# dies HOW WORDS: the daemon ends, systemd ends what depended on it, starts it again.
dies() {
	local n down
	n=$(property ringfenced.service NRestarts)
	down=$(stops)
	in_machine kill "-$1" "$(daemon_pid)"
	must 15 "$2: systemd starts it again" restarts "$n"
	must 15 "$2: what is bound to the target was stopped" stopped_after "$down"
	must 20 "$2: active again" unit_is ringfenced.service active
}

# ---- a machine, a first leadership ----

debs=$LAB_BUILD/deb
next=$LAB_BUILD/deb-next
for x in "$debs"/ringfence_*.deb "$next"/ringfence_*.deb; do
	[ -f "$x" ] || lab_skip "needs $x; run make check-deb"
done
# Not as fast as it can: a host that builds packages beside this must not look dead.
lab_begin 2 --quorum survivors --heartbeat 200ms --suspect 1500ms --isolation 2s --lease 2s
lab_target
machine_root
mkdir "$LAB"/{debs,next}
cp "$debs"/*.deb "$LAB/debs/"
cp "$next"/*.deb "$LAB/next/"
machine_boot "$LAB_TAG-n1"
machine_device "$LAB_AREA"
in_machine sh -c 'cd /etc && find . | sort' >"$LAB/before"

wanted="ringfence ringfence-agents"
expect_exit 0 in_machine sh -c 'cd /mnt/lab/debs && dpkg -i ringfence_*.deb ringfence-agents_*.deb'
expect "not started by its installation" unit_is ringfenced.service inactive
expect "the group" in_machine getent group ringfence
lab_conf 1 | sed "s,$LAB/,/mnt/lab/,g" >"$LAB/ringfence.conf"
in_machine cp /mnt/lab/ringfence.conf /etc/ringfence/ringfence.conf
in_machine sh -c 'cat >/etc/systemd/system/app.service' <<-END
	[Unit]
	BindsTo=$leader_target
	After=$leader_target
	[Service]
	ExecStart=/bin/sleep infinity
	ExecStopPost=/bin/sh -c 'echo stopped >>/run/app-stops'
	ExecStop=/bin/sh -c 'until [ -e /run/let-go ]; do sleep 0.05; done'
	[Install]
	WantedBy=$leader_target
END
in_machine sh -c 'printf "#!/bin/sh\ncat /proc/self/cgroup >/run/hook-cgroup\n" \
	>/etc/ringfence/hooks.d/10-where && chmod 755 /etc/ringfence/hooks.d/10-where'
expect_exit 0 in_machine systemctl enable app.service
in_machine rmdir /run/ringfence # as after `make install`: the daemon makes one for its group
in_machine touch /run/app-stops /run/let-go
expect_exit 0 in_machine systemctl enable --now ringfenced.service ringfence-exporter.service
expect "READY" unit_is ringfenced.service active
up_here "at first"
must 5 "STATUS" status_says '^leader of vol0, epoch 1, margin [0-9]+ ms$'
in_machine systemctl status ringfenced.service --no-pager -n 0
explained() {
	in_machine journalctl --no-pager -x RINGFENCE_EVENT=active RINGFENCE_VOLUME="$LAB_VOLUME" RINGFENCE_EPOCH=1 |
		grep -q "Subject: This node leads volume $LAB_VOLUME, epoch 1\$"
}
must 5 "fields in the journal, and what journalctl -x says" explained
said_by() {
	in_machine journalctl --no-pager -o json RINGFENCE_EVENT=joined | jq -r '._SYSTEMD_UNIT, .SYSLOG_IDENTIFIER' |
		paste -sd ' '
}
expect "as the unit" [ "$(said_by)" = "ringfenced.service ringfenced" ]
must 5 "figures over HTTP" in_machine curl -sf -o /dev/null "http://127.0.0.1:9847/leader/$LAB_VOLUME"
in_machine sh -c 'echo "OPTIONS=\"--listen 10.99.0.1:9847\"" >/etc/default/ringfence-exporter'
expect_exit 0 in_machine systemctl restart ringfence-exporter.service
must 5 "figures from elsewhere" in_node 2 curl -sf -o /dev/null "http://10.99.0.1:9847/leader/$LAB_VOLUME"

# ---- the sandbox: closed, but not to disks, multicast, memory lock, real time ----

expect "no new privileges" [ "$(process_status NoNewPrivs)" = 1 ]
expect "a filter of system calls" [ "$(process_status Seccomp)" = 2 ]
expect "memory is locked" [ "$(process_status VmLck | tr -dc 0-9)" -gt 1000 ]
expect "hooks in a cgroup of their own" in_machine grep -q 'ringfenced.service/.' /run/hook-cgroup
expect "real time" in_machine sh -c "chrt -p $(daemon_pid) | grep -Eq 'SCHED_(RR|FIFO)'"
lab_node 2
must 10 "node 2 follows" tool 2 leader "$LAB_VOLUME"
must 5 "node 2 hears this host by multicast" eval "tool 2 metrics |
	grep -Eq '^ringfence_peer_last_seen_seconds.*node=\"1\".*source=\"network\"\\} 0'"
in_machine systemd-analyze security --no-pager ringfenced.service | tail -n 1

# ---- a leadership that ends ----

hold
# 75: node 2 cannot be handed to yet; 124: under way.
handing_over() {
	in_machine ringfence handover "$LAB_VOLUME" --to 2 --wait 100ms >"$LAB/handover" 2>&1
	[ $? -eq 124 ]
}
must 15 "a hand-over begins" handing_over
must 10 "what is bound is told to stop" unit_is app.service deactivating
expect "the gate is shut meanwhile" leads_not_here
never 1 "released before what was bound to it had stopped" said_in_journal 'released volume=.* epoch=1 '
let_go
must 10 "then node 2 leads" lab_leads 2
down_here "handed over"
lead_here "back"

# ---- reload, kill, stand still ----

before=$(daemon_pid)
in_machine sh -c 'printf "[log]\nlevel = debug\n" >/etc/ringfence/conf.d/level.conf'
expect_exit 0 in_machine systemctl reload ringfenced.service
must 5 "reloaded" said_in_journal '^reloaded applied=[1-9]'
in_machine sh -c 'printf "[log]\nlevel = shrill\n" >/etc/ringfence/conf.d/level.conf'
expect_exit 1 in_machine systemctl reload ringfenced.service
must 5 "the mistake with file and line" said_in_journal 'conf.d/level.conf:2'
in_machine rm /etc/ringfence/conf.d/level.conf
expect_exit 0 in_machine systemctl reload ringfenced.service
expect "the same daemon" [ "$(daemon_pid)" = "$before" ]
expect "which still leads" leads_here

dies KILL "killed"
lead_here "after a restart"

# A start that takes longer than the limit, because this life watches the slot of the
# last one, and asks for more time. A short watchdog.
in_machine sh -c 'mkdir /run/systemd/system/ringfenced.service.d &&
	printf "[Service]\nTimeoutStartSec=1500ms\nWatchdogSec=2\n" \
	>/run/systemd/system/ringfenced.service.d/short.conf'
expect_exit 0 in_machine systemctl daemon-reload
dies KILL "killed, and slow to start"
took=$((($(property ringfenced.service ActiveEnterTimestampMonotonic) - \
	$(property ringfenced.service ExecMainStartTimestampMonotonic)) / 1000))
say "EXTEND_TIMEOUT_USEC: a start of $took ms with a limit of 1500 ms"
expect "longer than the limit" [ $took -gt 1500 ]
lead_here "after a long start"
n=$(property ringfenced.service NRestarts)
lab_last 3
expect "petted" [ "$(property ringfenced.service NRestarts)" = "$n" ]
dies STOP "standing still"
must 5 "by the watchdog" eval "in_machine journalctl --no-pager -u ringfenced.service |
	grep -q 'Watchdog timeout'"
in_machine rm -r /run/systemd/system/ringfenced.service.d
expect_exit 0 in_machine systemctl daemon-reload
lead_here "after the watchdog"

# ---- upgraded under a leadership ----

in_machine sh -c 'echo "# mine" >>/etc/ringfence/ringfence.conf && echo "# mine" >>/etc/ringfence/hooks.d/50-systemd'
old=$(daemon_pid)
epoch=$(epoch_here)
hold
in_machine sh -c 'cd /mnt/lab/next && dpkg -i ringfence_*.deb ringfence-agents_*.deb' \
	>"$LAB/upgrade" 2>&1 </dev/null &
upgrade=$!
LAB_PIDS+=("$upgrade")
must 30 "an upgrade stops what is bound" unit_is app.service deactivating
never 1 "the epoch is released before it has stopped" said_in_journal "released volume=.* epoch=$epoch "
let_go
wait $upgrade || lab_fail "upgrade: $(cat "$LAB/upgrade")"
expect "the new daemon runs" unit_is ringfenced.service active
expect "it is another one" [ "$(daemon_pid)" != "$old" ]
version=$(dpkg-deb -f "$next"/ringfence_*.deb Version)
must 5 "the new version" said_in_journal "ringfenced $version "
expect "left in order, not run out" eval "'$LAB_BIN/ringfence' history '$LAB_AREA' >'$LAB/history' &&
	grep -Eq '^ +$epoch +1 .* shutdown ' '$LAB/history'"
expect "configuration kept" in_machine grep -q '^# mine' /etc/ringfence/ringfence.conf
expect "hook kept" in_machine grep -q '^# mine' /etc/ringfence/hooks.d/50-systemd
expect "no question" [ -z "$(in_machine find /etc/ringfence -name '*.dpkg-*')" ]
must 5 "the exporter is new, too" eval "in_machine readlink /proc/\$(property ringfence-exporter.service MainPID)/exe |
	grep -qx /usr/sbin/ringfence-exporter"
lead_here "after the upgrade"

# ---- removed, purged ----

# shellcheck disable=SC2086
expect_exit 0 in_machine dpkg -r $wanted
must 10 "node 2 leads" lab_leads 2
for x in ringfenced ringfence-exporter; do
	expect "$x is gone" [ "$(property $x.service ActiveState)" = inactive ]
	expect "no process of $x" [ -z "$(in_machine sh -c "cat /proc/[0-9]*/comm | grep -x $x")" ]
done
down_here "removed"
# shellcheck disable=SC2086
expect_exit 0 in_machine dpkg -P $wanted
in_machine rm -r /etc/ringfence /etc/default/ringfence-exporter /etc/systemd/system/app.service \
	"/etc/systemd/system/$leader_target.wants"
in_machine sh -c 'cd /etc && find . | sort' | diff "$LAB/before" - >"$LAB/left" ||
	lab_fail "left behind: $(cat "$LAB/left")"
say "systemd: ready, words, sandbox, target, kill, watchdog, upgrade, purge"
