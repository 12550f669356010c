#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# PROTOCOL §2.5: a life may die while its very first slot write is under way; then the
# disk says FREE and the write may still land. What the disk cannot tell, the host's
# mark does: the next life waits. One that left cleanly does not have to.
. "$(dirname "$0")/../lib/lab.sh"

slot() { # the stride of node 1's slot: the first behind the superblock
	dd if="$LAB_AREA" of="$LAB/slot" bs=4096 skip=1 count=1 iflag=direct status=none
}

mark() {
	compgen -G "$LAB/life-*-1" >/dev/null
}

lab_begin 1
lab_target
slot
cp "$LAB/slot" "$LAB/free"

lab_node 1
must 8 "it joins" lab_said 1 ' joined '
lab_said 1 ' join-wait ' && lab_fail "a first life waited for an earlier one"
mark || lab_fail "a life that runs has no mark beside its socket"
lab_stop_node 1
mark && lab_fail "a life that left cleanly has left its mark"

line=$(lab_lines 1)
lab_node 1
must 8 "it joins again" lab_said_since 1 "$line" ' joined '
lab_said_since 1 "$line" ' join-wait ' && lab_fail "it waited after a clean end"
lab_kill_node 1
mark || lab_fail "the mark went with a life that was killed"
slot
cmp -s "$LAB/slot" "$LAB/free" && lab_fail "this is not node 1's slot: it never changed"

# as if the write that said JOINED were still under way somewhere
dd if="$LAB/free" of="$LAB_AREA" bs=4096 seek=1 count=1 oflag=direct conv=notrunc status=none
line=$(lab_lines 1)
lab_node 1
must 3 "it says that it waits" lab_said_since 1 "$line" ' join-wait '
must 8 "it joins after that" lab_said_since 1 "$line" ' joined '
lab_stop_node 1
mark && lab_fail "the mark of the crashed life outlived a clean end"

# A life that is ended from outside has not left: its last writes may still land.
line=$(lab_lines 1)
lab_node 1
must 8 "it joins once more" lab_said_since 1 "$line" ' joined '
lab_signal STOP 1 >/dev/null
lab_format "$LAB_AREA" --force
lab_signal CONT 1 >/dev/null
must 8 "it ends: this is no longer its area" lab_gone "${LAB_DAEMON[1]}"
mark || lab_fail "the mark went with a life that did not leave"
exit 0
