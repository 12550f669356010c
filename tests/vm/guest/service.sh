# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The machine of tests/vm/service. ringfenced.service as it is installed, with everything
# it is denied: the gate (device-mapper), the watchdog, the disks and the hooks' systemctl
# are within its reach all the same; without CAP_SYS_ADMIN they would not be.
. ./lib.sh
load_module
for m in virtio_pci virtio_blk i6300esb; do modprobe $m; done
until_true 5000 test -b /dev/vda || not_ok "no disk"
until_true 5000 test -c /dev/watchdog0 || not_ok "no watchdog"
/bin/ip link set lo up
node_conf vm 1 lo /etc/ringfence/key >/etc/ringfence/ringfence.conf <<-END
	[volume vol0]
	device = /dev/vda
	fence = gate
	gate = vol
	[watchdog]
	mode = required
	device = /dev/watchdog0
END

# ---- process 1 of a system of its own, which sees all of this machine's devices ----

/usr/bin/unshare --pid --mount --fork --kill-child /bin/sh -c '
	mount -t proc proc /proc
	mount -t cgroup2 cgroup /sys/fs/cgroup
	mount -t tmpfs -o mode=755 run /run
	exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console' \
	>/tmp/systemd.log 2>&1 </dev/null &
shell=$!
first() { read -r child _ </proc/$shell/task/$shell/children; echo "$child"; }
inside() { /usr/bin/nsenter -t "$(first)" -m -p /bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
runs() { case $(inside systemctl is-system-running 2>/dev/null) in running | degraded) ;; *) false ;; esac }
until_true 10000 runs && ok "systemd runs" || { not_ok "systemd does not run"; tail -n 30 /tmp/systemd.log; }

# ---- words ----

tell() { inside journalctl --no-pager -o cat -n 25 -u ringfenced.service; tail -n 5 /tmp/systemd.log; }
property() { inside systemctl show -P "$1" ringfenced.service; }
active() { [ "$(inside systemctl is-active "${1:-ringfenced.service}")" = active ]; }
leads() { inside ringfence -q is-leader vol0; }
said() { inside journalctl --no-pager -o cat -u ringfenced.service | grep -q -- "$1"; }
dog() { cat /sys/class/watchdog/watchdog0/state; }
status_of() { inside sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
fencer() { inside pidof ringfence-fencer; }
restarted() { [ "$(property NRestarts)" -gt "$1" ]; }
# leading NAME
leading() {
	until_true 15000 leads && ok "$1: it leads" || { not_ok "$1: it does not lead"; tell; }
	until_true 5000 state_is open && ok "$1: the gate is open" || { not_ok "$1: gate: $(dmsetup status vol)"; tell; }
	is "$1: a write passes" ok "$(io write 0 1)"
	until_true 10000 active ringfence-leader@vol0.target && ok "$1: the target is up" || { not_ok "$1: no target"; tell; }
}

# ---- the unit as it is ----

inside systemctl start ringfenced.service || { not_ok "it starts"; tell; }
leading "started"
is "the watchdog is armed" active "$(dog)"
main=$(property MainPID)
for pid in $main $(fencer); do
	is "process $pid: no new privileges" 1 "$(status_of "$pid" NoNewPrivs)"
	is "process $pid: system calls are filtered" 2 "$(status_of "$pid" Seccomp)"
	is "process $pid: few capabilities" "$(status_of "$main" CapBnd)" "$(status_of "$pid" CapEff)"
done
[ "$(status_of "$main" CapBnd)" != "$(status_of 1 CapBnd)" ] && ok "fewer than process 1" || not_ok "as many capabilities as process 1"
[ "$(status_of "$main" VmLck | tr -dc 0-9)" -gt 1000 ] && ok "memory is locked" || not_ok "memory is not locked"
said 'no real-time\|memory cannot' && not_ok "priority or memory denied" || ok "real time and memory lock are granted"

inside ringfence resign vol0 --wait 10s >/tmp/resign 2>&1
is "resigned: a write is refused" ENODEV "$(io write 0 1)"
leading "again"

# ---- killed: nobody shuts the gate but itself ----

n=$(property NRestarts)
inside kill -KILL "$main"
until_true 5000 restarted "$n" && ok "systemd starts it again" || not_ok "no restart"
leading "after the kill"
inside systemctl stop ringfenced.service
is "stopped: a write is refused" ENODEV "$(io write 0 1)"
is "stopped: the watchdog is disarmed" inactive "$(dog)"

# ---- the same without what device-mapper asks for: these checks can fail ----

# A gate that cannot be asked is not known to be shut: the watchdog would go on and reset us.
sed -i '/^.watchdog.$/,$d' /etc/ringfence/ringfence.conf
inside sh -c 'mkdir -p /run/systemd/system/ringfenced.service.d &&
	printf "[Service]\nCapabilityBoundingSet=~CAP_SYS_ADMIN\n" >/run/systemd/system/ringfenced.service.d/less.conf &&
	systemctl daemon-reload'
inside systemctl start ringfenced.service
until_true 15000 said 'fencer volume=vol0.*CAP_SYS_ADMIN' && ok "without CAP_SYS_ADMIN the fencer says what it may not" ||
	{ not_ok "without CAP_SYS_ADMIN nothing is said"; tell; }
until_true 8000 leads && not_ok "it leads without its gate" || ok "and it does not lead, for longer than a claim takes"
inside journalctl --no-pager -o cat -u ringfenced.service RINGFENCE_EVENT=fencer | tail -n 1 | sed 's/^/# /'
inside systemctl stop ringfenced.service
kill $shell || not_ok "systemd had ended"
