# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# The path below the gate: slower and faster than the lease (dm-delay), reads of the
# claim region that fail (dm-error), and one that hangs until after the takeover.
. ./lib.sh
load_module
modprobe dm-delay
LEASE=4000 # a busy host may keep the renewals back for some of it
REGION_SECTORS=64

low_linear() { echo "0 262144 linear /dev/ram0 0"; }
# low_delay READ_MS WRITE_MS
low_delay() { echo "0 262144 delay /dev/ram0 0 $(($1 * SLOW)) /dev/ram0 0 $(($2 * SLOW))"; }
claims_error() { echo "0 $REGION_SECTORS error"; }
claims_good() { echo "0 $REGION_SECTORS linear /dev/ram0 $REGION"; }
swap() { # DEVICE: to the table on stdin
	dmsetup load "$1" && dmsetup suspend --nolockfs "$1" && dmsetup resume "$1" || not_ok "cannot change $1"
}
renewals() { renew_on 5 $((LEASE - 100)); }
# For longer than a lease from now on, so by renewals; what is shut stays shut.
outlived() { [ "$(uptime_cs)" -gt $lease_end ] && checks_are $enough; }
stays_open() { # NAME
	enough=$(($(field checks) + 4))
	lease_end=$(($(uptime_cs) + LEASE * SLOW / 10 + 50))
	until_true $((5 * LEASE)) outlived && state_is open && ok "$1" || { not_ok "$1"; dmsetup status vol; uptime_cs; tail -n 20 /tmp/renewals; }
}

region format
own 5
low_linear | dmsetup create low && dmsetup mknodes low
claims_good | dmsetup create claims && dmsetup mknodes claims

# ---- the whole path slower, but faster than the lease ----
DATA=/dev/mapper/low CLAIM=/dev/mapper/low
make_gate $LEASE 100 0
low_delay 300 300 | swap low
is "delay below the lease: opens" ok "$(grant 5 $((LEASE - 100)))"
renewals
is "delay below the lease: a write is done" ok "$(io write 0 91)"
stays_open "delay below the lease: stays open"
is "delay below the lease: nothing was late" 0 "$(field late)"
renew_off

# ---- and slower than the lease, while it is open ----
low_linear | swap low
drop_gate
make_gate $LEASE 100 0
is "a new instance" ok "$(grant 5 $((LEASE - 100)))"
renewals
low_delay 9000 9000 | swap low
(io write 0 92 >/tmp/late) &
writer=$!
until_true $((3 * LEASE)) sh -c 'dmsetup status vol | grep -Eq "state=(shut|draining)"' && ok "delay above the lease: shut in time although grants come" || not_ok "delay above the lease: still $(field state)"
is "delay above the lease: why" expired "$(field why)"
is "delay above the lease: the write is still below" 1 "$(field in_flight)"
is "delay above the lease: a new write is refused at once" ENODEV "$(io write 4096 93)"
wait $writer
is "delay above the lease: the late write is reported as failed" ENODEV "$(cat /tmp/late)"
is "delay above the lease: counted" 1 "$(field late)"
until_true 20000 state_is shut && ok "delay above the lease: drained" || not_ok "delay above the lease: $(field state)"
renew_off
low_linear | swap low
drop_gate

# ---- slow data, quick claim region: no reason to lose a leadership ----
CLAIM=/dev/ram1
rfvm format $CLAIM $((REGION * 512))
rfvm epoch $CLAIM $((REGION * 512)) 5 2 $LIFE
make_gate $LEASE 100 0
is "slow data: opens" ok "$(grant 5 $((LEASE - 100)))"
renewals
low_delay 0 6000 | swap low
is "slow data: a write that takes longer than the lease is good under renewals" ok "$(io write 0 94)"
is "slow data: open" open "$(field state)"
renew_off
low_linear | swap low
drop_gate

# ---- the claim region cannot be read ----
DATA=/dev/ram0
claims_gate() { make_gate $LEASE 100 "${1:-0}" "1 /dev/mapper/claims 0"; }
claims_error | swap claims
claims_gate
is "unreadable: no grant" "Input/output error" "$(grant 5 $((LEASE - 100)))"
is "unreadable: closed" closed "$(field state)"
claims_good | swap claims
is "readable: the same instance opens" ok "$(grant 5 $((LEASE - 100)))"
renewals
is "readable: writes" ok "$(io write 0 95)"
claims_error | swap claims
until_true $((3 * LEASE)) state_is shut && ok "unreadable while open: shut within the lease although grants come" || not_ok "unreadable while open: still $(field state)"
within "unreadable while open: errors are counted" 1 1000 "$(field check_errors)"
is "unreadable while open: refuses" ENODEV "$(io write 0 96)"
renew_off
drop_gate

# A short failure is survived: what was read before is good for a lease.
claims_good | swap claims
claims_gate
is "short failure: opens" ok "$(grant 5 $((LEASE - 100)))"
renewals
claims_error | swap claims
errors() { [ "$(field check_errors)" -ge 2 ]; }
until_true $LEASE errors || not_ok "short failure: no read failed"
claims_good | swap claims
stays_open "short failure: stays open"
renew_off
drop_gate

# Held writes, and the region becomes unreadable: no renewal, and they fail in time.
claims_gate 8000 # longer than two tables take to load on a busy host
is "held and unreadable: opens" ok "$(grant 5 1000)"
until_true 6000 state_is holding || not_ok "expires into holding"
(io write 0 97 >/tmp/late) &
writer=$!
claims_error | swap claims
is "held and unreadable: no renewal" "Input/output error" "$(grant 5 $((LEASE - 100)))"
wait $writer
is "held and unreadable: the write fails" ENODEV "$(cat /tmp/late)"
claims_good | swap claims
drop_gate

# A read of the region that comes back only after somebody else took over.
DATA=/dev/mapper/low CLAIM=/dev/mapper/low
make_gate $LEASE 100 5000
is "late reader: opens" ok "$(grant 5 $((LEASE - 100)))"
dmsetup suspend --nolockfs low
until_true $((3 * LEASE)) state_is holding && ok "late reader: expired, holding" || not_ok "late reader: $(field state)"
(io write 0 98 >/tmp/late) &
writer=$!
region ballot 1 6 257
dmsetup resume low
is "late reader: the renewal finds the takeover" "Stale file handle" "$(grant 5 $((LEASE - 100)))"
wait $writer
is "late reader: held writes fail" ENODEV "$(cat /tmp/late)"
is "late reader: and did not land" 1 "$(rfvm io /dev/ram0 read 1048576 98 | grep -vc '^ok')"
drop_gate
dmsetup remove --retry low && dmsetup remove --retry claims || not_ok "a device below is still in use"
unload_module
