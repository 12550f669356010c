# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# Disks that fail, lie or hang; one, and three with a majority.
. ./lib.sh
load_module
region format
own 5

# ---- unreadable claim region ----
make_gate 4000 400 0
region spoil 2
is "grant over an unreadable ballot" "Input/output error" "$(grant 5 3900)"
within "counted" 1 100 "$(field check_errors)"
region ballot 2 0 0
is "grant once it is readable" ok "$(grant 5 3900)"
few_checks() { ! checks_are $enough; }
enough=$(($(field checks) + 12)) # longer than the lease
renew_while 30 5 3900 few_checks
is "renewals keep it open" open "$(field state)"
region spoil 2
renew_while 30 5 3900 state_is open # far longer than the lease
is "a daemon's grants do not outlive a lease without a good read" shut "$(field state)"
is "why" expired "$(field why)"
drop_gate

# ---- three regions ----
region format
own 5
for n in 1 2; do
	rfvm format /dev/ram$n 4096
done
three="3 /dev/ram0 $REGION /dev/ram1 8 /dev/ram2 8"
make_gate 2000 100 0 "$three"
is "one disk names the owner, a majority does not object" ok "$(grant 5 1900)"
rfvm ballot /dev/ram2 4096 1 6 257
until_true 1000 state_is shut || not_ok "one disk's proof shuts"
is "superseded by one disk" superseded "$(field why)"
drop_gate
rfvm format /dev/ram2 4096
rfvm spoil /dev/ram2 4096 0
make_gate 2000 100 0 "$three"
is "two of three suffice" ok "$(grant 5 1900)"
drop_gate
rfvm spoil /dev/ram1 4096 3
make_gate 2000 100 0 "$three"
is "one of three does not" "Input/output error" "$(grant 5 1900)"
drop_gate
rfvm format /dev/ram1 4096
rfvm epoch /dev/ram0 4096 0 0 0 2>/dev/null
rfvm format /dev/ram0 4096
make_gate 2000 100 0 "$three"
is "a majority without an owner does not open" "Operation not permitted" "$(grant 5 1900)"
drop_gate

# ---- a lower device that stalls ----
region format
own 5
echo "0 262144 linear /dev/ram0 0" | dmsetup create low && dmsetup mknodes low
DATA=/dev/mapper/low CLAIM=/dev/mapper/low
make_gate 4000 100 0
is "open over a device that will stall" ok "$(grant 5 3900)"
dmsetup suspend --nolockfs low
(io write 0 81 >/tmp/stalled) &
writer=$!
until_true 2000 sh -c '[ "$(dmsetup status vol | sed "s/.*in_flight=\([0-9]*\).*/\1/")" = 1 ]' && ok "in flight" || not_ok "in flight"
is "revoke says how many remain" "draining 1" "$(msg revoke 100)"
is "draining" draining "$(field state)"
is "status answers while the disk is stuck" 1 "$(field in_flight)"
dmsetup resume low
wait $writer
is "the late write is reported as failed" ENODEV "$(cat /tmp/stalled)"
until_true 1000 state_is shut && ok "drained afterwards" || not_ok "drained afterwards"
is "late is counted" 1 "$(field late)"
drop_gate

make_gate 4000 100 0
is "open again" ok "$(grant 5 3900)"
dmsetup suspend --nolockfs low
(io write 0 82 >/tmp/stalled) &
writer=$!
lasts 200
dmsetup resume low
wait $writer
is "a stall shorter than the lease is no loss" ok "$(cat /tmp/stalled)"
enough=$(($(field checks) + 2))
renew_while 12 5 3900 few_checks
dmsetup suspend --nolockfs low
renew_while 20 5 3900 state_is open
until_true 1000 sh -c 'dmsetup status vol | grep -Eq "state=(shut|draining)"' && ok "a stuck claim read shuts the gate although grants come" || not_ok "a stuck claim read shuts the gate although grants come"
within "stuck reads are counted" 1 1000 "$(field check_errors)"
dmsetup resume low
drop_gate
dmsetup remove low
unload_module
