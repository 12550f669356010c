# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # leader, other, before are of sanlab.sh
# Sourced by tests/vm/san: what storage of any kind is put through.

# ---- the doctor ----

finding() { # NODE NAME REGEX: one of the findings of the last doctor
	grep -Eq "^$3" <<<"$SAID" && echo "ok doctor: $2" || { fail "doctor: $2"; sed 's/^/    # /' <<<"$SAID"; }
}
# ---- somebody loses a volume: what all of it has in common ----

# After something was done to the leader, the other writes. Remembers what the old one
# has on the medium.
other_takes() { # NAME [VOLUME]
	check "$1: the other takes over" 60 one_is "$other" "${2:-vol0}" || return 1
	echo "# $1: takeover $(cost "$other")"
	was=$(region "${2:-vol0}" "$leader")
	tried=$(refused "$leader" "${2:-vol0}")
	led=$(cost "$leader")
}
one_is() { writes "$1" "$2" && [ "$(cost "$1")" != "$cost_before" ]; }
# The old one goes on, is refused, and nothing of it has landed.
old_is_refused() { # NAME [VOLUME]
	check "$1: the old one goes on and is refused" 120 more_refused "$leader" $((tried + 20)) "${2:-vol0}"
	if [ "$was" = "$(region "${2:-vol0}" "$leader")" ]; then
		echo "ok $1: stale_writes_landed=0 of $(($(refused "$leader" "${2:-vol0}") - tried)) tried"
	elif [ "$led" != "$(cost "$leader")" ]; then
		fail "$1: node $leader has taken over again" "too busy a machine for the timings of the area?"
	else
		fail "$1: a stale write landed in the region of node $leader"
	fi
	before=$(accepted "$other" "${2:-vol0}")
	check "$1: the new leader goes on writing" 20 goes_on "$other" "${2:-vol0}"
}
begin_with() { # [VOLUME]
	check "one writes to ${1:-vol0}" 60 one_writes "${1:-vol0}" || return 1
	cost_before=$(cost "$other")
	check "node $other has joined" 60 joined "$other"
}

# ---- scenarios ----

freeze() {
	begin_with || return
	monitor "$leader" stop
	other_takes freeze
	monitor "$leader" cont
	old_is_refused freeze
}

# The writes that the old leader had sent are held in its path, and come out later.
cut_session() {
	begin_with || return
	link "$leader" off
	other_takes "session cut"
	link "$leader" on
	old_is_refused "session cut"
}

# The storage stands still until who led has given up; when it goes on, both claim at once.
both_claim() {
	begin_with || return
	local losses
	losses=$(times_lost "$leader")
	cost_before=$(costs)
	monitor target stop
	check "both claim: nobody leads while the storage stands still" 60 lost_more "$losses"
	monitor target cont
	check "both claim: somebody claimed, one writes" 60 claimed_anew
	before=$(accepted_by_both vol0)
	check "both claim: and goes on, whoever leads" 60 goes_on_with vol0
	check "both claim: one writes in the end" 60 one_writes
}
accepted_by_both() { echo $(($(accepted 1 "$1") + $(accepted 2 "$1"))); }
goes_on_with() { [ "$(accepted_by_both "$1")" -gt $((before + 20)) ]; }
times_lost() { said "$1" | grep -c ' losing volume=vol0 '; }
lost_more() { [ "$(times_lost "$leader")" -gt "$1" ]; }
claimed_anew() { [ "$(costs)" != "$cost_before" ] && one_writes; }
costs() { cost 1 && cost 2; }

crash() {
	begin_with || return
	kill -9 "$(cat "$log/$series-$HOST-$leader.pid")"
	other_takes crash
	end_vm "$leader"
	boot_node "$leader"
	check "crash: the machine is back" 150 listens "$leader"
	on "$leader" "begin; writers"
	check "crash: its writer is refused" 60 is_refused "$leader"
	judge_from_start "$leader"
	check "crash: it has joined" 60 joined "$leader"
}

# What the kernel gate's lab does to a node (tests/vm/guest/cluster.sh), here at the array.
cluster() {
	local f
	for f in kill stop orphan stop_daemon stall resign cut; do
		begin_with || return
		"fault_$f"
	done
	check "cluster: one writes in the end" 60 one_writes
}
fault_kill() {
	on "$leader" 'kill -9 $(whole)'
	other_takes "kill -9 of daemon and fencers"
	old_is_refused "kill -9 of daemon and fencers"
	on "$leader" begin
}
fault_stop() {
	on "$leader" 'kill -STOP $(whole)'
	other_takes "SIGSTOP past the lease"
	old_is_refused "SIGSTOP past the lease"
	on "$leader" 'kill -CONT $(whole)'
}
fault_orphan() {
	on "$leader" "kill -9 \$daemon"
	other_takes "kill -9 of the daemon alone"
	old_is_refused "kill -9 of the daemon alone"
	on "$leader" begin
}
fault_stop_daemon() {
	on "$leader" "kill -STOP \$daemon"
	other_takes "SIGSTOP of the daemon alone"
	old_is_refused "SIGSTOP of the daemon alone"
	on "$leader" "kill -CONT \$daemon"
}
fault_stall() { # the quorum disk and all else of this host hang
	link "$leader" off
	other_takes "a stalled path"
	link "$leader" on
	old_is_refused "a stalled path"
}
fault_resign() {
	on "$leader" "tool resign vol0"
	other_takes "resign"
	old_is_refused "resign"
}
fault_cut() { # who leads may go on leading
	net "$leader" off
	lasts 3
	check "network cut: one writes" 60 one_writes
	before=$(accepted "$leader")
	check "network cut: and goes on" 20 goes_on "$leader"
	net 1 on
	net 2 on
}
joined() { on "$1" "tool status" && [[ $SAID =~ follower ]]; }

# ---- all of them ----

run_scenarios() { # NAME...
	local begin so_far s n v
	check "the other has joined" 60 joined "$other" || exit 1
	judge_anew
	for s in "$@"; do
		begin=$SECONDS
		so_far=$failed
		failed=0
		$s
		[ $failed = 0 ] && echo "ok $LAB/$s ($((SECONDS - begin)) s)" || echo "not ok $LAB/$s"
		failed=$((failed | so_far))
	done
	machines_good
	[ "$(count 7 1)$(count 7 2)" != 00 ] || fail "somebody judged" "no writer knew that its node leads"
	for n in 1 2; do
		for v in vol0 vol1 vol2; do
			[ "$(stale_of $n $v)$(count 6 $n $v)" = 00 ] || fail "node $n judged $v" "$(said $n | grep "$v STALE" | tail -n 3)"
		done
	done
}
