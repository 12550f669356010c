#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 3: the leader's writes to the disk fail while its reads work. The lease
# runs out on time, the gate shuts, somebody else leads, health says why.
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
for i in 1 2 3; do
	lab_path $i
done
lab_target
lab_work
leader=$LAB_LEADER
lab_path_fail "$leader" write
mark=$(lab_mark)
must 6 "another node writes" lab_wrote_since "$mark"
say "write-protected node $leader: $LAB_GAP"
expect "the log names the failure" lab_said "$leader" ' disk-error '
must 2 "health says so" eval 'tool $leader status | grep -qi "writ"'
figure() {
	tool "$leader" metrics | awk -v s="$1" 'index($0, s) == 1 && $NF > 0 { n++ } END { exit !n }'
}
expect "counted as errors of the disk" figure 'ringfence_disk_errors_total{'
must 5 "renewals that failed are counted" figure \
	"ringfence_lease_renewals_total{volume=\"$LAB_VOLUME\",result=\"expired\"}"
never 1 "a node that cannot write leads" lab_leads "$leader"
lab_path_mend "$leader"
must 3 "the disk is back" lab_said "$leader" ' disk-back '
lab_check
