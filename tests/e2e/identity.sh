#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 10, 11, 14, 15: a second host with an id that is in use, another area
# under the expected path, an id that the disk does not have, timings that the
# disk does not have. Each is refused with both values; nothing is written.
. "$(dirname "$0")/../lib/lab.sh"

# refused NODE WORDS PATTERN: its daemon ends by itself with a line like that.
refused() {
	must 8 "$2: the daemon ends" lab_gone "${LAB_DAEMON[$1]}"
	wait "${LAB_DAEMON[$1]}" && lab_fail "$2: exit 0"
	lab_said "$1" "$3" || lab_fail "$2: no line like $3"
	grep -E -- "$3" "$LAB/node$1.log" | tail -n 1
	unset "LAB_DAEMON[$1]"
	: >"$LAB/node$1.log"
}

lab_begin 3
lab_target
lab_nodes 1 2
must 8 "a first leader" lab_led

lab_conf 3 4 >"$LAB/node3.conf"
lab_node 3
refused 3 "an id beyond the area's" '4.*3|3.*4'

lab_conf 3 1 >"$LAB/node3.conf"
lab_node 3
must 8 "the second host with id 1 is refused" lab_said 3 ' join-refused '
must 3 "and its daemon ends" lab_gone "${LAB_DAEMON[3]}"
wait "${LAB_DAEMON[3]}" && lab_fail "a taken id: exit 0"
lab_said 3 "in use by host $(uname -n)" || lab_fail "it does not name the other host"
unset "LAB_DAEMON[3]"
: >"$LAB/node3.log"
lab_alive "${LAB_DAEMON[1]}" || lab_fail "the first holder of the id died"
! lab_said 1 ' slot-stolen ' || lab_fail "the newcomer took the slot"

{
	lab_conf 3
	say "[timing]"
	say "lease = 2 s"
} >"$LAB/node3.conf"
lab_node 3
refused 3 "a lease that the disk does not have" '(2000|2 s).*1000|1000.*(2000|2 s)'

sed 's/^name = .*/name = other/' <(lab_conf 3) >"$LAB/node3.conf"
lab_node 3
refused 3 "another cluster's area" 'other.*lab|lab.*other'

# A disk of another area as one of three: which one is said.
lab_disk foreign 32
foreign=$LAB_DEV
before=$(cksum <"$LAB_DISKS/foreign")
sed "s|^area = .*|area = $foreign|" <(lab_conf 3) >"$LAB/node3.conf"
lab_node 3
refused 3 "a device without an area" "$foreign"
[ "$(cksum <"$LAB_DISKS/foreign")" = "$before" ] || lab_fail "something was written to it"
lab_leads 1 || lab_leads 2 || lab_fail "the leader was disturbed"
