#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CASES 21: multicast does not work here; unicast peers do. One node speaks IPv6.
LAB_NETWORK='peers = 10.99.0.1, 10.99.0.2, 10.99.0.3'
. "$(dirname "$0")/../lib/lab.sh"

lab_begin 3
for i in 1 2 3; do
	in_node $i nft -f - <<-END || lab_skip "nftables does not work here"
		table inet cut {
			chain in {
				type filter hook input priority 0;
				ip daddr 224.0.0.0/4 drop
				ip6 daddr ff00::/8 udp dport 7411 drop
			}
		}
	END
done
lab_target
lab_work
lab_kill_node "$LAB_LEADER"
must 5 "somebody else writes after the kill" lab_wrote_since "$LAB_MARK"
say "killed: $LAB_GAP"
lab_check
