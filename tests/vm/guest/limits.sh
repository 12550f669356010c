# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash source-path=SCRIPTDIR
# What a gate says that it can do is what dm-linear says over the same device; requests
# that may not wait; integrity data; and what is refused: a zoned device, and tables that
# make no sense, with words in the kernel's log for each.
. ./lib.sh
load_module
modprobe loop
region format
own 5

# queue DEVICE [LEFT-OUT]: all limits and abilities, a line each. Left out are those of a
# cache: a gate always has one to flush, so that fsync fails when writes would, and kernels
# before 6.10 say then that it knows FUA, which the device below makes a flush of.
queue() {
	dir=/sys/block/$(dmsetup info -c --noheadings -o blkdevname "$1")/queue
	(cd "$dir" && grep -s "" ./* ../integrity/*) | grep -Ev "^./(${2:-fua}):"
	/bin/blockdev --getss --getpbsz --getiomin --getioopt --getalignoff --getmaxsect "/dev/mapper/$1" # not busybox's
}
as_linear() { # NAME [WHAT-IS-LEFT-OUT]
	echo "0 $SECTORS linear $DATA 2048" | dmsetup create lin && dmsetup mknodes lin
	make_gate
	queue lin "$2" >/tmp/lin
	queue vol "$2" >/tmp/vol
	is "$1: as dm-linear" "" "$(diff /tmp/lin /tmp/vol | grep '^[+-][.0-9]')"
	[ "$(grep -c . /tmp/vol)" -gt 30 ] && ok "$1: $(grep -c . /tmp/vol) figures compared" || not_ok "$1: only $(cat /tmp/vol)"
	dmsetup remove --retry lin
}

# ---- tables ----

# refused WORDS TABLE
refused() {
	dmesg -c >/dev/null
	if echo "0 $SECTORS ringfence $2" | dmsetup create bad 2>/dev/null; then
		not_ok "$1: taken all the same"
		dmsetup remove bad
		return
	fi
	dmesg | grep -q "ringfence: $1" && ok "$1" || { not_ok "refused, but not for '$1'"; dmesg | tail -n 3; }
}
data="/dev/ram0 2048"
id="$CLUSTER $AREA"
times="2000 200 500"
one="1 /dev/ram0 8"
refused "Too few arguments" "$data 2 0 3 4096 $id $times"
refused "Offset is not a number of sectors" "/dev/ram0 x 2 0 3 4096 $id $times $one"
refused "Device lookup failed" "/dev/nosuch 0 2 0 3 4096 $id $times $one"
refused "Device is too small for offset and length" "/dev/ram0 1000000 2 0 3 4096 $id $times $one"
refused "Node must be 1 to 128" "$data 0 0 3 4096 $id $times $one"
refused "Volume must be below 256" "$data 2 256 3 4096 $id $times $one"
refused "Number of nodes must be 1 to 128" "$data 2 0 129 4096 $id $times $one"
refused "Node must be one of the nodes" "$data 4 0 3 4096 $id $times $one"
for stride in 2048 5000 131072; do
	refused "Stride must be a power of two" "$data 2 0 3 $stride $id $times $one"
done
refused "Cluster is not a UUID" "$data 2 0 3 4096 ${CLUSTER%?} $AREA $times $one"
refused "Area is not a UUID" "$data 2 0 3 4096 $CLUSTER ${AREA}0 $times $one"
refused "Lease must be 100 to 600000 ms" "$data 2 0 3 4096 $id 99 50 500 $one"
refused "Check interval must be 10 ms to the lease" "$data 2 0 3 4096 $id 2000 2001 500 $one"
refused "Check interval must be 10 ms to the lease" "$data 2 0 3 4096 $id 2000 9 500 $one"
refused "Hold time must be at most 600000 ms" "$data 2 0 3 4096 $id 2000 200 600001 $one"
refused "Number of claim regions must be 1, 3 or 5" "$data 2 0 3 4096 $id $times 2 /dev/ram0 8 /dev/ram1 8"
refused "A claim region lacks its device or offset" "$data 2 0 3 4096 $id $times 3 /dev/ram0 8 /dev/ram1 8 /dev/ram2"
refused "A claim region overlaps the data" "$data 2 0 3 4096 $id $times 1 /dev/ram0 2040"
refused "Two claim regions on one device" "$data 2 0 3 4096 $id $times 3 /dev/ram1 8 /dev/ram2 8 /dev/ram1 800"
refused "Device is too small for offset and length" "$data 2 0 3 4096 $id $times 1 /dev/ram1 1048570"
refused "Number of features does not fit" "$data 2 0 3 4096 $id $times $one 2 gate_reads"
refused "Too many arguments" "$data 2 0 3 4096 $id $times $one 1 gate_reads conflict"
refused "Unknown feature" "$data 2 0 3 4096 $id $times $one 1 nosuch"

# ---- limits ----

truncate -s 128M /tmp/disk
losetup /dev/loop0 /tmp/disk
DATA=/dev/loop0 # knows flushes, discards and zeroes
as_linear "sectors of 512 bytes"
is "grant" ok "$(grant 5 1900)"
is "open lets pass what may not wait" ok "$(io nowait 0 7)"
drop_gate
is "sectors of 4096 bytes" ok "$(rfvm sectors /dev/loop0 4096)"
refused "Offset is not a multiple of the device's logical block size" "/dev/loop0 2049 2 0 3 4096 $id $times $one"
as_linear "sectors of 4096 bytes"
is "and says so" 4096 "$(/bin/blockdev --getss $DEV)"
drop_gate
DATA=/dev/ram0
as_linear "a RAM disk" "write_cache|fua"
is "has a cache to flush" "write back" "$(queue vol | sed -n 's/.*write_cache://p')"
drop_gate

DATA=/dev/loop0
make_gate 2000 100 8000
is "closed refuses what may not wait" ENODEV "$(io nowait 0 7)"
is "grant, to expire" ok "$(grant 5 1900)"
until_true 6000 state_is holding || not_ok "expires into holding"
is "holding does not hold what may not wait" EAGAIN "$(io nowait 0 8)"
is "none is held" 0 "$(field held)"
drop_gate
losetup -d /dev/loop0

# Not every kernel has these; those of Debian do.
brings() { # MODULE PARAMETERS: sets DATA, to the device that was not there before
	printf '%s\n' /sys/block/* >/tmp/blocks
	if ! modprobe "$@" 2>/tmp/modprobe; then
		case $(uname -r) in *-amd64) not_ok "no $1: $(cat /tmp/modprobe)" ;; *) echo "# no $1 in this kernel" ;; esac
		return 1
	fi
	until_true 10000 there || { not_ok "$1 brings no device"; return 1; }
	DATA=/dev/$(basename "$(there)")
}
there() { printf '%s\n' /sys/block/* | grep -vxf /tmp/blocks; }
modprobe sd_mod
if brings scsi_debug dif=1 dix=1 dev_size_mb=80 delay=0; then
	# Linux 6.1 asks all devices of a table for a profile, that of the region, too.
	CLAIM=$DATA
	rfvm format $CLAIM $((REGION * 512))
	rfvm epoch $CLAIM $((REGION * 512)) 5 2 $LIFE
	as_linear "integrity data"
	is "integrity data: the profile is the device's" T10-DIF-TYPE1-CRC "$(queue vol | sed -n 's/.*integrity.format://p')"
	is "integrity data: grant" ok "$(grant 5 1900)"
	is "integrity data: a write is done" ok "$(io write 0 9)"
	is "integrity data: and reads back" ok "$(io read 0 9)"
	drop_gate
	CLAIM=
	rmmod scsi_debug
fi
if brings null_blk nr_devices=1 zoned=1 memory_backed=1 gb=1 zone_size=64; then
	make_gate 2>/tmp/zoned && not_ok "a zoned device: taken" || ok "a zoned device: refused"
	dmesg | tail -n 5 | grep -qi zone && ok "a zoned device: and the log says why" || { not_ok "a zoned device: no word in the log"; cat /tmp/zoned; }
	dmsetup remove --retry vol 2>/dev/null
	rmmod null_blk
fi
unload_module
