#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An area on three quorum disks: one of them hangs for everybody, and nothing
# happens; a leader is killed meanwhile and another one follows. A second one
# hangs: nobody leads. Both come back, and so does a leader. CASES 11: a disk of
# another area among the three is refused, and named.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
devs=()
for q in 1 2 3; do
	truncate -s 16M "$LAB_DISKS/quorum$q"
	lab_path $q "quorum$q"
	devs+=("${LAB_PATH_DEV[$q]}")
done
LAB_PATH_DEV=()
dd if=/dev/zero of="$LAB_DATA" bs=1M count=2 conv=notrunc,fsync 2>/dev/null
LAB_AREA=$(IFS=,; say "${devs[*]}")
lab_format "${devs[0]}" "${devs[1]}" "${devs[2]}" --reserve whole
LAB_OFFSET=${LAB_OFFSET:-0}
lab_target
lab_work
leader=$LAB_LEADER

other=$((leader % 3 + 1))
reads() {
	[ "$(tool "$other" state get "$LAB_VOLUME")" = kept ]
}
echo kept | tool "$leader" state put "$LAB_VOLUME" || lab_fail "state put"
expect "node $other reads the state" reads
lab_path_stall 3
never 2 "one of three disks hangs, and the leader lost" lab_lost "$leader"
for ((i = 0; i < 40; i++)); do # more than there are buffers: each disk has one at most
	expect "node $other reads the state on two disks" reads
done
lab_kill_node "$leader"
must 6 "another node writes, on two disks" lab_wrote_since "$LAB_MARK"
say "two disks: $LAB_GAP"

lab_path_stall 2
second=$(sed -n 's/.*node=\([0-9]*\).*/\1/p' <<<"$LAB_GAP")
must 4 "nobody leads on one disk of three" lab_said "$second" ' losing .*cause=expired'
third=$((6 - second - leader))
expect_exit 74 tool "$third" state get "$LAB_VOLUME"
grep -q 'most quorum disks cannot be read' "$LAB/out" || lab_fail "says: $(cat "$LAB/out")"
mark=$(lab_mark)
lab_path_go 2
lab_path_go 3
must 6 "somebody writes when the disks are back" lab_wrote_since "$mark"
say "back: $LAB_GAP"

lab_disk foreign 16
foreign=$LAB_DEV
"$LAB_BIN/ringfence" format --cluster lab --nodes 3 --volume "$LAB_VOLUME" --reserve whole \
	--profile fast "$foreign" >/dev/null 2>&1 || lab_fail "format of another area"
sed "s|^area = .*|area = ${devs[0]},${devs[1]},$foreign|" <(lab_conf "$leader") >"$LAB/node$leader.conf"
lab_node "$leader"
must 5 "a daemon with a disk of another area ends" lab_gone "${LAB_DAEMON[$leader]}"
wait "${LAB_DAEMON[$leader]}" && lab_fail "a disk of another area: exit 0"
tail -n 1 "$LAB/node$leader.log"
lab_said "$leader" "error .*$foreign" || lab_fail "it does not name $foreign"
unset "LAB_DAEMON[$leader]"
lab_check
