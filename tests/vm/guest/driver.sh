# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The fencer's driver: loads tables, passes grants on, says who is in the way.
. ./lib.sh
load_module
REGION=64
rfvm area /dev/ram0 $((2000 * SLOW)) || not_ok "format"
own 5

mkfifo /tmp/ask
rfvm fence /bin/ringfence-fencer gate name=vol device=/dev/ram0 disk=/dev/ram0 \
	area=00000000000000000000000000000002 node=2 volume=0 check-ms=100 </tmp/ask >/tmp/said 2>/tmp/fencer.err &
exec 4>/tmp/ask
said=0
# asks and waits for the answer; says it in $answer
ask() {
	[ -n "$1" ] && echo "$*" >&4
	said=$((said + 1))
	until_true 12000 sh -c "[ \$(grep -c '' /tmp/said) -ge $said ]" || { answer=none; return; }
	answer=$(sed -n "${said}p" /tmp/said)
}
# expect NAME PATTERN
expect() {
	# shellcheck disable=SC2254 # a pattern is wanted
	case $answer in
	$2) ok "$1" ;;
	*) not_ok "$1: '$answer' is not '$2'"; cat /tmp/fencer.err; dmesg | tail -n 1 ;;
	esac
}

ask ""; expect "hello" "ok 0: "
ask revoke 0; expect "nothing to revoke at join" "ok 0: gate vol has nothing open"
is "the device is there before anybody leads" closed "$(field state)"
is "and refuses" ENODEV "$(io write 0 1)"
table=$(dmsetup table vol)
exec 6<>/dev/mapper/vol
ask grant 5 $((1500 * SLOW)); expect "first grant, to one that is open but never was before" "ok 5: *"
is "same instance" "$table" "$(dmsetup table vol)"
exec 6>&-
is "node is there" yes "$([ -b /dev/mapper/vol ] && echo yes)"
is "open" open "$(field state)"
is "write" ok "$(io write 0 90)"
is "lands behind the area" ok "$(rfvm io /dev/ram0 read 1048576 90)"
ask grant 5 $((1900 * SLOW)); expect "renewal" "ok 5: *"
ask verify 5; expect "verify" "ok 5: *open epoch 5*"
ask evict 6; expect "evict is not its business" "unsupported *"
own 6
ask wait; expect "tells when it shut by itself" "shut stale 5: gate vol shut by itself: superseded"
exec 5<>/dev/mapper/vol
ask grant 6 $((1500 * SLOW)); expect "says who has the device open" "busy 6: gate vol is still open since an older epoch: process * (sh)*"
ask revoke 6; expect "revoke of what was never opened, over an older instance" "ok 6: *"
exec 5>&-
ask grant 6 $((1500 * SLOW)); expect "new epoch, new instance" "ok 6: *"
is "new epoch" 6 "$(field epoch)"
own 7 1
ask wait; expect "superseded again" "shut stale 6: *superseded"
ask grant 6 $((1500 * SLOW)); expect "grant of a stale epoch" "stale 7: *"
own 8
ask grant 8 $((1500 * SLOW)); expect "grant of epoch 8" "ok 8: *"
ask revoke 8; expect "revoke drains" "ok 8: gate vol shut and drained"
own 9
ask grant 9 $((1900 * SLOW)); expect "grant of epoch 9" "ok 9: *"
exec 4>&-
wait
is "the daemon's end shuts the gate" revoked "$(field why)"
drop_gate
unload_module
