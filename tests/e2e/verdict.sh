#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rf-check, which has the last word in every test with writers: that it says no, to each of
# the things that it looks for. Logs and disks are made up here.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin

# volume NAME LINE...: NAME.1 and NAME.2 are the logs of two nodes, NAME the disk, of 8 blocks.
#   log NODE EPOCH SEQ BEGUN ENDED OUTCOME   stamp NODE EPOCH SEQ   torn NODE EPOCH SEQ
volume() {
	local name=$LAB_DISKS/$1
	shift
	python3 - "$name" "$@" <<-'END'
		import struct, sys
		name, lines = sys.argv[1], sys.argv[2:]
		logs, disk = {1: b"", 2: b""}, bytearray(8 * 4096)

		def crc32c(data):
		    crc = 0xffffffff
		    for byte in data:
		        crc ^= byte
		        for _ in range(8):
		            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
		    return crc ^ 0xffffffff

		for line in lines:
		    kind, node, epoch, seq, *rest = line.split()
		    node, epoch, seq = int(node), int(epoch), int(seq)
		    offset = seq % 8 * 4096
		    if kind == "log":
		        begun, ended = int(rest[0]), int(rest[1])
		        outcome = {"wrote": 1, "refused": 2, "unknown": 3}[rest[2]]
		        unknown = struct.pack("=5Q2I", begun, 0, epoch, seq, offset, node, 3)
		        logs[node] += unknown + struct.pack("=5Q2I", begun, ended, epoch, seq, offset, node, outcome)
		        continue
		    stamp = struct.pack("=5QI", 0x706d617473667231, epoch, 1, seq, offset, node)
		    stamp += struct.pack("=I", crc32c(stamp) ^ (kind == "torn"))
		    disk[offset:offset + len(stamp)] = stamp
		for node, log in logs.items():
		    open(f"{name}.{node}", "wb").write(log)
		open(name, "wb").write(disk)
	END
}
# verdict NAME EXIT [PATTERN...]: a line like each, and no other complaint.
verdict() {
	local name=$1 rc=$2 said got complaints
	shift 2
	said=$("$LAB_BIN/rf-check" --device "$LAB_DISKS/$name" --offset 0 --blocks 8 "$LAB_DISKS/$name".[12])
	got=$?
	[ $got -eq "$rc" ] || lab_fail "$name: exit $got: $said"
	complaints=$(grep -c ': ' <<<"$said")
	[ "$complaints" -eq $# ] || lab_fail "$name: $complaints complaints: $said"
	for pattern in "$@"; do
		grep -Eq "^$pattern" <<<"$said" || lab_fail "$name: no '$pattern': $said"
	done
}

volume good "log 1 5 1 100 110 wrote" "log 1 5 2 120 130 wrote" "log 2 6 3 200 210 wrote" \
	"log 1 5 4 220 230 refused" "log 1 5 5 140 150 unknown" \
	"stamp 1 5 1" "stamp 1 5 2" "stamp 2 6 3" "stamp 1 5 5"
verdict good 0
volume refused "log 1 5 1 100 110 wrote" "log 1 5 2 120 130 refused" "stamp 1 5 1" "stamp 1 5 2"
verdict refused 1 "landed: offset=8192 node=1 epoch=5 seq=2 was refused"
volume lost "log 1 5 1 100 110 wrote" "log 1 5 9 120 130 wrote" "stamp 1 5 1"
verdict lost 1 "lost: offset=4096 epoch=5 seq=9 was acknowledged, epoch=5 seq=1 stands there"
volume stale "log 1 5 1 100 110 wrote" "log 2 6 2 200 210 wrote" "log 1 5 3 211 220 wrote" \
	"stamp 1 5 1" "stamp 2 6 2" "stamp 1 5 3"
verdict stale 1 "stale: node=1 epoch=5 seq=3 accepted 0.000 ms after a newer epoch wrote"
volume torn "log 1 5 1 100 110 wrote" "torn 1 5 1"
verdict torn 1 "corrupt: offset=4096 holds no whole stamp"
volume nobody "log 1 5 1 100 110 wrote" "stamp 1 5 1" "stamp 1 5 2"
verdict nobody 1 "unknown: offset=8192 epoch=5 seq=2 is in no log"
volume idle "log 1 5 1 100 110 refused"
verdict idle 1
# Two nodes in one epoch: with numbers of their own, and with the same ones, to the same blocks.
volume split "log 1 5 1 100 110 wrote" "log 2 5 2 120 130 wrote" "stamp 1 5 1" "stamp 2 5 2"
verdict split 1 "split: node=1 and node=2 both wrote in epoch=5"
volume twins "log 1 5 1 100 110 wrote" "log 2 5 1 120 130 wrote" "stamp 2 5 1"
verdict twins 1 "split: node=1 and node=2 both wrote in epoch=5"
volume other "log 1 5 1 100 110 wrote" "stamp 2 5 1"
verdict other 1 "unknown: offset=4096 epoch=5 seq=1 is in no log"
