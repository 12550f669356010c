# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2034 # variables are for those who source it
# Sourced by the scripts that run inside a test VM.
# The data is /dev/ram0 from 1 MiB on; its claim region lies in the first MiB.

DEV=/dev/mapper/vol
CLUSTER=00000000-0000-0000-0000-000000000001
AREA=00000000-0000-0000-0000-000000000002
LIFE=77
SECTORS=131072
REGION=8

# A kernel full of checks is slow: all durations grow by this.
SLOW=$(sed -n 's/.*rf.slow=\([0-9]*\).*/\1/p' /proc/cmdline)
SLOW=${SLOW:-1}

# Whoever says neither has checked nothing (together).
ok() { echo "ok $*" && : >/tmp/checked; }
skip() { echo "skip $*" && : >/tmp/checked; }
not_ok() { echo "not ok $*"; }

# is NAME EXPECTED GOT
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else
		not_ok "$1: expected '$2', got '$3'"
		dmsetup status vol 2>/dev/null | sed 's/^/    /'
		dmesg | tail -n 2 | sed 's/^/    /'
	fi
}

# within NAME LOW HIGH GOT
within() {
	if [ "$4" -ge "$2" ] && [ "$4" -le "$3" ]; then ok "$1 ($4)"; else not_ok "$1: $4 is not in $2..$3"; fi
}

# hundredths of a second since boot, without a process
uptime_cs() { read -r up _ </proc/uptime && echo "${up%.*}${up#*.}"; }

# until_true LIMIT_MS COMMAND...: polls every 10 ms. A poll of a busy machine takes its
# time, too: ten times the limit, but no longer.
until_true() {
	local left=$(($1 * SLOW / 10)) end=$(($(uptime_cs) + $1 * SLOW + 100))
	shift
	while ! "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] && [ "$(uptime_cs)" -lt $end ] || return 1
		usleep 10000
	done
}

# lasts MS: how long a fault goes on; nothing is waited for by this.
lasts() { usleep $(($1 * SLOW * 1000)); }

clock() { rfvm clock; }
field() { dmsetup status "${2:-vol}" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
state_is() { [ "$(field state)" = "$1" ]; }
checks_are() { [ "$(field checks)" -ge "$1" ]; }
# more_checks N: the gate has read the claim region N times more.
more_checks() { until_true 10000 checks_are $(($(field checks) + $1)); }
# renew_on EPOCH MS [SECONDS]: a daemon that asks for more ten times a second, whatever it is
# told, until renew_off, but no longer than that. What it was told is in /tmp/renewals.
renew_on() {
	rfvm renew vol $1 $LIFE $(($2 * SLOW)) 100 $((${3:-120} * SLOW)) >/tmp/renewals &
	renewer=$!
}
renew_off() {
	[ -n "$renewer" ] || return 0
	kill $renewer 2>/dev/null
	wait $renewer 2>/dev/null
	renewer=
}
# renew_while SECONDS EPOCH MS COMMAND...: that, while COMMAND is true.
renew_while() {
	local end=$(($(uptime_cs) + $1 * SLOW * 100))
	renew_on $2 $3 $1
	shift 3
	while "$@" && [ "$(uptime_cs)" -lt $end ]; do usleep 100000; done
	renew_off
}
region() { local verb=$1; shift; rfvm "$verb" /dev/ram0 $((REGION * 512)) "$@"; }
io() { rfvm io "$DEV" "$@"; }

# Uevents of gates, one after the other. told_in_order STATE-AND-WHY...: so far these came,
# in that order, all of epoch 5; others may lie between.
listen() {
	rfvm uevents >/tmp/uevents &
	listener=$!
	until_true 3000 test -s /tmp/uevents || not_ok "listens for uevents"
}
told_in_order() {
	local state why epoch word
	while read -r word state epoch why; do
		[ "$epoch" = RINGFENCE_EPOCH=5 ] || continue
		[ "${state#*=}/${why#*=}" != "$1" ] || shift
		[ $# -gt 0 ] || return 0
	done </tmp/uevents
	return 1
}
# uevents NAME STATE/WHY...
uevents() {
	local name=$1
	shift
	until_true 3000 told_in_order "$@" && ok "$name: $*" || { not_ok "$name: not $*"; cat /tmp/uevents; }
	kill $listener
}

# table [LEASE CHECK HOLD] [regions] [features]; defaults for the rest
table() {
	echo "0 $SECTORS ringfence ${DATA:-/dev/ram0} ${DATA_OFFSET:-2048} ${NODE:-2} 0 3 4096 $CLUSTER $AREA $((${1:-2000} * SLOW)) $((${2:-200} * SLOW)) $((${3:-500} * SLOW)) ${4:-1 ${CLAIM:-/dev/ram0} $REGION} $5"
}

make_gate() {
	table "$@" | dmsetup create vol && dmsetup mknodes vol
}

drop_gate() {
	dmsetup remove --retry vol || { not_ok "cannot remove the gate"; dmsetup info vol; }
}

msg() { dmsetup message vol 0 "$@" 2>/tmp/msg.err; }

# grant EPOCH MS [LIFE]: prints ok or the reason
grant() {
	if msg grant "$1" $(($(clock) + $2 * SLOW * 1000000)) "${3:-$LIFE}"; then echo ok; else
		sed -n 's/.*failed: //p' /tmp/msg.err | head -n 1
	fi
}

own() { region epoch "$1" "${2:-2}" "${3:-$LIFE}"; }

load_module() { insmod /dm-ringfence.ko || not_ok "the module does not load"; }
unload_module() { rmmod dm_ringfence && ok "module unloads" || not_ok "module unloads"; }

# timing: of an area for daemons, as arguments of format; 2500 ms of lease usually.
timing() {
	for t in heartbeat=125 suspect=450 lease=1250 grace=250 hold=200 isolation=600 slot-timeout=1250 inflight=1250; do
		echo "--${t%=*} $((${t#*=} * SLOW))ms"
	done
}

# node_conf CLUSTER NODE INTERFACE KEY-FILE: the configuration of a daemon, with what stands
# on standard input as the rest of it.
node_conf() {
	cat <<-END
		[cluster]
		name = $1
		node-id = $2
		[network]
		interface = $3
		multicast = 239.255.74.11
		[auth]
		key-file = $4
	END
	cat
}

# together SCRIPT...: several in one boot, each on fresh disks.
together() {
	for script in "$@"; do
		echo "# $script began after $(($(uptime_cs) / 100)) s"
		rm -f /tmp/checked
		sh "./$script.sh" || not_ok "$script ended with $?"
		[ -e /tmp/checked ] || not_ok "$script checked nothing"
		rmmod brd && modprobe brd rd_nr=5 rd_size=524288 max_part=0 || not_ok "the RAM disks are still in use after $script"
	done
}
