#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Figures: every one is there and moves with what happens; over HTTP and in a
# textfile; what alerts and dashboard ask for exists; nothing when the daemon hangs.
. "$(dirname "$0")/../lib/lab.sh"

command -v curl >/dev/null || lab_skip "needs curl; run tools/bootstrap"

lab_conf_more() {
	cat <<-END

		[hooks]
		dir = $LAB/hooks
	END
}

# exporter NODE: in the node's namespace, on a port of the kernel's choice.
exporter() {
	ip netns exec "$LAB_TAG-n$1" "$LAB_BIN/ringfence-exporter" --socket "$(lab_socket "$1")" \
		--listen 127.0.0.1:0 >"$LAB/exporter$1.log" 2>&1 &
	LAB_PIDS+=($!)
	must 5 "exporter of node $1" grep -q ', port ' "$LAB/exporter$1.log"
	PORT[$1]=$(sed -n 's/.*, port //p' "$LAB/exporter$1.log")
}
declare -A PORT

# get NODE PATH: prints the body; CODE has the status.
get() {
	CODE=$(in_node "$1" curl -s -m 10 -o "$LAB/body" -w '%{http_code}' \
		"http://127.0.0.1:${PORT[$1]}$2")
	cat "$LAB/body"
}

code() {
	get "$1" "$2" >/dev/null
	[ "$CODE" = "$3" ]
}

# figure NODE SERIES: its value; series are matched by name and all labels given.
figure() {
	tool "$1" metrics >"$LAB/figures" || return 1
	awk -v s="$2" 'index($0, s) == 1 { print $NF; exit }' "$LAB/figures"
}

# above NODE SERIES VALUE
above() {
	local v
	v=$(figure "$1" "$2")
	awk -v a="${v:-nan}" -v b="$3" 'BEGIN { exit !(a > b) }'
}

lab_begin 4 --voters 1-3
LAB_N=3 # the fourth has no vote and is not there
mkdir -m 755 "$LAB/hooks"
printf '#!/bin/sh\nexit 0\n' >"$LAB/hooks/10-good"
chmod 755 "$LAB/hooks/10-good"
lab_target
lab_nodes 1 2 3
lab_writers --stale
must 8 "a first leader" lab_led
first=$LAB_LEADER
must 3 "it writes" lab_wrote
v="{volume=\"$LAB_VOLUME\""

# The leader's figures.
expect "is_leader" above "$first" "ringfence_is_leader$v" 0
expect "gate_open" above "$first" "ringfence_gate_open$v" 0
expect "epoch" above "$first" "ringfence_epoch$v" 0
expect "election won" above "$first" "ringfence_elections_total$v,result=\"won\"" 0
expect "election timed" above "$first" "ringfence_election_duration_seconds_sum$v" 0
must 5 "renewals are counted" above "$first" "ringfence_lease_renewals_total$v,result=\"ok\"" 4
expect "renewals are timed" above "$first" "ringfence_lease_renewal_duration_seconds_sum$v" 0
expect "lease" above "$first" "ringfence_lease_remaining_seconds$v" 0
expect "margin" above "$first" "ringfence_lease_margin_min_seconds$v" -1
expect "grant" above "$first" "ringfence_fence_operations_total$v,way=\"grant\",result=\"ok\"" 0
must 3 "hooks" above "$first" "ringfence_hook_runs_total$v,event=\"promote\",result=\"ok\"" 0
must 5 "round trips" above "$first" ringfence_peer_rtt_seconds_count 0
expect "loop" above "$first" ringfence_loop_delay_seconds_count 0
must 12 "writes" above "$first" "ringfence_gate_requests_total$v,verdict=\"admitted\"" 0

# A follower's: who leads, and when it was heard and seen. Nothing is left over.
other=$((first % 3 + 1))
must 5 "has_leader" above "$other" "ringfence_has_leader$v" 0
[ "$(figure "$other" "ringfence_is_leader$v")" = 0 ] || lab_fail "two are leaders"
for source in network disk; do
	expect "seen by $source" eval "tool $other metrics | grep -E 'ringfence_peer_last_seen_seconds.*source=\"$source\"'"
done
[ "$(figure "$first" "ringfence_work_unfinished$v")" = 0 ] || lab_fail "work out of nothing"
expect_exit 0 tool "$first" work begin "$LAB_VOLUME" job
expect "work" above "$first" "ringfence_work_unfinished$v" 0
expect_exit 0 tool "$first" work end "$LAB_VOLUME" job
[ "$(figure "$first" ringfence_watchdog_armed)" = 0 ] || lab_fail "a watchdog out of nothing"

# A datagram that nobody sealed, by reason; one that cannot be sent.
printf 'nonsense' | in_node "$other" timeout 5 bash -c "cat >/dev/udp/10.99.0.$first/7411"
must 5 "refused datagrams" above "$first" 'ringfence_messages_rejected_total{reason="short"}' 0
lab_cut "$other" out
must 5 "sends that fail" above "$other" ringfence_heartbeat_send_failures_total 0
lab_heal "$other"

# Over HTTP.
for i in 1 2 3; do
	exporter $i
done
other=$((first % 3 + 1))
expect "200 at the leader" code "$first" "/leader/$LAB_VOLUME" 200
expect "503 elsewhere" code "$other" "/leader/$LAB_VOLUME" 503
expect "404 for a volume that is not there" code "$other" /leader/nothing 404
expect "404 for a path that is not there" code "$other" /etc/passwd 404
expect "200" code "$other" / 200
get "$first" /metrics >"$LAB/scrape"
expect "metrics over HTTP" grep -q "^ringfence_is_leader$v} 1\$" "$LAB/scrape"
for x in all:3 good:3 needed:2; do # only who votes counts
	must 8 "voters ${x%:*}" eval \
		"tool $first metrics | grep -q '^ringfence_quorum{.*of=\"nodes\",what=\"${x%:*}\"} ${x#*:}\$'"
done
expect "405" [ "$(in_node "$other" curl -s -m 10 -o /dev/null -w '%{http_code}' -d x=1 \
	"http://127.0.0.1:${PORT[$other]}/metrics")" = 405 ]

# Every name of the one list is there, and only those; each line has the form.
sed -n 's/^\tX([A-Z_]*, "\([a-z_]*\)", .*/ringfence_\1/p' \
	"$LAB_ROOT/include/ringfence/metrics.h" | sort >"$LAB/names"
expect "names" diff "$LAB/names" <(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$LAB/scrape" | sort)
! grep -vE '^(# (HELP|TYPE) ringfence_|ringfence_[a-z_]+(\{[a-z0-9_]+="[^"]*"(,[a-z0-9_]+="[^"]*")*\})? -?[0-9.]+$)' \
	"$LAB/scrape" || lab_fail "a line that is no figure"
tool "$first" metrics >"$LAB/figures"
for x in scrape figures; do
	"$LAB_ROOT/tests/alerts/promtool" check metrics <"$LAB/$x" >"$LAB/lint" 2>&1
	rc=$?
	[ $rc -ne 77 ] || lab_skip "$(tail -n 1 "$LAB/lint")"
	[ $rc -eq 0 ] || lab_fail "promtool: $(cat "$LAB/lint")"
done

# What alerts and dashboard ask for exists.
expect_exit 0 "$LAB_ROOT/tests/alerts/asked" "$LAB/scrape" \
	"$LAB_ROOT"/tools/grafana/ringfence-{alerts.yml,dashboard.json}

# A death: the next leader knows how long it took, and that stale writes were refused.
lab_signal STOP "$first" >/dev/null
must 8 "somebody else leads" lab_led_by_other "$first"
second=$LAB_LEADER
expect "200 at the new leader" code "$second" "/leader/$LAB_VOLUME" 200
expect "failover" above "$second" "ringfence_failover_duration_seconds_sum$v" 0.05
expect "leaders" above "$second" "ringfence_leader_changes_seen_total$v" 1
must 12 "refused" above "$second" "ringfence_gate_requests_total$v,verdict=\"refused\"" 0
must 12 "stale ones, by their name" above "$second" "ringfence_gate_refused_total$v,reason=\"stale\"" 0

# A daemon that hangs: its exporter says so, nobody believes that it leads.
expect "503 while it hangs" code "$first" "/leader/$LAB_VOLUME" 503
expect "503 for figures of one that hangs" code "$first" /metrics 503
expect "no body of figures" [ "$(cat "$LAB/body")" = "the daemon does not answer" ]
lab_signal CONT "$first" >/dev/null

# Textfile: whole, readable, and gone when there is nobody to ask.
expect_exit 0 tool "$second" metrics --textfile "$LAB/node.prom"
expect "textfile" grep -q "^ringfence_is_leader$v} 1\$" "$LAB/node.prom"
expect "mode" [ "$(stat -c %a "$LAB/node.prom")" = 644 ]
lab_kill_node "$second"
expect_exit 69 tool "$second" metrics --textfile "$LAB/node.prom"
expect "a file of a dead daemon" [ ! -e "$LAB/node.prom" ]
lab_check
