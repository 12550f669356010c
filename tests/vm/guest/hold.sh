# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# After expiry: writes wait for a renewal, a bounded time, and for nothing else.
. ./lib.sh
load_module
region format
own 5

hold_one() { # starts one write in the background, waits until it is held
	(io "${1:-write}" 0 "${2:-1}" >/tmp/held) &
	held=$!
	until_true 3000 sh -c '[ "$(dmsetup status vol | sed "s/.*held=\([0-9]*\).*/\1/")" = 1 ]' || not_ok "a write is held"
}
opens() { [ "$(grant 5 1000)" = ok ]; }
expire_now() { # opens for 5, returns once expired; a busy host may need all of a second to say so
	until_true 10000 opens && ok "grant" || not_ok "grant"
	until_true 6000 state_is holding || not_ok "expires into holding"
}

make_gate 2000 100 8000
listen
expire_now
hold_one write 71
is "held, not done" "" "$(cat /tmp/held)"
is "reads pass meanwhile" ok "$(io read 0)"
is "renewal of the same epoch" ok "$(grant 5 1900)"
wait $held
is "the held write went through" ok "$(cat /tmp/held)"
is "and is on the disk" ok "$(rfvm io /dev/ram0 read 1048576 71)"
until_true 5000 state_is holding || not_ok "expires again"
hold_one write 72
is "grant of another epoch" "Device or resource busy" "$(grant 6 1500)"
region ballot 1 7 0
is "a renewal after the takeover" "Stale file handle" "$(grant 5 1500)"
wait $held
is "held writes fail on superseded" ENODEV "$(cat /tmp/held)"
is "and are not on the disk" ok "$(rfvm io /dev/ram0 read 1048576 71)"
is "why" superseded "$(field why)"
is "none is held" 0 "$(field held)"
uevents "uevents of held writes" open/- holding/- open/- holding/- shut/superseded
drop_gate

region format
own 5
make_gate 2000 100 2000
expire_now
hold_one flush
start=$(clock)
wait $held
within "held no longer than the hold time, ms" 0 $((2300 * SLOW)) $((($(clock) - start) / 1000000))
is "a held flush fails" ENODEV "$(cat /tmp/held)"
is "expired for good" expired "$(field why)"
drop_gate

make_gate 2000 100 8000
expire_now
hold_one
is "revoke while holding" drained "$(msg revoke)"
wait $held
is "held writes fail on revoke" ENODEV "$(cat /tmp/held)"
drop_gate

make_gate 2000 100 8000
expire_now
hold_one
dmsetup suspend --nolockfs vol
wait $held
is "held writes fail on suspend" ENODEV "$(cat /tmp/held)"
is "grant while suspended" "Cannot send after transport endpoint shutdown" "$(grant 5 1000)"
dmsetup resume vol
is "suspend latches what was open" suspended "$(field why)"
drop_gate

make_gate 2000 100 8000
expire_now
hold_one
table | dmsetup load vol
dmsetup resume vol
wait $held
is "held writes fail on reload" ENODEV "$(cat /tmp/held)"
is "the new table is closed" closed "$(field state)"
drop_gate

# Whoever had the device open under the old instance may hold stale data.
make_gate
is "open for 5" ok "$(grant 5 1900)"
exec 5<>"$DEV"
dmsetup remove vol 2>/dev/null && not_ok "removed while somebody has it open" || ok "removal while somebody has it open is refused"
is "and it is open as before" "open ok" "$(field state) $(io write 0 73)"
dmsetup suspend --nolockfs vol
table | dmsetup load vol
dmsetup resume vol
is "inherited an opener" 1 "$(field inherited)"
is "no grant while it is there" "Device or resource busy" "$(grant 5 1000)"
exec 5>&-
is "grant once it left" ok "$(grant 5 1000)"
rmmod dm_ringfence 2>/dev/null && not_ok "unload while in use" || ok "unload while in use is refused"
drop_gate

# To the millisecond: no write is submitted and admitted after the deadline.
make_gate 3000 500 0
deadline=$(($(clock) + 2500000000 * SLOW))
msg grant 5 $deadline $LIFE && ok "grant for the storm"
# shellcheck disable=SC2046 # three words are wanted
set -- $(rfvm storm $DEV $((4 * SLOW)))
over=$((($1 - deadline) / 1000))
[ $over -le 0 ] && ok "last admitted write was submitted $((-over)) us before the deadline, of $3" || not_ok "a write submitted $over us after the deadline succeeded"
within "refused from then on, us" 0 $((100000 * SLOW)) $((($2 - deadline) / 1000))
drop_gate
unload_module
