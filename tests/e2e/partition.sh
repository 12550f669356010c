#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 21: a follower that hears nobody, or that nobody hears, or that loses
# 40 % does not displace the leader; a leader cut off from both others resigns
# or is displaced, and its writer is refused.
. "$(dirname "$0")/../lib/lab.sh"

epoch() {
	tool "$1" --json leader "$LAB_VOLUME" | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p' | head -n 1
}

lab_begin 3
lab_target
lab_work --stale
leader=$LAB_LEADER
follower=$((leader % 3 + 1))
before=$(epoch "$leader")

moved() {
	[ "$(epoch "$leader")" != "$before" ] || lab_lost "$leader"
}

lab_cut $follower in
never 1 "a follower that hears nobody displaced the leader" moved
lab_cut $follower out
never 1 "a follower that nobody hears displaced the leader" moved
lab_lossy $follower 40
never 1 "loss of 40 % displaced the leader" moved
lab_heal $follower

lab_cut "$leader"
mark=$(lab_mark)
must 6 "the larger side writes" lab_wrote_since "$mark"
say "cut node $leader: $LAB_GAP"
lab_heal "$leader"
must 5 "one leader" lab_led
lab_check
