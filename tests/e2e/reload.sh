#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `ringfence reload` and SIGHUP: a configuration with a mistake changes nothing; what can
# be taken over at run time is, seen by what the node does then; the rest is named and
# waits for a restart. A file system that hangs holds up the reload, nothing else.
# limit: 150
. "$(dirname "$0")/../lib/lab.sh"

log_level=info
hooks=$PWD/none
priority=100
more=

# Node 2 is the one that is reloaded; peers only, at first a wrong one.
peers=10.99.0.77
LAB_NETWORK='peers = 10.99.0.2'
write_conf() {
	cat >"$LAB/node2.conf" <<-END
		[cluster]
		name = lab
		node-id = 2
		[network]
		peers = $peers
		[auth]
		key-file = $LAB/key
		[hooks]
		dir = $hooks
		timeout = 5s
		[log]
		level = $log_level
		file = $LAB/log2
		[volume $LAB_VOLUME]
		device = $LAB_DATA
		area = $LAB_AREA
		fence = expiry
		priority = $priority
		$more
	END
}

reload() {
	write_conf
	expect_exit 0 tool 2 reload
}

# shown KEY: line of the last answer about a key.
shown() {
	grep -F "$1" "$LAB/out" || lab_fail "nothing about $1: $(cat "$LAB/out")"
}

# says WORDS: the last answer has them.
says() {
	grep -qF -- "$1" "$LAB/out" || lab_fail "does not say $1: $(cat "$LAB/out")"
}

said2() {
	grep -Eq -- "$1" "$LAB/log2"
}

lab_begin 2 --quorum survivors
LAB_FENCE=expiry
hooks=$LAB/none
write_conf
lab_nodes 1
must 8 "node 1 leads" lab_leads 1
lab_node 2
must 8 "node 2 follows" lab_knows 2 1

# Nothing differs: nothing is told.
expect_exit 0 tool 2 reload
[ ! -s "$LAB/out" ] || lab_fail "changes out of nothing: $(cat "$LAB/out")"
tool 2 --json reload | jq -e '.schema == 1 and .changes == [] and .restart_needed == false' \
	>/dev/null || lab_fail "json without changes"

# A mistake anywhere: file and line, exit 78, and not even the good part is taken over.
log_level=debug
more='colour = blue'
write_conf
expect_exit 78 tool 2 reload
says "$LAB/node2.conf:19: [volume] has no key \"colour\""
must 2 "the log says so, too" said2 'reload-failed: nothing changed: .*:19'
more=
write_conf
mkdir "$LAB/conf.d"
echo '[timing]
lease = 77s' >"$LAB/conf.d/facts.conf"
expect_exit 78 tool 2 reload # what the disk decides is compared
says 'facts.conf:2: lease = 77000 ms'
rm "$LAB/conf.d/facts.conf"
mv "$LAB/key" "$LAB/key.away"
expect_exit 78 tool 2 reload
mv "$LAB/key.away" "$LAB/key"
! said2 ' debug ' || lab_fail "a refused configuration changed the log level"

# The log level; the log file is opened again, so that it can be rotated.
mv "$LAB/log2" "$LAB/log2.1"
reload
shown '[log] level' | grep -Eq 'info +debug +yes' || lab_fail "log level: $(cat "$LAB/out")"
must 5 "a new file is written" said2 'reloaded applied=1 restart=0'

# Peers: datagrams find the other node at last.
heard() {
	tool "$1" --json nodes | jq -e --argjson n "$2" \
		'any(.nodes[]; .node == $n and .net_age_ms != null)' >/dev/null
}
never 1 "node 1 hears node 2, which knows no peer" heard 1 2
peers=10.99.0.1
reload
shown '[network] peers' | grep -q ' yes$' || lab_fail "peers: $(cat "$LAB/out")"
must 5 "node 1 hears node 2" heard 1 2

# What needs a restart is named, key by key, and stays different until then.
more="gate-reads = refuse
	[network]
	ttl = 9"
sed -i 's/^fence = expiry/fence = gate, expiry/' "$LAB/node2.conf"
write_conf
sed -i 's/^fence = expiry/fence = gate, expiry/' "$LAB/node2.conf"
for n in 1 2; do
	expect_exit 0 tool 2 reload
	shown '[network] ttl' | grep -Eq ' 1 +9 +no$' || lab_fail "ttl: $(cat "$LAB/out")"
	shown "[volume $LAB_VOLUME] fence" | grep -q ' no$' || lab_fail "fence: $(cat "$LAB/out")"
	shown "[volume $LAB_VOLUME] gate-reads" | grep -Eq 'none +refuse +no$' || lab_fail "gate-reads"
	says 'needs a restart'
done
tool 2 --json reload | jq -e '.restart_needed and ([.changes[] | select(.applied)] == []) and
	any(.changes[]; .key == "[network] ttl" and .from == "1" and .to == "9")' >/dev/null ||
	lab_fail "json of what needs a restart"
more=

# By a signal; priority 0 bars it from campaigning, at once.
priority=0
write_conf
lab_signal HUP 2 >/dev/null
must 5 "the signal reloads" said2 'reload: \[volume vol0\] priority = 0, was 100'

# A new key beside the old one, then the new one seals: nobody is refused.
"$LAB_BIN/ringfence" keygen "$LAB/key.new" --id 9 >/dev/null 2>&1 || lab_fail "keygen"
cat "$LAB/key.new" >>"$LAB/key"
expect_exit 0 tool 1 reload
expect_exit 0 tool 2 reload
shown '[auth] keys in the file' | grep -q 'accepted 0, 9' || lab_fail "keys: $(cat "$LAB/out")"
cat "$LAB/key.new" >"$LAB/key"
expect_exit 0 tool 1 reload
expect_exit 0 tool 2 reload
says '9 seals'
seals() {
	tool 1 --json metrics 2>/dev/null | grep -c seal
}
must 5 "node 1 hears node 2 under the new key" heard 1 2

# Hooks of another directory, from the next event on; nobody campaigns but by priority.
hooks=$LAB/hooks
mkdir -m 755 "$LAB/hooks"
printf '#!/bin/sh\necho "$1" >>%s/events\n' "$LAB" >"$LAB/hooks/50-note"
chmod 755 "$LAB/hooks/50-note"
reload
shown '[hooks] dir' | grep -q ' yes$' || lab_fail "hooks: $(cat "$LAB/out")"
lab_kill_node 1
never 3 "a node of priority 0 leads" lab_leads 2
priority=50
reload
must 8 "node 2 leads once it may" lab_leads 2
must 5 "and says what only debug says" said2 ' debug '
must 5 "the new hooks run" grep -q promote "$LAB/events"

# A file system that hangs: the reload waits, the daemon does not.
mkfifo "$LAB/conf.d/stuck.conf"
epoch=$(tool 2 --json status | jq '.volumes[0].epoch')
expect_exit 124 tool 2 reload --wait 1
says 'does the file system hang'
expect_exit 75 tool 2 reload --wait 1
expect_exit 0 timeout 2 "$LAB_BIN/ringfence" --socket "$(lab_socket 2)" status
log_level=warning
write_conf
echo >"$LAB/conf.d/stuck.conf" # goes on
rm "$LAB/conf.d/stuck.conf"
idle() {
	tool 2 reload
}
must 5 "it is read when it can be read" idle
[ "$(tool 2 --json status | jq '.volumes[0].epoch')" = "$epoch" ] || lab_fail "the leadership did not last"

# Whoever is not root asks in vain; without its helper the daemon says what to do.
if id nobody >/dev/null 2>&1; then
	chmod 755 "$LAB"
	expect_exit 77 setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups \
		"$LAB_BIN/ringfence" --socket "$(lab_socket 2)" reload
fi
helper=$(pgrep -P "${LAB_DAEMON[2]}" -x ringfence-conf)
kill -KILL "$helper"
must 5 "it misses its helper" said2 'helper that reads the configuration died'
expect_exit 75 tool 2 reload
says 'restart ringfenced'
lab_leads 2 || lab_fail "it does not lead without its helper"
say "reload: refused whole, taken over, named; no wait for a file system"
