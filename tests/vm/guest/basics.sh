# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The gate by itself: opening, refusing, expiring, latching.
. ./lib.sh
if insmod /dm-ringfence-wrong.ko 2>/tmp/insmod; then
	not_ok "a module that fails its self-test: loads"
	rmmod dm_ringfence
else
	dmesg | tail -n 4 | grep -q 'self-test failed: the module does not load' &&
		ok "a module that fails its self-test does not load" || not_ok "not loaded, but why? $(cat /tmp/insmod)"
fi
load_module
modprobe loop
truncate -s 128M /tmp/disk
losetup /dev/loop0 /tmp/disk
DATA=/dev/loop0 # knows flushes and discards
region format
is "target is known" 1 "$(dmsetup targets | grep -c '^ringfence')"

# A lease so long that a busy host cannot outlast it between two lines.
make_gate 6000
is "closed at creation" closed "$(field state)"
is "table is what was given" "$(table 6000 | sed 's,/dev/ram0,1:0,g; s,/dev/loop0,7:0,; s/ *$//')" "$(dmsetup table vol | sed 's/ *$//')"
for kind in write flush zero discard; do
	is "closed refuses $kind" ENODEV "$(io $kind 0 1)"
done
is "closed refuses passthrough" ENOTTY "$(io sgio 0)"
is "closed lets reads pass" ok "$(io read 0)"

is "grant without owning" "Operation not permitted" "$(grant 1 1000)"
own 5 1
is "grant of another node's epoch" "Operation not permitted" "$(grant 5 1000)"
own 5
is "grant of an epoch that is over" "Stale file handle" "$(grant 4 1000)"
is "grant to another life" "Operation not permitted" "$(grant 5 1000 78)"
is "grant of a later epoch" "Operation not permitted" "$(grant 6 1000)"
is "grant beyond the lease" "Numerical result out of range" "$(grant 5 7000)"
is "grant of the past" "Timer expired" "$(grant 5 -1)"
is "grant of nonsense" "Invalid argument" "$(msg grant 5 x 7 || sed -n 's/.*failed: //p' /tmp/msg.err)"
is "still closed" closed "$(field state)"
is "grant to the owner" ok "$(grant 5 3000)"
is "open" open "$(field state)"
is "epoch is shown" 5 "$(field epoch)"
is "renewal" ok "$(grant 5 5900)"
left=$(field left_ms)
within "renewal extends" $((3000 * SLOW)) $((5900 * SLOW)) "$left"
is "an earlier deadline changes nothing" ok "$(grant 5 2000)"
left=$(field left_ms)
within "never shortened" $((2000 * SLOW)) $((5900 * SLOW)) "$left"
is "grant of another epoch while open" "Device or resource busy" "$(grant 6 1000)"
is "renewal again" ok "$(grant 5 5900)"
for kind in write flush zero discard; do
	is "open lets $kind pass" ok "$(io $kind 0 65)"
done
io write 4096 65 >/dev/null
is "write lands behind the offset" ok "$(rfvm io $DATA read $((1048576 + 4096)) 65)"
is "open still refuses passthrough" ENOTTY "$(io sgio 0)"

until_true 9000 state_is shut || not_ok "shuts after deadline and hold"
is "why" expired "$(field why)"
for kind in write flush zero discard; do
	is "refused after expiry: $kind" ENODEV "$(io $kind 0 1)"
done
is "reads pass after expiry" ok "$(io read 0)"
is "latched" "Cannot send after transport endpoint shutdown" "$(grant 5 1000)"
drop_gate

make_gate 2000 100 0
is "a new instance opens" ok "$(grant 5 1500)"
is "and writes" ok "$(io write 0 66)"
is "revoke drains" drained "$(msg revoke)"
is "revoked is shut" shut "$(field state)"
is "revoked refuses" ENODEV "$(io write 0 1)"
within "drain time is shown" 1 1000000 "$(field drain_us)"
drop_gate

make_gate 6000 100 0
trace=/sys/kernel/debug/tracing
mount -t tracefs trace $trace 2>/dev/null
echo 1 2>/dev/null >$trace/events/ringfence/enable
listen
is "open for 5" ok "$(grant 5 5900)"
region ballot 3 6 0
more_checks 2 || not_ok "reads the claim region"
is "an attempt at e+1 does not shut" open "$(field state)"
region ballot 3 6 259
until_true 3000 state_is shut || not_ok "a vote for e+1 shuts"
is "superseded" superseded "$(field why)"
is "superseded refuses" ENODEV "$(io write 0 1)"
for kind in flush zero discard; do
	is "superseded refuses $kind" ENODEV "$(io $kind 0 1)"
done
uevents "uevents of a takeover" open/- shut/superseded
if [ -e $trace/events/ringfence ]; then
	for event in rf_grant rf_shut rf_refuse; do
		grep -q "$event: " $trace/trace && ok "tracepoint $event" || { not_ok "tracepoint $event"; tail -n 5 $trace/trace; }
	done
else
	echo "# this kernel has no tracing"
fi
within "counted" 4 8 "$(field refused_superseded)"
is "seen" 5 "$(field seen)"
drop_gate

region format
own 9
make_gate 6000 100 0 "1 /dev/ram0 8" "2 gate_reads conflict"
is "reads refused by option" EBADE "$(io read 0)"
is "writes refused with conflict" EBADE "$(io write 0 1)"
is "features in the table" 1 "$(dmsetup table vol | grep -c ' 2 gate_reads conflict$')"
is "grant 9" ok "$(grant 9 5900)"
is "reads pass when open" ok "$(io read 0)"
region epoch 9 2 $LIFE released
until_true 3000 state_is shut || not_ok "a released epoch shuts"
is "for that reason" superseded "$(field why)"
drop_gate
losetup -d /dev/loop0
unload_module
