# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# limit: 900
# Many instances, one after the other, under load: grant, expire or revoke or a
# takeover, reload. Nothing may leak, hang, or let a write through when shut.
. ./lib.sh
load_module
region format
own 5
count=$(sed -n 's/.*rf.cycles=\([0-9]*\).*/\1/p' /proc/cmdline)
count=${count:-1000}

make_gate 100 10 0
ballot="rfvm ballot /dev/ram0 $((REGION * 512)) 1"
rfcycles vol "$(table 100 10 0)" 5 $LIFE "$count" $((25 * SLOW)) "$ballot 6 257" "$ballot 0 0" >/tmp/cycles 2>&1
tail -n 12 /tmp/cycles | sed 's/^/# /'
is "$count cycles of grant and end under load" 0 "$(sed -n 's/.*bad=//p' /tmp/cycles)"
within "writes that were let through" "$count" 100000000 "$(sed -n 's/.* writes=\([0-9]*\) .*/\1/p' /tmp/cycles)"
within "gates that saw the takeover" 1 "$count" "$(sed -n 's/.* superseded=\([0-9]*\) .*/\1/p' /tmp/cycles)"
dmsetup remove --retry vol 2>/dev/null
rmmod dm_ringfence && ok "module unloads afterwards" || not_ok "module unloads afterwards"
