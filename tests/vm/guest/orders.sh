# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR disable=SC2154 # node is of who sources this
# Sourced at the end by the nodes of the SAN labs: carries out what the host asks for on a
# serial line of its own (on() of tests/vm/sanlab.sh), in the words of that node and these.
# What is started here tells what it has to tell where everything is told.

# What a writer that judges has to know: from when on this node leads.
mkdir -p /etc/ringfence/hooks.d
cat >/etc/ringfence/hooks.d/lead <<-'END'
	#!/bin/sh
	[ "$1" = promote ] && : >"/tmp/lead.$2"
	[ "$1" = demote ] && rm -f "/tmp/lead.$2"
	exit 0
END
chmod 755 /etc/ringfence /etc/ringfence/hooks.d /etc/ringfence/hooks.d/lead

begin() {
	ringfenced --config /tmp/node.conf --socket /tmp/node.sock >&9 2>&9 8>&- &
	daemon=$!
}
tool() { timeout 20 ringfence --socket /tmp/node.sock "$@"; }
# An order of the operator, by the disks alone. Its exit status comes into /tmp/order.rc.
order() {
	rm -f /tmp/order.rc
	(ringfence --json "$@" --config /tmp/node.conf >/tmp/order 2>&1; echo $? >/tmp/order.rc) &
}
doctor() { timeout 100 ringfence --socket /tmp/node.sock doctor --config /tmp/node.conf "$@"; }
# the daemon, and all below it
whole() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed 's/(.*)/-/' | awk -v root=$daemon '{ up[$1] = $4 }
		END { for (p in up) { for (q = p; q > 1 && q != root; q = up[q]); if (q == root) printf "%s ", p } }'
}
for t in /sys/class/tty/ttyS*; do
	readlink -f $t/device | grep -q /pci && orders=/dev/${t##*/}
done
stty -F "$orders" raw -echo
exec 8<>"$orders" 9>&1
echo "node $node listens"
while read -r id line <&8; do
	eval "$line" </dev/null >/tmp/said 2>&1 8>&-
	rc=$?
	sed "s/^/$id: /" /tmp/said
	echo "did $id $rc"
done
