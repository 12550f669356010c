#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 25 and PROTOCOL §8: hooks in the order of a leadership, a reconcile that
# refuses, a promote that does not end, what went away from it with setsid, work that
# hinders a release, a health command that never returns; hooks that only tell.
. "$(dirname "$0")/../lib/lab.sh"

lab_conf_more() {
	cat <<-END

		[hooks]
		dir = $LAB/hooks$1
		timeout = 20 s
		kill-after = 200 ms

		[health]
		command = test ! -e $LAB/sick$1 || sleep 1000
		interval = 200 ms
		timeout = 100 ms
	END
}

# What every event does; a flag makes one refuse or hang.
hooks_of() {
	mkdir -m 755 "$LAB/hooks$1"
	cat >"$LAB/hooks$1/10-note" <<-END
		#!/bin/sh
		case \$1 in
		pre-campaign | leader-change | fenced | gate-refused | degraded | recovered)
			echo "\$1 \$RINGFENCE_LEADER \$RINGFENCE_PREV_LEADER \$RINGFENCE_REASON" >>"$LAB/tells$1"
			test ! -e "$LAB/\$1-fails$1"
			exit
			;;
		esac
		test \$1 != reconcile || cp "\$RINGFENCE_WORK_FILE" "$LAB/unfinished$1"
		echo "\$1 \$2 \$3 \$4 \$RINGFENCE_REASON" >>"$LAB/events$1"
		echo "heard \$1"
		test ! -e "$LAB/\$1-fails$1" || exit 5
		trap '' TERM
		test ! -e "$LAB/\$1-hangs$1" || setsid sh -c 'setsid sh -c "echo \\\$\\\$ >$LAB/away$1; exec sleep 1000" &'
		while test -e "$LAB/\$1-hangs$1"; do sleep 0.05; done
	END
	chmod 755 "$LAB/hooks$1/10-note"
	: >"$LAB/events$1"
}

# heard NODE EVENT...: these and no others, in this order, since the last time.
heard() {
	local i=$1
	shift
	[ "$(cut -d ' ' -f 1 "$LAB/events$i" | xargs)" = "$*" ]
}

promoted() {
	tail -n 1 "$LAB/events$1" | grep -q ^promote
}

forget() {
	: >"$LAB/events1"
	: >"$LAB/events2"
}

# Every event is counted below: a daemon that gets no CPU for half a second must
# not be taken for dead, so silence is longer here than a loaded machine makes it.
lab_begin 2 --quorum survivors --suspect 1s --isolation 1500ms --lease 5s --slot-timeout 1200ms \
	--inflight 6s
hooks_of 1
hooks_of 2
touch "$LAB/sick2"
lab_target
lab_nodes 1 2

# A health command that never returns: this node does not campaign.
must 15 "node 1 leads" lab_leads 1
must 10 "reconcile, then promote" heard 1 reconcile promote
expect "arguments" grep -q "^promote $LAB_VOLUME leader 1 first$" "$LAB/events1"
must 10 "output in the log" lab_said 1 "hook promote $LAB_VOLUME: heard promote"
expect_exit 0 tool 1 resign "$LAB_VOLUME"
must 10 "demote" heard 1 reconcile promote demote
never 2 "node 2 leads though its check fails" lab_leads 2
must 12 "node 1 leads again" lab_leads 1
must 10 "its hooks ran" promoted 1
rm "$LAB/sick2"
forget

# Clean hand-over: demote here, then reconcile and promote there; unfinished work is
# handed over with it.
expect_exit 0 tool 1 work begin "$LAB_VOLUME" move:3 "segment 3"
must 12 "hand-over" tool 1 handover "$LAB_VOLUME" --to 2
must 10 "node 2 leads" lab_leads 2
must 10 "demote, nothing lost" heard 1 demote
must 10 "reconcile, then promote" heard 2 reconcile promote
grep -Pq '^move:3\t\d+\t1\t1\t\d+\tsegment 3$' "$LAB/unfinished2" ||
	lab_fail "work for the reconcile hook: $(cat "$LAB/unfinished2")"
must 10 "both heard who leads" grep -q "^leader-change 2 . " "$LAB/tells1"
must 10 "both heard who leads" grep -q "^leader-change 2 . " "$LAB/tells2"
forget

# A reconcile that refuses gives the leadership up, before anybody was promoted.
touch "$LAB/reconcile-fails1"
must 12 "hand-over" tool 2 handover "$LAB_VOLUME" --to 1
must 12 "it says so" lab_said 1 "reconcile-failed .* status=5"
must 12 "node 2 leads again" lab_leads 2
must 10 "its hooks ran" promoted 2
expect "never promoted" heard 1 reconcile lost demote
rm "$LAB/reconcile-fails1"
forget

# A promote that ignores SIGTERM still runs when the node resigns: released only
# when it is gone.
touch "$LAB/promote-hangs1"
must 12 "hand-over" tool 2 handover "$LAB_VOLUME" --to 1
must 10 "node 1 leads" lab_leads 1
must 10 "it hangs" heard 1 reconcile promote
must 10 "something of it went away" test -s "$LAB/away1"
start=${EPOCHREALTIME//[!0-9]/}
expect_exit 0 tool 1 resign "$LAB_VOLUME"
took=$(((${EPOCHREALTIME//[!0-9]/} - start) / 1000))
[ $took -ge 200 ] || lab_fail "released after $took ms, before SIGKILL"
expect "what went away is gone before the release" lab_gone "$(cat "$LAB/away1")"
must 10 "SIGKILL" lab_said 1 "hook promote $LAB_VOLUME: did not end at SIGTERM: SIGKILL"
rm "$LAB/promote-hangs1"
must 12 "a leader" lab_led
must 12 "its hooks ran" promoted "$LAB_LEADER"
forget

# Work that ignores SIGTERM: the epoch is released when it is gone, not before.
must 12 "node 1 or 2 leads" lab_led
leader=$LAB_LEADER
other=$((3 - leader))
tool "$leader" run "$LAB_VOLUME" --grace 1 -- \
	sh -c "trap '' TERM; echo \$\$ >$LAB/work; while :; do sleep 0.1; done" >"$LAB/run.log" 2>&1 &
run=$!
LAB_PIDS+=("$run")
must 10 "the work runs" test -s "$LAB/work"
expect_exit 0 tool "$leader" resign "$LAB_VOLUME"
wait $run
[ $? -eq 110 ] || lab_fail "run did not say that the lease was lost: $(cat "$LAB/run.log")"
expect "the work is gone" lab_gone "$(cat "$LAB/work")"
must 12 "the other node leads" lab_leads $other
must 12 "its hooks ran" promoted $other
forget

# Superseded while stopped: lost comes before demote.
leader=$LAB_LEADER
lab_led && leader=$LAB_LEADER
: >"$LAB/tells1"
: >"$LAB/tells2"
lab_signal STOP "$leader" >/dev/null
must 12 "another leader" lab_led_by_other "$leader"
must 12 "a hook hears that it was fenced" grep -q "^fenced . $leader aborted" "$LAB/tells$((3 - leader))"
lab_signal CONT "$leader" >/dev/null
must 12 "lost, then demote" heard "$leader" lost demote
# pre-campaign: this node abstains while the hook says no, and asks it again.
for i in 1 2; do
	lab_stop_node $i
	sed -i "/^kill-after/a pre-campaign = yes" "$LAB/node$i.conf"
	touch "$LAB/pre-campaign-fails$i"
done
: >"$LAB/tells1"
lab_nodes 1
must 15 "it is asked" grep -q ^pre-campaign "$LAB/tells1"
must 12 "it abstains" lab_said 1 "pre-campaign volume=$LAB_VOLUME status=1"
expect_exit 124 tool 1 wait --leader --timeout 1s "$LAB_VOLUME"
rm "$LAB/pre-campaign-fails1"
must 15 "it leads with consent" lab_leads 1
say "hooks: reconcile promote demote lost, run, health"
