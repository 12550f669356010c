#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# watch: tells a node that moves from one that is silent, shows a claim under way, obeys its
# keys, and gives the terminal back however it ends, also while a disk hangs.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin python3
image=$LAB_DISKS/area
truncate -s 4M "$image"
expect_exit 0 make_area "$image"
seed_past "$image"
seed "$image" slot 0 1 state=0x892f902b generation=3 incarnation=55 host=san-a \
	gate_open=1 leads=1
seed "$image" slot 0 2 state=0x892f902b generation=3 incarnation=56 host=san-b
seed "$image" slot 0 3 generation=9 host=san-c

# No terminal.
expect_exit 64 rf watch "$image"
said 'no terminal: say --once'
expect_exit 2 rf watch --sort size "$image"
expect_exit 2 rf watch --interval 5ms "$image"
(
	for ((n = 20; n < 6000; n++)); do
		"$LAB_BIN/rf-seed" "$image" slot 0 1 seq=$n
		sleep 0.02
	done
) &
LAB_PIDS+=("$!")
expect_exit 0 rf watch --once "$image"
said '^vol0 +11 claimed +1 san-a .* 1 +settled'
said '^ *1 san-a alive +[0-9]+ ms +[0-9]+ ms 0 +0 '
said '^ *2 san-b silent'
said '^ *3 san-c free +- '
seed "$image" ballot 0 3 instance=12 mbal=259 bal=0 value_node=0 value_incarnation=0
expect_exit 0 rf watch --once --interval 100ms "$image"
said 'node 3 tries 12'
seed "$image" ballot 0 3 bal=259 value_node=3 value_incarnation=7
expect_exit 0 rf --json watch --once --interval 100ms --sort worst "$image"
said '"claim": "node 3 votes in 12"'
for key in volume state epoch epoch_str owner host gates_open_on changed_ms node age_ms \
	age_is_lower_bound beat_ms sequence leads hears write_us worst_us health order waiting_ms; do
	said "\"$key\":"
done
rf --json watch --interval 100ms "$image" | head -n 2 >"$LAB/out"
[ "$(grep -c '"schema":1' "$LAB/out")" = 2 ] || lab_fail "not one object a line"

# On a terminal: expect CODE STEPS...
on_terminal() {
	local code=$1
	shift
	"$LAB_ROOT/tests/lib/terminal" "$@" -- "$LAB_BIN/ringfence" watch --interval 100ms \
		"$image" >"$LAB/out" 2>&1 || lab_fail "$*: $(cat "$LAB/out")"
	[ "$(tr '\n' ' ' <"$LAB/out")" = "$code restored " ] ||
		lab_fail "$*: not exit $code with the terminal restored: $(cat "$LAB/out")"
}
on_terminal 0 'see VOLUME' 'see san-a alive' 'key h' 'see next order of the nodes' 'key h' \
	'lose next order of the nodes' 'key s' 'see by age' 'key s' 'see by worst' 'key r' \
	'see by worst reversed' 'key +' 'see every 200 ms' 'key -' 'see every 100 ms' \
	'key ?' 'see interval' 'size 8 40' 'lose WORST' 'key j' 'key k' 'key q'
# However it ends.
on_terminal 143 'see san-a' 'signal TERM'
on_terminal 129 'see san-a' 'signal HUP'
on_terminal 130 'see san-a' 'key '$'\003'
on_terminal 134 'see san-a' 'signal ABRT'
on_terminal 139 'see san-a' 'signal SEGV'
# Stopped and continued: it is there again.
on_terminal 0 'see san-a' 'signal TSTP' 'see '$'\033''[?1049l' 'signal CONT' 'key  ' \
	'see '$'\033''[H' 'key q'

# A disk that hangs is said, and q works.
if command -v nbdfuse >/dev/null && [ -w /dev/fuse ]; then
	lab_path 1 area
	(
		must 60 "the picture to be there" test -e "$LAB/there"
		lab_path_stall 1
		wait_until 60 test -e "$LAB/ended"
		lab_path_go 1
	) &
	helper=$!
	"$LAB_ROOT/tests/lib/terminal" 'see san-a' "touch $LAB/there" \
		'see DISK HAS NOT ANSWERED' 'key h' 'see next order' 'key q' \
		'see '$'\033''[?1049l' "touch $LAB/ended" -- \
		"$LAB_BIN/ringfence" watch --interval 100ms "${LAB_PATH_DEV[1]}" >"$LAB/out" 2>&1
	rc=$?
	touch "$LAB/there" "$LAB/ended"
	wait $helper
	[ $rc = 0 ] || lab_fail "a disk that hangs: $(cat "$LAB/out")"
	[ "$(tr '\n' ' ' <"$LAB/out")" = "0 restored " ] || lab_fail "hung: $(cat "$LAB/out")"
fi
exit 0
