# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A Debian system with its own systemd, on the host's kernel: this system as it is
# seen through an overlay, or another root, in namespaces and a cgroup of its own.
# For scripts that source lab.sh (or disks.sh) and then this file:
#
#   machine_root [DIRECTORY]       MACHINE: what packages are installed into
#   in_root COMMAND...             in it while it is not booted, without network
#   machine_boot [NETNS]           systemd as process 1, until it says that it runs
#   in_machine COMMAND...          as root of it
#   machine_off                    the power plug
#
# What was written to it is gone when the script ends.

MACHINE_PID=
MACHINE_CGROUP=

# The overlay. Nothing that is enabled in this system is enabled in that one.
machine_root() {
	local over=$LAB_DISKS/over
	mkdir "$over"
	mount -t tmpfs over "$over" || lab_skip "cannot mount here"
	LAB_MOUNTS=("$over" "${LAB_MOUNTS[@]}")
	mkdir "$over"/{upper,work,all}
	mount -t overlay -o "lowerdir=${1:-/},upperdir=$over/upper,workdir=$over/work" over "$over/all" ||
		lab_skip "cannot mount an overlay of ${1:-/} here"
	LAB_MOUNTS=("$over/all" "${LAB_MOUNTS[@]}")
	MACHINE=$over/all
	mkdir -p "$MACHINE/mnt/lab"
	# What a daemon of this system left is none of that one's.
	rm -rf "$MACHINE"/{etc,var/lib}/ringfence
}

in_root() {
	unshare --mount --pid --net --fork --kill-child -- bash -c '
		set -e
		all=$1
		shift
		mount --make-rprivate /
		mount -t proc proc "$all/proc"
		mount --rbind /dev "$all/dev"
		mount -t tmpfs run "$all/run"
		exec chroot "$all" "$@"' in_root "$MACHINE" "$@"
}

# root_files: every file of it, without what dpkg, dkms and the loader note for
# themselves.
root_files() {
	(cd "$MACHINE" && find etc usr lib var opt srv -xdev \( -path var/lib/dpkg -o -path var/cache -o \
		-path var/log -o -path var/lib/systemd -o -path var/lib/dkms/mok.\* \) -prune -o -print) | sort
}

# Only what is static starts: no service of the host a second time, no coldplug of
# the host's hardware.
machine_sober() {
	local unit
	rm -rf "$MACHINE"/etc/systemd/system/*.{wants,requires}
	mkdir "$MACHINE/etc/systemd/system/multi-user.target.wants"
	for unit in systemd-udev-trigger systemd-sysctl systemd-logind systemd-binfmt console-getty \
		systemd-modules-load lvm2-monitor; do
		ln -sfn /dev/null "$MACHINE/etc/systemd/system/$unit.service"
	done
	for unit in dev-hugepages sys-kernel-debug sys-kernel-tracing sys-kernel-config; do
		ln -sfn /dev/null "$MACHINE/etc/systemd/system/$unit.mount"
	done
	rm -f "$MACHINE/usr/sbin/policy-rc.d" # a container's, which forbids services
	: >"$MACHINE/etc/fstab"
	: >"$MACHINE/etc/machine-id"
	echo machine >"$MACHINE/etc/hostname"
}

# Process 1, once it is in its namespaces.
machine_init='
set -e
all=$1 lab=$2
mount --make-rprivate /
mount -t proc proc "$all/proc"
mount -t sysfs sys "$all/sys"
mount -t cgroup2 cgroup "$all/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$all/run"
mount -t tmpfs -o mode=1777 tmp "$all/tmp"
mount -t tmpfs -o mode=755 dev "$all/dev"
for node in null zero full random urandom tty; do
	cp -a "/dev/$node" "$all/dev/"
done
ln -s /proc/self/fd "$all/dev/fd"
mkdir "$all/dev/shm" "$all/dev/pts"
mount -t tmpfs -o mode=1777 shm "$all/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 pts "$all/dev/pts"
ln -s pts/ptmx "$all/dev/ptmx"
mount --bind "$lab" "$all/mnt/lab"
cd "$all"
mkdir -p .host
pivot_root . .host
umount -l .host
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal'

# A cgroup whose root the machine sees: a delegated one of the second hierarchy.
machine_cgroup() {
	local mounted
	mounted=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	[ -n "$mounted" ] || lab_skip "no cgroup2 file system is mounted here"
	MACHINE_CGROUP=$mounted/rf-machine-$$
	mkdir "$MACHINE_CGROUP" || lab_skip "cannot make a cgroup here"
}

machine_first() {
	local children
	children=$(cat "/proc/$MACHINE_PID/task/$MACHINE_PID/children") && [ -n "$children" ] &&
		say "${children% }"
}

machine_runs() {
	[[ $(in_machine systemctl is-system-running) =~ ^(running|degraded)$ ]]
}

# machine_boot [NETNS]: in that network namespace, or one without interfaces.
machine_boot() {
	local net=(unshare --net)
	[ -z "${1:-}" ] || net=(ip netns exec "$1")
	[ -x "$MACHINE/lib/systemd/systemd" ] || lab_skip "needs systemd"
	machine_sober
	machine_cgroup
	trap machine_clean EXIT
	# By itself into the cgroup, before it has its own view of them.
	bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' machine "$MACHINE_CGROUP" "${net[@]}" \
		unshare --mount --pid --ipc --uts --cgroup --fork --kill-child bash -c "$machine_init" \
		machine "$MACHINE" "$LAB" >"$LAB/machine.log" 2>&1 </dev/null &
	MACHINE_PID=$!
	wait_until 60 machine_runs || lab_fail "systemd does not run: $(cat "$LAB/machine.log")"
}

in_machine() {
	local first
	first=$(machine_first) || return 125
	nsenter -t "$first" -m -p -i -u -n -C -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# machine_device DEVICE: the machine has it, under the same name.
machine_device() {
	in_machine mknod "$1" b "$((0x$(stat -c %t "$1")))" "$((0x$(stat -c %T "$1")))"
}

machine_off() {
	[ -n "$MACHINE_PID" ] || return 0
	kill -KILL "$MACHINE_PID" 2>/dev/null
	wait "$MACHINE_PID" 2>/dev/null
	MACHINE_PID=
}

machine_uncgroup() {
	find "$MACHINE_CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$MACHINE_CGROUP" ]
}

machine_clean() {
	local rc=$?
	[ "$BASHPID" = $$ ] || exit $rc
	if [ $rc -ne 0 ] && [ $rc -ne 77 ] && [ -n "$MACHINE_PID" ]; then
		timeout 10 nsenter -t "$(machine_first)" -m -p -- journalctl --no-pager -o short-precise \
			>"$LAB/machine.journal" 2>&1
	fi
	machine_off
	[ -z "$MACHINE_CGROUP" ] || wait_until 5 machine_uncgroup
	(exit $rc)
	lab_clean
}
