#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 28, and what a service manager hears: what a start waits for and for how
# long, ready, the leadership in words, the watchdog, the end. The hook of the
# leader's target; the udev rule.
. "$(dirname "$0")/../lib/lab.sh"

command -v python3 >/dev/null || lab_skip "needs python3; run tools/bootstrap"

# Stands for the manager: each datagram becomes one line, its newlines become "|".
listen() {
	python3 -u - "$LAB/notify" >"$LAB/heard" 2>"$LAB/listener.log" <<-'END' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		while True:
		    print(s.recv(4096).decode().replace("\n", "|"))
	END
	LAB_PIDS+=($!)
	must 30 "a manager listens" test -S "$LAB/notify"
}

heard() {
	grep -Eq -- "$1" "$LAB/heard"
}

# heard_since LINE PATTERN
heard_since() {
	tail -n "+$(($1 + 1))" "$LAB/heard" | grep -Eq -- "$2"
}

lines() {
	wc -l <"$LAB/heard"
}

# First line after LINE with that pattern.
where() {
	tail -n "+$(($1 + 1))" "$LAB/heard" | grep -nE -- "$2" | head -n 1 | cut -d : -f 1
}

lab_begin 1
listen
export NOTIFY_SOCKET=$LAB/notify WATCHDOG_USEC=400000
lab_target
lab_nodes 1
must 8 "READY" heard '^READY=1$'
must 8 "the leadership in words" heard '^STATUS=leader of vol0, epoch 1, margin [0-9]+ ms$'
must 5 "the watchdog" heard '^WATCHDOG=1$'
expect "only known assignments" [ -z "$(grep -vE \
	'^(READY=1|STOPPING=1|WATCHDOG=1|STATUS=[^|]*|EXTEND_TIMEOUT_USEC=[0-9]+)$' "$LAB/heard")" ]

# It dies; the next life says what it waits for, is given time, and is not ready before.
lab_kill_node 1
from=$(lines)
lab_node 1
must 8 "a start that waits says for what" heard_since "$from" \
	'^STATUS=joining: watching this node.s slot for [0-9]+ ms more$'
must 8 "and asks for time" heard_since "$from" '^EXTEND_TIMEOUT_USEC=1[5-9][0-9]{6}$'
must 12 "READY of the next life" heard_since "$from" '^READY=1$'
[ "$(where "$from" '^STATUS=joining')" -lt "$(where "$from" '^READY=1')" ] ||
	lab_fail "ready before it waited"
must 8 "it leads again" heard_since "$from" '^STATUS=leader of vol0, epoch 2, '

from=$(lines)
lab_stop_node 1
must 3 "STOPPING" heard_since "$from" '^STOPPING=1$'
must 3 "time to leave" heard_since "$from" '^EXTEND_TIMEOUT_USEC=[0-9]+$'
expect "leaving in words" heard_since "$from" '^STATUS=leaving'
unset NOTIFY_SOCKET WATCHDOG_USEC

# The hook, with a systemctl that notes what it is told.
mkdir "$LAB_DISKS/bin"
cat >"$LAB_DISKS/bin/systemctl" <<-END
	#!/bin/sh
	echo "\$*" >>"$LAB/told"
END
printf '#!/bin/sh\necho "ringfence-leader@$2.target"\n' >"$LAB_DISKS/bin/systemd-escape"
chmod 755 "$LAB_DISKS"/bin/*
hook() {
	unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs run /run && mkdir -p /run/systemd/system &&
		PATH=$1:$PATH exec "$2" "$3" vol0 leader 7' hook "$LAB_DISKS/bin" "$LAB_ROOT/tools/systemd/50-systemd" "$1"
}
for event in reconcile promote leader-change lost demote; do
	hook $event || lab_fail "hook $event: exit $?"
done
[ "$(tr '\n' ';' <"$LAB/told")" = "--no-block start ringfence-leader@vol0.target;stop \
ringfence-leader@vol0.target;stop ringfence-leader@vol0.target;" ] ||
	lab_fail "the hook told: $(cat "$LAB/told")"

# The rule, as udev reads it.
if command -v udevadm >/dev/null; then
	sed "s,@BINDIR@,$LAB_BIN," "$LAB_ROOT/tools/udev/61-ringfence.rules" >"$LAB/61-ringfence.rules"
	rule() {
		unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs run /run && mkdir -p /run/udev/rules.d &&
			cp "$1" /run/udev/rules.d/ && udevadm test --action=add "/sys/block/$(basename "$2")"' \
			rule "$LAB/61-ringfence.rules" "$1"
	}
	rule "$LAB_AREA" >"$LAB/rule" 2>&1
	grep -q '^ID_FS_TYPE=ringfence_member' "$LAB/rule" || lab_fail "rule: $(tail -n 20 "$LAB/rule")"
	grep -q '^UDISKS_IGNORE=1' "$LAB/rule" || lab_fail "rule: $(tail -n 20 "$LAB/rule")"
	! grep -q '61-ringfence.rules.*\(nvalid\|rror\|nknown\)' "$LAB/rule" || lab_fail "$(cat "$LAB/rule")"
	lab_disk empty 8
	rule "$LAB_DEV" >"$LAB/rule" 2>&1
	! grep -q 'ringfence_member' "$LAB/rule" || lab_fail "an empty disk is a member"
else
	say "rule not tried: no udevadm (package udev)"
fi
say "service: ready, words, watchdog, time; hook; rule"
