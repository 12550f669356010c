#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# verify: torn, truncated, wrong cluster, misplaced, copies that disagree,
# snapshots (CASES 11). 0 good, 1 damaged, 2 not ours; record, offset, what to do.
. "$(dirname "$0")/../lib/disks.sh"

disks_begin
lab_disk area 32
area=$LAB_DEV
expect_exit 0 make_area "$area"
cp "$LAB_DISKS/area" "$LAB_DISKS/clean"

# fresh: an image of the good area to damage.
fresh() {
	cp "$LAB_DISKS/clean" "$LAB_DISKS/x"
	x=$LAB_DISKS/x
}

# Strides of this area: 3 nodes, 1 volume, K 64.
slot1=1 slot2=3 volume=7 epoch=8 ballot1=9 ballot2=10 history=12 state=76

# Torn: one record of each kind, a byte in its middle.
while read -r name stride; do
	fresh
	scribble "$x" $((stride * 4096 + 300)) torn
	expect_exit 1 rf verify "$x"
	said "$name.*byte $((stride * 4096)): torn or damaged"
	[ "$(grep -c '^damaged' "$LAB/out")" = 1 ] || lab_fail "not one finding: $(cat "$LAB/out")"
	# what to do stands below
	grep -A1 '^damaged' "$LAB/out" | grep -q '^    .' || lab_fail "no advice"
done <<-END
	superblock 0
	slot.of.node.1 $slot1
	mailbox.of.node.1 $((slot1 + 1))
	volume.of.volume.0 $volume
	epoch.of.volume.0 $epoch
	ballot.of.node.1 $ballot1
	history.0 $history
	state.half.0 $state
END

# Empty is never a good record: zeros are unreadable.
fresh
dd if=/dev/zero of="$x" bs=4096 seek=$ballot1 count=1 conv=notrunc status=none
expect_exit 1 rf verify "$x"
said 'ballot of node 1.*not a ringfence record'

# A good record at the wrong place.
fresh
stride "$x" $slot1 "$x" $slot2
expect_exit 1 rf verify "$x"
said 'slot of node 2.*belongs elsewhere'
stride "$x" $ballot2 "$x" $ballot1
expect_exit 1 rf verify "$x"
said 'ballot of node 1.*belongs elsewhere'

# Truncated, as an image that was copied halfway.
fresh
truncate -s $((40 * 4096)) "$x"
expect_exit 1 rf verify "$x"
said 'truncated: the area ends at byte'
said 'beyond the end'
fresh
truncate -s $((40 * 4096 + 100)) "$x"
expect_exit 1 rf verify "$x"

# Another cluster wrote one of its records here.
lab_disk other 32
other=$LAB_DEV
expect_exit 0 rf format --cluster prod --nodes 3 --volume vol0 --profile fast "$other"
fresh
stride "$other" $slot2 "$x" $slot2
expect_exit 1 rf verify "$x"
said 'slot of node 2.*another cluster'
said 'find the host'
# The whole device belongs to another cluster.
expect_exit 2 rf verify --cluster lab "$other"
said "not ours: cluster 'prod', not 'lab'"
expect_exit 0 rf verify --cluster prod "$other"
expect_exit 2 rf verify "$area" "$other"
said 'not ours'
expect_exit 65 rf dump "$area" "$other"
said 'different areas'

# CASES 11: a snapshot beside its origin is named; both are "disk 1".
cp "$LAB_DISKS/area" "$LAB_DISKS/snap"
snap=$(lab_loop "$LAB_DISKS/snap") || lab_skip "no loop device is free"
LAB_LOOPS+=("$snap")
expect_exit 2 rf verify "$area" "$snap"
said 'snapshot or a copy'
expect_exit 0 rf verify "$snap"
# The area copied to another place of a device.
lab_disk moved 64
dd if="$LAB_DISKS/clean" of="$LAB_DEV" bs=1M seek=4 count=1 conv=notrunc,fsync status=none
expect_exit 2 rf verify "$LAB_DEV"
said 'found at byte 4194304'

# Sectors larger than the area was made for: two writers could share one.
big=$(losetup -f --show --sector-size 4096 "$LAB_DISKS/clean") || lab_skip "no 4096-byte sectors"
LAB_LOOPS+=("$big")
expect_exit 2 rf verify "$big"
said 'sectors of 4096'

# A superblock and a copy of two times.
fresh
"$LAB_BIN/rf-seed" "$x" copy 0 2000
expect_exit 1 rf verify "$x"
said 'superblock copy.*says something else than the superblock'
# Together: a sector that no ballot knows of; released, with an open gate.
. "$(dirname "$0")/../lib/seeded.sh"
fresh
seed_past "$x"
expect_exit 0 rf verify "$x"
seed "$x" ballot 0 1 instance=0 mbal=0 bal=0 value_node=0 value_incarnation=0
expect_exit 1 rf verify "$x"
said 'epoch of volume 0.*names epoch 11, no ballot knows an epoch above 0'
fresh
seed_past "$x"
seed "$x" slot 0 1 generation=1 incarnation=$((1000 + 16 + 11)) gate_open=1 state=0x892f902b
seed "$x" epoch 0 0 state=0x96ab1c72
expect_exit 1 rf verify "$x"
said 'says released, but the slot of its owner, node 1, says its gate is open'

# JSON has every key, also of a finding without a record.
fresh
scribble "$x" $((slot1 * 4096 + 300)) torn
expect_exit 1 rf verify --json "$x"
for key in schema verdict findings severity device record offset_bytes offset_bytes_str reason todo; do
	said "\"$key\":"
done
# The device was never written by any of this.
cmp "$LAB_DISKS/area" "$LAB_DISKS/clean" || lab_fail "verify wrote"
