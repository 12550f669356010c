# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An area with a past that was not lived but written (tests/lib/seed.c): the same
# epochs, hosts and times in each run. Source disks.sh first.

seed() {
	"$LAB_BIN/rf-seed" "$@" || lab_fail "rf-seed $*"
}

# seed_epoch IMAGE EPOCH OWNER INCARNATION [STATE]: the sector, and the ballot that decided it.
seed_epoch() {
	seed "$1" epoch 0 0 epoch="$2" owner="$3" incarnation="$4" state="${5:-0xc8764bb5}" \
		seq="$2" unix_ns=1796026000000000000
	seed "$1" ballot 0 "$3" instance="$2" mbal=$((256 + $3)) bal=$((256 + $3)) \
		value_node="$3" value_incarnation="$4" seq="$2"
}

# seed_past IMAGE: ten leaderships of three nodes in six hours. Epoch 8 was claimed, but
# never led; epoch 7 ended without a word.
seed_past() {
	local image=$1 day=1796000000 e owner cause at end end_cause ms host prev=0 prev_owner=0
	while read -r e owner cause at end end_cause ms; do
		host=$(printf 'san-%s' "$(tr 123 abc <<<"$owner")")
		# shellcheck disable=SC2046,SC2086 # numbers
		set -- $(tr , ' ' <<<"$ms")
		seed "$image" history 0 "$e" epoch="$e" owner="$owner" host="$host" \
			incarnation=$((1000 + owner * 16 + e)) cause="$cause" seq=2 \
			start_unix_ns=$(((day + at) * 1000000000)) \
			end_unix_ns=$((end ? (day + end) * 1000000000 : 0)) \
			end_cause="$end_cause" prev_epoch="$prev" prev_owner=$prev_owner \
			excluded_by="$7" suspect_us=$(($1 * 1000)) prevote_us=$(($2 * 1000)) \
			claim_us=$(($3 * 1000)) exclude_us=$(($4 * 1000)) \
			open_us=$(($5 * 1000)) reconcile_us=$(($6 * 1000))
		prev=$e prev_owner=$owner
	done <<-END
		1 1 1 0 3600 5 0,31,9,2,4,18,0
		2 2 3 3601 7200 4 0,4,8,2,4,25,1
		3 3 4 7201 9000 5 0,2,7,1,4,20,1
		4 1 2 9001 12000 7 352,41,12,65,5,30,4
		5 2 2 12003 12600 6 361,388,55,1043,6,26,8
		6 3 2 12604 14400 12 355,28,10,1210,5,22,8
		7 1 3 14400 0 0 0,3,9,1,4,900,1
		9 2 2 16201 18000 9 349,36,11,71,5,44,4
		10 3 2 18001 21000 10 402,39,14,2,4,310,1
		11 1 3 21001 0 0 0,5,9,2,4,21,1
	END
	seed_epoch "$image" 11 1 $((1000 + 16 + 11))
}
