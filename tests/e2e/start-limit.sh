#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 28: a start that has to wait for the former life of its own slot says for
# what and until when, in log, status and to the service manager, whose start limit
# it extends; READY comes when it has joined, not before.
. "$(dirname "$0")/../lib/lab.sh"

command -v python3 >/dev/null || lab_skip "needs python3; run tools/bootstrap"
lab_begin 1
lab_target

# The service manager: notes every message with what the daemon says at that time.
listen() {
	python3 - "$LAB/notify" >"$LAB/told" <<-'END' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		while True:
		    print(s.recv(4096).decode().strip(), flush=True)
	END
	LAB_PIDS+=($!)
	must 30 "the listener" test -S "$LAB/notify"
}
told() {
	grep -q "$1" "$LAB/told"
}

lab_node 1
must 8 "it leads" lab_leads 1
lab_kill_node 1
# Between two words of a life, a mark beside the socket: as after a crash.
listen
export NOTIFY_SOCKET=$LAB/notify
lines=$(lab_lines 1)
lab_node 1
unset NOTIFY_SOCKET
must 5 "it extends its start limit" told '^EXTEND_TIMEOUT_USEC=[1-9]'
must 5 "it says what it waits for" told '^STATUS=.*wait'
must 10 "ready" told '^READY=1'
expect "READY before the wait was over" eval \
	'[ "$(grep -n EXTEND_TIMEOUT "$LAB/told" | head -n 1 | cut -d: -f1)" -lt "$(grep -n READY "$LAB/told" | cut -d: -f1)" ]'
expect "the log says it" lab_said_since 1 "$lines" 'wait'
must 8 "it leads again" lab_leads 1
must 5 "the status says that" told '^STATUS=.*lead'
lab_stop_node 1
must 5 "STOPPING" told '^STOPPING=1'
say "start: $(grep -c EXTEND "$LAB/told") extensions, then READY"
