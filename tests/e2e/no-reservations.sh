#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fence = reservation on a device that knows none: the node says so at its start and does
# not lead the volume; nor does `doctor` let it pass. With another way behind it the volume
# is led, status says what that is worth, and the fence that is of no use holds up no end.
. "$(dirname "$0")/../lib/lab.sh"

LAB_FENCE=reservation
lab_begin 1
lab_disk data 16
LAB_DATA=$LAB_DEV
lab_nodes 1
must 8 "it says what is missing, and what to do" lab_said 1 \
	'error fencer volume=vol0 driver=reservation: cannot start: .*knows no persistent reservations: use another device or fence'
must 8 "it joins" lab_said 1 ' joined '
never 2 "a volume is led without the only fence that it has" lab_led
expect_exit 1 tool 1 doctor --config "$LAB/node1.conf"
grep -q '^FAIL reservation .*no persistent reservations' "$LAB/out" || lab_fail "doctor: $(cat "$LAB/out")"
lab_stop_node 1

LAB_FENCE='reservation, expiry'
lab_conf 1 >"$LAB/node1.conf"
: >"$LAB/node1.log"
lab_nodes 1
must 8 "led by the next way" lab_led
advisory() { tool 1 status | grep -q 'vol0: advisory only'; }
must 8 "status says what it is worth" advisory
expect_exit 0 tool 1 resign "$LAB_VOLUME"
must 8 "it ends" lab_said 1 ' closed volume=vol0 .*epoch=1 '
expect "nothing was left undrained" eval '! lab_said 1 " undrained "'
must 8 "led again" lab_led
lab_stop_node 1
expect "it left in order" lab_said 1 ' closed volume=vol0 .*epoch=2 '
say "no-reservations: said, not led; led by expiry, and ended"
