#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands answer on a healthy daemon; asked of one that hangs, each says so by itself
# (`make bench-commands` says after how long). The live status and the events.
. "$(dirname "$0")/../lib/lab.sh"
. "$(dirname "$0")/../lib/commands.sh"

lab_begin 1
lab_target
lab_nodes 1
must 8 "a leader" lab_led
printf 'blob' >"$LAB/blob"
expect_exit 0 tool 1 state put "$LAB_VOLUME" "$LAB/blob"

while read -r -a words; do
	expect_exit 0 tool 1 "${words[@]}"
done < <(lab_commands)

# Live: drawn again at an event and every second; events as one JSON object a line.
tool 1 --json status -w >"$LAB/live" 2>&1 &
LAB_PIDS+=($!)
tool 1 events --follow >"$LAB/events" 2>&1 &
LAB_PIDS+=($!)
must 5 "first picture" grep -q '"role":"active"' "$LAB/live"
must 10 "it is drawn again" eval '[ "$(wc -l <"$LAB/live")" -ge 3 ]'
expect_exit 0 tool 1 resign "$LAB_VOLUME"
must 8 "it leads again" lab_leads 1
must 5 "the change is in the events" grep -q '"event":"leader"' "$LAB/events"
must 5 "and in the picture" grep -q '"epoch":2,' "$LAB/live"
jq -es 'all(.[]; .schema == 1) and any(.[]; .text // "" | test("released volume=vol0")) and
	([.[].sequence] | . == sort)' "$LAB/events" >/dev/null ||
	lab_fail "events: $(head -n 3 "$LAB/events")"

# It hangs.
lab_signal STOP 1 >/dev/null
# hung NUMBER COMMAND...: asked at the same time as the others.
hung() {
	local n=$1
	shift
	timeout -k 1 15 "$LAB_BIN/ringfence" --socket "$(lab_socket 1)" "$@" >"$LAB/hung$n" 2>&1 </dev/null
	echo "exit $? $*" >>"$LAB/hung$n"
}
asked=()
while read -r -a words; do
	hung ${#asked[@]} "${words[@]}" &
	asked+=($!)
done < <(lab_commands && lab_commands_more)
wait "${asked[@]}"
for ((i = 0; i < ${#asked[@]}; i++)); do
	grep -Eq 'did not answer within 800 ms|does not accept connections' "$LAB/hung$i" &&
		grep -q '^exit 69 ' "$LAB/hung$i" || lab_fail "$(cat "$LAB/hung$i")"
done
must 5 "the live status ends and says why" grep -Eq 'did not answer|does not accept' "$LAB/live"
lab_signal CONT 1 >/dev/null
must 8 "a leader" lab_led
say "answers: healthy, live, hanging"
