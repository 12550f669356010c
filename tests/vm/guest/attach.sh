# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# ringfence attach, detach: with no daemon, and beside one that leads.
. ./lib.sh
load_module
mkdir -p /run /var/run /tmp/at
/bin/ip link set lo up
ringfence keygen /tmp/at/key 2>/dev/null
# shellcheck disable=SC2046 # words are wanted
ringfence format --cluster vm --nodes 1 --volume vol --yes $(timing) /dev/ram0 >/tmp/at/format 2>&1 ||
	{ not_ok "format"; cat /tmp/at/format; }
conf() { # FENCE CLUSTER
	cat >/tmp/at/conf <<-END
		[cluster]
		name = $2
		node-id = 1
		[network]
		peers = 127.0.0.9
		[auth]
		key-file = /tmp/at/key
		[volume vol]
		device = /dev/ram0
		area = /dev/ram0
		$1
	END
}
# once ATTACH-OR-DETACH VOLUME: exit code and answer
once() {
	ringfence "$1" --config /tmp/at/conf "$2" >/tmp/at/answer 2>&1
	echo "$? $(tail -n 1 /tmp/at/answer)"
}
like() { # NAME PATTERN GOT
	# shellcheck disable=SC2254 # a pattern is wanted
	case $3 in
	$2) ok "$1" ;;
	*) not_ok "$1: '$3' is not like '$2'" ;;
	esac
}

conf "fence = expiry" vm
like "a volume without a gate" "78 *only fence = gate makes a device*" "$(once attach vol)"
conf "fence = gate" elsewhere
like "another cluster's disk" "65 *belongs to cluster 'vm'*" "$(once attach vol)"
conf "fence = gate" vm
like "no such volume" "105 *no volume 'nosuch'*" "$(once attach nosuch)"
echo "0 2048 linear /dev/ram1 0" | dmsetup create vol
like "a device that is no gate is left alone" "107 *exists and is no gate*" "$(once attach vol)"
like "also by detach" "107 *is no gate*" "$(once detach vol)"
dmsetup remove vol
like "nothing to detach" "0 *is not there" "$(once detach vol)"

like "attach" "0 /dev/mapper/vol is there, closed*" "$(once attach vol)"
is "closed" closed "$(field state)"
is "refuses writes" ENODEV "$(io write 0 1)"
is "lets reads pass" ok "$(io read 0)"
table=$(dmsetup table vol)
exec 5<"$DEV"
like "attach again changes nothing" "0 *is there, closed*" "$(once attach vol)"
is "same instance" "$table" "$(dmsetup table vol)"
like "detach says who has it open" "1 gate vol is open:*process $$ (sh)*" "$(once detach vol)"
exec 5<&-
like "detach" "0 /dev/mapper/vol is gone" "$(once detach vol)"
is "gone" "" "$(dmsetup ls | grep ^vol)"

# beside a daemon
ringfenced --config /tmp/at/conf --socket /tmp/at/sock >/tmp/at/log 2>&1 &
daemon=$!
leads() { timeout $((2 * SLOW)) ringfence --socket /tmp/at/sock is-leader vol >/dev/null 2>&1; }
until_true 20000 leads && ok "the only node leads" || { not_ok "the only node does not lead"; tail /tmp/at/log; }
is "attach loads the daemon's table" "$table" "$(dmsetup table vol)"
epoch=$(field epoch)
like "attach leaves an open gate alone" "0 *is there already, for epoch $epoch" "$(once attach vol)"
like "detach, too" "1 gate vol serves epoch $epoch: *ringfence resign*" "$(once detach vol)"
is "it is still open" "open $epoch" "$(field state) $(field epoch)"
is "and writes" ok "$(io write 0 33)"
exec 5<"$DEV"
timeout $((10 * SLOW)) ringfence --socket /tmp/at/sock pause 5<&-
timeout $((10 * SLOW)) ringfence --socket /tmp/at/sock resign vol 5<&-
until_true 10000 state_is shut && ok "resigned" || not_ok "resigned, but the gate is $(field state)"
like "no new instance for who has the old one open" "*still open since an older epoch: process $$ (sh)*" "$(once attach vol)"
exec 5<&-
like "a new instance" "0 *is there, closed*" "$(once attach vol)"
is "never opened" "closed 0" "$(field state) $(field epoch)"
like "detach beside the daemon" "0 *is gone" "$(once detach vol)"
timeout $((10 * SLOW)) ringfence --socket /tmp/at/sock resume
until_true 20000 leads && ok "the daemon makes it again when it leads" || { not_ok "no leader after resume"; tail /tmp/at/log; }
until_true 2000 state_is open || not_ok "open again"
kill -TERM $daemon
wait $daemon
once detach vol >/dev/null
unload_module
