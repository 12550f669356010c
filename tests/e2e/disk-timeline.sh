#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The timeline of a written past: lanes and bars where they belong, in text and as a
# picture that is well-formed whatever names and clocks say.
. "$(dirname "$0")/../lib/disks.sh"
. "$(dirname "$0")/../lib/seeded.sh"

disks_begin
image=$LAB_DISKS/area
truncate -s 32M "$image"
expect_exit 0 make_area "$image"
expect_exit 0 rf timeline "$image"
said '^vol0: nobody led$'
expect_exit 0 rf timeline --svg "$LAB/empty.svg" "$image"
grep -q 'nobody ever led' "$LAB/empty.svg" || lab_fail "the picture of nothing says nothing"

seed_past "$image"
export COLUMNS=124
expect_exit 0 rf timeline "$image"
said '^vol0: epoch 11, leads$'
said '^1 san-a +\.#+\.+#+\.+#+\.+#+\.$'
said '^2 san-b +\.+#+\.+#+\.+#+\.+$'
said '^nobody +!( +!+)+ *$'
said '^ *5 +2 silence +expired +1\.88 s +s+p+cx+or$'
said '^ *9 +2 silence +no-word +516 ms'
# Longer phases have longer bars.
bar() {
	sed -n "s/^ *$1 .* s  *\([spcxor]*\)$/\1/p; s/^ *$1 .* ms  *\([spcxor]*\)$/\1/p" "$LAB/out"
}
five=$(bar 5) six=$(bar 6) two=$(bar 2)
[ "${#five}" -gt "${#six}" ] && [ "${#six}" -gt "${#two}" ] && [ "${#two}" -gt 3 ] ||
	lab_fail "bars of 1.88 s, 1.63 s, 43 ms: '$five' '$six' '$two'"

# The picture: one bar a leadership, each phase in its colour, as wide as it took.
expect_exit 0 rf timeline --svg "$LAB/t.svg" "$image"
check_svg() {
	python3 - "$1" <<-'END' || lab_fail "$1: not the picture that was wanted"
		import sys, xml.etree.ElementTree as E
		ns = "{http://www.w3.org/2000/svg}"
		root = E.parse(sys.argv[1]).getroot()
		height = float(root.get("height"))
		for r in root.iter(ns + "rect"):
		    x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
		    assert x >= 0 and w >= 0 and x + w <= 1200.5 and y + h <= height + .5, r.attrib
		for t in root.iter(ns + "text"):
		    assert 0 < float(t.get("x")) <= 1200 and 0 < float(t.get("y")) <= height, t.text
		assert not list(root.iter(ns + "script"))
	END
}
command -v python3 >/dev/null || lab_skip "needs python3; run tools/bootstrap"
check_svg "$LAB/t.svg"
[ "$(grep -c "height='24.00'" "$LAB/t.svg")" = 10 ] || lab_fail "not ten bars in the lanes"
[ "$(grep -c "height='14.00' rx='0.0' fill='#c8372d'" "$LAB/t.svg")" -ge 8 ] || lab_fail "gaps are missing"
# exclude: 1043 ms of epoch 5 beside 1210 of epoch 6
grep "fill='#8e5ea2'" "$LAB/t.svg" | sed -n "s/.*width='\([0-9.]*\)' height='18.00'.*/\1/p" |
	sort -n | tail -n 2 | awk '{ w[NR] = $1 } END { r = w[2] / w[1]; exit !(r > 1.15 && r < 1.17) }' ||
	lab_fail "bars are not to scale"
cmp "$LAB/t.svg" <(rf timeline --svg - "$image") || lab_fail "twice the same disk, another picture"
if command -v rsvg-convert >/dev/null; then
	expect "rsvg-convert draws it" rsvg-convert "$LAB/t.svg" -o "$LAB/t.png"
fi

# Long names of hosts and volumes are cut, and no text runs into another one: two on one
# line are as far apart as their letters need (0.55 of the size each, on average).
no_overlap() {
	python3 - "$1" <<-'END' || lab_fail "texts overlap in $1"
		import sys, xml.etree.ElementTree as xml
		size = {"title": 19, "sub": 13, "head": 14, "name": 13, "small": 11, "inbar": 11}
		rows, bad = {}, 0
		for t in xml.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}text"):
		    w = len(t.text or "") * 0.55 * size.get(t.get("class"), 12)
		    a = {"start": 0, "middle": w / 2, "end": w}[t.get("text-anchor", "start")]
		    x = float(t.get("x")) - a
		    rows.setdefault(t.get("y"), []).append((x, x + w, t.text))
		for row in rows.values():
		    row.sort()
		    for one, two in zip(row, row[1:]):
		        if one[1] > two[0]:
		            bad = print("overlap:", one, two) or 1
		    if row[0][0] < 0 or row[-1][1] > 1200:
		        bad = print("outside:", row[0], row[-1]) or 1
		sys.exit(bad)
	END
}
no_overlap "$LAB/t.svg"
cp "$image" "$LAB_DISKS/long"
seed "$LAB_DISKS/long" volume 0 0 name="volume-$(printf 'n%.0s' {1..50})"
for e in 2 5 9; do
	seed "$LAB_DISKS/long" history 0 $e host="storage-node-$(printf 'h%.0s' {1..40})" excluded_by=15
done
for e in 3 6 10; do
	seed "$LAB_DISKS/long" history 0 $e host=san-c.rack12.dc1.example.net
done
expect_exit 0 rf timeline --svg "$LAB/long.svg" "$LAB_DISKS/long"
check_svg "$LAB/long.svg"
no_overlap "$LAB/long.svg"
grep -q '>storage-node-…<' "$LAB/long.svg" && grep -q '>san-c<' "$LAB/long.svg" ||
	lab_fail "long names are not cut"

# Names that are markup, a clock that runs backwards or is nonsense.
seed "$image" history 0 10 host='<script>"&x</script>' start_unix_ns=5
seed "$image" history 0 9 start_unix_ns=0xfffffffffffffff0 end_unix_ns=1
seed "$image" history 0 4 suspect_us=0xffffffff open_us=0xffffffff
expect_exit 0 rf timeline "$image"
expect_exit 0 rf history "$image"
expect_exit 0 rf timeline --svg "$LAB/t.svg" "$image"
check_svg "$LAB/t.svg"

# A device is never taken for a picture.
loop=$(lab_loop "$image") || lab_skip "no loop device is free"
LAB_LOOPS+=("$loop")
expect_exit 107 rf timeline --svg "$loop" "$image"
expect_exit 74 rf timeline --svg "$LAB/absent/t.svg" "$image"
expect_exit 2 rf timeline --last 0 "$image"
