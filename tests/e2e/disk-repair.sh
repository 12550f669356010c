#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# repair writes what is certain, byte for byte what was there, and refuses the rest.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin
clean=$LAB_DISKS/clean x=$LAB_DISKS/x
truncate -s 4M "$clean"
expect_exit 0 make_area "$clean"
seed_past "$clean"
# Strides of this area: 3 nodes, 1 volume, K 64.
slot1=1 volume=7 epoch=8 ballot1=9 ballot2=10 history=12 copy=88

fresh() {
	cp "$clean" "$x"
}
tear() {
	scribble "$x" $(($1 * 4096 + 300)) torn
}
repaired() {
	expect_exit 0 rf repair "$@" "$x"
	said "records? written and read back"
	cmp "$x" "$clean" || lab_fail "not what was there: $*"
}
refused() {
	cp "$x" "$LAB_DISKS/before"
	expect_exit 1 rf repair --all-stopped "$x"
	said "^refused: .*$1"
	cmp "$x" "$LAB_DISKS/before" || lab_fail "wrote although refused: $1"
}

fresh
expect_exit 0 rf repair "$x"
said 'nothing to repair'

# Superblock and copy, each from the other; both: nothing can be known.
for stride in 0 $copy; do
	fresh
	tear "$stride"
	cp "$x" "$LAB_DISKS/before"
	expect_exit 0 rf repair --dry-run "$x"
	said '1 records would be written'
	cmp "$x" "$LAB_DISKS/before" || lab_fail "--dry-run wrote"
	repaired
done
tear 0
tear $copy
expect_exit 65 rf repair "$x"
# On a device of 512-byte sectors and on one of 4096, through to the medium.
for sector in 512 4096; do
	fresh
	tear $copy
	loop=$(lab_loop "$x" --sector-size $sector) || lab_skip "no loop device is free"
	LAB_LOOPS+=("$loop")
	expect_exit 0 rf repair "$loop"
	sync "$loop"
	losetup -d "$loop"
	cmp "$x" "$clean" || lab_fail "sectors of $sector: not what was there"
done
# At the end of a device the area's place counts.
truncate -s 16M "$LAB_DISKS/end"
expect_exit 0 make_area --reserve end "$LAB_DISKS/end"
cp "$LAB_DISKS/end" "$LAB_DISKS/end-clean"
scribble "$LAB_DISKS/end" $(((16 << 20) - 89 * 4096 + 300)) torn
expect_exit 0 rf repair "$LAB_DISKS/end"
cmp "$LAB_DISKS/end" "$LAB_DISKS/end-clean" || lab_fail "at the end: not what was there"

# What changed while somebody was being asked is not written over.
fresh
tear $copy
mkfifo "$LAB/keys"
script -qefc "'$LAB_BIN/ringfence' repair '$x'" "$LAB/typed" <"$LAB/keys" >/dev/null 2>&1 &
asked=$!
exec 9>"$LAB/keys"
must 10 "it asks" grep -q 'Type yes' "$LAB/typed"
cat "$clean" >"$x"
echo yes >&9
exec 9>&-
wait $asked
rc=$?
[ $rc -eq 75 ] || lab_fail "wrote what had changed: exit $rc: $(cat "$LAB/typed")"
cmp "$x" "$clean" || lab_fail "wrote although the area had changed"

# A lost epoch sector: its ballots decide. Time and sequence are new, the rest is not.
sector() {
	rf dump --record claims "$x" | sed -n '/^epoch of/,/^ballot/p' |
		grep -E '^  (epoch|incarnation|owner|state) ' | tr -s ' ' | tr '\n' ';'
}
fresh
was=$(sector)
tear $epoch
expect_exit 0 rf repair "$x"
said 'the ballot of node 1 decides epoch 11 for node 1'
[ "$(sector)" = "$was" ] || lab_fail "the sector says $(sector), it said $was"
expect_exit 0 rf verify "$x"
# Turned back by a slow winner: the same.
seed "$x" epoch 0 0 epoch=10 owner=3 incarnation=1058 seq=10
expect_exit 0 rf repair "$x"
[ "$(sector)" = "$was" ] || lab_fail "turned back, then $(sector)"
# An attempt at 12: 11 was decided, and its history entry names the owner.
fresh
seed "$x" ballot 0 1 instance=12 mbal=257 bal=0 value_node=0 value_incarnation=0
tear $epoch
expect_exit 0 rf repair "$x"
said 'attempts at epoch 12 prove that 11 was decided'
[ "$(sector)" = "$was" ] || lab_fail "with an attempt, then $(sector)"
# The same without the entry; a ballot above the vote; a lost ballot: not certain.
tear $epoch
tear $((history + 11))
refused 'epoch of volume 0'
said '^left: .*history 11'
fresh
seed "$x" ballot 0 2 instance=11 mbal=514 bal=0 value_node=0 value_incarnation=0
tear $epoch
refused 'epoch of volume 0'
said 'either way'
fresh
tear $epoch
tear $ballot2
refused 'epoch of volume 0'
said 'ballot of node 2 is unreadable'
fresh
tear $ballot1
refused 'ballot of node 1'
said 'promised is nowhere else'
fresh
tear $volume
refused 'volume of volume 0'
# What its writer writes anew is left, and that is no failure.
fresh
tear $slot1
tear $((slot1 + 1))
tear 76
expect_exit 0 rf repair "$x"
[ "$(grep -c '^left' "$LAB/out")" = 3 ] || lab_fail "not three left: $(cat "$LAB/out")"

# A lost history entry: one that no epoch has reached was never used. The last one follows
# from the sector, if its owner committed in that epoch; else it is unknown whether it led.
entry() {
	rf --json dump --record history "$x" | jq -c --argjson i "$1" \
		'.records[] | select(.index == $i) | .fields | {epoch, owner, incarnation, host}'
}
for n in 13 63 0; do
	fresh
	tear $((history + n))
	repaired
	said 'it was never used'
done
fresh
tear $((history + 12)) # somebody tried 12, and may have led: a ballot names it
seed "$x" ballot 0 2 instance=12 mbal=258 bal=0 value_node=0 value_incarnation=0
expect_exit 0 rf repair "$x"
said '^left: .*history 12'
fresh
tear $((history + 11))
tear $((history + 5))
expect_exit 0 rf repair "$x"
[ "$(grep -c '^left' "$LAB/out")" = 2 ] || lab_fail "not two left: $(cat "$LAB/out")"
fresh
seed "$x" slot 0 1 state=0x892f902b host=san-a incarnation=1027 generation=1 seq=5
seed "$x" state 0 1 epoch=11 version=3 seq=9
was=$(entry 11)
tear $((history + 11))
expect_exit 0 rf repair --all-stopped "$x"
said 'state was committed in it; cause and durations are lost'
[ "$(entry 11)" = "$was" ] || lab_fail "history 11: $(entry 11), it was $was"
expect_exit 0 rf verify "$x"
expect_exit 0 rf history "$x"
said '^ *11 +1 san-a '
# A record of another cluster is evidence, not damage.
truncate -s 4M "$LAB_DISKS/other"
expect_exit 0 rf format --cluster prod --nodes 3 --volume vol0 --profile fast "$LAB_DISKS/other"
fresh
stride "$LAB_DISKS/other" $epoch "$x" $epoch
refused 'epoch of volume 0'
said 'another cluster writes here'

# Somebody may be alive: what only format writes is repaired, the rest is not.
fresh
seed "$x" slot 0 2 state=0x892f902b incarnation=77 host=san-b generation=1
tear $copy
tear $epoch
expect_exit 107 rf repair "$x"
said '^repair: .*superblock copy'
said '^refused: .*epoch of volume 0'
said 'perhaps alive: node 2 \(san-b\)'
expect_exit 0 rf repair --all-stopped "$x"
expect_exit 0 rf verify "$x"

# Three disks: what one has lost the other two have; two lost, or one disk not named: no.
three=("$LAB_DISKS"/q1 "$LAB_DISKS"/q2 "$LAB_DISKS"/q3)
truncate -s 4M "${three[@]}"
expect_exit 0 make_area --reserve whole "${three[@]}"
for q in "${three[@]}"; do
	seed_past "$q"
	cp "$q" "$q-clean"
done
for stride in $volume $epoch $ballot1 $slot1 $((slot1 + 3)) $((history + 5)); do
	scribble "${three[1]}" $((stride * 4096 + 300)) torn
done
expect_exit 1 rf repair "${three[0]}" "${three[1]}"
said 'name *all of them'
expect_exit 0 rf repair "${three[@]}"
said '6 records written'
for q in "${three[@]}"; do
	cmp "$q" "$q-clean" || lab_fail "$q: not what was there"
done
# The same disk, or a snapshot of it, twice: that is one witness.
cp "${three[0]}" "$LAB_DISKS/twin"
scribble "${three[1]}" $((ballot1 * 4096 + 300)) torn
expect_exit 2 rf repair "${three[0]}" "$LAB_DISKS/twin" "${three[1]}"
said 'are both disk 1 of the area'
cp "${three[1]}-clean" "${three[1]}"
# The newest copy, not any: disk 1 missed the last vote.
seed "${three[1]}" ballot 0 1 seq=12 instance=12 mbal=513 bal=0 value_node=0 value_incarnation=0
cp "${three[1]}" "${three[2]}"
cp "${three[2]}-clean" "$LAB_DISKS/super3"
stride "$LAB_DISKS/super3" 0 "${three[2]}" 0
stride "$LAB_DISKS/super3" $copy "${three[2]}" $copy
scribble "${three[2]}" $((ballot1 * 4096 + 300)) torn
expect_exit 0 rf repair "${three[@]}"
[ "$(cmp -l "${three[1]}" "${three[2]}" | awk '$1 > 4096 && $1 <= 88 * 4096' | wc -l)" = 0 ] ||
	lab_fail "not the newest copy"
scribble "${three[1]}" $((ballot1 * 4096 + 300)) torn
scribble "${three[2]}" $((ballot1 * 4096 + 300)) torn
expect_exit 1 rf repair "${three[@]}"
said 'lost on most disks'

# A slot that one disk has lost, of a node that may be alive: it writes it anew itself, and
# nothing is refused. When nobody runs, it is what the other disks say.
for q in "${three[@]}"; do
	cp "$q-clean" "$q"
	seed "$q" slot 0 2 state=0x892f902b incarnation=77 host=san-b generation=1 seq=3
	cp "$q" "$q-clean"
done
scribble "${three[0]}" $(((slot1 + 2) * 4096 + 300)) torn
expect_exit 0 rf repair "${three[@]}"
said '^left: .*slot of node 2'
expect_exit 0 rf repair --all-stopped "${three[@]}"
cmp "${three[0]}" "${three[0]}-clean" || lab_fail "slot 2: not what was there"
# Lost on two: not certain, and still no failure.
for q in "${three[0]}" "${three[1]}"; do
	scribble "$q" $(((slot1 + 2) * 4096 + 300)) torn
	scribble "$q" $(((history + 5) * 4096 + 300)) torn
done
expect_exit 0 rf repair --all-stopped "${three[@]}"
[ "$(grep -c '^left' "$LAB/out")" = 4 ] || lab_fail "not four left: $(cat "$LAB/out")"
exit 0
