# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# One machine of tests/vm/watchdog, in two boots. Each ends in a reset by a watchdog.
. ./lib.sh
load_module
stage=$(sed -n 's/.*rf.stage=\([0-9]*\).*/\1/p' /proc/cmdline)
for m in virtio_pci virtio_blk ext4; do modprobe $m; done
mkdir -p /run /var/run /var/lib/ringfence
until_true 5000 test -b /dev/vdb || not_ok "no disks"
[ "$stage" = 1 ] && mkfs.ext4 -q /dev/vdb
mount -t ext4 /dev/vdb /var/lib/ringfence || not_ok "no place for the record"
/bin/ip link set lo up
echo "0 $(blockdev --getsz /dev/vda) linear /dev/vda 0" | dmsetup create low && dmsetup mknodes low

conf() { # MODE DEVICE
	node_conf vm 1 lo /test/key >/tmp/node.conf <<-END
		[volume vol0]
		device = /dev/mapper/low
		area = /dev/vda
		fence = gate
		gate = vol
		[watchdog]
		mode = $1
		device = $2
	END
}
begin() {
	ringfenced --config /tmp/node.conf --socket /run/rf.sock >>/tmp/log 2>&1 7>&- &
	daemon=$!
}
tool() { ringfence --socket /run/rf.sock "$@"; }
leads() { timeout $((2 * SLOW)) ringfence --socket /run/rf.sock is-leader vol0 >/dev/null 2>&1; }
said() { grep -q "$1" /tmp/log; }
gone() { ! kill -0 $daemon 2>/dev/null; }
writes() { [ "$(field admitted)" -gt 0 ]; }
dog() { cat /sys/class/watchdog/watchdog0/state; }
refused() { # NAME WORDS
	begin
	wait $daemon
	is "$1" 78 $?
	said "$2" && ok "and says why" || { not_ok "it says something else"; tail -n 25 /tmp/log; tool status; }
	rm -f /tmp/log
}

first() {
	conf required /dev/watchdog0
	refused "required, none there: not started" "watchdog0: No such file"
	modprobe softdog
	until_true 5000 test -c /dev/watchdog0 || not_ok "no softdog"
	refused "required, a soft one: not started" "timer of this kernel"
	is "and not armed by looking at it" inactive "$(dog)"
	rmmod softdog
	modprobe i6300esb
	until_true 5000 test -c /dev/watchdog0 || not_ok "no i6300esb"
	begin
	until_true 3000 leads && ok "leads, with a watchdog" || { not_ok "does not lead"; tail -n 25 /tmp/log; tool status; }
	is "armed" active "$(dog)"
	kill -TERM $daemon
	until_true 20000 gone || not_ok "does not end"
	is "a clean stop disarms it" inactive "$(dog)"
	exec 7>/dev/watchdog0
	refused "required, in use: not started" "in use by another program"
	echo V >&7
	exec 7>&-

	begin
	until_true 3000 leads && ok "leads again" || { not_ok "does not lead again"; tail -n 25 /tmp/log; tool status; }
	kill -9 $daemon
	until_true 5000 gone
	is "it goes on running when the daemon is killed" active "$(dog)"
	begin
	until_true 4000 leads && ok "the next daemon pets it in time" || { not_ok "no leader after kill"; tail -n 25 /tmp/log; tool status; }
	rf-writer --socket /run/rf.sock --volume vol0 --to /dev/mapper/vol --log /tmp/writes --stale >/dev/null 2>&1 &
	until_true 20000 writes || not_ok "nothing is written"
	# What is in flight below the gate stays there: the drain cannot end.
	dmsetup suspend --noflush --nolockfs low
	in_flight() { [ "$(field in_flight)" -gt 0 ]; }
	until_true 5000 in_flight || not_ok "nothing is in flight"
	tool resign --wait 0 vol0 >/dev/null 2>&1
	until_true 20000 said "did not drain within" && ok "the drain does not end, and it says so" ||
		{ not_ok "it drained?"; tail -n 5 /tmp/log; }
	tool status | grep -q "about to be reset" && ok "status says that a reset comes" ||
		{ not_ok "status does not say that a reset comes"; tool status; }
	cat /var/lib/ringfence/watchdog
	echo "# waiting for the reset"
	sleep 120 # ends before that, or the test fails
	not_ok "no reset"
}

second() {
	[ -s /var/lib/ringfence/watchdog ] && ok "the reason is still there" || not_ok "no record"
	modprobe softdog
	until_true 5000 test -c /dev/watchdog0 || not_ok "no softdog"
	conf automatic /dev/watchdog0
	begin
	until_true 4000 leads && ok "leads after the reset" || { not_ok "does not lead"; tail -n 25 /tmp/log; tool status; }
	tool status >/tmp/status
	grep -q "^reset by watchdog: vol0 did not drain within" /tmp/status && ok "status says what happened" ||
		{ not_ok "status does not say it"; cat /tmp/status; }
	grep -q "^watchdog: soft" /tmp/status && ok "automatic takes a soft one and says so" || not_ok "soft?"
	ringfence history /dev/vda | grep -q "^epoch [0-9]*, node 1: reset by watchdog: vol0 did not drain" &&
		ok "history says what happened" || { not_ok "history does not say it"; ringfence history /dev/vda; }
	kill -TERM $daemon
	until_true 20000 gone || not_ok "does not end"
	[ ! -e /var/lib/ringfence/watchdog ] && ok "a clean stop ends the story" || not_ok "the record stays"
	begin
	until_true 4000 leads || not_ok "does not lead again"
	umount -l /var/lib/ringfence
	kill -9 $daemon
	echo "# waiting for the soft reset"
	sleep 120 # ends before that, or the test fails
	not_ok "no reset by softdog"
}

if [ "$stage" = 1 ]; then first; else second; fi
