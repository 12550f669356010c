#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# State and work: acknowledged under a valid lease only, found by every later leader
# and on the disk; unfinished work survives its leader, and is counted when repeated.
# limit: 120
. "$(dirname "$0")/../lib/lab.sh"

# keys NODE JSON-KEY: its values in the work list of the leader, on one line.
keys() {
	tool "$1" --json work list "$LAB_VOLUME" | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" | xargs
}

# The reconcile hook of node 2 ends one piece of what its predecessor left.
lab_conf_more() {
	[ "$1" = 2 ] || return 0
	cat <<-END
		[hooks]
		dir = $LAB/hooks
	END
}

lab_begin 2 --quorum survivors
mkdir -m 755 "$LAB/hooks"
cat >"$LAB/hooks/10-end" <<END
#!/bin/sh
[ "\$1" = reconcile ] || exit 0
grep -q left "\$RINGFENCE_WORK_FILE" || exit 0
"$LAB_BIN/ringfence" --socket "$LAB/node2.sock" work end "\$2" left:1
END
chmod 755 "$LAB/hooks/10-end"
lab_target
lab_nodes 1
must 8 "node 1 leads" lab_leads 1

# Nothing yet; then bytes of any kind come back as they were.
expect_exit 0 tool 1 state get "$LAB_VOLUME"
[ ! -s "$LAB/out" ] || lab_fail "a state out of nothing: $(cat "$LAB/out")"
head -c 5000 /dev/urandom >"$LAB/blob"
expect_exit 0 tool 1 state put "$LAB_VOLUME" "$LAB/blob"
tool 1 state get "$LAB_VOLUME" | cmp - "$LAB/blob" || lab_fail "not what was put"
echo short | tool 1 state put "$LAB_VOLUME" || lab_fail "put from stdin"
[ "$(tool 1 state get "$LAB_VOLUME")" = short ] || lab_fail "the older one is still there"

# What cannot be: too long, another epoch, nonsense.
head -c 6000 /dev/zero >"$LAB/long"
expect_exit 2 tool 1 state put "$LAB_VOLUME" "$LAB/long"
grep -q 'has room for' "$LAB/out" || lab_fail "does not say how much: $(cat "$LAB/out")"
head -c 70000 /dev/zero >"$LAB/long"
expect_exit 2 tool 1 state put "$LAB_VOLUME" "$LAB/long"
expect_exit 110 tool 1 state put --epoch 77 "$LAB_VOLUME" "$LAB/blob"
expect_exit 105 tool 1 state put other "$LAB/blob"
expect_exit 64 tool 1 state fetch "$LAB_VOLUME"
expect_exit 2 tool 1 work begin "$LAB_VOLUME" 'no spaces'
expect_exit 2 tool 1 work begin "$LAB_VOLUME" id $'two\nlines'
expect_exit 1 tool 1 work end "$LAB_VOLUME" unknown

# Work of this leader; many at once are one after the other.
[ "$(tool 1 work begin "$LAB_VOLUME" copy:7 'copy of segment 7')" = begun ] || lab_fail "begin"
[ "$(tool 1 work begin "$LAB_VOLUME" copy:7)" = "begun before" ] || lab_fail "begun twice"
pids=()
for id in a b c d e f; do
	tool 1 work begin "$LAB_VOLUME" "$id" >/dev/null &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || lab_fail "one of six at once: exit $?"
done
for id in a b c d e f; do
	expect_exit 0 tool 1 work end "$LAB_VOLUME" "$id"
done
[ "$(keys 1 id)" = copy:7 ] || lab_fail "list: $(keys 1 id)"
for ((i = 1; i < 16; i++)); do
	expect_exit 0 tool 1 work begin "$LAB_VOLUME" "w$i"
done
expect_exit 75 tool 1 work begin "$LAB_VOLUME" one-too-many
for ((i = 1; i < 16; i++)); do
	expect_exit 0 tool 1 work end "$LAB_VOLUME" "w$i"
done
[ "$(tool 1 state get "$LAB_VOLUME")" = short ] || lab_fail "work changed the state"

# A follower reads the disks, and says so when asked; as the leader it can not speak.
lab_node 2
must 8 "node 2 follows" lab_knows 2 1
[ "$(tool 2 state get "$LAB_VOLUME")" = short ] || lab_fail "state by a follower"
tool 2 -v state get "$LAB_VOLUME" 2>&1 | grep -q 'read from the quorum disks' || lab_fail "does not say whence"
[ "$(keys 2 id)" = copy:7 ] || lab_fail "work by a follower: $(keys 2 id)"
tool 2 --json work list "$LAB_VOLUME" >"$LAB/follower"
tool 1 --json work list "$LAB_VOLUME" | cmp - "$LAB/follower" || lab_fail "they differ"
for ((i = 0; i < 20; i++)); do # what was acknowledged is found by whoever asks afterwards
	echo "$i" | tool 1 state put "$LAB_VOLUME" || lab_fail "put $i"
	[ "$(tool 2 state get "$LAB_VOLUME")" = "$i" ] || lab_fail "an old state after $i"
done
echo short | tool 1 state put "$LAB_VOLUME" || lab_fail "put"
pids=()
for ((i = 0; i < 8; i++)); do
	tool 2 state get "$LAB_VOLUME" >"$LAB/many$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || lab_fail "one of eight at once: exit $?"
done
cat "$LAB"/many? | sort | uniq -c | grep -q '8 short' || lab_fail "not all the same"
expect_exit 110 tool 2 state get --epoch 1 "$LAB_VOLUME"
expect_exit 110 tool 2 work list --epoch 1 "$LAB_VOLUME"
expect_exit 0 tool 1 work list --epoch 1 "$LAB_VOLUME"
expect_exit 110 tool 2 state put "$LAB_VOLUME" "$LAB/blob"
expect_exit 110 tool 2 work begin "$LAB_VOLUME" x
[ "$(tool 2 -q state get --device "$LAB_AREA" "$LAB_VOLUME")" = short ] || lab_fail "state of the disk"
tool 2 work list --device "$LAB_AREA" "$LAB_VOLUME" | grep -q 'copy:7 .*copy of segment 7' ||
	lab_fail "work of the disk"
expect_exit 105 tool 2 state get --device "$LAB_AREA" other

expect_exit 0 tool 1 work begin "$LAB_VOLUME" left:1

# The leader dies over its work: the next one finds both, and begins it again.
lab_kill_node 1
must 8 "node 2 leads" lab_leads 2
[ "$(tool 2 state get "$LAB_VOLUME")" = short ] || lab_fail "the next leader has another state"
[ "$(keys 2 node) $(keys 2 times)" = "1 1" ] || lab_fail "work of node 1: $(keys 2 node)"
[ "$(tool 2 work begin "$LAB_VOLUME" copy:7)" = repeated ] || lab_fail "not counted as repeated"
[ "$(keys 2 node) $(keys 2 times)" = "2 2" ] || lab_fail "now node 2's: $(keys 2 times)"
[ "$(keys 2 text)" = "copy of segment 7" ] || lab_fail "its text: $(keys 2 text)"
expect "in the log" lab_said 2 "id=copy:7: begun again"
tool 2 metrics >"$LAB/figures"
grep -q "^ringfence_work_repeated_total{volume=\"$LAB_VOLUME\"} 1\$" "$LAB/figures" || lab_fail "not in the figures"
grep -q "^ringfence_work_unfinished{volume=\"$LAB_VOLUME\"} 1\$" "$LAB/figures" || lab_fail "not unfinished"
expect_exit 0 tool 2 work end "$LAB_VOLUME" copy:7
expect_exit 0 tool 2 work list "$LAB_VOLUME"
[ ! -s "$LAB/out" ] || lab_fail "work out of nothing: $(cat "$LAB/out")"
say "state and work: kept over a death"
