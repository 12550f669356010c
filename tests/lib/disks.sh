# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of the disk commands: loop devices and images, no network, no
# daemon. Source it, then disks_begin. What lab.sh offers is there too.

. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

disks_begin() {
	local x
	[ "$(id -u)" -eq 0 ] || lab_skip "needs root (loop devices)"
	for x in losetup "$@"; do
		command -v "$x" >/dev/null || lab_skip "needs $x; run tools/bootstrap"
	done
	[ -x "$LAB_BIN/ringfence" ] || lab_skip "needs $LAB_BIN/ringfence; run make"
	mkdir -p "$LAB_BUILD/e2e"
	LAB=$(mktemp -d "$LAB_BUILD/e2e/$LAB_NAME.XXXXXX")
	LAB_DISKS=$(lab_disk_dir)
	trap lab_clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

rf() {
	"$LAB_BIN/ringfence" "$@"
}

# make_area DEVICE... [options]: three nodes, one volume, short timings.
make_area() {
	rf format --cluster lab --nodes 3 --volume vol0 --profile fast "$@"
}

sum_of() {
	cksum <"$1"
}

# said PATTERN: the last command's output has it.
said() {
	grep -Eqi -- "$1" "$LAB/out" || lab_fail "no '$1' in: $(cat "$LAB/out")"
}

# scribble DEVICE BYTE TEXT: a few bytes, through to the device.
scribble() {
	printf '%s' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc,fsync status=none
}

# stride DEVICE_FROM N DEVICE_TO M: copies one record of 4096 bytes.
stride() {
	dd if="$1" of="$3" bs=4096 skip="$2" seek="$4" count=1 conv=notrunc,fsync status=none
}
